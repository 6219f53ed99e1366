"""Plots of an evaluation: ROC curves, calibration and scores by class, with the same numbers as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from dpnb_columnar.model.released_scores import edge_probability
from dpnb_columnar.model.score_figures import BANDS, bands, roc_points
from dpnb_columnar.model.score_values import EDGES

TENTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Ticks of parts."""

WIDEST = 0.8
"""Wider intervals say nothing, and are not drawn."""

ASIDE = 0.008
"""Distance of the bars of several classes, as a part of the axis."""

REACH = 13.0
"""Log-odds at the ends of a histogram: the outermost bins have no ends."""

PROBABILITIES = (-8, -4, 0, 4, 8)
"""Log-odds of the ticks of a histogram, which are labelled by probability."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The place of the axes within a drawing."""

    width: int = 460
    height: int = 400
    left: int = 62
    right: int = 446
    top: int = 12
    bottom: int = 344

    def x(self, part: float) -> float:
        """Return the place of a part of the horizontal axis."""
        return round(self.left + part * (self.right - self.left), 1)

    def y(self, part: float) -> float:
        """Return the place of a part of the vertical axis."""
        return round(self.bottom - part * (self.bottom - self.top), 1)


FRAME = Frame()


@dataclass(frozen=True, slots=True)
class ClassScores:
    """Rows by bin of a class's log-odds (``released_scores.EDGES``): confidential if exact.

    Attributes:
        name: The class.
        others: Rows of other classes.
        own: Its own rows.
    """

    name: str
    others: Sequence[int]
    own: Sequence[int]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a plot.

    Attributes:
        label: Its name; empty where there is one line only.
        look: Place of its style.
        path: SVG path.
        bars: SVG path of its intervals; empty for none.
    """

    label: str
    look: int
    path: str
    bars: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing, and its numbers.

    Attributes:
        title: Its heading.
        description: What it shows, for readers who do not see it.
        x_label: Text along the horizontal axis.
        y_label: Text along the vertical axis.
        x_ticks: Places and labels.
        y_ticks: Places and labels.
        lines: What is drawn.
        note: How to read it.
        tables: Caption, header and rows of each.
        diagonal: Whether a line from corner to corner is drawn.
    """

    title: str
    description: str
    x_label: str
    y_label: str
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    lines: list[Line]
    note: str
    tables: list[tuple[str, list[str], list[list[str]]]]
    diagonal: bool = True


def roc_plot(classes: Sequence[ClassScores], areas: Sequence[str], variance: float) -> Plot:
    """Draw the ROC curve of each class against the rest.

    Args:
        classes: The classes to draw.
        areas: The area under each curve, as text.
        variance: Of the noise in a count; 0 for none. Noisy curves are drawn at few thresholds, with intervals.
    """
    lines, tables = [], []
    for look, (scores, area) in enumerate(zip(classes, areas, strict=True)):
        counts = (scores.others, scores.own)
        points = roc_points(counts, variance, BANDS if variance else EDGES)
        known = [
            (point.false_positives.value, point.true_positives.value, point.true_positives.interval)
            for point in points
            if point.false_positives.value is not None and point.true_positives.value is not None
        ]
        corners = [(1.0, 1.0), *((x, y) for x, y, _ in known), (0.0, 0.0)]
        bars = [_bar(x, ends) for x, _, ends in known] if variance else []
        lines.append(Line(f"{scores.name}, AUC {area}", look, _path(corners), " ".join(bars)))
        rows = [
            [_share(point.probability), str(point.false_positives), str(point.true_positives)]
            for point in roc_points(counts, variance, BANDS)
        ]
        header = ["probability above", "other rows taken for it", "its rows found"]
        tables.append((f"{scores.name}: points of the ROC curve", header, rows))
    return Plot(
        "ROC curve",
        "ROC curve: part of a class's rows that are found against part of other rows that are taken for it, of "
        + "; ".join(line.label for line in lines),
        "part of other rows taken for it",
        "part of its rows found",
        *_parts(),
        lines,
        "Along a curve falls the probability above which rows are taken for the class. On the diagonal they are drawn "
        "by lot." + (" Upright bars hold the part of its rows found with 95 % confidence." if variance else ""),
        tables,
    )


def calibration_plot(classes: Sequence[ClassScores], variance: float) -> Plot:
    """Draw the part of rows that are of a class against its predicted probability.

    Args:
        classes: The classes to draw.
        variance: Of the noise in a count; 0 for none.
    """
    lines, tables = [], []
    for look, scores in enumerate(classes):
        found = bands(scores.others, scores.own, variance)
        drawn = [
            (band, band.share.value)
            for band in found
            if band.share.value is not None and band.share.interval[1] - band.share.interval[0] < WIDEST
        ]
        path = " ".join(_path([(band.lower, share), (band.upper, share)]) for band, share in drawn)
        aside = ASIDE * (look - (len(classes) - 1) / 2)
        bars = " ".join(_bar((band.lower + band.upper) / 2 + aside, band.share.interval) for band, _ in drawn)
        lines.append(Line(scores.name, look, path, bars))
        rows = [[f"{_share(band.lower)} to {_share(band.upper)}", f"{band.rows:,}", str(band.share)] for band in found]
        header = ["predicted probability", "rows", "part of them that is of the class"]
        tables.append((f"{scores.name}: calibration", header, rows))
    return Plot(
        "Predicted and observed",
        f"Part of rows that are of a class against its predicted probability, of {', '.join(c.name for c in classes)}",
        "predicted probability",
        "part of rows that is of the class",
        *_parts(),
        lines,
        "Level lines: rows whose predicted probability is in a range. Upright bars hold 95 % confidence intervals. "
        "Where the probabilities are right, a level line crosses the diagonal.",
        tables,
    )


def histogram_plot(scores: ClassScores) -> Plot:
    """Draw how the rows of a class, and all others, are spread over its predicted probability."""
    ends = (-REACH, *EDGES, REACH)
    densities = []
    for counts in (scores.others, scores.own):
        rows = [max(count, 0) for count in counts]
        whole = max(sum(rows), 1)
        densities.append(
            [count / whole / (high - low) for count, (low, high) in zip(rows, pairwise(ends), strict=True)]
        )
    highest = max(*map(max, densities), 1e-9)
    labels = ("other rows", f"rows of {scores.name}")
    lines = []
    for look, (label, density) in enumerate(zip(labels, densities, strict=True)):
        corners = [
            ((end + REACH) / (2 * REACH), value / highest)
            for value, pair in zip(density, pairwise(ends), strict=True)
            for end in pair
        ]
        lines.append(Line(label, look, _path(corners)))
    ticks = [(FRAME.x((odds + REACH) / (2 * REACH)), _share(edge_probability(odds))) for odds in PROBABILITIES]
    probabilities = [0.0, *map(edge_probability, EDGES), 1.0]
    rows_ = [
        [f"{_share(low)} to {_share(high)}", f"{other:,}", f"{own:,}"]
        for (low, high), other, own in zip(pairwise(probabilities), scores.others, scores.own, strict=True)
    ]
    return Plot(
        f"Predicted probability of {scores.name}",
        f"How {' and '.join(labels)} are spread over the predicted probability of {scores.name}",
        f"predicted probability of {scores.name}"[:60],
        "part of the rows, per unit of log-odds",
        ticks,
        [(FRAME.y(part), f"{part * highest:.2g}") for part in (0.0, 0.5, 1.0)],
        lines,
        "The horizontal axis is even in log-odds. The further apart the two lines, the better the model ranks.",
        [(f"Rows by predicted probability of {scores.name}", ["probability", *labels], rows_)],
        diagonal=False,
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


def _parts() -> tuple[list[tuple[float, str]], list[tuple[float, str]]]:
    return [(FRAME.x(part), f"{part:g}") for part in TENTHS], [(FRAME.y(part), f"{part:g}") for part in TENTHS]


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + " L".join(f"{FRAME.x(x)},{FRAME.y(y)}" for x, y in points)


def _bar(x: float, ends: tuple[float, float]) -> str:
    return _path([(x, ends[0]), (x, ends[1])])
