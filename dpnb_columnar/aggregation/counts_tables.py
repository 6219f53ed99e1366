"""CONFIDENTIAL. Counts in files from elsewhere, CSV or Parquet, read within bounds of size."""

from __future__ import annotations

import codecs
import gzip
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from dpnb_columnar.aggregation.results import COLUMNS
from dpnb_columnar.errors import DataError
from dpnb_columnar.plain_types import is_plain, is_text

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

LARGEST_TABLE = 2**31
"""Bytes of the columns of a statistics file, unpacked; a large file may have more."""

LARGEST_RATIO = 64
"""Times that a file's columns may be larger than the file itself, when they are larger than that: what is read into
memory is in proportion to what is there. Statistics of a hundred million cells are seven to twelve times as large."""

BYTES_OF_A_CELL = 28
"""Of a row of a statistics file in memory: three numbers, and the place of a text."""

LARGEST_RESULT = 2**29
"""Bytes of the result of a query as CSV, unpacked."""

GZIP_SIGNATURE = b"\x1f\x8b"


def read_delimited(path: Path) -> pl.DataFrame:
    """A CSV file with a header line, which may be compressed with gzip; every field as text.

    Raises:
        FileNotFoundError: There is none.
        DataError: It is no such file, or larger than any result.
    """
    import polars as pl

    problem = DataError(f"{path}: not a CSV file with the header {','.join(COLUMNS)}; export the query's result anew")
    try:
        content = _content(path)
        if not content[:2].isalpha():  # Polars would unpack what begins like a compressed file
            raise problem
        return pl.read_csv(content, infer_schema=False)
    except FileNotFoundError:
        raise
    except (pl.exceptions.PolarsError, OSError, EOFError, zlib.error):
        raise problem from None


def read_table(path: Path) -> pa.Table:
    """The columns of a Parquet file that counts stand in, texts as dictionaries; with the file's metadata.

    Raises:
        OSError, pyarrow.ArrowException: It cannot be read.
        ValueError: It holds other types, or more, than statistics do.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        names, texts = _columns(file)
        groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
        unpacked = max(BYTES_OF_A_CELL * file.metadata.num_rows, sum(group.total_byte_size for group in groups))
    most = max(LARGEST_TABLE, LARGEST_RATIO * path.stat().st_size)
    if unpacked > most:
        raise ValueError("more than any statistics of a file so small")
    table = pq.read_table(path, columns=names, read_dictionary=texts)  # else a text would be repeated in every row
    _check_texts(table, most)
    return table


def _content(path: Path) -> bytes:
    """The bytes of a file, unpacked where it is compressed with gzip.

    Raises:
        DataError: They are more than any result has.
        OSError, EOFError, zlib.error: They cannot be read.
    """
    with path.open("rb") as raw:
        compressed = raw.read(len(GZIP_SIGNATURE)) == GZIP_SIGNATURE
        raw.seek(0)
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if compressed else raw
        content = stream.read(LARGEST_RESULT + 1)
    if len(content) > LARGEST_RESULT:
        raise DataError(f"{path}: larger than {LARGEST_RESULT >> 20} MiB; export the query's result as Parquet")
    return content.removeprefix(codecs.BOM_UTF8)


def _columns(file: pq.ParquetFile) -> tuple[list[str], list[str]]:
    """The columns that counts stand in, seen to be such before a row is read, and those of them that hold text.

    Raises:
        ValueError: There are other types than statistics have, or two columns of one name.
    """
    fields = [field for field in file.schema_arrow if field.name.lower() in COLUMNS]
    if len({field.name.lower() for field in fields}) < len(fields) or not all(is_plain(field.type) for field in fields):
        raise ValueError("no columns of counts")
    return [field.name for field in fields], [field.name for field in fields if is_text(field.type)]


def _check_texts(table: pa.Table, most: int) -> None:
    """Refuse texts that are small in a dictionary, and more than so many bytes where each row has its own.

    Raises:
        ValueError: They are.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for column in table.columns:
        if pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
            longest = max(
                (pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0 for chunk in column.chunks), default=0
            )
            if longest * len(column) > most:
                raise ValueError("longer texts than any statistics have")
