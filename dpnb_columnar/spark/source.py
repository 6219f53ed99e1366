"""Rows that Spark is to count: of Parquet files or of a table, checked against a domain. No row is read here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dpnb_columnar.dialects.names import Dialect
from dpnb_columnar.dialects.write import table_named
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError, MissingInputError, UnavailableError
from dpnb_columnar.rows.kinds import Kind, kinds_of
from dpnb_columnar.rows.source import check_alike, check_columns
from dpnb_columnar.spark.columns import file_schema, quoted, selected, table_type
from dpnb_columnar.spark.files import SparkFile

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

    written = table_named(table, Dialect.SPARK).sql(dialect=Dialect.SPARK.value)
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
