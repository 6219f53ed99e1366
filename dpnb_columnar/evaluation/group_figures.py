"""Figures of groups of rows, and how far they are from those of all rows: for whom a model is worse.

Public where they are computed from noisy counts; CONFIDENTIAL where from exact ones. Intervals are those of
``noisy_intervals``; without noise they are Wilson's. Let a be a figure of a group, b the same one of all other rows,
and w the group's part of the rows that it is a mean over. The figure of all rows is w a + (1 - w) b, so that the
group's less that is (1 - w)(a - b). Group and other rows are disjoint, hence independent, and so is their noise: the
distances of the ends of the two intervals from a and b are added as deviations are (Newcombe 1998, method 10). w is
taken as it is estimated: its error moves the difference by a part of the difference only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from dpnb_columnar.evaluation.noisy_intervals import (
    TAILS,
    Estimate,
    exact_sum_interval,
    largest_quantiles,
    proportion,
    ratio_estimate,
)
from dpnb_columnar.model.intervals import QUANTILE
from dpnb_columnar.model.query_noise import LEVEL, Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_CLASSES = 6
"""Classes whose recalls a table has, where there are more than two: the first."""

BY_CHANCE = "Of forty groups for which a model does as well as for all rows, about one is below by chance."
"""What is said below figures of groups."""

HALF_OF_LAST_DIGIT = 0.00005
"""Errors below this are not seen in what is printed."""

LEAST_ROWS = 30
"""Rows of a group of which a verdict is given: below, the intervals hold too little of what a few rows may be.

The least number of rows behind a published proportion in the Data Presentation Standards for Proportions of the
National Center for Health Statistics (Parker et al. 2017, Vital and Health Statistics 2, 175).
"""

UNKNOWN = Estimate(None, (-1.0, 1.0))
"""A difference of which nothing is known."""


def error_text(error: float | None) -> str:
    """Write the bound on the error of an area whose rows are ranked in bins; nothing if four digits do not show it."""
    if error is None or error < HALF_OF_LAST_DIGIT:
        return ""
    return f"give or take {error:.4f}: rows are ranked in bins"


def is_known(estimate: Estimate) -> bool:
    """Tell whether anything is known of a figure: whether some value that it may have is excluded."""
    return estimate.value is not None and estimate.interval not in ((0.0, 1.0), (-1.0, 1.0))


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """Figures of one group. Each ``.._difference`` is the figure less that of all rows.

    Attributes:
        values: The group's value of each column; None of rows without a declared value.
        rows: Number of rows; with noise, perhaps below 0.
        rows_interval: Between which the exact number lies.
        has_rows: Whether the rows stand out of the noise. All groups of a division that are without rows are recognised
            with 95 % probability, together; of those there is nothing to read in any figure.
        majority_class: The largest class.
        majority: Part of the rows in it: the accuracy of always predicting it.
        accuracy, accuracy_difference: Part of the rows whose class is predicted correctly.
        recall, recall_difference: Per class, the part of its rows that it is predicted for. Its false negatives are the
            rest.
        false_positives, false_positives_difference: Per class, the part of the other classes' rows that it is predicted
            for.
        calibration, calibration_difference: Of two classes, the mean probability of the second less the part of the
            rows that are of it: expected minus observed. None of more classes.
        auc: Of two classes, the area under the ROC curve, where it can be said: with exact counts of scores.
        auc_error: Bound on the error of ``auc`` because rows are ranked in bins; 0 where they are not.
    """

    values: tuple[str | None, ...]
    rows: int
    rows_interval: Interval
    has_rows: bool
    majority_class: str
    majority: Estimate
    accuracy: Estimate
    accuracy_difference: Estimate
    recall: tuple[Estimate, ...]
    recall_difference: tuple[Estimate, ...]
    false_positives: tuple[Estimate, ...]
    false_positives_difference: tuple[Estimate, ...]
    calibration: Estimate | None
    calibration_difference: Estimate | None
    auc: Estimate | None = None
    auc_error: float | None = None


@dataclass(frozen=True, slots=True)
class DivisionFigures:
    """Figures of all groups that one column, or several that are crossed, divide the rows into.

    Attributes:
        columns: The columns.
        groups: Figures of each group, in declared order.
        least_rows: Rows, or sum of their weights, below which there is no verdict on a group.
    """

    columns: tuple[str, ...]
    groups: tuple[GroupFigures, ...]
    least_rows: float = LEAST_ROWS

    @property
    def worse(self) -> tuple[GroupFigures, ...]:
        """The groups whose accuracy is below that of all rows by the whole interval, the worst first.

        Of groups for which the model does as well as for all, about one in forty is among them by chance. None has
        fewer than ``least_rows``, of exact counts or of noisy ones.
        """
        below = [
            each for each in self.known if each.rows >= self.least_rows and each.accuracy_difference.interval[1] < 0
        ]
        return tuple(sorted(below, key=lambda each: each.accuracy_difference.interval[1]))

    @property
    def known(self) -> tuple[GroupFigures, ...]:
        """The groups of which anything is known: those that have rows."""
        return tuple(each for each in self.groups if each.has_rows and is_known(each.accuracy))

    @property
    def remark(self) -> str:
        """How many groups are skipped, which have too few rows for a verdict, and how far areas may be off."""
        skipped, few = len(self.groups) - len(self.known), sum(each.rows < self.least_rows for each in self.known)
        noisy = any(each.rows_interval[0] < each.rows_interval[1] for each in self.groups)
        hidden = ", or with fewer than the noise hides" if noisy else ""
        error = error_text(max((each.auc_error or 0.0 for each in self.known), default=None))
        remarks = (
            f"{skipped} group{'s' * (skipped > 1)} skipped: without rows{hidden}." * bool(skipped),
            f"{few} group{'s' * (few > 1)} of fewer than {self.least_rows:g} rows: no verdict." * bool(few),
            f"AUC {error}." * bool(error),
        )
        return " ".join(filter(None, remarks))


@dataclass(frozen=True, slots=True)
class FigureTable:
    """Figures of those of a division's groups of which anything is known, to be read.

    Attributes:
        caption: What they are.
        header: Names of the columns.
        figures: Per group and column behind the first two, the figure; None where there is none.
    """

    caption: str
    header: tuple[str, ...]
    figures: tuple[tuple[Estimate | None, ...], ...]


def figure_tables(division: DivisionFigures, classes: Sequence[str]) -> tuple[FigureTable, FigureTable]:
    """Return what is read of a division's groups: accuracies first, then errors by class.

    Args:
        classes: The classes, as they are to be read.
    """
    groups = division.known
    accuracies = tuple((each.accuracy, each.accuracy_difference, each.majority) for each in groups)
    first = FigureTable("Accuracy", ("accuracy", "less all rows", "largest class"), accuracies)
    if len(classes) > 2:
        shown = range(min(len(classes), MOST_CLASSES))
        header = tuple(f"{classes[place]} found" for place in shown)
        return first, FigureTable("Recall", header, tuple(tuple(each.recall[: len(shown)]) for each in groups))
    errors = tuple(
        (each.false_positives[1], complement(each.recall[1]), each.calibration, each.calibration_difference, each.auc)
        for each in groups
    )
    names = ("false positives", "false negatives", "expected less observed", "less all rows", "AUC")
    ranked = len(names) - all(row[-1] is None for row in errors)
    return first, FigureTable(f"Errors about {classes[1]}", names[:ranked], tuple(row[:ranked] for row in errors))


def complement(estimate: Estimate) -> Estimate:
    """Return 1 less an estimate."""
    low, high = estimate.interval
    return Estimate(None if estimate.value is None else 1 - estimate.value, (1 - high, 1 - low))


@dataclass(frozen=True, slots=True)
class GroupTables:
    """What the figures of a division are computed from. Confidential without noise.

    Attributes:
        counts: Shape (groups, classes, classes): rows by true class, then predicted class; whole numbers without noise.
        expected: Shape (groups,): sums of the probabilities of the second of two classes; None of more.
        squares: Shape (groups,): sums of the squares of a row's probability less 1 or 0, by its class; None where they
            are not known.
        count_variance: Of the noise in a count; 0 for none.
        sum_variance: Of the noise in a sum of probabilities.
    """

    counts: NDArray[np.int64] | NDArray[np.float64]
    expected: NDArray[np.float64] | None
    squares: NDArray[np.float64] | None = None
    count_variance: float = 0.0
    sum_variance: float = 0.0

    def of(self, groups: NDArray[np.bool_]) -> _Rows:
        """Add up some groups."""
        return _Rows(
            self.counts[groups].sum(axis=0),
            None if self.expected is None else float(self.expected[groups].sum()),
            None if self.squares is None else float(self.squares[groups].sum()),
            int(groups.sum()) * self.count_variance,
            int(groups.sum()) * self.sum_variance,
        )


def division_figures(
    classes: Sequence[str],
    columns: tuple[str, ...],
    values: Sequence[tuple[str | None, ...]],
    tables: GroupTables,
) -> DivisionFigures:
    """Compute the figures of a division's groups.

    Args:
        values: Per group, its value of each column.
    """
    everyone, count = tables.of(np.ones(len(values), dtype=np.bool_)), len(classes)
    # Some group without rows, of all that there may be, is taken for one with rows in a twentieth of the releases.
    hidden = NormalDist().inv_cdf(1 - (1 - LEVEL) / len(values)) * count * math.sqrt(TAILS * tables.count_variance)
    recalls, positives = slice(1, count + 1), slice(count + 1, 2 * count + 1)
    groups = []
    for place, own in enumerate(values):
        is_own = np.arange(len(values)) == place
        group, others = tables.of(is_own), tables.of(~is_own)
        figures, beside = list(group.figures()), list(others.figures())
        sizes = zip(group.numbers(), everyone.numbers(), strict=True)
        parts = [rows / whole if whole > 0 else 1.0 for rows, whole in sizes]
        differences = list(map(_difference, figures, beside, parts))
        largest = int(group.sizes.argmax())
        hits, rows = group.sizes[largest].item(), group.sizes.sum().item()
        groups.append(
            GroupFigures(
                values=own,
                rows=rows,
                rows_interval=exact_sum_interval(rows, count**2, tables.count_variance),
                has_rows=rows > hidden,
                majority_class=classes[largest],
                majority=proportion(
                    hits,
                    rows - hits,
                    (count, count * (count - 1)),
                    tables.count_variance,
                    quantiles=largest_quantiles(group.sizes.tolist(), count, tables.count_variance),
                ),
                accuracy=figures[0],
                accuracy_difference=differences[0],
                recall=tuple(figures[recalls]),
                recall_difference=tuple(differences[recalls]),
                false_positives=tuple(figures[positives]),
                false_positives_difference=tuple(differences[positives]),
                calibration=None if tables.expected is None else figures[-1],
                calibration_difference=None if tables.expected is None else differences[-1],
            )
        )
    return DivisionFigures(columns, tuple(groups))


@dataclass(frozen=True, slots=True)
class _Rows:
    """One set of rows: what its figures are computed from, as ``GroupTables`` has it of each group.

    Attributes:
        counts: Shape (classes, classes).
        expected, squares: Sums over its rows.
        count_variance: Of the noise in each of the counts.
        sum_variance: Of the noise in ``expected``.
    """

    counts: NDArray[np.int64] | NDArray[np.float64]
    expected: float | None
    squares: float | None
    count_variance: float
    sum_variance: float

    @property
    def sizes(self) -> NDArray[np.int64] | NDArray[np.float64]:
        """Shape (classes,): rows of each class."""
        sizes: NDArray[np.int64] | NDArray[np.float64] = self.counts.sum(axis=1)
        return sizes

    def numbers(self) -> list[float]:
        """Return the number of rows that each of the figures is a mean over."""
        sizes, rows = self.sizes.tolist(), self.sizes.sum().item()
        return [rows, *sizes, *(rows - size for size in sizes), *([] if self.expected is None else [rows])]

    def figures(self) -> Iterator[Estimate]:
        """Yield the accuracy, the recall and the false positives of each class, and the calibration if there is one."""
        count, sizes, predicted = len(self.counts), self.sizes.tolist(), self.counts.sum(axis=0).tolist()
        hits, rows, variance = np.diagonal(self.counts).tolist(), sum(sizes), self.count_variance
        right, others = sum(hits), count - 1
        yield proportion(right, rows - right, (count, count * others), variance)
        for hit, size in zip(hits, sizes, strict=True):
            yield proportion(hit, size - hit, (1, others), variance)
        for hit, size, found in zip(hits, sizes, predicted, strict=True):
            wrong = found - hit
            yield proportion(wrong, rows - size - wrong, (others, others * others), variance)
        if self.expected is not None:
            yield self._calibration(self.expected)

    def _calibration(self, expected: float) -> Estimate:
        """Estimate the mean probability of the second class less its part of the rows.

        T(a) = E - O - a rows, with E the sum of the probabilities and O the rows of the second class, two of the four
        counts that make the rows. The noise's variance is that of E, and of a count times 2 (1 + a)^2 + 2 a^2.
        """
        rows, gained = self.counts.sum().item(), expected - self.sizes[1].item()
        sampling, noise = self._spread() * max(rows, 0), QUANTILE**2 * TAILS * self.count_variance
        zero = gained**2 - QUANTILE**2 * (sampling + TAILS * self.sum_variance) - 2 * noise
        one, two = -2 * gained * rows - 4 * noise, rows**2 - 4 * noise
        return ratio_estimate(gained, rows, (zero, one, two), (-1.0, 1.0))

    def _spread(self) -> float:
        """Estimate the variance of a row's probability less 1 or 0, by its class.

        Where the squares are not known: that of the class among the rows that are predicted alike, one row of each
        class added, so that a few rows of one class have a variance too. It is a little more, as far as the
        probabilities tell rows apart that are predicted alike.
        """
        rows = self.counts.sum().item()
        if self.squares is not None:
            assert self.expected is not None
            mean = (self.expected - self.sizes[1].item()) / max(rows, 1)
            return max(float(self.squares / max(rows, 1) - mean**2), 0.0)
        first, second = (np.maximum(row, 0) + 1 for row in self.counts)
        return float((first * second / (first + second)).sum() / (first + second).sum())


def _difference(figure: Estimate, others: Estimate, part: float) -> Estimate:
    """Estimate a group's figure less that of all rows, from those of the group and of all other rows."""
    if figure.value is None or others.value is None or not is_known(figure) or not is_known(others):
        return UNKNOWN
    rest = min(max(1 - part, 0.0), 1.0)
    value = figure.value - others.value
    lower = value - math.hypot(figure.value - figure.interval[0], others.interval[1] - others.value)
    upper = value + math.hypot(figure.interval[1] - figure.value, others.value - others.interval[0])
    return Estimate(rest * value, (max(rest * lower, -1.0), min(rest * upper, 1.0)))
