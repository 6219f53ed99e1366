"""Numbers of PostgreSQL's ``numeric`` that no 64-bit float holds count as infinity or 0, and make no query fail.

Were one to fail, a single row would decide whether there is a model, and the exit code would tell.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from support.counted_queries import statistics_of
from support.engines import Postgres
from support.people import people
from support.running import Run
from support.servers import PostgresServer

from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting.engines import local
from dpnb_columnar.dialects.statistics_query import statistics_query
from dpnb_columnar.domain.catalogue import entry_toml
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.domain.declaration import read_domain

NUMBERS = ("1e400", "-1e400", "1e-400", "-1e-400", "NaN", "2.5", "-2.5", "1e308", "5e-324", "-5e-324", "0", "3")
DECLARED = {
    "label": {"column": "income", "classes": ["low", "high"]},
    "attributes": {
        "amount": {"lower": "-3", "upper": "3", "step": "0.5"},
        "code": {"values": ["0", "3", "2.5"], "missing": "category"},
    },
    "weight": {"column": "w", "cap": 5, "step": "0.5", "missing": 2},
}

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("postgres")]


def write_numbers(server: PostgresServer) -> pl.DataFrame:
    """Make a table of each number in three columns; return its rows as floats."""
    from adbc_driver_postgresql import dbapi

    labels = people(len(NUMBERS))["income"].replace({None: "low"}).to_list()
    rows = ", ".join(f"('{label}', '{n}', '{n}', '{n}')" for label, n in zip(labels, NUMBERS, strict=True))
    with dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS beyond")
        cursor.execute("CREATE TABLE beyond (income text, amount numeric, code numeric, w numeric)")
        cursor.execute(f"INSERT INTO beyond VALUES {rows}")
    numbers = pl.Series([float(number) for number in NUMBERS])
    return pl.DataFrame({"income": labels, "amount": numbers, "code": numbers, "w": numbers})


def test_they_count_as_the_nearest_floats(postgres: PostgresServer) -> None:
    from adbc_driver_postgresql import dbapi

    domain = read_domain("beyond", DECLARED, "test")
    expected = local.answer(write_numbers(postgres), CellQuery(domain))
    known = {"income": Kind.TEXT, "amount": Kind.FLOAT, "code": Kind.FLOAT, "w": Kind.FLOAT}
    with dbapi.connect(postgres.uri, autocommit=True) as connection:
        for kinds in (known, {}):
            query = statistics_query(domain, kinds, "beyond", Postgres.dialect)
            assert statistics_of(domain, Postgres(connection).run(query)) == expected, query


def test_no_row_decides_the_exit_code_of_a_training(postgres: PostgresServer, folder: Path, run: Run) -> None:
    write_numbers(postgres)
    Path("datasets.toml").write_text(entry_toml(read_domain("beyond", DECLARED, "test")))
    run("train", postgres.uri, "--table", "beyond", "--dataset", "beyond", "--epsilon", 1, "--output", "model.json")
    run("evaluate", "model.json", postgres.uri, "--table", "beyond")
