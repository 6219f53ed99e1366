"""A declared number matches every value and text that is this number, on every engine; anything else matches texts."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.aggregation_cases import LABEL, declared, labelled
from support.counted_queries import check
from support.engines import DuckDB, Engine, SQLite
from support.rows_in_python import INFINITY, NAN, Document

from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.numbers import identity, spelled_number

NUMBERS = ["1", "001", "1.0", "01.", "+1", " 1 ", "2", "-2", "-02.0", "0", "-0", "0.5", ".5", "00.50", "-.5", "99"]
WORDS = [
    *("AB", "1E2", "1e2", "5e-1", "1e100", "e1", "1 2", "", " ", "-", ".", "+.", "1_0", "0x1", "nan", "inf", "-Inf"),
    *("True", "FALSE", "true", "1,5", "--1", "\u0661", "1-", "7\n"),
]
HUGE = ["9" * 16, "9007199254740991", "9007199254740993", "1" * 64, "1" * 65, "0" * 62 + "1", "0" * 70 + "1"]
COLUMNS: dict[str, pa.Array] = {
    "text": pa.array([*NUMBERS, *WORDS, *HUGE, None]),
    "integers": pa.array([1, 2, -2, 0, 99, None, 2**53 - 1, 2**53, 2**62]),
    "floats": pa.array([1.0, 0.5, -0.5, -2.0, 0.0, -0.0, 0.1, 99.0, NAN, INFINITY, None, 1e300]),
    "decimals": pa.array([Decimal("1.00"), Decimal("0.50"), Decimal("-0.50"), Decimal("99.00"), None]),
}
ANY = ["1", "0.5", "-2", "0", "-.50", "9007199254740991"]
WHOLE = ["001", "-2.0", "0", "9007199254740991"]


def of(**attributes: Document) -> Domain:
    return declared({"label": LABEL, "attributes": attributes})


@pytest.mark.parametrize("name", COLUMNS)
def test_categories_in_every_type(engine: Engine, tmp_path: Path, name: str) -> None:
    values = [
        *(WHOLE if name == "integers" else ANY),
        *(["AB", "1E2", "", "9007199254740993", "True"] if name == "text" else []),
    ]
    body = {"values": values, "missing": "row", "missing_values": ["99", "NIU"]}
    check(engine, tmp_path, labelled(x=COLUMNS[name]), of(x=body))
    check(engine, tmp_path, labelled(x=COLUMNS[name]), of(x={**body, "missing": "category"}))


@pytest.mark.slow
@pytest.mark.parametrize("name", COLUMNS)
def test_labels_and_conditions_in_every_type(engine: Engine, tmp_path: Path, name: str) -> None:
    column = COLUMNS[name]
    table = pa.table({"y": column, "x": pa.array(range(len(column)), pa.int16())})
    places = {"x": {"lower": 0, "upper": 50, "step": 1, "missing": "row"}}
    classes = WHOLE[:2] if name == "integers" else ["1", "0.5"]
    check(engine, tmp_path, table, declared({"label": {"column": "y", "classes": classes}, "attributes": places}))
    for condition in ("y = '01'", "y <> '1.0'", "y > 0.25 OR y = '-2'", "NOT y IN (1, 99)"):
        label = {"condition": condition, "classes": ["no", "yes"], "missing_values": ["0", "99"]}
        check(engine, tmp_path, table, declared({"label": label, "attributes": places}))


@pytest.mark.parametrize("name", COLUMNS)
def test_numeric_attributes_in_every_type(engine: Engine, tmp_path: Path, name: str) -> None:
    bounds = {"lower": -3, "upper": 5, "step": "1/2", "missing": "row", "missing_values": [99]}
    check(engine, tmp_path, labelled(x=COLUMNS[name]), of(x=bounds))


def test_columns_of_unknown_kind(engine: Engine, tmp_path: Path) -> None:
    """As text, and as a number where it is one."""
    for name in ("text", "integers"):
        body = {"values": WHOLE, "missing": "row"}
        check(engine, tmp_path, labelled(x=COLUMNS[name]), of(x=body), {})
        bounds = {"lower": -3, "upper": 5, "step": "1/2", "missing": "row"}
        check(engine, tmp_path, labelled(x=COLUMNS[name]), of(x=bounds), {})


TEXTS = st.one_of(
    st.from_regex(r" {0,2}[-+]?0{0,3}[0-9]{0,2}(\.[0-9]{0,3})? {0,2}", fullmatch=True),
    st.sampled_from([*NUMBERS, *WORDS, *HUGE]),
    st.text(st.sampled_from("0123456789.+-eE _"), max_size=8),
    st.floats(-1e20, 1e20).map(repr),
    st.sampled_from(["True", "TRUE", "false", "inf", "-Infinity", "1e+05", "1E-5", "1e0099"]),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.none() | TEXTS, min_size=1, max_size=40), st.sets(TEXTS.filter(str.isprintable), min_size=1, max_size=6)
)
def test_any_texts(tmp_path_factory: pytest.TempPathFactory, texts: list[Any], values: set[str]) -> None:
    folder = tmp_path_factory.mktemp("texts")
    one_each = {identity(value): value for value in values}
    body = {"values": sorted(one_each.values()), "missing": "category"}
    bounds = {"lower": -10, "upper": 10, "step": "1/4", "missing": "row"}
    table = labelled(x=pa.array(texts, pa.string()), z=pa.array(texts, pa.string()))
    for engine in (DuckDB(folder), SQLite()):
        check(engine, folder, table, of(x=body, z=bounds))


@pytest.mark.slow
@given(TEXTS)
def test_what_a_text_spells(text: str) -> None:
    """A text that Python reads as a finite number without underscore, and no other."""
    try:
        number = None if len(text) > 64 or set("_\n\u0661") & set(text) else float(text)
        number = None if "e" in text.lower() and abs(int(text.lower().partition("e")[2])) > 99 else number
    except ValueError:
        number = None
    assert spelled_number(text) == (None if number in (None, INFINITY, -INFINITY) or number != number else number)
