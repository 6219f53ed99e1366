"""The content of a codebook file, decompressed, and never more of it than a codebook can sensibly have."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from dpnb_columnar.errors import ConfigurationError, MissingInputError

LARGEST_CODEBOOK = 64 * 2**20
"""Bytes after decompression; the codebook of every variable of IPUMS USA has a tenth of that."""

GZIP_SIGNATURE = b"\x1f\x8b"
CHUNK = 2**24
"""Bytes of a piece. An XML parser scans an unfinished token again with every piece, so pieces must not be many."""


def read_chunks(path: Path) -> Iterator[bytes]:
    """Read a codebook file piece by piece, decompressed where its first bytes are those of gzip.

    Raises:
        MissingInputError: If the file cannot be read.
        ConfigurationError: If a gzip file is damaged, or the content is larger than any codebook.
    """
    total = 0
    try:
        with path.open("rb") as raw:
            compressed = raw.read(len(GZIP_SIGNATURE)) == GZIP_SIGNATURE
            raw.seek(0)
            file = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if compressed else raw
            while chunk := file.read(CHUNK):
                total += len(chunk)
                if total > LARGEST_CODEBOOK:
                    raise ConfigurationError(
                        f"{path}: larger than {LARGEST_CODEBOOK >> 20} MiB; give the codebook, not the data"
                    )
                yield chunk
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise ConfigurationError(f"{path}: ends early or is damaged; get the codebook again") from None
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}; give the extract's codebook") from None


def read_content(path: Path) -> str:
    """Read a whole codebook file as text.

    Raises:
        MissingInputError: If the file cannot be read.
        ConfigurationError: If the file is too large, damaged, or not UTF-8.
    """
    try:
        return b"".join(read_chunks(path)).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: not UTF-8 text; save the codebook as UTF-8") from None
