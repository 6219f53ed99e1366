"""Confidential columns, carried from the grid to the scale of their attribute."""

from __future__ import annotations

import numpy as np

from dpnb_columnar.domain import Numeric, Transform
from dpnb_columnar.domain.scaling import scale_codes
from dpnb_columnar.sensitivity import RunLengthColumn


def on_scale(attribute: Numeric, column: RunLengthColumn) -> RunLengthColumn:
    """A column of grid codes as a column of the attribute's scale. Confidential in, confidential out."""
    if attribute.transform is Transform.IDENTITY:
        return column
    distinct, first = np.unique(scale_codes(attribute, column.codes), return_index=True)
    counts = np.add.reduceat(column.counts, first) if len(first) else column.counts
    return RunLengthColumn(distinct, counts)
