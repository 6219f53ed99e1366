"""Save and load answers to queries as Parquet files: exact, readable by the owner alone, marked so. CONFIDENTIAL.

One writer and one reader serve every kind of query; what differs is in its ``Format``. Sums of a round have no files:
rounds follow one another over the rows themselves. Results of ``sql statistics`` come from any program, and may unpack
to far more than their size, so what is read into memory is bounded.
"""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Generic, TypeVar, cast

import numpy as np

from dpnb_columnar.core.code_limits import LARGEST_SIZE
from dpnb_columnar.core.queries.query import Answer, AnswerT, Query, with_parts
from dpnb_columnar.core.queries.scores import (
    ClassScores,
    GradientQuery,
    GradientSums,
    Integers,
    ScoreCounts,
    sum_columns,
)
from dpnb_columnar.core.queries.statistics import CellQuery, Cells, Statistics, assemble
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import domain_from_metadata, domain_metadata
from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.domain.domain_text import weighs_by
from dpnb_columnar.domain.names import named
from dpnb_columnar.errors import DataError, MissingInputError, UsageError, check_version, command, option
from dpnb_columnar.rows.parquet import is_plain, is_text
from dpnb_columnar.runtime.confinement import confined
from dpnb_columnar.runtime.outputs import atomic_output, parquet_writer
from dpnb_columnar.runtime.unfinished import exists, is_folder

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

NOTICE = "CONFIDENTIAL: exact counts of a confidential table; not released, not protected by noise"
ROW_GROUP = 2**20  # rows of a row group of a file
COUNT = "count"  # the column of counts in results of queries
CELL_NUMBERS = ("class", "code", COUNT)
SCORE_NUMBERS = ("class", "bin", COUNT)
QueryT = TypeVar("QueryT", bound=Query[Any])


class Result(ABC, Generic[QueryT, AnswerT]):
    """How the answers to a kind of query stand in the results of its SQL."""

    columns: ClassVar[tuple[str, ...]]  # by which a result is recognised in any order and case; others are added up

    @abstractmethod
    def of_result(self, result: pl.DataFrame, query: QueryT, source: object) -> AnswerT:
        """Check the result of the query's SQL, which is confidential, and return the answer."""


class Format(Result[QueryT, AnswerT]):
    """How they stand in files besides."""

    key: ClassVar[str]  # of the metadata
    version: ClassVar[int] = 1  # the one that is read
    name: ClassVar[str]  # what a file of it is called, in messages
    holds: ClassVar[str]  # what such a file does
    waits: ClassVar[str] = ""  # what a model that asks for it waits for
    number: ClassVar[str] = "a number"  # what its numbers are called
    later: ClassVar[bool] = True  # whether released values fix what is asked

    def metadata(self, answer: AnswerT) -> tuple[dict[str, Any], Mapping[str, str]]:
        """Return what the header of a file says beside its version, and further metadata."""
        return {"parts": sorted(answer.parts)}, {}

    @abstractmethod
    def tables(self, answer: AnswerT) -> tuple[pa.Schema, Iterable[pa.Table]]:
        """Return the columns of a file, and its rows."""

    def read(self, table: pa.Table, header: Mapping[str, Any], query: QueryT | None, path: Path) -> AnswerT:
        """Read a file that this program has written, which must answer the query, or, without one, tells its own."""
        import polars as pl

        assert query is not None
        return with_parts(self.of_result(pl.DataFrame(table), query, path), digests_of(header["parts"]))


class CellFormat(Format[CellQuery, Statistics]):
    """Statistics, as ``sql statistics`` selects them: a row per non-empty cell, attribute null for class counts."""

    key = "dpnb_columnar.statistics"
    version = 4
    columns = ("attribute", *CELL_NUMBERS, "domain")
    name = "a statistics file"
    holds = "counts the cells of a domain"
    number = "class, code or count"
    later = False

    def metadata(self, answer: Statistics) -> tuple[dict[str, Any], Mapping[str, str]]:
        digests = {"parts": sorted(answer.parts), "summands": sorted(answer.summands)}
        return digests, domain_metadata(answer.domain)

    def tables(self, answer: Statistics) -> tuple[pa.Schema, Iterable[pa.Table]]:
        return _cells_schema(), _cell_tables(answer)

    def read(self, table: pa.Table, header: Mapping[str, Any], query: CellQuery | None, path: Path) -> Statistics:
        import polars as pl

        metadata = decoded_metadata(table)
        parts, summands = digests_of(header["parts"]), digests_of(header["summands"])
        carried = domain_from_metadata(metadata, str(path))
        if not isinstance(carried, Domain) or not table.schema.equals(_cells_schema()):
            raise ValueError("no statistics")
        if query is not None and query.digest != digest(carried):
            differing, weights = "", (carried.weight, query.domain.weight)
            if digest(replace(carried, weight=query.domain.weight)) == query.digest:
                found, other = ("no weight" if each is None else weighs_by(each) for each in weights)
                differing = f": with {found}, not with {other}"
            raise DataError(
                f"{path}: was counted in another domain than {query.domain.name!r}, the one asked for"
                f"{differing}; aggregate anew"
            )
        frame = pl.DataFrame(table)
        try:
            if any(frame[name].null_count() for name in CELL_NUMBERS):
                raise ValueError("a count without a cell")
            return replace(assemble(carried, cells_of(frame), parts), summands=summands)
        except ValueError:
            raise DataError(
                f"{path}: its counts do not fit its own domain; make it again with {command('aggregate')}"
            ) from None

    def of_result(self, result: pl.DataFrame, query: CellQuery, source: object) -> Statistics:
        """Check the result of the statistics query: one row per cell, attribute null or empty for the class counts."""
        domain = query.domain
        frame = checked_columns(result, CELL_NUMBERS, ("attribute", "domain"), source, self)
        if not set(frame["domain"].unique()) <= {digest(domain)}:
            raise DataError(
                f"{source}: was counted in another domain than {domain.name!r} as declared now; name the right one "
                f"with {option('dataset')} or {option('domain')}, or make the query again with "
                f"{command('sql statistics')} and run it"
            )
        refuse_repeated_cells(frame, ("attribute", "class", "code"), source)
        if (frame[COUNT] < 0).any():
            raise DataError(f"{source}: a count is below zero; run the query anew, and export all of its rows")
        try:
            statistics = assemble(domain, cells_of(frame))
        except ValueError as error:
            raise DataError(f"{source}: {error}; run the query anew, and export all of its rows") from None
        return with_parts(statistics, statistics.own_part)


class ScoreFormat(Format[ClassScores, ScoreCounts]):
    """Counts of scores: one row per class and bin with rows in it."""

    key = "dpnb_columnar.score_counts"
    columns = (*SCORE_NUMBERS, "domain", "scores")
    name = "a file of counts of scores"
    holds = "counts the scores that a model gives"
    waits = "counts of its scores"
    number = "class, bin or count"

    def metadata(self, answer: ScoreCounts) -> tuple[dict[str, Any], Mapping[str, str]]:
        asked = {"domain": digest(answer.scores.domain), "scores": answer.scores.digest}
        return {**asked, "parts": sorted(answer.parts)}, {}

    def tables(self, answer: ScoreCounts) -> tuple[pa.Schema, Iterable[pa.Table]]:
        import pyarrow as pa

        bins, classes = np.nonzero(answer.counts)
        return _scores_schema(), [pa.table([classes, bins, answer.counts[bins, classes]], schema=_scores_schema())]

    def read(self, table: pa.Table, header: Mapping[str, Any], query: ClassScores | None, path: Path) -> ScoreCounts:
        import polars as pl

        assert query is not None
        digests, parts = (header["domain"], header["scores"]), digests_of(header["parts"])
        if not table.schema.equals(_scores_schema()):
            raise ValueError("no counts of scores")
        check_digests(digests, query, path)
        return ScoreCounts(query, _dense(pl.DataFrame(table), query, path), parts)

    def of_result(self, result: pl.DataFrame, query: ClassScores, source: object) -> ScoreCounts:
        """Check the result of the query of score counts: one row per class and bin."""
        frame = checked_columns(result, SCORE_NUMBERS, ("domain", "scores"), source, self)
        for pair in frame.select("domain", "scores").unique().iter_rows():
            check_digests(pair, query, source)
        counted = ScoreCounts(query, _dense(frame, query, source))
        return with_parts(counted, counted.own_part)


class SumsResult(Result[GradientQuery, GradientSums]):
    """Sums of a round: one row, which the database has summed up that was asked."""

    columns = ("domain", "gradient")

    def of_result(self, result: pl.DataFrame, query: GradientQuery, source: object) -> GradientSums:
        sums, rows = (np.array([result[name].item() for name in names], dtype=np.int64) for names in sum_columns(query))
        return GradientSums(query, sums, rows)


FORMATS: dict[type[Any], Format[Any, Any]] = {CellQuery: CellFormat(), ClassScores: ScoreFormat()}
"""The format of each kind of query that files may answer, by its type or a base of it. Results of SQL are taken for the
first whose columns they have."""

RESULTS: ChainMap[type[Any], Any] = ChainMap(FORMATS, {GradientQuery: SumsResult()})
"""The results of the SQL of every kind of query."""


def result_of(query: Query[AnswerT]) -> Result[Any, AnswerT]:
    """Return how the results of a query's SQL are read."""
    return next(RESULTS[kind] for kind in type(query).__mro__ if kind in RESULTS)


def format_of(query: Query[AnswerT]) -> Format[Any, AnswerT]:
    """Return the format of a query's files."""
    return next(FORMATS[kind] for kind in type(query).__mro__ if kind in FORMATS)


@confined()
def save_answer(answer: Answer, path: Path, *, overwrite: bool = False) -> None:
    """Write an answer, which is confidential, to a file."""
    kind = format_of(answer.query)
    said, further = kind.metadata(answer)
    schema, tables = kind.tables(answer)
    header = {"version": kind.version, "notice": NOTICE, **said}
    with (
        atomic_output(path, overwrite=overwrite, confidential=True) as partial,
        parquet_writer(partial, schema.with_metadata({kind.key: json.dumps(header), **further})) as writer,
    ):
        for table in tables:
            writer.write_table(table, row_group_size=ROW_GROUP)


@confined()
def load_answer(path: Path, query: Query[AnswerT]) -> AnswerT:
    """Read a file of an answer to a query, or the result of the query's SQL in a Parquet or CSV file."""
    return _load(path, format_of(query), query)


@confined()
def load_statistics(path: Path, domain: Domain | None = None) -> Statistics:
    """Read statistics as ``load_answer``; without a domain, by that which the file carries (a result has none)."""
    statistics: Statistics = _load(path, FORMATS[CellQuery], None if domain is None else CellQuery(domain))
    return statistics


def _load(path: Path, kind: Format[Any, AnswerT], query: Query[AnswerT] | None) -> AnswerT:
    import polars as pl
    import pyarrow as pa

    if is_folder(path):
        raise DataError(f"{path}: is a folder; name the files in it, so that it shows whether two count the same rows")
    if not exists(path):
        raise MissingInputError(f"{path}: no such file; make one with {_command(kind)}")
    if path.name.lower().endswith((".csv", ".csv.gz")):
        return kind.of_result(read_delimited(path, kind.columns), _required(query, path), path)
    try:
        table = read_table(path)
        metadata = decoded_metadata(table)
        marked = next((each for each in FORMATS.values() if each.key in metadata), None)
        held = marked or kind_of_columns({name.lower() for name in table.schema.names})
        if held is not None and held is not kind:
            raise of_another_kind(path, held, kind)
        if kind.key not in metadata and held is kind:
            return kind.of_result(pl.DataFrame(table), _required(query, path), path)
        header = json.loads(metadata[kind.key])
        check_version(path, kind.name, header["version"], kind.version, f"make it again with {_command(kind)}")
        return kind.read(table, header, query, path)
    except (OSError, pa.ArrowException, KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise DataError(f"{path}: not {kind.name}; make one with {_command(kind)}") from None


def _given(kind: Format[Any, Any]) -> dict[str, str]:
    return {"given": "MODEL"} if kind.later else {}


def _command(kind: Format[Any, Any]) -> str:
    return command("aggregate", **_given(kind))


def _required(query: Query[AnswerT] | None, path: Path) -> Query[AnswerT]:
    if query is None:
        raise UsageError(
            f"{path}: the result of a query carries no domain; name the one it was counted in with "
            f"{option('dataset')}, or with {option('domain')} and the Parquet file that carries it"
        )
    return query


def answer_of(result: pl.DataFrame, query: Query[AnswerT], source: object) -> AnswerT:
    """Check the result of a query's SQL, and return the answer; see ``Result.of_result``."""
    return result_of(query).of_result(result, query, source)


def digests_of(digests: object) -> frozenset[str]:
    """Return the digests that a file's header lists."""
    if not isinstance(digests, list) or not all(isinstance(digest, str) for digest in digests):
        raise ValueError("no digests")
    return frozenset(digests)


def decoded_metadata(table: pa.Table) -> dict[str, str]:
    """Return the metadata of a table as texts; ValueError if they are none."""
    return {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}


def check_digests(digests: Sequence[object], query: ClassScores, source: object) -> None:
    """Refuse counts of other scores than a model's."""
    domain, counted = digests
    if domain != digest(query.domain):
        raise DataError(
            f"{source}: was counted in another domain than {query.domain.name!r}, the model's; count the rows again "
            f"with {option('given')} and this model"
        )
    if counted != query.digest:
        raise DataError(
            f"{source}: was counted given another model, whose scores differ; name that one with {option('given')}, or "
            f"count the rows again with {option('given')} and this model"
        )


def refuse_repeated_cells(frame: pl.DataFrame, keys: Sequence[str], source: object) -> None:
    """Refuse results in which a cell stands in two rows."""
    if frame.select(keys).is_duplicated().any():
        raise DataError(
            f"{source}: a cell stands in more than one row, so people would count twice; export the result of one run "
            "of the query, and give the results of several parts as files of their own"
        )


def _dense(frame: pl.DataFrame, scores: ClassScores, source: object) -> Integers:
    """Return the table of counts, shape (bins, classes)."""
    # A number that is missing is none of the possible ones.
    classes, bins, counts = (frame[name].fill_null(-1).to_numpy() for name in SCORE_NUMBERS)
    table = np.zeros((scores.bins, len(scores.domain.classes)), dtype=np.int64)
    inside = (classes >= 0) & (classes < table.shape[1]) & (bins >= 0) & (bins < table.shape[0])
    if not (inside & (counts >= 0) & (counts <= LARGEST_SIZE)).all():
        raise DataError(f"{source}: a cell or a count is not one of these scores; count the rows again")
    refuse_repeated_cells(frame, ("class", "bin"), source)
    table[bins, classes] = counts
    return table


def _scores_schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema(dict.fromkeys(SCORE_NUMBERS, pa.int64()))


def _cells_schema() -> pa.Schema:
    """Return the columns of a statistics file: attribute is null for the class counts."""
    import pyarrow as pa

    return pa.schema({"attribute": pa.dictionary(pa.int32(), pa.string()), **dict.fromkeys(CELL_NUMBERS, pa.int64())})


def _cell_tables(statistics: Statistics) -> Iterator[pa.Table]:
    """Yield the rows of a statistics file in row groups: there may be as many cells as rows were counted."""
    import pyarrow as pa

    names = pa.array([attribute.name for attribute in statistics.domain.attributes], pa.string())
    waiting, rows = [], 0
    for number, cell in enumerate(statistics.cells()):
        place = pa.scalar(number - 1 if number else None, pa.int32())
        places = pa.repeat(place, len(cell.counts))
        arrays = [pa.DictionaryArray.from_arrays(places, names), cell.classes, cell.codes, cell.counts]
        waiting.append(pa.table(arrays, schema=_cells_schema()))
        rows += len(cell.counts)
        if rows >= ROW_GROUP:
            joined = pa.concat_tables(waiting)
            full = rows - rows % ROW_GROUP
            yield joined.slice(0, full)
            waiting, rows = [joined.slice(full)], rows - full
    if rows:
        yield pa.concat_tables(waiting)


LARGEST_TABLE = 2**31  # bytes of the columns of a statistics file, unpacked; a file that is large itself may have more
LARGEST_RATIO = 64
"""Largest ratio of a file's unpacked columns to the file itself, where the columns are larger than ``LARGEST_TABLE``.
Statistics of a hundred million cells unpack to seven to twelve times the size of their file."""

BYTES_OF_A_CELL = 28
"""Bytes of a row of a statistics file in memory: three numbers, and the place of a text in a dictionary."""

LARGEST_RESULT = 2**29  # bytes of the result of a query as CSV, unpacked
GZIP_SIGNATURE = b"\x1f\x8b"


def read_delimited(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    """Read a CSV file with a header line, compressed with gzip or not; every field as text."""
    import polars as pl

    problem = DataError(f"{path}: not a CSV file with the header {','.join(columns)}; export the query's result anew")
    try:
        with path.open("rb") as raw:
            compressed = raw.read(len(GZIP_SIGNATURE)) == GZIP_SIGNATURE
            raw.seek(0)
            stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if compressed else raw
            content = stream.read(LARGEST_RESULT + 1)
        if len(content) > LARGEST_RESULT:
            raise DataError(f"{path}: larger than {LARGEST_RESULT >> 20} MiB; export the query's result as Parquet")
        content = content.removeprefix(codecs.BOM_UTF8)
        if not content[:2].isalpha():  # Polars would unpack a file that begins like a compressed one
            raise problem
        return pl.read_csv(content, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError, EOFError, zlib.error):
        raise problem from None


def read_table(path: Path) -> pa.Table:
    """Read columns of counts and metadata from a Parquet file; ValueError if too large."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    wanted = {name for kind in FORMATS.values() for name in kind.columns}
    with pq.ParquetFile(path) as file:
        fields = [field for field in file.schema_arrow if field.name.lower() in wanted]
        groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
        unpacked = max(BYTES_OF_A_CELL * file.metadata.num_rows, sum(group.total_byte_size for group in groups))
    most = max(LARGEST_TABLE, LARGEST_RATIO * path.stat().st_size)
    if len({field.name.lower() for field in fields}) < len(fields) or not all(is_plain(field.type) for field in fields):
        raise ValueError("no columns of counts")
    if unpacked > most:
        raise ValueError("more than any statistics of a file so small")
    texts = [field.name for field in fields if is_text(field.type)]  # else one would be repeated in every row
    table = pq.read_table(path, columns=[field.name for field in fields], read_dictionary=texts)
    table.validate(full=True)  # a damaged file may hold dictionary codes that are in no dictionary, which others trust
    for column in table.columns:  # every row may hold its own text later, not a dictionary's
        if pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
            longest = max(
                (pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0 for chunk in column.chunks), default=0
            )
            if longest * len(column) > most:
                raise ValueError("longer texts than any statistics have")
    return table


def checked_columns(
    result: pl.DataFrame, numbers: Sequence[str], texts: Sequence[str], source: object, kind: Format[Any, Any]
) -> pl.DataFrame:
    """Return the columns of a query's result, in any order and case, as 64-bit integers and as texts. Confidential."""
    import polars as pl

    names = {name.lower(): name for name in result.columns}
    columns = [*texts, *numbers]
    missing = [name for name in columns if name not in names]
    other = kind_of_columns(names) if missing else kind
    if other is not None and other is not kind:
        raise of_another_kind(source, other, kind)
    if missing:
        raise DataError(
            f"{source}: not the result of a statistics query: column {named(missing)} is missing; make the query "
            f"with {command('sql statistics', **_given(kind))}"
        )
    texted = (pl.String, pl.Categorical, pl.Enum, pl.Null)  # a cast to text writes out these, and numbers
    types = {name: result.schema[names[name]] for name in columns}
    if unreadable := [name for name, type_ in types.items() if not type_.is_numeric() and type_ not in texted]:
        raise DataError(
            f"{source}: not the result of a statistics query: column {', '.join(unreadable)} holds neither numbers nor "
            "text; export the result anew"
        )

    written = {name: pl.col(names[name]).cast(pl.String).alias(name) for name in columns}
    frame = result.select(
        *(written[name].replace("", None) for name in texts),
        *(written[name].str.replace(r"\.0*$", "").cast(pl.Int64, strict=False) for name in numbers),
    )
    if any(frame[name].null_count() for name in numbers):
        raise DataError(f"{source}: {kind.number} is not a whole number in some row; export the result anew")
    return frame


def kind_of_columns(names: Collection[str]) -> Format[Any, Any] | None:
    """Recognise the result of a query by its columns, in lower case; None if it is the result of none."""
    return next((kind for kind in FORMATS.values() if {*kind.columns} <= {*names}), None)


def of_another_kind(source: object, kind: Format[Any, Any], wanted: Format[Any, Any]) -> DataError:
    """Return the error to raise where an answer to one kind of query is taken for that to another."""
    if not wanted.later:
        return DataError(
            f"{source}: {kind.holds}, which release only its weights; name that model with {option('given')} MODEL, "
            f"or give statistics made without {option('given')}"
        )
    first = "" if kind.later else f"release a model from it without {option('given')}, or "
    return DataError(
        f"{source}: {kind.holds}, and this model waits for {wanted.waits}; {first}count the rows with "
        f"{command('aggregate', **_given(wanted))} or {command('sql statistics', **_given(wanted))}"
    )


def cells_of(frame: pl.DataFrame) -> list[Cells]:
    """Split the long form (attribute, null for the class counts, class, code, count) into cells. Confidential."""
    return [
        Cells(None if name is None else str(name), *(part[field].to_numpy() for field in CELL_NUMBERS))
        for (name,), part in frame.group_by("attribute", maintain_order=True)
    ]
