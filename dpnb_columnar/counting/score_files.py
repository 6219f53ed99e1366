"""Save and load the statistics of a second pass: rows per class and bin of a score, marked as such. CONFIDENTIAL.

A file names its domain and the scores that it counts by their digests: whoever reads it has the model that gives them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpnb_columnar.code_limits import LARGEST_SIZE
from dpnb_columnar.counting.gradients import GradientQuery
from dpnb_columnar.counting.query_results import (
    SCORE_COLUMNS,
    SCORE_NUMBERS,
    Kind,
    checked_columns,
    of_another_kind,
    read_delimited,
    read_table,
)
from dpnb_columnar.counting.scores import Integers, ScoreCounts, Scores, counts_part
from dpnb_columnar.counting.statistics_files import NOTICE, SCORES_KEY, are_digests, kind_of_table
from dpnb_columnar.domain import digest
from dpnb_columnar.errors import DataError, MissingInputError, excerpt
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import atomic_output
from dpnb_columnar.runtime.parquet_output import parquet_writer

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 1


@confined()
def save_score_counts(counts: ScoreCounts, path: Path, *, overwrite: bool = False) -> None:
    """Write counts of scores: one row per class and bin with rows in it, columns class, bin and count.

    Args:
        counts: The counts. Confidential.
        path: File to write; only its owner can read it.
        overwrite: Whether to replace an existing file.

    Raises:
        OutputError: if the file exists, or cannot be written.
    """
    import pyarrow as pa

    bins, classes = np.nonzero(counts.counts)
    table = pa.table([classes, bins, counts.counts[bins, classes]], schema=_schema())
    digests = {"domain": digest(counts.scores.domain), "scores": counts.scores.digest}
    header = {"version": VERSION, "notice": NOTICE, **digests, "parts": sorted(counts.parts)}
    with (
        atomic_output(path, overwrite=overwrite, confidential=True) as partial,
        parquet_writer(partial, _schema().with_metadata({SCORES_KEY: json.dumps(header)})) as writer,
    ):
        writer.write_table(table)


@confined()
def load_score_counts(path: Path, scores: Scores) -> ScoreCounts:
    """Read a file of counts of scores, or the result of their query in a Parquet or CSV file.

    Args:
        path: The file.
        scores: The scores that must have been counted.

    Raises:
        MissingInputError: if there is no such file.
        DataError: if the file does not hold counts of scores, or if they are of an unknown version, inconsistent, of
            another domain, or of the scores of another model.
    """
    import polars as pl
    import pyarrow as pa

    if not path.is_file():
        raise MissingInputError(f"{path}: no such file; make one with dpnb-columnar aggregate --given MODEL")
    if path.name.lower().endswith((".csv", ".csv.gz")):
        return score_counts_of(read_delimited(path, SCORE_COLUMNS), scores, path)
    try:
        table = read_table(path)
        metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        kind = kind_of_table(table)
        if kind is not None and kind is not Kind.SCORES:
            raise of_another_kind(path, kind, Kind.SCORES)
        if SCORES_KEY not in metadata and kind is Kind.SCORES:
            return score_counts_of(pl.DataFrame(table), scores, path)
        header = json.loads(metadata[SCORES_KEY])
        version, parts, digests = header["version"], header["parts"], (header["domain"], header["scores"])
    except (OSError, pa.ArrowException, KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise _not_counts(path) from None
    if version != VERSION:
        raise DataError(
            f"{path}: counts of scores of version {excerpt(version)} are not known to this program (it reads "
            f"{VERSION}); make it again with dpnb-columnar aggregate --given MODEL"
        )
    if not are_digests(parts) or not table.schema.equals(_schema()):
        raise _not_counts(path)
    check_digests(digests, scores, path)
    return ScoreCounts(scores, _dense(pl.DataFrame(table), scores, path), frozenset(parts))


def score_counts_of(result: pl.DataFrame, scores: Scores, source: object) -> ScoreCounts:
    """Check the result of the query of score counts, and return its counts.

    Args:
        result: One row per class and bin: ``class``, ``bin``, ``count`` (whole numbers of any type, or their text),
            ``domain`` and ``scores``, the digests of what was counted. Confidential.
        scores: The scores that must have been counted.
        source: Name of the file or database in messages.

    Raises:
        DataError: if a column is missing, a field is not a whole number, a cell stands in two rows, or other scores
            were counted. The message holds no count.
    """
    frame = checked_columns(result, SCORE_NUMBERS, ("domain", "scores"), source, Kind.SCORES)
    for pair in frame.select("domain", "scores").unique().iter_rows():
        check_digests(pair, scores, source)
    counts = _dense(frame, scores, source)
    return ScoreCounts(scores, counts, counts_part(counts))


def check_digests(digests: Sequence[object], query: Scores | GradientQuery, source: object) -> None:
    """Refuse statistics of other scores, or of another round, than a model's.

    Args:
        digests: Those of the domain, and of what was counted.
        query: What the model gives.
        source: Name of the file or database in messages.

    Raises:
        DataError: if the domain, or what was counted, is another.
    """
    domain, counted = digests
    if domain != digest(query.domain):
        raise DataError(
            f"{source}: was counted in another domain than {query.domain.name!r}, the model's; count the rows again "
            "with --given and this model"
        )
    if counted != query.digest:
        other = "whose scores differ" if isinstance(query, Scores) else "or for another round of it"
        raise DataError(
            f"{source}: was counted given another model, {other}; name that one with --given, or count the "
            "rows again with --given and this model"
        )


def _dense(frame: pl.DataFrame, scores: Scores, source: object) -> Integers:
    """Return the table of counts, shape (bins, classes).

    Raises:
        DataError: if a cell is none of the scores', stands in two rows, or has no possible count.
    """
    # A number that is missing is none of the possible ones.
    classes, bins, counts = (frame[name].fill_null(-1).to_numpy() for name in SCORE_NUMBERS)
    table = np.zeros((scores.bins, len(scores.domain.classes)), dtype=np.int64)
    inside = (classes >= 0) & (classes < table.shape[1]) & (bins >= 0) & (bins < table.shape[0])
    if not (inside & (counts >= 0) & (counts <= LARGEST_SIZE)).all():
        raise DataError(f"{source}: a cell or a count is not one of these scores; count the rows again")
    if frame.select("class", "bin").is_duplicated().any():
        raise DataError(
            f"{source}: a cell stands in more than one row, so people would count twice; export the result of one run "
            "of the query, and give the results of several parts as files of their own"
        )
    table[bins, classes] = counts
    return table


def _schema() -> pa.Schema:
    """Return the columns of a file of counts of scores."""
    import pyarrow as pa

    return pa.schema({"class": pa.int64(), "bin": pa.int64(), "count": pa.int64()})


def _not_counts(path: Path) -> DataError:
    return DataError(f"{path}: not a file of counts of scores; make one with dpnb-columnar aggregate --given MODEL")
