"""Figures of released scores: accuracy, ranking and calibration, with intervals that include the noise. Public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpnb_columnar.budget import Concentrated
from dpnb_columnar.model.intervals import LEVEL, Interval
from dpnb_columnar.model.noisy_intervals import (
    Estimate,
    area,
    count_variance,
    counted_within,
    difference,
    mean,
    proportion,
)
from dpnb_columnar.model.released_scores import EDGES, ReleasedScores, edge_probability

BOUNDARY = EDGES.index(0) + 1
"""Bins below it are predicted to be of the first class."""

BANDS = (-8.0, -6.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
"""Edges between the ranges of probability in which calibration is looked at, in log-odds; and points of the ROC curve.
"""


@dataclass(frozen=True, slots=True)
class Band:
    """Rows whose predicted probability of the second class is in a range. Public.

    Attributes:
        lower: Lower end of the range, not in it.
        upper: Upper end.
        rows: Noisy number of rows.
        share: Part of them that is of the second class.
    """

    lower: float
    upper: float
    rows: int
    share: Estimate


@dataclass(frozen=True, slots=True)
class Threshold:
    """A point of the ROC curve. Public.

    Attributes:
        probability: Rows of a larger probability are taken for the second class.
        false_positives: Part of the first class's rows that are.
        true_positives: Part of the second class's rows that are.
    """

    probability: float
    false_positives: Estimate
    true_positives: Estimate


@dataclass(frozen=True, slots=True)
class ScoreFigures:
    """Figures of noisy counts. Public.

    Attributes:
        level: Level of all confidence intervals, which include the noise and the sampling of rows.
        noise: Standard deviation of the noise in one count.
        rows: Noisy number of rows.
        rows_interval: Between which the exact number lies.
        accuracy: Part of the rows whose class is predicted correctly.
        majority_class: The largest class by the noisy counts.
        majority: Part of the rows in it: the accuracy of always predicting it.
        gain: Accuracy less ``majority``.
        balanced_accuracy: Mean of the recalls.
        auc: Area under the ROC curve; rows of one bin count as tied.
        confusion: Noisy counts by true class (outer) and predicted class (inner).
        recall: Per class, the part of its rows that are predicted to be its own.
        precision: Per class, the part of the rows it is predicted for that are its own.
        calibration: By predicted probability, the part of the rows that are of the second class.
        roc: Points of the ROC curve, thresholds rising.
    """

    level: float
    noise: float
    rows: int
    rows_interval: Interval
    accuracy: Estimate
    majority_class: str
    majority: Estimate
    gain: Estimate
    balanced_accuracy: Estimate
    auc: Estimate
    confusion: tuple[tuple[int, int], tuple[int, int]]
    recall: tuple[Estimate, Estimate]
    precision: tuple[Estimate, Estimate]
    calibration: tuple[Band, ...]
    roc: tuple[Threshold, ...]


def score_figures(scores: ReleasedScores) -> ScoreFigures:
    """Compute the figures of released scores: post-processing of noisy counts, and nothing else."""
    (share,) = scores.guarantee.composition
    assert not isinstance(share.row_cost, Concentrated)
    variance = count_variance(float(share.row_cost.epsilon))
    first, second = scores.counts
    sides = (BOUNDARY, len(first) - BOUNDARY)
    confusion = tuple((sum(row[:BOUNDARY]), sum(row[BOUNDARY:])) for row in scores.counts)
    (kept, raised), (lowered, found) = confusion
    sizes, bins = (kept + raised, lowered + found), len(first)
    largest = int(sizes[1] > sizes[0])
    # Against always predicting the largest class, the model wins the other class's rows that it finds.
    won, lost = (found, raised) if largest == 0 else (kept, lowered)
    apart = (sides[1], sides[1], 2 * sides[0]) if largest == 0 else (sides[0], sides[0], 2 * sides[1])
    recall = (proportion(kept, raised, sides, variance), proportion(found, lowered, sides[::-1], variance))
    return ScoreFigures(
        level=LEVEL,
        noise=variance**0.5,
        rows=sum(sizes),
        rows_interval=counted_within(sum(sizes), 2 * bins, variance),
        accuracy=proportion(kept + found, lowered + raised, (bins, bins), variance),
        majority_class=scores.domain.classes[largest],
        majority=proportion(sizes[largest], sizes[1 - largest], (bins, bins), variance),
        gain=difference(won, lost, sum(sizes) - won - lost, apart, variance),
        balanced_accuracy=mean(recall),
        auc=area(first, second, variance),
        confusion=(confusion[0], confusion[1]),
        recall=recall,
        precision=(
            proportion(kept, lowered, (sides[0], sides[0]), variance),
            proportion(found, raised, (sides[1], sides[1]), variance),
        ),
        calibration=bands(first, second, variance),
        roc=roc_points(scores.counts, variance, BANDS),
    )


def roc_points(
    counts: Sequence[Sequence[int]], variance: float, edges: Sequence[float] = EDGES
) -> tuple[Threshold, ...]:
    """Estimate points of the ROC curve.

    Args:
        counts: Rows of other classes, and of the class's own, by bin of its log-odds.
        variance: Of the noise in a count; 0 for exact counts, whose figures are confidential.
        edges: Log-odds of the points.
    """
    return tuple(Threshold(edge_probability(edge), *_beyond(counts, EDGES.index(edge) + 1, variance)) for edge in edges)


def _beyond(counts: Sequence[Sequence[int]], place: int, variance: float) -> tuple[Estimate, Estimate]:
    """Estimate, per class, the part of its rows in the bins from a place on."""
    parts = [proportion(sum(row[place:]), sum(row[:place]), (len(row) - place, place), variance) for row in counts]
    return parts[0], parts[1]


def bands(first: Sequence[int], second: Sequence[int], variance: float) -> tuple[Band, ...]:
    """Estimate calibration in ranges of probability; the first and the last have no other end.

    Args:
        first: Rows of other classes by bin of the log-odds.
        second: The class's own.
        variance: Of the noise in a count; 0 for exact counts, whose figures are confidential.
    """
    starts = [0, *(EDGES.index(edge) + 1 for edge in BANDS)]
    found = []
    for start, end in zip(starts, [*starts[1:], len(first)], strict=True):
        lower: float = 0.0 if start == 0 else edge_probability(EDGES[start - 1])
        upper: float = 1.0 if end == len(first) else edge_probability(EDGES[end - 1])
        misses, hits = sum(first[start:end]), sum(second[start:end])
        share = proportion(hits, misses, (end - start, end - start), variance)
        found.append(Band(lower, upper, misses + hits, share))
    return tuple(found)
