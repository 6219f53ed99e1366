"""Figures of released scores, with intervals that include the noise: accuracy, of two classes ranking and calibration.

Public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpnb_columnar.budget import Concentrated
from dpnb_columnar.model.intervals import LEVEL, Interval
from dpnb_columnar.model.noisy_intervals import (
    UNLIMITED,
    Estimate,
    area,
    count_variance,
    counted_within,
    difference,
    largest_quantile,
    mean,
    proportion,
)
from dpnb_columnar.model.released_scores import ReleasedScores, edge_probability
from dpnb_columnar.model.score_values import EDGES

BOUNDARY = EDGES.index(0) + 1
"""Bins below it are predicted to be of the first class."""

BANDS = (-8.0, -6.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
"""Edges between the ranges of probability in which calibration is looked at, in log-odds; and points of the ROC curve.
"""

UNRANKED = "Of more than two classes rows are counted by predicted class alone: no AUC, no ROC curve, no calibration."
"""What is said in place of figures that need more."""


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
        auc: Area under the ROC curve; rows of one bin count as tied. None of more than two classes.
        confusion: Noisy counts by true class (outer) and predicted class (inner).
        recall: Per class, the part of its rows that are predicted to be its own.
        precision: Per class, the part of the rows it is predicted for that are its own.
        calibration: By predicted probability, the part of the rows that are of the second class; empty of more classes.
        roc: Points of the ROC curve, thresholds rising; empty of more classes.
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
    auc: Estimate | None
    confusion: tuple[tuple[int, ...], ...]
    recall: tuple[Estimate, ...]
    precision: tuple[Estimate, ...]
    calibration: tuple[Band, ...]
    roc: tuple[Threshold, ...]


def score_figures(scores: ReleasedScores) -> ScoreFigures:
    """Compute the figures of released scores: post-processing of noisy counts, and nothing else."""
    (share,) = scores.guarantee.composition
    assert not isinstance(share.row_cost, Concentrated)
    variance = count_variance(float(share.row_cost.epsilon))
    counts, classes, bins = scores.counts, range(len(scores.counts)), len(scores.counts[0])
    # Counts of a class that a cell of the confusion is the sum of, by predicted class.
    widths = (BOUNDARY, bins - BOUNDARY) if len(classes) == 2 else (1,) * bins
    starts = [sum(widths[:place]) for place in classes]
    confusion = tuple(
        tuple(sum(row[start : start + width]) for start, width in zip(starts, widths, strict=True)) for row in counts
    )
    sizes, found = [sum(row) for row in confusion], [confusion[place][place] for place in classes]
    predicted = [sum(column) for column in zip(*confusion, strict=True)]
    rows, hits, others = sum(sizes), sum(found), (len(classes) - 1) * bins
    largest, quantile = sizes.index(max(sizes)), largest_quantile(sizes, bins, variance)
    # Against always predicting the largest class, the model wins the rows of other classes that it finds.
    won, lost, apart = hits - found[largest], sizes[largest] - found[largest], bins - widths[largest]
    recall, unlimited = (
        [
            proportion(
                found[place], sizes[place] - found[place], (widths[place], bins - widths[place]), variance, limits
            )
            for place in classes
        ]
        for limits in ((0.0, 1.0), UNLIMITED)
    )
    return ScoreFigures(
        level=LEVEL,
        noise=variance**0.5,
        rows=rows,
        rows_interval=counted_within(rows, len(classes) * bins, variance),
        accuracy=proportion(hits, rows - hits, (bins, others), variance),
        majority_class=scores.domain.classes[largest],
        majority=proportion(sizes[largest], rows - sizes[largest], (bins, others), variance, quantile=quantile),
        gain=difference(won, lost, rows - won - lost, (apart, apart, bins + others - 2 * apart), variance, quantile),
        balanced_accuracy=mean(unlimited),
        auc=area(counts[0], counts[1], variance) if len(classes) == 2 else None,
        confusion=confusion,
        recall=tuple(recall),
        precision=tuple(
            proportion(
                found[place],
                predicted[place] - found[place],
                (widths[place], (len(classes) - 1) * widths[place]),
                variance,
            )
            for place in classes
        ),
        calibration=bands(counts[0], counts[1], variance) if len(classes) == 2 else (),
        roc=roc_points(counts, variance, BANDS) if len(classes) == 2 else (),
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
