"""Look up a whole number in a constant list by its place, in each database's own SQL.

Databases have no common form of a list. Each form below is one constant, folded when the query is planned, so that a
row costs one step however long the list is; a CASE of thousands of branches takes minutes to write, and to plan.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpnb_columnar.dialects.nodes import case, integer, is_null, plus, text, times
from dpnb_columnar.rows.database_address import Dialect


def number_at(
    numbers: Sequence[int] | Sequence[float], place: exp.Expr, dialect: Dialect, type_: exp.DType = exp.DType.BIGINT
) -> exp.Expr:
    """Write the number at a place of a list; null where the place is null.

    Args:
        numbers: The list.
        place: The place, a whole number from 0 on, and below the length of the list.
        dialect: The database.
        type_: Type of the numbers: 64-bit integers or floats.
    """
    listed = ",".join(map(str, numbers))
    after = plus(place, integer(1))
    match dialect:
        case Dialect.DUCKDB | Dialect.POSTGRES:
            written = f"[{listed}]" if dialect is Dialect.DUCKDB else f"{{{listed}}}"
            listed_type = exp.DataType(this=exp.DType.ARRAY, expressions=[type_.into_expr()], nested=True)
            constant = exp.Paren(this=exp.cast(text(written), listed_type))
            return exp.Bracket(this=constant, expressions=[after], offset=1)
        case Dialect.SQLITE:
            # Characters of a text are counted from its beginning, bytes are not.
            width = max(len(str(number)) for number in numbers)
            padded = exp.cast(text("".join(f"{number:>{width}}" for number in numbers)), "BLOB")
            start = plus(times(place, integer(width)), integer(1))
            found: exp.Expr = exp.Substring(this=padded, start=start, length=integer(width))
        case Dialect.SPARK:
            position = exp.cast(after, exp.DType.INT)
            at = exp.cast(_function("ELEMENT_AT", _function("SPLIT", text(listed), text(",")), position), type_)
            # Spark takes an element of a list without nulls for one that is never null, even where the place is.
            return case([(exp.not_(is_null(place.copy())), at)])
        case Dialect.BIGQUERY:
            found = exp.Bracket(this=_function("SPLIT", text(listed), text(",")), expressions=[place], offset=0)
        case Dialect.SNOWFLAKE:
            found = _function("GET", _function("SPLIT", text(listed), text(",")), place)
    return exp.cast(found, type_)


def _function(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))
