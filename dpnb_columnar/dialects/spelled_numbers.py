"""The test that a text is a number (``domain.numbers.SPELLED_NUMBER``), in each database's own SQL.

Each function is a rewrite of ``rendering``: it writes ``nodes.number_or_null`` as the cast of what is a number. A
column of text is tested by its text, one of unknown kind by its type, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sqlglot import exp

from dpnb_columnar.dialects.nodes import Branch, among, as_double, as_text, below, case, double, integer, lookup, text
from dpnb_columnar.domain.numbers import LONGEST_SPELLING, SPELLED_NUMBER
from dpnb_columnar.rows.database_address import Dialect

NUMBER_TYPES: Mapping[Dialect, Sequence[str]] = {
    Dialect.DUCKDB: ("DOUBLE", "FLOAT", "BOOLEAN"),
    Dialect.POSTGRES: ("double precision", "real", "numeric", "bigint", "integer", "smallint"),
    Dialect.SPARK: ("double", "float", "boolean"),
    Dialect.SNOWFLAKE: ("DOUBLE", "DECIMAL", "INTEGER", "BOOLEAN"),
    Dialect.SQLITE: ("real", "integer"),
}
"""Each database's names for types whose values are numbers, but may be written as no ``SPELLED_NUMBER``."""

SPARK_PATTERN = "(?s)" + SPELLED_NUMBER.replace("$", "(?!.)")
"""``SPELLED_NUMBER`` for Java, where ``$`` also matches before a line break."""

SHORT = f"^.{{1,{LONGEST_SPELLING}}}$"
"""A text that is not too long for a number, for DuckDB."""

OTHER_CHARACTERS = "*[^0-9.+ -]*"
"""Any text with a character that no number has, as SQLite's GLOB matches it."""


def number_of_duckdb(node: exp.Expr) -> exp.Expr:
    """Cast what is a number. Its own cast would take ``1_0`` and ``inf`` for numbers.

    A text is cut out by functions, which DuckDB computes once for each entry of a column's dictionary, unlike a CASE:
    of what is no number, or too long, nothing is left, which is cast to null.
    """
    if not isinstance(node, exp.TryCast) or not node.is_type(exp.DType.DOUBLE):  # to an ENUM, it is what it is
        return node
    if _is_text(node.this):
        number = node.this
        for pattern in (SPELLED_NUMBER, SHORT):
            number = exp.Anonymous(this="REGEXP_EXTRACT", expressions=[number, text(pattern)])
        return exp.TryCast(this=number, to=node.to.copy(), safe=True)
    return _number_if(node, Dialect.DUCKDB, "TYPEOF", _matches(node.this, SPELLED_NUMBER), node.copy())


def number_of_postgres(node: exp.Expr) -> exp.Expr:
    """Cast what is a number: PostgreSQL has no cast that gives null, and fails at a number that no float holds.

    By way of its text, which has all digits: a date has no cast to a number, not even one that is never reached.
    """
    if not isinstance(node, exp.TryCast):
        return node
    written = _written(node.this)
    number: exp.Expr = as_double(written)
    if not _is_text(node.this):
        numeric = exp.cast(written, exp.DType.DECIMAL)
        branches = [(text("numeric"), _nearest_float(numeric, written))]
        number = lookup(_type_name("PG_TYPEOF", node.this), branches, number)
    return _number_if(node, Dialect.POSTGRES, "PG_TYPEOF", _matches(node.this, SPELLED_NUMBER), number)


def float_of_postgres(node: exp.Expr) -> exp.Expr:
    """Write ``nodes.float_of``: PostgreSQL's own cast fails at a ``numeric`` that no float holds."""
    if type(node) is not exp.Cast or not node.args.get("safe"):
        return node
    return _nearest_float(node.this, node.this)


def _nearest_float(value: exp.Expr, cast: exp.Expr) -> exp.Expr:
    """Cast a value to the nearest 64-bit float: infinity where it is beyond all, and 0 where it is nearer to 0.

    A query that failed would tell that there is such a row. Bare constants are ``numeric`` themselves. With a column of
    floats they are compared as floats: the first is the largest then, and the other the smallest above 0.

    Args:
        value: A number.
        cast: What is cast: the same, or its text.
    """
    largest, smallest = exp.Literal.number("1.7976931348623158e308"), exp.Literal.number("5e-324")
    is_number = exp.NEQ(this=as_text(cast.copy()), expression=text("NaN"))  # which is above all numbers
    is_above = exp.and_(exp.GT(this=value.copy(), expression=largest), is_number)
    is_below = below(value.copy(), exp.Neg(this=largest.copy()))
    is_least = exp.and_(
        exp.GT(this=value.copy(), expression=exp.Neg(this=smallest)), below(value.copy(), smallest.copy())
    )
    branches = [(is_above, double(math.inf)), (is_below, double(-math.inf)), (is_least, double(0))]
    return case(branches, as_double(cast.copy()))


def number_of_spark(node: exp.Expr) -> exp.Expr:
    """Cast what is a number, by way of its text: a date has no cast to a number. A truth value is 1 or 0."""
    if not isinstance(node, exp.TryCast):
        return node
    number: exp.Expr = exp.TryCast(this=_written(node.this), to=node.to.copy(), safe=True)
    if not _is_text(node.this):
        truth = lookup(_written(node.this), [(text("true"), double(1)), (text("false"), double(0))])
        number = exp.Coalesce(this=number, expressions=[truth])
    return _number_if(node, Dialect.SPARK, "TYPEOF", _matches(node.this, SPARK_PATTERN), number)


def number_of_bigquery(node: exp.Expr) -> exp.Expr:
    """Cast what is a number: JSON quotes texts, and infinity, which is missing where a kind is unknown."""
    if not isinstance(node, exp.TryCast):
        return node
    branches = [_number_of_trimmed(node)]
    if not _is_text(node.this):
        json = exp.Anonymous(this="TO_JSON_STRING", expressions=[node.this.copy()])
        branches.insert(0, (exp.not_(exp.StartsWith(this=json, expression=text('"'))), node.copy()))
    return case(branches)


def number_of_snowflake(node: exp.Expr) -> exp.Expr:
    """Cast what is a number: Snowflake tries casts of texts alone."""
    if not isinstance(node, exp.TryCast):
        return node
    branches = [_number_of_trimmed(node)]
    if not _is_text(node.this):
        variant = exp.Anonymous(this="TO_VARIANT", expressions=[node.this.copy()])
        type_ = exp.Anonymous(this="TYPEOF", expressions=[variant])
        is_number = among(type_, list(map(text, NUMBER_TYPES[Dialect.SNOWFLAKE])))
        branches.insert(0, (is_number, as_double(node.this.copy())))  # first: texts of floats lack digits
    return case(branches)


def _number_of_trimmed(node: exp.TryCast) -> Branch:
    """Read a text that is a number, without its blanks, which not every cast passes over."""
    number = exp.TryCast(this=exp.Trim(this=_written(node.this)), to=node.to.copy(), safe=True, requires_string=True)
    return _matches(node.this, SPELLED_NUMBER), number


def number_of_sqlite(node: exp.Expr) -> exp.Expr:
    """Cast what is a number.

    SQLite casts every text, one that spells no number to zero; but beside a number, such as infinity, 9e999, it
    compares such a text as text, which is larger than all numbers. It has no regular expressions.
    """
    if not isinstance(node, exp.TryCast):
        return node
    written = _written(node.this)
    other_characters = exp.Glob(this=written.copy(), expression=text(OTHER_CHARACTERS))
    infinity = as_double(exp.Literal.number("9e999"))
    spelled = exp.and_(
        _is_short(written),
        exp.Not(this=exp.Paren(this=other_characters)),
        exp.LTE(this=written.copy(), expression=infinity),
    )
    return _number_if(node, Dialect.SQLITE, "TYPEOF", spelled, as_double(node.this.copy()))


def _number_if(node: exp.TryCast, dialect: Dialect, type_of: str, spelled: exp.Expr, number: exp.Expr) -> exp.Expr:
    """Read what is a number by its type, or by its text; null otherwise.

    Args:
        node: The attempt to cast a value.
        dialect: The database.
        type_of: The function that names a value's type there.
        spelled: Test of the value's text.
        number: The value, cast.
    """
    if _is_text(node.this):
        return case([(spelled, number)])
    type_ = _type_name(type_of, node.this)
    return case([(exp.or_(among(type_, list(map(text, NUMBER_TYPES[dialect]))), spelled), number)])


def _type_name(type_of: str, value: exp.Expr) -> exp.Expr:
    return as_text(exp.Anonymous(this=type_of, expressions=[value.copy()]))


def _matches(value: exp.Expr, pattern: str) -> exp.Expr:
    """Test whether a value's text is short and matches a regular expression."""
    written = _written(value)
    return exp.and_(_is_short(written), exp.RegexpLike(this=written.copy(), expression=text(pattern)))


def _is_short(written: exp.Expr) -> exp.Expr:
    return exp.LTE(this=exp.Length(this=written.copy()), expression=integer(LONGEST_SPELLING))


def _written(value: exp.Expr) -> exp.Expr:
    """Write the text of a value."""
    return value.copy() if _is_text(value) else as_text(value.copy())


def _is_text(value: exp.Expr) -> bool:
    return isinstance(value, exp.Cast) and value.is_type(exp.DType.TEXT)
