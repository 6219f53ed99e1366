"""The expected error of a planned release, from public facts alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpnb_columnar.budget import Share
from dpnb_columnar.domain import Domain, Numeric
from dpnb_columnar.mechanisms.global_moments import CONSTANT_MOMENTS
from dpnb_columnar.mechanisms.mechanism import WEIGHTED_COUNTS
from dpnb_columnar.mechanisms.queries import SENSITIVITY, constant, constant_noise
from dpnb_columnar.mechanisms.samples import sample_size
from dpnb_columnar.mechanisms.smooth_moments import MOMENTS, moment_noise
from dpnb_columnar.mechanisms.tuning import trim
from dpnb_columnar.noise import NoiseFamily
from dpnb_columnar.sensitivity import RunLengthColumn, end_to_end, searched_beta
from dpnb_columnar.sensitivity.moments import squares_shift

CONFIDENCE = Fraction(95, 100)
"""Part of the noise that stays below the expected error."""

REFERENCE_RUNS = 1000
"""Most distinct values of the reference column."""

USUAL_SIZE = 10_000
"""Rows of a class, where none are declared, to expect errors for. Public."""

USUAL_SIZES = (USUAL_SIZE, 1_000_000)


def expected_error(domain: Domain, share: Share, size: int) -> float:
    """Compute the bound below which 95 % of the noise of one query stays.

    Where the sensitivity is a public constant, the bound is exact. Where noise follows the smooth sensitivity of the
    data, it is that of a public reference column instead, whose values fill the middle tenth of the declared range
    evenly.

    Args:
        domain: The declared domain.
        share: A row of the composition table.
        size: Rows of a class, declared by the user. Only moments depend on it.

    Returns:
        The bound, in rows for counts, in the weight's unit for sums of weights, in the attribute's unit for means and
        deviations, in its square for variances; of a gradient in units of its sensitivity, which the released tables
        decide.
    """
    attribute = None if share.attribute is None else domain[share.attribute]
    if not isinstance(attribute, Numeric) or share.query not in {*MOMENTS, *CONSTANT_MOMENTS}:
        return _largest_change(domain, share) * _quantile(constant_noise(share))
    cells = attribute.scale.cells
    pooled = share.values == 1  # one number for all classes together
    return moment_error(
        attribute, share, size * len(domain.classes) if pooled else size, (cells * 9 // 20, cells * 11 // 20)
    )


def moment_error(attribute: Numeric, share: Share, size: int, filled: tuple[int, int]) -> float:
    """Compute the bound below which 95 % of the noise of a moment stays.

    Args:
        attribute: The attribute.
        share: The moment's row of the composition table.
        size: Rows that the moment is of.
        filled: First and last code of its scale that the values fill evenly. Only noise that follows the smooth
            sensitivity of the data depends on them.

    Returns:
        The bound, in the attribute's unit for means and deviations, in its square for variances.
    """
    cells, size = attribute.scale.cells, sample_size(size)
    if constant(share):
        sensitivity = float(CONSTANT_MOMENTS[share.query].sensitivity(size, cells))
        return sensitivity * _unit(attribute, share.query) * _quantile(constant_noise(share))
    column = _reference_column(size, *filled)
    return _smooth(share, column, size, cells) * _unit(attribute, share.query) * _quantile(moment_noise(share))


def _largest_change(domain: Domain, share: Share) -> float:
    """Return the most that one row changes a count by, or a sum of weights, in the unit of the weight."""
    if share.query == WEIGHTED_COUNTS and domain.weight is not None:
        return float(domain.weight.cap)
    return float(SENSITIVITY)


def _smooth(share: Share, sample: RunLengthColumn, size: int, cells: int) -> float:
    """Compute the smooth sensitivity of a moment of the reference column."""
    moment, noise = MOMENTS[share.query], moment_noise(share)
    columns = moment.columns_of(end_to_end([sample], [cells]))
    return moment.search(columns, np.array([trim(size, noise)]), np.array([searched_beta(noise.beta)]))[0]


def _unit(attribute: Numeric, query: str) -> float:
    """Return the length of one unit of a released number on the attribute's scale, or on its square."""
    step = attribute.scale.step
    if query in ("mean", "deviation"):
        return step
    return step**2 * (2 ** squares_shift(attribute.scale.cells) if query in MOMENTS and MOMENTS[query].squares else 1)


def _quantile(noise: NoiseFamily) -> float:
    return noise.quantile(float(1 - CONFIDENCE))


def _reference_column(size: int, low: int, high: int) -> RunLengthColumn:
    """Spread ``size`` values evenly over the codes from ``low`` to ``high``."""
    codes = np.unique(np.linspace(low, high, min(high - low + 1, REFERENCE_RUNS, size)).astype(np.int64))
    counts = np.full(len(codes), size // len(codes), dtype=np.int64)
    counts[: size % len(codes)] += 1
    return RunLengthColumn(codes, counts)
