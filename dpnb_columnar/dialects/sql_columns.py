"""What a query that scores rows is told of the table's columns: dialect, kinds and spelling. No row is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpnb_columnar.dialects.rules import Kinds
from dpnb_columnar.dialects.statistics_query import SPELLED, columns_like, dialect_like
from dpnb_columnar.errors import DataError
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.rows.sources import Dialect, Spelling


@dataclass(frozen=True, slots=True)
class SqlColumns:
    """The columns that a query reads.

    Attributes:
        dialect: SQL of the database that is to run it.
        kinds: What the columns hold; None where nothing tells it.
        names: The table's name of each column that the model, or who typed it, may call otherwise.
    """

    dialect: Dialect
    kinds: Kinds | None
    names: Mapping[str, str]


def sql_columns(
    model: NaiveBayes,
    dialect: Dialect | None,
    like: str | None,
    table: str | None,
    keys: Sequence[str],
    names: Spelling | None,
) -> SqlColumns:
    """Find out what a query that scores a table's rows needs to know of the table's columns."""
    dialect = dialect_like(dialect, like)
    wanted = [*(parameters.attribute for parameters in model.attributes), *keys]
    if like is None:
        spell = SPELLED[names or Spelling.DECLARED]
        return SqlColumns(dialect, None, {name: spell(name) for name in wanted})
    import polars as pl

    from dpnb_columnar.domain.column_kinds import kind_of
    from dpnb_columnar.model.scoring import score

    columns = columns_like(like, table, model.domain.name, wanted, names)
    try:
        score(model, pl.LazyFrame(schema=dict(columns.types)), keys)
    except DataError as error:
        raise DataError(f"{columns.source}: {error}") from None
    return SqlColumns(dialect, {name: kind_of(type_) for name, type_ in columns.types.items()}, columns.names)
