"""CONFIDENTIAL. Cell counts by lazy Polars group-bys, streamed: memory follows the number of cells, not of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from dpnb_columnar.aggregation.statistics import Cells
from dpnb_columnar.domain import Attribute, Domain, Numeric
from dpnb_columnar.rows.expressions import category_code, class_code, column, fits, grid_code
from dpnb_columnar.rows.kinds import Kind
from dpnb_columnar.rows.source import Source

PASS_CELLS = 2**22
"""Rows times columns of one pass: Polars may hold all rows of a pass, since they feed several group-bys."""

NO_CELLS = pl.DataFrame(schema={"class": pl.Int64, "code": pl.Int64, "count": pl.Int64})


def scan(source: Source) -> pl.LazyFrame:
    """All rows of the source, the domain's columns only, each of one type."""
    return pl.concat([_scan_file(file, source) for file in source.files])


def passes(source: Source) -> Iterator[pl.LazyFrame]:
    """The rows of ``scan`` in parts of bounded size, across files."""
    size = room = pass_rows(source.kinds)
    pieces: list[pl.LazyFrame] = []
    for file in source.files:
        rows = _scan_file(file, source)
        height, start = rows.select(pl.len()).collect().item(), 0
        while start < height:
            length = min(room, height - start)
            pieces.append(rows.slice(start, length))
            start, room = start + length, room - length
            if not room:
                yield pl.concat(pieces)
                pieces, room = [], size
    if pieces:
        yield pl.concat(pieces)


def pass_rows(kinds: Mapping[str, Kind]) -> int:
    """How many rows of these columns make one pass."""
    return max(PASS_CELLS // len(kinds), 1)


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
    try:
        return count_rows(passes(source), source.kinds, domain, attributes, classes=classes)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        # The engine's own text may quote values.
        raise source.unreadable() from None


def count_rows(
    parts: Iterable[pl.LazyFrame],
    kinds: Mapping[str, Kind],
    domain: Domain,
    attributes: Sequence[Attribute],
    *,
    classes: bool,
) -> list[Cells]:
    """Count the cells of some attributes over rows that come in parts, as ``count_cells`` does over files.

    Args:
        parts: The rows, each part with all of the domain's columns; see ``PASS_CELLS``.
        kinds: What each column of the domain holds, the same in every part.
        domain, attributes, classes: As for ``count_cells``.

    Raises:
        polars.exceptions.PolarsError: A part cannot be read; its text may quote values.
    """
    label = class_code(domain, kinds).alias("class")
    codes: dict[str | None, pl.Expr] = {each.name: _code(each, kinds[each.name]) for each in attributes}
    if classes:
        codes[None] = pl.lit(0, pl.Int64)
    counts = [NO_CELLS] * len(codes)
    for rows in parts:
        fitting = rows.filter(fits(domain, kinds))
        queries = [
            fitting.select(label, code.alias("code")).group_by("class", "code").agg(pl.len().alias("count"))
            for code in codes.values()
        ]
        counts = [*map(_sum, counts, pl.collect_all(queries, engine="streaming"))]
    return [
        Cells(name, *(frame[field].to_numpy().astype(np.int64) for field in NO_CELLS.columns))
        for name, frame in zip(codes, counts, strict=True)
    ]


def _sum(total: pl.DataFrame, part: pl.DataFrame) -> pl.DataFrame:
    """The counts of both, one row per cell."""
    return pl.concat([total, part.cast(pl.Int64)]).group_by("class", "code").agg(pl.col("count").sum())


def _code(attribute: Attribute, kind: Kind) -> pl.Expr:
    return grid_code(attribute, kind) if isinstance(attribute, Numeric) else category_code(attribute, kind)


def _scan_file(file: Path, source: Source) -> pl.LazyFrame:
    columns = [_widened(name, kind) for name, kind in source.kinds.items()]
    return pl.scan_parquet(file, glob=False).select(columns)


def _widened(name: str, kind: Kind) -> pl.Expr:
    """The column in the widest type of its kind, where files may hold it in several."""
    wide = {Kind.INTEGER: pl.Int64, Kind.FLOAT: pl.Float64, Kind.TEXT: pl.String}.get(kind)
    return column(name).cast(wide) if wide else column(name)
