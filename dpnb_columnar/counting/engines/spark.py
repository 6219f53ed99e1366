"""Rows that Spark is to count: of Parquet files or of a table, checked against a domain. No row is read here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from dpnb_columnar.counting.engines.spark_files import SparkFile
from dpnb_columnar.counting.statistics import Cells, Statistics, assemble, cells_part
from dpnb_columnar.dialects.rendering import parse_table
from dpnb_columnar.dialects.statistics_query import places_query
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError, MissingInputError, UnavailableError, shown
from dpnb_columnar.rows.column_checks import check_alike, check_columns
from dpnb_columnar.rows.column_kinds import WIDEST_DECIMAL, Kind, kind_of, kinds_of
from dpnb_columnar.rows.database_address import Dialect

# MERGED FROM dpnb_columnar/counting/engines/spark.py: What Spark's columns hold: types of its tables as the domain
# sees them, and types to read Parquet columns as.

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


DAMAGED = ("FAILED_READ_FILE", "Parquet", "FileNotFound", "EOFException", "ChecksumException", "SchemaColumnConvert")
"""In the names of Spark's errors where a file cannot be read."""


@dataclass(frozen=True, slots=True)
class SparkSource:
    """Rows whose columns fit a domain.

    Attributes:
        session: The session to count them in.
        rows: A frame of Spark's with the domain's columns. Confidential; not computed yet.
        kinds: What each of them holds.
        name: What messages call the rows.
        parts: Digests of the files; none for a table.
    """

    session: Any
    rows: Any
    kinds: Mapping[str, Kind]
    name: str
    parts: frozenset[str]


def open_files(session: Any, files: Sequence[SparkFile], domain: Domain) -> SparkSource:
    """Check that every file has the domain's columns, of types they can be read from.

    Raises:
        DataError: A file lacks a column, has one of the wrong type or of another one than the first file, or a name
            that Spark passes over.
    """
    first, *others = files
    types = check_columns(first.schema, domain, first.name)
    for file in others:
        check_alike(types, first.name, check_columns(file.schema, domain, file.name), file.name)
    name = ", ".join(file.name for file in files[:3]) + (" ..." if len(files) > 3 else "")
    kinds = kinds_of(types)
    with reported(name):
        # Folders named key=value are no columns, and what a folder of Spark's own would leave out is none here.
        reader = session.read.schema(file_schema(types, name)).option("recursiveFileLookup", "true")
        rows = reader.parquet(*(file.pattern for file in files))
        if len(rows.inputFiles()) != len(files):
            raise DataError(f"{name}: Spark passes over files whose names begin with _ or a dot; rename them")
        return SparkSource(
            session, rows.selectExpr(*selected(kinds)), kinds, name, frozenset(file.part for file in files if file.part)
        )


def open_table(session: Any, table: str, domain: Domain) -> SparkSource:
    """Check that a table or view has the domain's columns, of types they can be read from.

    Args:
        table: Its name as Spark writes it, such as ``census.person`` or ``lake.census.person``.

    Raises:
        UsageError: The name is no table's.
        MissingInputError: There is no such table.
        DataError: It lacks a column, or has one of the wrong type.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    written = parse_table(table, Dialect.SPARK).sql(dialect=Dialect.SPARK.value)
    try:
        rows = session.table(written)
        schema = {field.name: table_type(field.dataType) for field in rows.schema.fields}
    except (PySparkException, Py4JError):
        raise MissingInputError(
            f"table {table}: Spark finds no such table, or may not read it; check --table, and the catalogs in Spark's "
            "configuration"
        ) from None
    kinds = kinds_of(check_columns(schema, domain, f"table {table}"))
    with reported(f"table {table}"):
        return SparkSource(session, rows.select(*map(quoted, kinds)), kinds, f"table {table}", frozenset())


@contextmanager
def reported(name: str) -> Iterator[None]:
    """Errors of Spark in our words: its own may quote rows.

    Raises:
        DataError: A file cannot be read.
        UnavailableError: Spark fails for another reason.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if any(word in cause for cause in _causes(error) for word in DAMAGED):
            raise DataError(
                f"{name}: cannot be read to the end (damaged, cut short, or not where Spark's workers see it); write "
                "or copy it again"
            ) from None
        raise UnavailableError(
            f"{name}: Spark does not come to the end of the count (a lost cluster, or too little memory); see the logs "
            "of its executors, and try again"
        ) from None


def _causes(error: Any) -> Iterator[str]:
    """Names of the errors behind one of Spark's, and their conditions: no text of theirs."""
    from py4j.protocol import Py4JError

    cause = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    try:
        while cause is not None:
            yield str(cause.getClass().getName())
            if hasattr(cause, "getCondition"):
                yield str(cause.getCondition())
            cause = cause.getCause()
    except Py4JError:  # the connection is gone as well
        return


# MERGED FROM dpnb_columnar/counting/engines/spark.py: CONFIDENTIAL. Cell counts by Spark: its workers count, and
# counts of cells reach this process, never rows.

VIEW = "dpnb_rows"
"""The rows' name within the session, which is ours alone."""

NUMBERS = ("class", "code", "count")


def aggregate(source: SparkSource, domain: Domain) -> Statistics:
    """Count every cell of the domain over the rows of the source: the integers of ``local.aggregate``.

    Raises:
        DataError: A file is damaged, or is not where Spark's workers see it.
        UnavailableError: Spark does not come to the end.
    """
    with reported(source.name):
        source.rows.createOrReplaceTempView(VIEW)
        table = source.session.sql(places_query(domain, source.kinds, VIEW)).toArrow()
    place = table["place"].to_numpy()
    classes, codes, counts = (table[name].to_numpy().astype(np.int64) for name in NUMBERS)
    cells = [
        Cells(name, classes[own], codes[own], counts[own])
        for position, name in enumerate((None, *(attribute.name for attribute in domain.attributes)))
        if len(own := np.flatnonzero(place == position))
    ]
    try:
        statistics = assemble(domain, cells, source.parts)
    except ValueError as error:
        raise DataError(f"{source.name}: {error}") from None
    return statistics if source.parts else replace(statistics, parts=cells_part(statistics.cells()))
