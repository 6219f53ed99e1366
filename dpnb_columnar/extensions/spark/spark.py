"""Count with Spark: its workers count, and counts of cells and bins reach this process, never rows. CONFIDENTIAL.

Footers of Parquet files, here and at addresses of Spark's file systems, are parsed by the code that parses those of
local files, so that a file has the same types and digest wherever it is.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial, reduce, singledispatch
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dpnb_columnar.core.queries.query import AnswerT, Query, with_parts
from dpnb_columnar.core.queries.statistics import CellQuery, Cells, Statistics, assemble
from dpnb_columnar.counting.answer_files import answer_of
from dpnb_columnar.counting.countable import BEGINNING, OpenedRows, copies_error, footer_part
from dpnb_columnar.counting.find_domain import ResolvedDomain, find_domain
from dpnb_columnar.dialects.rendering import parse_table
from dpnb_columnar.dialects.statistics_query import places_query, query_sql
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.column_kinds import WIDEST_DECIMAL, Kind, kind_of, kinds_of
from dpnb_columnar.domain.declaration import DOMAIN_KEY
from dpnb_columnar.domain.names import entry_and_file
from dpnb_columnar.errors import DataError, MissingInputError, UnavailableError, UsageError, excerpt, option
from dpnb_columnar.extensions.spark.spark_session import counting_session, hadoop
from dpnb_columnar.rows.input_files import (
    MAGIC,
    DataFile,
    FolderValues,
    find_copies,
    folder_values,
    incomplete_file_error,
    read_footer,
    resolve_files,
)
from dpnb_columnar.rows.row_rules import check_alike, check_columns
from dpnb_columnar.rows.sources import (
    PASSWORD,
    TABLE_FORMATS,
    DataSource,
    Dialect,
    TableFormat,
    refuse_table_files,
    table_error,
)
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.row_progress import begin_work, is_watched, poll_progress

ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
"""Beginning of an address; a Windows path has one letter before the colon."""

PATTERN = re.compile(r"([\\{}\[\]*?])")
"""Characters that would make a name a pattern to Spark."""

READERS = 16
"""Footers that are read at the same time; each takes one or two requests to an object store."""


@dataclass(frozen=True, slots=True)
class SparkFile:
    """A Parquet file, by its footer, with its digest (``file_parts.footer_part``); None for a file without rows."""

    name: str
    address: str
    metadata: dict[str, str]
    schema: dict[str, pl.DataType]
    rows: int
    part: str | None
    folder: FolderValues

    @property
    def local(self) -> Path | None:
        """The path of a file on this machine, links followed; None for any other."""
        scheme, _, rest = self.address.partition(":")
        return Path(rest).resolve() if scheme.lower() == "file" else None


def escaped(address: str) -> str:
    """Return the pattern that matches one address alone."""
    return PATTERN.sub(r"\\\1", address)


def is_address(item: str) -> bool:
    """Test whether an input is an address in one of Spark's file systems, such as ``s3a://census/2018``."""
    return ADDRESS.match(item) is not None


def read_footers(session: Any, inputs: Sequence[str]) -> tuple[SparkFile, ...]:
    """List the files of paths, addresses, patterns and folders, as ``rows.input_files.resolve_files`` does."""
    files: dict[object, tuple[str, Any]] = {}
    searched: set[str] = set()
    if not inputs:
        resolve_files(())
    for item in inputs:
        for name, path in _listed(session, item, searched):
            files.setdefault(_identity(path), (name, path))
    readers = ThreadPoolExecutor(READERS)
    try:
        return tuple(readers.map(lambda file: _read_footer(session, *file), files.values()))
    finally:  # a signal does not wait for a store that does not answer
        readers.shutdown(wait=False, cancel_futures=True)


def _listed(session: Any, item: str, searched: set[str]) -> Iterator[tuple[str, Any]]:
    """List the name, and the Hadoop ``Path``, of each file that an input stands for."""
    path, configuration = hadoop(session)
    if not is_address(item):
        for file in resolve_files([item]):
            yield str(file), path("file", None, str(Path(str(file)).absolute()))
        return
    with _file_system_errors(item):
        start = path(item)
        system = start.getFileSystem(configuration)
        matches = [system.getFileStatus(start)] if system.exists(start) else list(system.globStatus(start) or ())
        files: list[Any] = []
        listed: set[str] = set()
        for status in matches:
            if status.isDirectory():
                files += _below(system, status.getPath(), listed)
            else:
                files.append(status.getPath())
        folders = [status.getPath() for status in matches if status.isDirectory()]
        _refuse_tables(path, system, folders, files, listed, searched)
    if not files:
        raise MissingInputError(f"{item}: no such file; give Parquet files, a folder of them, or a quoted pattern")
    for file in files:
        yield str(file.toString()), file


def _below(system: Any, folder: Any, listed: set[str]) -> list[Any]:
    """List the Parquet files in a folder, and in its folders named ``COLUMN=VALUE``, as ``files_below`` does."""
    inside = sorted(system.listStatus(folder), key=lambda status: str(status.getPath()))
    folders = [each.getPath() for each in inside if each.isDirectory()]
    if not {str(each.getName()) for each in folders} & {kind.log for kind in TABLE_FORMATS}:
        listed.add(_address(folder))
    files = [each.getPath() for each in inside if each.isFile() and each.getPath().getName().endswith(".parquet")]
    inner = [each for each in folders if "=" in each.getName()]
    return [*files, *(file for each in inner for file in _below(system, each, listed))]


def _refuse_tables(
    path: Any, system: Any, folders: Sequence[Any], files: Sequence[Any], listed: Collection[str], searched: set[str]
) -> None:
    """Refuse what is in the folder of a table, as ``refuse_table_files`` does; a log that cannot be seen is none."""
    from py4j.protocol import Py4JError

    def logs(address: str) -> list[TableFormat]:
        found = []
        for kind in TABLE_FORMATS:
            inside = "" if kind.entry is None else f"/{kind.entry}"
            with suppress(Py4JError):  # a store may show nothing but what is below an address
                if system.globStatus(path(f"{escaped(address)}/{kind.log}{inside}")):
                    found.append(kind)
        return found

    asked: dict[str, str] = {}
    local: set[Path] = set()
    for place, above in [*((each, each) for each in folders), *((each, each.getParent()) for each in files)]:
        if place.toUri().getScheme() == "file":  # whose links lead elsewhere
            refuse_table_files([Path(str(place.toUri().getPath()))], local)
            continue
        while above is not None and (address := _address(above)) not in searched:
            searched.add(address)
            if address not in listed:
                asked[address] = str(place.toString())
            above = above.getParent()
    with ThreadPoolExecutor(READERS) as readers:
        for (address, given), found in zip(asked.items(), readers.map(logs, asked), strict=True):
            if found:
                raise table_error(given, address, found[0])


def _address(folder: Any) -> str:
    return str(folder.toString()).rstrip("/")


def _identity(path: Any) -> object:
    """Return what identifies a file, whatever names and links lead to it."""
    uri = path.toUri()
    if uri.getScheme() == "file":
        try:
            status = Path(str(uri.getPath())).stat()
        except OSError:
            return path.toString()
        return status.st_dev, status.st_ino
    return path.toString()


def _read_footer(session: Any, name: str, path: Any) -> SparkFile:
    with _file_system_errors(name):
        _, configuration = hadoop(session)
        system = path.getFileSystem(configuration)
        size = system.getFileStatus(path).getLen()
        with closing(system.open(path)) as stream:
            footer = read_footer(size, lambda start, length: _read(stream, start, length), name)
    alone = MAGIC + footer  # a file of which nothing but the footer is read
    try:
        scanned = pl.scan_parquet(io.BytesIO(alone))
        schema, rows = scanned.collect_schema(), scanned.select(pl.len()).collect().item()
        metadata = pl.read_parquet_metadata(io.BytesIO(alone))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise incomplete_file_error(name) from None
    carried = {key: value for key, value in metadata.items() if key == DOMAIN_KEY}
    folder = folder_values(name, schema)
    columns = {**schema, **dict.fromkeys(folder, pl.String())}
    part = footer_part(size, footer) if rows else None
    return SparkFile(name, str(path.toString()), carried, columns, rows, part, folder)


def read_rows(reader: Any, files: Sequence[SparkFile], columns: Collection[str], name: str) -> Any:
    """Read columns of files, those of their folders among them."""
    from pyspark.sql.functions import col, lit

    groups: dict[tuple[tuple[str, str | None], ...], list[SparkFile]] = {}
    for file in files:
        values = tuple((column, value) for column, value in file.folder.items() if column in columns)
        groups.setdefault(values, []).append(file)
    frames = []
    for values, members in groups.items():
        rows = reader.parquet(*(escaped(file.address) for file in members))
        if len(rows.inputFiles()) != len(members):
            raise DataError(f"{name}: Spark passes over files whose names begin with _ or a dot; rename them")
        given = {column: lit(value).cast("string").alias(column) for column, value in values}
        read = (given.get(column, col(_quoted(column))) for column in columns)
        frames.append(rows.select(*read) if given else rows)
    return reduce(lambda one, other: one.union(other), frames)


def read_beginning(session: Any, file: SparkFile) -> bytes:
    """Read the beginning of a file, in which small files differ where their footers do not."""
    with _file_system_errors(file.name):
        path, configuration = hadoop(session)
        place = path(file.address)
        with closing(place.getFileSystem(configuration).open(place)) as stream:
            return _read(stream, 0, BEGINNING)


def _read(stream: Any, start: int, length: int) -> bytes:
    stream.seek(start)
    return bytes(stream.readNBytes(length))


@contextmanager
def _file_system_errors(name: str) -> Iterator[None]:
    """Report errors of Spark's file systems as errors of this package."""
    from py4j.protocol import Py4JError

    try:
        yield
    except Py4JError:
        raise MissingInputError(
            f"{name}: cannot be opened by Spark; check the address, its permissions, and that Spark has its file system"
        ) from None


DAMAGED = ("FAILED_READ_FILE", "Parquet", "FileNotFound", "EOFException", "ChecksumException", "SchemaColumnConvert")
"""Parts of the names and conditions of Spark's errors where a file cannot be read."""


@contextmanager
def reported_stage(session: Any, rows: int | None) -> Iterator[None]:
    """Report how many of some rows the query within this block has read, by the finished tasks of its first stage."""
    if not is_watched():
        yield
        return
    from py4j.protocol import Py4JError

    total, unit = (1, "") if rows is None else (rows, "rows")
    tracker = session.sparkContext.statusTracker()
    first: list[int] = []

    def finished() -> float:
        try:
            first.extend(tracker.getActiveStageIds() if not first else ())
            known = tracker.getStageInfo(min(first)) if first else None
        except Py4JError:  # Spark is gone; the query itself tells
            return 0.0
        return total * known.numCompletedTasks / known.numTasks if known and known.numTasks else 0.0

    with poll_progress(begin_work(total, unit), finished):
        yield


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
    """Rows whose columns fit a domain, for Spark to count. Confidential."""

    session: Any
    rows: Any  # a ``pyspark.sql.DataFrame`` of the domain's columns, not computed yet
    kinds: Mapping[str, Kind]
    name: str
    parts: frozenset[str]  # digests of the files; empty for a table
    size: int | None = None  # rows by the files' footers; None for a table


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
    from pyspark.sql import types as known

    usual: dict[Kind | None, Any] = {
        Kind.INTEGER: known.LongType(),
        Kind.UNSIGNED: known.DecimalType(20, 0),
        Kind.FLOAT: known.DoubleType(),
        Kind.BOOLEAN: known.BooleanType(),
        Kind.DATE: known.IntegerType(),
    }

    def widest(column: str, type_: pl.DataType) -> Any:
        if type_ == pl.Float16:
            raise DataError(
                f"{name}: column {excerpt(column)} has type Float16, which Spark does not read; cast it to Float32"
            )
        if isinstance(type_, pl.Decimal):
            return known.DecimalType(WIDEST_DECIMAL, type_.scale)
        return usual.get(kind_of(type_), known.StringType())

    return known.StructType([known.StructField(column, widest(column, type_)) for column, type_ in types.items()])


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


@contextmanager
def opened(sources: Sequence[DataSource] | None, table: str | None) -> Iterator[SparkFiles | SparkTable]:
    """Open files, or a table of Spark's catalogs. The session begins when it is first used."""
    data = None if sources is None else [str(source.address) for source in sources]
    if table is None and data is None:
        raise UsageError(f"Missing argument 'DATA...': Parquet files, folders or patterns, or {option('table')}")
    if table is not None and data:
        raise UsageError(
            f"{option('table')} and DATA both say which rows to count; give one of them, or, for a database's table, "
            f"leave out {option('engine', 'spark')}"
        )
    if any(map(PASSWORD.search, (*(data or ()), table or ""))):
        raise UsageError("a password in an address can be read by every user of the machine; use Spark's configuration")
    with ExitStack() as stack:
        session = LazySession(stack)
        yield SparkFiles(data or (), session) if table is None else SparkTable(table, session)


@dataclass(frozen=True)
class LazySession:
    """A session of Spark that begins when it is first used."""

    stack: ExitStack

    @cached_property
    def spark(self) -> Any:
        return self.stack.enter_context(counting_session())


@dataclass(frozen=True)
class SparkFiles:
    """Parquet files that Spark reads."""

    data: Sequence[str]
    session: LazySession
    repeatable = True

    @cached_property
    def files(self) -> Sequence[DataFile]:
        """Those of this machine's files that are read; no output may replace them."""
        if not any(map(is_address, self.data)):
            return self._without_addresses
        return [*self._without_addresses, *(file.local for file in self._opened if file.local)]

    @property
    def names(self) -> Sequence[str]:
        if any(map(is_address, self.data)):
            return [str(file.local or file.address) for file in self._opened]
        return [str(Path(str(file)).resolve()) for file in self.files]

    def find_domain(self, dataset: str | None, label: str | None) -> ResolvedDomain:
        """Find the domain: of the entry named, in the files' metadata, or of an entry that claims the files."""
        named = dataset is not None and entry_and_file(dataset)[0] is not None
        opened = {} if named else {_place(file): file for file in self._opened}
        return find_domain([*opened], dataset, label, lambda name: opened[name].metadata)

    def check(self, domain: Domain) -> OpenedRows:
        """Check the columns in the files' footers, and that no file is a copy of another."""
        session = self.session.spark
        with_rows = [file for file in self._opened if file.part is not None]
        for first, second, *_ in find_copies(
            with_rows, lambda file: (file.part, *file.folder.items()), partial(read_beginning, session)
        ):
            raise copies_error(first.name, second.name)
        return OpenedRows(open_files(session, self._opened, domain), answer)

    @cached_property
    def _without_addresses(self) -> Sequence[DataFile]:
        paths = [item for item in self.data if not is_address(item)]
        return resolve_files(paths) if paths or not self.data else ()

    @cached_property
    def _opened(self) -> tuple[SparkFile, ...]:
        _ = self._without_addresses  # refused, if they are, before Java starts
        return read_footers(self.session.spark, self.data)


def _place(file: SparkFile) -> Path | str:
    """Return where a file is, for what may be beside it: its path as typed, that of this machine, or its address."""
    return file.local or file.name if is_address(file.name) else Path(file.name)


@dataclass(frozen=True)
class SparkTable:
    """A table or view in a catalog of Spark's."""

    table: str
    session: LazySession
    files: Sequence[DataFile] = ()
    repeatable = True

    @property
    def names(self) -> Sequence[str]:
        return [f"table {self.table}"]

    def find_domain(self, dataset: str | None, label: str | None) -> ResolvedDomain:
        """Take the domain of a catalogue entry, since a table carries none."""
        if dataset is None:
            raise UsageError(
                f"table {self.table}: carries no domain; name an entry of datasets.toml with {option('dataset')}"
            )
        return find_domain([], dataset, label)

    def check(self, domain: Domain) -> OpenedRows:
        return OpenedRows(open_table(self.session.spark, self.table, domain), answer)
