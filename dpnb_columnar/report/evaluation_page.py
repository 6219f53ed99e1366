"""The page of an evaluation. CONFIDENTIAL of exact figures; public of released scores, which carry a guarantee."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from dpnb_columnar.core.budget.composition import composition_table
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.domain_text import LONGEST_SHOWN, SHORT, class_texts, predicts, value_with_label
from dpnb_columnar.domain.groupings import group_text
from dpnb_columnar.errors import printable
from dpnb_columnar.evaluation.evaluation import (
    BY_CHANCE,
    EDGES,
    FIGURES,
    DivisionFigures,
    Estimate,
    Evaluation,
    error_text,
    figure_tables,
    fold_classes,
    is_known,
    shown_classes,
    weighted_rows,
)
from dpnb_columnar.evaluation.released_scores import (
    BANDS,
    UNRANKED,
    ReleasedScores,
    bands,
    edge_probability,
    largest_weight,
    roc_points,
    rows_text,
)
from dpnb_columnar.model.guarantee_text import drawn_from, statement
from dpnb_columnar.model.query_noise import Interval, interval_text
from dpnb_columnar.report.figures import DIAGONAL, PLAIN, Axis, Panel, Point, Series, write_single_page

WIDEST = 0.8
"""Wider intervals say nothing, and are not drawn."""

REACH = 13.0
"""Log-odds at the ends of a histogram: the outermost bins have no ends."""

HEIGHT = 330
"""Height of a drawing, so that its axes are about as high as wide."""


@dataclass(frozen=True, slots=True)
class ScoreHistogram:
    """Rows by bin of a class's log-odds (``released_scores.EDGES``): confidential if exact."""

    name: str
    others: Sequence[float]
    own: Sequence[float]


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing, and its numbers."""

    panel: Panel
    note: str
    tables: list[tuple[str, list[str], list[list[str]]]]


def roc_plot(classes: Sequence[ScoreHistogram], areas: Sequence[str], variance: float) -> Plot:
    """Draw the ROC curve of each class against the rest."""
    lines, tables = [], []
    for look, (scores, area) in enumerate(zip(classes, areas, strict=True)):
        counts = (scores.others, scores.own)
        points = roc_points(counts, variance, BANDS if variance else EDGES)
        known = [
            (point.false_positives.value, point.true_positives.value, point.true_positives.interval)
            for point in points
            if point.false_positives.value is not None and point.true_positives.value is not None
        ]
        curve = [Point(x, y, *(ends if variance else ())) for x, y, ends in known]
        label = f"{scores.name}, AUC {area}"
        lines.append(Series(label, PLAIN[look], (Point(1.0, 1.0), *curve, Point(0.0, 0.0))))
        rows = [
            [_share(point.probability), str(point.false_positives), str(point.true_positives)]
            for point in roc_points(counts, variance, BANDS)
        ]
        header = ["probability above", "other rows taken for it", "its rows found"]
        tables.append((f"{scores.name}: points of the ROC curve", header, rows))
    return Plot(
        square_panel("ROC curve", "part of other rows taken for the class", "part of its own rows found", lines),
        "Along a curve falls the probability above which rows are taken for the class. On the diagonal they are drawn "
        "by lot." + (" Upright bars hold the part of its rows found with 95 % confidence." if variance else ""),
        tables,
    )


def calibration_plot(classes: Sequence[ScoreHistogram], variance: float, of_one: float = 1) -> Plot:
    """Draw the part of rows that are of a class against its predicted probability."""
    lines, tables = [], []
    for look, scores in enumerate(classes):
        score_bands = bands(scores.others, scores.own, variance, of_one)
        drawn = [
            (band, band.share.value)
            for band in score_bands
            if band.share.value is not None and band.share.interval[1] - band.share.interval[0] < WIDEST
        ]
        aside = 0.008 * (look - (len(classes) - 1) / 2)  # bars of several classes do not touch
        points = [
            point
            for band, share in drawn
            for point in (
                Point(band.lower, share),
                Point((band.lower + band.upper) / 2 + aside, share, *band.share.interval),
                Point(band.upper, share),
                Point(band.upper, math.nan),
            )
        ]
        lines.append(Series(scores.name, PLAIN[look], tuple(points)))
        rows = [
            [f"{_share(band.lower)} to {_share(band.upper)}", f"{band.rows:,}", str(band.share)] for band in score_bands
        ]
        header = ["predicted probability", "rows", "part of them that is of the class"]
        tables.append((f"{scores.name}: calibration", header, rows))
    return Plot(
        square_panel("Predicted and observed", "predicted probability", "part of rows that is of the class", lines),
        "Level lines: rows whose predicted probability is in a range. Upright bars hold 95 % confidence intervals. "
        "Where the probabilities are right, a level line crosses the diagonal.",
        tables,
    )


def histogram_plot(scores: ScoreHistogram) -> Plot:
    """Draw how the rows of a class, and all others, are spread over its predicted probability."""
    ends = (-REACH, *EDGES, REACH)
    densities = []
    for counts in (scores.others, scores.own):
        positive = [max(count, 0) for count in counts]
        whole = max(sum(positive), 1)
        densities.append(
            [count / whole / (high - low) for count, (low, high) in zip(positive, pairwise(ends), strict=True)]
        )
    labels = ("other rows", f"rows of {scores.name}")
    steps = [
        tuple(Point(end, value) for value, pair in zip(density, pairwise(ends), strict=True) for end in pair)
        for density in densities
    ]
    ticks = tuple((odds, _share(edge_probability(odds))) for odds in (-8, -4, 0, 4, 8))
    x = Axis("odds", "predicted probability", ticks, limits=(-REACH, REACH))
    y = Axis("density", "part of the rows, per unit of log-odds", limits=(0.0, 1.04 * max(*map(max, densities)) or 1.0))
    probabilities = [0.0, *map(edge_probability, EDGES), 1.0]
    rows = [
        [f"{_share(low)} to {_share(high)}", f"{other:,}", f"{own:,}"]
        for (low, high), other, own in zip(pairwise(probabilities), scores.others, scores.own, strict=True)
    ]
    return Plot(
        Panel(f"Predicted probability of {scores.name}", x, y, tuple(map(Series, labels, PLAIN, steps)), height=HEIGHT),
        "The horizontal axis is even in log-odds. The further apart the two lines, the better the model ranks.",
        [(f"Rows by predicted probability of {scores.name}", ["probability", *labels], rows)],
    )


def number_text(value: float | None) -> str:
    """Write a figure."""
    return "none" if value is None else f"{value:.4f}"


def _share(probability: float) -> str:
    """Write a probability, near 0 and 1 with the digits that tell it from them."""
    distance = min(probability, 1 - probability)
    if distance == 0:
        return f"{probability:.0f}"
    digits = max(2, 1 - math.floor(math.log10(distance)))
    return f"{probability:.{digits}f}"


def square_panel(title: str, x: str, y: str, lines: Sequence[Series]) -> Panel:
    """Draw lines between parts, over the diagonal."""
    ticks = tuple((part, f"{part:g}") for part in (0.0, 0.25, 0.5, 0.75, 1.0))
    axes = (Axis("x", x, ticks, limits=(0.0, 1.0)), Axis("y", y, ticks, limits=(0.0, 1.0)))
    return Panel(title, *axes, (*lines, Series("", DIAGONAL, (Point(0.0, 0.0), Point(1.0, 1.0)))), height=HEIGHT)


EXACT = "Computed from the rows without noise; for the curator. Do not release."
UNGUARANTEED = "The noise came from a seed and can be subtracted. Do not release."

PARTS = (
    *(("figures", "Figures"), ("confusion", "Confusion and classes"), ("roc", "Ranking")),
    *(("calibration", "Calibration"), ("scores", "Scores by class")),
)


def write_evaluation_page(
    evaluation: Evaluation, domain: Domain, output: Path, name: str, *, overwrite: bool = False
) -> None:
    """Write exact figures as one page that needs nothing else, readable by its owner alone."""
    shown = shown_classes([each.rows for each in evaluation.classes], every=False)
    long, confusion = class_texts(domain), _confusion_table(domain, evaluation.confusion, shown)
    by_name = {each.name: each for each in evaluation.classes}
    largest = sorted(evaluation.scores, key=lambda klass: -by_name[klass].rows)[: len(PLAIN)]
    drawn = {klass: evaluation.scores[klass] for klass in domain.classes if klass in largest}
    content = {
        "lead": f"The model {name} {predicts(domain)}.",
        "about": f"{evaluation.rows:,} rows were scored.",
        "confidential": EXACT,
        "intervals": "The intervals are for the population that the rows were drawn from, as independent draws."
        + (f" AUC {error}." if (error := error_text(evaluation.auc_error)) else ""),
        "figures": list(_exact_figures(evaluation, domain)),
        "weighted": _weighted_table(evaluation, domain, shown, [name for name, *_ in confusion[1]]),
        "confusion": confusion,
        "classes": (
            ["class", "rows", "predicted", "recall", "precision", "AUC"],
            [
                [
                    *(long[code], f"{each.rows:,}", f"{each.predicted:,}", _text(each.recall, each.recall_interval)),
                    *(number_text(each.precision), _text(each.auc, each.auc_interval)),
                ]
                for code, each in ((code, evaluation.classes[code]) for code in shown)
            ],
        ),
        "omitted": len(long) - len(shown),
        "undrawn": len(evaluation.scores) - len(drawn),
        "groups": group_parts(evaluation.groups, domain),
        "by_chance": BY_CHANCE,
        **_plots(drawn, [number_text(by_name[klass].auc) for klass in drawn], domain, 0.0),
    }
    _write(output, domain, content, confidential=True, overwrite=overwrite)


def write_scores_page(scores: ReleasedScores, output: Path, name: str, *, overwrite: bool = False) -> None:
    """Write released scores as one page, readable by its owner alone where they have no guarantee."""
    figures, domain, private = scores.figures, scores.domain, scores.guarantee.private
    shown, long = shown_classes([sum(row) for row in figures.confusion], every=False), class_texts(domain)
    low, high = figures.rows_interval
    header, rows = composition_table(scores.guarantee.composition)
    largest = value_with_label(figures.majority_class, domain.class_labels)
    named: Mapping[str, Estimate] = {
        "accuracy": figures.accuracy,
        f"accuracy of always predicting {largest}": figures.majority,
        "difference": figures.gain,
        "balanced accuracy": figures.balanced_accuracy,
        **({} if figures.auc is None else {"AUC": figures.auc}),
    }
    content = {
        "lead": f"The model {name} {predicts(domain)}.",
        "about": f"About {figures.rows:,} {rows_text(domain)} were scored ({low:,.0f} to {high:,.0f}). Every number on "
        "this page follows from counts of rows to which noise was added.",
        "confidential": "" if private else UNGUARANTEED,
        "intervals": f"The intervals, for independent draws and with the noise, are for {drawn_from(domain)}."
        + (f" {UNRANKED}" if figures.auc is None else ""),
        "figures": [
            [each, number_text(estimate.value), interval_text(estimate.interval)] for each, estimate in named.items()
        ],
        "confusion": _confusion_table(domain, figures.confusion, shown),
        "classes": (
            ["class", "recall", "precision"],
            [[long[code], str(figures.recall[code]), str(figures.precision[code])] for code in shown],
        ),
        "omitted": len(long) - len(shown),
        "undrawn": 0,
        "statement": statement(scores.guarantee),
        "noise": f"{figures.noise:.3g}",
        "composition": (header, rows),
        "groups": group_parts(figures.groups, domain),
        "by_chance": BY_CHANCE,
        **_released_plots(scores, figures.auc),
    }
    _write(output, domain, content, confidential=not private, overwrite=overwrite)


def _confusion_table(
    domain: Domain, confusion: Sequence[Sequence[int]], shown: Sequence[int]
) -> tuple[list[str], list[list[str]]]:
    """Tabulate the confusion of some classes, and of all others together."""
    others = len(domain.classes) - len(shown)
    names, header = (
        [*(texts[code] for code in shown), *([f"{others} others"] if others else [])]
        for texts in (class_texts(domain), class_texts(domain, SHORT))
    )
    rows = zip(names, fold_classes(confusion, shown), strict=True)
    return ["true \\ predicted", *header], [[name, *(f"{count:,}" for count in row)] for name, row in rows]


def _write(output: Path, domain: Domain, content: Mapping[str, object], *, confidential: bool, overwrite: bool) -> None:
    guarantee = [("guarantee", "Guarantee")] if content.get("composition") else []
    weighted = [("weighted", "By weight")] if content.get("weighted") else []
    groups = [("groups", "For whom is it worse")] if content.get("groups") else []
    variables = {
        "title": f"Evaluation: {domain.name}",
        "level": "95 %",
        "parts": [*PARTS[:2], *groups, *weighted, *(PARTS[2:] if content["roc"] else []), *guarantee],
        "composition": None,
        "weighted": None,
        **content,
    }
    write_single_page(
        output, __package__, "evaluation.html.j2", variables, overwrite=overwrite, confidential=confidential
    )


def _plots(
    drawn: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    areas: Sequence[str],
    domain: Domain,
    variance: float,
    of_one: float = 1,
) -> dict[str, object]:
    classes = [
        ScoreHistogram(value_with_label(klass, domain.class_labels, SHORT), others, own)
        for klass, (others, own) in drawn.items()
    ]
    return {
        "roc": roc_plot(classes, areas, variance),
        "calibration": calibration_plot(classes, variance, of_one),
        "histograms": [histogram_plot(each) for each in classes],
    }


def _released_plots(scores: ReleasedScores, auc: Estimate | None) -> dict[str, object]:
    """Draw the scores of the second of two classes; of more nothing is known of scores."""
    if auc is None:
        return {"roc": None}
    domain, ((first, second), variance) = scores.domain, scores.in_draws
    drawn = {domain.classes[1]: (first, second)}
    return _plots(drawn, [number_text(auc.value)], domain, variance, largest_weight(domain))


def _exact_figures(evaluation: Evaluation, domain: Domain) -> list[list[str]]:
    largest = value_with_label(evaluation.majority_class, domain.class_labels)
    names = {"accuracy": "accuracy", "majority": f"accuracy of always predicting {largest}", "gain": "difference"}
    return [
        [name, number_text(getattr(evaluation, key)), interval_text(evaluation.intervals.get(key))]
        for key, name in {**names, **FIGURES, "calibration_error": "calibration error"}.items()
    ]


def _weighted_table(evaluation: Evaluation, domain: Domain, shown: Sequence[int], names: Sequence[str]) -> object:
    """Tabulate the figures by weight; None where the domain declares no weight."""
    weight, weighted = domain.row_weight, evaluation.weighted
    if weight is None:
        return None
    if weighted is None:
        return {
            "note": f"Not weighted: the rows have no numbers above 0 in a column {printable(weight.column)}.",
            "figures": None,
        }
    matrix = zip(names, fold_classes(weighted.confusion, shown), strict=True)
    shares = [(weighted.shares[code], weighted.mean_probabilities[code], weighted.recalls[code]) for code in shown]
    tenths = zip(evaluation.calibration, weighted.calibration, strict=True)
    return {
        "note": f"Every row counts with its {printable(weight.column)}, at most {float(weight.cap):g}; "
        f"{weighted.weight:,.0f} together. These figures are "
        "for the population that the rows stand for; they have no intervals, and the drawings below are of rows.",
        "figures": [[name, *map(number_text, values)] for name, *values in weighted_rows(evaluation, weighted)],
        "confusion": [[name, *(f"{cell:,.0f}" for cell in row)] for name, row in matrix],
        "classes": [[names[place], *map(number_text, each)] for place, each in enumerate(shares)],
        "calibration": [
            [f"{tenth.lower:.1f} to {tenth.upper:.1f}", *map(number_text, means or (None, None))]
            for tenth, means in tenths
        ],
    }


MOST_DRAWN = 12  # groups that a drawing has: those of the most rows
LONGEST_TICK = 9  # characters of a group below a drawing


@dataclass(frozen=True, slots=True)
class DivisionPart:
    """What a page has of one division of the rows into groups; no plot where nothing is known of any group."""

    title: str
    tables: list[tuple[str, list[str], list[list[str]]]]
    remark: str
    worse: str
    plot: Plot | None

    @property
    def verdict(self) -> str:
        below = f"is below that of all rows by the whole interval for: {self.worse}."
        nobody = "of no group is below that of all rows by the whole interval."
        return f"By {self.title}, the accuracy {below if self.worse else nobody} {self.remark}".rstrip()


def group_parts(divisions: Sequence[DivisionFigures], domain: Domain) -> list[DivisionPart]:
    """Write the figures of groups as tables and drawings."""
    return [_division_part(each, domain) for each in divisions]


def _division_part(division: DivisionFigures, domain: Domain) -> DivisionPart:
    title = printable(" and ".join(division.columns))
    groups, columns = division.known, division.columns
    names = [group_text(domain, columns, each.values, LONGEST_SHOWN) for each in groups]
    tables = [
        (
            f"{table.caption}, by {title}",
            [title, "rows", *table.header],
            [
                [name, f"{group.rows:,}", *(_known(figure) for figure in figures)]
                for name, group, figures in zip(names, groups, table.figures, strict=True)
            ],
        )
        for table in figure_tables(division, class_texts(domain, SHORT))
    ]
    worse = "; ".join(group_text(domain, columns, each.values, LONGEST_SHOWN) for each in division.worse)
    return DivisionPart(title, tables, division.remark, worse, _group_plot(division, domain) if groups else None)


def _group_plot(division: DivisionFigures, domain: Domain) -> Plot:
    """Draw how far the accuracy of each group is from that of all rows."""
    largest = sorted(division.known, key=lambda each: -each.rows)[:MOST_DRAWN]
    drawn = [each for each in division.known if each in largest]
    points, ticks = [], []
    for place, group in enumerate(drawn, 1):
        gap = group.accuracy_difference
        text = printable(", ".join("none" if value is None else value for value in group.values))
        ticks.append((float(place), text if len(text) <= LONGEST_TICK else f"{text[: LONGEST_TICK - 2]}.."))
        if gap.value is not None:
            points += [Point(place - 0.2, gap.value), Point(place, gap.value, *gap.interval)]
            points += [Point(place + 0.2, gap.value), Point(place + 0.2, math.nan)]
    x = Axis("group", printable(", ".join(division.columns)), tuple(ticks), limits=(0.4, len(drawn) + 0.6))
    ends = [end for group in drawn for end in group.accuracy_difference.interval]
    y = Axis("difference", "accuracy less that of all rows", limits=(min(-0.01, *ends), max(0.01, *ends)))
    zero = Series("", DIAGONAL, (Point(0.4, 0.0), Point(len(drawn) + 0.6, 0.0)))
    title = f"Accuracy by {printable(' and '.join(division.columns))}"
    most = f" The {MOST_DRAWN} groups of the most rows are drawn." if len(drawn) < len(division.known) else ""
    note = "Bars hold 95 % confidence intervals. Below the line the model is worse than for all rows." + most
    return Plot(Panel(title, x, y, (Series("", PLAIN[0], tuple(points)), zero), height=HEIGHT), note, [])


def _known(estimate: Estimate | None) -> str:
    """Write a figure with its interval; none where nothing is known."""
    return str(estimate) if estimate is not None and is_known(estimate) else "none"


def _text(value: float | None, interval: Interval | None) -> str:
    return f"{number_text(value)} {interval_text(interval)}".rstrip()
