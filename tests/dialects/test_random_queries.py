"""Random models and random tables under random domains, in the databases that cost nothing to start."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.engines import DuckDB, Engine, SQLite
from support.exported import logarithm_error
from support.model_cases import declared, model_of, table_of
from support.random_models import models_and_rows
from support.reference_scorer import reference
from support.scored_queries import CLOSE, INFINITY, NAN, compare, kinds_of
from support.scored_rows import types

from dpnb_columnar.domain import Categorical, Domain, Label
from dpnb_columnar.model.guarantee import Guarantee
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import ClassCounts, Table

RELAXED = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
ENGINES = {"duckdb": DuckDB, "sqlite": lambda folder: SQLite()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
@RELAXED
@given(case=models_and_rows(), known=st.booleans(), whole=st.booleans())
def test_random_models_score_alike(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    case: tuple[Model, list[dict[str, Any]]],
    known: bool,
    whole: bool,
) -> None:
    """Their numbers in columns of floats, or cut down to whole numbers in columns of integers."""
    model, rows, table = _table(*case, whole=whole)
    engine: Engine = ENGINES[name](tmp_path_factory.mktemp("random"))
    allowed = CLOSE + 4 * max(reference(model, row).tolerance for row in rows) + logarithm_error(model)
    assert compare(engine, model, table, kinds_of(table) if known else {}, certain=allowed) <= allowed


def _table(model: Model, rows: list[dict[str, Any]], *, whole: bool) -> tuple[Model, list[dict[str, Any]], pa.Table]:
    """The rows as a table, and as a model reads them from it."""
    names = [attribute.name for attribute in model.domain.attributes]
    assume(len({column.lower() for column in [*names, "id"]}) == len(names) + 1)
    columns = types(model)
    held = [
        {name: row[name] if row[name] is None or _is_number(model, name) else str(row[name]) for name in columns}
        for row in rows
    ]
    frame = pl.DataFrame(held, schema=columns, strict=False)
    if whole:
        frame = frame.with_columns(pl.col(pl.Float64).cast(pl.Int64, strict=False))
        rows = frame.to_dicts()
    return model, rows, frame.to_arrow()


def _is_number(model: Model, name: str) -> bool:
    return not isinstance(model.domain[name], Categorical)


def test_a_class_of_quotes_stays_what_it_is_in_a_table_of_terms(tmp_path: Path) -> None:
    """DuckDB guesses which character quotes a text: a class of two apostrophes was an empty one."""
    label = Label(("Ē▥:", "ĳĞ¼", "''", "0"), "label")
    domain = Domain("test", label, (Categorical("0", ("0", "4", "3")),))
    table = Table("0", ((0,) * 3,) * 4, ((0.5, 0.25, 0.25), (0.3, 0.3, 0.4), (0.4, 0.4, 0.2), (0.3, 0.3, 0.4)))
    guarantee = Guarantee("none", None, None, None, None, (), False)
    model = Model(domain, guarantee, ClassCounts((0,) * 4, (0.25,) * 4), (table,), {"dpnb-columnar": "0"})
    rows = pl.DataFrame({"0": ["0", "4", "3", None]}).to_arrow()
    assert compare(DuckDB(tmp_path), model, rows, {}) <= CLOSE


APART = [place * place * 1_000_003 for place in range(200)]
"""Numbers of which no list has a place for each that lies between them."""

COLUMNS = {
    "integer": pa.array([*APART, 1, -1, None, 2**62]),
    "small integer": pa.array([0, 1, 127, -128, None], pa.int8()),
    "unsigned": pa.array([*APART, 1, 2**64 - 1, None], pa.uint64()),
    "float": pa.array([*map(float, APART), 0.5, -0.0, NAN, INFINITY, -INFINITY, None, 1e300]),
    "narrow float": pa.array([0.0, -0.0, 0.5, 1000003.0, NAN, INFINITY, None], pa.float32()),
    "decimal": pa.array([*(Decimal(number) for number in APART), Decimal("0.50"), None], pa.decimal128(20, 2)),
    "text": pa.array([*map(str, APART), "0.5", " 0.50", "1000003.0", "it's", "É", "", "é", "NaN", "1e6", None]),
    "dictionary": pa.array(["0", "-0", "it's", "É", "é", "?", None]).dictionary_encode(),
}


@pytest.mark.parametrize("missing", ["drop", "category"])
@pytest.mark.parametrize("name", COLUMNS)
def test_many_categories_far_apart(tmp_path: Path, name: str, missing: str) -> None:
    values = [*map(str, APART), "0.5", "it's", "É"]
    apart = {"values": values, "missing": missing, "missing_values": ["1"]}
    grouped = {"values": ["few", "it's", "many"], "groups": {"few": ["0-9"], "many": values[5:-2]}, "missing": missing}
    domain = declared({"x": apart, "y": grouped})
    tables = [
        table_of(each.name, *([(c * k % 7 + 1) / 900 for c in range(each.size)] for k in (2, 3)))
        for each in domain.categorical
    ]
    model = model_of(domain, tables, [0.4, 0.6])
    table = pa.table({"x": COLUMNS[name], "y": COLUMNS[name]})
    assert compare(DuckDB(tmp_path), model, table, kinds_of(table)) <= CLOSE
    if name not in ("narrow float", "decimal", "float"):  # of these an unknown kind is another text
        assert compare(DuckDB(tmp_path), model, table, {}) <= CLOSE


@pytest.mark.parametrize("missing", ["drop", "category"])
def test_as_many_texts_as_a_byte_numbers(tmp_path: Path, missing: str) -> None:
    texts = [f"t{place}" for place in range(255)]
    domain = declared(
        {
            "x": {"values": texts, "missing": missing},
            "y": {"values": ["few", "many"], "groups": {"few": texts[1:9], "many": [texts[0], *texts[9:]]}},
        }
    )
    tables = [
        table_of(each.name, *([(c * k % 7 + 1) / 900 for c in range(each.size)] for k in (2, 3)))
        for each in domain.categorical
    ]
    column = pa.array([*texts, "another", None])
    model, table = model_of(domain, tables), pa.table({"x": column, "y": column})
    assert compare(DuckDB(tmp_path), model, table, {}) <= CLOSE
