"""CONFIDENTIAL. Cell counts of rows that a program holds, by the Polars engine alone."""

from __future__ import annotations

import polars as pl

from dpnb_columnar.counting.engines.polars import count_rows
from dpnb_columnar.counting.statistics import Statistics, assemble
from dpnb_columnar.domain import Domain
from dpnb_columnar.rows.frames import Frame, open_frame, unusable


def aggregate_frame(frame: Frame, domain: Domain) -> Statistics:
    """Count every cell of the domain over the rows of a frame: as ``local.aggregate`` over a file of them.

    Raises:
        DataError: The frame does not fit the domain, or the query behind it fails.
    """
    opened = open_frame(frame, domain)
    try:
        cells = count_rows(opened.rows, opened.types, domain, domain.attributes, classes=True)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise unusable() from None
    return assemble(domain, cells)
