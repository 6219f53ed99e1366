"""Rows read out of a database mean what the rows of a file mean: counted, and scored, value by value."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from support.aggregation_cases import written
from support.engines import Postgres, SQLite
from support.random_tables import frames
from support.rows_in_python import Document, counts_of, expected_counts
from support.servers import PostgresServer

from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting import local
from dpnb_columnar.counting.inputs import local_input
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.domain.field_reader import LONGEST_VALUE
from dpnb_columnar.model.scoring import score
from dpnb_columnar.releases.plan import plan
from dpnb_columnar.rows.parquet import scan_files

Frame = tuple[list[pa.Table], Document]
MANY = 60


def into_duckdb(table: pa.Table, folder: Path) -> str:
    with duckdb.connect(folder / "rows.duckdb") as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    return str(folder / "rows.duckdb")


def into_sqlite(table: pa.Table, folder: Path, encoding: str = "UTF-8") -> str:
    engine = SQLite()
    engine.execute(f"PRAGMA encoding = '{encoding}'")
    engine.load(table)
    engine.connection.commit()
    with closing(sqlite3.connect(folder / "rows.sqlite")) as connection:
        engine.connection.backup(connection)
    return str(folder / "rows.sqlite")


def check(frame: Frame, folder: Path, load: Callable[[pa.Table, Path], str]) -> None:
    """The rows of the first table count as the rules say, and are scored as those of a file are."""
    tables, document = frame
    domain = read_domain("test", document, "test")
    rows = local_input([load(tables[0], folder)], "rows")
    counted = local.answer(rows.open(domain).rows, CellQuery(domain))
    assert counts_of(counted) == expected_counts(tables[0].to_pylist(), domain)
    model = released(domain, counted)
    (file,) = scan_files(written(folder, tables[:1]))
    (table,) = rows.scan([attribute.name for attribute in domain.attributes])
    assert_frame_equal(score(model, table.rows).collect(), score(model, file.rows).collect(), check_exact=True)


def released(domain: Domain, counted: Any) -> Any:
    from dpnb_columnar.core.budget import Budget, Neighbours, parse_epsilon
    from dpnb_columnar.core.noise import ExactSampler, SystemBits
    from dpnb_columnar.releases.model_plan import release

    planned = plan(domain, Budget(parse_epsilon("1"), Neighbours.ADD_REMOVE), "histogram", None, "none")
    return release(counted, planned, ExactSampler(SystemBits()))


def said_by_sqlite(table: pa.Table) -> bool:
    """SQLite has neither booleans nor NaN, and rounds whole numbers beyond 64 bits."""
    return not any(pa.types.is_boolean(field.type) for field in table.schema)


@pytest.mark.slow
@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
@given(frames(), st.sampled_from([into_duckdb, into_sqlite]))
def test_files_of_databases(
    tmp_path_factory: pytest.TempPathFactory, frame: Frame, load: Callable[[pa.Table, Path], str]
) -> None:
    assume(load is into_duckdb or said_by_sqlite(frame[0][0]))
    check(frame, tmp_path_factory.mktemp("random"), load)


@pytest.mark.xdist_group("postgres")
def test_a_server(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer, postgres_connection: Any) -> None:
    def load(table: pa.Table, folder: Path) -> str:
        Postgres(postgres_connection).load(table)
        postgres_connection.commit()
        return postgres.uri

    @settings(max_examples=MANY // 2, deadline=None, suppress_health_check=list(HealthCheck))
    @given(frames())
    def checked(frame: Frame) -> None:
        assume(not any("\0" in str(value) for row in frame[0][0].to_pylist() for value in row.values()))
        check(frame, tmp_path_factory.mktemp("random"), load)

    checked()


LONGEST = LONGEST_VALUE * "\N{GRINNING FACE}"
"""A value that may be declared, and takes the most bytes."""

TEXTS = [*"ff", "f\0", LONGEST, LONGEST, LONGEST + "f", f"f\0{LONGEST}", LONGEST * 9, "0" * 40_000 + "7", "7", None]


@pytest.mark.parametrize(
    "load",
    [into_duckdb, into_sqlite, partial(into_sqlite, encoding="UTF-16le")],
    ids=["DuckDB", "SQLite", "SQLite in UTF-16"],
)
def test_a_text_longer_than_every_declared_value_is_not_read_and_counts_as_it_would(
    load: Callable[[pa.Table, Path], str], tmp_path: Path
) -> None:
    """But for those that tell units apart, which are read as they are."""
    table = pa.table({"sex": TEXTS, "house": TEXTS, "income": ["low"] * len(TEXTS)})
    document: Document = {
        "label": {"column": "income", "classes": ["low", "high"]},
        "attributes": {"sex": {"values": ["f", LONGEST, "7"]}},
    }
    check(([table], document), tmp_path, load)
    other = {"condition": "house <> 'f'", "classes": ["low", "high"]}
    (tmp_path / "conditions").mkdir()
    check(([table], {**document, "label": other}), tmp_path / "conditions", load)
    domain = read_domain("test", {**document, "unit": {"column": "house", "rows": 1}}, "test")
    (tmp_path / "units").mkdir()
    read = local_input([load(table, tmp_path / "units")], "rows").open(domain).rows.collect()
    assert read["house"].to_list() == TEXTS
    assert max(len(text.encode()) for text in read["sex"] if text is not None) == 4 * LONGEST_VALUE


def test_values_of_a_sqlite_column_are_read_one_by_one(tmp_path: Path) -> None:
    """One column of every type at once: each value is what it would be in a file, whatever stands beside it."""
    with closing(sqlite3.connect(tmp_path / "rows.sqlite")) as connection:
        connection.execute("CREATE TABLE rows (x INTEGER, y)")
        values = [1, 1.0, "001", "a", None, b"1", 2.5, "1e0", 2**62, "  1"]
        connection.executemany("INSERT INTO rows VALUES (?, ?)", [(value, value) for value in values])
        connection.execute("INSERT INTO rows VALUES (CAST(x'ff' AS TEXT), 1)")
        connection.commit()
    (rows,) = local_input([str(tmp_path / "rows.sqlite")], "rows").scan()
    frame = rows.rows.collect()
    assert frame["y"].to_list() == ["1", "1", "001", "a", None, None, "2.5", "1e0", "4611686018427388000", "  1", "1"]
    assert frame["x"].to_list()[-1] is None
    assert frame.schema == {"x": pl.String, "y": pl.String}


def test_columns_that_sqlite_itself_keeps_whole_are_numbers(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "rows.sqlite")) as connection:
        connection.execute("CREATE TABLE keyed (id INTEGER PRIMARY KEY, x INTEGER)")
        connection.execute("CREATE TABLE strict_rows (id INTEGER, x TEXT) STRICT")
        connection.execute("CREATE TABLE mixed (id INTEGER PRIMARY KEY, x) WITHOUT ROWID")
        connection.execute("CREATE VIEW seen AS SELECT * FROM keyed")
    whole = {"keyed": ["id"], "strict_rows": ["id"], "mixed": [], "seen": []}
    for table, expected in whole.items():
        (rows,) = local_input([str(tmp_path / "rows.sqlite")], table).scan()
        types = rows.rows.collect_schema()
        assert [name for name, type_ in types.items() if type_ == pl.Int64] == expected
