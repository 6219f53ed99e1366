"""The rows of a table, as they are."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpnb_columnar.dialects.names import Dialect
from dpnb_columnar.dialects.trees import identifier
from dpnb_columnar.dialects.write import table_named, written


def selected(table: str, columns: Sequence[str] | None, dialect: Dialect) -> str:
    """The query for some columns of a table, or for all of them.

    Args:
        table: Its name, as ``write.table_named`` takes it.
        columns: Columns in order; None for all.
        dialect: The database.

    Raises:
        UsageError: The name is no table's.
    """
    wanted: list[exp.Expr] = [exp.Star()] if columns is None else [exp.column(identifier(name)) for name in columns]
    return written(exp.select(*wanted).from_(table_named(table, dialect)), dialect)
