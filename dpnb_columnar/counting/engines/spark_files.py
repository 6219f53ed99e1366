"""Parquet files as Spark finds them: local ones, and those at addresses that only Spark's file systems open.

Only their footers are read here, and understood by the code that reads those of local files.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dpnb_columnar.counting.statistics import MAGIC, TRAILER, footer_part
from dpnb_columnar.domain.metadata import DOMAIN_KEY
from dpnb_columnar.errors import DataError, MissingInputError
from dpnb_columnar.rows.parquet import resolve_files

ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
"""How an address begins; a path of Windows has one letter there."""

PATTERN = re.compile(r"([\\{}\[\]*?])")
"""Letters by which a name would be a pattern to Spark."""

READERS = 16
"""Footers that are read at once: each is one or two requests to a store."""


@dataclass(frozen=True, slots=True)
class SparkFile:
    """A Parquet file, by its footer.

    Attributes:
        name: Its path or address, as messages call it.
        address: The same for Spark.
        metadata: The domain that it carries, as in its key-value metadata.
        schema: Its columns and their types.
        part: What tells it from other files (``aggregation.parts``); None for one without rows.
    """

    name: str
    address: str
    metadata: dict[str, str]
    schema: dict[str, pl.DataType]
    part: str | None

    @property
    def local(self) -> Path | None:
        """The file itself, links followed, if it is one of this machine."""
        scheme, _, rest = self.address.partition(":")
        return Path(rest).resolve() if scheme.lower() == "file" else None

    @property
    def pattern(self) -> str:
        """The pattern that stands for this file alone."""
        return PATTERN.sub(r"\\\1", self.address)


def is_address(item: str) -> bool:
    """Whether a path is one of Spark's file systems, such as ``s3a://census/2018``."""
    return ADDRESS.match(item) is not None


def opened(session: Any, items: Sequence[str]) -> tuple[SparkFile, ...]:
    """The files that paths, addresses, patterns and folders stand for, as ``rows.source.resolve`` finds them.

    Args:
        session: A session of Spark.
        items: Paths without a scheme are of this machine, whatever Spark's own file system is.

    Raises:
        MissingInputError: There is none, one stands for no file, or cannot be opened.
        DataError: A file is not Parquet.
    """
    found: dict[object, tuple[str, Any]] = {}
    if not items:
        resolve_files(())
    for item in items:
        for name, path in _listed(session, item):
            found.setdefault(_identity(path), (name, path))
    readers = ThreadPoolExecutor(READERS)
    try:
        return tuple(readers.map(lambda each: _opened(session, *each), found.values()))
    finally:  # a signal does not wait for a store that does not answer
        readers.shutdown(wait=False, cancel_futures=True)


def _listed(session: Any, item: str) -> Iterator[tuple[str, Any]]:
    path = session._jvm.org.apache.hadoop.fs.Path
    if not is_address(item):
        for file in resolve_files([item]):
            yield str(file), path("file", None, str(file.absolute()))
        return
    with _reported(item):
        start = path(item)
        system = start.getFileSystem(session._jsc.hadoopConfiguration())
        found = [system.getFileStatus(start)] if system.exists(start) else list(system.globStatus(start) or ())
        files = []
        for status in found:
            if status.isDirectory():
                inside = [each for each in system.listStatus(status.getPath()) if each.isFile()]
                inside = [each for each in inside if each.getPath().getName().endswith(".parquet")]
                files += sorted((each.getPath() for each in inside), key=str)
            else:
                files.append(status.getPath())
    if not files:
        raise MissingInputError(f"{item}: no such file; give Parquet files, a folder of them, or a quoted pattern")
    for file in files:
        yield str(file.toString()), file


def _identity(path: Any) -> object:
    """What is the same for one file, whatever leads to it."""
    uri = path.toUri()
    if uri.getScheme() == "file":
        try:
            status = Path(str(uri.getPath())).stat()
        except OSError:
            return path.toString()
        return status.st_dev, status.st_ino
    return path.toString()


def _opened(session: Any, name: str, path: Any) -> SparkFile:
    with _reported(name):
        system = path.getFileSystem(session._jsc.hadoopConfiguration())
        size = system.getFileStatus(path).getLen()
        stream = system.open(path)
        try:
            stream.seek(max(size - TRAILER, 0))
            trailer = bytes(stream.readNBytes(TRAILER))
            length = int.from_bytes(trailer[:4], "little") + TRAILER
            if trailer[4:] != MAGIC or length > size:
                raise _not_parquet(name)
            stream.seek(size - length)
            footer = bytes(stream.readNBytes(length))
        finally:
            stream.close()
    return _understood(name, str(path.toString()), size, footer)


def _understood(name: str, address: str, size: int, footer: bytes) -> SparkFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    alone = MAGIC + footer  # a file of which nothing but the footer is looked at
    try:
        schema = pl.scan_parquet(io.BytesIO(alone)).collect_schema()
        metadata = pl.read_parquet_metadata(io.BytesIO(alone))
        rows = pq.read_metadata(pa.BufferReader(alone)).num_rows
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, OSError):
        raise _not_parquet(name) from None
    carried = {key: value for key, value in metadata.items() if key == DOMAIN_KEY}
    return SparkFile(name, address, carried, dict(schema), footer_part(size, footer) if rows else None)


@contextmanager
def _reported(name: str) -> Iterator[None]:
    """Errors of Spark's file systems in our words."""
    from py4j.protocol import Py4JError

    try:
        yield
    except Py4JError:
        raise MissingInputError(
            f"{name}: cannot be opened by Spark; check the address, its permissions, and that Spark has its file system"
        ) from None


def _not_parquet(name: str) -> DataError:
    return DataError(f"{name}: not a complete Parquet file (damaged or cut short); write or copy it again")
