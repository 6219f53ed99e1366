"""CONFIDENTIAL. Cell counts by Polars, in one scan of the rows: memory follows the number of cells, not of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from dpnb_columnar.aggregation.counters import Counter, DenseCounter, SparseCounter
from dpnb_columnar.aggregation.joint_tables import JointTable, joint_tables
from dpnb_columnar.aggregation.statistics import Cells
from dpnb_columnar.domain import Attribute, Domain
from dpnb_columnar.rows.codes import cell_code
from dpnb_columnar.rows.expressions import attribute_fits, class_code, column
from dpnb_columnar.rows.kinds import kinds_of
from dpnb_columnar.rows.source import Source

PART_ROWS = 2**18
"""Rows that are counted at a time."""

MOST_COUNTERS = 2**24
"""Cells, of all tables together, that have a counter each, whether or not a row falls into them."""


def scan(source: Source) -> pl.LazyFrame:
    """All rows of the source, the domain's columns only, each of one type."""
    columns = [column(name).cast(type_) for name, type_ in source.types.items()]
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
    try:
        return count_rows(scan(source), source.types, domain, attributes, classes=classes)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        # The engine's own text may quote values.
        raise source.unreadable() from None


def count_rows(
    rows: pl.LazyFrame,
    types: Mapping[str, pl.DataType],
    domain: Domain,
    attributes: Sequence[Attribute],
    *,
    classes: bool,
) -> list[Cells]:
    """Count the cells of some attributes over rows, as ``count_cells`` does over files.

    Args:
        rows: Rows with all of the domain's columns; computed once, and never held as a whole.
        types: The type of each column.
        domain, attributes, classes: As for ``count_cells``.

    Raises:
        polars.exceptions.PolarsError: The rows cannot be read; its text may quote values.
    """
    tables = joint_tables(len(domain.classes), attributes)
    counters = _counters(tables)
    kinds = kinds_of(types)
    for attribute in domain.attributes:
        if attribute not in attributes:
            rows = rows.filter(attribute_fits(attribute, kinds[attribute.name]))
    coded = [class_code(domain, kinds).alias("class")]
    for number, table in enumerate(tables):
        coded += [
            cell_code(attribute, types[attribute.name], _type(table)).alias(f"{number}.{position}")
            for position, attribute in enumerate(table.attributes)
        ]
    # A code is null where the row does not fit, and so is every place that is computed from it.
    places = rows.select(coded).select(_place(table, number) for number, table in enumerate(tables)).drop_nulls()
    for part in places.collect_batches(chunk_size=PART_ROWS, maintain_order=False, engine="streaming"):
        for counter, column_of_places in zip(counters, part.iter_columns(), strict=True):
            counter.add(column_of_places)
    margins = [table.margins(*counter.counted()) for table, counter in zip(tables, counters, strict=True)]
    found = [cells for each in margins for cells in each if cells.attribute is not None]
    return [margins[0][0], *found] if classes else found


def _counters(tables: Sequence[JointTable]) -> list[Counter]:
    """A counter for each table: the smallest tables have one for every cell, until there are ``MOST_COUNTERS``."""
    counters: dict[int, Counter] = {}
    room = MOST_COUNTERS
    for place in sorted(range(len(tables)), key=lambda place: tables[place].cells):
        room -= tables[place].cells
        counters[place] = DenseCounter(tables[place].cells) if room >= 0 else SparseCounter()
    return [counters[place] for place in range(len(tables))]


def _place(table: JointTable, number: int) -> pl.Expr:
    """The row's cell in row-major order, from its class and its codes."""
    type_ = _type(table)
    place = pl.col("class").cast(type_)
    for position, size in enumerate(table.shape[1:]):
        place = place * pl.lit(size, type_) + pl.col(f"{number}.{position}")
    return place.alias(str(number))


def _type(table: JointTable) -> type[pl.DataType]:
    """As narrow a type as holds all cells."""
    return pl.UInt16 if table.cells <= 2**16 else pl.UInt32 if table.cells <= 2**32 else pl.UInt64
