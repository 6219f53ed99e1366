"""Codes that are looked up are those of the rules, at every value that a column can hold; so are counts and scores."""

from __future__ import annotations

import math
from bisect import bisect_right
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_series_equal
from support.rows_in_python import code_of

from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric
from dpnb_columnar.domain.column_kinds import kind_of
from dpnb_columnar.rows import value_codes
from dpnb_columnar.rows.row_rules import category_code, grid_code, number_of_codes
from dpnb_columnar.rows.value_codes import cell_code, narrowest

TYPES = {
    str(type_): type_
    for type_ in (pl.Int8(), pl.UInt8(), pl.Int16(), pl.UInt16(), pl.Int32(), pl.UInt32(), pl.Int64(), pl.UInt64())
}

bounds = st.integers(-(2**33), 2**33) | st.integers(-300, 300)
steps = st.sampled_from([Fraction(1), Fraction(5, 2), Fraction(1, 3), Fraction(100)])


@st.composite
def numeric(draw: st.DrawFn) -> Numeric:
    lower, step = Fraction(draw(bounds)), draw(steps)
    others = st.sampled_from([Fraction(1, 2), Fraction(2**53), Fraction(-(2**53)), Fraction(2**53 - 1)])
    others |= bounds.map(lambda value: value - Fraction(1, 10**20))  # whole as a float
    missing = draw(st.lists(bounds.map(Fraction) | others, max_size=3))
    return Numeric("x", lower, lower + step * draw(st.integers(1, 500)), step, missing_values=tuple(missing))


@st.composite
def categorical(draw: st.DrawFn) -> Categorical:
    numbers = st.integers(-300, 300) | st.sampled_from([-(2**53) + 1, -(2**31), 2**31, 2**53 - 1])
    values = draw(st.lists(numbers.map(str) | st.just("a"), min_size=1, unique=True))
    known = draw(st.integers(1, len(values)))
    missing = draw(st.sampled_from(Missing))
    return Categorical("x", tuple(values[:known]), missing, tuple(values[known:]))


def column(attribute: Attribute, type_: pl.DataType) -> pl.Series:
    """A null, both ends of the type, and everything around what the declaration names."""
    limits = np.iinfo(str(type_).lower())
    if isinstance(attribute, Numeric):
        named = [attribute.lower, attribute.upper, *attribute.missing_values]
    else:
        named = [Fraction(value) for value in (*attribute.values, *attribute.missing_values) if value != "a"]
    near = {int(value) + shift for value in named for shift in range(-3, 4)} | {
        limits.min,
        limits.max,
        0,
        1,
        2**53 + 100,
    }
    inside = sorted(value for value in near if limits.min <= value <= limits.max)
    return pl.Series("x", [None, *inside], dtype=type_)


@pytest.mark.slow
@pytest.mark.parametrize("type_", TYPES.values(), ids=TYPES)
@settings(max_examples=60, deadline=None)
@given(attribute=numeric() | categorical())
def test_looked_up_codes_are_those_of_the_rules(type_: pl.DataType, attribute: Attribute) -> None:
    kind = kind_of(type_)
    assert kind is not None
    rule = grid_code(attribute, kind) if isinstance(attribute, Numeric) else category_code(attribute, kind)
    rows = pl.DataFrame(column(attribute, type_))
    found = rows.select(cell_code(attribute, type_)).to_series()
    expected = rows.select(rule).to_series().cast(narrowest(number_of_codes(attribute)))
    assert_series_equal(found, expected, check_names=False)


@pytest.mark.parametrize("type_", TYPES.values(), ids=TYPES)
def test_most_columns_of_whole_numbers_are_looked_up(type_: pl.DataType, monkeypatch: pytest.MonkeyPatch) -> None:
    age = Numeric("x", Fraction(0), Fraction(120), Fraction(1))
    rows = pl.DataFrame(pl.Series("x", [7, None, 120], dtype=type_))
    looked_up = cell_code(age, type_)
    monkeypatch.setattr(value_codes, "MOST_LOOKED_UP", 0)
    computed = cell_code(age, type_)
    assert looked_up.meta.serialize() != computed.meta.serialize()
    assert rows.select(looked_up).equals(rows.select(computed).rename({"x": rows.select(looked_up).columns[0]}))


def test_a_boolean_column() -> None:
    answer = Categorical("x", ("true", "false"), Missing.CATEGORY)
    rows = pl.DataFrame({"x": [False, True, None]})
    assert rows.select(cell_code(answer, pl.Boolean())).to_series().to_list() == [1, 0, 2]


OTHER_TYPES = {
    "Boolean": pl.Boolean(),
    "Float32": pl.Float32(),
    "Float64": pl.Float64(),
    "Decimal": pl.Decimal(12, 2),
    "String": pl.String(),
    "Categorical": pl.Categorical(),
    "Enum": pl.Enum([*map(str, range(-9, 10)), "a", "2.50", "?"]),
    "Date": pl.Date(),
}


def values_of(type_: pl.DataType) -> st.SearchStrategy[Any]:
    """Values of a column, some of them declared below."""
    if type_ == pl.Boolean:
        return st.booleans()
    if type_ == pl.Date:
        return st.dates(date(2000, 1, 1), date(2000, 1, 9))
    if type_ in (pl.String, pl.Categorical, pl.Enum):
        return st.sampled_from([*map(str, range(-9, 10)), "a", "2.50", "?"])
    if type_.is_float():
        return st.sampled_from([math.nan, math.inf, -0.0, 2.5, 7.25]) | st.integers(-9, 9).map(float)
    if isinstance(type_, pl.Decimal):
        return st.integers(-900, 900).map(lambda cents: Decimal(cents) / 100)
    limits = np.iinfo(str(type_).lower())
    return st.integers(max(limits.min, -9), 9) | st.sampled_from([limits.min, limits.max])


@pytest.mark.slow
@pytest.mark.parametrize("type_", [*TYPES.values(), *OTHER_TYPES.values()], ids=[*TYPES, *OTHER_TYPES])
@pytest.mark.parametrize("missing", [*Missing])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_values_are_counted_and_scored_as_rows_are_one_by_one(
    type_: pl.DataType, missing: Missing, data: st.DataObject
) -> None:
    """Of any type, with nulls, in parts of which some are empty."""
    is_number = type_ not in (pl.Date, pl.Categorical, pl.Enum) and data.draw(st.booleans())
    attribute: Attribute = (
        Numeric("x", Fraction(-3), Fraction(6), Fraction(1, 2), missing_values=(Fraction(2),))
        if is_number
        else Categorical("x", ("3", "true", "2000-01-02", "a", "2.5", "0"), missing, ("?", "5"))
    )
    codes = number_of_codes(attribute)
    starts = (0, *sorted(data.draw(st.sets(st.integers(1, codes - 1), max_size=3))))
    scores = data.draw(st.lists(st.integers(-99, 99), min_size=len(starts), max_size=len(starts)))
    parts = data.draw(st.lists(st.lists(st.none() | values_of(type_), max_size=6), min_size=1, max_size=4))
    by_value = value_codes.value_codes(attribute, type_)
    look_up = by_value.steps(starts, scores, 100)
    for part in parts:
        column = pl.Series("x", part, dtype=type_)
        if isinstance(type_, pl.Float32):
            part = column.to_list()
        numbers = by_value.numbers(column.to_frame().select(by_value.number).to_series())
        expected = [code_of({"x": value}, attribute) for value in part]
        assert by_value.codes_of(numbers).tolist() == [codes if code is None else code for code in expected]
        steps = [100 if code is None else scores[bisect_right(starts, code) - 1] for code in expected]
        assert look_up(numbers).tolist() == steps
