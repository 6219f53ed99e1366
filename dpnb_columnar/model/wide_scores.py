"""Scores of so many classes that memory is bounded only by writing every probability where it is written from.

Polars would keep some frames of results between a step and the next, and 2.7 kB for every column of every row group
until the file is closed. So here it reads the rows, threads compute the probabilities of a row group in one array, and
Arrow writes it while they compute those of the next; its writer keeps 0.8 kB.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.polars_terms import SKIPPED
from dpnb_columnar.model.scoring import PREDICTED, PREDICTED_LABEL, Steps, checked_steps, class_words
from dpnb_columnar.runtime.outputs import parquet_writer

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

PART_NUMBERS = 2**20
"""Probabilities that a thread computes at a time: fewer would cost more in planning than in memory."""

MOST_THREADS = 8
"""Threads that compute; each holds some arrays of its own."""


def arrow_schema(scored: pl.LazyFrame) -> pa.Schema | None:
    """Return the columns of scores as Arrow's; None where only Polars knows the type of one, such as of 128 bits."""
    import pyarrow as pa

    try:
        return pl.DataFrame(schema=scored.collect_schema()).to_arrow().schema
    except pa.ArrowInvalid:
        return None


def write_wide_scores(
    model: NaiveBayes,
    scans: Sequence[pl.LazyFrame],
    output: Path,
    schema: pa.Schema,
    keep: Sequence[str],
    *,
    labels: bool,
    group_rows: int,
) -> tuple[int, int]:
    """Score rows into a Parquet file, in their order.

    Args:
        model: A model of which ``is_wide`` is true.
        scans: The rows, with the columns of its attributes and those to keep.
        output: The file.
        schema: Its columns.
        keep: Columns to carry over.
        labels: Whether to add the value labels of the predicted classes.
        group_rows: Rows of a row group. Two of them are held: one that is filled, and one that is written.

    Returns:
        Rows written, and attribute values left out.

    Raises:
        DataError: if a column is missing or does not fit.
        polars.exceptions.PolarsError: if rows cannot be read; its text may quote values.
        OSError: if the file cannot be written.
    """
    words = {PREDICTED: pl.Series(model.domain.classes)}
    if labels:
        words[PREDICTED_LABEL] = pl.Series(class_words(model, keep))
    steps = [checked_steps(model, scan.collect_schema(), keep) for scan in scans]
    probabilities = steps[0].results
    threads = min(pl.thread_pool_size(), MOST_THREADS)
    rows = max(PART_NUMBERS // len(probabilities), 1)
    with parquet_writer(output, schema, probabilities) as writer, ThreadPoolExecutor(threads) as pool:
        groups = _Groups(writer, pool, tuple(dict.fromkeys(keep)), words, (len(probabilities), group_rows))
        for scan, each in zip(scans, steps, strict=True):
            scan.sink_batches(partial(groups.add, steps=each), chunk_size=rows, engine="streaming")
        return groups.end()


@dataclass(slots=True)
class _Group:
    """A row group: its probabilities, shape (classes, rows), and its other columns, which are computed with them."""

    shares: NDArray[np.float64]
    others: list[Future[pl.DataFrame]] = field(default_factory=list)
    rows: int = 0


class _Groups:
    """The row groups of a file: one that is filled, and one that is computed or written."""

    def __init__(
        self,
        writer: pq.ParquetWriter,
        pool: ThreadPoolExecutor,
        keep: Sequence[str],
        words: dict[str, pl.Series],
        shape: tuple[int, int],
    ) -> None:
        self._writer, self._pool, self._keep, self._words = writer, pool, keep, words
        self._filled, self._full = _Group(np.empty(shape)), _Group(np.empty(shape))
        self._written = self._skipped = 0

    def add(self, part: pl.DataFrame, steps: Steps) -> None:
        """Let the threads score rows."""
        while part.height:
            group = self._filled
            start, end = group.rows, min(group.rows + part.height, group.shares.shape[1])
            shares, group.rows = group.shares[:, start:end], end
            group.others.append(self._pool.submit(self._score, part[: end - start], steps, shares))
            part = part[end - start :]
            if end == group.shares.shape[1]:
                self._write(self._full)
                self._filled, self._full = self._full, group

    def end(self) -> tuple[int, int]:
        """Write what is left, and return how many rows were written, and how many attribute values were left out."""
        self._write(self._full)
        self._write(self._filled)
        del self._full, self._filled  # to close the file takes memory of its own
        return self._written, self._skipped

    def _score(self, rows: pl.DataFrame, steps: Steps, shares: NDArray[np.float64]) -> pl.DataFrame:
        """Compute the probabilities of rows, and return the other columns."""
        likeliest, skipped = steps.batches.compute(rows.select(steps.read), shares)
        words = [texts.gather(likeliest).alias(name) for name, texts in self._words.items()]
        return pl.DataFrame([*(rows[name] for name in self._keep), *words, pl.Series(SKIPPED, skipped)])

    def _write(self, group: _Group) -> None:
        """Write a group as soon as it is computed, and empty it."""
        import pyarrow as pa

        if not group.rows:
            return
        others = pl.concat([each.result() for each in group.others])
        columns = others.to_arrow().columns
        columns[-1:-1] = map(pa.array, group.shares[:, : group.rows])
        self._writer.write_table(pa.table(columns, schema=self._writer.schema), row_group_size=group.rows)
        self._written += group.rows
        self._skipped += int(others[SKIPPED].cast(pl.Int64).sum())
        group.others, group.rows = [], 0
