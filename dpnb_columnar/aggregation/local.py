"""CONFIDENTIAL. The local engine: Polars counts the numeric attributes, DuckDB the categorical ones and the classes."""

from __future__ import annotations

from dpnb_columnar.aggregation import duckdb_engine, polars_engine
from dpnb_columnar.aggregation.parts import parts_of
from dpnb_columnar.aggregation.statistics import Statistics, assemble
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.source import Source


def aggregate(source: Source, domain: Domain) -> Statistics:
    """Count every cell of the domain over the rows of the source.

    Raises:
        DataError: A file is damaged, or changed while it was read.
    """
    # DuckDB first: it gives its memory back, so that the two peaks do not add up.
    tables = duckdb_engine.count_cells(source, domain, domain.categorical, classes=True)
    columns = polars_engine.count_cells(source, domain, domain.numeric, classes=False) if domain.numeric else []
    try:
        return assemble(domain, [*columns, *tables], parts_of(source.files))
    except OSError:
        raise source.unreadable() from None
    except ValueError as error:
        raise DataError(f"{source.names}: {error}; did a file change while it was read?") from None
