"""Categories are found by text or number in DuckDB, however many there are, and however far apart."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from support.engines import DuckDB
from support.model_cases import declared, model_of, table_of
from support.scored_queries import CLOSE, INFINITY, NAN, compare, kinds_of

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
