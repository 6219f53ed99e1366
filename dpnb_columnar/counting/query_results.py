"""Read counts from files of any origin, and check the result of ``sql statistics`` against a domain. CONFIDENTIAL.

A CSV or Parquet file may unpack to far more than its own size, so what is read into memory is bounded.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Collection, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from dpnb_columnar.counting.statistics import Cells, Statistics, assemble, cells_part
from dpnb_columnar.domain import Domain, digest
from dpnb_columnar.domain.names import named
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.parquet import is_plain, is_text

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

NUMBERS = ("class", "code", "count")
COLUMNS = ("attribute", *NUMBERS, "domain")
"""Columns of the result of ``sql statistics``, in any order and in upper or lower case."""

SCORE_NUMBERS = ("class", "bin", "count")
SCORE_COLUMNS = (*SCORE_NUMBERS, "domain", "scores")
"""Columns of the result of ``sql statistics --given`` where the model waits for counts of its scores."""

GRADIENT_TEXTS = ("domain", "gradient")
"""Columns of texts in that result where it waits for a round's sums; the others depend on the round."""


class Kind(Enum):
    """A kind of statistics; its value is the columns by which the result of a query is recognised."""

    CELLS = COLUMNS
    SCORES = SCORE_COLUMNS
    SUMS = GRADIENT_TEXTS


LARGEST_TABLE = 2**31
"""Bytes of the columns of a statistics file, unpacked; a file that is large itself may have more."""

LARGEST_RATIO = 64
"""Largest ratio of a file's unpacked columns to the file itself, where the columns are larger than ``LARGEST_TABLE``.
Statistics of a hundred million cells unpack to seven to twelve times the size of their file."""

BYTES_OF_A_CELL = 28
"""Bytes of a row of a statistics file in memory: three numbers, and the place of a text in a dictionary."""

LARGEST_RESULT = 2**29
"""Bytes of the result of a query as CSV, unpacked."""

GZIP_SIGNATURE = b"\x1f\x8b"


def read_delimited(path: Path, columns: Sequence[str] = COLUMNS) -> pl.DataFrame:
    """Read a CSV file with a header line, compressed with gzip or not; every field as text.

    Args:
        path: The file.
        columns: Columns that it should have, for messages.

    Raises:
        DataError: if the file cannot be read, is not such a file, or is larger than any result.
    """
    import polars as pl

    problem = DataError(f"{path}: not a CSV file with the header {','.join(columns)}; export the query's result anew")
    try:
        content = _content(path)
        if not content[:2].isalpha():  # Polars would unpack a file that begins like a compressed one
            raise problem
        return pl.read_csv(content, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError, EOFError, zlib.error):
        raise problem from None


def _content(path: Path) -> bytes:
    """Read the bytes of a file, unpacked where it is compressed with gzip, without a byte order mark.

    Raises:
        DataError: if they are more than ``LARGEST_RESULT``.
        OSError, EOFError, zlib.error: if they cannot be read.
    """
    with path.open("rb") as raw:
        compressed = raw.read(len(GZIP_SIGNATURE)) == GZIP_SIGNATURE
        raw.seek(0)
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if compressed else raw
        content = stream.read(LARGEST_RESULT + 1)
    if len(content) > LARGEST_RESULT:
        raise DataError(f"{path}: larger than {LARGEST_RESULT >> 20} MiB; export the query's result as Parquet")
    return content.removeprefix(codecs.BOM_UTF8)


def read_table(path: Path, more: Collection[str] = ()) -> pa.Table:
    """Read the columns of counts from a Parquet file, texts as dictionaries, with the file's metadata.

    Args:
        path: The file.
        more: Columns to read beside those by which results are recognised, in lower case.

    Raises:
        OSError, pyarrow.ArrowException: if the file cannot be read.
        ValueError: if a column has another type than statistics have, or is larger than statistics in such a file.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        names, texts = _count_columns(file, more)
        groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
        unpacked = max(BYTES_OF_A_CELL * file.metadata.num_rows, sum(group.total_byte_size for group in groups))
    most = max(LARGEST_TABLE, LARGEST_RATIO * path.stat().st_size)
    if unpacked > most:
        raise ValueError("more than any statistics of a file so small")
    table = pq.read_table(path, columns=names, read_dictionary=texts)  # else a text would be repeated in every row
    table.validate(full=True)  # a damaged file may hold dictionary codes that are in no dictionary, which others trust
    _check_texts(table, most)
    return table


def _count_columns(file: pq.ParquetFile, more: Collection[str]) -> tuple[list[str], list[str]]:
    """List the columns of counts, and those of them that hold text, by the footer alone.

    Raises:
        ValueError: if a column has another type than statistics have, or two columns share a name.
    """
    wanted = {*more, *(name for kind in Kind for name in kind.value)}
    fields = [field for field in file.schema_arrow if field.name.lower() in wanted]
    if len({field.name.lower() for field in fields}) < len(fields) or not all(is_plain(field.type) for field in fields):
        raise ValueError("no columns of counts")
    return [field.name for field in fields], [field.name for field in fields if is_text(field.type)]


def _check_texts(table: pa.Table, most: int) -> None:
    """Check that a table's texts take at most so many bytes once every row holds its own, not a dictionary.

    Raises:
        ValueError: if they take more.
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


def statistics_of(result: pl.DataFrame, domain: Domain, source: object) -> Statistics:
    """Check the result of the statistics query, and return its counts as statistics.

    Args:
        result: One row per cell: ``attribute`` (null or empty for the class counts), ``class``, ``code``, ``count``
            (whole numbers of any type, or their text), and ``domain``, the digest of the domain it was counted in.
            Confidential.
        domain: The domain it must have been counted in.
        source: Name of the file or database in messages.

    Raises:
        DataError: if a column is missing, a field is not a whole number, a cell stands in two rows, the domain is
            another, or the counts do not fit it. The message holds no count.
    """
    frame = checked_columns(result, NUMBERS, ("attribute", "domain"), source, Kind.CELLS)
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


def checked_columns(
    result: pl.DataFrame, numbers: Sequence[str], texts: Sequence[str], source: object, kind: Kind
) -> pl.DataFrame:
    """Return the columns of the result of a query, whole numbers as 64-bit integers and texts as text.

    Args:
        result: The result, its columns in any order and in upper or lower case. Confidential.
        numbers: Columns of whole numbers of any type, or of their text; none is missing.
        texts: Columns of text; empty ones are null.
        source: Name of the file or database in messages.
        kind: What they are.

    Raises:
        DataError: if a column is missing or holds something else. The message holds no count.
    """
    import polars as pl

    names = {name.lower(): name for name in result.columns}
    columns = [*texts, *numbers]
    missing = [name for name in columns if name not in names]
    other = kind_of_columns(names) if missing else kind
    if other is not None and other is not kind:
        raise of_another_kind(source, other, kind)
    if missing:
        command = "sql statistics" if kind is Kind.CELLS else "sql statistics --given MODEL"
        raise DataError(
            f"{source}: not the result of a statistics query: column {named(missing)} is missing; make the query "
            f"with dpnb-columnar {command}"
        )
    if unreadable := [name for name in columns if not _has_text(result.schema[names[name]])]:
        raise DataError(
            f"{source}: not the result of a statistics query: column {', '.join(unreadable)} holds neither numbers nor "
            "text; export the result anew"
        )
    frame = result.select(
        *(pl.col(names[name]).cast(pl.String).replace("", None).alias(name) for name in texts),
        *(_whole_number(names[name]).alias(name) for name in numbers),
    )
    if any(frame[name].null_count() for name in numbers):
        fields = "a sum" if kind is Kind.SUMS else f"{', '.join(numbers[:-1])} or {numbers[-1]}"
        raise DataError(f"{source}: {fields} is not a whole number in some row; export the result anew")
    return frame


def kind_of_columns(names: Collection[str]) -> Kind | None:
    """Recognise the result of a query by its columns, in lower case; None if it is the result of none."""
    return next((kind for kind in Kind if {*kind.value} <= {*names}), None)


def of_another_kind(source: object, kind: Kind, wanted: Kind) -> DataError:
    """Return the error to raise where statistics of one kind are taken for those of another."""
    holds = {
        Kind.CELLS: "counts the cells of a domain",
        Kind.SCORES: "counts the scores that a model gives",
        Kind.SUMS: "sums up a round of a model's weights",
    }
    remedy = "count the rows with dpnb-columnar aggregate --given MODEL or sql statistics --given MODEL"
    if wanted is Kind.CELLS:
        return DataError(
            f"{source}: {holds[kind]}, which release only its weights; name that model with --given MODEL, "
            "or give statistics made without --given"
        )
    if kind is Kind.CELLS:
        waits = "not the scores that a model gives" if wanted is Kind.SCORES else "not the sums that a model waits for"
        return DataError(f"{source}: {holds[kind]}, {waits}; release a model from it without --given, or {remedy}")
    waits = "counts of its scores" if wanted is Kind.SCORES else "the sums of a round"
    return DataError(f"{source}: {holds[kind]}, and this model waits for {waits}; {remedy}")


def cells_of(frame: pl.DataFrame) -> list[Cells]:
    """Split the long form into cells per attribute.

    Args:
        frame: Columns attribute (text, null for the class counts), class, code, count (whole numbers, none null).
            Confidential.
    """
    return [
        Cells(None if name is None else str(name), *(part[field].to_numpy() for field in NUMBERS))
        for (name,), part in frame.group_by("attribute", maintain_order=True)
    ]


def _has_text(type_: pl.DataType) -> bool:
    """Test whether a cast to text writes out the values of a type: those of numbers and of texts."""
    import polars as pl

    return type_.is_numeric() or type_ in (pl.String, pl.Categorical, pl.Enum, pl.Null)


def _whole_number(name: str) -> pl.Expr:
    """Return a column as 64-bit integers, null where it holds anything else."""
    import polars as pl

    text = pl.col(name).cast(pl.String).str.replace(r"\.0*$", "")
    return text.cast(pl.Int64, strict=False)
