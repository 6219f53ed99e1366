"""Raw files of a data set: found below a folder, and exactly the bytes the catalogue declares."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import Path

from dpnb_columnar.domain.catalogue import Entry
from dpnb_columnar.errors import DataError, MissingInputError

COMPRESSED = ".gz"
"""A file with this ending is known by the checksum of its content: recompressing it changes the bytes only."""


def verified(entry: Entry, folder: Path) -> tuple[Path, ...]:
    """The entry's raw files in the order of the catalogue, each with the declared checksum.

    A file declared as ``name.gz`` may also lie there uncompressed, as ``name``.

    Raises:
        MissingInputError: Files are not there (all are named), or cannot be read.
        DataError: A file has another checksum, or is damaged.
    """
    found = {relative: located(folder / relative) for relative in entry.raw}
    if absent := [relative for relative, path in found.items() if path is None]:
        lines = "".join(f"\n  {folder / relative} (SHA-256 {entry.raw[relative]})" for relative in absent)
        raise MissingInputError(
            f"{entry.name}: {len(absent)} raw file(s) not found:{lines}\n"
            f"Put them there, or name another folder. Source: {entry.source}"
        )
    paths = tuple(path for path in found.values() if path is not None)
    for path, expected in zip(paths, entry.raw.values(), strict=True):
        actual = checksum(path)
        if actual != expected.lower():
            raise DataError(
                f"{path}: not the file that {entry.name} declares: expected SHA-256 {expected}, found {actual}; "
                f"get the file again, from: {entry.source}"
            )
    return paths


def located(path: Path) -> Path | None:
    """The file itself or, for ``name.gz``, the same file uncompressed; None when neither is there."""
    candidates = [path, path.with_suffix("")] if path.suffix == COMPRESSED else [path]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def checksum(path: Path) -> str:
    """Hexadecimal SHA-256 of a file's bytes; of the uncompressed content where the name ends in ``.gz``.

    The file is read piece by piece.

    Raises:
        MissingInputError: It cannot be read.
        DataError: It is not a complete gzip file.
    """
    try:
        with gzip.open(path) if path.suffix == COMPRESSED else path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise DataError(f"{path}: not a complete gzip file; get it again") from None
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}") from None
