"""Count bins of scores with Polars, in one scan of the rows: memory does not grow with them. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from dpnb_columnar.counting.engines.polars import DenseCounter
from dpnb_columnar.counting.engines.polars_units import sink_counted
from dpnb_columnar.counting.file_parts import file_parts
from dpnb_columnar.counting.scores import ScoreCounts, Scores, ScoreTable
from dpnb_columnar.domain import Domain
from dpnb_columnar.rows.cell_codes import step_score
from dpnb_columnar.rows.column_kinds import kinds_of
from dpnb_columnar.rows.parquet import ParquetSource
from dpnb_columnar.rows.row_rules import classed_rows
from dpnb_columnar.rows.streaming import stream
from dpnb_columnar.rows.unit_order import counted_rows
from dpnb_columnar.runtime.confinement import confined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpnb_columnar.rows.frames import Frame, OpenedFrame


@confined()
def score_files(source: ParquetSource, scores: Scores) -> ScoreCounts:
    """Count bins of scores over the rows of Parquet files.

    Raises:
        DataError: if a file is damaged.
    """
    counted = stream(source, partial(count_scores, types=source.types, scores=scores), shown=scores.domain.unit is None)
    try:
        return replace(counted, parts=file_parts(source.files))
    except OSError:
        raise source.unreadable() from None


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
