"""Count with Spark: its workers count, and counts of cells and bins reach this process, never rows. CONFIDENTIAL.

Queries are watched: how much of one the workers have done, and why it fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import polars as pl

from dpnb_columnar.core.queries.query import AnswerT, Query, with_parts
from dpnb_columnar.core.queries.statistics import CellQuery, Cells, Statistics, assemble
from dpnb_columnar.counting.answer_files import answer_of
from dpnb_columnar.dialects.rendering import parse_table
from dpnb_columnar.dialects.statistics_query import places_query, query_sql
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.column_kinds import WIDEST_DECIMAL, Kind, kind_of, kinds_of
from dpnb_columnar.domain.database_address import Dialect
from dpnb_columnar.errors import DataError, MissingInputError, UnavailableError, excerpt, option
from dpnb_columnar.extensions.spark.spark_files import SparkFile, read_rows
from dpnb_columnar.rows.column_checks import check_alike, check_columns
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.row_progress import begin_work, is_watched, poll_progress

DAMAGED = ("FAILED_READ_FILE", "Parquet", "FileNotFound", "EOFException", "ChecksumException", "SchemaColumnConvert")
"""Parts of the names and conditions of Spark's errors where a file cannot be read."""


@contextmanager
def reported_stage(session: Any, rows: int | None) -> Iterator[None]:
    """Report how many of some rows the query within this block has read, as the share of tasks that are finished.

    Its first stage reads the rows, in tasks of about as many bytes each; the stages after it add up cells.
    """
    if not is_watched():
        yield
        return
    total, unit = (1, "") if rows is None else (rows, "rows")
    stage = _FirstStage(session.sparkContext.statusTracker())
    with poll_progress(begin_work(total, unit), lambda: total * stage.share()):
        yield


class _FirstStage:
    """The first stage that runs from now on."""

    def __init__(self, tracker: Any) -> None:
        self._tracker = tracker
        self._number: int | None = None

    def share(self) -> float:
        """Return the share of its tasks that are finished; 0 where Spark does not say."""
        from py4j.protocol import Py4JError

        try:
            if self._number is None:
                self._number = min(self._tracker.getActiveStageIds(), default=None)
            known = None if self._number is None else self._tracker.getStageInfo(self._number)
        except Py4JError:  # Spark is gone; the query itself tells
            return 0.0
        return known.numCompletedTasks / known.numTasks if known and known.numTasks else 0.0


@contextmanager
def spark_errors(name: str) -> Iterator[None]:
    """Report Spark's errors as errors of this package: Spark's own texts may quote rows."""
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
    """List the class names and the conditions of an error of Spark and of the errors behind it, without their texts."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        if isinstance(error, PySparkException):
            yield str(error.getCondition())
        cause = getattr(error, "java_exception", None)
        while cause is not None:
            yield str(cause.getClass().getName())
            if hasattr(cause, "getCondition"):
                yield str(cause.getCondition())
            cause = cause.getCause()
    except Py4JError:  # the connection is gone as well
        return


VIEW = "dpnb_rows"
"""Name of the rows within the session, which nobody else uses."""

NUMBERS = ("class", "code", "count")
"""Columns of the query's result beside ``place``: 0 for the classes, 1 for the first attribute, and so on; the weights'
is the last."""

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
"""Polars' type for each of Spark's types without parameters, by Spark's name."""


@dataclass(frozen=True, slots=True)
class SparkSource:
    """Rows whose columns fit a domain, for Spark to count.

    Attributes:
        session: The ``pyspark.sql.SparkSession`` to count in.
        rows: A ``pyspark.sql.DataFrame`` of the domain's columns. Confidential; not computed yet.
        kinds: The kind of each column.
        name: Name of the rows in messages.
        parts: Digests of the files; empty for a table.
        size: How many rows there are by the files' footers; None for a table.
    """

    session: Any
    rows: Any
    kinds: Mapping[str, Kind]
    name: str
    parts: frozenset[str]
    size: int | None = None


def open_files(session: Any, files: Sequence[SparkFile], domain: Domain) -> SparkSource:
    """Check that every file has the domain's columns, of types that the domain can be read from. No row is read."""
    first = files[0]
    types = check_columns(first.schema, domain, first.name)
    for file in files[1:]:
        check_alike(types, first.name, check_columns(file.schema, domain, file.name), file.name)
    name = ", ".join(file.name for file in files[:3]) + (" ..." if len(files) > 3 else "")
    kinds = kinds_of(types)
    with spark_errors(name):
        # Without the option, folders named key=value would become columns, and some folders would be left out.
        reader = session.read.schema(_file_schema(types, name)).option("recursiveFileLookup", "true")
        rows = read_rows(reader, files, types, name).selectExpr(*_selected(kinds))
        parts = frozenset(file.part for file in files if file.part)
        return SparkSource(session, rows, kinds, name, parts, sum(file.rows for file in files))


def open_table(session: Any, table: str, domain: Domain) -> SparkSource:
    """Check that a table or view has the domain's columns, of types that it can be read from. No row is read."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    written = parse_table(table, Dialect.SPARK).sql(dialect=Dialect.SPARK.value)
    try:
        rows = session.table(written)
        schema = {field.name: _table_type(field.dataType) for field in rows.schema.fields}
    except (PySparkException, Py4JError):
        raise MissingInputError(
            f"table {table}: Spark finds no such table, or may not read it; check {option('table')}, and the catalogs "
            "in Spark's configuration"
        ) from None
    kinds = kinds_of(check_columns(schema, domain, f"table {table}"))
    with spark_errors(f"table {table}"):
        return SparkSource(session, rows.select(*map(_quoted, kinds)), kinds, f"table {table}", frozenset())


@confined()
def answer(source: SparkSource, query: Query[AnswerT]) -> AnswerT:
    """Answer a query over the rows of the source, as ``local.answer`` does."""
    answered: AnswerT = _answer(query, source)
    return with_parts(answered, source.parts or answered.own_part)


@singledispatch
def _answer(query: Query[Any], source: SparkSource) -> Any:
    """Answer a query by the SQL that every database runs."""
    result = _result(source, query_sql(query, source.kinds, VIEW, Dialect.SPARK))
    return answer_of(pl.DataFrame(result), query, source.name)


@_answer.register
def _answer_cells(query: CellQuery, source: SparkSource) -> Statistics:
    """Count cells by numbers alone: there may be as many as rows."""
    table = _result(source, places_query(query.domain, source.kinds, VIEW))
    place = table["place"].to_numpy()
    classes, codes, counts = (table[name].to_numpy().astype(np.int64) for name in NUMBERS)
    cells = [
        Cells(name, classes[own], codes[own], counts[own])
        for position, name in enumerate((None, *(attribute.name for attribute in query.domain.attributes), None))
        if len(own := np.flatnonzero(place == position))
    ]
    try:
        return assemble(query.domain, cells)
    except ValueError as error:
        raise DataError(f"{source.name}: {error}") from None


def _result(source: SparkSource, query: str) -> Any:
    """Return the result of a query over the rows of the source, an Arrow table."""
    with spark_errors(source.name), reported_stage(source.session, source.size):
        source.rows.createOrReplaceTempView(VIEW)
        return source.session.sql(query).toArrow()


def _file_schema(types: Mapping[str, pl.DataType], name: str) -> Any:
    """Return the schema to read Parquet files with: the widest type of each column's kind, since files may differ.

    Dates are read as their number of days, whatever calendar a file says that it was written in; see ``_selected``.
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
                    f"{name}: column {excerpt(column)} has type Float16, which Spark does not read; cast it to Float32"
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


def _selected(kinds: Mapping[str, Kind]) -> list[str]:
    """Write the expressions that turn columns read by ``_file_schema`` into the domain's columns."""
    return [
        f"date_from_unix_date({_quoted(column)}) AS {_quoted(column)}" if kind is Kind.DATE else _quoted(column)
        for column, kind in kinds.items()
    ]


def _table_type(type_: Any) -> pl.DataType:
    """Return Polars' type for a column of a Spark table; Unknown for a type that no domain is read from."""
    from pyspark.sql.types import CharType, DecimalType, StringType, VarcharType

    if isinstance(type_, StringType | CharType | VarcharType):  # of whatever collation
        return pl.String()
    if isinstance(type_, DecimalType):
        return pl.Decimal(type_.precision, type_.scale)
    return TABLE_TYPES.get(type_.typeName(), pl.Unknown())


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
