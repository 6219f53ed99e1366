"""How large the noise of a release will be, from public facts alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpnb_columnar.budget import Share
from dpnb_columnar.domain import Domain, Numeric
from dpnb_columnar.mechanisms.global_moments import CONSTANT_MOMENTS
from dpnb_columnar.mechanisms.queries import SENSITIVITY, constant, constant_noise
from dpnb_columnar.mechanisms.smooth_moments import MOMENTS, moment_noise, sample_size
from dpnb_columnar.mechanisms.tuning import trim
from dpnb_columnar.noise import NoiseFamily
from dpnb_columnar.sensitivity import RunLengthColumn, searched_beta
from dpnb_columnar.sensitivity.moments import squares_shift

CONFIDENCE = Fraction(95, 100)
REFERENCE_RUNS = 1000


def expected_error(domain: Domain, share: Share, size: int) -> float:
    """What 95 % of the noise of one query stays below, in rows, the attribute's unit, or its square.

    Args:
        domain: The declared domain.
        share: A row of the composition table.
        size: Rows of a class, declared by the user. Only moments depend on it.

    Where a sensitivity is a public constant, this is exact. Where noise follows the smooth sensitivity of the data, it
    is given for a public reference column instead, whose values fill the middle tenth of the declared range evenly.
    """
    attribute = None if share.attribute is None else domain[share.attribute]
    if not isinstance(attribute, Numeric) or share.query not in {*MOMENTS, *CONSTANT_MOMENTS}:
        return float(SENSITIVITY) * _quantile(constant_noise(share))
    # A single number is one of all classes together.
    cells, size = attribute.scale.cells, sample_size(size * len(domain.classes) if share.values == 1 else size)
    if constant(share):
        sensitivity = float(CONSTANT_MOMENTS[share.query].sensitivity(size, cells))
        return sensitivity * _unit(attribute, share.query) * _quantile(constant_noise(share))
    return _smooth(share, size, cells) * _unit(attribute, share.query) * _quantile(moment_noise(share))


def _smooth(share: Share, size: int, cells: int) -> float:
    """Smooth sensitivity of a moment of the reference column."""
    moment, noise = MOMENTS[share.query], moment_noise(share)
    column, largest = moment.asked(_reference_column(size, cells), cells)
    return moment.search(column, trim(size, noise), largest, searched_beta(noise.beta))


def _unit(attribute: Numeric, query: str) -> float:
    """What one unit of a released number is on the attribute's scale, or in its square."""
    step = attribute.scale.step
    if query in ("mean", "deviation"):
        return step
    return step**2 * (2 ** squares_shift(attribute.scale.cells) if query in MOMENTS and MOMENTS[query].squares else 1)


def _quantile(noise: NoiseFamily) -> float:
    return noise.quantile(float(1 - CONFIDENCE))


def _reference_column(size: int, cells: int) -> RunLengthColumn:
    """``size`` values spread evenly over the middle tenth of codes 0..cells."""
    low, high = cells * 9 // 20, cells * 11 // 20
    codes = np.unique(np.linspace(low, high, min(high - low + 1, REFERENCE_RUNS, size)).astype(np.int64))
    counts = np.full(len(codes), size // len(codes), dtype=np.int64)
    counts[: size % len(codes)] += 1
    return RunLengthColumn(codes, counts)
