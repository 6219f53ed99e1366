"""Samples of public size: how large they are, and the confidential columns that they are drawn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpnb_columnar.core.mechanisms.mechanism import QueryContext
from dpnb_columnar.core.mechanisms.tuning import positive_sum, sample_size
from dpnb_columnar.core.sensitivity import RunLengthColumn
from dpnb_columnar.domain import Numeric, Transform
from dpnb_columnar.domain.attributes import scale_codes


def released_sizes(context: QueryContext, attribute: Numeric) -> list[int]:
    """Return the released number of values per class; where it was not asked for, the released class counts."""
    if attribute.name in context.presence:
        return [present for present, *_ in context.presence[attribute.name]]
    return list(context.sizes)


def sample_sizes(context: QueryContext, attribute: Numeric) -> list[int]:
    """Return the public size of an attribute's sample in every class."""
    return list(map(sample_size, released_sizes(context, attribute)))


def pooled_size(context: QueryContext, attribute: Numeric) -> int:
    """Return the public size of an attribute's sample of all classes together."""
    return sample_size(positive_sum(released_sizes(context, attribute)))


def on_scale(attribute: Numeric, column: RunLengthColumn) -> RunLengthColumn:
    """Carry a column of grid codes to codes of the attribute's scale. Confidential in, confidential out."""
    if attribute.transform is Transform.IDENTITY:
        return column
    distinct, first = np.unique(scale_codes(attribute, column.codes), return_index=True)
    counts = np.add.reduceat(column.counts, first) if len(first) else column.counts
    return RunLengthColumn(distinct, counts)


def pooled(columns: Sequence[RunLengthColumn]) -> RunLengthColumn:
    """Merge the columns of all classes, for a sample of ``pooled_size``.

    One row more or less is at most one value more or less of the merged column. A replaced row is one replaced, added
    or removed value, since either row may lack it (docs/privacy.md, Lemma 2.6). Confidential in, confidential out.
    """
    codes, places = np.unique(np.concatenate([column.codes for column in columns]), return_inverse=True)
    counts = np.zeros(len(codes), dtype=np.int64)
    np.add.at(counts, places, np.concatenate([column.counts for column in columns]))
    return RunLengthColumn(codes, counts)
