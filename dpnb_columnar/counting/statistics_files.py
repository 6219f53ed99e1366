"""Save and load statistics as Parquet files: exact counts, readable by the owner alone, marked as such. CONFIDENTIAL.

The metadata of a file holds the domain, and digests of the files or counts that the statistics were made from.
Counts of scores and sums of a round name their domain, and what was asked, by digests: whoever reads them has the
model that gives both. Results of ``sql statistics`` come from any program: a CSV or Parquet file may unpack to far more
than its own size, so what is read into memory is bounded.
"""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from dpnb_columnar.code_limits import LARGEST_SIZE
from dpnb_columnar.counting.scores import (
    GradientQuery,
    GradientSums,
    Integers,
    ScoreCounts,
    Scores,
    counts_part,
    sum_columns,
    sums_part,
)
from dpnb_columnar.counting.statistics import Cells, Statistics, assemble, cells_part
from dpnb_columnar.domain import Domain, digest
from dpnb_columnar.domain.declaration import domain_from_metadata, domain_metadata
from dpnb_columnar.domain.declared_domain import weighs_by
from dpnb_columnar.domain.names import named
from dpnb_columnar.errors import DataError, MissingInputError, UsageError, command, excerpt, option
from dpnb_columnar.rows.parquet import is_plain, is_text
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import atomic_output, parquet_writer

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq


SCORES_VERSION = 1


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
    table = pa.table([classes, bins, counts.counts[bins, classes]], schema=_scores_schema())
    digests = {"domain": digest(counts.scores.domain), "scores": counts.scores.digest}
    header = {"version": SCORES_VERSION, "notice": NOTICE, **digests, "parts": sorted(counts.parts)}
    with (
        atomic_output(path, overwrite=overwrite, confidential=True) as partial,
        parquet_writer(partial, _scores_schema().with_metadata({SCORES_KEY: json.dumps(header)})) as writer,
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
        raise MissingInputError(f"{path}: no such file; make one with {command('aggregate', given='MODEL')}")
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
    if version != SCORES_VERSION:
        raise DataError(
            f"{path}: counts of scores of version {excerpt(version)} are not known to this program (it reads "
            f"{SCORES_VERSION}); make it again with {command('aggregate', given='MODEL')}"
        )
    if not are_digests(parts) or not table.schema.equals(_scores_schema()):
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
            f"with {option('given')} and this model"
        )
    if counted != query.digest:
        other = "whose scores differ" if isinstance(query, Scores) else "or for another round of it"
        raise DataError(
            f"{source}: was counted given another model, {other}; name that one with {option('given')}, or count the "
            f"rows again with {option('given')} and this model"
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


def _scores_schema() -> pa.Schema:
    """Return the columns of a file of counts of scores."""
    import pyarrow as pa

    return pa.schema({"class": pa.int64(), "bin": pa.int64(), "count": pa.int64()})


def _not_counts(path: Path) -> DataError:
    return DataError(f"{path}: not a file of counts of scores; make one with {command('aggregate', given='MODEL')}")


NUMBERS = ("class", "code", "count")
COLUMNS = ("attribute", *NUMBERS, "domain")
"""Columns of the result of ``sql statistics``, in any order and in upper or lower case."""

SCORE_NUMBERS = ("class", "bin", "count")
SCORE_COLUMNS = (*SCORE_NUMBERS, "domain", "scores")
"""Columns of the result of ``sql statistics --given`` where the model waits for counts of its scores."""

GRADIENT_TEXTS = ("domain", "gradient")
"""Columns of texts in that result where it waits for a round's sums; the others depend on the round."""


class Kind(Enum):
    """A kind of statistics; its value is the columns by which the result of a query is recognised."""

    CELLS = COLUMNS
    SCORES = SCORE_COLUMNS
    SUMS = GRADIENT_TEXTS


LARGEST_TABLE = 2**31
"""Bytes of the columns of a statistics file, unpacked; a file that is large itself may have more."""

LARGEST_RATIO = 64
"""Largest ratio of a file's unpacked columns to the file itself, where the columns are larger than ``LARGEST_TABLE``.
Statistics of a hundred million cells unpack to seven to twelve times the size of their file."""

BYTES_OF_A_CELL = 28
"""Bytes of a row of a statistics file in memory: three numbers, and the place of a text in a dictionary."""

LARGEST_RESULT = 2**29
"""Bytes of the result of a query as CSV, unpacked."""

GZIP_SIGNATURE = b"\x1f\x8b"


def read_delimited(path: Path, columns: Sequence[str] = COLUMNS) -> pl.DataFrame:
    """Read a CSV file with a header line, compressed with gzip or not; every field as text.

    Args:
        path: The file.
        columns: Columns that it should have, for messages.

    Raises:
        DataError: if the file cannot be read, is not such a file, or is larger than any result.
    """
    import polars as pl

    problem = DataError(f"{path}: not a CSV file with the header {','.join(columns)}; export the query's result anew")
    try:
        content = _content(path)
        if not content[:2].isalpha():  # Polars would unpack a file that begins like a compressed one
            raise problem
        return pl.read_csv(content, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError, EOFError, zlib.error):
        raise problem from None


def _content(path: Path) -> bytes:
    """Read the bytes of a file, unpacked where it is compressed with gzip, without a byte order mark.

    Raises:
        DataError: if they are more than ``LARGEST_RESULT``.
        OSError, EOFError, zlib.error: if they cannot be read.
    """
    with path.open("rb") as raw:
        compressed = raw.read(len(GZIP_SIGNATURE)) == GZIP_SIGNATURE
        raw.seek(0)
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if compressed else raw
        content = stream.read(LARGEST_RESULT + 1)
    if len(content) > LARGEST_RESULT:
        raise DataError(f"{path}: larger than {LARGEST_RESULT >> 20} MiB; export the query's result as Parquet")
    return content.removeprefix(codecs.BOM_UTF8)


def read_table(path: Path, more: Collection[str] = ()) -> pa.Table:
    """Read the columns of counts from a Parquet file, texts as dictionaries, with the file's metadata.

    Args:
        path: The file.
        more: Columns to read beside those by which results are recognised, in lower case.

    Raises:
        OSError, pyarrow.ArrowException: if the file cannot be read.
        ValueError: if a column has another type than statistics have, or is larger than statistics in such a file.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        names, texts = _count_columns(file, more)
        groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
        unpacked = max(BYTES_OF_A_CELL * file.metadata.num_rows, sum(group.total_byte_size for group in groups))
    most = max(LARGEST_TABLE, LARGEST_RATIO * path.stat().st_size)
    if unpacked > most:
        raise ValueError("more than any statistics of a file so small")
    table = pq.read_table(path, columns=names, read_dictionary=texts)  # else a text would be repeated in every row
    table.validate(full=True)  # a damaged file may hold dictionary codes that are in no dictionary, which others trust
    _check_texts(table, most)
    return table


def _count_columns(file: pq.ParquetFile, more: Collection[str]) -> tuple[list[str], list[str]]:
    """List the columns of counts, and those of them that hold text, by the footer alone.

    Raises:
        ValueError: if a column has another type than statistics have, or two columns share a name.
    """
    wanted = {*more, *(name for kind in Kind for name in kind.value)}
    fields = [field for field in file.schema_arrow if field.name.lower() in wanted]
    if len({field.name.lower() for field in fields}) < len(fields) or not all(is_plain(field.type) for field in fields):
        raise ValueError("no columns of counts")
    return [field.name for field in fields], [field.name for field in fields if is_text(field.type)]


def _check_texts(table: pa.Table, most: int) -> None:
    """Check that a table's texts take at most so many bytes once every row holds its own, not a dictionary.

    Raises:
        ValueError: if they take more.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for column in table.columns:
        if pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
            longest = max(
                (pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0 for chunk in column.chunks), default=0
            )
            if longest * len(column) > most:
                raise ValueError("longer texts than any statistics have")


def statistics_of(result: pl.DataFrame, domain: Domain, source: object) -> Statistics:
    """Check the result of the statistics query, and return its counts as statistics.

    Args:
        result: One row per cell: ``attribute`` (null or empty for the class counts), ``class``, ``code``, ``count``
            (whole numbers of any type, or their text), and ``domain``, the digest of the domain it was counted in.
            Confidential.
        domain: The domain it must have been counted in.
        source: Name of the file or database in messages.

    Raises:
        DataError: if a column is missing, a field is not a whole number, a cell stands in two rows, the domain is
            another, or the counts do not fit it. The message holds no count.
    """
    frame = checked_columns(result, NUMBERS, ("attribute", "domain"), source, Kind.CELLS)
    if not set(frame["domain"].unique()) <= {digest(domain)}:
        raise DataError(
            f"{source}: was counted in another domain than {domain.name!r} as declared now; name the right one with "
            f"{option('dataset')} or {option('domain')}, or make the query again with {command('sql statistics')} "
            "and run it"
        )
    if frame.select("attribute", "class", "code").is_duplicated().any():
        raise DataError(
            f"{source}: a cell stands in more than one row, so people would count twice; export the result of one run "
            "of the query, and give the results of several parts as files of their own"
        )
    if (frame["count"] < 0).any():
        raise DataError(f"{source}: a count is below zero; run the query anew, and export all of its rows")
    try:
        statistics = assemble(domain, cells_of(frame))
    except ValueError as error:
        raise DataError(f"{source}: {error}; run the query anew, and export all of its rows") from None
    return replace(statistics, parts=cells_part(statistics.cells()))


def checked_columns(
    result: pl.DataFrame, numbers: Sequence[str], texts: Sequence[str], source: object, kind: Kind
) -> pl.DataFrame:
    """Return the columns of the result of a query, whole numbers as 64-bit integers and texts as text.

    Args:
        result: The result, its columns in any order and in upper or lower case. Confidential.
        numbers: Columns of whole numbers of any type, or of their text; none is missing.
        texts: Columns of text; empty ones are null.
        source: Name of the file or database in messages.
        kind: What they are.

    Raises:
        DataError: if a column is missing or holds something else. The message holds no count.
    """
    import polars as pl

    names = {name.lower(): name for name in result.columns}
    columns = [*texts, *numbers]
    missing = [name for name in columns if name not in names]
    other = kind_of_columns(names) if missing else kind
    if other is not None and other is not kind:
        raise of_another_kind(source, other, kind)
    if missing:
        query = command("sql statistics") if kind is Kind.CELLS else command("sql statistics", given="MODEL")
        raise DataError(
            f"{source}: not the result of a statistics query: column {named(missing)} is missing; make the query "
            f"with {query}"
        )
    if unreadable := [name for name in columns if not _has_text(result.schema[names[name]])]:
        raise DataError(
            f"{source}: not the result of a statistics query: column {', '.join(unreadable)} holds neither numbers nor "
            "text; export the result anew"
        )
    frame = result.select(
        *(pl.col(names[name]).cast(pl.String).replace("", None).alias(name) for name in texts),
        *(_whole_number(names[name]).alias(name) for name in numbers),
    )
    if any(frame[name].null_count() for name in numbers):
        fields = "a sum" if kind is Kind.SUMS else f"{', '.join(numbers[:-1])} or {numbers[-1]}"
        raise DataError(f"{source}: {fields} is not a whole number in some row; export the result anew")
    return frame


def kind_of_columns(names: Collection[str]) -> Kind | None:
    """Recognise the result of a query by its columns, in lower case; None if it is the result of none."""
    return next((kind for kind in Kind if {*kind.value} <= {*names}), None)


def of_another_kind(source: object, kind: Kind, wanted: Kind) -> DataError:
    """Return the error to raise where statistics of one kind are taken for those of another."""
    holds = {
        Kind.CELLS: "counts the cells of a domain",
        Kind.SCORES: "counts the scores that a model gives",
        Kind.SUMS: "sums up a round of a model's weights",
    }
    remedy = f"count the rows with {command('aggregate', given='MODEL')} or {command('sql statistics', given='MODEL')}"
    if wanted is Kind.CELLS:
        return DataError(
            f"{source}: {holds[kind]}, which release only its weights; name that model with {option('given')} MODEL, "
            f"or give statistics made without {option('given')}"
        )
    if kind is Kind.CELLS:
        waits = "not the scores that a model gives" if wanted is Kind.SCORES else "not the sums that a model waits for"
        return DataError(
            f"{source}: {holds[kind]}, {waits}; release a model from it without {option('given')}, or {remedy}"
        )
    waits = "counts of its scores" if wanted is Kind.SCORES else "the sums of a round"
    return DataError(f"{source}: {holds[kind]}, and this model waits for {waits}; {remedy}")


def cells_of(frame: pl.DataFrame) -> list[Cells]:
    """Split the long form into cells per attribute.

    Args:
        frame: Columns attribute (text, null for the class counts), class, code, count (whole numbers, none null).
            Confidential.
    """
    return [
        Cells(None if name is None else str(name), *(part[field].to_numpy() for field in NUMBERS))
        for (name,), part in frame.group_by("attribute", maintain_order=True)
    ]


def _has_text(type_: pl.DataType) -> bool:
    """Test whether a cast to text writes out the values of a type: those of numbers and of texts."""
    import polars as pl

    return type_.is_numeric() or type_ in (pl.String, pl.Categorical, pl.Enum, pl.Null)


def _whole_number(name: str) -> pl.Expr:
    """Return a column as 64-bit integers, null where it holds anything else."""
    import polars as pl

    text = pl.col(name).cast(pl.String).str.replace(r"\.0*$", "")
    return text.cast(pl.Int64, strict=False)


STATISTICS_KEY = "dpnb_columnar.statistics"
SCORES_KEY = "dpnb_columnar.score_counts"
GRADIENT_KEY = "dpnb_columnar.gradient_sums"
"""Keys of the metadata in files of a further pass."""

KEYS = {STATISTICS_KEY: Kind.CELLS, SCORES_KEY: Kind.SCORES, GRADIENT_KEY: Kind.SUMS}

VERSION = 3
READABLE = (2, 3)
"""Versions that are read. Version 2 does not record which statistics were added up."""

ROW_GROUP = 2**20
"""Rows of a row group of a statistics file."""

NOTICE = "CONFIDENTIAL: exact counts of a confidential table; not released, not protected by noise"


@confined()
def save_statistics(statistics: Statistics, path: Path, *, overwrite: bool = False) -> None:
    """Write statistics: one row per non-empty cell, columns attribute (null for the classes), class, code, count.

    Args:
        statistics: The statistics. Confidential.
        path: File to write; only its owner can read it.
        overwrite: Whether to replace an existing file.

    Raises:
        OutputError: if the file exists, or cannot be written.
    """
    digests = {"parts": sorted(statistics.parts), "summands": sorted(statistics.summands)}
    header = {"version": VERSION, "notice": NOTICE, **digests}
    metadata = {STATISTICS_KEY: json.dumps(header), **domain_metadata(statistics.domain)}
    with (
        atomic_output(path, overwrite=overwrite, confidential=True) as partial,
        parquet_writer(partial, _schema().with_metadata(metadata)) as writer,
    ):
        for table in _tables(statistics):
            writer.write_table(table, row_group_size=ROW_GROUP)


def _tables(statistics: Statistics) -> Iterator[pa.Table]:
    """Yield the rows of a statistics file in row groups: there may be as many cells as rows were counted."""
    import pyarrow as pa

    names = pa.array([attribute.name for attribute in statistics.domain.attributes], pa.string())
    waiting, rows = [], 0
    for number, cell in enumerate(statistics.cells()):
        place = pa.scalar(number - 1 if number else None, pa.int32())
        places = pa.repeat(place, len(cell.counts))
        arrays = [pa.DictionaryArray.from_arrays(places, names), cell.classes, cell.codes, cell.counts]
        waiting.append(pa.table(arrays, schema=_schema()))
        rows += len(cell.counts)
        if rows >= ROW_GROUP:
            joined = pa.concat_tables(waiting)
            full = rows - rows % ROW_GROUP
            yield joined.slice(0, full)
            waiting, rows = [joined.slice(full)], rows - full
    if rows:
        yield pa.concat_tables(waiting)


@confined()
def load_statistics(path: Path, domain: Domain | None = None) -> Statistics:
    """Read a statistics file, or the result of a statistics query in a Parquet or CSV file.

    Args:
        path: The file.
        domain: The domain it must have been counted in; needed for the result of a query, which carries none.

    Raises:
        MissingInputError: if there is no such file.
        DataError: if the file does not hold statistics, or if they are of an unknown version, inconsistent, or of
            another domain.
        UsageError: if the file is the result of a query, and no domain is given.
    """
    import pyarrow as pa

    if path.is_dir():
        raise DataError(f"{path}: is a folder; name the files in it, so that it shows whether two count the same rows")
    if not path.exists():
        raise MissingInputError(f"{path}: no such file; make one with {command('aggregate')}")
    if path.name.lower().endswith((".csv", ".csv.gz")):
        return statistics_of(read_delimited(path), _required(domain, path), path)
    try:
        table = read_table(path)
        metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        kind = kind_of_table(table)
        if kind is not None and kind is not Kind.CELLS:
            raise of_another_kind(path, kind, Kind.CELLS)
        if STATISTICS_KEY not in metadata and kind is Kind.CELLS:
            return statistics_of(_frame(table), _required(domain, path), path)
        header = json.loads(metadata[STATISTICS_KEY])
        version, parts, summands = header["version"], header.get("parts", []), header.get("summands", [])
    except (OSError, pa.ArrowException, KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise _not_statistics(path) from None
    if version not in READABLE:
        raise DataError(
            f"{path}: statistics version {excerpt(version)} is not known to this program (it reads "
            f"{' and '.join(map(str, READABLE))}); make it again with {command('aggregate')}"
        )
    carried = domain_from_metadata(metadata, str(path))
    digests = are_digests(parts) and are_digests(summands)
    if not isinstance(carried, Domain) or not digests or not table.schema.equals(_schema()):
        raise _not_statistics(path)
    if domain is not None and digest(domain) != digest(carried):
        raise DataError(
            f"{path}: was counted in another domain than {domain.name!r}, the one asked for"
            f"{_weights(carried, domain)}; aggregate anew"
        )
    try:
        return replace(assemble(carried, _cells(table), frozenset(parts)), summands=frozenset(summands))
    except ValueError:
        raise DataError(
            f"{path}: its counts do not fit its own domain; make it again with {command('aggregate')}"
        ) from None


def _weights(counted: Domain, wanted: Domain) -> str:
    """Say how two domains differ that differ in the weight of rows alone; nothing of any others."""
    if digest(replace(counted, weight=wanted.weight)) != digest(wanted):
        return ""
    found, other = ("no weight" if each.weight is None else weighs_by(each.weight) for each in (counted, wanted))
    return f": with {found}, not with {other}"


def kind_of_table(table: pa.Table) -> Kind | None:
    """Say what a table of statistics holds: by its file's metadata, or, as the result of a query, by its columns."""
    marked = (kind for key, kind in KEYS.items() if key.encode() in (table.schema.metadata or {}))
    return next(marked, None) or kind_of_columns({name.lower() for name in table.schema.names})


def are_digests(digests: object) -> bool:
    """Say whether a value of a file's metadata is a list of digests."""
    return isinstance(digests, list) and all(isinstance(digest, str) for digest in digests)


def _required(domain: Domain | None, path: Path) -> Domain:
    if domain is None:
        raise UsageError(
            f"{path}: the result of a query carries no domain; name the one it was counted in with "
            f"{option('dataset')}, or with {option('domain')} and the Parquet file that carries it"
        )
    return domain


def _schema() -> pa.Schema:
    """Return the columns of a statistics file: attribute is null for the class counts."""
    import pyarrow as pa

    return pa.schema(
        {
            "attribute": pa.dictionary(pa.int32(), pa.string()),
            "class": pa.int64(),
            "code": pa.int64(),
            "count": pa.int64(),
        }
    )


def _cells(table: pa.Table) -> list[Cells]:
    frame = _frame(table)
    if frame.null_count().select("class", "code", "count").row(0) != (0, 0, 0):
        raise ValueError("a count without a cell")
    return cells_of(frame)


def _frame(table: pa.Table) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(table)


def _not_statistics(path: Path) -> DataError:
    return DataError(f"{path}: not a statistics file; make one with {command('aggregate')}")


GRADIENT_VERSION = 1


@confined()
def save_gradient_sums(sums: GradientSums, path: Path, *, overwrite: bool = False) -> None:
    """Write the sums of a round: one row, with the columns of the result of their query.

    Args:
        sums: The sums. Confidential.
        path: File to write; only its owner can read it.
        overwrite: Whether to replace an existing file.

    Raises:
        OutputError: if the file exists, or cannot be written.
    """
    import pyarrow as pa

    names = [name for names in sum_columns(sums.query) for name in names]
    numbers = [*sums.weights.tolist(), *sums.log_odds.tolist(), *sums.rows.tolist()]
    digests = [digest(sums.query.domain), sums.query.digest]
    header = {"version": GRADIENT_VERSION, "notice": NOTICE, "parts": sorted(sums.parts)}
    table = pa.table([[each] for each in (*numbers, *digests)], names=[*names, *GRADIENT_TEXTS])
    table = table.replace_schema_metadata({GRADIENT_KEY: json.dumps(header)})
    with (
        atomic_output(path, overwrite=overwrite, confidential=True) as partial,
        parquet_writer(partial, table.schema) as writer,
    ):
        writer.write_table(table)


@confined()
def load_gradient_sums(path: Path, query: GradientQuery) -> GradientSums:
    """Read a file of a round's sums, or the result of their query in a Parquet or CSV file.

    Args:
        path: The file.
        query: What must have been summed up.

    Raises:
        MissingInputError: if there is no such file.
        DataError: if the file does not hold sums of a round, or if they are of an unknown version, impossible, of
            another domain, of another model, or of another round.
    """
    import polars as pl
    import pyarrow as pa

    if not path.is_file():
        raise MissingInputError(f"{path}: no such file; make one with {command('aggregate', given='MODEL')}")
    if path.name.lower().endswith((".csv", ".csv.gz")):
        return gradient_sums_of(read_delimited(path, GRADIENT_TEXTS), query, path)
    try:
        table = read_table(path, {name for names in sum_columns(query) for name in names})
        kind = kind_of_table(table)
        if kind is not None and kind is not Kind.SUMS:
            raise of_another_kind(path, kind, Kind.SUMS)
        metadata = table.schema.metadata or {}
        header = json.loads(metadata.get(GRADIENT_KEY.encode(), b"null"))
        version, parts = (GRADIENT_VERSION, None) if header is None else (header["version"], header["parts"])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError, RecursionError):
        raise _not_sums(path) from None
    if version != GRADIENT_VERSION:
        raise DataError(
            f"{path}: sums of version {excerpt(version)} are not known to this program (it reads {GRADIENT_VERSION}); "
            f"make it again with {command('aggregate', given='MODEL')}"
        )
    if kind is None or not (parts is None or are_digests(parts)):
        raise _not_sums(path)
    sums = gradient_sums_of(pl.DataFrame(table), query, path)
    return sums if parts is None else replace(sums, parts=frozenset(parts))


def gradient_sums_of(result: pl.DataFrame, query: GradientQuery, source: object) -> GradientSums:
    """Check the result of the query of a round, and return its sums.

    Args:
        result: One row: ``scores.sum_columns`` (whole numbers of any type, or their text), ``domain`` and
            ``gradient``, the digests of what was summed up. Confidential.
        query: What must have been summed up.
        source: Name of the file or database in messages.

    Raises:
        DataError: if a column is missing, a field is not a whole number, there is another number of rows than one, no
            rows have such sums, or something else was summed up. The message holds no sum.
    """
    # The digests first: sums of another domain have other columns.
    digests = checked_columns(result, (), GRADIENT_TEXTS, source, Kind.SUMS)
    if len(digests) != 1:
        raise DataError(
            f"{source}: the sums of a round are one row; export the result of one run of the query, and give the "
            "results of several parts as files of their own"
        )
    check_digests(digests.row(0), query, source)
    columns = sum_columns(query)
    numbers = [name for names in columns for name in names]
    frame = checked_columns(result, numbers, GRADIENT_TEXTS, source, Kind.SUMS)
    weights, log_odds, rows = (np.array([frame[name].item() for name in names], dtype=np.int64) for names in columns)
    sums = GradientSums(query, weights, log_odds, rows)
    if not sums.possible:
        raise DataError(f"{source}: no rows have such sums; sum the rows up again")
    return replace(sums, parts=sums_part(sums))


def _not_sums(path: Path) -> DataError:
    return DataError(f"{path}: not a file of the sums of a round; make one with {command('aggregate', given='MODEL')}")
