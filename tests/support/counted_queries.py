"""The statistics query run by a database, beside what the local engine counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpnb_columnar.core.queries.statistics import CellQuery, Cells, Statistics, assemble
from dpnb_columnar.counting import local
from dpnb_columnar.dialects.nodes import Kinds
from dpnb_columnar.dialects.statistics_query import statistics_query
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.rows.parquet import open_parquet
from support.aggregation_cases import by_duckdb
from support.engines import Engine, Row
from support.rows_in_python import counts_of, expected_counts


def statistics_of(domain: Domain, rows: Sequence[Row]) -> Statistics:
    assert {row["domain"] for row in rows} <= {digest(domain)}
    return assemble(
        domain,
        [
            Cells(row["attribute"], *(np.array([row[name]], dtype=np.int64) for name in ("class", "code", "count")))
            for row in rows
        ],
    )


def check(engine: Engine, folder: Path, table: pa.Table, domain: Domain, kinds: Kinds | None = None) -> Statistics:
    """The database counts what engines count, and the rules say; with the columns' kinds unless others are given."""
    file = folder / "counted.parquet"
    pq.write_table(table, file, row_group_size=3)
    source = open_parquet([file], domain)
    engine.load(table)
    query = statistics_query(domain, source.kinds if kinds is None else kinds, "rows", engine.dialect)
    found, expected = statistics_of(domain, engine.run(query)), local.answer(source, CellQuery(domain))
    assert found == expected, query
    counts = expected_counts(table.to_pylist(), domain)
    assert counts_of(expected) == counts
    if domain.weight is None and domain.unit is None:  # which DuckDB does not count in files
        assert counts_of(by_duckdb(source, domain)) == counts
    return expected
