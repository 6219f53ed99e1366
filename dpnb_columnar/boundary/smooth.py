"""The mechanism ``smooth``: trimmed mean and variance of every numeric attribute, noise scaled to smooth sensitivity.

After Zafarani and Clifton 2021, Algorithm 1, with the sensitivities of docs/privacy.md, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from dpnb_columnar.boundary import postprocessing
from dpnb_columnar.boundary.families import smooth_family, smooth_noise
from dpnb_columnar.boundary.mechanism import Release
from dpnb_columnar.boundary.private import PrivateCounts, categorical_requests, release_table
from dpnb_columnar.boundary.scaling import on_scale
from dpnb_columnar.boundary.tuning import SMALLEST_SAMPLE, trim, trimmed_normal_variance
from dpnb_columnar.budget import Request, Weights
from dpnb_columnar.budget.composition import PARALLEL_CLASSES
from dpnb_columnar.domain import Categorical, Domain, Numeric
from dpnb_columnar.model.parameters import AttributeParameters, Normal
from dpnb_columnar.noise import NoiseFamily
from dpnb_columnar.sensitivity import (
    mean_smooth_sensitivity,
    public_size,
    raised,
    searched_beta,
    trimmed_mean,
    trimmed_variance,
    variance_smooth_bound,
)
from dpnb_columnar.sensitivity.column import LARGEST_SIZE

GRID_BITS = 20
"""Moments are released as multiples of 2**-20 codes, or squared codes."""

FEW_RUNS = 4096
"""Columns of so few runs altogether are searched sooner than threads start."""

MOMENTS: dict[str, tuple[Callable[..., Fraction], Callable[..., float]]] = {
    "mean": (trimmed_mean, mean_smooth_sensitivity),
    "variance": (trimmed_variance, variance_smooth_bound),
}
"""Per query, the statistic and the search for its smooth sensitivity."""


@dataclass(frozen=True, slots=True, repr=False)
class _Moment:
    """One moment of one class, ready for its noise. Confidential."""

    location: Fraction
    sensitivity: Fraction


_Moments = Mapping[str, _Moment]
"""Per query, the moment of one class."""


class Smooth(PrivateCounts):
    """Truncated normal attributes from smooth sensitivity, categorical attributes from contingency tables."""

    name = "smooth"
    summary = "trimmed mean and variance, noise scaled to smooth sensitivity (Zafarani and Clifton 2021)"
    smooth = True
    weights = Weights(Fraction(2), Fraction(1), Fraction(1))

    def requests(self, domain: Domain, weights: Weights, noise: str) -> list[Request]:
        numeric = [
            Request(
                query,
                attribute.name,
                len(domain.classes),
                PARALLEL_CLASSES,
                noise,
                weights.numeric / len(MOMENTS),
                smooth_family(noise).kind,
            )
            for attribute in domain.numeric
            for query in MOMENTS
        ]
        return [*numeric, *categorical_requests(domain, weights.categorical)]

    def attributes(self, release: Release) -> list[AttributeParameters]:
        domain = release.statistics.domain
        jobs = list(product(domain.numeric, range(len(domain.classes))))
        prepared = dict(zip(jobs, _prepare_all(release, jobs), strict=True))
        found: list[AttributeParameters] = []
        for attribute in domain.attributes:
            if isinstance(attribute, Categorical):
                found.append(release_table(release, attribute))
            else:
                found.append(_release(release, attribute, prepared))
        return found


def _noise(release: Release, attribute: Numeric, query: str) -> NoiseFamily:
    share = release.shares[query, attribute.name]
    return smooth_noise(share.noise, share.row_loss)


def _size(release: Release, klass: int) -> int:
    """Public sample size of a class: the released count, within what the searches compute exactly."""
    return min(max(release.sizes[klass], SMALLEST_SAMPLE), LARGEST_SIZE)


def _prepare_all(release: Release, jobs: Sequence[tuple[Numeric, int]]) -> list[_Moments]:
    """``_prepare`` of every job, in order."""
    columns = (release.statistics.columns[attribute.name][klass] for attribute, klass in jobs)
    if sum(len(column.codes) for column in columns) <= FEW_RUNS:
        return [_prepare(release, *job) for job in jobs]
    with ThreadPoolExecutor() as pool:  # the searches are numpy calls, which run side by side
        return list(pool.map(lambda job: _prepare(release, *job), jobs))


def _prepare(release: Release, attribute: Numeric, klass: int) -> _Moments:
    """The exact moments of a class's public-size sample, with smooth sensitivities raised above the search's error."""
    size, cells = _size(release, klass), attribute.scale.cells
    sample = public_size(on_scale(attribute, release.statistics.columns[attribute.name][klass]), size, cells)
    moments = {}
    for query, (statistic, search) in MOMENTS.items():
        noise = _noise(release, attribute, query)
        cut = trim(size, noise)
        sensitivity = search(sample, cut, cells, searched_beta(noise.beta))
        moments[query] = _Moment(statistic(sample, cut), raised(sensitivity))
    return moments


def _release(
    release: Release, attribute: Numeric, prepared: Mapping[tuple[Numeric, int], Mapping[str, _Moment]]
) -> Normal:
    """Draw the noise of one attribute, and make parameters of what comes out."""
    classes = range(len(release.sizes))

    def drawn(query: str) -> list[Fraction]:
        noise = _noise(release, attribute, query)
        moments = [prepared[attribute, klass][query] for klass in classes]
        return [release.draw(moment.location, moment.sensitivity, noise, GRID_BITS) for moment in moments]

    means, variances = drawn("mean"), drawn("variance")
    noise = _noise(release, attribute, "variance")
    sizes = [_size(release, klass) for klass in classes]
    corrections = [trimmed_normal_variance(trim(size, noise) / size) for size in sizes]
    return postprocessing.normal(attribute, means, variances, corrections, sizes)
