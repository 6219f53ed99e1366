"""Answer queries on this machine, in one scan of the rows: memory follows the cells, not the rows. CONFIDENTIAL.

Polars reads the rows, and NumPy counts the values of a column as they are: the rule of an attribute is applied to the
values that were counted, and scores are looked up by value (``rows.row_rules``). ``reduce_rows`` answers any query.
DuckDB counts cells of large Parquet files as well, as sums of a few joint tables.

*Units.* Rows in the order of their units, as publishers write them, are chosen from as they stream by: memory does not
grow with the rows. Where some unit comes after a larger one, the rows are scanned again, once for each share of the
units. The same rows are chosen, and nothing but time tells which it was.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce, singledispatch
from itertools import chain
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.queries.query import AnswerT, Query, with_parts
from dpnb_columnar.core.queries.scores import ClassScores, GradientQuery, GradientSums, ScoreCounts, ScoreTable
from dpnb_columnar.core.queries.statistics import CellQuery, Cells, Integers, Statistics, Whole, assemble
from dpnb_columnar.counting.countable import file_parts
from dpnb_columnar.domain import Attribute, Domain
from dpnb_columnar.domain.column_kinds import Kind, kinds_of
from dpnb_columnar.domain.declared_domain import WEIGHT_CODE
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.input_files import folder_values
from dpnb_columnar.rows.parquet import ParquetSource
from dpnb_columnar.rows.row_rules import (
    CLASS,
    MOST_LOOKED_UP,
    ORDER,
    WEIGHT,
    ValueCodes,
    classed_rows,
    code_name,
    code_names,
    coded,
    counted_rows,
    number_of_codes,
    step_score,
    unit_names,
    unit_values,
    value_codes,
)
from dpnb_columnar.rows.streaming import OpenedFrame, Source, stream
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.row_progress import report_rows, rows_once

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from dpnb_columnar.rows.frames import Frame

PART_ROWS = 2**16
"""Rows that are handed on at a time. Four times as many took 30 MiB more at 100 million rows, and no less time."""

SHARE_ROWS = 2**21  # rows of the units that are looked at together, about, where the rows are in no order of the units
MOST_WAITING_ROWS = 2**18
"""Rows that wait, where they are in no order, until those of one unit beyond the number that counts are dropped."""


def stream_counted_rows(
    rows: pl.LazyFrame,
    types: Mapping[str, pl.DataType],
    domain: Domain,
    columns: Mapping[str, pl.Expr],
    more: Sequence[str],
    use: Callable[[pl.DataFrame], None],
    reset: Callable[[], None],
) -> None:
    """Hand on the rows that count, which have a class, part by part: of each unit, if there is one, the first."""
    names = [CLASS, *columns, *more]

    def query(rows: pl.LazyFrame, selected: Sequence[str | pl.Expr]) -> pl.LazyFrame:
        return counted_rows(rows, domain, types, columns).select(selected)

    def use_classed(part: pl.DataFrame) -> None:
        use(part.drop_nulls(CLASS) if part[CLASS].null_count() else part)

    if domain.unit is None:
        # Not collect_batches: it ends as if all were well where a thread of the query panics, and rows would be
        # missing.
        query(rows, names).sink_batches(use_classed, chunk_size=PART_ROWS, maintain_order=False, engine="streaming")
        return
    codes = code_names(domain)
    choice = _Choice(unit_names(domain), codes, domain.unit.rows)
    kept = [*dict.fromkeys([*names, *choice.units, ORDER, *codes])]
    in_order = _InOrder(choice, use)
    once = rows_once()
    read = rows if once is None else report_rows(rows, once.add)
    query(read, kept).sink_batches(in_order.add, chunk_size=PART_ROWS, maintain_order=True, engine="streaming")
    if in_order.end():
        return
    reset()
    number_of_rows = rows.select(pl.len()).collect(engine="streaming").item()
    shares = number_of_rows // SHARE_ROWS + 1
    share = pl.struct(unit_values(domain, types)).hash() % shares
    if once is not None:
        once.rest(number_of_rows, shares)
    for number in range(shares):
        in_any_order = _InAnyOrder(choice)
        query(read.filter(share == number), kept).sink_batches(
            in_any_order.add, chunk_size=PART_ROWS, maintain_order=False, engine="streaming"
        )
        for part in in_any_order.end():
            use(part)


@dataclass(frozen=True, slots=True)
class _Choice:
    """How the rows of a unit are chosen."""

    units: Sequence[str]  # that together tell the unit of a row
    codes: Sequence[str]  # that break ties of ``order``
    most: int  # rows of a unit that count

    def first_rows(self, rows: pl.DataFrame, units: Integers) -> tuple[pl.DataFrame, Integers]:
        """Choose each unit's rows that count, by numbers of units below 2^32; return both, in order. Confidential."""
        keys = units << 31 | rows[ORDER].to_numpy()
        places = np.argsort(keys)
        keys = keys[places]
        equal = np.flatnonzero(keys[1:] == keys[:-1])
        if len(equal) and not rows[places[equal], self.codes].equals(rows[places[equal + 1], self.codes]):
            places = (
                rows.select(ORDER, *self.codes, pl.lit(pl.Series("unit", units)))
                .select(pl.arg_sort_by("unit", ORDER, *self.codes))
                .to_series()
                .to_numpy()
            )
        units = units[places]
        is_first = np.ones(len(places), dtype=bool)
        is_first[self.most :] = units[self.most :] != units[: -self.most]
        return rows[places[is_first]], units[is_first]

    def differs(self, rows: pl.DataFrame) -> NDArray[np.bool_]:
        """Test whether a row is of another unit than the one before, shape (rows - 1,)."""
        pairs = [(column[1:], column[:-1]) for column in rows[self.units]]
        return reduce(or_, [after != before for after, before in pairs]).to_numpy()

    def falls(self, rows: pl.DataFrame) -> bool:
        """Test whether a row's unit is smaller than that of the one before, by its columns in order."""
        falls = pl.Series([False])
        for column in reversed(rows[self.units].get_columns()):
            after, before = column[1:], column[:-1]
            falls = (after < before) | ((after == before) & falls)
        return bool(falls.any())


class _InOrder:
    """Rows that stream by in the order of their units, whose last unit is still to be completed."""

    def __init__(self, choice: _Choice, use: Callable[[pl.DataFrame], None]) -> None:
        self._choice, self._use = choice, use
        self._last: pl.DataFrame | None = None
        self._is_ordered = True

    def add(self, part: pl.DataFrame) -> bool:
        """Use the rows of complete units that count; return whether a unit came after a larger one."""
        rows = part if self._last is None else pl.concat([self._last, part])
        if not self._is_ordered or rows.is_empty() or self._choice.falls(rows):
            self._is_ordered = rows.is_empty() and self._is_ordered
            return not self._is_ordered
        units = np.cumsum(np.append(False, self._choice.differs(rows)))
        chosen, numbers = self._choice.first_rows(rows, units)
        complete = int(np.searchsorted(numbers, units[-1]))
        self._last = chosen[complete:]
        self._use(chosen[:complete])
        return False

    def end(self) -> bool:
        if self._is_ordered and self._last is not None:
            self._use(self._last)
        return self._is_ordered


class _InAnyOrder:
    """Rows in any order: of each unit seen so far, the first."""

    def __init__(self, choice: _Choice) -> None:
        self._choice = choice
        self._waiting: list[pl.DataFrame] = []
        self._first = 0

    def add(self, part: pl.DataFrame) -> None:
        self._waiting.append(part)
        if sum(map(len, self._waiting)) - self._first > max(MOST_WAITING_ROWS, self._first):
            self._reduce()

    def end(self) -> list[pl.DataFrame]:
        self._reduce()
        return self._waiting

    def _reduce(self) -> None:
        if self._waiting:
            rows = pl.concat(self._waiting)
            self._waiting = [self._choice.first_rows(rows, self._numbers(rows))[0]]
            self._first = len(self._waiting[0])

    def _numbers(self, rows: pl.DataFrame) -> Integers:
        places = rows.select(pl.arg_sort_by(*self._choice.units)).to_series()
        numbers = np.empty(len(rows), dtype=np.int64)
        differs = self._choice.differs(rows[places, self._choice.units])
        numbers[places.to_numpy()] = np.cumsum(np.append(False, differs))
        return numbers


MOST_COUNTERS = 2**24  # cells, of all tables together, that have a counter each, whether or not a row falls into them
SLICE_ROWS = 2**14
"""Rows that NumPy works on at a time: its arrays stay within a processor's cache, and their memory is used again. Four
times as many took a third more time."""

MOST_SCORED = 2**18  # scores that are held at a time, of all classes together
MOST_WAITING = 2**20  # cells of a sparse table that wait to be added up, though some may be the same


@singledispatch
def reduce_rows(query: Query[Any], rows: pl.LazyFrame, types: Mapping[str, pl.DataType]) -> Any:
    """Answer a query over rows, never held as a whole, without digests of what was read. Confidential."""
    raise TypeError(f"Polars does not know how to answer {type(query).__name__}")


@reduce_rows.register
def _reduce_to_cells(query: CellQuery, rows: pl.LazyFrame, types: Mapping[str, pl.DataType]) -> Statistics:
    return assemble(query.domain, iter(count_rows(rows, types, query.domain, query.domain.attributes, classes=True)))


def count_cells(
    source: ParquetSource, domain: Domain, attributes: Sequence[Attribute], *, classes: bool
) -> list[Cells]:
    """Count the cells of some attributes over files, as ``count_rows``."""
    count = partial(count_rows, types=source.types, domain=domain, attributes=attributes, classes=classes)
    return stream(source, count, by_units=domain.unit is not None)


def count_rows(
    rows: pl.LazyFrame,
    types: Mapping[str, pl.DataType],
    domain: Domain,
    attributes: Sequence[Attribute],
    *,
    classes: bool,
) -> list[Cells]:
    """Count the cells of some attributes over rows: classes first, the sums of weights last. Confidential."""
    size = len(domain.classes)
    values = _values(domain, types, attributes)
    tables = [_Table(size, name, values[name]) for name in values]
    if classes:
        tables.insert(0, _Table(size))
    weights = DenseCounter(size)
    counters, more = _counters(tables), [] if domain.weight is None else [WEIGHT]

    def count(part: pl.DataFrame) -> None:
        for numbers, class_, _ in _numbered(part, values):
            for counter, table in zip(counters, tables, strict=True):
                counter.add(table.places(numbers, class_))
        if more:
            weights.add(part[CLASS].to_numpy(), part[WEIGHT].to_numpy())

    def reset() -> None:
        counters[:] = _counters(tables)
        weights.counts[:] = 0

    stream_counted_rows(rows, types, domain, _columns(values), more, count, reset)
    # A counter goes once its cells are made, so that a large table is not held twice.
    cells = [table.cells_of(*counters.pop(0).counted()) for table in tables]
    sums = Cells(None, np.arange(size), np.full(size, WEIGHT_CODE), weights.counts)
    return [*cells, sums] if more else cells


def _values(domain: Domain, types: Mapping[str, pl.DataType], attributes: Iterable[Attribute]) -> dict[str, ValueCodes]:
    """Return how the values of attributes are numbered: by their codes where rows of units are ordered by these."""
    if domain.unit is not None:
        return {each.name: coded(each, pl.col(code_name(each.name))) for each in attributes}
    return {each.name: value_codes(each, types[each.name]) for each in attributes}


def _columns(values: Mapping[str, ValueCodes]) -> dict[str, pl.Expr]:
    return {code_name(name): each.number for name, each in values.items()}


def _values_of(domain: Domain, types: Mapping[str, pl.DataType], tables: Iterable[ScoreTable]) -> dict[str, ValueCodes]:
    scored = {table.attribute for table in tables}
    return _values(domain, types, [each for each in domain.attributes if each.name in scored])


def _numbered(
    part: pl.DataFrame, values: Mapping[str, ValueCodes], most: int = SLICE_ROWS
) -> Iterator[tuple[dict[str, Whole], Integers, slice]]:
    """Yield numbers of the values of rows, by attribute, and their classes; and which rows they are of the part."""
    classes = part[CLASS].to_numpy()
    numbers = {name: each.numbers(part[code_name(name)]) for name, each in values.items()}
    for start in range(0, len(part), most):
        rows = slice(start, start + most)
        yield {name: each[rows] for name, each in numbers.items()}, classes[rows].astype(np.int64), rows


@dataclass(frozen=True, slots=True)
class _Table:
    """The contingency table of an attribute's values and the class; a cell's place is its index in row-major order."""

    classes: int
    name: str | None = None  # None for the class counts, as the values
    values: ValueCodes | None = None

    @property
    def by_code(self) -> bool:
        """Whether values are coded row by row: counters of all of them would not stay within a processor's cache."""
        values = self.values
        return values is not None and values.codes is not None and values.size * self.classes > MOST_LOOKED_UP

    @property
    def cells(self) -> int:
        if self.values is None:
            return self.classes
        return ((self.values.missing if self.by_code else self.values.size) + 1) * self.classes

    def places(self, by_attribute: Mapping[str, Whole], classes: Integers) -> Integers:
        """Compute the place of each row, shape (rows,), from its class and the number of its value."""
        if self.values is None or self.name is None:
            return classes
        numbers = by_attribute[self.name]
        if self.by_code:
            numbers = self.values.codes_of(numbers)
        places: Integers = np.multiply(numbers, self.classes, dtype=np.int64)
        places += classes
        return places

    def cells_of(self, places: Whole, counts: Whole) -> Cells:
        """Convert counts of places to counts of cells; values of one code are several cells of it."""
        numbers, classes = np.divmod(places, self.classes)
        if self.values is None:
            return Cells(None, classes, numbers, counts)
        codes = numbers if self.by_code else self.values.codes_of(numbers)
        kept = codes < self.values.missing
        return Cells(self.name, narrow(classes[kept]), narrow(codes[kept]), counts[kept])


class Counter(Protocol):
    """Counter of the cells that rows fall into."""

    def add(self, places: Integers) -> None:
        """Count each of these cells once more."""

    def counted(self) -> tuple[Whole, Whole]:
        """Return the cells that rows fell into, each once, and the number of rows of each. Confidential."""


class DenseCounter:
    """Counter with a number for every cell, for tables that are small or well filled. Confidential."""

    def __init__(self, cells: int) -> None:
        self.counts: Integers = np.zeros(cells, dtype=np.int64)

    def add(self, places: Integers, weights: Integers | None = None) -> None:
        # Sums of floats, exact below 2^53, as of weights of 2^20 steps; no longer than to the last cell of a row.
        counts = np.bincount(places, weights)
        self.counts[: len(counts)] += counts.astype(np.int64, copy=False)

    def counted(self) -> tuple[Integers, Integers]:
        places = np.flatnonzero(self.counts)
        return places, self.counts[places]


class SparseCounter:
    """Counter of those cells alone that rows fall into, by runs of sorted ones: a third of the time of a group-by."""

    def __init__(self, cells: int) -> None:
        self._type = np.min_scalar_type(cells)
        self._waiting: list[Whole] = []
        self._cells: Whole = np.zeros(0, dtype=np.int64)
        self._counts: Whole = np.zeros(0, dtype=np.int64)

    def add(self, places: Integers) -> None:
        self._waiting.append(places.astype(self._type))
        # The sum so far must be outweighed by what waits, or most of the time would go into adding it up again.
        if sum(map(len, self._waiting)) > max(MOST_WAITING, len(self._counts)):
            self._add_up()

    def counted(self) -> tuple[Whole, Whole]:
        self._add_up()
        return self._cells, self._counts

    def _add_up(self) -> None:
        if not self._waiting:
            return
        cells = np.sort(np.concatenate(self._waiting))
        self._waiting = []
        starts = _run_starts(cells)
        cells, counts = cells[starts], narrow(np.diff(starts, append=len(cells)))
        if len(self._cells):
            both, numbers = np.concatenate([self._cells, cells]), np.concatenate([self._counts, counts])
            order = np.argsort(both, kind="stable")  # two rising runs are merged, not sorted
            cells = both[order]
            starts = _run_starts(cells)
            cells, counts = cells[starts], narrow(np.add.reduceat(numbers[order], starts, dtype=np.int64))
        self._cells, self._counts = cells, counts


def narrow(numbers: Whole) -> Whole:
    """Return whole numbers that are not negative in the narrowest type: tables may have a cell for every row."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def _run_starts(cells: Whole) -> Integers:
    return np.flatnonzero(np.append(True, cells[1:] != cells[:-1])[: len(cells)])


def _counters(tables: Sequence[_Table]) -> list[Counter]:
    """Return a counter for each table: dense ones for the smallest tables, up to ``MOST_COUNTERS`` cells together."""
    counters: dict[int, Counter] = {}
    room = MOST_COUNTERS
    for number in sorted(range(len(tables)), key=lambda number: tables[number].cells):
        room -= tables[number].cells
        counters[number] = (DenseCounter if room >= 0 else SparseCounter)(tables[number].cells)
    return [counters[number] for number in range(len(tables))]


@reduce_rows.register
def count_scores(scores: ClassScores, rows: pl.LazyFrame, types: Mapping[str, pl.DataType]) -> ScoreCounts:
    """Count the rows of each bin and class, or add up their weights, as ``reduce_rows``."""
    domain, classes = scores.domain, len(scores.domain.classes)
    values = _values_of(domain, types, [*chain(*scores.by_class), *scores.group_tables])
    # Whole numbers: their sum does not depend on the order of summation.
    look_ups = [_look_ups(values, tables, scores.number_type) for tables in scores.by_class]
    groups = _look_ups(values, scores.group_tables, np.int64)
    counter = DenseCounter(scores.bins * classes)
    most = max(1, min(SLICE_ROWS, MOST_SCORED // len(look_ups)))

    def count(part: pl.DataFrame) -> None:
        weights = part[WEIGHT].to_numpy() if scores.weighted else None
        for numbers, class_, rows in _numbered(part, values, most):
            by_class = np.empty((len(look_ups), len(class_)), dtype=scores.number_type)
            by_class[:] = np.array(scores.offsets)[:, None]
            for total, each in zip(by_class, look_ups, strict=True):
                for name, score in each:
                    total += score(numbers[name])
            places = scores.bins_of(by_class, class_) * classes + class_
            for name, group in groups:
                places += group(numbers[name]) * (scores.group_bins * classes)
            counter.add(places, None if weights is None else weights[rows])

    def reset() -> None:
        counter.counts[:] = 0

    more = [WEIGHT] if scores.weighted else []
    stream_counted_rows(rows, types, domain, _columns(values), more, count, reset)
    return ScoreCounts(scores, counter.counts.reshape(scores.bins, classes))


def _look_ups(
    values: Mapping[str, ValueCodes], tables: Iterable[ScoreTable], type_: DTypeLike
) -> list[tuple[str, Callable[[Whole], Whole]]]:
    return [
        (each.attribute, values[each.attribute].steps(each.starts, each.scores, each.missing, type_)) for each in tables
    ]


@confined()
def read_scores(
    frame: Frame, domain: Domain, tables: Sequence[ScoreTable]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Read class codes, shape (rows,), and scores, shape (rows, tables), of public rows: each is of a single row."""
    from dpnb_columnar.rows.frames import open_frame

    opened = open_frame(frame, domain)
    parts = [
        step_score(domain[table.attribute], opened.types[table.attribute], table.starts, table.scores, table.missing)
        for table in tables
    ]
    named = {str(number): part for number, part in enumerate(parts)}
    rows = (
        classed_rows(opened.rows, domain, kinds_of(opened.types), **named)
        .drop_nulls("class")
        .collect(engine="streaming")
    )
    return rows["class"].cast(pl.Int64).to_numpy(), rows.drop("class").to_numpy()


# Gradients of a round.


@reduce_rows.register
def sum_gradients(query: GradientQuery, rows: pl.LazyFrame, types: Mapping[str, pl.DataType]) -> GradientSums:
    """Sum up the gradient of a round, as ``reduce_rows``."""
    values = _values_of(query.domain, types, query.tables)
    look_ups = _look_ups(values, query.tables, query.number_type)
    empty = query.empty()
    sums, numbers_of_rows = empty.sums, empty.rows

    def add(part: pl.DataFrame) -> None:
        for numbers, class_, _ in _numbered(part, values):
            scores = [look_up(numbers[name]) for name, look_up in look_ups]
            factors = query.factors_of(scores, class_)
            sums[:-1] += [(score * factors).sum(dtype=np.int64) for score in scores]
            sums[-1] += UNITS * factors.sum(dtype=np.int64)
            numbers_of_rows[:] += np.bincount(class_, minlength=len(numbers_of_rows))

    def reset() -> None:
        sums[:] = 0
        numbers_of_rows[:] = 0

    stream_counted_rows(rows, types, query.domain, _columns(values), [], add, reset)
    return GradientSums(query, sums, numbers_of_rows)


SESSION = """
SET enable_progress_bar = false;
SET preserve_insertion_order = false;
SET temp_directory = '';
SET perfect_ht_threshold = 18;
"""
"""Without a folder for temporary files, exact counts are never spilled to disk; keys of 16 bits, and null, are counted
in an array."""


def count_by_duckdb(source: ParquetSource, domain: Domain, attributes: Sequence[Attribute]) -> list[Cells]:
    """Count the classes, and the cells of some attributes; a cell may be there several times. Confidential."""
    import duckdb

    from dpnb_columnar.dialects.statistics_query import COUNT, FILES, cells_query, joint_keys
    from dpnb_columnar.rows.databases import reported_query

    keys = joint_keys(domain, source.kinds, attributes)
    query = cells_query(domain, source.kinds, keys)
    files = [glob.escape(str(file)) for file in source.files if isinstance(file, Path)]  # no objects: local.answer
    try:
        with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
            connection.execute(SESSION)
            with reported_query(connection, source.size):
                result = connection.execute(query, {FILES: files}).fetchnumpy()
    except duckdb.Error:
        # The engine's own text may quote values.
        raise source.unreadable() from None
    cells = []
    for place, key in enumerate(keys):
        joint = np.ma.masked_array(result[f"key_{place}"])
        rows = ~np.ma.getmaskarray(joint)
        numbers, counts = joint.data[rows].astype(np.int64), result[COUNT][rows].astype(np.int64)
        classes = numbers & (2**key.class_bits - 1)
        if place == 0:
            cells.append(Cells(None, classes, np.zeros_like(classes), counts))
        for digit in key.digits:
            codes = numbers >> digit.shift & (2**digit.bits - 1)
            if digit.codes is not None:
                codes = np.asarray(digit.codes)[codes]
            fits = codes < number_of_codes(digit.attribute)
            cells.append(Cells(digit.attribute.name, classes[fits], codes[fits], counts[fits]))
    return cells


SMALL = 2**24
"""Bytes of files that Polars counts alone, about three million rows: to load DuckDB and to write its query would take
longer."""

MANY = 60
"""More categorical attributes than this are counted by Polars alone: DuckDB would take five milliseconds for each
attribute before it reads a row."""

MOST_VALUES = 2**14
"""Declared values beyond which all is counted by Polars: each is a constant in DuckDB's query, 43 microseconds and
8 KiB to parse and to plan, 0.7 s and 128 MiB for so many. Half a million of them took three gigabytes."""


@confined()
def answer(source: ParquetSource | OpenedFrame | Frame, query: Query[AnswerT]) -> AnswerT:
    """Answer a query over the rows of Parquet files, or of a frame, as over a file of its rows."""
    if not isinstance(source, ParquetSource):
        if not isinstance(source, OpenedFrame):
            from dpnb_columnar.rows.frames import open_frame

            source = open_frame(source, query.domain)
        return _streamed(query, source)
    try:
        answered: AnswerT = _over_files(query, source)
        return with_parts(answered, file_parts(source.files))
    except OSError:
        raise source.unreadable() from None


def _streamed(query: Query[AnswerT], source: Source) -> AnswerT:
    answered: AnswerT = stream(
        source, partial(reduce_rows, query, types=source.types), by_units=query.domain.unit is not None
    )
    return answered


@singledispatch
def _over_files(query: Query[Any], source: ParquetSource) -> Any:
    return _streamed(query, source)


@_over_files.register
def _cells_over_files(query: CellQuery, source: ParquetSource) -> Statistics:
    try:
        return assemble(query.domain, iter(_count_cells(source, query.domain)))
    except ValueError as error:
        raise DataError(
            f"{source.names}: {error}; did a file change while it was read, or are the statistics in its footer false? "
            "write it again"
        ) from None


def _count_cells(source: ParquetSource, domain: Domain) -> list[Cells]:
    # DuckDB is not told of the columns of folders.
    named = any(not folder_values(file).keys().isdisjoint(domain.counted_columns) for file in source.files)
    # Nor does it come with what reads a store, and a run downloads no program.
    alone = source.is_stored or sum(file.stat().st_size for file in source.files if isinstance(file, Path)) <= SMALL
    many = len(domain.categorical) > MANY or sum(len(each.members) for each in domain.categorical) > MOST_VALUES
    # Floats and decimals it would write as texts to look them up.
    by_duckdb = [each for each in domain.categorical if source.kinds[each.name] not in (Kind.FLOAT, Kind.DECIMAL)]
    if domain.unit is not None or named or alone or many or not by_duckdb:
        return count_cells(source, domain, domain.attributes, classes=True)
    # DuckDB first: it gives its memory back, so that the two peaks do not add up.
    try:
        cells = count_by_duckdb(source, domain, by_duckdb)
    except DataError:
        # Perhaps one text is not UTF-8, which DuckDB does not read. A damaged file fails here once more.
        return count_cells(source, domain, domain.attributes, classes=True)
    others = [each for each in domain.attributes if each not in by_duckdb]
    return cells + count_cells(source, domain, others, classes=False)
