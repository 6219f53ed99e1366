"""The files of extracts on disk: plain, compressed, in an archive, or Parquet; each opened as one stream of bytes."""

from __future__ import annotations

import fnmatch
import glob
import gzip
import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from dpnb_columnar.domain.names import named
from dpnb_columnar.errors import DataError, MissingInputError, UsageError
from dpnb_columnar.rows.input_files import find_copies, resolve_files
from dpnb_columnar.runtime.unfinished import exists, is_folder

Progress = Callable[[int], None]
"""Called with the number of bytes just read from disk."""

ACS_PERSONS = "psam_p*.csv"
"""Names of the persons' files in an archive of the Census Bureau."""

PARQUET_SUFFIX = ".parquet"

GZIP_MAGIC = b"\x1f\x8b"
GZIP_TRAILER = 4
"""Bytes at the end of a gzip file that state the size of its content, modulo 2^32."""
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Accepted compression methods: none of them allocates memory of a size that the archive names."""

MOST_MEMBERS = 10_000
"""Most files in an archive."""

BUFFER = 2**20
"""Bytes read from disk at a time."""

BEGINNING = 2**16
"""Bytes by which extracts of one size are told apart before they are compared to the end."""

FileState: TypeAlias = tuple[int, int, int]
"""Number, size and time of the last change of a file."""


class FileKind(StrEnum):
    """How a file of rows is laid out."""

    FIXED_WIDTH = "fixed-width text"
    DELIMITED = "CSV"
    PARQUET = "Parquet"


@dataclass(frozen=True, slots=True)
class Extract:
    """One file of rows; ``member`` is a file within an archive, None where ``path`` is none."""

    path: Path
    member: str | None
    kind: FileKind
    state: FileState | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.path}" if self.member is None else f"{self.path} ({named([self.member])})"


def find_extracts(paths: Sequence[Path]) -> tuple[Extract, ...]:
    """List the files of rows at some paths, in their order."""
    if not paths:
        raise UsageError("no extract; give IPUMS files (.dat, .csv, each also as .gz), ACS archives (.zip) or Parquet")
    seen: dict[tuple[int, int], Path] = {}
    extracts: list[Extract] = []
    for path in (file for typed in paths for file in _files_at(typed)):
        with _file_errors(path):
            status = path.stat()
            with path.open("rb"):  # a file without permission
                pass
        if seen.setdefault((status.st_dev, status.st_ino), path) is not path:
            raise UsageError(f"{path}: is given twice; each row belongs into the output once")
        extracts += (replace(extract, state=_state(status)) for extract in _extracts_at(path))
    return tuple(extracts)


def _files_at(typed: Path) -> Iterator[Path]:
    """List the files that a path, a folder of Parquet or a pattern stands for."""
    with _file_errors(typed):
        is_several = is_folder(typed) or (glob.has_magic(str(typed)) and not exists(typed))
    if is_several or typed.suffix.lower() == PARQUET_SUFFIX:  # a file of a lake's table is refused
        yield from (Path(str(file)) for file in resolve_files([typed]))
    else:
        yield typed


def refuse_changed(extract: Extract) -> None:
    """Refuse an extract that was written to since it was found: rows may be missing, or cut."""
    with _file_errors(extract.path):
        state = _state(extract.path.stat())
    if extract.state is not None and state != extract.state:
        raise DataError(f"{extract.path}: changed while it was read; start again when it is complete")


def _state(status: os.stat_result) -> FileState:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _extracts_at(path: Path) -> Iterator[Extract]:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    match suffixes[-1:]:
        case [".dat"]:
            yield Extract(path, None, FileKind.FIXED_WIDTH)
        case [".csv"]:
            yield Extract(path, None, FileKind.DELIMITED)
        case [".zip"]:
            for member in _person_files(path):
                yield Extract(path, member, FileKind.DELIMITED)
        case [suffix] if suffix == PARQUET_SUFFIX:
            yield Extract(path, None, FileKind.PARQUET)
        case _:
            raise UsageError(
                f"{path}: its name does not say what it holds; name fixed-width extracts .dat, delimited ones .csv "
                "(or .dat.gz, .csv.gz), ACS archives .zip, Parquet .parquet"
            )


def _person_files(path: Path) -> list[str]:
    """List the persons' files in an archive, after checking that they can be unpacked."""
    unknown = DataError(f"{path}: is encrypted or packed in an unknown way; unpack it and give the .csv")
    try:
        with _file_errors(path), zipfile.ZipFile(path) as archive:
            if len(archive.filelist) > MOST_MEMBERS:
                raise DataError(f"{path}: holds more than {MOST_MEMBERS} files; unpack it and give the .csv")
            members = sorted(fnmatch.filter(archive.namelist(), ACS_PERSONS))
            if len(set(members)) < len(members):
                raise DataError(f"{path}: holds two files of one name, so people might count twice; get it again")
            for member in members:
                archive.open(member).close()
            if any(archive.getinfo(member).compress_type not in METHODS for member in members):
                raise unknown
    except RuntimeError:  # zipfile raises it for passwords, and for methods and versions that it does not know
        raise unknown from None
    if not members:
        raise DataError(f"{path}: holds no {ACS_PERSONS}; give an ACS archive of persons, such as csv_pvt.zip")
    return members


def refuse_copies(extracts: Sequence[Extract]) -> None:
    """Refuse extracts of which one has the content of another: plain, compressed or in an archive."""
    beginning = partial(_content_digest, most=BEGINNING)
    for first, second, *_ in find_copies(extracts, _content_size, beginning, _content_digest):
        raise DataError(
            f"{first} and {second} have the same content: each row belongs into the output once; drop one, or, if they "
            "hold different people, write these into one file"
        )


def _content_size(extract: Extract) -> int:
    """Return the size of an extract's content in bytes, modulo 2^32, as a compressed file states it."""
    with _file_errors(extract.path), extract.path.open("rb") as stream:
        if extract.member is not None:
            with zipfile.ZipFile(stream) as archive:
                return archive.getinfo(extract.member).file_size % 2**32
        packed = stream.read(2) == GZIP_MAGIC
        size = stream.seek(0, os.SEEK_END)
        if not packed or size < GZIP_TRAILER:
            return size % 2**32
        stream.seek(-GZIP_TRAILER, os.SEEK_END)
        return int.from_bytes(stream.read(), "little")


def _content_digest(extract: Extract, most: int | None = None) -> bytes:
    """Return the digest of an extract's content, or of its beginning of so many bytes."""
    with open_extract(extract) as stream:
        if most is not None:
            return hashlib.sha256(stream.read(most)).digest()
        digest = hashlib.sha256()
        while block := stream.read(BUFFER):
            digest.update(block)
        return digest.digest()


def bytes_on_disk(extracts: Sequence[Extract]) -> int:
    """Sum the bytes to be read from disk, as the measure of progress."""
    return sum(path.stat().st_size for path in {extract.path for extract in extracts})


@contextmanager
def open_extract(extract: Extract, progress: Progress | None = None) -> Iterator[IO[bytes]]:
    """Open an extract as uncompressed bytes; errors while they are read are raised as errors of this program."""
    with (
        _file_errors(extract.path),
        _CountedFile(extract.path, progress) as disk,
        io.BufferedReader(disk, BUFFER) as buffered,
    ):
        if extract.member is not None:
            with zipfile.ZipFile(buffered) as archive, archive.open(extract.member) as stream:
                yield stream
        elif buffered.peek(2)[:2] == GZIP_MAGIC:
            with gzip.GzipFile(fileobj=buffered) as unpacked:
                yield cast(IO[bytes], unpacked)
        else:
            yield buffered


class _CountedFile(io.FileIO):
    """A file that reports how many bytes are read from it."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        super().__init__(path)
        self._progress = progress

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        if self._progress is not None and count:
            self._progress(count)
        return count


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    """Raise errors of the operating system and the decompressors as one line about the file."""
    try:
        yield
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError, UnicodeDecodeError):
        raise DataError(f"{path}: cannot be read to the end (damaged or cut short); get it again") from None
    except OSError as error:
        raise MissingInputError(
            f"{path}: cannot be read: {error.strerror or 'input/output error'}; check the path and its permissions"
        ) from None
