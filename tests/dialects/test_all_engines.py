"""All engines give the same statistics, and the same counts of any scores: those that the rules say, row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.aggregation_cases import by_both, by_duckdb, by_local, by_polars, written
from support.counted_queries import statistics_of
from support.engines import DuckDB, Engine, Postgres, Spark, SQLite
from support.random_tables import frames, united, weighted
from support.rows_in_python import Document, counts_of, expected_counts
from support.scored_in_python import expected_gradients, expected_score_counts, listed, queries_of, scores_of

from dpnb_columnar.core.queries.query import Query
from dpnb_columnar.core.queries.statistics import CellQuery, Statistics
from dpnb_columnar.counting import local
from dpnb_columnar.counting.answer_files import answer_of, format_of
from dpnb_columnar.counting.countable import file_parts
from dpnb_columnar.dialects.statistics_query import query_sql, statistics_query
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.extensions.spark import spark as spark_engine
from dpnb_columnar.extensions.spark.spark import open_files, read_footers
from dpnb_columnar.extensions.spark.spark_session import counting_session
from dpnb_columnar.rows.parquet import ParquetSource, open_parquet

Frame = tuple[list[pa.Table], Document]
FEW, MANY = 8, 60


def by_frames(source: ParquetSource, domain: Domain) -> Statistics:
    return local.answer(pl.scan_parquet(source.files[0]), CellQuery(domain))


def by_spark(source: ParquetSource, query: Query[Any]) -> Any:
    with counting_session() as session:
        files = read_footers(session, [str(file) for file in source.files])
        return spark_engine.answer(open_files(session, files, query.domain), query)


def of_files(tables: Sequence[pa.Table], document: Document, folder: Path) -> tuple[ParquetSource, Domain]:
    domain = read_domain("test", document, "test")
    return open_parquet(written(folder, tables), domain), domain


def check_scores_of_files(
    frame: Frame,
    folder: Path,
    data: st.DataObject,
    engines: Sequence[Callable[[ParquetSource, Any], Any]],
) -> None:
    """Every engine that reads files counts any scores, and sums up any gradient, over all of them."""
    tables, document = frame
    source, domain = of_files(tables, document, folder)
    scores = data.draw(scores_of(domain))
    expected = expected_score_counts([row for table in tables for row in table.to_pylist()], scores)
    for engine in engines:
        counted = engine(source, scores)
        assert np.array_equal(counted.counts, expected)
        assert counted.parts == file_parts(source.files)
    gradient = data.draw(queries_of(domain))
    sums = expected_gradients([row for table in tables for row in table.to_pylist()], gradient)
    for engine in engines:
        assert listed(engine(source, gradient)) == sums


def check_score_queries(frame: Frame, folder: Path, data: st.DataObject, engines: Sequence[Engine]) -> None:
    """Every database counts any scores, and sums up any gradient, over the first table."""
    tables, document = frame
    source, domain = of_files(tables[:1], document, folder)
    scores = data.draw(scores_of(domain))
    expected = expected_score_counts(tables[0].to_pylist(), scores)
    for engine in engines:
        engine.load(tables[0])
        query = query_sql(scores, source.kinds, "rows", engine.dialect)
        rows = engine.run(query)
        counted = answer_of(pl.DataFrame(rows, schema=list(format_of(scores).columns)), scores, engine.dialect)
        assert np.array_equal(counted.counts, expected), f"{engine.dialect}\n{query}"
    gradient = data.draw(queries_of(domain))
    sums = expected_gradients(tables[0].to_pylist(), gradient)
    for engine in engines:
        query = query_sql(gradient, source.kinds, "rows", engine.dialect)
        result = pl.DataFrame(engine.run(query))
        assert listed(answer_of(result, gradient, engine.dialect)) == sums, f"{engine.dialect}\n{query}"


def check_files(frame: Frame, folder: Path, engines: dict[str, Callable[[ParquetSource, Domain], Statistics]]) -> None:
    """Every engine that reads files, over all of them."""
    tables, document = frame
    source, domain = of_files(tables, document, folder)
    expected = expected_counts([row for table in tables for row in table.to_pylist()], domain)
    for name, aggregate in engines.items():
        assert counts_of(aggregate(source, domain)) == expected, name


def check_queries(frame: Frame, folder: Path, engines: Sequence[Engine]) -> None:
    """Every database, over the first table."""
    tables, document = frame
    source, domain = of_files(tables[:1], document, folder)
    expected = expected_counts(tables[0].to_pylist(), domain)
    assert counts_of(by_frames(source, domain)) == expected, "a frame"
    for engine in engines:
        engine.load(tables[0])
        query = statistics_query(domain, source.kinds, "rows", engine.dialect)
        assert counts_of(statistics_of(domain, engine.run(query))) == expected, f"{engine.dialect}\n{query}"


@pytest.mark.slow
@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
@given(frames() | weighted(), st.data())
def test_engines_of_this_process(tmp_path_factory: pytest.TempPathFactory, frame: Frame, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("random")
    engines = {"polars": by_polars, "local": by_local}
    if "unit" not in frame[1]:  # units, and weights, are for Polars alone
        engines["duckdb"] = by_both if "weight" in frame[1] else by_duckdb
    check_files(frame, folder, engines)
    databases: list[Engine] = [DuckDB(folder), SQLite()]
    check_queries(frame, folder, databases)
    check_scores_of_files(frame, folder, data, [local.answer])
    check_score_queries(frame, folder, data, databases)


@pytest.mark.slow
@settings(max_examples=MANY // 4, deadline=None, suppress_health_check=list(HealthCheck))
@given(united() | weighted(), st.data())
def test_units_in_databases_of_this_process(
    tmp_path_factory: pytest.TempPathFactory, frame: Frame, data: st.DataObject
) -> None:
    """Of each unit the same rows are chosen, for statistics, scores and gradients."""
    folder = tmp_path_factory.mktemp("random")
    databases: list[Engine] = [DuckDB(folder), SQLite()]
    check_queries(frame, folder, databases)
    check_score_queries(frame, folder, data, databases)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [2, None], ids=["parts of two rows", ""])
@settings(max_examples=MANY // 2, deadline=None, suppress_health_check=list(HealthCheck))
@given(united() | weighted(), st.data())
def test_units_in_files(
    tmp_path_factory: pytest.TempPathFactory, rows: int | None, frame: Frame, data: st.DataObject
) -> None:
    """Units that stand in several parts, row groups and files, in order and not, count no more rows than others."""
    folder = tmp_path_factory.mktemp("random")
    with pytest.MonkeyPatch.context() as patch:
        if rows is not None:
            for name in ("PART_ROWS", "MOST_WAITING", "SHARE_ROWS"):
                patch.setattr(local, name, rows)
        check_files(frame, folder, {"local": by_local})
        check_scores_of_files(frame, folder, data, [local.answer])


@pytest.mark.xdist_group("postgres")
def test_postgres_as_well(tmp_path_factory: pytest.TempPathFactory, postgres_connection: Any) -> None:
    @settings(max_examples=MANY // 2, deadline=None, suppress_health_check=list(HealthCheck))
    @given(frames() | united() | weighted(), st.data())
    def check(frame: Frame, data: st.DataObject) -> None:
        assume(
            not any("\0" in str(value) for row in frame[0][0].to_pylist() for value in row.values())
        )  # it holds none
        folder = tmp_path_factory.mktemp("random")
        databases: list[Engine] = [DuckDB(folder), Postgres(postgres_connection)]
        check_queries(frame, folder, databases)
        check_score_queries(frame, folder, data, databases)

    check()


@pytest.mark.xdist_group("spark")
def test_spark_as_well(tmp_path_factory: pytest.TempPathFactory, usual_spark: Any) -> None:
    """Few examples of several files each, in the engine and by the query: each costs Spark a second."""

    @settings(max_examples=FEW, deadline=None, suppress_health_check=list(HealthCheck))
    @given(frames() | united() | weighted(), st.booleans(), st.data())
    def check(frame: Frame, by_query: bool, data: st.DataObject) -> None:
        folder = tmp_path_factory.mktemp("random")
        if by_query:
            databases: list[Engine] = [Spark(usual_spark, folder), SQLite()]
            check_queries(frame, folder, databases)
            check_score_queries(frame, folder, data, databases)
        else:
            check_scores_of_files(frame, folder, data, [by_spark, local.answer])
            check_files(frame, folder, {"spark": lambda source, domain: by_spark(source, CellQuery(domain))})

    check()
