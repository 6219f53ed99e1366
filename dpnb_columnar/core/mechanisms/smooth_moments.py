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

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.core.budget import Share
from dpnb_columnar.core.mechanisms.smooth_noise import smooth_noise
from dpnb_columnar.core.mechanisms.tuning import trim
from dpnb_columnar.core.noise import NoiseFamily, Sampler
from dpnb_columnar.core.sensitivity import (
    RunLengthColumn,
    RunLengthColumns,
    chunks,
    mean_smooth_sensitivities,
    public_sizes,
    search_beta,
    trimmed_means,
    trimmed_variances,
    upper_bound,
    variance_smooth_bounds,
)
from dpnb_columnar.core.sensitivity.moments import squared_codes

GRID_BITS = 20
"""Moments are released as multiples of 2**-20 codes, or squared codes."""

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Moment:
    """A statistic, and the search for its smooth sensitivity, of many columns at once.

    Attributes:
        statistics: From samples and the trim of each to the exact moments of the windows.
        search: From samples, the trim of each, and a beta from ``search_beta`` for each, to smooth bounds on what one
            substitution changes, as computed in floating point.
        squares: Whether both are of the columns of squares, in units of ``squares_shift``.
    """

    statistics: Callable[[RunLengthColumns, Integers], list[Fraction]]
    search: Callable[[RunLengthColumns, Integers, Floats], list[float]]
    squares: bool = False

    def columns_of(self, samples: RunLengthColumns) -> RunLengthColumns:
        """Return the columns that the moment is of. Confidential in, confidential out."""
        return squared_codes(samples) if self.squares else samples


MOMENTS: dict[str, Moment] = {
    "mean": Moment(trimmed_means, mean_smooth_sensitivities),
    "variance": Moment(trimmed_variances, variance_smooth_bounds),
    "mean of squares": Moment(trimmed_means, mean_smooth_sensitivities, squares=True),
}
"""Moments by query."""


@dataclass(frozen=True, slots=True, repr=False)
class MomentQueries:
    """Queries for moments of some columns whose answers are compared, such as an attribute's in all classes.

    Attributes:
        columns: The columns, with as many values as they happen to have. Confidential.
        sizes: Public size of the sample of each, from ``sample_size``.
        cells: Largest possible code. Public.
        shares: One share of the budget for each query on every column, the queries among ``MOMENTS``; its noise is a
            family for smooth sensitivity.
    """

    columns: Sequence[RunLengthColumn]
    sizes: Sequence[int]
    cells: int
    shares: Sequence[Share]


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


def exact_answers(asked: Sequence[MomentQueries]) -> list[dict[str, list[ExactAnswer]]]:
    """Compute exact moments and their sensitivities: of all columns at once, or long ones side by side.

    Returns:
        Of each element of ``asked``, by query, one answer per column.
    """
    columns = [column for each in asked for column in each.columns]
    sizes = [size for each in asked for size in each.sizes]
    cells = [each.cells for each in asked for _ in each.columns]
    queries = {
        share.query: [search for each in asked for search in _searches(each.shares[place], each.sizes)]
        for place, share in enumerate(asked[0].shares if asked else [])
    }

    def answers(chunk: slice) -> dict[str, list[ExactAnswer]]:
        samples = public_sizes(columns[chunk], sizes[chunk], cells[chunk])
        return {query: _answers(MOMENTS[query], samples, searches[chunk]) for query, searches in queries.items()}

    parts = list(chunks(columns))
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the searches are numpy calls, which run side by side
        chunked = list(pool.map(answers, parts)) if len(parts) > 1 else [answers(part) for part in parts]
    answered = {query: iter([answer for chunk in chunked for answer in chunk[query]]) for query in queries}
    return [{query: [next(answers) for _ in each.columns] for query, answers in answered.items()} for each in asked]


@dataclass(frozen=True, slots=True)
class _Search:
    """Public numbers of a search: how many values to cut, at which beta to search, and the noise that it is for."""

    trim: int
    beta: float
    noise: NoiseFamily


def _searches(share: Share, sizes: Sequence[int]) -> list[_Search]:
    """Tune the searches of one query in samples that are compared."""
    noise, smallest = moment_noise(share), min(sizes)
    beta = search_beta(noise.beta)
    return [_Search(trim(size, noise, smallest), beta, noise) for size in sizes]


def _answers(moment: Moment, samples: RunLengthColumns, searches: Sequence[_Search]) -> list[ExactAnswer]:
    columns = moment.columns_of(samples)
    trims, betas = np.array([each.trim for each in searches]), np.array([each.beta for each in searches])
    found = zip(moment.statistics(columns, trims), moment.search(columns, trims, betas), searches, strict=True)
    return [ExactAnswer(location, upper_bound(sensitivity), each.noise) for location, sensitivity, each in found]


def moment_noise(share: Share) -> NoiseFamily:
    """Calibrate the noise of a moment to its share."""
    return smooth_noise(share.noise, share.row_cost)
