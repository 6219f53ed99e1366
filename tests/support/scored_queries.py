"""A model's query run by a database, beside what the model predicts."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from dpnb_columnar.api.model import Model
from dpnb_columnar.dialects.nodes import Kinds
from dpnb_columnar.dialects.scoring_query import scoring_query
from dpnb_columnar.domain.column_kinds import kind_of
from dpnb_columnar.model.score_batches import SKIPPED
from dpnb_columnar.model.scoring import PREDICTED, probability_column
from support.engines import Engine, Row

NAN, INFINITY = float("nan"), float("inf")
CLOSE = 1e-9
"""How far a probability may be off."""


def numbered(table: pa.Table) -> pa.Table:
    return table.append_column("id", pa.array(range(table.num_rows), pa.int64()))


def kinds_of(table: pa.Table) -> dict[str, Any]:
    """What the columns hold, as ``score`` finds it."""
    schema = pl.from_arrow(table.slice(0, 0)).schema  # type: ignore[union-attr]
    return {name: kind_of(type_) for name, type_ in schema.items()}


def compare(engine: Engine, model: Model, table: pa.Table, kinds: Kinds, certain: float = 1e-12) -> float:
    """Score the rows by the database and by the model; the largest difference of a probability.

    The database scores them by the query that holds the model, and by the one that joins the table of its terms.
    Numbers of skipped attributes must be the same, and classes where the two likeliest are further apart than
    ``certain``.
    """
    table = numbered(table)
    engine.load(table)
    engine.load_terms(model)
    expected = model.predict(pl.from_arrow(table).lazy(), ["id"]).collect().to_dicts()  # type: ignore[union-attr]
    worst = 0.0
    for terms in (None, "terms"):
        query = scoring_query(model, engine.dialect, "rows", ["id"], kinds, parameters=terms)
        found = sorted(engine.run(query), key=lambda row: row["id"])
        assert len(found) == len(expected)
        worst = max([worst, *(_difference(model, *pair, certain) for pair in zip(found, expected, strict=True))])
    return worst


def _difference(model: Model, found: Row, expected: Row, certain: float) -> float:
    names = [probability_column(name) for name in model.domain.classes]
    assert found["id"] == expected["id"]
    assert found[SKIPPED] == expected[SKIPPED]
    largest, second = sorted((expected[name] for name in names), reverse=True)[:2]
    if largest - second > certain:
        assert found[PREDICTED] == expected[PREDICTED]
    assert sum(found[name] for name in names) == pytest.approx(1, abs=1e-12)
    return max(abs(found[name] - expected[name]) for name in names)
