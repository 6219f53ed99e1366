"""Count bins of scores, or sum up gradients, with Polars in one scan of the rows: memory does not grow with them.

CONFIDENTIAL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl

from dpnb_columnar.counting.engines.polars import DenseCounter
from dpnb_columnar.counting.engines.polars_units import sink_counted
from dpnb_columnar.counting.file_parts import file_parts
from dpnb_columnar.counting.gradients import CERTAIN, GradientQuery, GradientSums, WeightGroup, exponentials
from dpnb_columnar.counting.scores import UNITS, ScoreCounts, Scores, ScoreTable
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.column_kinds import kinds_of
from dpnb_columnar.rows.parquet import ParquetSource
from dpnb_columnar.rows.row_rules import classed_rows, step_score
from dpnb_columnar.rows.streaming import stream
from dpnb_columnar.rows.unit_order import counted_rows
from dpnb_columnar.runtime.confinement import confined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpnb_columnar.rows.frames import Frame
    from dpnb_columnar.rows.streaming import OpenedFrame


Counted = TypeVar("Counted", ScoreCounts, GradientSums)


@confined()
def score_files(source: ParquetSource, scores: Scores) -> ScoreCounts:
    """Count bins of scores over the rows of Parquet files.

    Raises:
        DataError: if a file is damaged.
    """
    return _of_files(source, scores.domain, partial(count_scores, types=source.types, scores=scores))


@confined()
def score_frame(frame: Frame | OpenedFrame, scores: Scores) -> ScoreCounts:
    """Count bins of scores over the rows of a frame, as ``score_files`` does over a file of these rows.

    Raises:
        DataError: if the frame does not fit the domain, or the query behind a lazy frame fails.
    """
    from dpnb_columnar.rows.frames import stream_frame

    return stream_frame(frame, scores.domain, partial(count_scores, scores=scores))


def count_scores(rows: pl.LazyFrame, types: Mapping[str, pl.DataType], scores: Scores) -> ScoreCounts:
    """Count the rows of each bin and class; the rows that count are those of ``polars.count_rows``.

    Args:
        rows: Rows with all of the domain's columns; never held as a whole, and computed once, but where a unit comes
            after a larger one. Confidential.
        types: The type of each column.
        scores: What to count.

    Raises:
        polars.exceptions.PolarsError: if the rows cannot be read; its text may quote values.
    """
    classes = len(scores.domain.classes)
    # Whole numbers: their sum does not depend on the order of summation.
    if scores.offsets:
        total = _largest_key(types, scores)
        # Twice, since the remainder of a negative number may be negative.
        bin_ = (classes - 1 - (pl.col("score") % classes + classes) % classes).cast(pl.UInt32)
    else:
        total = pl.sum_horizontal(attribute_scores(types, scores.domain, scores.tables))
        bin_ = pl.sum_horizontal([(pl.col("score") >= edge).cast(pl.UInt32) for edge in scores.edges])
    # The place is null where the row has no class.
    place = pl.col("class").cast(pl.UInt32) * pl.lit(scores.bins, pl.UInt32) + bin_
    counter = DenseCounter(classes * scores.bins)

    def query(rows: pl.LazyFrame) -> pl.LazyFrame:
        return counted_rows(rows, scores.domain, types, {"score": total}).with_columns(place=place)

    def count(part: pl.DataFrame) -> None:
        counter.add(part["place"].drop_nulls())

    def reset() -> None:
        counter.counts[:] = 0

    sink_counted(rows, types, scores.domain, query, ["place"], count, reset)
    return ScoreCounts(scores, counter.counts.reshape(classes, scores.bins).T.copy())


def _largest_key(types: Mapping[str, pl.DataType], scores: Scores) -> pl.Expr:
    """Find the largest key of all classes: the score times their number, plus the number of classes after this one.

    So the keys of equal scores fall from class to class, and the remainder of a key tells its class.
    """
    classes = len(scores.offsets)
    return pl.max_horizontal(
        classes * pl.sum_horizontal(pl.lit(offset, pl.Int64), *attribute_scores(types, scores.domain, tables))
        + (classes - 1 - place)
        for place, (offset, tables) in enumerate(zip(scores.offsets, scores.by_class, strict=True))
    )


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


@confined()
def differentiate_files(source: ParquetSource, query: GradientQuery) -> GradientSums:
    """Sum up a round's gradient over the rows of Parquet files.

    Raises:
        DataError: if a file is damaged.
    """
    return _of_files(source, query.domain, partial(sum_gradients, types=source.types, query=query))


@confined()
def differentiate_frame(frame: Frame | OpenedFrame, query: GradientQuery) -> GradientSums:
    """Sum up a round's gradient over the rows of a frame, as ``differentiate_files`` does over a file of these rows.

    Raises:
        DataError: if the frame does not fit the domain, or the query behind a lazy frame fails.
    """
    from dpnb_columnar.rows.frames import stream_frame

    return stream_frame(frame, query.domain, partial(sum_gradients, query=query))


def sum_gradients(rows: pl.LazyFrame, types: Mapping[str, pl.DataType], query: GradientQuery) -> GradientSums:
    """Sum up the gradient of a round; the rows that count are those of ``polars.count_rows``.

    Args:
        rows: Rows with all of the domain's columns; never held as a whole, and computed once, but where a unit comes
            after a larger one. Confidential.
        types: The type of each column.
        query: What to sum up.

    Raises:
        polars.exceptions.PolarsError: if the rows cannot be read; its text may quote values.
    """
    domain = query.domain
    # Each step names what the next ones use more than once. Columns are named by numbers of a group and of a class.
    scores = {
        f"score {number} {klass}": pl.sum_horizontal(attribute_scores(types, domain, tables))
        for number, group in enumerate(query.groups)
        for klass, tables in enumerate(group.tables, 1)
    }
    largest = {f"largest {number}": _largest(f"score {number}", query) for number in range(len(query.groups))}
    clipped = {name: score for number, group in enumerate(query.groups) for name, score in _clipped(number, group)}
    totals = {
        klass: pl.sum_horizontal(
            log_odds, *(group.weight * pl.col(f"score {number} {klass}") for number, group in enumerate(query.groups))
        )
        for klass, log_odds in enumerate(query.log_odds, 1)
    }
    others = range(1, len(domain.classes))
    sums = {f"sum {klass}": pl.col(f"error {klass}").cast(pl.Int64).sum() for klass in others}
    for number in range(len(query.groups)):
        products = [pl.col(f"error {klass}").cast(pl.Int64) * pl.col(f"score {number} {klass}") for klass in others]
        sums[f"weight {number}"] = pl.sum_horizontal(products).sum()
    counts = {f"rows {klass}": (pl.col("class") == klass).cast(pl.Int64).sum() for klass in range(len(domain.classes))}

    def compare(rows: pl.LazyFrame) -> pl.LazyFrame:
        rows = counted_rows(rows, domain, types, scores).filter(pl.col("class").is_not_null())
        rows = rows.with_columns(**largest).with_columns(**clipped)
        rows = rows.with_columns(**{f"total {klass}": total for klass, total in totals.items()})
        rows = rows.with_columns(largest=_largest("total", query))
        rows = rows.with_columns(**_likelihoods(len(domain.classes)))
        rows = rows.with_columns(whole=pl.sum_horizontal(f"likelihood {klass}" for klass in range(len(domain.classes))))
        rows = rows.with_columns(**_errors(len(domain.classes)))
        return rows.with_columns(pl.col(*scores, *(f"error {klass}" for klass in others)).cast(pl.Int32))

    row: Counter[str] = Counter()

    def add_up(part: pl.DataFrame) -> None:
        row.update(part.select(**sums, **counts).row(0, named=True))

    if domain.unit is None:
        row.update(compare(rows).select(**sums, **counts).collect(engine="streaming").row(0, named=True))
    else:
        used = ["class", *scores, *(f"error {klass}" for klass in others)]
        sink_counted(rows, types, domain, compare, used, add_up, row.clear)

    def read(name: str, numbers: range) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([row[f"{name} {number}"] for number in numbers], dtype=np.int64)

    return GradientSums(
        query, read("weight", range(len(query.groups))), read("sum", others), read("rows", range(len(domain.classes)))
    )


def _largest(name: str, query: GradientQuery) -> pl.Expr:
    """Find the largest number of all classes, that of the first class being 0."""
    return pl.max_horizontal(pl.lit(0, pl.Int64), *(f"{name} {klass}" for klass in range(1, len(query.domain.classes))))


def _clipped(number: int, group: WeightGroup) -> Iterator[tuple[str, pl.Expr]]:
    """Clip the scores of a group of attributes, by the class's column."""
    names = [f"score {number} {klass}" for klass in range(1, len(group.tables) + 1)]
    if len(names) == 1:
        yield names[0], pl.col(names[0]).clip(-group.clip, group.clip)
        return
    largest = pl.col(f"largest {number}")
    first = (-largest).clip(lower_bound=-group.clip)
    for name in names:
        yield name, (pl.col(name) - largest).clip(lower_bound=-group.clip) - first


def _likelihoods(classes: int) -> dict[str, pl.Expr]:
    """Look up the likelihood of each class relative to the largest."""
    values = exponentials()
    table = pl.lit(pl.Series(values, dtype=pl.Int64))
    totals = [pl.lit(0, pl.Int64), *(pl.col(f"total {klass}") for klass in range(1, classes))]
    return {
        f"likelihood {klass}": table.gather(((pl.col("largest") - total) // UNITS).clip(upper_bound=len(values) - 1))
        for klass, total in enumerate(totals)
    }


def _errors(classes: int) -> dict[str, pl.Expr]:
    """Subtract the probability of each class but the first from whether the row is of it."""
    return {
        f"error {klass}": (pl.col("class") == klass).cast(pl.Int64) * CERTAIN
        - pl.col(f"likelihood {klass}") * CERTAIN // pl.col("whole")
        for klass in range(1, classes)
    }


def _of_files(source: ParquetSource, domain: Domain, count: Callable[[pl.LazyFrame], Counted]) -> Counted:
    """Count the rows of Parquet files, with the digests of these.

    Raises:
        DataError: if a file is damaged.
    """
    counted = stream(source, count, by_units=domain.unit is not None)
    try:
        return replace(counted, parts=file_parts(source.files))
    except OSError:
        raise source.unreadable() from None
