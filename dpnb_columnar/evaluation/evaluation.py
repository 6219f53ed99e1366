"""Figures of an evaluation: accuracy, ranking, probabilities and calibration, with confidence intervals.

CONFIDENTIAL where they are computed from exact counts of rows; public where from noisy ones.

Where the domain declares a weight, figures in which every row counts with it stand beside these. Weights are those that
training adds up: whole steps up to the cap of the model's domain.

*Groups of rows*: how far their figures are from those of all rows, for whom a model is worse. Let a be a figure of a
group, b the same one of all other rows, and w the group's part of the rows that it is a mean over. The figure of all
rows is w a + (1 - w) b, so that the group's less that is (1 - w)(a - b). Group and other rows are disjoint, hence
independent, and so is their noise: the distances of the ends of the two intervals from a and b are added as deviations
are (Newcombe 1998, method 10). w is taken as it is estimated: its error moves the difference by a part of the
difference only.

*Intervals* hold both the noise and the sampling of rows; without noise they are Wilson's. Every figure is a number a
for which a sum T(a) of noisy counts, each weighted by how far its rows are above or below a, has the mean 0: of
accuracy, (1 - a) times the rows that are predicted correctly, less a times the others. The interval holds the a for
which

    T(a)^2 <= q^2 (V(a) + K^2 N(a)),

q the normal quantile, V the variance of T that the sampling of rows causes, N that of the noise. That is Wilson's
interval where there is no noise, and Fieller's (1954) where the number of rows is as uncertain as the figure. Both
sides are squares in a, so the ends are roots; where no a can be excluded on a side, the interval goes to the end of
[0, 1]. Noise of few counts has longer tails than the normal distribution: of one Laplace variable K is what its 95 %
quantile exceeds the normal one by, in standard deviations. Of a sum of m equal ones the excess kurtosis is 1/m of that
of one, and so is, to first order (Cornish and Fisher 1938), what the quantile exceeds the normal one by.
tests/evaluation/test_score_figures.py measures the coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from dpnb_columnar.core.budget.composition import Guarantee
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.domain_text import html_fragment
from dpnb_columnar.errors import excerpt
from dpnb_columnar.model.query_noise import LEVEL, QUANTILE, Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray


EXCESS = math.log(1 / (1 - LEVEL)) / math.sqrt(2) / QUANTILE - 1
"""K - 1 of one noisy count."""

TAILS = (1 + EXCESS) ** 2
"""K^2 of one noisy count."""

Quantiles = tuple[float, float]
"""Of the normal distribution, for the lower and for the upper end of an interval."""

BOTH: Quantiles = (QUANTILE, QUANTILE)

UNLIMITED = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its confidence interval. Public.

    Attributes:
        value: The figure; None where the noise leaves nothing to divide by.
        interval: Its ends; those of all possible values where the counts say nothing.
    """

    value: float | None
    interval: Interval

    def __str__(self) -> str:
        value = "none" if self.value is None else f"{self.value:.4f}"
        return f"{value} ({self.interval[0]:.4f} to {self.interval[1]:.4f})"


def tails(cells: Mapping[float, float]) -> float:
    """Compute K^2 of a weighted sum of noisy counts, given how many have each weight.

    They are as many equal ones as have the excess kurtosis of the sum, (sum of squares)^2 / (sum of fourth powers).
    """
    squares = math.fsum(weight**2 * number for weight, number in cells.items())
    fourths = math.fsum(weight**4 * number for weight, number in cells.items())
    return (1 + EXCESS * (fourths / squares**2 if squares else 1.0)) ** 2


def exact_sum_interval(count: float, cells: int, variance: float) -> Interval:
    """Compute the ends between which the exact sum of noisy counts lies."""
    half = QUANTILE * math.sqrt(tails({1.0: cells}) * cells * variance)
    return max(count - half, 0.0), max(count + half, 0.0)


def proportion(
    hits: float,
    misses: float,
    cells: tuple[int, int],
    variance: float,
    limits: Interval = (0.0, 1.0),
    quantiles: Quantiles = BOTH,
) -> Estimate:
    """Estimate the part of rows that are hits.

    T(a) = (1 - a) hits - a misses; V(a) = a (1 - a) rows, as in Wilson's interval. Figure and interval are cut off at
    the limits; parts of a mean are ``UNLIMITED``, and are corrected for the bias of a ratio.
    """
    rows, (own, other) = hits + misses, cells
    part = min(max(hits / rows, 0.0), 1.0) if rows > 0 else 0.5
    noise = tails(_by_weight([(1 - part, own), (part, other)])) * variance

    def estimate(quantile: float, limits: Interval, *, sampled: bool = True) -> Estimate:
        varied = rows * sampled
        zero = hits**2 - quantile**2 * noise * own
        one = -2 * hits * rows - quantile**2 * (varied - 2 * noise * own)
        two = rows**2 - quantile**2 * (-varied + noise * (own + other))
        return ratio_estimate(hits, rows, (zero, one, two), limits)

    value, *ends = _ends(lambda quantile: estimate(quantile, limits), quantiles)
    if limits == UNLIMITED:
        # Beyond 0 and 1 V is 0, not below it.
        _, lower, upper = _ends(lambda quantile: estimate(quantile, limits, sampled=False), quantiles)
        ends = [lower if ends[0] < 0 else ends[0], upper if ends[1] > 1 else ends[1]]
        if value is not None:
            # A ratio of noisy numbers is too large on average by its divisor's variance, which a mean would add up.
            bias = variance * (value * (own + other) - own) / rows**2
            return Estimate(value - bias, (ends[0] - bias, ends[1] - bias))
    return Estimate(value, (ends[0], ends[1]))


def _by_weight(cells: Sequence[tuple[float, float]]) -> dict[float, float]:
    """Add up how many counts have a weight."""
    numbers: dict[float, float] = {}
    for weight, number in cells:
        numbers[weight] = numbers.get(weight, 0.0) + number
    return numbers


def _ends(estimate: Callable[[float], Estimate], quantiles: Quantiles) -> tuple[float | None, float, float]:
    """Return a figure, and each end of its interval by its own quantile."""
    lower, upper = map(estimate, quantiles)
    return lower.value, lower.interval[0], upper.interval[1]


def difference(
    won: float, lost: float, others: float, cells: tuple[int, int, int], variance: float, quantiles: Quantiles = BOTH
) -> Estimate:
    """Estimate how much more rows one prediction has right than another one, as a part of all rows.

    T(a) = won - lost - a rows. A row adds 1 - a, -1 - a or -a to it, so V(a) is the number of rows that one of both has
    right, and one more (``intervals``), less a^2 rows.
    """
    rows, gained = won + lost + others, won - lost
    part = min(max(gained / rows, -1.0), 1.0) if rows > 0 else 0.0
    noise = tails(_by_weight([*zip((1 - part, 1 + part, abs(part)), cells, strict=True)])) * variance

    def estimate(quantile: float) -> Estimate:
        zero = gained**2 - quantile**2 * (max(won + lost + 1, 1) + noise * (cells[0] + cells[1]))
        one = -2 * gained * rows + quantile**2 * 2 * noise * (cells[0] - cells[1])
        two = rows**2 - quantile**2 * (noise * sum(cells) - max(rows, 0))
        return ratio_estimate(gained, rows, (zero, one, two), (-1.0, 1.0))

    value, lower, upper = _ends(estimate, quantiles)
    return Estimate(value, (lower, upper))


OVERESTIMATED, UNDERESTIMATED = 0.04, 0.03
"""How often an interval of the largest class may be above its part, and below it, where it was chosen among several."""


def largest_quantiles(sizes: Sequence[float], cells: int, variance: float) -> Quantiles:
    """Return the normal quantiles for the part of the largest class, which was chosen by its noisy size.

    Among k classes that may be the largest, the one that is overestimated most is chosen: so the lower end is that of
    k intervals which hold the truth together. It is hardly ever underestimated, so the upper end has a small part of
    the error alone. Of two classes one proportion is one less the other, and both intervals hold the truth or neither
    does.
    """
    largest, reach = max(sizes), NormalDist().inv_cdf(1 - (1 - LEVEL) / (2 * len(sizes)))
    noise = 2 * tails({1.0: cells}) * cells * variance
    possible = sum(largest - size <= reach * math.sqrt(noise + max(largest, 0) + max(size, 0)) for size in sizes)
    if len(sizes) == 2 or possible == 1:
        return BOTH
    return NormalDist().inv_cdf(1 - OVERESTIMATED / possible), NormalDist().inv_cdf(1 - UNDERESTIMATED)


def area(negative: Sequence[float], positive: Sequence[float], variance: float) -> Estimate:
    """Estimate the area under the ROC curve of noisy counts in rising bins; rows of one bin count as tied.

    With N negative and P positive rows, n and p of them in a bin, N' and P' in the bins below and above: T(a) is the
    sum of p A, A = N' + n/2 - a N, and as well the sum of n B, B = P' + p/2 - a P. It is bilinear in the counts, whose
    noise is independent, so its mean is that without noise. V is the sum of p A^2 and of n B^2 (DeLong, DeLong and
    Clarke-Pearson 1988), N(a) the noise's variance times the sum of all A^2 and B^2.
    """
    n, p = np.array(negative, dtype=np.float64), np.array(positive, dtype=np.float64)
    below, above = np.cumsum(n) - n / 2, p.sum() - np.cumsum(p) + p / 2
    pairs, ranked = float(n.sum() * p.sum()), float(p @ below)
    part = min(max(ranked / pairs, 0.0), 1.0) if pairs > 0 else 0.5
    weights = np.abs(np.concatenate([below - part * n.sum(), above - part * p.sum()]))
    noise = tails(_by_weight([(float(weight), 1.0) for weight in weights])) * variance
    zero, one, two = ranked**2, -2 * ranked * pairs, pairs**2
    for counts, ranks, whole in ((p, below, n.sum()), (n, above, p.sum())):
        weight = counts + noise
        zero -= QUANTILE**2 * float(weight @ ranks**2)
        one += QUANTILE**2 * 2 * float(weight @ ranks * whole)
        two -= QUANTILE**2 * float(weight.sum() * whole**2)
    certain = min(n.sum(), p.sum()) > 0
    return ratio_estimate(ranked, pairs if certain else 0.0, (zero, one, two), (0.0, 1.0))


def mean(parts: Sequence[Estimate]) -> Estimate:
    """Estimate the mean of proportions of disjoint counts, the distances of their ends added as deviations are.

    As ``intervals.mean_of_probabilities`` does. Many figures that are each cut off at 0 would be too large on average,
    so they come unlimited. One of which nothing is known is somewhere from 0 to 1, wherever the others are: its
    distances are added as they are.
    """
    values, lower, upper, open_lower, open_upper = [], [], [], 0.0, 0.0
    for part in parts:
        if part.value is None:
            return Estimate(None, (0.0, 1.0))
        if any(map(math.isinf, part.interval)):
            value = min(max(part.value, 0.0), 1.0)
            open_lower, open_upper = open_lower + value, open_upper + 1 - value
        else:
            value = part.value
            lower.append(value - part.interval[0])
            upper.append(part.interval[1] - value)
        values.append(value)
    number, whole = len(values), math.fsum(values)
    ends = (whole - math.hypot(*lower) - open_lower) / number, (whole + math.hypot(*upper) + open_upper) / number
    middle, low, high = (min(max(end, 0.0), 1.0) for end in (whole / number, *ends))
    return Estimate(middle, (low, high))


def ratio_estimate(part: float, whole: float, square: tuple[float, float, float], limits: Interval) -> Estimate:
    """Make an estimate of a ratio, unknown of a whole not above 0; its interval: zero + one a + two a^2 <= 0."""
    least, largest = limits
    zero, one, two = square
    discriminant = one**2 - 4 * zero * two
    if whole <= 0:
        return Estimate(None, limits)
    value = min(max(part / whole, least), largest)
    if two <= 0 or discriminant < 0:
        return Estimate(value, limits)
    root = math.sqrt(discriminant)
    ends = [min(max((-one + sign * root) / (2 * two), least), largest) for sign in (-1, 1)]
    # Rounding must not put the figure itself outside.
    return Estimate(value, (min(ends[0], value), max(ends[1], value)))


MOST_RECALLS = 6  # classes whose recalls a table has, where there are more than two: the first

BY_CHANCE = "Of forty groups for which a model does as well as for all rows, about one is below by chance."

LEAST_ROWS = 30
"""Rows of a group of which a verdict is given: below, the intervals hold too little of what a few rows may be.

The least number of rows behind a published proportion in the Data Presentation Standards for Proportions of the
National Center for Health Statistics (Parker et al. 2017, Vital and Health Statistics 2, 175).
"""


def error_text(error: float | None) -> str:
    """Write the bound on the error of an area whose rows are ranked in bins; nothing if four digits do not show it."""
    if error is None or error < 0.00005:
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
    """Figures of those of a division's groups of which anything is known, to be read; None where there is none."""

    caption: str
    header: tuple[str, ...]
    figures: tuple[tuple[Estimate | None, ...], ...]


def figure_tables(division: DivisionFigures, classes: Sequence[str]) -> tuple[FigureTable, FigureTable]:
    """Return what is read of a division's groups: accuracies first, then errors by class."""
    groups = division.known
    accuracies = tuple((each.accuracy, each.accuracy_difference, each.majority) for each in groups)
    first = FigureTable("Accuracy", ("accuracy", "less all rows", "largest class"), accuracies)
    if len(classes) > 2:
        shown = range(min(len(classes), MOST_RECALLS))
        header = tuple(f"{classes[place]} found" for place in shown)
        return first, FigureTable("Recall", header, tuple(tuple(each.recall[: len(shown)]) for each in groups))
    errors = tuple(
        (each.false_positives[1], _complement(each.recall[1]), each.calibration, each.calibration_difference, each.auc)
        for each in groups
    )
    names = ("false positives", "false negatives", "expected less observed", "less all rows", "AUC")
    ranked = len(names) - all(row[-1] is None for row in errors)
    return first, FigureTable(f"Errors about {classes[1]}", names[:ranked], tuple(row[:ranked] for row in errors))


def _complement(estimate: Estimate) -> Estimate:
    low, high = estimate.interval
    return Estimate(None if estimate.value is None else 1 - estimate.value, (1 - high, 1 - low))


@dataclass(frozen=True, slots=True)
class GroupTables:
    """What the figures of a division are computed from. Confidential without noise."""

    counts: NDArray[np.int64] | NDArray[np.float64]  # (groups, classes, classes): by true, then by predicted class
    expected: NDArray[np.float64] | None  # (groups,): sums of probabilities of the second of two classes
    squares: NDArray[np.float64] | None = None  # (groups,): sums of (probability less 1 or 0, by the class)^2, if known
    count_variance: float = 0.0  # of the noise in a count
    sum_variance: float = 0.0  # of the noise in a sum of probabilities

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
    classes: Sequence[str], columns: tuple[str, ...], values: Sequence[tuple[str | None, ...]], tables: GroupTables
) -> DivisionFigures:
    """Compute the figures of a division's groups, each given by its value of each column."""
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
    """One set of rows: what its figures are computed from, as ``GroupTables`` has it of each group."""

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
        return Estimate(None, (-1.0, 1.0))
    rest = min(max(1 - part, 0.0), 1.0)
    value = figure.value - others.value
    lower = value - math.hypot(figure.value - figure.interval[0], others.interval[1] - others.value)
    upper = value + math.hypot(figure.interval[1] - figure.value, others.value - others.interval[0])
    return Estimate(rest * value, (max(rest * lower, -1.0), min(rest * upper, 1.0)))


_POSITIVE = (*(quarter / 4 for quarter in range(1, 17)), *(half / 2 for half in range(9, 17)), 9.0, 10.0, 11.0, 12.0)
EDGES = (*(-edge for edge in reversed(_POSITIVE)), 0.0, *_POSITIVE)
"""Edges between the bins, in log-odds of the second class: a quarter apart up to 4 (a probability of 0.98), a half to
8, and 1 up to 12. Wider bins would cost accuracy of the ranking, more of them accuracy of the sums."""

PARTS = 100
"""Sums of probabilities are of whole parts of 1, to which each row's is rounded."""


@dataclass(frozen=True, slots=True)
class GroupedCounts:
    """Noisy counts of the groups of one column, or of several that are crossed. Public."""

    columns: tuple[str, ...]
    values: tuple[tuple[str | None, ...], ...]  # per group, of each column; None of rows without a declared value
    counts: tuple[tuple[tuple[int, ...], ...], ...]  # per group, by true class, then by predicted class
    expected: tuple[int, ...] | None  # per group, sum of the second of two classes' probabilities, in 1/``PARTS``


@dataclass(frozen=True, slots=True, repr=False)
class ScoreValues:
    """Noisy counts of labelled rows by class, and by what a model says of them. Public.

    Attributes:
        domain: Domain of the rows.
        model: SHA-256 of the model's document.
        guarantee: What the release promises about every row, given the model.
        counts: Per class, the released counts. Of two classes: of every bin of the second one's log-odds between
            ``EDGES``; those of the first bin are at most the first edge, those of the last above the last. Of more: of
            the rows that are predicted to be of each class.
        software: Versions of what drew them.
        groups: The counts by group, one for each division into groups that was asked for.
    """

    domain: Domain
    model: str
    guarantee: Guarantee
    counts: tuple[tuple[int, ...], ...]
    software: Mapping[str, str]
    groups: tuple[GroupedCounts, ...] = ()


def released_bins(domain: Domain) -> int:
    """Return the number of counts of each class: one per range of log-odds of two classes, or per predicted class."""
    return len(domain.classes) if len(domain.classes) > 2 else len(EDGES) + 1


MOST_CLASSES = 8
"""Classes that are printed one by one where there are more: the largest. All others are taken together."""

FIGURES = {"balanced_accuracy": "balanced accuracy", "auc": "AUC", "log_loss": "log loss", "brier_score": "Brier score"}
"""Figures that stand below the accuracy, and their names."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The rows whose predicted class had a probability in one tenth of [0, 1], with Wilson's interval. Confidential."""

    lower: float
    upper: float
    rows: int
    mean_probability: float
    accuracy: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """Figures of one class against the rest. Confidential.

    Attributes:
        name: The class.
        rows: Number of its rows.
        predicted: Number of rows that it is predicted for.
        recall: Part of its rows that it is predicted for; None without rows.
        recall_interval: Confidence interval of the recall (Wilson's).
        precision: Part of the rows it is predicted for that are its own; None if it is never predicted.
        mean_probability: Mean of its probability over all rows; that of a calibrated model is its part of the rows.
        auc: Area under the ROC curve of its probability; None if all rows are its own, or none.
        auc_error: Bound on the error of the area because rows are ranked in bins.
        auc_interval: Confidence interval of the area (DeLong's).
        brier_score: Mean square of its probability's distance from 1 on its own rows, and from 0 on others.
    """

    name: str
    rows: int
    predicted: int
    recall: float | None
    recall_interval: Interval | None
    precision: float | None
    mean_probability: float
    auc: float | None
    auc_error: float | None
    auc_interval: Interval | None
    brier_score: float


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """Figures over the rows that count (``rows.row_rules.row_fits``). Confidential.

    Attributes:
        rows: Number of rows evaluated.
        lacking: Number of these rows without a value of an attribute, by each attribute that some of them lack.
        accuracy: Part of the rows whose class is predicted correctly.
        majority: Part of the rows in their largest class: the accuracy of always predicting it.
        majority_class: The largest class; the first, if there are several.
        gain: Accuracy less ``majority``.
        below_majority: Whether always predicting the largest class is right more often than the model.
        balanced_accuracy: Mean of the classes' recalls, over the classes that have rows.
        auc: Area under the ROC curve; of more than two classes, the mean over the classes that have one.
        auc_error: Bound on the error of ``auc`` because rows are ranked in bins; 0 where they are not.
        log_loss: Mean of minus the logarithm of the true class's probability, in nats.
        brier_score: Mean square of the distance of a class's probability from 1 on its own rows and from 0 on others.
            Of more than two classes it is the sum over the classes, between 0 and 2.
        calibration_error: Mean over the rows of the distance, within their tenth, of the predicted class's mean
            probability from the accuracy ("expected calibration error", Naeini, Cooper and Hauskrecht 2015).
        level: Level of all confidence intervals.
        intervals: Confidence intervals by the figure's name; None where there is none. Of ``accuracy``, Wilson's; of
            ``auc`` of two classes, DeLong's; of the others, as ``intervals`` says at its functions.
        confusion: Rows by true class (outer) and predicted class (inner), in declared order.
        classes: Figures of each class, in declared order.
        calibration: Tenths of [0, 1] with rows in them, in order.
        scores: Rows of others, and of the class's own, by bin of its log-odds (``released_scores.EDGES``): of the
            second class alone, or of each of more than two.
        weighted: The figures by weight; None where the domain declares none, the rows have no such column of numbers,
            or no weight above 0.
        groups: Figures of groups, one for each division of the rows that was asked for.
    """

    rows: int
    lacking: Mapping[str, int]
    accuracy: float
    majority: float
    majority_class: str
    gain: float
    below_majority: bool
    balanced_accuracy: float
    auc: float | None
    auc_error: float | None
    log_loss: float
    brier_score: float
    calibration_error: float
    level: float
    intervals: Mapping[str, Interval | None]
    confusion: tuple[tuple[int, ...], ...]
    classes: tuple[ClassFigures, ...]
    calibration: tuple[Calibration, ...]
    scores: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]
    weighted: WeightedFigures | None = None
    groups: tuple[DivisionFigures, ...] = ()

    def __repr__(self) -> str:
        largest = f"{self.majority:.4f} by always predicting {excerpt(self.majority_class)}"
        return "\n".join(
            [
                f"Evaluation, CONFIDENTIAL: exact figures of {self.rows} rows ({self.level:.0%} confidence intervals)",
                f"{self._figure('accuracy')}; {largest}",
                ", ".join(map(self._figure, FIGURES)),
            ]
        )

    def _repr_html_(self) -> str:
        """Show the figures in a notebook."""
        lines = [
            f"Evaluation, CONFIDENTIAL: exact figures of {self.rows:,} rows",
            f"{self.majority:.4f} by always predicting {excerpt(self.majority_class)}",
        ]
        header = ["figure", "value", f"{self.level:.0%} confidence interval"]
        return html_fragment(lines, header, [self._cells(name) for name in ("accuracy", *FIGURES)])

    def _cells(self, name: str) -> list[str]:
        value, interval = getattr(self, name), self.intervals[name]
        ends = "" if interval is None else f"{interval[0]:.4f} to {interval[1]:.4f}"
        return [FIGURES.get(name, name), "none" if value is None else f"{value:.4f}", ends]

    def _figure(self, name: str) -> str:
        words, value, interval = self._cells(name)
        return f"{words} {value}" + (f" ({interval})" if interval else "")


def shown_classes(sizes: Sequence[int], *, every: bool) -> list[int]:
    """Return the codes of the classes to show one by one, in declared order: all, or ``MOST_CLASSES``, or one more."""
    codes = range(len(sizes))
    if every or len(codes) <= MOST_CLASSES + 1:
        return list(codes)
    return sorted(sorted(codes, key=lambda code: -sizes[code])[:MOST_CLASSES])


def fold_classes(matrix: Sequence[Sequence[float]], shown: Sequence[int]) -> list[list[float]]:
    """Add up the rows and the columns of a square matrix that are not shown, as the last row and column."""
    rest = [code for code in range(len(matrix)) if code not in set(shown)]
    parts = [[code] for code in shown] + ([rest] if rest else [])
    return [[sum(matrix[row][column] for row in rows for column in columns) for columns in parts] for rows in parts]


@dataclass(frozen=True, slots=True)
class WeightedFigures:
    """Figures over the rows by their weights, without intervals. Confidential.

    Attributes:
        weight: Sum of the weights of all rows.
        accuracy, majority, balanced_accuracy, auc, log_loss, brier_score, calibration_error: As of an ``Evaluation``.
        confusion: Weights by true class (outer) and predicted class (inner), in declared order.
        shares: Part of the weight that is each class's: the population's prior.
        mean_probabilities: Mean of each class's probability; of a model that is calibrated for the population, its
            share.
        recalls: Part of each class's weight that it is predicted for; None without weight.
        calibration: Per tenth of ``Evaluation.calibration`` the mean probability of the predicted class and the
            accuracy; None without weight.
    """

    weight: float
    accuracy: float
    majority: float
    balanced_accuracy: float
    auc: float | None
    log_loss: float
    brier_score: float
    calibration_error: float
    confusion: tuple[tuple[float, ...], ...]
    shares: tuple[float, ...]
    mean_probabilities: tuple[float, ...]
    recalls: tuple[float | None, ...]
    calibration: tuple[tuple[float, float] | None, ...]


def weighted_rows(evaluation: Evaluation, weighted: WeightedFigures) -> list[tuple[str, float | None, float | None]]:
    """Return the name, the value by rows and the value by weight of each figure over all rows."""
    names = {"majority": "largest class", **FIGURES, "calibration_error": "calibration error"}
    return [
        (words, getattr(evaluation, name), getattr(weighted, name))
        for name, words in {"accuracy": "accuracy", **names}.items()
    ]
