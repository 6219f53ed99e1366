"""Write the rules of a row as Polars expressions: numbers, grid codes, category keys and the label.

Every rule looks at one row only. docs/privacy.md, section 1, states the rules; ``dialects/nodes.py`` holds them in SQL.

The rule of one untyped value, such as a cell of a list or of a pandas column of type ``object``; and their columns.

It looks at the value alone, so that neither the values nor the types in other rows change how a row counts, and it has
no error. A number matches by its value, whatever type holds it; a boolean is ``true`` or ``false``, as a number 1 or 0.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from operator import and_, or_
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import polars.selectors as cs

from dpnb_columnar.domain import Attribute, Categorical, Domain, Missing, Numeric, Weight
from dpnb_columnar.domain.column_kinds import (
    LARGEST_KEY,
    UNMATCHED_KEY,
    Key,
    Kind,
    category_keys,
    kind_of,
    number_keys,
    value_keys,
)
from dpnb_columnar.domain.condition import Combination, Comparison, Negation, Node, in_halves
from dpnb_columnar.domain.numbers import (
    LARGEST_MATCHED,
    LONGEST_SPELLING,
    NUMBER_WORDS,
    SPELLED_NUMBER,
    exact_number,
    number_of_text,
)

WRITTEN = (1e-40, 1e60)
"""Sizes of the numbers that are written out: those in between take at most the characters of a spelled number."""

TEXTS = ("is_string", "is_large_string", "is_string_view", "is_dictionary")
"""Tests for the Arrow types of pandas that are read as texts, value by value."""

Cell: TypeAlias = bool | int | float | str | None


def cell_of(value: object) -> Cell:
    """Read a value: a boolean, a number (whole ones as integers) or a text; None if it is missing or anything else.

    A date is the text that a declaration has for it, such as ``2018-12-31``. NaN is missing.
    """
    match value:
        case bool() | np.bool_():
            return bool(value)
        case str():
            return _encodable(value)
        case int() | float():
            return finite_or_infinite(value)
        case np.timedelta64() | datetime():  # one is an integer to numpy, the other a date to Python
            return None
        case date():
            return value.isoformat()
        case np.integer() | np.floating() | Decimal() | Fraction():
            return finite_or_infinite(value)
    return None


def text_of(value: object) -> str | None:
    """Write a value as declarations do: 7 for 7.0, ``true`` for True; None if it is missing.

    A number is a text that the row rules read as this number, without an exponent and of few characters; one that is
    not in ``WRITTEN``, and so beyond all bounds or hardly zero, becomes the end of that range.
    """
    cell = cell_of(value)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell:
        size = min(max(abs(cell), WRITTEN[0]), WRITTEN[1])
        return np.format_float_positional(math.copysign(size, cell), trim="-")
    return None if cell is None else str(cell)


def number_of(value: object) -> float | None:
    """Read a value as a number, of a text the one that it spells; None if it is missing."""
    cell = cell_of(value)
    if isinstance(cell, str):
        return number_of_text(cell)
    return None if cell is None else float(cell)


def series_of(values: Any, name: str, *, numeric: bool = False) -> pl.Series:
    """Return one column: of its own type; of type ``object``, each value read by itself, as a number or as text."""
    values = plain(values)
    if isinstance(values, pl.Series):
        return values.alias(name)
    kind = values.dtype.kind
    if kind != "O":  # in this machine's byte order, and no wider than Polars knows
        return pl.Series(name, values.astype(np.float64 if kind == "f" else values.dtype.newbyteorder("="), copy=False))
    if not numeric:
        return pl.Series(name, map(text_of, values), dtype=pl.String)
    return pl.Series(name, map(number_of, values), dtype=pl.Float64)


def plain(values: Any) -> Any:
    """Return a column as a Polars series or an array, of type ``object`` if its type does not say what it holds."""
    arrow = sys.modules.get("pyarrow")  # who holds a column of Arrow's has loaded it
    if arrow is not None and isinstance(values, arrow.Array | arrow.ChunkedArray):
        return pl.Series(values)
    return _of_pandas(values) if is_pandas(values, "Series") else values


def _of_pandas(values: Any) -> Any:
    """Return a pandas column by its type, which is public; texts and categories have none that says what they hold.

    Neither numbers nor categories are read from periods and intervals: they become a column that a domain refuses.
    """
    import pyarrow as pa

    pandas, type_ = sys.modules["pandas"], values.dtype
    if isinstance(type_, np.dtype | pandas.SparseDtype):
        return values.to_numpy()
    if isinstance(type_, pandas.PeriodDtype | pandas.IntervalDtype):
        return pl.Series([None] * len(values), dtype=pl.Object)
    if isinstance(type_, pandas.ArrowDtype):
        typed = not any(getattr(pa.types, is_text)(type_.pyarrow_dtype) for is_text in TEXTS)
    else:
        typed = isinstance(type_, pandas.DatetimeTZDtype) or pandas.api.types.is_any_real_numeric_dtype(type_)
        typed |= isinstance(type_, pandas.BooleanDtype)
    return pl.Series(pa.array(values, from_pandas=True)) if typed else values.to_numpy(dtype=object)


def is_pandas(data: object, name: str) -> bool:
    """Say whether this is a pandas object of this class, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, getattr(pandas, name))


def finite_or_infinite(value: int | float | np.number | Decimal | Fraction) -> int | float | None:
    """Return a number as an integer if it may match a category, else as a float, of any size; None for NaN."""
    try:
        number = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except ValueError:  # a signalling NaN
        return None
    if math.isnan(number):
        return None
    return int(number) if number.is_integer() and abs(number) <= LARGEST_MATCHED else number


def _encodable(text: str) -> str:
    """Return a text with U+FFFD for what UTF-8 does not encode, the halves of surrogate pairs."""
    return str.__str__(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


EPOCH = date(1970, 1, 1)

MOST_LOOKED_UP = 2**16
"""Values of the largest lookup table: it stays within a processor's cache."""

KEY_TYPES: Mapping[Kind, type[pl.DataType]] = {
    Kind.FLOAT: pl.Float64,
    Kind.DECIMAL: pl.Float64,
    Kind.TEXT: pl.String,
    Kind.BOOLEAN: pl.Boolean,
}
"""Types of the keys of declared values; those of the other kinds are whole numbers."""


def column(name: str) -> pl.Expr:
    """Select the column of exactly this name; ``pl.col`` would take ``*`` and ``^...$`` for patterns."""
    return cs.by_name(name).as_expr()


def number(name: str, kind: Kind, missing_values: tuple[Fraction, ...] = ()) -> pl.Expr:
    """Read a column as 64-bit floats; NaN, the declared missing values and texts that are no number become null."""
    value = column(name)
    if kind is Kind.TEXT:
        text = value.cast(pl.String)
        value = _otherwise(_number_of_text(text), pl.Float64, text, _number_of_word)
    else:  # a decimal to the nearest float, which a quotient of two floats may not be
        value = value.cast(pl.Float64)
    if kind is Kind.FLOAT:  # fill_nan(None) would test for null as well
        value = pl.when(value.is_not_nan()).then(value)
    if missing_values:
        value = pl.when(~value.is_in([float(missing) for missing in missing_values])).then(value)
    return value


def _number_of_text(text: pl.Expr) -> pl.Expr:
    """Read texts as ``domain.numbers.spelled_number`` does."""

    def spelled(text: pl.Expr) -> pl.Expr:
        return pl.when(text.str.contains(SPELLED_NUMBER)).then(text.str.strip_chars(" ").cast(pl.Float64, strict=False))

    whole = text.str.to_integer(strict=False).cast(pl.Float64)  # most are a sign and digits
    return pl.when(text.str.len_bytes() <= LONGEST_SPELLING).then(_otherwise(whole, pl.Float64, text, spelled))


def _number_of_word(text: pl.Expr) -> pl.Expr:
    return text.replace_strict(NUMBER_WORDS, default=None, return_dtype=pl.Float64)


def _otherwise(found: pl.Expr, type_: type[pl.DataType], text: pl.Expr, rule: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
    """Apply a rule to those texts alone for which nothing was found: most parts of the rows have none."""

    def fill(columns: Sequence[pl.Series]) -> pl.Series:
        found, texts = columns
        if found.null_count() == texts.null_count():
            return found
        rest = found.is_null() & texts.is_not_null()
        others = texts.filter(rest).alias("text").to_frame().select(rule(pl.col("text"))).to_series()
        return found.scatter(rest.arg_true(), others)

    return pl.map_batches([found, text], fill, return_dtype=type_, is_elementwise=True)


def grid_code(attribute: Numeric, kind: Kind) -> pl.Expr:
    """Return the grid code 0..cells of a numeric attribute as a 64-bit integer, null where the value is missing."""
    lower, upper, step = float(attribute.lower), float(attribute.upper), float(attribute.step)
    value = number(attribute.name, kind, attribute.missing_values).clip(lower, upper)
    # By a constant, Polars multiplies with 1/step, which rounds otherwise; by a column, it divides.
    offset = value - lower
    code = (offset / (offset * 0.0 + step) + 0.5).floor().cast(pl.Int64)
    return code.clip(0, attribute.cells)


def weight_steps(weight: Weight, kind: Kind) -> pl.Expr:
    """Return the weight of a row in whole steps, a 64-bit integer (never null)."""
    missing = pl.lit(weight.missing_steps, pl.Int64)
    return pl.when(has_weight(weight, kind)).then(grid_code(weight.grid, kind)).otherwise(missing)


def has_weight(weight: Weight, kind: Kind) -> pl.Expr:
    """Test whether a row has a weight: a number that is neither negative nor infinite (never null)."""
    value = number(weight.column, kind)
    return ((value >= 0) & (value < math.inf)).fill_null(False)


def category_key(attribute: Categorical, kind: Kind) -> pl.Expr:
    """Return the column of a categorical attribute, null where there is no value or one that means "missing"."""
    value = column(attribute.name)
    if kind is Kind.FLOAT:
        value = value.fill_nan(None)
    return _null_if_missing(value, attribute.name, kind, attribute.missing_values)


def category_code(attribute: Categorical, kind: Kind) -> pl.Expr:
    """Return the position of the row's category in the domain as a 32-bit integer.

    A value that is in no category is missing: null, or the last code where to be missing is a category.
    """
    code = _position(attribute.name, kind, attribute.members)
    return code.fill_null(len(attribute.values)) if attribute.missing is Missing.CATEGORY else code


def _position(name: str, kind: Kind, codes: Mapping[str, int]) -> pl.Expr:
    """Look up the code of the declared value that a row has; null where it has none of them."""
    known = value_keys(list(codes), kind)
    positions = list(codes.values())
    code = _lookup(_key(name, kind), {key: positions[place] for key, place in known.items()}, kind)
    if kind is Kind.TEXT and (numbers := number_keys(codes)):

        def by_number(text: pl.Expr) -> pl.Expr:
            return _lookup(_number_of_text(text), dict(numbers.items()), Kind.FLOAT)

        code = _otherwise(code, pl.Int32, column(name).cast(pl.String), by_number)  # most are as declared
    return code


def _key(name: str, kind: Kind) -> pl.Expr:
    """Return a column in the form of ``column_kinds.value_keys``; null where the column is null or NaN."""
    value = column(name)
    if kind is Kind.INTEGER:
        return value.cast(pl.Int64)
    if kind is Kind.UNSIGNED:
        return value.clip(upper_bound=UNMATCHED_KEY).cast(pl.Int64)
    if kind in (Kind.FLOAT, Kind.DECIMAL):
        return number(name, kind)
    return value.cast(pl.String) if kind is Kind.TEXT else value


def _lookup(value: pl.Expr, codes: Mapping[Key, int], kind: Kind) -> pl.Expr:
    """Look up keys: whole numbers by their places between the least and the largest, others by an Enum of their texts.

    replace_strict would make Polars hold all rows at once.
    """
    keys, positions = list(codes), list(codes.values())
    if kind is Kind.DATE:  # by its number of days: Polars has no text for one beyond its calendar
        value, keys = value.to_physical(), [(key - EPOCH).days for key in keys if isinstance(key, date)]
    if kind is not Kind.TEXT and (whole := [int(key) for key in keys if not isinstance(key, str | date)]) == keys != []:
        first, last = min(whole), max(whole)
        if last - first < MOST_LOOKED_UP:
            value = value.cast(pl.Int64) if kind is Kind.BOOLEAN else value
            known = (value >= first) & (value <= last)
            if kind in (Kind.FLOAT, Kind.DECIMAL):
                known &= value.floor() == value
            place = pl.when(known).then(value - first).cast(pl.UInt32)
            at_place = dict(zip(whole, positions, strict=True))
            return _gathered([at_place.get(key) for key in range(first, last + 1)], place)
    if 0.0 in codes and kind in (Kind.FLOAT, Kind.DECIMAL):
        keys, positions = [*keys, -0.0], [*positions, codes[0.0]]
    texts = pl.Series(keys, dtype=KEY_TYPES.get(kind, pl.Int64)).cast(pl.String)
    return _gathered(positions, value.cast(pl.String).cast(pl.Enum(texts), strict=False).to_physical())


def _gathered(codes: Sequence[int | None], place: pl.Expr) -> pl.Expr:
    """Take the code at a place: the place itself where it is."""
    if codes == [*range(len(codes))]:
        return place.cast(pl.Int32)
    return pl.lit(pl.Series(codes, dtype=pl.Int32)).gather(place)


def class_code(domain: Domain, kinds: Mapping[str, Kind]) -> pl.Expr:
    """Return the position of the row's class as a 32-bit integer, null where the label is missing or in no class."""
    label = domain.label
    if label.condition is not None:
        return condition_holds(label.condition.root, kinds, label.missing_values).cast(pl.Int32)
    return category_code(label.categories, kinds[label.categories.name])


def label_missing(domain: Domain, kinds: Mapping[str, Kind]) -> pl.Expr:
    """Test whether the row has no label at all, as distinct from one that is no declared class (never null)."""
    label = domain.label
    if label.condition is not None:
        return class_code(domain, kinds).is_null()
    return category_key(label.categories, kinds[label.categories.name]).is_null()


def row_fits(domain: Domain, kinds: Mapping[str, Kind]) -> pl.Expr:
    """Test whether a row counts: it has a class, and every attribute that drops rows has a value (never null)."""
    conditions = [attribute_fits(attribute, kinds[attribute.name]) for attribute in domain.row_dropping]
    return in_halves([class_code(domain, kinds).is_not_null(), *conditions], and_)


def has_one_of(name: str, kind: Kind, values: Sequence[str]) -> pl.Expr:
    """Test whether a row has one of some declared values (never null)."""
    return _is_one_of(name, kind, values).fill_null(False)


def classed_rows(
    rows: pl.LazyFrame, domain: Domain, kinds: Mapping[str, Kind], *columns: pl.Expr, **named: pl.Expr
) -> pl.LazyFrame:
    """Select columns of the rows that no attribute drops, beside their class, ``class``: null where a row has none."""
    for attribute in domain.row_dropping:
        rows = rows.filter(attribute_fits(attribute, kinds[attribute.name]))
    return rows.select(class_code(domain, kinds).alias("class"), *columns, **named)


def attribute_fits(attribute: Attribute, kind: Kind) -> pl.Expr:
    """Test whether a row has a value of an attribute in the domain (never null)."""
    if isinstance(attribute, Numeric):
        return number(attribute.name, kind, attribute.missing_values).is_not_null()
    return _position(attribute.name, kind, attribute.members).is_not_null()


def condition_holds(node: Node, kinds: Mapping[str, Kind], missing_values: Sequence[str] = ()) -> pl.Expr:
    """Evaluate a condition; null where SQL's three-valued logic says so."""
    match node:
        case Negation(part=part):
            return ~condition_holds(part, kinds, missing_values)
        case Combination(operator=operator, parts=parts):
            compiled = [condition_holds(part, kinds, missing_values) for part in parts]
            return in_halves(compiled, and_ if operator == "AND" else or_)
        case Comparison():
            return _comparison(node, kinds[node.column], missing_values)


def _comparison(node: Comparison, kind: Kind, missing_values: Sequence[str]) -> pl.Expr:
    if isinstance(node.constant, str):
        equal = _null_if_missing(_is_one_of(node.column, kind, [node.constant]), node.column, kind, missing_values)
        return equal if node.operator == "=" else ~equal
    value = number(node.column, kind, missing_numbers(missing_values))
    constant_number = float(node.constant)
    return {
        "=": value == constant_number,
        "<>": value != constant_number,
        "<": value < constant_number,
        "<=": value <= constant_number,
        ">": value > constant_number,
        ">=": value >= constant_number,
    }[node.operator]


def missing_numbers(missing_values: Sequence[str]) -> tuple[Fraction, ...]:
    """Return those declared missing values that are numbers."""
    numbers = []
    for value in missing_values:
        try:
            numbers.append(exact_number(value))
        except ValueError:
            continue
    return tuple(numbers)


def _is_one_of(name: str, kind: Kind, values: Sequence[str]) -> pl.Expr:
    """Test whether a row has one of some declared values; null where it has no value."""
    test = _key(name, kind).is_in(list(value_keys(values, kind)))
    if kind is Kind.TEXT and (numbers := number_keys(dict.fromkeys(values, 0))):
        test |= _number_of_text(column(name).cast(pl.String)).is_in(list(numbers)).fill_null(False)
    return test


def _null_if_missing(value: pl.Expr, name: str, kind: Kind, missing_values: Sequence[str]) -> pl.Expr:
    """Return what was made of a column, null where the column has a declared missing value."""
    if not value_keys(missing_values, kind):
        return value
    return pl.when(~_is_one_of(name, kind, missing_values)).then(value)


INTEGER_RANGES: Mapping[pl.DataType | type[pl.DataType], tuple[int, int]] = {
    pl.Boolean: (0, 1),
    **{
        type_: (-(2**bits), 2**bits - 1)
        for type_, bits in [(pl.Int8, 7), (pl.Int16, 15), (pl.Int32, 31), (pl.Int64, 63)]
    },
    **{type_: (0, 2**bits - 1) for type_, bits in [(pl.UInt8, 8), (pl.UInt16, 16), (pl.UInt32, 32), (pl.UInt64, 64)]},
    pl.Date: (-(2**31), 2**31 - 1),
}
"""Least and largest value of the types that hold whole numbers, truth values as 0 and 1, or days."""

MOST_DIGITS, LARGEST_TEN = 15, 22
"""Digits of decimals that floats tell apart, and the largest power of ten that is a float: a quotient of both is the
float nearest to the decimal."""


def number_of_codes(attribute: Attribute) -> int:
    """Count the codes of an attribute: grid codes 0..cells of a numeric one, one code per category otherwise."""
    return attribute.cells + 1 if isinstance(attribute, Numeric) else attribute.size


def distinguished_range(attribute: Attribute, type_: pl.DataType) -> tuple[int, int] | None:
    """Bound the whole numbers that an attribute's rules tell apart: every number beyond them has the code of the bound.

    A date is the number of its day, and a decimal that of its digits, without the point.
    """
    kind, unit, most = kind_of(type_), 1, LARGEST_KEY
    low, high = INTEGER_RANGES.get(type_, INTEGER_RANGES[pl.Int64])
    if isinstance(type_, pl.Decimal) and type_.scale <= LARGEST_TEN:
        unit, most = 10**type_.scale, 10**MOST_DIGITS
    elif type_ not in INTEGER_RANGES:
        return None
    assert kind is not None
    if high - low < 2**8:
        return low, high
    special: list[Any]
    if isinstance(attribute, Numeric):
        special = [*map(float, attribute.missing_values)]
        ends = float(attribute.lower), float(attribute.upper)
    else:
        keys = [*category_keys(attribute, kind), *value_keys(attribute.missing_values, kind)]
        special = [(key - EPOCH).days if isinstance(key, date) else key for key in keys]
        ends = (special[0], special[0]) if special else (0, 0)
    first, last = math.floor(Fraction(ends[0]) * unit), math.ceil(Fraction(ends[1]) * unit)
    if special:
        # One beyond every special number, so that the numbers beyond the range are read as an ordinary one.
        first = min(first, math.floor(Fraction(min(special)) * unit) - 1)
        last = max(last, math.ceil(Fraction(max(special)) * unit) + 1)
    first, last = min(max(first, low), high), max(min(last, high), low)
    return (first, last) if max(abs(first), abs(last)) <= most else None
