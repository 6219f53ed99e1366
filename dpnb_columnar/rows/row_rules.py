"""Write the rules of a row as Polars expressions: numbers, grid codes, category keys and the label.

Every rule looks at one row only. docs/privacy.md, section 1, states the rules; ``dialects/nodes.py`` holds them in SQL.
A column of whole numbers holds few values that the rules tell apart, so rows are read as the numbers of their values.

*Which rows of a unit come first*: of each unit the first rows in an order by their class and codes alone count, so that
neither the file, nor the order of its rows, nor any other unit moves a row; rows of equal codes are interchangeable, as
they are counted in the same cells. Let c_0 be the class, and c_i one more than the code of attribute i, or 0 where
the row has none; where the domain declares a weight, the last c_i is one more than its steps. With fixed public
multipliers m and the prime p = 2^31 - 1,

    x = m_0 c_0 + m_1 c_1 + ... mod p,   the order is by x^5 mod p, then by c_0, c_1, ...

5 and p - 1 have no common divisor, so x^5 is a permutation of the residues. The order of x alone would prefer one of
two rows that always differ by the same codes, say in sex; their fifth powers come in either order equally often (the
number of x with (x + d)^5 mod p above x^5 mod p is half of p but for some square root of p). Every product is below
2^63, so that 64-bit integers do.

The order is the same for all units, so where only a few different rows exist, those that come first are chosen more
often. A salt made of all rows of a unit would even that out, but one row more would then exchange all that count.
"""

from __future__ import annotations

import difflib
import hashlib
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cache
from operator import add, and_, or_
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import DTypeLike, NDArray

from dpnb_columnar.domain import Attribute, Categorical, Domain, Label, Missing, Numeric, Weight
from dpnb_columnar.domain.attributes import RANGE
from dpnb_columnar.domain.column_kinds import (
    LARGEST_KEY,
    NUMERIC_KINDS,
    UNMATCHED_KEY,
    Key,
    Kind,
    category_keys,
    kind_of,
    kinds_of,
    number_keys,
    type_name,
    value_keys,
)
from dpnb_columnar.domain.condition import Combination, Comparison, Negation, Node, comparisons, in_halves
from dpnb_columnar.domain.field_reader import MOST_FAULTS
from dpnb_columnar.domain.names import (
    LARGEST_MATCHED,
    LONGEST_SPELLING,
    MOST_NAMED,
    NUMBER_WORDS,
    SPELLED_NUMBER,
    exact_number,
    listed,
    named,
    number_of_text,
)
from dpnb_columnar.errors import DataError, excerpt

DEEPEST = 24
"""Levels of lists and structs in a column. Polars fails on some fifty, and on a thousand it ends the process."""


def check_nesting(schema: Mapping[str, pl.DataType], name: str) -> None:
    """Refuse columns of lists or structs so deep that an engine fails on them, whether or not they are counted."""
    if deep := [column for column, type_ in schema.items() if _is_deep(type_)]:
        raise nested_too_deep(listed(deep), name)


def _is_deep(type_: pl.DataType) -> bool:
    level: list[Any] = [type_]
    for _ in range(DEEPEST + 1):
        structs = [field.dtype for outer in level if isinstance(outer, pl.Struct) for field in outer.fields]
        level = structs + [outer.inner for outer in level if isinstance(outer, pl.List | pl.Array)]
    return bool(level)


def nested_too_deep(columns: str, name: str) -> DataError:
    """Return the error to raise for columns of too many levels."""
    return DataError(f"{name}: {columns}: lists or structs of more than {DEEPEST} levels; drop or unnest them")


def check_columns(schema: Mapping[str, pl.DataType], domain: Domain, name: str) -> dict[str, pl.DataType]:
    """Check that a table has the domain's columns, each once and of a type that the domain can be read from."""
    missing = [column for column in domain.counted_columns if column not in schema]
    if missing:
        near = {column: difflib.get_close_matches(column, list(schema), n=1) for column in missing[:MOST_NAMED]}
        hints = [
            excerpt(column) + (f" (is it {excerpt(close[0])}?)" if close else "") for column, close in near.items()
        ]
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        raise DataError(
            f"{name}: missing column {', '.join(hints)}{more}; its columns are {named([*schema])}; "
            "add or rename columns, or correct the domain"
        )
    lower_case = Counter(column.lower() for column in schema)
    for column in domain.counted_columns:
        if lower_case[column.lower()] > 1:  # DuckDB would read either for the other
            alike = listed([other for other in schema if other.lower() == column.lower()])
            raise DataError(f"{name}: columns {alike} differ in upper and lower case only; rename or drop all but one")
    types = {column: schema[column] for column in domain.counted_columns}
    check_kinds(domain, types, name)
    return types


def matched_columns(wanted: Iterable[str], columns: Iterable[str], name: str) -> dict[str, str]:
    """Find a database's columns by names of a domain, else by the only one but for its case: PostgreSQL has serial."""
    alike: dict[str, list[str]] = {}
    for column in columns:
        alike.setdefault(column.lower(), []).append(column)
    renamed: dict[str, str] = {}
    for column in wanted:
        candidates = alike.get(column.lower(), [])
        if len(candidates) > 1 and column not in candidates:
            raise DataError(
                f"{name}: columns {listed(candidates)} are alike but for upper and lower case, and none is "
                f"{excerpt(column)}; make a view with one of them"
            )
        if len(candidates) == 1:
            renamed.setdefault(candidates[0], column)
    return {renamed.get(column, column): column for column in columns}


def check_kinds(domain: Domain, types: Mapping[str, pl.DataType], name: str) -> None:
    """Check that every column is of a kind that its attribute, or the label, can be read from."""
    kinds = {column: kind_of(type_) for column, type_ in types.items()}
    described = {column: f"column {excerpt(column)} has type {type_name(type_)}" for column, type_ in types.items()}
    problems = []
    for column, kind in kinds.items():
        if kind is None:
            empty = " (it holds no value at all)" if types[column] == pl.Null else ""
            problems.append(f"{described[column]}{empty}: cast it to a number, a boolean, a date or text")
    for attribute in domain.attributes:
        kind = kinds[attribute.name]
        if kind is None:
            continue
        if isinstance(attribute, Numeric) and kind not in NUMERIC_KINDS:
            problems.append(f"{described[attribute.name]}, but is declared numeric: cast it, or declare it with values")
        if isinstance(attribute, Categorical) and (impossible := impossible_values(attribute, kind)):
            problems.append(
                f"{described[attribute.name]}, which cannot hold the declared {named(impossible)}: cast it to text, or "
                "take the values out of its declaration"
            )
    if domain.weight is not None:
        kind, column = kinds[domain.weight.column], domain.weight.column
        if kind is not None and kind not in NUMERIC_KINDS:
            problems.append(f"{described[column]}, but is the weight of rows: cast it to a number")
    for column in () if domain.unit is None else domain.unit.columns:
        if kinds[column] is Kind.FLOAT:
            problems.append(f"{described[column]}, but names a unit: cast it to whole numbers or text")
    problems += _label_problems(domain.label, kinds, described)
    if problems:
        if (more := len(problems) - MOST_FAULTS) > 0:
            problems[MOST_FAULTS:] = [f"and {more} more"]
        raise DataError("\n  ".join([f"{name}: does not fit the domain {domain.name!r}", *problems]))


def impossible_values(attribute: Categorical, kind: Kind) -> list[str]:
    """List the declared values that no column of this kind can hold; a range of a group stands for its numbers."""
    values = [value for value in attribute.members if RANGE.fullmatch(value) is None]
    positions = set(value_keys(values, kind).values())
    return [value for position, value in enumerate(values) if position not in positions]


def check_alike(
    types: Mapping[str, pl.DataType], name: str, others: Mapping[str, pl.DataType], other_name: str
) -> None:
    """Check that two tables hold each column in one kind."""
    for column, type_ in types.items():
        if (form := _form(type_)) != (other := _form(others[column])):
            raise DataError(
                f"{other_name}: column {column!r} is {other} here and {form} in {name}; cast it to one type in all "
                "files"
            )


def _form(type_: pl.DataType) -> str:
    """Describe what files must agree on: the kind, and of decimals the scale as well, which shows in their text."""
    kind = kind_of(type_)
    return type_name(type_) if kind is Kind.DECIMAL else str(kind)


def _label_problems(label: Label, kinds: Mapping[str, Kind | None], described: Mapping[str, str]) -> list[str]:
    if label.condition is None:
        column = label.columns[0]
        kind = kinds[column]
        if kind is None or not (impossible := impossible_values(label.categories, kind)):
            return []
        return [
            f"label {described[column]}, which cannot hold the declared {named(impossible)}: cast it to text, or "
            "correct classes"
        ]
    problems = []
    for comparison in comparisons(label.condition.root):
        kind, constant = kinds[comparison.column], comparison.constant
        if kind is None or (value_keys([constant], kind) if isinstance(constant, str) else kind in NUMERIC_KINDS):
            continue
        reason = f"cannot be compared with {'text' if isinstance(constant, str) else 'number'} {named([str(constant)])}"
        problems.append(
            f"label condition: {described[comparison.column]} and {reason}: cast it, or correct the condition"
        )
    return problems


WRITTEN = (1e-40, 1e60)
"""Sizes of the numbers that are written out: those in between take at most the characters of a spelled number."""

TEXTS = ("is_string", "is_large_string", "is_string_view", "is_dictionary")
"""Tests for the Arrow types of pandas that are read as texts, value by value."""

Cell: TypeAlias = bool | int | float | str | None


def cell_of(value: object) -> Cell:
    """Read a value as boolean, number or text, a date as declared (2018-12-31); None if missing, NaN or other."""
    match value:
        case bool() | np.bool_():
            return bool(value)
        case str():
            # U+FFFD for what UTF-8 does not encode, the halves of surrogate pairs
            return str.__str__(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
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
    """Write a value as declarations do: 7 for 7.0, ``true`` for True; None if missing, numbers within ``WRITTEN``."""
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
    """Return a pandas column by its type, which is public; periods and intervals become what a domain refuses."""
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


EPOCH = date(1970, 1, 1)
MOST_LOOKED_UP = 2**16  # values of the largest lookup table: it stays within a processor's cache

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
    """Return the 32-bit position of a row's category; null for none, or the last code where missing is one."""
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
    value = column(name)
    if kind is Kind.INTEGER:
        return value.cast(pl.Int64)
    if kind is Kind.UNSIGNED:
        return value.clip(upper_bound=UNMATCHED_KEY).cast(pl.Int64)
    if kind in (Kind.FLOAT, Kind.DECIMAL):
        return number(name, kind)
    return value.cast(pl.String) if kind is Kind.TEXT else value


def _lookup(value: pl.Expr, codes: Mapping[Key, int], kind: Kind) -> pl.Expr:
    """Look up whole numbers by places, others by an Enum of their texts: replace_strict would hold all rows."""
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
        with suppress(ValueError):
            numbers.append(exact_number(value))
    return tuple(numbers)


def _is_one_of(name: str, kind: Kind, values: Sequence[str]) -> pl.Expr:
    test = _key(name, kind).is_in(list(value_keys(values, kind)))
    if kind is Kind.TEXT and (numbers := number_keys(dict.fromkeys(values, 0))):
        test |= _number_of_text(column(name).cast(pl.String)).is_in(list(numbers)).fill_null(False)
    return test


def _null_if_missing(value: pl.Expr, name: str, kind: Kind, missing_values: Sequence[str]) -> pl.Expr:
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
"""Digits that floats tell apart, and the largest power of ten that is one: their quotient is nearest to a decimal."""


def number_of_codes(attribute: Attribute) -> int:
    """Count the codes of an attribute: grid codes 0..cells of a numeric one, one code per category otherwise."""
    return attribute.cells + 1 if isinstance(attribute, Numeric) else attribute.size


def distinguished_range(attribute: Attribute, type_: pl.DataType) -> tuple[int, int] | None:
    """Bound the whole numbers that an attribute's rules tell apart: of a date its day, of a decimal its digits."""
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


Whole: TypeAlias = NDArray[Any]  # whole numbers of any integer type
MOST_STEPPED = 2**17  # codes of the largest table of steps; it holds the grid of a float column without a declared step
UNSIGNED = {8: pl.UInt8, 16: pl.UInt16, 32: pl.UInt32}  # types of numbers and codes, by their bits


@dataclass(frozen=True, slots=True)
class ValueCodes:
    """The values of a column that an attribute's rule tells apart, numbered from 0, and the code of each. Public."""

    number: pl.Expr  # of a row's value, in the narrowest type; null where the row has none
    size: int
    codes: Whole | None  # shape (size + 1,), last for no value; None where numbers are codes
    missing: int  # the number of codes of the attribute

    def numbers(self, column: pl.Series) -> Whole:
        """Return a column of ``number`` without nulls, shape (rows,): ``size`` where a row has no value."""
        if column.null_count():
            column = column.cast(pl.Int64).fill_null(self.size)
        return column.to_numpy()

    def codes_of(self, numbers: Whole) -> Whole:
        return numbers if self.codes is None else self.codes[numbers]

    def steps(
        self, starts: Sequence[int], scores: Sequence[int], missing: int, type_: DTypeLike = np.int64
    ) -> Callable[[Whole], Whole]:
        """Return what looks up a whole number that depends on the code by steps, whose first codes rise from 0."""
        first, by_step = np.array([*starts, self.missing], dtype=np.int64), np.array([*scores, missing], dtype=type_)
        if self.codes is None and self.size > MOST_STEPPED:
            return lambda numbers: by_step[np.searchsorted(first, numbers, side="right") - 1]
        codes = np.arange(self.size + 1) if self.codes is None else self.codes
        by_number = by_step[np.searchsorted(first, codes, side="right") - 1]
        # No number is beyond the table: it is looked up without a test for that.
        return lambda numbers: by_number.take(numbers, mode="clip")


def coded(attribute: Attribute, code: pl.Expr) -> ValueCodes:
    """Return the codes of an attribute as the values themselves, of rows that are coded already."""
    codes = number_of_codes(attribute)
    return ValueCodes(code, codes, None, codes)


def value_codes(attribute: Attribute, type_: pl.DataType) -> ValueCodes:
    """Return the values of an attribute's column with their codes: the codes themselves where the values are many."""
    codes = number_of_codes(attribute)
    numbered = numbered_values(attribute, type_, MOST_LOOKED_UP)
    if numbered is None:
        return coded(attribute, once_per_entry(attribute, type_, _rule(attribute, type_)))
    number, values = numbered
    looked_up = values.to_frame().select(_rule(attribute, values.dtype)).to_series().cast(pl.Int64).fill_null(codes)
    size = len(values) - 1
    return ValueCodes(number.cast(narrowest(size), wrap_numerical=True), size, looked_up.to_numpy(), codes)


def _rule(attribute: Attribute, type_: pl.DataType) -> pl.Expr:
    kind = kind_of(type_)
    assert kind is not None
    rule = grid_code(attribute, kind) if isinstance(attribute, Numeric) else category_code(attribute, kind)
    return rule.cast(narrowest(number_of_codes(attribute)))


def numbered_values(attribute: Attribute, type_: pl.DataType, most: int) -> tuple[pl.Expr, pl.Series] | None:
    """Number the values of an attribute's column that its rules tell apart, from 0 on."""
    value = column(attribute.name).to_physical()
    if isinstance(type_, pl.Enum):
        values = type_.categories.alias(attribute.name).extend_constant(None, 1)
        return (value, values) if len(values) <= most else None
    distinguished = distinguished_range(attribute, type_)
    if distinguished is None or distinguished[1] - distinguished[0] >= most:
        return None
    first, last = distinguished
    numbers = [*range(first, last + 1)]
    if len(numbers) <= 2**8 and distinguished == INTEGER_RANGES.get(type_):
        # A byte is its own number: from 0 on, then those below.
        number, numbers = value.cast(pl.UInt8, wrap_numerical=True), numbers[-first:] + numbers[:-first]
    else:
        number = value.clip(first, last).cast(pl.Int64) - first
    values = pl.Series(numbers, dtype=pl.Int64)
    if isinstance(type_, pl.Decimal):
        values = pl.Series(values.to_numpy() / 10.0**type_.scale)
    else:
        values = values.cast(pl.Int32).cast(type_) if type_ == pl.Date else values.cast(type_)
    # Named last: Polars takes some names for patterns.
    return number, values.extend_constant(None, 1).alias(attribute.name)


def once_per_entry(attribute: Attribute, type_: pl.DataType, rule: pl.Expr) -> pl.Expr:
    """Apply a rule of an attribute's column once to each entry of a dictionary, in every part of the rows."""
    if type_ not in (pl.Categorical, pl.Enum):
        return rule

    def look_up(part: pl.Series) -> pl.Series:
        numbers = part.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()  # null has the last place
        size = int(numbers.max(initial=-1)) + 2
        if size > len(part):
            return applied(part)
        place = np.full(size, len(part), dtype=np.uint32)
        place[numbers] = np.arange(len(part))  # a row of each entry
        seen = np.flatnonzero(place < len(part))
        results = applied(part.gather(place[seen]))
        place[seen] = np.arange(len(seen))
        return results.gather(place[numbers])

    def applied(part: pl.Series) -> pl.Series:
        return part.alias(attribute.name).to_frame().select(rule).to_series()

    result = applied(pl.Series(dtype=type_)).dtype
    return column(attribute.name).map_batches(look_up, return_dtype=result, is_elementwise=True)


def narrowest(codes: int) -> type[pl.DataType]:
    """Return the narrowest type that holds so many codes, from 0 on."""
    return next((type_ for bits, type_ in UNSIGNED.items() if codes <= 2**bits), pl.UInt64)


def cell_code(attribute: Attribute, type_: pl.DataType) -> pl.Expr:
    """Return an attribute's grid code or category code in the narrowest type, null where the row does not fit it."""
    values = value_codes(attribute, type_)
    if values.codes is None:
        return values.number
    codes = pl.Series(values.codes).replace(values.missing, None).cast(narrowest(values.missing))
    place = values.number.cast(pl.UInt32)
    return pl.lit(codes).gather(place if codes[-1] is None else place.fill_null(values.size))


def step_score(
    attribute: Attribute, type_: pl.DataType, starts: Sequence[int], scores: Sequence[int], missing: int
) -> pl.Expr:
    """Return a 64-bit number, never null, that depends on the attribute's code by steps from their first codes."""
    values = value_codes(attribute, type_)
    look_up = values.steps(starts, scores, missing)
    return values.number.map_batches(
        lambda numbers: pl.Series(numbers.name, look_up(values.numbers(numbers))),
        return_dtype=pl.Int64,
        is_elementwise=True,
    )


PRIME = 2**31 - 1
CLASS, ORDER, WEIGHT = "class", "order", "weight"


@cache
def multiplier(place: int) -> int:
    """Return the public multiplier of the class, place 0, or of an attribute by its place from 1 on."""
    digest = hashlib.sha256(f"dpnb-columnar unit order {place}".encode()).digest()
    return 1 + int.from_bytes(digest[:8], "big") % (PRIME - 1)


def unit_names(domain: Domain) -> list[str]:
    """Return the names of the columns of a query that together tell the unit of a row."""
    return [] if domain.unit is None else [f"unit_{place}" for place in range(len(domain.unit.columns))]


def code_name(attribute: str) -> str:
    """Return the name of the column of a query that holds an attribute's code, or the number of its value."""
    return f"code {attribute}"


def code_names(domain: Domain) -> list[str]:
    """Return the columns of a query that order rows of equal ``order``: the class, the codes, the weight if any."""
    weights = [] if domain.weight is None else [WEIGHT]
    return [CLASS, *(code_name(each.name) for each in domain.attributes), *weights]


def unit_values(domain: Domain, types: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """Return the columns that together tell the unit of a row, null where it has none; empty for a domain without."""
    if domain.unit is None:
        return []
    return [
        column(name).cast(pl.String) if kind_of(types[name]) is Kind.TEXT else column(name)
        for name in domain.unit.columns
    ]


def counted_rows(
    rows: pl.LazyFrame, domain: Domain, types: Mapping[str, pl.DataType], columns: Mapping[str, pl.Expr]
) -> pl.LazyFrame:
    """Select columns of the rows that may count beside ``class``, and what the choice among those of a unit needs.

    For a unit: ``unit_names``, ``code_name`` of each attribute, ``order``; and ``weight`` if there is one.
    """
    if domain.weight is not None:
        kind = kind_of(types[domain.weight.column])
        assert kind is not None
        columns = {**columns, WEIGHT: weight_steps(domain.weight, kind)}
    if domain.unit is None:
        return classed_rows(rows, domain, kinds_of(types), **columns)
    codes = {code_name(each.name): cell_code(each, types[each.name]) for each in domain.attributes}
    units = dict(zip(unit_names(domain), unit_values(domain, types), strict=True))
    rows = classed_rows(rows, domain, kinds_of(types), **{**columns, **codes, **units})
    rows = rows.filter(pl.all_horizontal(pl.col(CLASS, *units).is_not_null()))
    terms = [pl.col(CLASS).cast(pl.Int64) * multiplier(0)]
    for place, attribute in enumerate(domain.attributes, 1):
        number = (pl.col(code_name(attribute.name)).cast(pl.Int64) + 1).fill_null(0)
        term = number * multiplier(place)
        terms.append(term % PRIME if is_wide(attribute, domain) else term)
    if domain.weight is not None:
        terms.append((pl.col(WEIGHT) + 1) * multiplier(len(domain.attributes) + 1))  # below 2^52
    x = pl.col(ORDER)
    rows = rows.with_columns((in_halves(terms, add) % PRIME).alias(ORDER))
    return rows.with_columns((x * x % PRIME * x % PRIME * x % PRIME * x % PRIME).alias(ORDER))


def is_wide(attribute: Attribute, domain: Domain) -> bool:
    """Test whether products of an attribute's codes are too large to add up one for each attribute of the domain."""
    return number_of_codes(attribute) * PRIME > 2**62 // (len(domain.attributes) + 1)
