"""Extracts as Arrow batches: fixed-width text, rectangular or hierarchical, and CSV.

Own code for fixed width is faster than Polars or DuckDB, rounds decimals exactly, and reports a malformed field's line.
CSV is parsed as text: Arrow's own conversion would take ``0x1F`` for a number, and quotes the field in its error.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dpnb_columnar.domain.field_reader import LARGEST_DECLARATION
from dpnb_columnar.domain.names import LONGEST_NAME, is_printable, named
from dpnb_columnar.errors import ConfigurationError, DataError, MissingInputError, option
from dpnb_columnar.extracts.codebooks.codebook import Codebook, Form, Variable
from dpnb_columnar.runtime.workers import prefetch

Characters = npt.NDArray[np.uint8]
"""One field of many lines, shape (width, lines): row j holds the j-th character of every line's field."""

BLANK, PLUS, MINUS, ZERO = b" +-0"
GROUP = 4
"""Digits that a 16-bit integer holds; in narrow integers several lines are added up at once."""
EXACT_WIDTH = 15
"""Digits that a 64-bit float always holds exactly."""
EXACT_DECIMALS = 22
"""The largest power of ten that a 64-bit float holds exactly."""


class MalformedFieldError(ValueError):
    """A field is not as its variable is declared; ``row`` counts from 0 those read together. It quotes nothing."""

    def __init__(self, row: int) -> None:
        super().__init__("malformed field")
        self.row = row


@dataclass(frozen=True, slots=True)
class Digits:
    """The digits of a number field, most significant first; no sign or blank on any line where None. Confidential."""

    places: Characters
    negative: npt.NDArray[np.bool_] | None
    missing: npt.NDArray[np.bool_] | None


def read_digits(characters: Characters) -> Digits:
    """Read a number field: blanks, a sign or none, digits, blanks; or blanks alone, which are missing. Confidential."""
    places = characters - np.uint8(ZERO)  # wraps round, so that everything but a digit is above 9
    if places.max(initial=0) <= 9:
        return Digits(places, None, None)
    odd = np.flatnonzero((places > 9).any(axis=0))
    negative, missing = np.zeros((2, places.shape[1]), bool)
    places[:, odd], negative[odd], missing[odd] = _read_signs_and_blanks(characters[:, odd], odd)
    return Digits(places, negative, missing)


def _read_signs_and_blanks(
    fields: Characters, lines: npt.NDArray[np.intp]
) -> tuple[Characters, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    width, count = fields.shape
    written = fields != BLANK
    missing = ~written.any(axis=0)
    first = written.argmax(axis=0)
    last = width - 1 - written[::-1].argmax(axis=0)
    lead = fields[first, np.arange(count)]
    first = first + ((lead == PLUS) | (lead == MINUS))
    position = np.arange(width)[:, np.newaxis]
    inside = (position >= first) & (position <= last) & ~missing
    places = fields - np.uint8(ZERO)
    sound = ((places <= 9) | ~inside).all(axis=0) & (first <= last) | missing
    if not sound.all():
        raise MalformedFieldError(int(lines[sound.argmin()]))
    places[~inside] = 0
    shift = position - (width - 1 - last)  # move the digits over the blanks behind them: the last is the units
    moved = np.take_along_axis(places, np.maximum(shift, 0), axis=0)
    moved[shift < 0] = 0
    return moved, lead == MINUS, missing


def whole_numbers(digits: Digits, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Compute the whole numbers that digits spell. Confidential."""
    width, count = digits.places.shape
    total = np.zeros(count, dtype)
    start, stop = 0, width % GROUP or GROUP
    while start < width:
        group = digits.places[start].astype(np.int16)
        for place in digits.places[start + 1 : stop]:
            group *= 10
            group += place
        if start:
            total *= 10**GROUP
            total += group
        else:
            total = group.astype(dtype)
        start, stop = stop, stop + GROUP
    if digits.negative is not None:
        np.negative(total, out=total, where=digits.negative)
    return total


def decimal_numbers(digits: Digits, decimals: int) -> npt.NDArray[np.float64]:
    """Compute the numbers that digits with implied decimals spell, correctly rounded. Confidential."""
    if len(digits.places) <= EXACT_WIDTH and decimals <= EXACT_DECIMALS:
        # Both numbers are exact, so the quotient is what the decimal text would be rounded to.
        return whole_numbers(digits, np.int64) / 10.0**decimals
    values = _parse_decimal_texts(digits.places, decimals)
    if digits.negative is not None:
        np.negative(values, out=values, where=digits.negative)
    return values


def _parse_decimal_texts(places: Characters, decimals: int) -> npt.NDArray[np.float64]:
    """Parse numbers that are too long for exact integers, written out with their decimal point."""
    padded = np.pad(places, ((max(decimals - len(places), 0), 0), (0, 0))) + np.uint8(ZERO)
    point = len(padded) - decimals
    texts = np.ascontiguousarray(np.insert(padded, point, ord("."), axis=0).T)
    buffer = pa.py_buffer(texts.tobytes())
    binary = pa.FixedSizeBinaryArray.from_buffers(pa.binary(texts.shape[1]), len(texts), [None, buffer])
    values = binary.cast(pa.string()).cast(pa.float64())
    return np.frombuffer(values.buffers()[1], np.float64, len(values)).copy()  # Arrow's memory is read-only


# The Arrow column of a variable: its type, set by the declaration alone, and its values at fixed positions.

Table = npt.NDArray[np.uint8]
"""One field of many lines, shape (lines, width), in any memory order. Confidential."""

Offsets = npt.NDArray[np.int64]

UTF_8 = "utf-8"

WIDTHS = ((2, pa.int8()), (4, pa.int16()), (9, pa.int32()), (18, pa.int64()))
"""The most digits of which an integer type holds every number, and the type."""

NUMPY_TYPES: dict[pa.DataType, type[np.signedinteger[Any]]] = {
    pa.int8(): np.int8,
    pa.int16(): np.int16,
    pa.int32(): np.int32,
    pa.int64(): np.int64,
}


def column_type(variable: Variable) -> pa.DataType:
    """Choose the type of a variable's column: never by the rows of a file, so that all files agree."""
    if variable.form is Form.TEXT:
        return pa.string()
    if variable.decimals:
        return pa.float64()
    if variable.width is None:
        return pa.int64()
    return next((type_ for width, type_ in WIDTHS if variable.width <= width), pa.string())


def decode_column(table: Table, variable: Variable, encoding: str) -> pa.Array:
    """Decode the values of a variable, null where they are blank. Confidential."""
    type_ = column_type(variable)
    if type_ == pa.string():
        return decode_texts(table, encoding)
    digits = read_digits(np.ascontiguousarray(table.T))
    if type_ == pa.float64():
        return arrow_array(decimal_numbers(digits, variable.decimals), type_, digits.missing)
    return arrow_array(whole_numbers(digits, NUMPY_TYPES[type_]), type_, digits.missing)


def decode_texts(table: Table, encoding: str) -> pa.Array:
    """Decode the texts of a field without the blanks behind them; null where the field is blank. Confidential."""
    lines = np.ascontiguousarray(table)
    count, width = lines.shape
    written = lines != BLANK
    lengths = np.where(written.any(axis=1), width - written[:, ::-1].argmax(axis=1), 0)
    data = lines[np.arange(width) < lengths[:, np.newaxis]]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    encoded = data.tobytes()
    if not encoded.isascii():
        encoded, ends = _recode_to_utf_8(encoded, ends, encoding)
    present = np.packbits(lengths > 0, bitorder="little")
    buffers = [pa.py_buffer(present.tobytes()), pa.py_buffer(ends.astype(np.int32).tobytes()), pa.py_buffer(encoded)]
    return pa.StringArray.from_buffers(count, buffers[1], buffers[2], buffers[0])


def _recode_to_utf_8(data: bytes, ends: Offsets, encoding: str) -> tuple[bytes, Offsets]:
    """Recode texts to UTF-8 and move their ends accordingly."""
    try:
        recoded = data.decode(encoding).encode()
    except UnicodeDecodeError as error:
        raise MalformedFieldError(int(np.searchsorted(ends, error.start, side="right")) - 1) from None
    codes = np.frombuffer(data, np.uint8)
    if encoding != UTF_8:
        widths = [len(bytes([byte]).decode(encoding, "replace").encode()) for byte in range(256)]
        return recoded, np.concatenate([[0], np.cumsum(np.array(widths)[codes])])[ends]
    filled = np.flatnonzero(np.diff(ends))
    cut = (codes[ends[filled]] & 0xC0) == 0x80  # a text that begins with the middle of a character
    if cut.any():
        raise MalformedFieldError(int(filled[cut.argmax()]))
    return data, ends


def arrow_array(values: npt.NDArray[Any], type_: pa.DataType, missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Wrap numbers in an Arrow array without a copy; ``pa.array`` would load pandas for it, where it is installed."""
    present = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(type_, len(values), [present, pa.py_buffer(values)])


LINES_BYTES = 2**19
"""Bytes of lines read together; with all that is decoded from them they fit into a processor's cache."""

LONGEST_LINE = 2**20
"""Bytes; a file with longer lines is no table of lines at all."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Bytes of consecutive whole lines, ends included, each line's offset, and its length without end. Confidential."""

    data: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    first: int

    def table(self, width: int, rows: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.uint8]:
        """Gather the first characters of each line. Confidential."""
        starts = self.starts if rows is None else self.starts[rows]
        if not len(starts):
            return np.empty((0, width), np.uint8)
        steps = np.diff(starts)
        if steps.size and (steps == steps[0]).all():  # lines of one length: a table already
            return np.lib.stride_tricks.as_strided(self.data[starts[0] :], (len(starts), width), (int(steps[0]), 1))
        return np.lib.stride_tricks.sliding_window_view(self.data, width)[starts]


def read_lines(stream: IO[bytes], source: str) -> Generator[Lines]:
    """Read whole lines, in blocks. Lines end in LF or CRLF; the end of the last may be missing. Confidential."""
    rest, first = b"", 1
    while piece := stream.read(LINES_BYTES):
        data = rest + piece
        end = data.rfind(b"\n") + 1
        if not end and len(data) > LONGEST_LINE:
            raise DataError(
                f"{source}, line {first}: has no end within {LONGEST_LINE} bytes; lines end in LF or CRLF: is this a "
                "fixed-width extract?"
            )
        if end:
            lines = _split(np.frombuffer(data, np.uint8, end), first)
            first += len(lines.starts)
            yield lines
        rest = data[end:]
    if rest:
        yield _split(np.frombuffer(rest + b"\n", np.uint8), first)


def _split(data: npt.NDArray[np.uint8], first: int) -> Lines:
    """Find the lines of bytes that end in a line feed."""
    is_end = data == LINE_FEED
    step = int(is_end.argmax()) + 1
    count = np.count_nonzero(is_end)
    if count * step == len(data) and is_end[step - 1 :: step].all():  # all of one length: no search for each end
        ends = np.arange(step - 1, len(data), step)
    else:
        ends = np.flatnonzero(is_end)
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths = ends - starts
    lengths -= (lengths > 0) & (data[ends - 1] == CARRIAGE_RETURN)
    return Lines(data, starts, lengths, first)


BLOCKS_AHEAD = 4
"""Blocks of lines decompressed while one is decoded."""

Integers = npt.NDArray[np.int64]


def read_fixed_width(
    stream: IO[bytes], source: str, codebook: Codebook, names: Sequence[str]
) -> Generator[pa.RecordBatch]:
    """Read the wanted variables, rows in the order of the file; other variables are not decoded. Confidential."""
    sources = codebook.column_sources()
    wanted = [sources[name] for name in names]
    schema = pa.schema([(variable.name, column_type(variable)) for _, variable in wanted])
    layouts = [
        RecordLayout(
            source,
            codebook,
            record_type,
            max((variable.span[1] for variable in codebook.variables_of(record_type)), default=0),
            tuple(variable for owner, variable in wanted if owner == record_type),
        )
        for record_type in codebook.record_types or ("",)
    ]
    order = [variable.name for layout in layouts for variable in layout.variables]
    hierarchy = Hierarchy(source, codebook, layouts)
    for lines in prefetch(read_lines(stream, source), depth=BLOCKS_AHEAD):
        by_name = dict(zip(order, hierarchy.rows(lines), strict=True))
        yield pa.RecordBatch.from_arrays([by_name[name] for name in names], schema=schema)


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """Positions of the wanted variables on the lines of one record type, which is empty in a rectangular extract."""

    source: str
    codebook: Codebook
    record_type: str
    width: int
    variables: tuple[Variable, ...]

    def check_lengths(self, lines: Lines, rows: Integers) -> None:
        """Refuse lines that are shorter than the codebook says, or longer and not blank there."""
        lengths = lines.lengths[rows]
        wrong = lengths < self.width
        if (lengths > self.width).any():  # some programs pad all lines to one length
            written = np.concatenate([[0], np.cumsum(lines.data != BLANK)])
            starts = lines.starts[rows]
            wrong |= written[starts + lengths] > written[np.minimum(starts + self.width, starts + lengths)]
        if wrong.any():
            row = int(rows[wrong.argmax()])
            record = f" of record type {self.record_type}" if self.record_type else ""
            raise DataError(
                f"{self.source}, line {lines.first + row}: has {lines.lengths[row]} characters, and a line{record} has "
                f"{self.width} by {self.codebook.source}; the codebook is of another extract, or the file is damaged: "
                f"get both again, or name the right one with {option('codebook')}"
            )

    def columns(self, table: Table, numbers: Integers) -> list[pa.Array]:
        """Decode the wanted variables of some lines. Confidential."""
        columns = []
        for variable in self.variables:
            start, end = variable.span
            try:
                columns.append(decode_column(table[:, start:end], variable, self.codebook.encoding))
            except MalformedFieldError as malformed:
                wanted = f"{self.codebook.encoding} text" if variable.form is Form.TEXT else "a number or blanks"
                raise DataError(
                    f"{self.source}, line {int(numbers[malformed.row])}: {variable.name}, characters {start + 1} to "
                    f"{end}, is not {wanted}; the line is damaged, or {self.codebook.source} is the codebook of "
                    f"another extract: get both again, or name the right one with {option('codebook')}"
                ) from None
        return columns


class Hierarchy:
    """Reader of record types, one if rectangular: a household's line is carried down to the persons that follow it."""

    def __init__(self, source: str, codebook: Codebook, layouts: Sequence[RecordLayout]) -> None:
        self.source, self.codebook, self.layouts = source, codebook, layouts
        self._kind = codebook.by_name[str(codebook.record_type_variable)] if codebook.record_types else None
        # The last line of each outer type so far, its number and shape (1, width) or (0, width). Confidential.
        self._latest = [(0, np.empty((0, layout.width), np.uint8)) for layout in layouts[:-1]]

    def rows(self, lines: Lines) -> list[pa.Array]:
        """Decode the columns of all layouts, one row for each line of the innermost record type."""
        record_types = self._record_types(lines)
        positions = [np.flatnonzero(record_types == index) for index in range(len(self.layouts))]
        for layout, its_lines in zip(self.layouts, positions, strict=True):
            layout.check_lengths(lines, its_lines)
        *outer, inner = self.layouts
        rows = positions[-1]
        columns: list[pa.Array] = []
        enclosing = np.zeros(len(rows), np.int64)
        for index, layout in enumerate(outer):
            (latest, latest_characters), its_lines = self._latest[index], positions[index]
            before = [latest] if latest else []
            numbers = np.concatenate([np.array(before, np.int64), its_lines + lines.first])
            characters = np.concatenate([latest_characters, lines.table(layout.width, its_lines)])
            # Each row belongs to the last line of the outer type before it; position -1 stands for none.
            owners = np.searchsorted(its_lines, rows) + (len(numbers) - len(its_lines)) - 1
            owner_numbers = np.concatenate([[0], numbers])[owners + 1]
            orphan = owner_numbers <= enclosing  # since the line of the type around that
            if orphan.any():
                line = lines.first + int(rows[orphan.argmax()])
                raise DataError(
                    f"{self.source}, line {line}: record type {inner.record_type} without a record of type "
                    f"{layout.record_type} before it, which it is part of; the file is damaged or cut: get it again"
                )
            columns += [column.take(arrow_array(owners, pa.int64())) for column in layout.columns(characters, numbers)]
            if len(numbers):
                self._latest[index] = int(numbers[-1]), characters[-1:].copy()
            enclosing = owner_numbers
        return columns + inner.columns(lines.table(inner.width, rows), rows + lines.first)

    def _record_types(self, lines: Lines) -> npt.NDArray[np.int64]:
        """Index of each line's record type among the codebook's, shape (lines,)."""
        if self._kind is None:
            return np.zeros(len(lines.starts), np.int64)
        start, end = self._kind.span
        short = lines.lengths < end
        if short.any():
            line = lines.first + int(short.argmax())
            raise DataError(
                f"{self.source}, line {line}: ends before its record type, at characters {start + 1} to {end}; the "
                "file is damaged: get it again"
            )
        fields = lines.table(end)[:, start:]
        indices = np.full(len(lines.starts), -1)
        for index, layout in enumerate(self.layouts):
            spelled = layout.record_type.encode(self.codebook.encoding).ljust(end - start)
            if len(spelled) > end - start:
                raise ConfigurationError(
                    f"{self.codebook.source}: record type {layout.record_type} is longer than "
                    f"{self.codebook.record_type_variable}, which holds it; correct the codebook"
                )
            indices[(fields == np.frombuffer(spelled, np.uint8)).all(axis=1)] = index
        if (indices < 0).any():
            line = lines.first + int((indices < 0).argmax())
            raise DataError(
                f"{self.source}, line {line}: has no record type of {self.codebook.source}, which has "
                f"{named(self.codebook.record_types)}, at characters {start + 1} to {end}; name the codebook of "
                f"this extract with {option('codebook')}, or get the file again"
            )
        return indices


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
    """Read the names of the columns of an extract without a header: one a line, or UCI's ``age: continuous``."""
    try:
        lines = [line.split(COMMENT)[0].strip() for line in path.read_text("utf-8").splitlines()]
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}; check the path") from None
    except UnicodeError:
        raise ConfigurationError(f"{path}: is not text in UTF-8; write one name a line") from None
    names = [line.partition(":")[0].strip() for line in lines if line and (":" in line or "," not in line)]
    if any("," in line and ":" not in line for line in lines):  # a line of classes, as UCI's files begin with
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
    """Read the wanted columns, rows in the order of the file; other columns are not converted. Confidential."""
    row = 2 if header else 1  # the header is the first
    for batch in read_text(stream, source, schema.names, encoding, columns, header=header):
        converted = []
        for texts, column in zip(batch.columns, schema, strict=True):
            try:
                converted.append(convert_texts(texts, column.type))
            except MalformedFieldError as malformed:
                wanted = "a number" if column.type == pa.float64() else f"a whole number that {column.type} holds"
                raise DataError(
                    f"{source}, row {row + malformed.row}: {column.name} is not {wanted}; the file is damaged, or the "
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
    """Read the wanted columns as text without the blanks around it, null where a field is blank. Confidential."""
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
    """Raise Arrow's errors about a file that is no CSV as a DataError that quotes nothing of the file."""
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
    """Convert texts to values of a type; null stays null. Confidential."""
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

    Arrow's parser takes all that follows an unclosed quote for one field, so one damaged line would swallow the rows
    behind it. The error is not raised from here, since the parser reads in a thread of its own.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self.unclosed: int | None = None
        self._stream = stream
        self._lines = 1
        self._open = False

    def readable(self) -> bool:
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
