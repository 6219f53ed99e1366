"""What Spark's columns hold: types of its tables as the domain sees them, and types to read Parquet columns as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from dpnb_columnar.errors import DataError, shown
from dpnb_columnar.rows.kinds import WIDEST_DECIMAL, Kind, kind_of

TABLE_TYPES: Mapping[str, pl.DataType] = {
    "byte": pl.Int8(),
    "short": pl.Int16(),
    "integer": pl.Int32(),
    "long": pl.Int64(),
    "float": pl.Float32(),
    "double": pl.Float64(),
    "boolean": pl.Boolean(),
    "string": pl.String(),
    "date": pl.Date(),
    "timestamp": pl.Datetime("us", "UTC"),
    "timestamp_ntz": pl.Datetime("us"),
    "binary": pl.Binary(),
    "void": pl.Null(),
}
"""Types that have no parameters, by Spark's names."""


def table_type(type_: Any) -> pl.DataType:
    """The type of a table's column as Polars calls it; Unknown for one that no domain is read from."""
    from pyspark.sql.types import CharType, DecimalType, StringType, VarcharType

    if isinstance(type_, StringType | CharType | VarcharType):  # of whatever collation
        return pl.String()
    if isinstance(type_, DecimalType):
        return pl.Decimal(type_.precision, type_.scale)
    return TABLE_TYPES.get(type_.typeName(), pl.Unknown())


def file_schema(types: Mapping[str, pl.DataType], name: str) -> Any:
    """The schema to read Parquet files as: the widest type of each column's kind, as files may hold it in several.

    Dates are read as their number of days, whatever calendar a file says that it was written in; see ``selected``.

    Args:
        types: Columns, and their type in some file.
        name: What messages call the files.

    Raises:
        DataError: Spark does not read such a column.
    """
    from pyspark.sql.types import (
        BooleanType,
        DecimalType,
        DoubleType,
        IntegerType,
        LongType,
        StringType,
        StructField,
        StructType,
    )

    def widest(column: str, type_: pl.DataType) -> Any:
        match kind_of(type_):
            case Kind.INTEGER:
                return LongType()
            case Kind.UNSIGNED:
                return DecimalType(20, 0)
            case Kind.FLOAT if type_ == pl.Float16:
                raise DataError(
                    f"{name}: column {shown(column)} has type Float16, which Spark does not read; cast it to Float32"
                )
            case Kind.FLOAT:
                return DoubleType()
            case Kind.DECIMAL:
                assert isinstance(type_, pl.Decimal)
                return DecimalType(WIDEST_DECIMAL, type_.scale)
            case Kind.BOOLEAN:
                return BooleanType()
            case Kind.DATE:
                return IntegerType()
            case _:
                return StringType()

    return StructType([StructField(column, widest(column, type_)) for column, type_ in types.items()])


def selected(kinds: Mapping[str, Kind]) -> list[str]:
    """Expressions that make the domain's columns of those read as ``file_schema``."""
    return [
        f"date_from_unix_date({quoted(column)}) AS {quoted(column)}" if kind is Kind.DATE else quoted(column)
        for column, kind in kinds.items()
    ]


def quoted(name: str) -> str:
    """A column's name in an expression of Spark's."""
    return f"`{name.replace('`', '``')}`"
