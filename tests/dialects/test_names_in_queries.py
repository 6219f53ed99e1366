"""Columns of a table may be called as they are: names in scoring queries, and the order of what comes back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from dpnb_columnar.dialects.scoring_query import scoring_query
from support.engines import Engine, Postgres
from support.model_cases import declared, model_of, normal_of, table_of
from support.scored_rows import AGE, MIXED

from dpnb_columnar.domain.database_address import Dialect
from dpnb_columnar.errors import UsageError

RESULTS = ["predicted", "probability_no", "probability_yes", "skipped"]


@pytest.mark.parametrize("keys", [[], ["k"], ["x", "k"]])
def test_columns_come_in_the_documented_order(engine: Engine, keys: list[str]) -> None:
    model = model_of(declared({"x": AGE}), [normal_of("x", [3, 4], [5, 6])])
    engine.load(pa.table({"k": ["a", "b"], "x": [1.5, None], "other": [7, 8]}))
    found = engine.run(scoring_query(model, engine.dialect, "rows", keys))
    assert [list(row) for row in found] == [[*(keys or ["k", "x", "other"]), *RESULTS]] * 2
    assert sorted(row["k"] for row in found) == ["a", "b"]
    assert sorted(row["skipped"] for row in found) == [0, 1]


TAKEN = ["total", "largest", "weight_0", "joint_1", "read_0", "VALUE_0", "row", "source", "kept_0", "rows_read"]


@pytest.mark.slow
@pytest.mark.parametrize("name", TAKEN)
def test_a_column_may_be_called_as_a_step_might_be(quick_engine: Engine, name: str) -> None:
    """It comes along as it is, and scores are those of the table without it."""
    check_beside(quick_engine, [name])


def test_columns_may_be_called_as_steps_might_be(engine: Engine) -> None:
    check_beside(engine, TAKEN)


def check_beside(engine: Engine, names: list[str]) -> None:
    """Rows score alike, with columns of these names beside those of the model and without."""
    model = model_of(declared({"x": AGE}), [normal_of("x", [3, 40], [5, 6])])
    table = pa.table({"x": [1.5, None, 70.0]})
    scored = []
    for others in ([], names):
        held = {name: pa.array([7, 8, None]) for name in others}
        engine.load(pa.table({**{name: table[name] for name in table.column_names}, **held}))
        rows = engine.run(scoring_query(model, engine.dialect, "rows"))
        assert [[row[name] for name in others] for row in rows] == [[value] * len(others) for value in (7, 8, None)]
        assert [list(row) for row in rows] == [["x", *others, *RESULTS]] * 3
        scored.append([{name: row[name] for name in ("x", *RESULTS)} for row in rows])
    assert scored[0] == scored[1]


def test_names_of_the_query_are_refused_where_columns_are_known() -> None:
    kinds = {"age": None, "__dpnb_Total": None}
    with pytest.raises(UsageError, match="column '__dpnb_Total' has a name that the query uses; name those to keep"):
        scoring_query(MIXED, Dialect.DUCKDB, "t", kinds=kinds)
    assert scoring_query(MIXED, Dialect.DUCKDB, "t", ["__dpnb_Total"], kinds)


@pytest.mark.xdist_group("postgres")
def test_names_that_postgres_cuts(postgres_connection: Any) -> None:
    """Longer than 63 bytes: read under what is left of them, and refused where two have that in common."""
    long, cut, alike = "a" * 64, "a" * 63, "a" * 63 + "b"
    rows = pa.table({"sex": ["f", "m", None], cut: [10.0, 33.0, 90.0]})
    engine = Postgres(postgres_connection)
    engine.load(rows)
    table = table_of("sex", [0.6, 0.4], [0.35, 0.65])
    model, same = (
        model_of(
            declared({name: AGE, "sex": {"values": ["f", "m"]}}), [normal_of(name, [30, 45.5], [11, 12.25]), table]
        )
        for name in (long, cut)
    )
    query = scoring_query(model, Dialect.POSTGRES, "rows", ["sex"])
    assert engine.run(query) == engine.run(scoring_query(same, Dialect.POSTGRES, "rows", ["sex"]))
    both = model_of(declared({long: AGE, alike: AGE}), [normal_of(name, [30, 45], [11, 12]) for name in (long, alike)])
    with pytest.raises(UsageError, match=r"PostgreSQL cuts names to 63 bytes, so 'a+' and 'a+b' are one there; rename"):
        scoring_query(both, Dialect.POSTGRES)
