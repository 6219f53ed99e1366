"""What is drawn of the answers of later passes: margins, gradients, and scores of a released model.

The query is fixed by what was released before, so adaptive composition adds up the shares (docs/privacy.md, Lemmas 2.8,
2.9 and 2.11). What is asked is compared with what was answered, or noise would be for another sensitivity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpnb_columnar.core.budget import Share
from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.measurement import Measurement
from dpnb_columnar.core.mechanisms.mechanism import SENSITIVITY, constant_noise, noisy_counts, public_scales
from dpnb_columnar.core.noise import Sampler
from dpnb_columnar.core.queries.scores import (
    CERTAIN,
    ClassScores,
    GradientQuery,
    GradientSums,
    Integers,
    Margins,
    ScoreCounts,
)

GRADIENT_BITS = 8
"""Gradients are drawn to 1/256."""


def draw_margins(asked: Margins, share: Share, counts: ScoreCounts, sampler: Sampler) -> Measurement:
    """Draw the rows of each range of the margin: of the largest class, of the best other one, of neither."""
    if counts.scores != asked:
        raise ValueError("the margins that were counted are not those that the released model gives")
    rows = (noisy_counts(row, share, sampler) for row in asked.columns_of(counts.counts))
    return _measured(share, rows, SENSITIVITY)


def draw_gradient(asked: GradientQuery, share: Share, sums: GradientSums, sampler: Sampler) -> Measurement:
    """Draw the sums of a round, a row each: one row of the data moves all of them together by a bounded amount."""
    if sums.query != asked:
        raise ValueError("the gradient that was summed up is not at the weights of this round")
    noise, bound = constant_noise(share), Fraction(asked.sensitivity, UNITS * CERTAIN)
    exact = (Fraction(int(each), UNITS * CERTAIN) for each in sums.sums)
    return _measured(share, ((sampler(each, bound, noise, GRADIENT_BITS),) for each in exact), bound)


@dataclass(frozen=True, slots=True, eq=False)
class BinQuery:
    """A query to the rows that are counted by group, bin of a score, and class. Public.

    Attributes:
        share: Its share of the budget.
        kept: Columns of groups that are told apart, by their places in the product of all, in the order of the result;
            rows of all others are added up.
        matrix: Shape (numbers, bins), at least 0: how often a row of each bin counts in each number. A bin has at most
            one entry that is not 0, so a row moves one number of its group.
        by_class: Whether classes are told apart.
    """

    share: Share
    kept: tuple[int, ...]
    matrix: Integers
    by_class: bool = True


def draw_bins(
    scores: ClassScores, sizes: Sequence[int], queries: Sequence[BinQuery], counts: ScoreCounts, sampler: Sampler
) -> tuple[Measurement, ...]:
    """Draw numbers of rows by their score: a row of numbers for each group and, where told apart, each class."""
    if counts.scores != scores:
        raise ValueError("the scores that were counted are not those that the model gives")
    crossed = counts.counts.reshape(*sizes, scores.group_bins, -1)
    measured = []
    for query in queries:
        if ((query.matrix > 0).sum(axis=0) > 1).any() or (query.matrix < 0).any():
            raise ValueError("a row counts in more than one number of a query to bins")
        others = tuple(place for place in range(len(sizes)) if place not in query.kept)
        order = [sorted(query.kept).index(place) for place in query.kept]
        table = crossed.sum(axis=others).transpose(*order, len(order), len(order) + 1)
        table = table.reshape(-1, *crossed.shape[-2:])
        numbers = query.matrix @ (table if query.by_class else table.sum(axis=2, keepdims=True))
        most = Fraction(scores.sensitivity * int(query.matrix.max()))
        rows = numbers.transpose(0, 2, 1).reshape(-1, len(query.matrix))
        measured.append(_measured(query.share, (noisy_counts(row, query.share, sampler, most) for row in rows), most))
    return tuple(measured)


def _measured(share: Share, rows: Iterable[Iterable[int | Fraction]], sensitivity: Fraction) -> Measurement:
    """Draw rows of numbers of one public sensitivity."""
    values = list(map(list, rows))
    return Measurement.of(share, values, public_scales(constant_noise(share), [sensitivity] * len(values)))
