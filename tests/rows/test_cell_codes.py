"""Codes that are looked up are those of the rules, at every value that a column can hold."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_series_equal

from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric
from dpnb_columnar.domain.column_kinds import kind_of
from dpnb_columnar.rows import row_rules
from dpnb_columnar.rows.row_rules import category_code, cell_code, grid_code

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
    found = rows.select(cell_code(attribute, type_, pl.UInt32)).to_series()
    assert_series_equal(found, rows.select(rule).to_series().cast(pl.UInt32), check_names=False)


@pytest.mark.parametrize("type_", TYPES.values(), ids=TYPES)
def test_most_columns_of_whole_numbers_are_looked_up(type_: pl.DataType, monkeypatch: pytest.MonkeyPatch) -> None:
    age = Numeric("x", Fraction(0), Fraction(120), Fraction(1))
    rows = pl.DataFrame(pl.Series("x", [7, None, 120], dtype=type_))
    looked_up = cell_code(age, type_, pl.UInt16)
    monkeypatch.setattr(row_rules, "MOST_LOOKED_UP", 0)
    computed = cell_code(age, type_, pl.UInt16)
    assert looked_up.meta.serialize() != computed.meta.serialize()
    assert rows.select(looked_up).equals(rows.select(computed).rename({"x": rows.select(looked_up).columns[0]}))


def test_a_boolean_column() -> None:
    answer = Categorical("x", ("true", "false"), Missing.CATEGORY)
    rows = pl.DataFrame({"x": [False, True, None]})
    assert rows.select(cell_code(answer, pl.Boolean(), pl.UInt16)).to_series().to_list() == [1, 0, 2]
