"""Count cells with Polars, in one scan of the rows: memory follows the number of cells, not of rows. CONFIDENTIAL.

Rules are looked up by value (``rows.row_rules``) and cells are added up in counters, where Polars would compute the
rules for each row and group the rows. 10 million rows of 13 attributes take 1.9 s this way, 4.1 s with rules computed
for each row, and 3.3 s with a group-by in place of the counters (docs/journal/speed.md, "What each step bought").

Bins of scores are counted, and gradients summed up, in one scan as well: ``reduce_rows`` answers any query.
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from dpnb_columnar.counting.engines.polars_units import stream_counted_rows
from dpnb_columnar.counting.query import Query
from dpnb_columnar.counting.scores import (
    CERTAIN,
    UNITS,
    ClassScores,
    GradientQuery,
    GradientSums,
    Margins,
    ScoreCounts,
    ScoreTable,
    probabilities,
    sum_columns,
)
from dpnb_columnar.counting.statistics import WEIGHT_CODE, CellQuery, Cells, Integers, Statistics, Whole, assemble
from dpnb_columnar.domain import Attribute, Domain
from dpnb_columnar.domain.column_kinds import kinds_of
from dpnb_columnar.rows.parquet import ParquetSource
from dpnb_columnar.rows.row_rules import classed_rows, number_of_codes, step_score
from dpnb_columnar.rows.streaming import stream
from dpnb_columnar.rows.unit_order import CLASS, WEIGHT, code_column, code_name, counted_rows
from dpnb_columnar.runtime.confinement import confined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpnb_columnar.rows.frames import Frame

MOST_COUNTERS = 2**24
"""Cells, of all tables together, that have a counter each, whether or not a row falls into them."""

MOST_WAITING = 2**20
"""Cells of a sparse table that wait to be added up, though some may be the same."""


@singledispatch
def reduce_rows(query: Query[Any], rows: pl.LazyFrame, types: Mapping[str, pl.DataType]) -> Any:
    """Answer a query over rows.

    Whatever the query, the same rows count: those that ``rows.unit_order.counted_rows`` says.

    Args:
        query: What is asked.
        rows: Rows with all of the domain's columns; never held as a whole, and computed once, but where a unit comes
            after a larger one. Confidential.
        types: The type of each column.

    Returns:
        The answer, without digests of what was read. Confidential.

    Raises:
        polars.exceptions.PolarsError: if the rows cannot be read; its text may quote values.
        TypeError: if nothing is registered for this kind of query.
    """
    raise TypeError(f"Polars does not know how to answer {type(query).__name__}")


@reduce_rows.register
def _(query: CellQuery, rows: pl.LazyFrame, types: Mapping[str, pl.DataType]) -> Statistics:
    return assemble(query.domain, iter(count_rows(rows, types, query.domain, query.domain.attributes, classes=True)))


def count_cells(
    source: ParquetSource, domain: Domain, attributes: Sequence[Attribute], *, classes: bool
) -> list[Cells]:
    """Count the cells of some attributes.

    Args:
        source: Checked Parquet files.
        domain: The domain.
        attributes: Attributes to count.
        classes: Whether to count the classes as well.

    Returns:
        One ``Cells`` per attribute, in no fixed order of cells, those of the classes first; where the domain declares a
        weight, its sums last. Confidential.

    Raises:
        DataError: if a file is damaged.
    """

    def count(rows: pl.LazyFrame) -> list[Cells]:
        return count_rows(rows, source.types, domain, attributes, classes=classes)

    return stream(source, count, by_units=domain.unit is not None)


def count_rows(
    rows: pl.LazyFrame,
    types: Mapping[str, pl.DataType],
    domain: Domain,
    attributes: Sequence[Attribute],
    *,
    classes: bool,
) -> list[Cells]:
    """Count the cells of some attributes over rows, as ``count_cells`` does over files.

    Args:
        rows: Rows with all of the domain's columns; never held as a whole, and computed once, but where a unit comes
            after a larger one. Confidential.
        types: The type of each column.
        domain: The domain.
        attributes: Attributes to count.
        classes: Whether to count the classes as well.

    Raises:
        polars.exceptions.PolarsError: if the rows cannot be read; its text may quote values.
    """
    counted = [None, *attributes] if classes else attributes
    weights = None if domain.weight is None else _WeightSums(len(domain.classes))
    tables = {f"place {number}": _Table(each, len(domain.classes)) for number, each in enumerate(counted)}
    counters = _counters([*tables.values()])
    # A code is null where the row has no value, and so is the place that is computed from it.
    coded = {code_name(each): code_column(each, types) for each in attributes}
    placed = {name: table.place() for name, table in tables.items()}

    def query(rows: pl.LazyFrame) -> pl.LazyFrame:
        return counted_rows(rows, domain, types, coded).with_columns(**placed)

    def count(part: pl.DataFrame) -> None:
        for counter, name in zip(counters, tables, strict=True):
            counter.add(part[name].drop_nulls())
        if weights is not None:
            weights.add(part)

    def reset() -> None:
        counters[:] = _counters([*tables.values()])
        if weights is not None:
            weights.sums[:] = 0

    names = [*tables, *([] if weights is None else [CLASS, WEIGHT])]
    stream_counted_rows(rows, types, domain, query, names, count, reset, codes=names)
    # A counter goes once its cells are made, so that a large table is not held twice.
    cells = [table.cells_of(*counters.pop(0).counted()) for table in tables.values()]
    return cells if weights is None else [*cells, weights.cells()]


@dataclass(frozen=True, slots=True)
class _Table:
    """The contingency table of the class and an attribute; a cell's place is its index in row-major order.

    Attributes:
        attribute: The attribute; None for the class counts.
        classes: Number of classes.
    """

    attribute: Attribute | None
    classes: int

    @property
    def codes(self) -> int:
        """Number of codes of the attribute."""
        return 1 if self.attribute is None else number_of_codes(self.attribute)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.classes * self.codes

    @property
    def type(self) -> type[pl.DataType]:
        """The narrowest type that holds the place of every cell."""
        return pl.UInt16 if self.cells <= 2**16 else pl.UInt32 if self.cells <= 2**32 else pl.UInt64

    def place(self) -> pl.Expr:
        """Return the row's place, from its class and its code."""
        class_ = pl.col("class").cast(self.type)
        if self.attribute is None:
            return class_
        return class_ * pl.lit(self.codes, self.type) + pl.col(code_name(self.attribute)).cast(self.type)

    def cells_of(self, places: Whole, counts: Whole) -> Cells:
        """Convert counts of places to counts of cells."""
        classes, codes = np.divmod(places, self.codes)
        return Cells(self.attribute.name if self.attribute else None, narrow(classes), narrow(codes), counts)


class _WeightSums:
    """Sums of the weights of rows, per class.

    Args:
        classes: Number of classes.

    Attributes:
        sums: Shape (classes,), int64: in steps. Confidential.
    """

    def __init__(self, classes: int) -> None:
        self.sums: Integers = np.zeros(classes, dtype=np.int64)

    def add(self, part: pl.DataFrame) -> None:
        """Add the weights of the rows that have a class."""
        rows = part.select(CLASS, WEIGHT).drop_nulls()
        # Sums of floats, exact below 2^53: of steps up to 2^20, far more rows than a part has.
        sums = np.bincount(rows[CLASS].to_numpy(), rows[WEIGHT].to_numpy(), minlength=len(self.sums))
        self.sums += sums.astype(np.int64)

    def cells(self) -> Cells:
        """Return the sums as cells beside those of the class counts."""
        classes = np.arange(len(self.sums))
        return Cells(None, classes, np.full_like(classes, WEIGHT_CODE), self.sums)


class Counter(Protocol):
    """Counter of the cells that rows fall into."""

    def add(self, places: pl.Series) -> None:
        """Count each of these cells once more; none is null."""

    def counted(self) -> tuple[Whole, Whole]:
        """Return the cells that rows fell into, each once, and the number of rows of each. Confidential."""


class DenseCounter:
    """Counter with a number for every cell, for tables that are small or well filled.

    Args:
        cells: Number of cells.

    Attributes:
        counts: Shape (cells,), int64: number of rows of each cell. Confidential.
    """

    def __init__(self, cells: int) -> None:
        self.counts: Integers = np.zeros(cells, dtype=np.int64)

    def add(self, places: pl.Series) -> None:
        """Count each of these cells once more, as ``Counter.add``."""
        self.counts += np.bincount(places.to_numpy(), minlength=len(self.counts))

    def counted(self) -> tuple[Integers, Integers]:
        """Return cells and numbers of rows, as ``Counter.counted``."""
        places = np.flatnonzero(self.counts)
        return places, self.counts[places]


class SparseCounter:
    """Counter with a number for those cells alone that rows fall into.

    Cells are sorted and counted by their runs: few rows of a sparse table share a cell, and to sort them takes a third
    of the time of a group-by, which looks each of them up.
    """

    def __init__(self) -> None:
        self._waiting: list[Whole] = []
        self._cells: Whole = np.zeros(0, dtype=np.int64)
        self._counts: Whole = np.zeros(0, dtype=np.int64)

    def add(self, places: pl.Series) -> None:
        """Count each of these cells once more, as ``Counter.add``."""
        self._waiting.append(places.to_numpy())
        # The sum so far must be outweighed by what waits, or most of the time would go into adding it up again.
        if sum(map(len, self._waiting)) > max(MOST_WAITING, len(self._counts)):
            self._add_up()

    def counted(self) -> tuple[Whole, Whole]:
        """Return cells, rising, and numbers of rows, as ``Counter.counted``."""
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
    """Find where runs of equal cells begin."""
    return np.flatnonzero(np.append(True, cells[1:] != cells[:-1])[: len(cells)])


def _counters(tables: Sequence[_Table]) -> list[Counter]:
    """Return a counter for each table: dense ones for the smallest tables, up to ``MOST_COUNTERS`` cells together."""
    counters: dict[int, Counter] = {}
    room = MOST_COUNTERS
    for number in sorted(range(len(tables)), key=lambda number: tables[number].cells):
        room -= tables[number].cells
        counters[number] = DenseCounter(tables[number].cells) if room >= 0 else SparseCounter()
    return [counters[number] for number in range(len(tables))]


@reduce_rows.register
def count_scores(scores: ClassScores, rows: pl.LazyFrame, types: Mapping[str, pl.DataType]) -> ScoreCounts:
    """Count the rows of each bin and class, as ``reduce_rows``."""
    classes, factor = len(scores.domain.classes), scores.factor
    # Whole numbers: their sum does not depend on the order of summation.
    columns = {"largest": pl.max_horizontal(_key(types, scores, place) for place in scores.compared)}
    # Twice, since the remainder of a negative number may be negative.
    best = (factor - 1 - (pl.col("largest") % factor + factor) % factor).cast(pl.UInt32)
    class_, bin_ = pl.col(CLASS).cast(pl.UInt32), best
    if isinstance(scores, Margins):
        columns["own"] = _score(types, scores, scores.largest)
        # That of the scores times the factor, or more by less than the factor.
        margin = pl.col("largest") - factor * pl.col("own")
        bin_ = pl.sum_horizontal([(margin >= factor * edge).cast(pl.UInt32) for edge in scores.edges])
        if scores.columns > 2:
            neither = (class_ != scores.largest) & (class_ != best)
            bin_ += scores.ranges * neither.cast(pl.UInt32)
    # The place is null where the row has no class.
    place = class_ * pl.lit(scores.bins, pl.UInt32) + bin_
    counter = DenseCounter(classes * scores.bins)

    def query(rows: pl.LazyFrame) -> pl.LazyFrame:
        return counted_rows(rows, scores.domain, types, columns).with_columns(place=place)

    def count(part: pl.DataFrame) -> None:
        counter.add(part["place"].drop_nulls())

    def reset() -> None:
        counter.counts[:] = 0

    stream_counted_rows(rows, types, scores.domain, query, ["place"], count, reset)
    return ScoreCounts(scores, counter.counts.reshape(classes, scores.bins).T.copy())


def _score(types: Mapping[str, pl.DataType], scores: ClassScores, place: int) -> pl.Expr:
    """Add up the score of a class."""
    offset = pl.lit(scores.offsets[place], pl.Int64)
    return pl.sum_horizontal(offset, *attribute_scores(types, scores.domain, scores.by_class[place]))


def _key(types: Mapping[str, pl.DataType], scores: ClassScores, place: int) -> pl.Expr:
    """Compute the key of a class that is compared (``ClassScores.factor``)."""
    factor, score = scores.factor, _score(types, scores, place)
    return score if factor == 1 else factor * score + (factor - 1 - place)


@confined()
def read_scores(
    frame: Frame, domain: Domain, tables: Sequence[ScoreTable]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Read the class of every row that counts, and the score of each of its attributes.

    Args:
        frame: Public rows: what is returned is about single rows.
        domain: Their domain.
        tables: A table per attribute that is scored.

    Returns:
        Class codes, shape (rows,), and scores, shape (rows, tables).

    Raises:
        DataError: if the frame does not fit the domain.
    """
    from dpnb_columnar.rows.frames import open_frame

    opened = open_frame(frame, domain)
    parts = [part.alias(str(number)) for number, part in enumerate(attribute_scores(opened.types, domain, tables))]
    rows = (
        classed_rows(opened.rows, domain, kinds_of(opened.types), *parts)
        .drop_nulls("class")
        .collect(engine="streaming")
    )
    return rows["class"].cast(pl.Int64).to_numpy(), rows.drop("class").to_numpy()


def attribute_scores(types: Mapping[str, pl.DataType], domain: Domain, tables: Sequence[ScoreTable]) -> list[pl.Expr]:
    """Return the score of each attribute."""
    return [
        step_score(domain[table.attribute], types[table.attribute], table.starts, table.scores, table.missing)
        for table in tables
    ]


# Gradients of a round.


@reduce_rows.register
def sum_gradients(query: GradientQuery, rows: pl.LazyFrame, types: Mapping[str, pl.DataType]) -> GradientSums:
    """Sum up the gradient of a round, as ``reduce_rows``."""
    domain, values = query.domain, probabilities()
    names = [f"score {place}" for place in range(len(query.tables))]
    scores = dict(zip(names, attribute_scores(types, domain, query.tables), strict=True))
    second = pl.col("class") == 1
    total = pl.sum_horizontal(query.log_odds, *map(operator.mul, map(pl.col, names), query.weights))
    size = pl.sum_horizontal(pl.col(name).abs() for name in names)
    place = (pl.col("total").abs() // UNITS).clip(upper_bound=len(values) - 1)
    against = pl.lit(pl.Series(values, dtype=pl.Int64)).gather(place)
    error = pl.when(second == (pl.col("total") >= 0)).then(against).otherwise(CERTAIN - against)
    scaled = (query.bound * CERTAIN // pl.col("size").clip(lower_bound=1)).clip(upper_bound=CERTAIN)
    factor = error * scaled // CERTAIN * pl.when(second).then(1).otherwise(-1)

    def scale(rows: pl.LazyFrame) -> pl.LazyFrame:
        rows = counted_rows(rows, domain, types, scores).filter(pl.col("class").is_not_null())
        # Each step names what the next one uses more than once.
        rows = rows.with_columns(total=total, size=size).with_columns(factor=factor)
        return rows.with_columns(pl.col(*names, "factor").cast(pl.Int32))

    wide = pl.col("factor").cast(pl.Int64)
    weight_names, row_names = sum_columns(query)
    sums = [*(wide * pl.col(name) for name in names), wide * UNITS]
    counts = [(pl.col("class") == klass).cast(pl.Int64) for klass in range(len(row_names))]
    columns = dict(zip((*weight_names, *row_names), (each.sum() for each in (*sums, *counts)), strict=True))
    row: collections.Counter[str] = collections.Counter()

    def add_up(part: pl.DataFrame) -> None:
        row.update(part.select(**columns).row(0, named=True))

    if domain.unit is None:
        row.update(scale(rows).select(**columns).collect(engine="streaming").row(0, named=True))
    else:
        stream_counted_rows(rows, types, domain, scale, ["class", *names, "factor"], add_up, row.clear)
    totals, numbers = (np.array([row[name] for name in part], dtype=np.int64) for part in sum_columns(query))
    return GradientSums(query, totals, numbers)
