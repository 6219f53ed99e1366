"""Functions of PostgreSQL's names that somebody else put on the search path: none is called with a row's values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.people import people, people_domain
from support.servers import PostgresServer
from support.tables import into_postgres

import dpnb_columnar as dpnb
from dpnb_columnar.core.queries.scores import Margins, ScoreTable
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.dialects.rendering import GRAMMAR
from dpnb_columnar.dialects.statistics_query import query_sql
from dpnb_columnar.domain import Unit
from dpnb_columnar.domain.column_kinds import kinds_of
from dpnb_columnar.rows.sources import Dialect

pytestmark = pytest.mark.postgres

VALUES = (
    "text",
    "varchar",
    "bpchar",
    "smallint",
    "integer",
    "bigint",
    "real",
    "double precision",
    "numeric",
    "boolean",
)
"""Types that a column's values may have: an overload for each fits a value better than one for any type does."""

MIXED = [
    ("%", "bigint", "integer"),
    *(
        (operator, "double precision", other)
        for operator in (">", "<", ">=", "*", "+")
        for other in ("numeric", "integer")
    ),
    *((operator, kind, "text") for operator in ("=", "~", "<>") for kind in ("varchar", "bpchar")),
]
"""Operators that PostgreSQL has for no such pair of types: an overload would be taken for one of its own."""


def functions_in(query: str) -> set[str]:
    code = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*", "", query)
    called = {name.lower() for name in re.findall(r"([\w.]+)\(", code)}
    return (
        called
        - {name.lower() for name in GRAMMAR}
        - {"cast", "in", "as", "and", "or", "not", "over", "filter", "when", "select", "operator"}
    )


@pytest.fixture
def queries(folder: Path) -> dict[str, str]:
    """Queries that score and count, by what is known of the table's columns."""
    rows, domain = people(500).cast({"hours": pl.Float64}), people_domain()
    scores = Margins(domain, ((ScoreTable("age", (0, 30, 50), (-256, 0, 300), 7),),), (300, 0), 0, (-600, -300, 0))
    units = replace(domain, unit=Unit(("serial",), 2))
    model = dpnb.train(rows, epsilon=1, domain=domain)
    normal = dpnb.train(rows, epsilon=1, domain=domain, mechanism="smooth")
    made = {}
    for name, kinds in (("unknown", {}), ("known", kinds_of(dict(rows.schema)))):
        made |= {
            f"score {name}": model.to_sql("postgres", "person", kinds=kinds),
            f"score normal {name}": normal.to_sql("postgres", "person", ["age"], kinds=kinds),
            f"join {name}": model.to_sql("postgres", "person", ["age"], kinds=kinds, parameters="terms"),
            f"count scores {name}": query_sql(scores, kinds, "person", Dialect.POSTGRES),
            f"count units {name}": query_sql(CellQuery(units), kinds, "person", Dialect.POSTGRES),
            f"count {name}": query_sql(CellQuery(domain), kinds, "person", Dialect.POSTGRES),
        }
    return made


@pytest.fixture
def watched(postgres: PostgresServer, queries: dict[str, str]) -> Iterator[Any]:
    """A connection that finds overloads of every function of the queries, which fit better, and record calls."""
    from adbc_driver_postgresql import dbapi

    into_postgres(postgres, "person", people(50).cast({"hours": pl.Float64}).with_columns(serial=pl.int_range(50) // 3))
    functions = {name.rpartition(".")[2] for query in queries.values() for name in functions_in(query)}
    assert {"length", "pg_typeof", "floor", "exp", "count"} <= functions
    with dbapi.connect(postgres.uri) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA overloads")
        cursor.execute("SET search_path = overloads, public, pg_catalog")
        cursor.execute("CREATE SEQUENCE overloads.calls")
        body = "LANGUAGE sql VOLATILE AS $$ SELECT CAST(pg_catalog.nextval('overloads.calls') AS"
        for name in sorted(functions):
            result = "text" if name == "pg_typeof" else "double precision" if name in ("exp", "ln", "abs") else "bigint"
            for type_ in VALUES:
                cursor.execute(f"CREATE FUNCTION overloads.{name}({type_}) RETURNS {result} {body} {result}) $$")
        for number, (operator, left, right) in enumerate(MIXED):
            result = "bigint" if operator == "%" else "double precision" if operator in "*+" else "boolean"
            cast = "integer) > 0" if result == "boolean" else f"{result})"
            cursor.execute(f"CREATE FUNCTION overloads.op{number}({left}, {right}) RETURNS {result} {body} {cast} $$")
            cursor.execute(
                f"CREATE OPERATOR overloads.{operator} "
                f"(LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = overloads.op{number})"
            )
        yield cursor
        connection.rollback()


def calls(cursor: Any) -> int:
    cursor.execute("SELECT is_called::integer * last_value AS calls FROM overloads.calls")
    return int(cursor.fetch_arrow_table().to_pylist()[0]["calls"])


def test_no_query_calls_a_function_of_somebody_else(watched: Any, queries: dict[str, str]) -> None:
    watched.execute("SELECT pg_typeof(age), length(sex) FROM person")
    assert watched.fetch_arrow_table().num_rows == 50
    before = calls(watched)
    assert before == 100  # what stands without a schema is called
    statements = dpnb.train(people(500), epsilon=1, domain=people_domain())
    from dpnb_columnar.dialects.scoring_query import table_statements

    for statement in table_statements(statements, "terms", Dialect.POSTGRES):
        watched.execute(statement)
    for name, query in queries.items():
        assert all(each.startswith("pg_catalog.") for each in functions_in(query)), name
        watched.execute(query)
        assert watched.fetch_arrow_table().num_rows >= 4, name
        assert calls(watched) == before, name


def test_a_view_depends_on_nothing_of_somebody_else(watched: Any, queries: dict[str, str]) -> None:
    model = dpnb.train(people(500), epsilon=1, domain=people_domain())
    from dpnb_columnar.dialects.scoring_query import scoring_query

    before = calls(watched)
    watched.execute(scoring_query(model, Dialect.POSTGRES, "person", view="public.scored"))
    watched.execute("SELECT predicted FROM public.scored")
    assert watched.fetch_arrow_table().num_rows == 50
    assert calls(watched) == before


def test_the_program_itself_calls_none(watched: Any, postgres: PostgresServer) -> None:
    """A table that is counted by the program, whose connection finds the overloads, too."""
    watched.connection.commit()
    address = f"{postgres.uri}?options=-csearch_path%3Doverloads,public,pg_catalog"
    try:
        counted = dpnb.aggregate(address, table="person", domain=people_domain())
        assert sum(counted.class_counts) == dpnb.aggregate(people(50), domain=people_domain()).class_counts.sum()
        assert calls(watched) == 0
    finally:
        watched.execute("DROP SCHEMA overloads CASCADE")
        watched.connection.commit()
