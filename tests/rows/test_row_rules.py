"""Rules of one row, value by value; codes that are looked up are those of the rules, and so are counts and scores."""

from __future__ import annotations

import math
from bisect import bisect_right
from datetime import date
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_series_equal
from support.rows_in_python import code_of

from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting import local
from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric, Weight
from dpnb_columnar.domain.column_kinds import Kind, kind_of, kinds_of
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.domain.field_reader import parse_condition
from dpnb_columnar.rows import row_rules
from dpnb_columnar.rows.parquet import open_parquet
from dpnb_columnar.rows.row_rules import (
    MOST_STEPPED,
    PRIME,
    attribute_fits,
    category_code,
    category_key,
    cell_code,
    classed_rows,
    condition_holds,
    counted_rows,
    grid_code,
    has_weight,
    multiplier,
    narrowest,
    number,
    number_of_codes,
    once_per_entry,
    row_fits,
    step_score,
    weight_steps,
)


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
@pytest.mark.parametrize("last", ["7", "7.5"])
def test_numbers_beyond_any_declared_one_are_none_of_them(last: str, type_: Any) -> None:
    """None wraps around to a declared one; and minus zero is zero, among whole numbers and others."""
    attribute = Categorical("x", ("-1", "0", "5", last))
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
    monkeypatch.setattr(row_rules, "MOST_LOOKED_UP", 0)
    computed = cell_code(age, type_)
    assert looked_up.meta.serialize() != computed.meta.serialize()
    assert rows.select(looked_up).equals(rows.select(computed).rename({"x": rows.select(looked_up).columns[0]}))


OTHER_TYPES = {
    "Boolean": pl.Boolean(),
    "Float32": pl.Float32(),
    "Float64": pl.Float64(),
    "Decimal": pl.Decimal(12, 2),
    "whole Decimal": pl.Decimal(18, 0),
    "long Decimal": pl.Decimal(38, 24),
    "String": pl.String(),
    "Categorical": pl.Categorical(),
    "Enum": pl.Enum([*map(str, range(-9, 10)), "a", "2.50", "?"]),
    "Date": pl.Date(),
}


def values_of(type_: pl.DataType) -> st.SearchStrategy[Any]:
    if type_ == pl.Boolean:
        return st.booleans()
    if type_ == pl.Date:
        return st.dates(date(2000, 1, 1), date(2000, 1, 9)) | st.sampled_from([date.min, date(1969, 12, 30), date.max])
    if type_ in (pl.String, pl.Categorical, pl.Enum):
        return st.sampled_from([*map(str, range(-9, 10)), "a", "2.50", "?"])
    if type_.is_float():
        return st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 2.5, 7.25]) | st.integers(-9, 9).map(float)
    if isinstance(type_, pl.Decimal):
        most, point = 10**type_.precision - 1, Context(prec=38)
        digits = st.integers(-900, 900).map(lambda cents: cents * 10**type_.scale // 100) | st.integers(-most, most)
        return digits.map(lambda whole: Decimal(whole).scaleb(-type_.scale, point))
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
    is_number = type_ != pl.Date and data.draw(st.booleans())
    attribute: Attribute = (
        Numeric("x", Fraction(-3), Fraction(6), Fraction(1, 2), missing_values=(Fraction(2),))
        if is_number
        else Categorical("x", ("3", "true", "2000-01-02", "1969-12-30", "a", "2.5", "0"), missing, ("?", "5"))
    )
    codes = number_of_codes(attribute)
    starts = (0, *sorted(data.draw(st.sets(st.integers(1, codes - 1), max_size=3))))
    scores = data.draw(st.lists(st.integers(-99, 99), min_size=len(starts), max_size=len(starts)))
    parts = data.draw(st.lists(st.lists(st.none() | values_of(type_), max_size=6), min_size=1, max_size=4))
    by_value = row_rules.value_codes(attribute, type_)
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


@pytest.mark.parametrize("type_", [pl.Decimal(9, 2), pl.Decimal(38, 2), pl.Float64()], ids=str)
def test_cents_are_the_floats_that_are_declared(type_: pl.DataType) -> None:
    values = [f"{cents / 100:.2f}" for cents in range(-300, 300)]
    rows = pl.Series("x", values).cast(pl.Decimal(9, 2)).cast(type_).to_frame()
    assert rows.select(cell_code(Categorical("x", tuple(values)), type_)).to_series().to_list() == [*range(600)]


@given(st.data(), st.integers(1, 38).flatmap(lambda digits: st.tuples(st.just(digits), st.integers(0, digits))))
def test_decimals_are_read_as_the_nearest_floats(data: st.DataObject, size: tuple[int, int]) -> None:
    digits, scale = size
    drawn = data.draw(st.lists(st.integers(1 - 10**digits, 10**digits - 1), max_size=20))
    rows = pl.DataFrame(
        pl.Series("x", [Decimal(whole).scaleb(-scale, Context(prec=38)) for whole in drawn], pl.Decimal(*size))
    )
    assert rows.select(number("x", Kind.DECIMAL)).to_series().to_list() == [whole / 10**scale for whole in drawn]


def test_a_rule_is_applied_once_to_each_entry_of_a_dictionary() -> None:
    """Whatever entries other columns have; null is an entry as well. Of few rows, to each row."""
    pl.Series([f"another {number}" for number in range(300)], dtype=pl.Categorical)
    attribute, asked = Categorical("x", ("a", "7"), Missing.CATEGORY), []

    def rule(values: pl.Series) -> pl.Series:
        asked.append(values.to_list())
        return values.cast(pl.String).is_in(["a"]).cast(pl.UInt8)

    for type_ in (pl.Categorical(), pl.Enum(["unused", "7", "a"])):
        looked_up = once_per_entry(attribute, type_, pl.col("x").map_batches(rule, return_dtype=pl.UInt8))
        rows = pl.DataFrame(pl.Series("x", ["7", None, "a", "7"] * 200, dtype=type_))
        asked.clear()
        assert rows.select(looked_up).to_series().to_list() == [0, None, 1, 0] * 200
        assert sorted(asked[-1], key=str) == ["7", None, "a"]
        assert rows[:2].select(looked_up).to_series().to_list() == [0, None]


def test_dictionaries_of_files_and_streams_are_counted_as_their_texts(tmp_path: Path) -> None:
    """Entries that stand twice, that no row has, that are null or no UTF-8, and others in every part of the rows."""
    domain = read_domain(
        "texts",
        {
            "label": {"column": "k", "classes": ["0", "1"]},
            "attributes": {"d": {"values": ["1", "2"]}, "y": {"lower": 0, "upper": 9, "step": 1}},
        },
        "a test",
    )
    offsets, characters = pa.array([0, 1, 2, 3], pa.int32()).buffers()[1], pa.py_buffer(b"1\xff2")
    no_utf8 = pa.Array.from_buffers(pa.string(), 3, [None, offsets, characters])
    rows = [None, 0, 1, 2, 1, 1] * 40
    labels = pa.array([0, 1, 1] * 80)
    for parts in ([["1", "2", "2"], ["unused", "2", " 1"], ["x", "1.0", "2"]], [["1", None, "2"]], [no_utf8]):
        batches, texts = [], []
        for part in parts:
            entries = part if isinstance(part, pa.Array) else pa.array(part)
            column = pa.DictionaryArray.from_arrays(pa.array(rows, pa.int32()), entries)
            batches.append(pa.record_batch({"d": column, "y": column, "k": labels}))
            words = ["1", None, "2"] if part is no_utf8 else part
            texts += [None if row is None else words[row] for row in rows]
        frame = pl.DataFrame({"d": texts, "y": texts, "k": labels.to_pylist() * len(parts)})
        expected = local.answer(frame, CellQuery(domain))
        if parts != [no_utf8]:
            reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
            assert local.answer(reader, CellQuery(domain)) == expected
        if parts != [["1", None, "2"]]:  # Arrow writes no such entry
            with pq.ParquetWriter(tmp_path / "rows.parquet", batches[0].schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
            source = open_parquet([tmp_path / "rows.parquet"], domain)
            assert source.types["d"] == pl.Categorical()
            assert local.answer(source, CellQuery(domain)) == expected
