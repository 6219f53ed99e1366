"""From grid codes to codes of the scale on which an attribute is released: a public, increasing map of each value."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.domain.attributes import Numeric, Transform

Integers = NDArray[np.int64]


def scale_codes(attribute: Numeric, codes: Integers) -> Integers:
    """Codes on the attribute's scale.

    Args:
        attribute: A numeric attribute.
        codes: Any shape, int64: grid codes from 0 to ``attribute.cells``; larger ones get the last code.

    Returns:
        The same shape, int64, from 0 to ``attribute.scale.cells``.
    """
    scale = attribute.scale
    if attribute.transform is Transform.IDENTITY:
        return np.clip(codes, 0, scale.cells)
    values = np.log1p(float(attribute.lower) + np.minimum(codes, attribute.cells) * float(attribute.step))
    scaled = np.floor((values - scale.origin) / scale.step + 0.5)
    return np.clip(scaled, 0, scale.cells).astype(np.int64)
