"""Databases score any number of classes as the model does: one thousand, forty, ties, and classes alone."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from dpnb_columnar.dialects.scoring_query import scoring_query
from support.engines import DuckDB, Engine
from support.model_cases import declared, model_of, normal_of, table_of
from support.scored_queries import CLOSE, compare, kinds_of, numbered
from support.scored_rows import AGE

from dpnb_columnar.model.scoring import probability_column


@pytest.mark.slow
def test_many_classes(engine: Engine) -> None:
    domain = declared({"x": AGE}, [f"class {index}" for index in range(40)])
    model = model_of(domain, [normal_of("x", [2.5 * k for k in range(40)], [5 + k / 7 for k in range(40)])])
    table = pa.table({"x": pa.array([*range(0, 101, 3), None])})
    assert compare(engine, model, table, kinds_of(table)) <= CLOSE


@pytest.mark.slow
def test_a_thousand_classes_in_duckdb(tmp_path: Path) -> None:
    classes = [f"class {index}" for index in range(1_000)]
    tables = [table_of("x", *([(k % 7 + 1) / 8, (7 - k % 7) / 8] for k in range(1_000)))]
    model = model_of(declared({"x": {"values": [1, 2]}}, classes), tables)
    table = numbered(pa.table({"x": pa.array([1, 2, None], pa.int8())}))
    engine = DuckDB(tmp_path)
    engine.load(table)
    found = engine.run(scoring_query(model, engine.dialect, "rows", ["id"], kinds_of(table)))
    expected = model.predict(pl.DataFrame(table), ["id"]).to_dicts()
    assert [row["predicted"] for row in found] == [row["predicted"] for row in expected]
    for row, other in zip(found, expected, strict=True):
        shares = [other[probability_column(name)] for name in classes]
        assert [row[probability_column(name)] for name in classes] == pytest.approx(shares, abs=CLOSE)


def test_ties_go_to_the_first_class(engine: Engine) -> None:
    model = model_of(declared({"x": {"values": ["a"]}}, ["z", "a", "m"]), [table_of("x", *[[1.0]] * 3)])
    engine.load(pa.table({"x": ["a", None]}))
    assert {row["predicted"] for row in engine.run(scoring_query(model, engine.dialect, "rows"))} == {"z"}


@pytest.mark.parametrize("keys", [[], ["x"]])
def test_a_model_of_the_classes_alone(engine: Engine, keys: list[str]) -> None:
    model = model_of(declared({"x": AGE}), [], [0.25, 0.75])
    engine.load(pa.table({"x": [1, 2, None]}))
    found = engine.run(scoring_query(model, engine.dialect, "rows", keys))
    assert [(row["predicted"], row["skipped"]) for row in found] == [("yes", 0)] * 3
    assert [row["probability_yes"] for row in found] == pytest.approx([0.75] * 3, abs=1e-12)
