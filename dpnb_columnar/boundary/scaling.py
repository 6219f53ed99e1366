"""From grid codes to codes of the scale on which an attribute is released: a public map of each value on its own."""

from __future__ import annotations

import numpy as np

from dpnb_columnar.domain import Numeric, Transform
from dpnb_columnar.sensitivity import RunLengthColumn


def on_scale(attribute: Numeric, column: RunLengthColumn) -> RunLengthColumn:
    """A column of grid codes as a column of the attribute's scale. Confidential in, confidential out."""
    if attribute.transform is Transform.IDENTITY:
        return column
    scale = attribute.scale
    values = float(attribute.lower) + column.codes * float(attribute.step)
    codes = np.floor((np.log1p(values) - scale.origin) / scale.step + 0.5).astype(np.int64)
    distinct, first = np.unique(np.clip(codes, 0, scale.cells), return_index=True)
    counts = np.add.reduceat(column.counts, first) if len(first) else column.counts
    return RunLengthColumn(distinct, counts)
