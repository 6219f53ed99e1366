"""Random models and random tables under random domains, in the databases that cost nothing to start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.engines import DuckDB, Engine, SQLite
from support.random_models import models_and_rows
from support.reference_scorer import reference
from support.scored_queries import CLOSE, compare, kinds_of
from support.scored_rows import types

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.guarantee import Guarantee
from dpnb_columnar.domain import Categorical, Domain, Label, Transform
from dpnb_columnar.model.parameters import ClassCounts, Normal, Table

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
    allowed = CLOSE + 4 * max(reference(model, row).tolerance for row in rows) + _logarithm_error(model)
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


def _logarithm_error(model: Model) -> float:
    """What ln(1 + x) in the place of log1p(x) may change: a rounding of 1, in units of the narrowest deviation."""
    worst = 0.0
    for parameters, weight in zip(model.attributes, model.weights, strict=True):
        attribute = model.domain[parameters.attribute]
        if isinstance(parameters, Normal) and getattr(attribute, "transform", None) is Transform.LOG1P:
            width = attribute.scale.end - attribute.scale.origin  # type: ignore[union-attr]
            narrowest = min(parameters.deviation)
            worst += abs(weight) * 2.0**-51 * width / narrowest**2
    return worst


def test_a_class_of_quotes_stays_what_it_is_in_a_table_of_terms(tmp_path: Path) -> None:
    """DuckDB guesses which character quotes a text: a class of two apostrophes was an empty one."""
    label = Label(("Ē▥:", "ĳĞ¼", "''", "0"), "label")
    domain = Domain("test", label, (Categorical("0", ("0", "4", "3")),))
    table = Table("0", ((0,) * 3,) * 4, ((0.5, 0.25, 0.25), (0.3, 0.3, 0.4), (0.4, 0.4, 0.2), (0.3, 0.3, 0.4)))
    guarantee = Guarantee("none", None, None, None, None, (), False)
    model = Model(domain, guarantee, ClassCounts((0,) * 4, (0.25,) * 4), (table,), {"dpnb-columnar": "0"})
    rows = pl.DataFrame({"0": ["0", "4", "3", None]}).to_arrow()
    assert compare(DuckDB(tmp_path), model, rows, {}) <= CLOSE
