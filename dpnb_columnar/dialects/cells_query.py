"""The local pass: class counts and contingency tables of Parquet files, as sums of a few joint tables by DuckDB.

CONFIDENTIAL: the result of the query is exact counts.

The rules are those of ``rules``; what is written here is where DuckDB applies them. Several attributes and the class
are one number of 16 bits, a few for each attribute, and DuckDB counts these numbers: a type of 16 bits is narrow enough
for an array of counters in the place of a hash table. It needs no statistics of the files for that, and none can make
it count wrongly: of a bitwise OR DuckDB knows nothing but the type.

DuckDB computes a function, unlike a CASE, once for each entry of a column's dictionary and not once for each row. So a
rule is written as functions: whole numbers are counted as they are, between the least and the largest declared value,
and others looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from sqlglot import exp

from dpnb_columnar.dialects.nodes import (
    SOURCE,
    as_column,
    as_text,
    enum_code,
    identifier,
    integer,
    is_null,
    minus,
    own_column,
    source_column,
    times,
)
from dpnb_columnar.dialects.rendering import in_duckdb
from dpnb_columnar.dialects.rules import (
    Kinds,
    category_code,
    class_code,
    condition_holds,
    grid_code,
    number,
)
from dpnb_columnar.domain import Attribute, Domain, Numeric
from dpnb_columnar.domain.column_kinds import Kind, category_keys
from dpnb_columnar.rows.sources import Dialect

CLASS, COUNT = "class", "count"

FILES = "files"
"""Parameter of the query: the Parquet files, their columns matched by name and widened to one type."""

KEY_BITS = 16
"""Bits of a key of several attributes: as many counters as that take half a MiB in each thread."""

FEW_VALUES = 2**8
"""So far apart may two declared whole numbers be, or twice as far as there are, and all between them are counted."""


@dataclass(frozen=True, slots=True)
class Digit:
    """Where the values of one attribute stand in a key.

    Attributes:
        attribute: The attribute.
        value: The expression of a whole number from 0 on for every row.
        size: How many numbers there are.
        codes: The code of each number, one beyond the attribute's where it has none; None where they are the codes.
        shift: Bits of the key below these.
    """

    attribute: Attribute
    value: exp.Expr
    size: int
    codes: Sequence[int] | None = None
    shift: int = 0

    @property
    def bits(self) -> int:
        """Bits of the key that the number takes."""
        return (self.size - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Key:
    """A whole number that holds the class and the digits of some attributes; the rows of each key are counted.

    Attributes:
        class_bits: Bits of the class, the lowest.
        digits: The attributes, from the lowest bits to the highest.
    """

    class_bits: int
    digits: tuple[Digit, ...] = ()

    @property
    def bits(self) -> int:
        """Bits of all."""
        return self.class_bits + sum(digit.bits for digit in self.digits)

    @property
    def type(self) -> exp.DType:
        """The key's type: DuckDB counts one of 16 bits in an array, whatever the files say of themselves."""
        return exp.DType.USMALLINT if self.bits <= KEY_BITS else exp.DType.BIGINT

    def with_digit(self, digit: Digit) -> Key:
        """Add an attribute above the others."""
        return Key(self.class_bits, (*self.digits, replace(digit, shift=self.bits)))


def joint_keys(domain: Domain, kinds: Kinds, attributes: Sequence[Attribute]) -> list[Key]:
    """Divide attributes among keys, as many in each as ``KEY_BITS`` hold; what is wider has a key for itself."""
    none = Key((len(domain.classes) - 1).bit_length())
    keys: list[Key] = []
    digits = [_digit(attribute, kinds[attribute.name]) for attribute in attributes]
    for digit in sorted(digits, key=lambda digit: digit.bits, reverse=True):
        place = next((place for place, key in enumerate(keys) if key.bits + digit.bits <= KEY_BITS), len(keys))
        keys[place:] = [(keys[place] if place < len(keys) else none).with_digit(digit), *keys[place + 1 :]]
    return keys or [none]


def cells_query(domain: Domain, kinds: Kinds, keys: Sequence[Key]) -> str:
    """Write the query that counts the rows of each key.

    Its columns: ``key_0``, ``key_1``, ..., of which all but one are null, and ``count``. Its parameter is ``$files``.
    """
    names = [f"key_{place}" for place in range(len(keys))]
    given = [f"given_{place}" for place in range(len(domain.row_dropping))]
    values = [
        as_column(exp.cast(digit.value, key.type), _name(place, position))
        for place, key in enumerate(keys)
        for position, digit in enumerate(key.digits)
    ]
    read = exp.select(
        as_column(_class(domain, kinds), CLASS),
        *values,
        *(
            as_column(_null_if_missing(each, kinds), name)
            for each, name in zip(domain.row_dropping, given, strict=True)
        ),
    ).from_(exp.alias_(_files(), SOURCE, quoted=True))
    coded = (
        exp.select(
            *(as_column(_joined(key, place), name) for place, (key, name) in enumerate(zip(keys, names, strict=True)))
        )
        .from_(_table("read"))
        .where(*(exp.not_(is_null(own_column(name))) for name in (CLASS, *given)))
    )
    sets = [exp.Tuple(expressions=[own_column(name)]) for name in names]
    query = (
        exp.select(*map(own_column, names), as_column(exp.Count(this=exp.Star()), COUNT))
        .from_(_table("coded"))
        .group_by(exp.GroupingSets(expressions=sets))
        .with_(identifier("read"), as_=read, copy=False)
        .with_(identifier("coded"), as_=coded, copy=False)
    )
    return query.sql(dialect=Dialect.DUCKDB.value, pretty=True, copy=False)


def _class(domain: Domain, kinds: Kinds) -> exp.Expr:
    """Write the class of a row; a condition is evaluated once, since DuckDB casts a truth value to a number."""
    if domain.label.condition is not None:
        return in_duckdb(condition_holds(domain.label, kinds))
    return _by_dictionary(class_code(domain.label, kinds))


def _digit(attribute: Attribute, kind: Kind | None) -> Digit:
    """Write a number for each value of an attribute that has a code of its own, and one for all others and null."""
    if isinstance(attribute, Numeric):
        value = in_duckdb(grid_code(attribute, number(attribute.name, kind, attribute.missing_values)))
        return _or_last(attribute, value, attribute.cells + 1)
    absent = len(attribute.values)
    if kind in (Kind.INTEGER, Kind.BOOLEAN):
        known = {int(cast(int, key)): code for key, code in category_keys(attribute, kind).items()}
        before, after = min(known) - 1, max(known) + 1
        if after - before < max(FEW_VALUES, 2 * len(known)) and max(-before, after) < 2**30:
            column: exp.Expr = source_column(attribute.name)
            column = exp.cast(column, exp.DType.TINYINT) if kind is Kind.BOOLEAN else column
            codes = [known.get(value, absent) for value in range(before, after + 1)]
            return Digit(attribute, _between(column, before, after), len(codes), codes)
    return _or_last(attribute, _by_dictionary(category_code(replace(attribute, missing=None), kind)), absent)


def _or_last(attribute: Attribute, code: exp.Expr, absent: int) -> Digit:
    """Write a code, and the number after the last where it is null: DuckDB's LEAST leaves null out."""
    return Digit(attribute, _function("LEAST", code, integer(absent)), absent + 1)


def _between(column: exp.Expr, before: int, after: int) -> exp.Expr:
    """Write how far a whole number is from that before the first declared; 0 if it is below, the most if it is above.

    DuckDB's GREATEST leaves null out, so that null is 0.
    """
    bounded = _function("LEAST", _function("GREATEST", column, integer(before)), integer(after))
    return minus(exp.cast(bounded, exp.DType.INT), integer(before))


def _name(place: int, position: int) -> str:
    return f"digit_{place}_{position}"


def _joined(key: Key, place: int) -> exp.Expr:
    """Write a key: its class, and each digit above those before it."""
    joined: exp.Expr = exp.cast(own_column(CLASS), key.type)
    for position, digit in enumerate(key.digits):
        above = times(own_column(_name(place, position)), exp.cast(integer(2**digit.shift), key.type))
        joined = exp.BitwiseOr(this=joined, expression=exp.Paren(this=above))
    return joined


def _null_if_missing(attribute: Attribute, kinds: Kinds) -> exp.Expr:
    """Write a value that is null where the row lacks the attribute."""
    if isinstance(attribute, Numeric):
        return in_duckdb(number(attribute.name, kinds[attribute.name], attribute.missing_values))
    return _by_dictionary(category_code(attribute, kinds[attribute.name]))


def _by_dictionary(code: exp.Expr) -> exp.Expr:
    """Write ``CASE key WHEN constant THEN code ... ELSE otherwise END`` as a function."""
    return _lookup(in_duckdb(code))


def _lookup(code: exp.Expr) -> exp.Expr:
    """Rewrite a CASE as a lookup of DuckDB's: by an ENUM of texts or whole numbers, by a list of other constants."""
    assert isinstance(code, exp.Case)
    constants = [branch.this for branch in code.args["ifs"]]
    codes = [branch.args["true"] for branch in code.args["ifs"]]
    is_place = [each.name for each in codes] == [str(place) for place in range(len(codes))]
    if all(isinstance(each, exp.Literal) for each in constants):
        key = code.this if all(each.is_string for each in constants) else as_text(code.this)
        result: exp.Expr = enum_code(key, [each.name for each in constants])
        place: exp.Expr = exp.Add(this=exp.cast(result, exp.DType.INT), expression=integer(1))
    else:
        place = _function("LIST_POSITION", exp.Array(expressions=constants), code.this)
        result = exp.Sub(this=place, expression=integer(1))
    if not is_place:
        result = _function("LIST_EXTRACT", exp.Array(expressions=codes), place)
    otherwise = code.args.get("default")
    if isinstance(otherwise, exp.Case):
        otherwise = _lookup(otherwise)
    return exp.Coalesce(this=result, expressions=[otherwise]) if otherwise else result


def _files() -> exp.Expr:
    options = {"union_by_name": exp.true(), "hive_partitioning": exp.false()}
    return exp.Anonymous(
        this="READ_PARQUET",
        expressions=[
            exp.Parameter(this=exp.var(FILES)),
            *(exp.PropertyEQ(this=exp.to_identifier(name), expression=value) for name, value in options.items()),
        ],
    )


def _function(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _table(name: str) -> exp.Table:
    return exp.Table(this=identifier(name))
