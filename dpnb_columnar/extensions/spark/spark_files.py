"""List Parquet files for Spark and read their footers: local files, and files at addresses of Spark's file systems.

A footer is parsed by the code that parses those of local files, so that a file has the same types and digest wherever
it is.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import polars as pl

from dpnb_columnar.counting.countable import BEGINNING, footer_part
from dpnb_columnar.domain.declaration import DOMAIN_KEY
from dpnb_columnar.errors import DataError, MissingInputError
from dpnb_columnar.extensions.spark.spark_session import hadoop
from dpnb_columnar.rows.input_files import (
    MAGIC,
    FolderValues,
    folder_values,
    incomplete_file_error,
    read_footer,
    resolve_files,
)
from dpnb_columnar.rows.sources import TABLE_FORMATS, TableFormat, refuse_table_files, table_error

ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
"""Beginning of an address; a Windows path has one letter before the colon."""

PATTERN = re.compile(r"([\\{}\[\]*?])")
"""Characters that would make a name a pattern to Spark."""

READERS = 16
"""Footers that are read at the same time; each takes one or two requests to an object store."""


@dataclass(frozen=True, slots=True)
class SparkFile:
    """A Parquet file, by its footer.

    Attributes:
        name: Its path or address, for messages.
        address: Its address in Spark's form.
        metadata: The entry of its key-value metadata that holds a domain, if there is one.
        schema: Name and type of each column.
        rows: Number of its rows.
        part: Its digest (``countable.footer_part``); None for a file without rows.
        folder: Columns in the names of its folders, and their values.
    """

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

    @property
    def pattern(self) -> str:
        """The pattern that matches this file alone."""
        return escaped(self.address)


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
    """Refuse what is in the folder of a table, as ``refuse_table_files`` does; a log that cannot be seen is none.

    Args:
        searched: Addresses of folders that were searched, with those above them; these are added.
    """
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
        stream = system.open(path)
        try:
            footer = read_footer(size, lambda start, length: _read(stream, start, length), name)
        finally:
            stream.close()
    return _parse_footer(name, str(path.toString()), size, footer)


def read_rows(reader: Any, files: Sequence[SparkFile], columns: Collection[str], name: str) -> Any:
    """Read columns of files, those of their folders among them."""
    from pyspark.sql.functions import col, lit

    groups: dict[tuple[tuple[str, str | None], ...], list[SparkFile]] = {}
    for file in files:
        values = tuple((column, value) for column, value in file.folder.items() if column in columns)
        groups.setdefault(values, []).append(file)
    frames = []
    for values, members in groups.items():
        rows = reader.parquet(*(file.pattern for file in members))
        if len(rows.inputFiles()) != len(members):
            raise DataError(f"{name}: Spark passes over files whose names begin with _ or a dot; rename them")
        given = {column: lit(value).cast("string").alias(column) for column, value in values}
        read = (given.get(column, col(f"`{column.replace('`', '``')}`")) for column in columns)
        frames.append(rows.select(*read) if given else rows)
    return reduce(lambda one, other: one.union(other), frames)


def read_beginning(session: Any, file: SparkFile) -> bytes:
    """Read the beginning of a file, in which small files differ where their footers do not."""
    with _file_system_errors(file.name):
        path, configuration = hadoop(session)
        place = path(file.address)
        stream = place.getFileSystem(configuration).open(place)
        try:
            return _read(stream, 0, BEGINNING)
        finally:
            stream.close()


def _read(stream: Any, start: int, length: int) -> bytes:
    stream.seek(start)
    return bytes(stream.readNBytes(length))


def _parse_footer(name: str, address: str, size: int, footer: bytes) -> SparkFile:
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
    return SparkFile(name, address, carried, columns, rows, footer_part(size, footer) if rows else None, folder)


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
