"""Look up a whole number in a constant list by its place, in each database's own SQL.

Databases have no common form of a list. Each form below is one constant, folded when the query is planned, so that a
row costs one step however long the list is; a CASE of thousands of branches takes minutes to write, and to plan.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpnb_columnar.dialects.nodes import integer, plus, text, times
from dpnb_columnar.rows.database_address import Dialect


def number_at(numbers: Sequence[int], place: exp.Expr, dialect: Dialect) -> exp.Expr:
    """Write the number at a place of a list, as a 64-bit integer.

    Args:
        numbers: The list.
        place: The place, a whole number from 0 on, and below the length of the list.
        dialect: The database.
    """
    listed = ",".join(map(str, numbers))
    after = plus(place, integer(1))
    match dialect:
        case Dialect.DUCKDB | Dialect.POSTGRES:
            written = f"[{listed}]" if dialect is Dialect.DUCKDB else f"{{{listed}}}"
            constant = exp.Paren(this=exp.cast(text(written), "BIGINT[]", dialect=dialect.value))
            return exp.Bracket(this=constant, expressions=[after], offset=1)
        case Dialect.SQLITE:
            # Characters of a text are counted from its beginning, bytes are not.
            width = max(len(str(number)) for number in numbers)
            padded = exp.cast(text("".join(f"{number:>{width}}" for number in numbers)), "BLOB")
            start = plus(times(place, integer(width)), integer(1))
            found: exp.Expr = exp.Substring(this=padded, start=start, length=integer(width))
        case Dialect.SPARK:
            position = exp.cast(after, exp.DType.INT)
            found = _function("ELEMENT_AT", _function("SPLIT", text(listed), text(",")), position)
        case Dialect.BIGQUERY:
            found = exp.Bracket(this=_function("SPLIT", text(listed), text(",")), expressions=[place], offset=0)
        case Dialect.SNOWFLAKE:
            found = _function("GET", _function("SPLIT", text(listed), text(",")), place)
    return exp.cast(found, exp.DType.BIGINT)


def _function(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))
