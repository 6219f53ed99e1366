"""How large the noise of a release will be, from public facts alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpnb_columnar.boundary.counts import count_noise
from dpnb_columnar.boundary.families import smooth_noise
from dpnb_columnar.boundary.smooth import MOMENTS
from dpnb_columnar.boundary.tuning import trim
from dpnb_columnar.budget import Share
from dpnb_columnar.domain import Domain, Numeric
from dpnb_columnar.noise import NoiseFamily
from dpnb_columnar.sensitivity import RunLengthColumn, searched_beta

CONFIDENCE = Fraction(95, 100)
REFERENCE_RUNS = 1000


def expected_error(domain: Domain, share: Share, size: int) -> float:
    """What 95 % of the noise of one query stays below, in rows, the attribute's unit, or its square.

    Args:
        domain: The declared domain.
        share: A row of the composition table.
        size: Rows of a class, declared by the user. Only moments depend on it.

    A moment's noise follows the smooth sensitivity of the data; it is given for a public reference column instead,
    whose values fill the middle tenth of the declared range evenly.
    """
    if share.query not in MOMENTS or share.attribute is None:
        return _quantile(count_noise(share))
    attribute = domain[share.attribute]
    assert isinstance(attribute, Numeric)
    scale = attribute.scale
    noise = smooth_noise(share.noise, share.row_loss)
    _, search = MOMENTS[share.query]
    column = _reference_column(size, scale.cells)
    sensitivity = search(column, trim(size, noise), scale.cells, searched_beta(noise.beta))
    unit = scale.step if share.query == "mean" else scale.step**2
    return sensitivity * unit * _quantile(noise)


def _quantile(noise: NoiseFamily) -> float:
    return noise.quantile(float(1 - CONFIDENCE))


def _reference_column(size: int, cells: int) -> RunLengthColumn:
    """``size`` values spread evenly over the middle tenth of codes 0..cells."""
    low, high = cells * 9 // 20, cells * 11 // 20
    codes = np.unique(np.linspace(low, high, min(high - low + 1, REFERENCE_RUNS, size)).astype(np.int64))
    counts = np.full(len(codes), size // len(codes), dtype=np.int64)
    counts[: size % len(codes)] += 1
    return RunLengthColumn(codes, counts)
