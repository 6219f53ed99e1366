"""Delimited extracts (CSV with a header) as Arrow batches, read as text and then held to each column's type."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dpnb_columnar.domain.fields import LARGEST_DECLARATION
from dpnb_columnar.domain.names import LONGEST_NAME, is_printable
from dpnb_columnar.errors import DataError
from dpnb_columnar.extracts.arrow_columns import NUMPY_TYPES
from dpnb_columnar.extracts.decode import BLANK, MalformedFieldError

# MERGED FROM dpnb_columnar/extracts/delimited.py: Bytes of CSV on their way to the parser, which would take
# everything behind an unclosed quote for one field.

QUOTE, LINE_FEED, CARRIAGE_RETURN = b'"'[0], b"\n"[0], b"\r"[0]


class ClosedQuotes(io.RawIOBase):
    """A stream of CSV that ends at the first line with a quote left open: whoever reads it to its end has to look.

    Extracts have no line breaks within fields, so a line holds an even number of quotes. An error is not raised from
    here, since the parser reads in a thread of its own.

    Attributes:
        unclosed: The line, from 1, once it was met; None before.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self.unclosed: int | None = None
        self._stream = stream
        self._lines = 1
        self._open = False

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int = -1) -> bytes:
        """As the stream does, but nothing from a piece on in which a line with an open quote ends."""
        if self.unclosed is not None:
            return b""
        data = self._stream.read(size)
        if self._open or QUOTE in data:
            self.unclosed = self._unclosed(data)
        self._lines += data.count(b"\n")
        return data if self.unclosed is None else b""

    def _unclosed(self, data: bytes) -> int | None:
        """The first line that ends in this piece with a quote left open; the last piece, empty, ends a line as well."""
        codes = np.frombuffer(data, np.uint8)
        marks = np.flatnonzero((codes == QUOTE) | (codes == LINE_FEED) | (codes == CARRIAGE_RETURN))
        quotes = codes[marks] == QUOTE
        is_open = (np.cumsum(quotes) + self._open) % 2 == 1
        if len(wrong := np.flatnonzero(is_open & ~quotes)):
            return self._lines + data.count(b"\n", 0, int(marks[wrong[0]]))
        self._open = bool(is_open[-1]) if len(marks) else self._open
        return self._lines if self._open and not data else None


# MERGED FROM dpnb_columnar/extracts/delimited.py: Text of delimited files as values: what spells a number, and what
# is blank.

WHOLE = r"^ *[+-]?[0-9]+$"
NUMBER_TEXT = r"^ *[+-]?([0-9]+\.?|[0-9]*\.[0-9]+)([eE][+-]?[0-9]+)?$"


def without_blanks(strings: pa.Array) -> pa.Array:
    """Texts without the blanks behind them; null where nothing is left."""
    if not (_data(strings) == BLANK).any():
        return strings
    trimmed = pc.utf8_rtrim(strings, " ")
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


def typed(strings: pa.Array, type_: pa.DataType) -> pa.Array:
    """Texts as values of a type; null stays null.

    Args:
        strings: Texts.
        type_: A string, a 64-bit float or a signed integer.

    Raises:
        MalformedFieldError: A text does not spell such a value, or not one that the type holds.
    """
    if type_ == pa.string():
        return strings
    if not _letters(strings, type_).any():  # Arrow would also take nan, inf and 0x1F
        try:
            return strings.cast(type_)
        except pa.ArrowInvalid:
            pass
    spelled = pc.match_substring_regex(strings, NUMBER_TEXT if type_ == pa.float64() else WHOLE)
    _check(spelled)
    plain = pc.replace_substring_regex(strings, r"^ *\+?", "")
    if type_ in NUMPY_TYPES:  # what is too large is a number all the same
        bounds = np.iinfo(NUMPY_TYPES[type_])
        values = plain.cast(pa.float64())
        _check(pc.and_(pc.greater_equal(values, float(bounds.min)), pc.less(values, float(bounds.max) + 1)))
    return plain.cast(type_)


def _check(sound: pa.Array) -> None:
    row = pc.index(pc.fill_null(sound, True), False).as_py()
    if row >= 0:
        raise MalformedFieldError(row)


def _letters(strings: pa.Array, type_: pa.DataType) -> npt.NDArray[np.bool_]:
    """Where the texts have characters that a number of this type does not."""
    data = _data(strings)
    letters: npt.NDArray[np.bool_] = data > ord("9")
    return letters & ((data | 0x20) != ord("e")) if type_ == pa.float64() else letters


def _data(strings: pa.Array) -> npt.NDArray[np.uint8]:
    """All characters of all texts."""
    data = strings.buffers()[2]
    return np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)


BLOCK_BYTES = 2**22
"""Bytes of text that become one batch."""

LONGEST_HEADER = 2**20
"""Bytes; a file whose first line is longer is no table."""


NUMBER = re.compile(r"[\d\s.,:/+-]*\d[\d\s.,:/+-]*([eE][+-]?\d+\s*)?", re.ASCII)
"""What is rather a number, a date or a time than the name of a column."""


def read_header(
    stream: IO[bytes], source: str, encoding: str, declared: frozenset[str] | None = None
) -> tuple[str, ...]:
    """The names of the columns. What does not look like a header may be a person, and is not told.

    Args:
        stream: The extract's bytes, uncompressed.
        source: Its name, for messages.
        encoding: The extract's.
        declared: Names that its codebook declares; None where there is none.

    Raises:
        DataError: There is no header of distinct names, or none of them is declared.
    """
    try:
        first = stream.readline(LONGEST_HEADER).decode(encoding).removeprefix("\ufeff")
        names = next(csv.reader([first], strict=True), [])
    except (UnicodeError, csv.Error):
        names = []
    if not names or not all(_is_name(name) or name in (declared or frozenset()) for name in names):
        raise DataError(
            f"{source}: line 1 is no header with the names of the columns; is this a CSV extract? If so, put a header "
            "before its first row"
        )
    if declared is not None and not any(name in declared for name in names):
        raise DataError(
            f"{source}: the codebook declares no name of line 1; put a header before the first row, its names in upper "
            "and lower case as in the codebook, or name the right codebook with --codebook"
        )
    if len(names) > LARGEST_DECLARATION:
        raise DataError(f"{source}: the header names more than {LARGEST_DECLARATION} columns; write fewer of them")
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        if (first_place := places.setdefault(name.lower(), place)) != place:
            raise DataError(
                f"{source}: columns {first_place + 1} and {place + 1} have the same name in line 1 (upper and lower "
                "case do not count); rename or drop one"
            )
    return tuple(names)


def _is_name(text: str) -> bool:
    return text.strip() != "" and len(text) <= LONGEST_NAME and is_printable(text) and not NUMBER.fullmatch(text)


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
        DataError: A row has more or fewer fields than the header, does not close a quote, or is not of the encoding.
    """
    damaged: list[int | None] = []
    lines = ClosedQuotes(stream)

    def note(row: pyarrow.csv.InvalidRow) -> str:
        damaged.append(row.number)
        return "error"

    with _reported(source, encoding, damaged, lines):
        reader = pyarrow.csv.open_csv(
            lines,
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
def _reported(source: str, encoding: str, damaged: Sequence[int | None], lines: ClosedQuotes) -> Iterator[None]:
    """What Arrow says of a file that is no CSV, without what stands in it."""
    try:
        yield
        problem = None
    except (pa.ArrowInvalid, UnicodeError) as error:
        problem = error
    if lines.unclosed is not None:
        raise DataError(
            f"{source}, line {lines.unclosed}: has a quote that is not closed on that line; the file is damaged, or a "
            "field holds a line break: get it again, or write it without line breaks in its fields"
        )
    if problem is not None:
        if damaged:
            raise DataError(
                f"{source}, row {damaged[0]}: has more or fewer fields than the header; the file is damaged: get it "
                "again"
            )
        raise DataError(f"{source}: is not CSV in {encoding}; get it again, or convert it to UTF-8")


def _wanted(type_: pa.DataType) -> str:
    return "a number" if type_ == pa.float64() else f"a whole number that {type_} holds"
