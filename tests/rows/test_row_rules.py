"""Rules of one row, written down value by value: numbers, categories, weights and conditions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

from dpnb_columnar.domain import Categorical, Missing, Numeric, Weight
from dpnb_columnar.domain.column_kinds import kind_of, kinds_of
from dpnb_columnar.domain.condition_parser import parse_condition
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.rows.row_rules import (
    attribute_fits,
    category_code,
    category_key,
    classed_rows,
    condition_holds,
    grid_code,
    has_weight,
    number,
    row_fits,
    weight_steps,
)
from dpnb_columnar.rows.unit_order import PRIME, counted_rows, multiplier
from dpnb_columnar.rows.value_codes import MOST_STEPPED, cell_code, step_score


def read(values: list[Any], rule: Any, type_: Any = None) -> list[Any]:
    """What a rule makes of a column ``x``; the rule is given the column's kind."""
    rows = pl.DataFrame({"x": pl.Series(values, dtype=type_)})
    return rows.select(rule(kind_of(rows.schema["x"]))).to_series().to_list()


@pytest.mark.parametrize("type_", [pl.Float64, pl.Int64, pl.String, pl.Decimal(9, 1)])
def test_missing_values_are_no_numbers(type_: Any) -> None:
    """A null, NaN and whatever is declared to mean missing."""
    values = [1, 999, None, -1, 5]
    written = list(map(str, values)) if type_ is pl.String else values
    written = [None if value in ("None", None) else value for value in written]
    missing = (Fraction(999), Fraction(-1))
    assert read(written, lambda kind: number("x", kind, missing), type_) == [1, None, None, None, 5]
    attribute = Numeric("x", Fraction(0), Fraction(10), Fraction(2), missing_values=missing)
    assert read(written, lambda kind: grid_code(attribute, kind), type_) == [1, None, None, None, 3]
    assert read(written, lambda kind: attribute_fits(attribute, kind), type_) == [True, False, False, False, True]
    if type_ is pl.Float64:
        assert read([math.nan, math.inf, 0.5], lambda kind: number("x", kind)) == [None, math.inf, 0.5]


@pytest.mark.parametrize(("type_", "values"), [(pl.String, ["1", "2", "9", "7", None]), (pl.Int8, [1, 2, 9, 7, None])])
def test_a_value_that_means_missing_is_no_category_and_no_other_one_either(type_: Any, values: list[Any]) -> None:
    """It is told from a value that is merely not declared."""
    for missing, codes in ((Missing.SKIP, [0, 1, None, None, None]), (Missing.CATEGORY, [0, 1, 2, 2, 2])):
        attribute = Categorical("x", ("1", "2"), missing, ("9",))
        assert read(values, lambda kind, each=attribute: category_code(each, kind), type_) == codes
        keys = read(values, lambda kind, each=attribute: category_key(each, kind), type_)
        assert keys == [values[0], values[1], None, values[3], None]


def test_weights_are_neither_negative_nor_infinite() -> None:
    weight = Weight("x", Fraction(4), Fraction(1, 2), Fraction(3, 2))
    values = [0.0, 1.3, 4.0, 900.0, -0.1, math.inf, -math.inf, math.nan, None]
    known = [True] * 4 + [False] * 5
    assert read(values, lambda kind: has_weight(weight, kind), pl.Float64) == known
    assert read(values, lambda kind: weight_steps(weight, kind), pl.Float64) == [0, 3, 8, 8, 3, 3, 3, 3, 3]


def test_a_text_that_spells_a_declared_number_is_that_number() -> None:
    attribute = Categorical("x", ("1", "2.5", "a"))
    values = ["1", "1.0", " 1", "2.50", "a", "A", "b", "3", "", None]
    assert read(values, lambda kind: category_code(attribute, kind)) == [0, 0, 0, 1, 2, None, None, None, None, None]


NUMBERS = [None, math.nan, 1.0, 2.0, 2.5, 9.0]

CONDITIONS = {
    # Of the numbers above, 9 means missing.
    "x = 2": [None, None, False, True, False, None],
    "x <> 2": [None, None, True, False, True, None],
    "x < 2": [None, None, True, False, False, None],
    "x <= 2": [None, None, True, True, False, None],
    "x > 2": [None, None, False, False, True, None],
    "x >= 2": [None, None, False, True, True, None],
    "NOT x > 2": [None, None, True, True, False, None],
    "x < 2 OR x > 2": [None, None, True, False, True, None],
    "x > 1 AND x < 2.5": [None, None, False, True, False, None],
}


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_means_what_it_says(text: str) -> None:
    root = parse_condition(text).root
    assert read(NUMBERS, lambda kind: condition_holds(root, {"x": kind}, ("9",)), pl.Float64) == CONDITIONS[text]


@pytest.mark.parametrize(
    ("text", "meant"), [("x = 'a'", [True, False, None, None]), ("x <> 'a'", [False, True, None, None])]
)
def test_a_condition_on_texts_means_what_it_says(text: str, meant: list[bool | None]) -> None:
    root = parse_condition(text).root
    assert read(["a", "b", "?", None], lambda kind: condition_holds(root, {"x": kind}, ("?",))) == meant


@pytest.mark.parametrize("type_", [pl.Int64, pl.UInt64, pl.Float64])
def test_numbers_beyond_any_declared_one_are_none_of_them(type_: Any) -> None:
    """None wraps around to a declared one; and minus zero is zero."""
    attribute = Categorical("x", ("-1", "0", "5", "7"))
    values: dict[Any, list[Any]] = {
        pl.Int64: [5, 0, -1, -(2**63), 2**63 - 1],
        pl.UInt64: [5, 0, 2**64 - 1, 2**63, 2**63 + 5],
        pl.Float64: [5.0, -0.0, -1.0, -(2.0**63), 1e300],
    }
    codes = [2, 1, None if type_ is pl.UInt64 else 0, None, None]
    assert read(values[type_], lambda kind: category_code(attribute, kind), type_) == codes


def test_a_row_without_a_class_does_not_count_nor_one_that_lacks_what_drops_it() -> None:
    domain = read_domain("test", {**LABELLED, "attributes": {"z": {"values": ["a"], "missing": "row"}}}, "test")
    rows = pl.DataFrame({"y": ["no", "yes", None, "other", "yes", "no"], "z": ["a", "a", "a", "a", None, "b"]})
    kinds = kinds_of(rows.schema)
    fits = rows.select(row_fits(domain, kinds)).to_series().to_list()
    assert fits == [True, True, False, False, False, False]
    classes = classed_rows(rows.lazy(), domain, kinds).collect()["class"].to_list()
    assert classes == [0, 1, None, None]


LABELLED = {"label": {"column": "y", "classes": ["no", "yes"]}}


def test_rows_of_a_unit_are_ordered_by_all_that_they_say() -> None:
    """Class, each code or that there is none, and weight: by the definition, in Python's integers."""
    wide = {"lower": 0, "upper": 2**32, "step": 1}  # the products of several do not add up within 64 bits
    attributes = {"a": wide, "b": {"values": ["p", "q"]}, "c": wide, "d": wide, "e": wide}
    document = {**LABELLED, "attributes": attributes, "unit": {"columns": ["u"], "rows": 1}}
    domain = read_domain("test", {**document, "weight": {"column": "w", "cap": 10, "step": 1}}, "test")
    rows = pl.DataFrame(
        {
            "y": ["no", "yes", "no", "yes", "no"],
            "a": [0, 2**32, None, 17, 5],
            "b": ["p", "q", None, "p", "q"],
            **{name: [0, 2**32, None, 2**32 - 1, 5] for name in "cde"},
            "w": [0, 10, 3, 7, 1],
            "u": [1, 1, 2, 3, None],
        }
    )
    found = counted_rows(rows.lazy(), domain, rows.schema, {}).collect()
    assert found["unit_0"].to_list() == [1, 1, 2, 3]
    for place, (label, a, b, *others, w, _) in enumerate(rows.rows()[:4]):
        numbers = [a, None if b is None else "pq".index(b), *others, w]
        codes = [["no", "yes"].index(label), *(0 if each is None else each + 1 for each in numbers)]
        x = sum(multiplier(each) * code for each, code in enumerate(codes))
        assert found["order"][place] == pow(x, 5, PRIME)
    assert len({multiplier(each) for each in range(100)}) == 100


@pytest.mark.parametrize("type_", [pl.Int8, pl.Int16, pl.Int32, pl.UInt16, pl.Int64])
@pytest.mark.parametrize("missing", [(50,), (-1,), (50, -1)])
def test_numbers_beyond_one_that_means_missing_are_ordinary(type_: Any, missing: tuple[int, ...]) -> None:
    """They count as the nearest bound, also where codes are looked up in a table that ends there."""
    attribute = Numeric("x", Fraction(0), Fraction(10), Fraction(1), missing_values=tuple(map(Fraction, missing)))
    values = [value for value in (-3, -2, -1, 0, 4, 10, 49, 50, 51, 52, 127) if type_ is not pl.UInt16 or value >= 0]
    codes = [None if value in missing else min(max(value, 0), 10) for value in values]
    rows = pl.DataFrame({"x": pl.Series(values, dtype=type_)})
    assert rows.select(cell_code(attribute, rows.schema["x"])).to_series().to_list() == codes


@pytest.mark.parametrize("type_", [pl.Float64, pl.Int64])
@pytest.mark.parametrize("cells", [100, MOST_STEPPED + 100])
def test_a_code_on_the_first_of_a_step_is_of_that_step(type_: Any, cells: int) -> None:
    """Whether the steps of every code are tabulated or are looked for."""
    attribute = Numeric("x", Fraction(0), Fraction(cells), Fraction(1))
    rows = pl.DataFrame({"x": pl.Series([0, 1, 29, 30, 31, cells - 1, cells, None], dtype=type_)})
    score = step_score(attribute, rows.schema["x"], (0, 30, cells), (-5, 7, 9), 2)
    assert rows.select(score).to_series().to_list() == [-5, -5, -5, 7, 7, 7, 9, 2]
