"""CONFIDENTIAL. Cell counts by lazy Polars group-bys, streamed: memory follows the number of cells, not of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from dpnb_columnar.aggregate.statistics import Cells
from dpnb_columnar.domain import Attribute, Domain, Numeric
from dpnb_columnar.rows.expressions import category_code, class_code, column, fits, grid_code
from dpnb_columnar.rows.kinds import Kind
from dpnb_columnar.rows.source import Source


def scan(source: Source) -> pl.LazyFrame:
    """All rows of the source's files, the domain's columns only, each of one type."""
    columns = [_widened(name, kind) for name, kind in source.kinds.items()]
    return pl.concat([pl.scan_parquet(file, glob=False).select(columns) for file in source.files])


def count_cells(source: Source, domain: Domain, attributes: Sequence[Attribute], *, classes: bool) -> list[Cells]:
    """Count the cells of some attributes over the rows that fit the whole domain.

    Args:
        source: Checked Parquet files.
        domain: The domain that a row must fit.
        attributes: Attributes to count.
        classes: Whether to count the classes as well.

    Raises:
        DataError: A file is damaged.
    """
    rows = scan(source).filter(fits(domain, source.kinds))
    label = class_code(domain, source.kinds).alias("class")
    queries = [rows.select(label, _code(attribute, source).alias("code")) for attribute in attributes]
    if classes:
        queries.append(rows.select(label, pl.lit(0, pl.Int64).alias("code")))
    grouped = [query.group_by("class", "code").agg(pl.len().alias("count")) for query in queries]
    try:
        frames = pl.collect_all(grouped, engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        # The engine's own text may quote values.
        raise source.unreadable() from None
    names = [*(attribute.name for attribute in attributes), *([None] if classes else [])]
    return [
        Cells(name, *(frame[field].cast(pl.Int64).to_numpy().astype(np.int64) for field in ("class", "code", "count")))
        for name, frame in zip(names, frames, strict=True)
    ]


def _code(attribute: Attribute, source: Source) -> pl.Expr:
    kind = source.kinds[attribute.name]
    return grid_code(attribute, kind) if isinstance(attribute, Numeric) else category_code(attribute, kind)


def _widened(name: str, kind: Kind) -> pl.Expr:
    """The column in the widest type of its kind, where files may hold it in several."""
    wide = {Kind.INTEGER: pl.Int64, Kind.FLOAT: pl.Float64, Kind.TEXT: pl.String}.get(kind)
    return column(name).cast(wide) if wide else column(name)
