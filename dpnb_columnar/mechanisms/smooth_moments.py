"""Trimmed moments of samples of public size, released with noise scaled to their smooth sensitivity.

What several mechanisms share: they say which column, of which public size, is asked which query under which share
(docs/privacy.md, sections 3 and 4).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import numpy as np

from dpnb_columnar.budget import Share
from dpnb_columnar.domain import Numeric, Transform
from dpnb_columnar.domain.attributes import scale_codes
from dpnb_columnar.mechanisms.mechanism import QueryContext
from dpnb_columnar.mechanisms.smooth_noise import smooth_noise
from dpnb_columnar.mechanisms.tuning import SMALLEST_SAMPLE, trim
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
from dpnb_columnar.sensitivity.column import LARGEST_SIZE
from dpnb_columnar.sensitivity.moments import squared, squared_cells

GRID_BITS = 20
"""Moments are released as multiples of 2**-20 codes, or squared codes."""

FEW_RUNS = 2**18
"""Columns of so few runs, on average, are searched sooner one after the other: calls of numpy that take microseconds
wait for each other longer than they run side by side."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A statistic, and the search for its smooth sensitivity.

    Attributes:
        statistic: From a sample and a trim to the exact moment of the window.
        search: From a sample, a trim, the largest code there may be and a beta from ``searched_beta`` to a smooth
            bound on what one substitution changes, as found in floating point.
        squares: Whether both are asked about the column of squares, in units of ``squares_shift``.
    """

    statistic: Callable[[RunLengthColumn, int], Fraction]
    search: Callable[[RunLengthColumn, int, int, float], float]
    squares: bool = False

    def asked(self, column: RunLengthColumn, cells: int) -> tuple[RunLengthColumn, int]:
        """The column that is asked about, and the largest code there may be in it. Confidential, and public."""
        return (squared(column, cells), squared_cells(cells)) if self.squares else (column, cells)


MOMENTS: dict[str, Moment] = {
    "mean": Moment(trimmed_mean, mean_smooth_sensitivity),
    "variance": Moment(trimmed_variance, variance_smooth_bound),
    "mean of squares": Moment(trimmed_mean, mean_smooth_sensitivity, squares=True),
}
"""By query."""


@dataclass(frozen=True, slots=True, repr=False)
class Job:
    """One moment to release. Confidential.

    Attributes:
        query: Which of ``MOMENTS``.
        column: The column, with as many values as it happens to have. Confidential.
        size: Public size of its sample, from ``sample_size``.
        smallest: The smallest of the public sizes of the samples that its answer is compared with.
        cells: Largest code there may be. Public.
        share: What the answer may cost; its noise is a family for smooth sensitivity.
    """

    query: str
    column: RunLengthColumn
    size: int
    smallest: int
    cells: int
    share: Share


@dataclass(frozen=True, slots=True, repr=False)
class Prepared:
    """One exact moment, ready for its noise. Confidential.

    Attributes:
        location: The moment of the sample of public size, in codes or squared codes.
        sensitivity: Its smooth sensitivity, raised above the search's error.
        noise: What is to be scaled by it. Public.
    """

    location: Fraction
    sensitivity: Fraction
    noise: NoiseFamily

    def drawn(self, draw: Sampler) -> Fraction:
        """The released moment."""
        return draw(self.location, self.sensitivity, self.noise, GRID_BITS)


def release_moments(jobs: Sequence[Job], draw: Sampler) -> list[Fraction]:
    """Released moments of these jobs, in order; each costs its share's ``row_loss`` for one row of its column."""
    return [moment.drawn(draw) for moment in prepare(jobs)]


def prepare(jobs: Sequence[Job]) -> list[Prepared]:
    """Exact moments with their sensitivities, in order, for a mechanism that draws in an order of its own."""
    together: dict[tuple[RunLengthColumn, int, int], list[int]] = {}
    for place, job in enumerate(jobs):  # a column is equal to itself alone
        together.setdefault((job.column, job.size, job.cells), []).append(place)

    def answers(key: tuple[RunLengthColumn, int, int]) -> list[tuple[int, Prepared]]:
        sample = public_size(*key)
        return [(place, _prepare(jobs[place], sample)) for place in together[key]]

    if sum(len(column.codes) for column, _, _ in together) <= FEW_RUNS * len(together):
        found = list(map(answers, together))
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # the searches are numpy calls, which run side by side
            found = list(pool.map(answers, together))
    by_place = dict(chain.from_iterable(found))
    return [by_place[place] for place in range(len(jobs))]


def _prepare(job: Job, sample: RunLengthColumn) -> Prepared:
    noise, moment = moment_noise(job.share), MOMENTS[job.query]
    asked, cells = moment.asked(sample, job.cells)
    cut = trim(job.size, noise, job.smallest)
    sensitivity = moment.search(asked, cut, cells, searched_beta(noise.beta))
    return Prepared(moment.statistic(asked, cut), raised(sensitivity), noise)


def moment_noise(share: Share) -> NoiseFamily:
    """The noise of a moment, by the share alone."""
    return smooth_noise(share.noise, share.row_loss)


def sample_size(released: int) -> int:
    """Public sample size for a released count: the count, within what the searches compute exactly."""
    return min(max(released, SMALLEST_SAMPLE), LARGEST_SIZE)


def class_sizes(context: QueryContext) -> list[int]:
    """Public sample size of every class."""
    return list(map(sample_size, context.sizes))


def pooled(columns: Sequence[RunLengthColumn]) -> RunLengthColumn:
    """The column of all classes together, for a sample of the size ``sample_size(sum(context.sizes))``.

    One row more or less is one value more or less of it, a replaced row at most one replaced value. Confidential in,
    confidential out.
    """
    codes, places = np.unique(np.concatenate([column.codes for column in columns]), return_inverse=True)
    counts = np.zeros(len(codes), dtype=np.int64)
    np.add.at(counts, places, np.concatenate([column.counts for column in columns]))
    return RunLengthColumn(codes, counts)


# MERGED FROM dpnb_columnar/mechanisms/moments.py: Confidential columns, carried from the grid to the scale of their
# attribute.


def on_scale(attribute: Numeric, column: RunLengthColumn) -> RunLengthColumn:
    """A column of grid codes as a column of the attribute's scale. Confidential in, confidential out."""
    if attribute.transform is Transform.IDENTITY:
        return column
    distinct, first = np.unique(scale_codes(attribute, column.codes), return_index=True)
    counts = np.add.reduceat(column.counts, first) if len(first) else column.counts
    return RunLengthColumn(distinct, counts)
