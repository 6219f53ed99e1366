"""CONFIDENTIAL. Counts in files from elsewhere, CSV or Parquet, read within bounds of size."""

from __future__ import annotations

import codecs
import gzip
import zlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from dpnb_columnar.counting.statistics import Cells, Statistics, assemble, cells_part
from dpnb_columnar.domain import Domain, digest
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.parquet import is_plain, is_text

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

# MERGED FROM dpnb_columnar/counting/query_results.py: CONFIDENTIAL. Statistics that a database has counted: the
# result of ``sql statistics``, checked against a domain.

NUMBERS = ("class", "code", "count")
COLUMNS = ("attribute", *NUMBERS, "domain")
"""Columns of the result, in any order and in upper or lower case."""


def statistics_of(result: pl.DataFrame, domain: Domain, source: object) -> Statistics:
    """Statistics from the result of the statistics query.

    Args:
        result: One row per cell: ``attribute`` (null or empty for the class counts), ``class``, ``code``, ``count``
            (whole numbers of any type, or their text), and ``domain``, the digest of the domain it was counted in.
        domain: The domain it must have been counted in.
        source: Where it comes from, for messages.

    Raises:
        DataError: A column is missing, a number is none, a cell stands in two rows, the domain is another, or the
            counts do not fit it. The text holds no count.
    """
    import polars as pl

    names = {name.lower(): name for name in result.columns}
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise DataError(
            f"{source}: not the result of a statistics query: column {', '.join(missing)} is missing; make the query "
            "with dpnb-columnar sql statistics"
        )
    if odd := [name for name in COLUMNS if not _is_plain(result.schema[names[name]])]:
        raise DataError(
            f"{source}: not the result of a statistics query: column {', '.join(odd)} holds neither numbers nor text; "
            "export the result anew"
        )
    frame = result.select(
        pl.col(names["attribute"]).cast(pl.String).replace("", None).alias("attribute"),
        *(_whole(names[name]).alias(name) for name in NUMBERS),
        pl.col(names["domain"]).cast(pl.String).alias("domain"),
    )
    if not frame.filter(pl.any_horizontal(pl.col(*NUMBERS).is_null())).is_empty():
        raise DataError(f"{source}: class, code or count is not a whole number in some row; export the result anew")
    if not set(frame["domain"].unique()) <= {digest(domain)}:
        raise DataError(
            f"{source}: was counted in another domain than {domain.name!r} as declared now; name the right one with "
            "--dataset or --domain, or make the query again with dpnb-columnar sql statistics and run it"
        )
    if frame.select("attribute", "class", "code").is_duplicated().any():
        raise DataError(
            f"{source}: a cell stands in more than one row, so people would count twice; export the result of one run "
            "of the query, and give the results of several parts as files of their own"
        )
    if (frame["count"] < 0).any():
        raise DataError(f"{source}: a count is below zero; run the query anew, and export all of its rows")
    try:
        statistics = assemble(domain, cells_of(frame))
    except ValueError as error:
        raise DataError(f"{source}: {error}; run the query anew, and export all of its rows") from None
    return replace(statistics, parts=cells_part(statistics.cells()))


def cells_of(frame: pl.DataFrame) -> list[Cells]:
    """The long form as cells per attribute.

    Args:
        frame: Columns attribute (text, null for the class counts), class, code, count (whole numbers, none null).
    """
    return [
        Cells(None if name is None else str(name), *(part[field].to_numpy() for field in NUMBERS))
        for (name,), part in frame.group_by("attribute", maintain_order=True)
    ]


def _is_plain(type_: pl.DataType) -> bool:
    """Whether values of the type have a text that spells them."""
    import polars as pl

    return type_.is_numeric() or type_ in (pl.String, pl.Categorical, pl.Enum, pl.Null)


def _whole(name: str) -> pl.Expr:
    """The column as 64-bit integers, null where it holds something else."""
    import polars as pl

    text = pl.col(name).cast(pl.String).str.replace(r"\.0*$", "")
    return text.cast(pl.Int64, strict=False)


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
