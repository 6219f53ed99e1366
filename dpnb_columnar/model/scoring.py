"""Scoring every row of any frame, streamed: Polars reads values, and NumPy adds up their terms (``score_batches``).

Scored or explained rows in a Parquet file: of Parquet files, or of a database without a file in between.

What each attribute of a row said for the predicted class, in bits: exact parts of the odds that it is given.

Of the predicted class p and the class o that it is compared with, the logarithm to base 2 of the odds P(p) / P(o) is

    log_odds = prior + sum over attributes of bits.

*Without a line* o is the class of the second largest score, ``prior`` = log2(P(p) / P(o)) before any attribute is read
(and the intercepts, where weights have some), and ``bits`` = w_i log2(P(x_i | p) / P(x_i | o)), negative where the
attribute is against p. An attribute that the row's score leaves out has 0 bits. So zero is a value that is as
likely in both classes, and no row is needed to know it.

*A line* (``likelihood.LineTerms``) decides between the largest class and the best other one, by h(m), their log-odds at
the margin m of their scores. One of them is p, and the other is o. With m_0 their margin before any attribute is read,
and the sign of p,

    prior = +-h(m_0) / log 2,    bits = f w_i log2(P(x_i | p) / P(x_i | o)),    f = (h(m) - h(m_0)) / (m - m_0),

f the slope of h where m = m_0. The terms add up to +-(m - m_0), so the sum is exact. f is the mean slope between m_0
and m, so that it is at most the steepest one and, as h rises, 0 or more: every attribute speaks for the class that its
term speaks for, or is silent where h is flat. This is the value of Aumann and Shapley (1974, "Values of Non-Atomic
Games"): what an attribute adds to h while the evidence of all grows from nothing in proportion.

So no explanation contradicts its prediction: prior and bits add up to 0 or more, and where the prior is not for p, the
bits together are. The terms are those of ``scoring``: same tables, same formulas.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from dpnb_columnar.domain import Attribute, Numeric
from dpnb_columnar.domain.column_kinds import (
    NUMERIC_KINDS,
    WIDEST_DECIMAL,
    Kind,
    category_keys,
    is_too_wide,
    kind_of,
    type_name,
)
from dpnb_columnar.domain.names import listed, named
from dpnb_columnar.errors import DataError, UsageError, excerpt, option
from dpnb_columnar.model.likelihood import class_terms, line_terms
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.score_batches import SKIPPED, attribute_terms
from dpnb_columnar.rows.input_files import unread_columns
from dpnb_columnar.rows.parquet import NamedRows, ParquetSource, check_read, read_error, size_of
from dpnb_columnar.rows.streaming import scan
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import atomic_output, opened, parquet_writer
from dpnb_columnar.runtime.row_progress import begin_pass, report_rows
from dpnb_columnar.runtime.unfinished import write_error

if TYPE_CHECKING:
    from dpnb_columnar.model.score_batches import ScoreBatches


PREDICTED = "predicted"
PREDICTED_LABEL = "predicted_label"

MOST_SCHEMAS = 8
"""Schemas for which a model keeps tables and expressions; more are rare, and each takes up to some megabytes."""

FEW_ROWS = 2**14
"""Rows of a frame in memory that are scored at once: a query of Polars takes milliseconds whatever its rows."""

BATCH_ROWS, BATCH_NUMBERS = 2**17, 2**20
"""Most rows that Polars hands on at a time, and most numbers of their classes and attributes together: 8 MiB."""


def probability_column(name: str) -> str:
    """Return the name of the column with the probability of a class."""
    return f"probability_{name}"


def interval_columns(name: str) -> tuple[str, str]:
    """Return the names of the columns with the ends of the interval of a class's probability."""
    return f"lower_{name}", f"upper_{name}"


def score(
    model: NaiveBayes,
    frame: pl.DataFrame | pl.LazyFrame,
    keep: Sequence[str] = (),
    *,
    labels: bool = False,
    intervals: bool = False,
) -> pl.DataFrame | pl.LazyFrame:
    """Predict the class and the class probabilities of every row, in the order of the rows.

    A null or NaN attribute, and a category outside the domain, is left out of that row's likelihood and counted, unless
    to be missing is a category of the attribute.
    Numbers outside the declared bounds count as the nearest bound.
    """
    rows = frame if isinstance(frame, pl.DataFrame) and frame.height <= FEW_ROWS else frame.lazy()
    batches, kept = checked_batches(model, rows.collect_schema(), keep, intervals=intervals), dict.fromkeys(keep)
    words = {PREDICTED: [*model.domain.classes]} | ({PREDICTED_LABEL: class_words(model, kept)} if labels else {})
    return batches.scored(rows, kept, words)


@contextmanager
def small_batches(model: NaiveBayes) -> Iterator[None]:
    """Let Polars take so few rows at a time within this block that many columns do not take much memory."""
    columns = len(model.domain.classes) + len(model.attributes)
    with pl.Config(streaming_chunk_size=min(BATCH_ROWS, max(BATCH_NUMBERS // columns, 1))):
        yield


def class_words(model: NaiveBayes, keep: Collection[str]) -> list[str]:
    """Return the value label of each class, or the class itself."""
    if not (labels := model.domain.class_labels):
        raise DataError(
            f"no class of the model has a value label; train with a domain that declares value_labels of "
            f"{named(model.domain.label.columns)}, or leave labels out"
        )
    if PREDICTED_LABEL in keep:
        raise DataError(f"column {PREDICTED_LABEL} would stand beside a result of that name; rename it first")
    return [labels.get(klass, klass) for klass in model.domain.classes]


def checked_batches(
    model: NaiveBayes,
    schema: Mapping[str, pl.DataType],
    keep: Collection[str],
    results: Collection[str] | None = None,
    *,
    intervals: bool = False,
) -> ScoreBatches:
    """Return how rows of these types are scored, their columns checked; kept with the model for the next frame."""
    names = [parameters.attribute for parameters in model.attributes]
    missing = [name for name in dict.fromkeys([*keep, *names]) if name not in schema]
    if missing:
        raise DataError(f"missing column {listed(missing)}; the columns are {named([*schema])}")
    if results is None:
        classes = model.domain.classes
        ends = [end for name in classes for end in interval_columns(name)] if intervals else []
        results = [PREDICTED, SKIPPED, *map(probability_column, classes), *ends]
    if clash := set(results).intersection(keep):
        raise DataError(f"column {named(sorted(clash))} would stand beside a result of that name; rename it first")
    types = tuple(schema[name] for name in names)
    batches: ScoreBatches | None = model.batches_by_types.get((types, intervals))
    if batches is None:
        from dpnb_columnar.model.score_batches import ScoreBatches  # loads numpy

        terms = [
            attribute_terms(model.domain[name], parameters, weight, _kind(model.domain[name], type_), type_)
            for parameters, weight, name, type_ in zip(model.attributes, model.weights, names, types, strict=True)
        ]
        results, noise = [probability_column(name) for name in model.domain.classes], None
        if intervals:
            from dpnb_columnar.model.probability_intervals import score_noise

            noise = score_noise(model)
            for ends_of_classes in zip(*map(interval_columns, model.domain.classes), strict=True):
                results += ends_of_classes
        if len(model.batches_by_types) >= MOST_SCHEMAS:
            model.batches_by_types.clear()
        batches = ScoreBatches(class_terms(model), terms, results, line_terms(model), noise)
        model.batches_by_types[types, intervals] = batches
    return batches


def _kind(attribute: Attribute, type_: pl.DataType) -> Kind:
    """Return the kind of a column."""
    kind = kind_of(type_)
    if kind is None or not (
        kind in NUMERIC_KINDS if isinstance(attribute, Numeric) else category_keys(attribute, kind)
    ):
        raise DataError(
            f"column {excerpt(attribute.name)} has type {type_name(type_)}, which does not fit the model's attribute; "
            "cast it first"
        )
    return kind


COMPRESSION = 1
"""Level of zstd. Probabilities hardly repeat: the default level takes twice the time, for 7 % fewer bytes."""

GROUP_ROWS, GROUP_NUMBERS = 2**17, 2**23
"""Most rows of a row group, and most probabilities (64 MiB): it is held until it is written."""

Scorer = Callable[[pl.LazyFrame], pl.DataFrame | pl.LazyFrame]


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
    """Score or explain rows into one Parquet file, in their order, streamed: memory does not grow with the rows."""
    if explained:
        scorer: Scorer = functools.partial(explain, model, keep=keep, labels=labels, top=top)
    else:
        scorer = functools.partial(score, model, keep=keep, labels=labels, intervals=intervals)
    try:
        scans = _scans(model, rows, keep, scorer)
        scored = pl.concat([scorer(each).lazy() for each in scans])
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

    Return False, with nothing written, where only Polars knows the type of a column, such as of 128 bits.
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
        for column in keep:
            if types[column] != first_types[column]:
                raise DataError(
                    f"{each.name}: column {column!r} has type {type_name(types[column])} here and "
                    f"{type_name(first_types[column])} in {first[0].name}; cast it to one type in all files"
                )
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


OTHER, LOG_ODDS, PRIOR = "other", "log_odds", "prior"
"""Columns of an explanation: the class that is compared with, and what is not of one attribute."""

REST = "bits_rest"
"""Column of the bits of all attributes that are not among the first."""


def bits_column(name: str) -> str:
    """Return the name of the column with the bits of an attribute."""
    return f"bits_{name}"


def explanation_columns(model: NaiveBayes, top: int | None = None) -> dict[str, pl.DataType]:
    """List the columns of numbers and attributes, with their types; their order is that of the result."""
    names = [parameters.attribute for parameters in model.attributes]
    if top is None:
        said: dict[str, pl.DataType] = {bits_column(name): pl.Float64() for name in names}
    elif 1 <= top <= len(names):
        said = {}
        for place in range(1, top + 1):
            said |= {f"attribute_{place}": pl.String(), f"bits_{place}": pl.Float64()}
        said[REST] = pl.Float64()
    else:
        raise UsageError(f"{option('top')}: the model has {len(names)} attributes; name 1 to {len(names)} of them")
    return {LOG_ODDS: pl.Float64(), PRIOR: pl.Float64(), **said, SKIPPED: pl.UInt16()}


def explain(
    model: NaiveBayes,
    frame: pl.DataFrame | pl.LazyFrame,
    keep: Sequence[str] = (),
    *,
    labels: bool = False,
    top: int | None = None,
) -> pl.DataFrame | pl.LazyFrame:
    """Say for every row, in the order of the rows, what each attribute said for the predicted class."""
    kept, numbers, classes = dict.fromkeys(keep), explanation_columns(model, top), [*model.domain.classes]
    words = {PREDICTED: classes} | ({PREDICTED_LABEL: class_words(model, kept)} if labels else {}) | {OTHER: classes}
    results = [*words, *numbers]
    if len(set(results)) < len(results):
        raise UsageError(f"attributes have the names of results; ask for some with {option('top')}")
    batches = checked_batches(model, frame.collect_schema(), kept, results)
    names = [parameters.attribute for parameters in model.attributes]
    return batches.explained(frame, kept, words, numbers, names, top)
