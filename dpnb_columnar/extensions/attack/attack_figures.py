"""Figures of an attack on one model: who was a member, and what members' values are. CONFIDENTIAL.

Every figure is computed from rows without noise. ``model_attack`` computes them; texts and pages show the tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dpnb_columnar.errors import printable
from dpnb_columnar.model.intervals import interval_text
from dpnb_columnar.model.query_noise import Interval

ASSUMED = (
    "The bounds are for rows of which each came to be a member by itself, with the same probability, whatever became "
    "of all others, as split divides them. The members are all rows that trained the model, or some of them; the "
    "others took no part in it. Rows that depend on each other, such as a household's, are covered only where the "
    "model declares their unit."
)
"""What the bounds of an attack take for granted."""

MOST_GUESSES = 20
"""Attributes that are printed one by one where there are more: those of the largest differences."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of some rows something holds of. Confidential.

    Attributes:
        hits: The rows that it holds of.
        rows: Number of rows.
        interval: Confidence interval of its probability (Clopper and Pearson's).
    """

    hits: int
    rows: int
    interval: Interval

    @property
    def share(self) -> float:
        """The part of the rows; 0 of none."""
        return self.hits / max(self.rows, 1)

    def __str__(self) -> str:
        return f"{self.share:.4f} {interval_text(self.interval)}"


@dataclass(frozen=True, slots=True)
class Implied:
    """What the guarantee says of every attack, for each row or unit.

    Attributes:
        epsilon: The epsilon of the model's guarantee.
        delta: Its delta.
        advantage: The largest TPR - FPR.
        auc: The largest area under the ROC curve.
        curve: Points (FPR, TPR) of the largest ROC curve, which is straight between them.
    """

    epsilon: float
    delta: float
    advantage: float
    auc: float
    curve: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class RankedScore:
    """A number by which rows are ranked: the larger, the more they look like members. Confidential.

    Attributes:
        name: What the number is.
        auc: Area under its ROC curve, on the rows that nothing was chosen on.
        interval: Confidence interval of the area (DeLong's).
        chosen: Whether it is the best on the rows that the choice was made on.
    """

    name: str
    auc: float
    interval: Interval | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class Flagged:
    """Rows above a threshold, which was chosen on other rows. Confidential.

    Attributes:
        score: Name of the score.
        aim: The part of the others that was to be flagged; None for the largest advantage.
        members: Members that are flagged: the true positives.
        others: Others that are flagged: the false positives.
        bound: The largest rate of true positives that the guarantee allows at the upper end of the interval of the
            false ones; None without a guarantee.
        surprise: Bound on the probability of so many members among the flagged, if the guarantee holds
            (``extensions.attack.membership_bounds``); None without one.
    """

    score: str
    aim: float | None
    members: Rate
    others: Rate
    bound: float | None
    surprise: float | None


@dataclass(frozen=True, slots=True)
class Guessed:
    """Values of an attribute, guessed from the class and the model. Confidential.

    Attributes:
        attribute: Name of the attribute.
        members: Members whose value is guessed right, of those that have one.
        others: Others likewise.
        difference: The members' part less the others': what the model tells of members beyond the population.
        interval: Confidence interval of the difference.
        surprise: As of ``Flagged``, of the members among the rows that are guessed right.
    """

    attribute: str
    members: Rate
    others: Rate
    difference: float
    interval: Interval
    surprise: float | None


@dataclass(frozen=True, slots=True)
class AttackReport:
    """An attack on one model by members and others. Confidential.

    Attributes:
        guarantee: The model's guarantee in words.
        relation: What the bounds are for: a row, or a unit.
        members: Members attacked.
        others: Others attacked.
        left_out: Rows of both that are not attacked, since another row of theirs is equal, or of the same unit.
        chosen_on: Members, and others, on which scores and thresholds were chosen. All others measure them.
        implied: The bounds that the guarantee implies; None without one.
        scores: The scores, in the order in which they are described.
        advantage: Largest advantage of the best score, measured: TPR - FPR at the threshold that was chosen.
        advantage_interval: Its confidence interval.
        flagged: Thresholds of the likelihood ratio and of the best score.
        guessed: Attributes whose values were guessed.
        roc: Points (FPR, TPR) of the likelihood ratio's curve and of the best score's, by name.
        contradicted: The attack contradicts every guarantee of an epsilon below this, of the same delta: a lower
            confidence bound on epsilon.
        error: The probability that anything exceeds the bound of a guarantee that holds.
        level: Level of the confidence intervals, of each by itself.
    """

    guarantee: str
    relation: str
    members: int
    others: int
    left_out: int
    chosen_on: tuple[int, int]
    implied: Implied | None
    scores: tuple[RankedScore, ...]
    advantage: float
    advantage_interval: Interval
    flagged: tuple[Flagged, ...]
    guessed: tuple[Guessed, ...]
    contradicted: float
    roc: dict[str, tuple[tuple[float, float], ...]]
    error: float
    level: float

    @property
    def best(self) -> RankedScore:
        """The score that was chosen."""
        return next(score for score in self.scores if score.chosen)

    @property
    def limit(self) -> float:
        """The ``surprise`` below which a figure exceeds its bound: the error, divided by the number of tests."""
        return self.error / (len(self.flagged) + len(self.guessed))

    @property
    def exceeded(self) -> tuple[str, ...]:
        """What exceeds the bound beyond sampling error, in words."""
        return tuple(
            [
                f"{each.members.hits:,} of {each.members.hits + each.others.hits:,} rows flagged by {each.score} "
                f"({_aim(each.aim)}) are members"
                for each in self.flagged
                if _exceeds(each.surprise, self.limit)
            ]
            + [
                f"{each.members.hits:,} of {each.members.hits + each.others.hits:,} rows whose "
                f"{printable(each.attribute)} is guessed right are members"
                for each in self.guessed
                if _exceeds(each.surprise, self.limit)
            ]
        )

    def __repr__(self) -> str:
        return "\n".join(["AttackReport, CONFIDENTIAL: exact figures of rows", *summary(self)])


def _exceeds(surprise: float | None, limit: float) -> bool:
    return surprise is not None and surprise < limit


def _aim(aim: float | None) -> str:
    return "largest advantage" if aim is None else f"FPR {aim:g}"


def _at_least(bound: float) -> str:
    """Write a lower bound by four decimals, rounded down."""
    return f"{math.floor(bound * 10**4) / 10**4:.4f}"


def _at_most(bound: float | None) -> str:
    """Write an upper bound by four decimals, rounded up."""
    return "none" if bound is None else f"{math.ceil(bound * 10**4) / 10**4:.4f}"


def verdict(report: AttackReport) -> str:
    """Say in one sentence whether anything exceeds the bound."""
    if report.implied is None:
        return (
            "The model has no guarantee, so there is no bound. "
            + (
                f"The attack rules out any epsilon below {_at_least(report.contradicted)}."
                if report.contradicted
                else ""
            )
        ).rstrip()
    if report.exceeded:
        return (
            "EXCEEDED: the attack does better than the guarantee allows. If the rows are what they are taken for, the "
            f"model does not keep its guarantee; that would show by chance with probability {report.error:g} at most."
        )
    return (
        "Nothing exceeds the bound of the guarantee beyond sampling error "
        f"(a guarantee that holds is called broken with probability {report.error:g} at most)."
    )


def facts(report: AttackReport) -> Iterator[tuple[str, str]]:
    """Yield what was attacked, and how well the best score does beside the bound: names and values."""
    implied, best, (members, others) = report.implied, report.best, report.chosen_on
    beside = (
        ("", "") if implied is None else (f"; bound {_at_most(implied.advantage)}", f"; bound {_at_most(implied.auc)}")
    )
    yield "members", f"{report.members:,}, of which {members:,} chose scores and thresholds"
    yield "others", f"{report.others:,}, of which {others:,} did"
    if report.left_out:
        yield "left out", f"{report.left_out:,} rows that equal another, or are of one unit with it"
    yield "guarantee", report.guarantee
    yield "best score", best.name
    yield "advantage", f"{report.advantage:.4f} {interval_text(report.advantage_interval)}{beside[0]}"
    yield "AUC", f"{best.auc:.4f} {interval_text(best.interval)}{beside[1]}"
    shown = _at_least(report.contradicted) + ("" if implied is None else f"; claimed {implied.epsilon:g}")
    yield "epsilon at least", f"{shown} (confidence {1 - report.error:.1%})"


def summary(report: AttackReport) -> Iterator[str]:
    """Yield the facts as lines, and what exceeds the bound."""
    yield from (f"{name:<18} {value}" for name, value in facts(report))
    yield verdict(report)
    yield from (f"EXCEEDED: {each}" for each in report.exceeded)


def score_table(report: AttackReport) -> tuple[list[str], list[list[str]]]:
    """Return header and rows: how well each score tells members from others."""
    rows = [
        [each.name, f"{each.auc:.4f}", interval_text(each.interval), "best" if each.chosen else ""]
        for each in report.scores
    ]
    return ["score", "AUC", "interval", ""], rows


def flagged_table(report: AttackReport) -> tuple[list[str], list[list[str]]]:
    """Return header and rows: rates of true and false positives at each threshold, beside the bound."""
    rows = [
        [
            *(each.score, _aim(each.aim), str(each.others), str(each.members)),
            *(() if report.implied is None else (_at_most(each.bound), f"{each.surprise:.2g}")),
        ]
        for each in report.flagged
    ]
    bound = [] if report.implied is None else ["bound of TPR", "chance"]
    return ["score", "threshold for", "FPR", "TPR", *bound], rows


def guessed_table(report: AttackReport, shown: Sequence[Guessed]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows: how often values of attributes are guessed right, of members and of others."""
    implied = report.implied
    rows = [
        [
            *(printable(each.attribute), str(each.members), str(each.others)),
            f"{each.difference:+.4f} {interval_text(each.interval)}",
            *(() if implied is None else (_at_most(implied.advantage), f"{each.surprise:.2g}")),
        ]
        for each in shown
    ]
    bound = [] if implied is None else ["bound", "chance"]
    return ["attribute", "members", "others", "difference", *bound], rows


def notes(report: AttackReport) -> Iterator[str]:
    """Yield the lines that say how to read the tables."""
    yield f"Brackets hold {report.level:.0%} confidence intervals, of rows as independent draws."
    yield "Flagged are the rows above a threshold; TPR is the part of the members, FPR that of the others."
    if report.implied is None:
        return
    yield (
        "Bound of TPR: the most that the guarantee allows at the upper end of FPR. Chance: of so many members among "
        f"the flagged, or guessed right, at most, if the guarantee holds; below {report.limit:.2g} it is exceeded."
    )
    yield f"The guarantee is for {report.relation}. {ASSUMED}"


def shown_guesses(report: AttackReport) -> list[Guessed]:
    """Return the attributes to show: all, or of many those of the largest differences, in declared order."""
    if len(report.guessed) <= MOST_GUESSES:
        return list(report.guessed)
    largest = sorted(report.guessed, key=lambda each: -each.difference)[:MOST_GUESSES]
    return [each for each in report.guessed if each in largest]
