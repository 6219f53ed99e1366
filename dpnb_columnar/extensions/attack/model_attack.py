"""Attack one released model by rows that trained it and rows that did not. CONFIDENTIAL: every figure is exact.

*Membership.* Rows are ranked by several scores, those of members above the others where the attack succeeds. A naive
Bayes model tells P(x, y); what it tells of a row beyond the population is the ratio of that to the P(x, y) of other
rows, summed over attributes in logarithms, the test of Homer et al. (2008) as Sankararaman, Obozinski, Jordan and
Halperin (2009) bound it. The population's part is estimated from half of the others. The scores of classifiers in
general are ranked beside it: confidence and entropy (Yeom et al. 2018), modified entropy (Song and Mittal 2021). Best
score and thresholds are chosen on one half of the rows, by a bit of each row's digest, and measured on the other.

*Attributes.* Given a row's class the attributes of a naive Bayes model are independent, so that no other attribute says
more: the guess is the likeliest value of the class, of a normal distribution within ``NEAR`` of its mean. It depends on
the model alone, so that all rows measure it; a correct guess counts as a flag (Yeom et al. 2018, section 5).

What a guarantee says of every attack on one model: bounds on its rates, and how surely rows contradict them.

The rows attacked are members or others. Assumed is that each of them came to be a member by itself, with the same
probability q, whatever its values and whatever became of all other rows: as ``split`` divides rows, or units. An attack
sees the model and the rows, and flags those that it takes for members.

*Rates.* An (epsilon, delta)-differentially private release makes no event more than exp(epsilon) times as likely, delta
aside, by one row more or less. Let the event be that row i is flagged, in its complement as well; then over q and noise

    TPR <= exp(epsilon) FPR + delta    and    1 - FPR <= exp(epsilon) (1 - TPR) + delta                             (1)

(Kairouz, Oh and Viswanath 2015, "The composition theorem for differential privacy", Theorem 2.1 and its converse;
Wasserman and Zhou 2010). The largest TPR - FPR under (1) is where both hold with equality, at FPR = a = (1 - delta) /
(1 + exp(epsilon)), TPR = 1 - a: (exp(epsilon) - 1 + 2 delta) / (exp(epsilon) + 1), which is below the exp(epsilon) - 1
of Yeom, Giacomelli, Fredrikson and Jha (2018, "Privacy risk in machine learning", Theorem 1). The area under the curve
through (0, delta), (a, 1 - a), (1 - delta, 1) and (1, 1) bounds that of every ROC curve. That rates matter where FPR is
small is the point of Carlini et al. (2022, "Membership inference attacks from first principles").

*One model.* Flags of one model share its noise, so an interval that takes rows for independent draws says nothing of
(1). This does (after Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1) training run", who take q = 1/2).
Let b_1, b_2, ... say who is a member, M be the model, k the number of flagged rows, a function of M and of the rows,
and W the members among them; and q' = exp(epsilon) q / (1 - q + exp(epsilon) q). Then for every v

    P(W >= v) <= min over i = 0, 1, ... of P(Bin(k, q') >= v - i) + N q (1 - q') delta / (i + 1)                    (2)

Proof. Given b_1 ... b_(i-1), the law of M is P_1 if b_i = 1 and P_0 if not, each a mixture over the rows after i of
laws that (epsilon, delta) compares pair by pair, and so comparable itself. With P = q P_1 + (1 - q) P_0 the chance p_i
that b_i = 1, given M and the rows before, is q P_1 / P, and p_i - q' = q (1 - q') (P_1 - exp(epsilon) P_0) / P, since
q' (1 - q) = (1 - q') exp(epsilon) q. So the mean over M of max(p_i - q', 0) is q (1 - q') times the integral of
max(P_1 - exp(epsilon) P_0, 0), which is at most delta. Draw U_i evenly from [0, 1] for each row, and let b_i be 1 where
U_i <= p_i, g_i where U_i <= q', x_i where q' < U_i <= p_i: b_i <= g_i + x_i. Given M the g_i are independent, so that
those of the flagged rows add up to Bin(k, q'); the x_i of N rows have a sum of mean N q (1 - q') delta at most, and by
Markov's inequality it is i + 1 or more with that over i + 1 at most. ∎ Rows that were looked at before, to choose
thresholds, stand first in the order, and what was chosen is known where the others are judged.

*q* is taken for the part of members among the rows. The flagged members are among those it is estimated by, which makes
(2) hold the more surely; ``test_randomised_response_is_hardly_ever_called_broken`` measures how often it fails against
the release that is as revealing as (1) allows.

Where one row is *replaced* by another, a guarantee compares two sets of members of one size that differ in one member.
For delta = 0, and a set of members of that size drawn evenly, the chances of W + 1 and of W members among the flagged
ones are then at most exp(epsilon) times as far apart as in a draw without replacement (each set with W + 1 is a swap
away from one with W), so that W is at most a noncentral hypergeometric variable of odds exp(epsilon). That is a sum of
independent indicators, its mean is at most k q', and by Hoeffding (1956) its tail beyond the mean is at most that of
Bin(k, q'): (2) with the observed q. For delta > 0 the second part of (2) is taken over as it stands.

Of a *unit*, read unit for row: one row of each unit is attacked.

An attack on one model by files of rows, printed and written: ``audit --model``. CONFIDENTIAL.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from dpnb_columnar.cli.console import print_confidential, print_line, print_table, print_text, stage
from dpnb_columnar.core.budget.composition import Guarantee
from dpnb_columnar.counting.inputs import local_files
from dpnb_columnar.domain import Attribute, Domain, Numeric, Unit
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.domain.domain_text import predicts
from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import DataError, UsageError, command, option, printable
from dpnb_columnar.evaluation.exact_evaluation import Ranking, ranking
from dpnb_columnar.model import query_noise as intervals
from dpnb_columnar.model.document import document_digest, to_json
from dpnb_columnar.model.guarantee_text import relation_text, statement
from dpnb_columnar.model.likelihood import log_normalisation, missing_terms, present_terms
from dpnb_columnar.model.model_files import read_model
from dpnb_columnar.model.parameters import AttributeParameters, NaiveBayes, Normal, Table
from dpnb_columnar.model.query_noise import Interval, interval_text
from dpnb_columnar.model.score_batches import prepared_value
from dpnb_columnar.model.scoring import probability_column, score, small_batches
from dpnb_columnar.releases.model_plan import software
from dpnb_columnar.report.evaluation_page import EXACT, Plot, square_panel
from dpnb_columnar.report.figures import PLAIN, Point, Series, check_single_page, write_single_page
from dpnb_columnar.rows.frames import Frame, open_frame, to_polars
from dpnb_columnar.rows.holdout import row_words
from dpnb_columnar.rows.parquet import BATCH_ROWS, Batches
from dpnb_columnar.rows.row_rules import INTEGER_RANGES, class_code, row_fits
from dpnb_columnar.rows.streaming import NAME, failed_query, query_errors
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import atomic_output, check_target
from dpnb_columnar.runtime.row_progress import begin_pass

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
    """How many of some rows something holds of, and its probability's Clopper-Pearson interval. Confidential."""

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
    """What the guarantee says of every attack; ``curve`` are points (FPR, TPR), straight lines between them."""

    epsilon: float
    delta: float
    advantage: float
    auc: float
    curve: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class RankedScore:
    """A number by which rows are ranked, with its area under the ROC curve on rows that chose nothing. Confidential."""

    name: str
    auc: float
    interval: Interval | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class Flagged:
    """Rows above a threshold, which was chosen on other rows. Confidential.

    Attributes:
        aim: The part of the others that was to be flagged; None for the largest advantage.
        bound: The largest rate of true positives that the guarantee allows at the upper end of the interval of the
            false ones; None without a guarantee.
        surprise: Bound (2) on the probability of so many members among the flagged, if the guarantee holds.
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

    The difference of both parts is what the model tells of members beyond the population; ``surprise`` is as of
    ``Flagged``, of the members among the rows that are guessed right.
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
        tested: list[tuple[str, Flagged | Guessed]] = [
            *((f"flagged by {each.score} ({_aim(each.aim)})", each) for each in self.flagged),
            *((f"whose {printable(each.attribute)} is guessed right", each) for each in self.guessed),
        ]
        return tuple(
            f"{each.members.hits:,} of {each.members.hits + each.others.hits:,} rows {which} are members"
            for which, each in tested
            if each.surprise is not None and each.surprise < self.limit
        )

    def __repr__(self) -> str:
        return "\n".join(["AttackReport, CONFIDENTIAL: exact figures of rows", *summary(self)])


def _aim(aim: float | None) -> str:
    return "largest advantage" if aim is None else f"FPR {aim:g}"


def _at_least(bound: float) -> str:
    return f"{math.floor(bound * 10**4) / 10**4:.4f}"


def _at_most(bound: float | None) -> str:
    return "none" if bound is None else f"{math.ceil(bound * 10**4) / 10**4:.4f}"


def verdict(report: AttackReport) -> str:
    """Say in one sentence whether anything exceeds the bound."""
    if report.implied is None:
        below = f" The attack rules out any epsilon below {_at_least(report.contradicted)}."
        return f"The model has no guarantee, so there is no bound.{below if report.contradicted else ''}"
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


MOST_EPSILON = 50.0
"""Above this no number of rows contradicts an epsilon."""

PRECISION = 1e-4
"""Of an epsilon that is contradicted."""


def largest_curve(epsilon: float, delta: float = 0.0) -> tuple[tuple[float, float], ...]:
    """Return the points (FPR, TPR) between which the largest ROC curve of any attack is straight."""
    corner = (1 - delta) * math.exp(-epsilon) / (1 + math.exp(-epsilon))
    return (0.0, delta), (corner, 1 - corner), (1 - delta, 1.0), (1.0, 1.0)


def largest_advantage(epsilon: float, delta: float = 0.0) -> float:
    """Compute the largest TPR - FPR of any attack."""
    false, true = largest_curve(epsilon, delta)[1]
    return true - false


def largest_area(epsilon: float, delta: float = 0.0) -> float:
    """Compute the largest area under the ROC curve of any attack."""
    points = largest_curve(epsilon, delta)
    return sum((end - start) * (low + high) / 2 for (start, low), (end, high) in pairwise(points))


def largest_rate(false_positives: float, epsilon: float, delta: float = 0.0) -> float:
    """Compute the largest true positive rate of any attack with a rate of false positives."""
    above = math.exp(min(epsilon, 700.0)) * false_positives + delta
    return max(min(above, 1 - math.exp(-epsilon) * (1 - false_positives - delta), 1.0), 0.0)


def surprise(members: int, flagged: int, rows: int, part: float, epsilon: float, delta: float = 0.0) -> float:
    """Bound the probability of as many members among the flagged rows, or more, by (2)."""
    from scipy.special import betainc

    odds = math.exp(min(epsilon, 700.0)) * part
    chance = odds / (1 - part + odds)
    aside = np.arange(members + 1 if delta else 1)
    left = members - aside
    tails = np.where(left > 0, betainc(np.maximum(left, 1), flagged - np.maximum(left, 1) + 1, chance), 1.0)
    return float(min((tails + rows * part * (1 - chance) * delta / (aside + 1)).min(), 1.0))


def contradicted(members: int, flagged: int, rows: int, part: float, limit: float, delta: float = 0.0) -> float:
    """Compute the epsilon below which every guarantee is contradicted: a lower confidence bound; 0 for none."""
    low, high = 0.0, MOST_EPSILON  # ``surprise`` grows with epsilon
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if surprise(members, flagged, rows, part, middle, delta) < limit else (low, middle)
    return low


Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ERROR = 0.01
"""Probability that a report says of any figure that it exceeds the bound of a guarantee that holds."""

AIMS = (None, 0.1, 0.01, 0.001)
"""Rates of false positives that thresholds are chosen for; None for the largest advantage."""

LEAST = 20
"""Members, and others, of each half."""

CELLS = 4096
"""Even cells of a scale that the numbers of a normal attribute are put into."""

NEAR = 0.025
"""Part of the width of the bounds within which a guessed number is right."""

POINTS = 200
"""Points of a ROC curve that are kept."""

LIKELIHOOD_RATIO = "likelihood ratio"
WEIGHTED_JOINT = "weighted log P(x, y)"


@confined()
def attack(
    model: NaiveBayes, members: Batches, others: Batches, sensitive: Collection[str] = (), error: float = ERROR
) -> AttackReport:
    """Attack a model. Some hundred bytes of each row are held in memory, and a few for each attribute."""
    tables = [_table(model, place) for place in _guessed_places(model, sensitive)]
    attributes = [_table(model, place) for place in range(len(model.attributes))]
    columns = _key_columns(model.domain.unit, members, others)
    trained, fresh = (_read(model, attributes, rows, columns) for rows in (members, others))
    both = bool(np.isin(fresh["key"], trained["key"]).any())
    whole_units = model.domain.unit is not None
    if both:
        raise DataError(_overlap(members.name, others.name, columns, whole_units=whole_units))
    every = len(trained) + len(fresh)
    # Those that came to be members by themselves: one of each unit, or those that equal no other row.
    alone: Literal["first", "none"] = "first" if whole_units else "none"
    trained, fresh = (rows.unique("key", keep=alone, maintain_order=True) for rows in (trained, fresh))
    first_half = pl.col("key") % 2 == 1
    halves = [(rows.filter(first_half), rows.filter(~first_half)) for rows in (trained, fresh)]
    for rows, parts in zip((members, others), halves, strict=True):
        if min(map(len, parts)) < LEAST:
            raise DataError(
                f"{rows.name}: too few rows can be attacked: {LEAST} in each half are needed that fit the domain and "
                "equal no other row; where equal rows are different persons, number the rows before they are split"
            )
    (chosen_members, tested_members), (chosen_others, tested_others) = halves
    reference = _reference(model, attributes, chosen_others)
    themselves = _reference(model, attributes, chosen_others, without=1)
    first = [
        _scores(model, attributes, population, rows)
        for population, rows in ((reference, chosen_members), (themselves, chosen_others))
    ]
    second = [_scores(model, attributes, reference, rows) for rows in (tested_members, tested_others)]
    areas = {name: _ranking(first[0][name], first[1][name]).area for name in first[0]}
    best = max(areas, key=lambda name: areas[name])
    implied, relation = _implied(model.guarantee), model.guarantee.neighbours
    part = len(trained) / (len(trained) + len(fresh))
    flagged = tuple(
        _flagged(name, aim, [each[name] for each in first], [each[name] for each in second], implied, part)
        for name in dict.fromkeys((LIKELIHOOD_RATIO, best))
        for aim in AIMS
    )
    guessed = tuple(_guessed(table, trained, fresh, implied, part) for table in tables if table.cells > 1)
    limit, delta = error / (len(flagged) + len(guessed)), 0.0 if implied is None else implied.delta
    counted = [
        (each.members.hits, each.others.hits, each.members.rows + each.others.rows) for each in flagged + guessed
    ]
    strongest = next(each for each in flagged if each.score == best)
    measured = {name: _ranking(second[0][name], second[1][name]) for name in areas}
    return AttackReport(
        guarantee=statement(model.guarantee),
        relation="" if relation is None or implied is None else relation_text(relation, model.guarantee.unit),
        members=len(trained),
        others=len(fresh),
        left_out=every - len(trained) - len(fresh),
        chosen_on=(len(chosen_members), len(chosen_others)),
        implied=implied,
        scores=tuple(RankedScore(name, each.area, each.interval, name == best) for name, each in measured.items()),
        advantage=strongest.members.share - strongest.others.share,
        advantage_interval=intervals.difference(
            *((rate.hits, rate.rows) for rate in (strongest.members, strongest.others))
        ),
        flagged=flagged,
        guessed=guessed,
        contradicted=max(contradicted(one, one + other, rows, part, limit, delta) for one, other, rows in counted),
        roc={name: _curve(second[0][name], second[1][name]) for name in dict.fromkeys((LIKELIHOOD_RATIO, best))},
        error=error,
        level=intervals.LEVEL,
    )


def batches_of_frame(frame: Frame, name: str = NAME) -> Batches:
    """Return the rows of a frame; a lazy one is computed once."""
    try:
        rows = to_polars(frame).lazy().collect().to_arrow()
    except query_errors():
        raise failed_query(name) from None
    return Batches(name, rows.schema, iter(rows.to_batches(BATCH_ROWS)), lambda: len(rows))


def to_document(report: AttackReport, model: str) -> dict[str, Any]:
    """Make the document of an attack, with the SHA-256 of the model's document. CONFIDENTIAL."""
    return {
        "confidential": True,
        "format": "dpnb_columnar attack on a model",
        "version": 1,
        "software": software(),
        "model": model,
        "holds": None if report.implied is None else not report.exceeded,
        "exceeded": report.exceeded,
        **asdict(report),
    }


@dataclass(frozen=True, slots=True, eq=False)
class _LogTable:
    """An attribute of the model as a table of logarithms.

    Attributes:
        logs: Shape (classes, cells + 1): the log-probability of each cell; last, of no value, 0 where that is left out.
        right: Shape (classes, cells): the cells in which a guess from the class is right.
    """

    attribute: Attribute
    parameters: AttributeParameters
    place: int
    logs: Floats
    right: Flags

    @property
    def cells(self) -> int:
        return len(self.right[0])

    def cell(self, kind: Kind) -> pl.Expr:
        """Return the cell of a row; the number of cells where it has no value."""
        value = prepared_value(self.attribute, self.parameters, kind)
        if isinstance(self.parameters, Normal):
            assert isinstance(self.attribute, Numeric)
            scale = self.attribute.scale
            value = ((value - scale.origin) / (scale.end - scale.origin) * CELLS).floor().clip(0, CELLS - 1)
        small = next(type_ for type_ in (pl.Int8, pl.Int16, pl.Int32) if self.cells <= INTEGER_RANGES[type_][1])
        return value.cast(pl.Int32).fill_null(self.cells).cast(small)

    def cells_of(self, rows: pl.DataFrame) -> NDArray[Any]:
        return rows[f"{self.place}"].to_numpy()


def _guessed_places(model: NaiveBayes, sensitive: Collection[str]) -> list[int]:
    names = [parameters.attribute for parameters in model.attributes]
    if unknown := [name for name in sensitive if name not in names]:
        raise UsageError(
            f"{option('sensitive')}: {listed(unknown)} is no attribute of the model; its attributes are {listed(names)}"
        )
    return [place for place, name in enumerate(names) if not sensitive or name in sensitive]


def _table(model: NaiveBayes, place: int) -> _LogTable:
    parameters = model.attributes[place]
    attribute = model.domain[parameters.attribute]
    if isinstance(parameters, Normal):
        assert isinstance(attribute, Numeric)
        middles, width = _middles(attribute)
        logs = _normal_logs(attribute, parameters.mean, parameters.deviation)
        near = NEAR * width * CELLS
        right = np.array([np.abs(middles - mean) <= near for mean in parameters.mean])
    else:
        probability = np.array(parameters.probability)
        logs, right = np.log(probability), probability == probability.max(axis=1, keepdims=True)
        right &= right.cumsum(axis=1) == 1  # of several the first
    missing = np.zeros(len(logs))
    if not isinstance(parameters, Table):
        logs = logs + np.array(present_terms(parameters))[:, None]
        if missing_terms(parameters) is not None and parameters.presence is not None:
            missing = np.log([without for _, without in parameters.presence.probability])
    return _LogTable(attribute, parameters, place, np.column_stack([logs, missing]), right)


def _middles(attribute: Numeric) -> tuple[Floats, float]:
    width = (attribute.scale.end - attribute.scale.origin) / CELLS
    middles = np.linspace(attribute.scale.origin + width / 2, attribute.scale.end - width / 2, CELLS)
    return middles, width


def _normal_logs(attribute: Numeric, means: Sequence[float], deviations: Sequence[float]) -> Floats:
    """Return the log-probability of each cell, shape (classes, cells), by the density in its middle."""
    middles, width = _middles(attribute)
    origin, end = attribute.scale.origin, attribute.scale.end
    return np.array(
        [
            log_normalisation(mean, deviation, origin, end) + math.log(width) - ((middles - mean) / deviation) ** 2 / 2
            for mean, deviation in zip(means, deviations, strict=True)
        ]
    )


def _key_columns(unit: Unit | None, members: Batches, others: Batches) -> tuple[str, ...]:
    """Choose the columns by which rows are told apart: those of the unit, or all that both have."""
    if unit is None:
        return tuple(name for name in members.schema.names if name in others.schema.names)
    for rows in (members, others):
        if absent := [name for name in unit.columns if name not in rows.schema.names]:
            raise DataError(f"{rows.name}: has no column {listed(absent)}, which names the unit of the guarantee")
    return tuple(unit.columns)


def _read(model: NaiveBayes, tables: Sequence[_LogTable], rows: Batches, columns: Sequence[str]) -> pl.DataFrame:
    """Read the keys and classes of rows, their cells by the place of each table, and other scores. Confidential."""
    advance, parts = begin_pass(rows.size), []
    with small_batches(model):
        for batch in rows.batches:
            parts.append(_read_batch(model, tables, batch, columns, rows.name))
            if advance is not None:
                advance(len(batch))
    if not any(map(len, parts)):
        raise DataError(
            f"{rows.name}: no row fits the model's domain; compare its values with what domain show and check print"
        )
    return pl.concat(parts)


def _read_batch(
    model: NaiveBayes, tables: Sequence[_LogTable], batch: pa.RecordBatch, columns: Sequence[str], name: str
) -> pl.DataFrame:
    domain = model.domain.per_row
    named = dict(zip(batch.schema.names, batch.columns, strict=True))
    keys = row_words({column: named[column] for column in columns}, len(batch), "attack")
    try:
        read = [column for column in batch.schema.names if column in domain.counted_columns]
        opened = open_frame(pl.DataFrame(pl.from_arrow(batch.select(read))), domain, name)
        kinds = opened.kinds
        values = opened.rows.select(
            row_fits(domain, kinds).alias("fits"),
            class_code(domain, kinds).fill_null(0).cast(pl.Int16).alias("class"),
            *(table.cell(kinds[table.attribute.name]).alias(f"{table.place}") for table in tables),
        ).collect()
        scored = score(model, opened.rows.collect()).lazy().collect()
    except query_errors():
        raise DataError(f"{name}: cannot be read: damaged, or a text of it is not UTF-8") from None
    probabilities = np.array([scored[probability_column(klass)].to_numpy() for klass in domain.classes])
    confidences = _confidences(probabilities, values["class"].to_numpy())
    return values.with_columns(key=keys, **confidences).filter("fits")


def _confidences(probabilities: Floats, classes: NDArray[np.int16]) -> dict[str, Floats]:
    """Return the scores of classifiers in general; of two classes most rank rows as the log-odds do."""
    rows = np.arange(len(classes))
    own = probabilities[classes, rows]
    rest = probabilities.copy()
    rest[classes, rows] = 0
    tiny = np.finfo(np.float64).tiny
    logs = np.log(np.maximum(probabilities, tiny))
    scores = {
        "confidence of the true class": logs[classes, rows] - np.log(np.maximum(rest.sum(axis=0), tiny)),
        "entropy of the prediction, reversed": (probabilities * logs).sum(axis=0),
    }
    if len(probabilities) > 2:
        scores["margin of the true class"] = own - rest.max(axis=0)
        spread = (rest * np.log(np.maximum(1 - rest, tiny))).sum(axis=0)
        scores["modified entropy, reversed"] = (1 - own) * logs[classes, rows] + spread
    return scores


def _overlap(members: str, others: str, columns: Sequence[str], *, whole_units: bool) -> str:
    what = "rows are of units" if whole_units else "rows equal rows"
    by = listed(columns) if whole_units else "in every column"
    remedy = (
        f"hold out whole units, such as {command('split', by='COLUMN')} does"
        if whole_units
        else "leave them out of one of the two; where equal rows are different persons, number the rows first"
    )
    return f"CONFIDENTIAL: {others}: {what} of {members} ({by}), so they are no others; {remedy}"


def _reference(
    model: NaiveBayes, tables: Sequence[_LogTable], rows: pl.DataFrame, *, without: int = 0
) -> tuple[Floats, list[Floats]]:
    """Estimate what the population has: log-priors, and per attribute logarithms in the form of ``_LogTable.logs``."""
    size, classes = len(model.priors), rows["class"].to_numpy()
    counts = np.bincount(classes, minlength=size)
    logs = []
    for table in tables:
        cells = table.cells
        places = classes * np.int64(cells + 1) + table.cells_of(rows)
        joint: Floats = np.bincount(places, minlength=size * (cells + 1)).reshape(size, cells + 1).astype(np.float64)
        present, missing = joint[:, :cells], joint[:, cells:]
        pooled: Floats = present.sum(axis=0)
        if isinstance(table.parameters, Normal):
            estimated = _normal_reference(table, present, pooled)
        else:  # half a row a cell, spread as those of all classes together are
            spread = (np.maximum(pooled - without, 0) + 0.5) / (max(pooled.sum() - without, 0) + 0.5 * cells)
            own = np.maximum(present - without, 0) + 0.5 * cells * spread
            estimated = np.log(own / (np.maximum(present.sum(axis=1, keepdims=True) - without, 0) + 0.5 * cells))
        absent = np.zeros((size, 1))
        if missing_terms(table.parameters) is not None:  # to have no value stands in no cell of the table
            lacking = (missing + 0.5) / (joint.sum(axis=1, keepdims=True) + 1)
            estimated, absent = estimated + np.log1p(-lacking), np.log(lacking)
        logs.append(np.hstack([estimated, absent]))
    priors: Floats = np.log((counts + 0.5) / (counts.sum() + 0.5 * size))
    return priors, logs


def _normal_reference(table: _LogTable, present: Floats, pooled: Floats) -> Floats:
    """Fit a normal distribution to each class, with two rows of all classes together added to its own."""
    assert isinstance(table.attribute, Numeric)
    middles, width = _middles(table.attribute)
    share = 2 * pooled / max(pooled.sum(), 1.0)
    if not pooled.sum():
        share = np.full(CELLS, 2 / CELLS)
    weights = present + share
    means = weights @ middles / weights.sum(axis=1)
    variances = np.array([each @ (middles - mean) ** 2 / each.sum() for each, mean in zip(weights, means, strict=True)])
    return _normal_logs(table.attribute, means.tolist(), np.sqrt(variances + (width / 2) ** 2).tolist())


def _scores(
    model: NaiveBayes, tables: Sequence[_LogTable], reference: tuple[Floats, list[Floats]], rows: pl.DataFrame
) -> dict[str, Floats]:
    """Compute the scores of rows, by name: the larger, the more a row looks like a member."""
    classes = rows["class"].to_numpy()
    joint, ratio = np.log(model.classes.probability)[classes], -reference[0][classes]
    ratio = ratio + joint
    weighted = (np.log(model.priors) + np.array(model.intercepts))[classes]
    for table, weight, population in zip(tables, model.weights, reference[1], strict=True):
        cells = table.cells_of(rows)
        own = table.logs[classes, cells]
        joint = joint + own
        ratio += own - population[classes, cells]
        weighted += weight * own
    return {
        LIKELIHOOD_RATIO: ratio,
        "log P(x, y)": joint,
        **({} if model.attribute_weights is None else {WEIGHTED_JOINT: weighted}),
        **{name: rows[name].to_numpy() for name in rows.columns[rows.columns.index("key") + 1 :]},
    }


def _ranking(members: Floats, others: Floats) -> Ranking:
    values, places = np.unique(np.concatenate([members, others]), return_inverse=True)
    own = np.arange(len(places)) < len(members)
    frame = pl.DataFrame({"own": own, "bin": places}).group_by("own", "bin").len("rows")
    result = ranking(frame.with_columns(pl.col("rows").cast(pl.Int64), least=pl.lit(0.0), largest=pl.lit(0.0)))
    assert result is not None, len(values)
    return result


def _threshold(members: Floats, others: Floats, aim: float | None) -> float:
    falling = np.sort(others)[::-1]
    if aim is not None:
        return float(falling[min(int(aim * len(falling)), len(falling) - 1)])
    candidates = np.unique(np.concatenate([members, others]))
    above = [len(part) - np.searchsorted(np.sort(part), candidates, side="right") for part in (members, others)]
    return float(candidates[np.argmax(above[0] / len(members) - above[1] / len(others))])


def _flagged(
    name: str,
    aim: float | None,
    chosen: Sequence[Floats],
    tested: Sequence[Floats],
    implied: Implied | None,
    part: float,
) -> Flagged:
    threshold = _threshold(chosen[0], chosen[1], aim)
    members, others = (_rate(int((values > threshold).sum()), len(values)) for values in tested)
    if implied is None:
        return Flagged(name, aim, members, others, None, None)
    bound = largest_rate(others.interval[1], implied.epsilon, implied.delta)
    return Flagged(name, aim, members, others, bound, _surprise(members, others, implied, part))


def _guessed(
    table: _LogTable, members: pl.DataFrame, others: pl.DataFrame, implied: Implied | None, part: float
) -> Guessed:
    rates = []
    for rows in (members, others):
        cells = table.cells_of(rows)
        known = cells < table.cells
        right = table.right[rows["class"].to_numpy()[known], cells[known]]
        rates.append(_rate(int(right.sum()), int(known.sum())))
    one, other = rates
    return Guessed(
        table.attribute.name,
        one,
        other,
        (one.share if one.rows else 0.0) - (other.share if other.rows else 0.0),
        intervals.difference((one.hits, max(one.rows, 1)), (other.hits, max(other.rows, 1))),
        None if implied is None else _surprise(one, other, implied, part),
    )


def _surprise(members: Rate, others: Rate, implied: Implied, part: float) -> float:
    rows = members.rows + others.rows
    return surprise(members.hits, members.hits + others.hits, rows, part, implied.epsilon, implied.delta)


def _rate(hits: int, rows: int) -> Rate:
    tail = (1 - intervals.LEVEL) / 2
    if not rows:
        return Rate(0, 0, (0.0, 1.0))
    low, high = (bound(hits, rows, tail) for bound in (intervals.lower_bound, intervals.upper_bound))
    return Rate(hits, rows, (float(low), float(high)))


def _curve(members: Floats, others: Floats) -> tuple[tuple[float, float], ...]:
    """Return points (FPR, TPR) of a ROC curve, from the highest threshold to the lowest."""
    falling = np.unique(np.concatenate([members, others]))[::-1]
    falling = falling[np.unique(np.linspace(0, len(falling) - 1, POINTS).astype(np.int64))]
    rates = [1 - np.searchsorted(np.sort(part), falling, side="left") / len(part) for part in (others, members)]
    return ((0.0, 0.0), *zip(*(rate.tolist() for rate in rates), strict=True))


def _implied(guarantee: Guarantee) -> Implied | None:
    """Compute the bounds of a guarantee; of seeded noise as well, since the attack does not know the seed."""
    if guarantee.epsilon is None:
        return None
    epsilon, delta = float(guarantee.epsilon), float(guarantee.delta or 0)
    return Implied(
        epsilon, delta, largest_advantage(epsilon, delta), largest_area(epsilon, delta), largest_curve(epsilon, delta)
    )


TABULATED = 20
"""Points of each curve in the table beneath the drawing."""

READING = ("reading", "How to read it")


def write_attack_page(
    report: AttackReport, domain: Domain, output: Path, name: str, *, overwrite: bool = False
) -> None:
    """Write the report as one page that needs nothing else, readable by its owner alone. Confidential."""
    attributes = [("attributes", "Attributes")] if report.guessed else []
    content = {
        "title": f"Attack on a model: {domain.name}",
        "lead": f"The model {name} {predicts(domain)}.",
        "confidential": EXACT,
        "verdict": verdict(report),
        "exceeded": report.exceeded,
        "parts": [("attacked", "What was attacked"), ("membership", "Membership"), *attributes, READING],
        "pairs": list(facts(report)),
        "scores": score_table(report),
        "flagged": flagged_table(report),
        "roc": _curves(report),
        "guessed": guessed_table(report, report.guessed) if report.guessed else None,
        "notes": list(notes(report)),
    }
    write_single_page(output, __package__, "attack.html.j2", content, overwrite=overwrite, confidential=True)


def _curves(report: AttackReport) -> Plot:
    """Draw the ROC curves, and the edge of what the guarantee allows."""
    curves = {**report.roc, **({} if report.implied is None else {"bound of the guarantee": report.implied.curve})}
    lines = [
        Series(label, look, tuple(Point(*point) for point in points))
        for (label, points), look in zip(curves.items(), PLAIN, strict=False)
    ]
    tables = []
    for label, points in curves.items():
        shown = points[:: -(-len(points) // TABULATED)]
        rows = [[f"{false:.4f}", f"{true:.4f}"] for false, true in shown]
        tables.append((f"{label}: points of the curve", ["FPR", "TPR"], rows))
    return Plot(
        square_panel("ROC curve", "part of the others flagged (FPR)", "part of the members flagged (TPR)", lines),
        "On the diagonal rows are flagged by lot. The guarantee keeps the expected curve of every attack below its "
        "bound; a measured one differs from that by chance.",
        tables,
    )


def attack_files(
    model: Path,
    members: Sequence[str],
    others: Sequence[str],
    sensitive: Sequence[str],
    html: Path | None,
    output: Path | None,
    overwrite: bool,
    as_json: bool,
) -> bool:
    """Attack one model, print the report, write what is asked for, and return whether a bound is exceeded."""
    rows = [local_files(data, "members" if place == 0 else "others") for place, data in enumerate((members, others))]
    loaded = read_model(model)
    if html is not None:
        check_single_page(html, overwrite)
    written = [path for path in (html, output) if path is not None]
    for path in written:
        check_target(path, overwrite, [model, *(file for each in rows for file in each.files)])
    with stage("attacking"):
        report = attack(loaded, rows[0].batches(), rows[1].batches(), sensitive)
    document = to_document(report, document_digest(loaded))
    if html is not None:
        write_attack_page(report, loaded.domain, html, model.name, overwrite=overwrite)
    if output is not None:
        with atomic_output(output, overwrite=overwrite, confidential=True) as partial:
            partial.write_text(to_json(document), encoding="utf-8")
    if as_json:
        print_text(to_json(document).rstrip())
    else:
        print_confidential()
        _print_attack(report)
        for path in written:
            print_line(f"wrote {path}", "written", output=str(path))
    return bool(report.exceeded)


def _print_attack(report: AttackReport) -> None:
    for line in summary(report):
        print_line(line)
    print_line()
    print_table(*score_table(report))
    print_line()
    print_table(*flagged_table(report))
    if report.guessed:
        shown = shown_guesses(report)
        print_line()
        print_table(*guessed_table(report, shown))
        if others := len(report.guessed) - len(shown):
            print_line(f"  and {others} attributes of smaller differences; all of them with --json")
    print_line()
    for line in notes(report):
        print_line(line)
