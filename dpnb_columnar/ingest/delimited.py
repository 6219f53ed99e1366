"""Delimited extracts (CSV with a header) as Arrow batches, read as text and then held to each column's type."""

from __future__ import annotations

import csv
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

import pyarrow as pa
import pyarrow.csv

from dpnb_columnar.errors import DataError
from dpnb_columnar.ingest.malformed import MalformedFieldError
from dpnb_columnar.ingest.spelling import typed, without_blanks

BLOCK_BYTES = 2**22
"""Bytes of text that become one batch."""

LONGEST_HEADER = 2**20
"""Bytes; a file whose first line is longer is no table."""


def read_header(stream: IO[bytes], source: str, encoding: str) -> tuple[str, ...]:
    """The names of the columns.

    Raises:
        DataError: There is no header of distinct names.
    """
    try:
        first = stream.readline(LONGEST_HEADER).decode(encoding).removeprefix("\ufeff")
        names = next(csv.reader([first], strict=True), [])
    except (UnicodeError, csv.Error):
        names = []
    if not names or "" in names:
        raise DataError(f"{source}: line 1 is no header with the names of the columns; is this a CSV extract?")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"{source}: the header names {', '.join(twice)} more than once; rename or drop the others")
    return tuple(names)


def read_delimited(stream: IO[bytes], source: str, schema: pa.Schema, encoding: str) -> Generator[pa.RecordBatch]:
    """Read the wanted columns, rows in the order of the file; other columns are not looked at.

    Args:
        stream: The extract's bytes, uncompressed.
        source: Its name, for messages.
        schema: Columns wanted and their types.
        encoding: The extract's.

    Raises:
        DataError: A row has more or fewer fields than the header, or a field is not of its column's type.
    """
    row = 2  # the header is the first
    for batch in read_text(stream, source, schema.names, encoding):
        columns = []
        for strings, field in zip(batch.columns, schema, strict=True):
            try:
                columns.append(typed(strings, field.type))
            except MalformedFieldError as malformed:
                raise DataError(
                    f"{source}, row {row + malformed.row}: {field.name} is not {_wanted(field.type)}; the file is "
                    "damaged, or the codebook is of another extract: get both again, or name the right one with "
                    "--codebook"
                ) from None
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
        row += batch.num_rows


def read_text(stream: IO[bytes], source: str, names: Sequence[str], encoding: str) -> Generator[pa.RecordBatch]:
    """The wanted columns as text without blanks behind it, null where blank.

    Raises:
        DataError: A row has more or fewer fields than the header, or is not of the encoding.
    """
    damaged: list[int | None] = []

    def note(row: pyarrow.csv.InvalidRow) -> str:
        damaged.append(row.number)
        return "error"

    with _reported(source, encoding, damaged):
        reader = pyarrow.csv.open_csv(
            stream,
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, encoding=encoding),
            parse_options=pyarrow.csv.ParseOptions(invalid_row_handler=note),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=names,
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
        for batch in reader:
            yield pa.RecordBatch.from_arrays(
                [without_blanks(column) for column in batch.columns], names=batch.schema.names
            )


@contextmanager
def _reported(source: str, encoding: str, damaged: Sequence[int | None]) -> Iterator[None]:
    """What Arrow says of a file that is no CSV, without what stands in it."""
    try:
        yield
    except (pa.ArrowInvalid, UnicodeError):
        if damaged:
            raise DataError(
                f"{source}, row {damaged[0]}: has more or fewer fields than the header; the file is damaged: get it "
                "again"
            ) from None
        raise DataError(f"{source}: is not CSV in {encoding}; get it again, or convert it to UTF-8") from None


def _wanted(type_: pa.DataType) -> str:
    return "a number" if type_ == pa.float64() else f"a whole number that {type_} holds"
