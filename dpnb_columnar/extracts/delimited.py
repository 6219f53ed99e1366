"""Delimited extracts (CSV with a header) as Arrow batches: read as text, then converted to each column's type.

Arrow parses the file. Its own type conversion is not used, since it takes ``nan``, ``inf`` and ``0x1F`` for numbers and
quotes the field in its error; and its parser takes all that follows an unclosed quote for one field, which
``QuoteCheckedStream`` prevents.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dpnb_columnar.domain.field_reader import LARGEST_DECLARATION
from dpnb_columnar.domain.names import LONGEST_NAME, is_printable
from dpnb_columnar.errors import ConfigurationError, DataError, MissingInputError, option
from dpnb_columnar.extracts.decode import BLANK, NUMPY_TYPES, MalformedFieldError

LINE_TOO_LONG = "straddling object"
"""Words of Arrow's error about a line that no block holds."""

BLOCK_BYTES = 2**22
"""Bytes of text that become one batch."""

LONGEST_HEADER = 2**20
"""Bytes; a file whose first line is longer is no table."""

NOT_A_NAME = re.compile(r"[\d\s.,:/+-]*\d[\d\s.,:/+-]*([eE][+-]?\d+\s*)?", re.ASCII)
"""A number, a date or a time: a field of a row rather than the name of a column."""

WHOLE_NUMBER = r"^ *[+-]?[0-9]+$"
DECIMAL_NUMBER = r"^ *[+-]?([0-9]+\.?|[0-9]*\.[0-9]+)([eE][+-]?[0-9]+)?$"


def read_header(
    stream: IO[bytes], source: str, encoding: str, declared: frozenset[str] | None = None
) -> tuple[str, ...]:
    """Read the names of the columns. An error quotes no name: a line that is no header may be a person."""
    try:
        first = stream.readline(LONGEST_HEADER).decode(encoding).removeprefix("\ufeff")
        names = [name.strip(" ") for name in next(csv.reader([first], strict=True, skipinitialspace=True), [])]
    except (UnicodeError, csv.Error):
        names = []
    if not names or not all(_is_name(name) or name in (declared or frozenset()) for name in names):
        raise DataError(
            f"{source}: line 1 is no header with the names of the columns; is this a CSV extract? If so, put a header "
            f"before its first row, or name the columns with {option('no-header')} and {option('names', 'FILE')}"
        )
    if declared is not None and not {name.casefold() for name in names} & {name.casefold() for name in declared}:
        raise DataError(
            f"{source}: the codebook declares no name of line 1; put a header before the first row, or name the right "
            f"codebook with {option('codebook')}"
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


COMMENT = "|"
"""What a line of a file of names begins with that says something else."""


def read_names(path: Path) -> tuple[str, ...]:
    """Read the names of the columns of an extract without a header: one a line, or UCI's ``age: continuous``.

    What follows a colon is left out, as are comments. A line of classes, as UCI's files begin with, has a comma, and
    says that the last column is ``class``.
    """
    try:
        lines = [line.split(COMMENT)[0].strip() for line in path.read_text("utf-8").splitlines()]
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}; check the path") from None
    except UnicodeError:
        raise ConfigurationError(f"{path}: is not text in UTF-8; write one name a line") from None
    names = [line.partition(":")[0].strip() for line in lines if line and (":" in line or "," not in line)]
    if any("," in line and ":" not in line for line in lines):
        names.append("class")
    faulty = [place for place, name in enumerate(names, start=1) if not _is_name(name)]
    if not names or faulty or len(names) > LARGEST_DECLARATION or len({name.lower() for name in names}) < len(names):
        raise ConfigurationError(
            f"{path}: holds no distinct names of columns; write one a line, {LARGEST_DECLARATION} at most (upper and "
            "lower case do not count)"
        )
    return tuple(names)


def _is_name(text: str) -> bool:
    return text.strip() != "" and len(text) <= LONGEST_NAME and is_printable(text) and not NOT_A_NAME.fullmatch(text)


def read_delimited(
    stream: IO[bytes],
    source: str,
    schema: pa.Schema,
    encoding: str,
    columns: Sequence[str] = (),
    *,
    header: bool = True,
) -> Generator[pa.RecordBatch]:
    """Read the wanted columns, rows in the order of the file; other columns are not converted.

    Yields:
        Batches of the schema. Confidential.
    """
    row = 2 if header else 1  # the header is the first
    for batch in read_text(stream, source, schema.names, encoding, columns, header=header):
        converted = []
        for texts, field in zip(batch.columns, schema, strict=True):
            try:
                converted.append(convert_texts(texts, field.type))
            except MalformedFieldError as malformed:
                wanted = "a number" if field.type == pa.float64() else f"a whole number that {field.type} holds"
                raise DataError(
                    f"{source}, row {row + malformed.row}: {field.name} is not {wanted}; the file is damaged, or the "
                    f"codebook is of another extract: get both again, or name the right one with {option('codebook')}; "
                    f"a type of {option('types')} or {option('dataset')} may have to be text"
                ) from None
        yield pa.RecordBatch.from_arrays(converted, schema=schema)
        row += batch.num_rows


def read_text(
    stream: IO[bytes],
    source: str,
    names: Sequence[str],
    encoding: str,
    columns: Sequence[str] = (),
    *,
    header: bool = True,
) -> Generator[pa.RecordBatch]:
    """Read the wanted columns as text without the blanks around it, null where a field is blank.

    Yields:
        Batches of string columns. Confidential.
    """
    damaged: list[int | None] = []
    checked = QuoteCheckedStream(stream)

    def note(row: pyarrow.csv.InvalidRow) -> str:
        damaged.append(row.number)
        return "error"

    with _csv_errors(source, encoding, damaged, checked):
        reader = pyarrow.csv.open_csv(
            checked,
            read_options=pyarrow.csv.ReadOptions(
                use_threads=False,
                block_size=BLOCK_BYTES,
                encoding=encoding,
                column_names=list(columns),
                skip_rows=int(bool(columns) and header),  # names in it may have blanks around them
            ),
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
            yield pa.RecordBatch.from_arrays([_strip_blanks(column) for column in batch.columns], batch.schema.names)


@contextmanager
def _csv_errors(
    source: str, encoding: str, damaged: Sequence[int | None], checked: QuoteCheckedStream
) -> Iterator[None]:
    """Raise Arrow's errors about a file that is no CSV as a DataError that quotes nothing of the file.

    Args:
        checked: The bytes read.
    """
    try:
        yield
        problem = None
    except (pa.ArrowInvalid, UnicodeError) as error:
        problem = error
    if checked.unclosed is not None:
        raise DataError(
            f"{source}, line {checked.unclosed}: has a quote that is not closed on that line; the file is damaged, or "
            "a field holds a line break: get it again, or write it without line breaks in its fields"
        )
    if problem is not None:
        if damaged:
            raise DataError(
                f"{source}, row {damaged[0]}: has more or fewer fields than the header; the file is damaged: get it "
                "again"
            )
        if LINE_TOO_LONG in str(problem):
            raise DataError(
                f"{source}: has a line of more than {BLOCK_BYTES} bytes; lines end in LF or CRLF: is this a table? Get "
                "it again, or write it without the column of long texts"
            )
        raise DataError(f"{source}: is not CSV in {encoding}; get it again, or convert it to UTF-8")


def convert_texts(texts: pa.Array, type_: pa.DataType) -> pa.Array:
    """Convert texts to values of a type; null stays null.

    Args:
        texts: Strings, shape (rows,). Confidential.

    Returns:
        Shape (rows,), of ``type_``. Confidential.

    Raises:
        MalformedFieldError: If a text does not spell such a value, or not one that the type holds.
    """
    if type_ == pa.string():
        return texts
    if not _other_characters(texts, type_).any():  # Arrow would also take nan, inf and 0x1F
        try:
            return texts.cast(type_)
        except pa.ArrowInvalid:
            pass
    _refuse_malformed(pc.match_substring_regex(texts, DECIMAL_NUMBER if type_ == pa.float64() else WHOLE_NUMBER))
    plain = pc.replace_substring_regex(texts, r"^ *\+?", "")
    if type_ in NUMPY_TYPES:  # a number that is too large is a number all the same
        bounds = np.iinfo(NUMPY_TYPES[type_])
        values = plain.cast(pa.float64())
        in_range = pc.and_(pc.greater_equal(values, float(bounds.min)), pc.less(values, float(bounds.max) + 1))
        _refuse_malformed(in_range)
    return plain.cast(type_)


def _refuse_malformed(sound: pa.Array) -> None:
    """Raise a MalformedFieldError for the first field that is not sound; null is sound."""
    row = pc.index(pc.fill_null(sound, True), False).as_py()
    if row >= 0:
        raise MalformedFieldError(row)


def _strip_blanks(texts: pa.Array) -> pa.Array:
    """Strip the blanks around each text, such as those behind UCI's commas; null where nothing is left."""
    if not (_characters(texts) == BLANK).any():
        return texts
    stripped = pc.utf8_trim(texts, " ")
    return pc.if_else(pc.equal(stripped, ""), pa.scalar(None, pa.string()), stripped)


def _other_characters(texts: pa.Array, type_: pa.DataType) -> npt.NDArray[np.bool_]:
    """Mark the characters of the texts that no number of this type has."""
    characters = _characters(texts)
    others: npt.NDArray[np.bool_] = characters > ord("9")
    return others & ((characters | 0x20) != ord("e")) if type_ == pa.float64() else others


def _characters(texts: pa.Array) -> npt.NDArray[np.uint8]:
    """View the bytes of all texts, laid end to end."""
    data = texts.buffers()[2]
    return np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)


QUOTE, LINE_FEED, CARRIAGE_RETURN = b'"'[0], b"\n"[0], b"\r"[0]


class QuoteCheckedStream(io.RawIOBase):
    """A stream of CSV that ends at the first line with a quote left open: look at ``unclosed`` after reading it.

    Arrow's parser has no option for this: it takes all that follows an unclosed quote for one field, so one damaged
    line would swallow the rows behind it. Extracts have no line breaks within fields, so each line must hold an even
    number of quotes. The error is not raised from here, since the parser reads in a thread of its own.

    Attributes:
        unclosed: Number of that line, from 1; None as long as none was read.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        """Wrap a stream, at its beginning."""
        super().__init__()
        self.unclosed: int | None = None
        self._stream = stream
        self._lines = 1
        self._open = False

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read from the stream; nothing from the piece on in which a line with an open quote ends."""
        if self.unclosed is not None:
            return b""
        data = self._stream.read(size)
        if self._open or QUOTE in data:
            self.unclosed = self._find_unclosed(data)
        self._lines += data.count(b"\n")
        return data if self.unclosed is None else b""

    def _find_unclosed(self, data: bytes) -> int | None:
        """Find the first line that ends in this piece with a quote left open; the empty, last piece ends a line too."""
        codes = np.frombuffer(data, np.uint8)
        marks = np.flatnonzero((codes == QUOTE) | (codes == LINE_FEED) | (codes == CARRIAGE_RETURN))
        quotes = codes[marks] == QUOTE
        is_open = (np.cumsum(quotes) + self._open) % 2 == 1
        if len(wrong := np.flatnonzero(is_open & ~quotes)):
            return self._lines + data.count(b"\n", 0, int(marks[wrong[0]]))
        self._open = bool(is_open[-1]) if len(marks) else self._open
        return self._lines if self._open and not data else None
