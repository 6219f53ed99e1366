"""CONFIDENTIAL. The local engine: DuckDB counts the categories that are spelled as text, Polars everything else."""

from __future__ import annotations

from dpnb_columnar.counting.engines import polars
from dpnb_columnar.counting.statistics import Statistics, assemble, parts_of
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.columns import Kind
from dpnb_columnar.rows.parquet import Source

SPELLED = (Kind.TEXT, Kind.DECIMAL, Kind.DATE)
"""Kinds whose categories Polars would find by the text of every row; DuckDB looks at each text of a dictionary once."""


def aggregate(source: Source, domain: Domain) -> Statistics:
    """Count every cell of the domain over the rows of the source.

    Raises:
        DataError: A file is damaged, or changed while it was read.
    """
    spelled = [attribute for attribute in domain.categorical if source.kinds[attribute.name] in SPELLED]
    others = [attribute for attribute in domain.attributes if attribute not in spelled]
    cells = []
    if spelled:
        from dpnb_columnar.counting.engines import duckdb

        # DuckDB first: it gives its memory back, so that the two peaks do not add up.
        cells += duckdb.count_cells(source, domain, spelled, classes=True)
    if others or not spelled:
        cells += polars.count_cells(source, domain, others, classes=not spelled)
    try:
        return assemble(domain, cells, parts_of(source.files))
    except OSError:
        raise source.unreadable() from None
    except ValueError as error:
        raise DataError(f"{source.names}: {error}; did a file change while it was read?") from None
