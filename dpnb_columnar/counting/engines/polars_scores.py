"""Count bins of scores with Polars, in one scan of the rows: memory does not grow with them. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from dpnb_columnar.counting.engines.polars import PART_ROWS, DenseCounter
from dpnb_columnar.counting.scores import ScoreCounts, Scores
from dpnb_columnar.rows.cell_codes import step_score
from dpnb_columnar.rows.column_kinds import kinds_of
from dpnb_columnar.rows.parquet import ParquetSource
from dpnb_columnar.rows.row_rules import attribute_fits, class_code
from dpnb_columnar.rows.streaming import stream
from dpnb_columnar.runtime.confinement import confined

if TYPE_CHECKING:
    from dpnb_columnar.rows.frames import Frame


@confined()
def score_files(source: ParquetSource, scores: Scores) -> ScoreCounts:
    """Count bins of scores over the rows of Parquet files.

    Raises:
        DataError: if a file is damaged.
    """
    return stream(source, partial(count_scores, types=source.types, scores=scores))


@confined()
def score_frame(frame: Frame, scores: Scores) -> ScoreCounts:
    """Count bins of scores over the rows of a frame, as ``score_files`` does over a file of these rows.

    Raises:
        DataError: if the frame does not fit the domain, or the query behind a lazy frame fails.
    """
    from dpnb_columnar.rows.frames import failed_query, open_frame

    opened = open_frame(frame, scores.domain)
    try:
        return count_scores(opened.rows, opened.types, scores)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise failed_query() from None


def count_scores(rows: pl.LazyFrame, types: Mapping[str, pl.DataType], scores: Scores) -> ScoreCounts:
    """Count the rows of each bin and class; the rows that count are those of ``polars.count_rows``.

    Args:
        rows: Rows with all of the domain's columns; computed once, and never held as a whole. Confidential.
        types: The type of each column.
        scores: What to count.

    Raises:
        polars.exceptions.PolarsError: if the rows cannot be read; its text may quote values.
    """
    domain, kinds = scores.domain, kinds_of(types)
    for attribute in domain.row_dropping:
        rows = rows.filter(attribute_fits(attribute, kinds[attribute.name]))
    parts = [
        step_score(domain[table.attribute], types[table.attribute], table.starts, table.scores, table.missing)
        for table in scores.tables
    ]
    score = pl.col("score")
    # Whole numbers: their sum does not depend on the order of summation.
    scored = rows.select(class_code(domain, kinds).alias("class"), pl.sum_horizontal(parts).alias("score"))
    bin_ = pl.sum_horizontal([(score >= edge).cast(pl.UInt32) for edge in scores.edges])
    # The place is null where the row has no class.
    query = scored.select((pl.col("class").cast(pl.UInt32) * pl.lit(scores.bins, pl.UInt32) + bin_).alias("place"))
    classes = len(domain.classes)
    counter = DenseCounter(classes * scores.bins)

    def count(part: pl.DataFrame) -> None:
        counter.add(part["place"].drop_nulls())

    query.sink_batches(count, chunk_size=PART_ROWS, maintain_order=False, engine="streaming")
    return ScoreCounts(scores, counter.counts.reshape(classes, scores.bins).T.copy())
