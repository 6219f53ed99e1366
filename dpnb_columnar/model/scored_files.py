"""Scored or explained rows in a Parquet file: of Parquet files, or of a database without a file in between."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from dpnb_columnar.domain.column_kinds import WIDEST_DECIMAL, is_too_wide, type_name
from dpnb_columnar.domain.names import listed
from dpnb_columnar.errors import DataError
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.polars_terms import SKIPPED
from dpnb_columnar.model.scoring import score, small_batches
from dpnb_columnar.rows.input_files import unread_columns
from dpnb_columnar.rows.parquet import NamedRows, ParquetSource, check_read, read_error, size_of
from dpnb_columnar.rows.streaming import scan
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import atomic_output, opened, parquet_writer
from dpnb_columnar.runtime.row_progress import begin_pass, report_rows
from dpnb_columnar.runtime.unfinished import write_error

COMPRESSION = 1
"""Level of zstd. Probabilities hardly repeat: the default level takes twice the time, for 7 % fewer bytes."""

GROUP_ROWS, GROUP_NUMBERS = 2**17, 2**23
"""Most rows of a row group, and most probabilities (64 MiB): it is held until it is written."""

Scorer = Callable[[pl.LazyFrame], pl.LazyFrame]


@confined()
def write_scores(
    model: NaiveBayes,
    rows: Sequence[NamedRows],
    output: Path,
    keep: Sequence[str],
    *,
    labels: bool = False,
    explained: bool = False,
    top: int | None = None,
    intervals: bool = False,
    overwrite: bool = False,
) -> tuple[int, int]:
    """Score or explain rows into one Parquet file, in their order, streamed: memory does not grow with the rows.

    Args:
        explained: Whether to write what each attribute said (``explanation.explain``) in place of the probabilities.
    """
    if explained:
        from dpnb_columnar.model.explanation import explain

        scorer: Scorer = functools.partial(explain, model, keep=keep, labels=labels, top=top)
    else:
        scorer = functools.partial(score, model, keep=keep, labels=labels, intervals=intervals)
    try:
        scans = _scans(model, rows, keep, scorer)
        scored = pl.concat(map(scorer, scans))
        with atomic_output(output, overwrite=overwrite, confidential=True) as partial:
            numbers = len(model.attributes if explained else model.domain.classes)
            size = min(GROUP_ROWS, max(GROUP_NUMBERS // max(numbers, 1), 1))
            with small_batches(model):
                if size == GROUP_ROWS or not _write_wide(scored, partial, size):
                    _write(scored, partial, size)
            check_read(rows)
            totals = _totals(partial, output)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        # The engine's own text may quote values, and does not name the file.
        raise read_error(rows) from None
    return totals


def _write(scored: pl.LazyFrame, partial: Path, size: int) -> None:
    with opened(partial) as file:
        scored.sink_parquet(file, compression="zstd", compression_level=COMPRESSION, row_group_size=size)


def _write_wide(scored: pl.LazyFrame, partial: Path, size: int) -> bool:
    """Write small row groups by Arrow, whose writer keeps 0.8 kB for every column of each until the end; Polars' 2.7.

    Returns:
        False where only Polars knows the type of a column, such as of 128 bits; then nothing is written.
    """
    import pyarrow as pa

    types = scored.collect_schema()
    try:
        schema = pl.DataFrame(schema=types).to_arrow().schema
    except pa.ArrowInvalid:
        return False
    numbers = [name for name, type_ in types.items() if type_ == pl.Float64]
    with parquet_writer(partial, schema, numbers) as writer:

        def write(part: pl.DataFrame) -> None:
            writer.write_table(pa.table(part.to_arrow().columns, schema=schema), row_group_size=size)

        scored.sink_batches(write, chunk_size=size, engine="streaming")
    return True


def _totals(partial: Path, output: Path) -> tuple[int, int]:
    """Return the rows that were written, and the attribute values left out."""
    written = pl.scan_parquet(partial, glob=False)
    try:
        number, skipped = (
            written.select(pl.len(), pl.col(SKIPPED).cast(pl.Int64).sum()).collect(engine="streaming").row(0)
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise write_error(output, error) from None
    return int(number), int(skipped)


def _scans(model: NaiveBayes, rows: Sequence[NamedRows], keep: Sequence[str], scorer: Scorer) -> list[pl.LazyFrame]:
    """Check rows, and return them in their order; files of equal types that follow each other are scanned as one."""
    wanted = dict.fromkeys([*keep, *(parameters.attribute for parameters in model.attributes)])
    runs: list[tuple[Mapping[str, pl.DataType], list[NamedRows]]] = []
    for each in rows:
        # A query that selects no column would lose the rows: a model without attributes reads all columns.
        types = {name: each.types[name] for name in wanted or each.rows.collect_schema() if name in each.types}
        if runs and runs[-1][0] == types:
            runs[-1][1].append(each)
            continue
        wide = [name for name, type_ in each.types.items() if is_too_wide(type_)]
        unread = unread_columns(each.types)
        if refused := [name for name in types if name in wide]:
            raise DataError(f"{each.name}: {listed(refused)}: of more than {WIDEST_DECIMAL} digits; cast it first")
        try:
            others = {name: type_ for name, type_ in each.types.items() if name not in (*wide, *unread)}
            scorer(pl.LazyFrame(schema=others))
        except DataError as error:
            raise DataError(f"{each.name}: {error}") from None
        first_types, first = runs[0] if runs else (types, rows)
        _check_kept(keep, each.name, types, first_types, first[0].name)
        runs.append((types, [each]))
    scans = [_scan(types, run) for types, run in runs]
    if advance := begin_pass(functools.partial(size_of, rows)):
        scans = [report_rows(scanned, advance) for scanned in scans]
    return scans


def _scan(types: Mapping[str, pl.DataType], run: Sequence[NamedRows]) -> pl.LazyFrame:
    """Return rows of equal types; those of local files of many columns are read in slices, as ``train`` reads them."""
    files = tuple(each.file for each in run if isinstance(each.file, Path))
    if len(files) == len(run):
        return scan(ParquetSource(files, types))
    return pl.concat([each.rows.select(*types) for each in run])


def _check_kept(
    keep: Sequence[str],
    name: str,
    types: Mapping[str, pl.DataType],
    first_types: Mapping[str, pl.DataType],
    first: str,
) -> None:
    """Refuse kept columns of another type than in the first file."""
    for column in keep:
        if types[column] != first_types[column]:
            raise DataError(
                f"{name}: column {column!r} has type {type_name(types[column])} here and "
                f"{type_name(first_types[column])} in {first}; cast it to one type in all files"
            )
