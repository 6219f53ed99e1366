"""Trimmed moments of samples of public size, released with noise scaled to their smooth sensitivity.

Several mechanisms share them: each names the columns, their public sizes, the queries and the shares (docs/privacy.md,
sections 3 and 4).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

from dpnb_columnar.budget import Share
from dpnb_columnar.mechanisms.smooth_noise import smooth_noise
from dpnb_columnar.mechanisms.tuning import trim
from dpnb_columnar.noise import NoiseFamily, Sampler
from dpnb_columnar.sensitivity import (
    RunLengthColumn,
    mean_smooth_sensitivity,
    public_size,
    raised,
    searched_beta,
    trimmed_mean,
    trimmed_variance,
    variance_smooth_bound,
)
from dpnb_columnar.sensitivity.moments import squared, squared_cells

GRID_BITS = 20
"""Moments are released as multiples of 2**-20 codes, or squared codes."""

FEW_RUNS = 2**18
"""Columns of so few runs, on average, are searched one after the other: numpy calls that take microseconds wait for
each other longer than they run side by side."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A statistic, and the search for its smooth sensitivity.

    Attributes:
        statistic: From a sample and a trim to the exact moment of the window.
        search: From a sample, a trim, the largest possible code and a beta from ``searched_beta`` to a smooth bound on
            what one substitution changes, as computed in floating point.
        squares: Whether both are of the column of squares, in units of ``squares_shift``.
    """

    statistic: Callable[[RunLengthColumn, int], Fraction]
    search: Callable[[RunLengthColumn, int, int, float], float]
    squares: bool = False

    def column_of(self, sample: RunLengthColumn, cells: int) -> tuple[RunLengthColumn, int]:
        """Return the column that the moment is of, and its largest possible code: confidential, and public.

        Args:
            sample: Sample of public size. Confidential.
            cells: Largest possible code of the sample.
        """
        return (squared(sample, cells), squared_cells(cells)) if self.squares else (sample, cells)


MOMENTS: dict[str, Moment] = {
    "mean": Moment(trimmed_mean, mean_smooth_sensitivity),
    "variance": Moment(trimmed_variance, variance_smooth_bound),
    "mean of squares": Moment(trimmed_mean, mean_smooth_sensitivity, squares=True),
}
"""Moments by query."""


@dataclass(frozen=True, slots=True, repr=False)
class MomentQuery:
    """A query for one moment of one column. Confidential.

    Attributes:
        query: Name of one of ``MOMENTS``.
        column: The column, with as many values as it happens to have. Confidential.
        size: Public size of its sample, from ``sample_size``.
        smallest: The smallest of the public sizes of the samples that the answer is compared with.
        cells: Largest possible code. Public.
        share: Share of the budget; its noise is a family for smooth sensitivity.
    """

    query: str
    column: RunLengthColumn
    size: int
    smallest: int
    cells: int
    share: Share


@dataclass(frozen=True, slots=True, repr=False)
class ExactAnswer:
    """The exact answer to a query with its sensitivity, before noise. Confidential.

    Attributes:
        location: The moment of the sample of public size, in codes or squared codes.
        sensitivity: Its smooth sensitivity, raised above the search's error.
        noise: The noise that is scaled by the sensitivity. Public.
    """

    location: Fraction
    sensitivity: Fraction
    noise: NoiseFamily

    def noisy(self, draw: Sampler) -> Fraction:
        """Add noise; the result may be released at the cost of the query's share."""
        return draw(self.location, self.sensitivity, self.noise, GRID_BITS)


def exact_answers(queries: Sequence[MomentQuery]) -> list[ExactAnswer]:
    """Compute exact moments and their sensitivities, in the order of the queries.

    Queries on one column share its sample of public size.
    """
    by_sample: dict[tuple[RunLengthColumn, int, int], list[int]] = {}
    for place, query in enumerate(queries):  # a column is equal to itself alone
        by_sample.setdefault((query.column, query.size, query.cells), []).append(place)

    def answers(key: tuple[RunLengthColumn, int, int]) -> list[tuple[int, ExactAnswer]]:
        sample = public_size(*key)
        return [(place, _exact_answer(queries[place], sample)) for place in by_sample[key]]

    if sum(len(column.codes) for column, _, _ in by_sample) <= FEW_RUNS * len(by_sample):
        answered = list(map(answers, by_sample))
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # the searches are numpy calls, which run side by side
            answered = list(pool.map(answers, by_sample))
    by_place = dict(chain.from_iterable(answered))
    return [by_place[place] for place in range(len(queries))]


def _exact_answer(query: MomentQuery, sample: RunLengthColumn) -> ExactAnswer:
    noise, moment = moment_noise(query.share), MOMENTS[query.query]
    column, largest = moment.column_of(sample, query.cells)
    cut = trim(query.size, noise, query.smallest)
    sensitivity = moment.search(column, cut, largest, searched_beta(noise.beta))
    return ExactAnswer(moment.statistic(column, cut), raised(sensitivity), noise)


def moment_noise(share: Share) -> NoiseFamily:
    """Calibrate the noise of a moment to its share."""
    return smooth_noise(share.noise, share.row_cost)
