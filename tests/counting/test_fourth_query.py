"""A fourth kind of query is one class, its answer, and three registrations: all else takes it from there.

Every engine of this process, files, and sums of parts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sqlglot import exp
from support.engines import DuckDB, SQLite
from support.people import PEOPLE, people, people_domain, write_people
from support.tables import into_duckdb, into_sqlite

from dpnb_columnar.core.budget import Parallel
from dpnb_columnar.core.budget.composition import PARALLEL_CELLS
from dpnb_columnar.core.queries.query import check_disjoint, digest_blocks, with_whole_units
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting.answer_files import (
    FORMATS,
    Format,
    answer_of,
    checked_columns,
    load_answer,
    save_answer,
)
from dpnb_columnar.counting.countable import AskedRows
from dpnb_columnar.counting.database import DatabaseRows
from dpnb_columnar.counting.inputs import DatabaseInput, FrameInput, LocalFiles
from dpnb_columnar.counting.local import DenseCounter, reduce_rows, stream_counted_rows
from dpnb_columnar.dialects.nodes import Kinds, as_column, own_column, text
from dpnb_columnar.dialects.rendering import render, rows_or_default
from dpnb_columnar.dialects.statistics_query import coded_rows, over_steps, query_sql
from dpnb_columnar.domain import Domain, Unit
from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.row_rules import CLASS
from dpnb_columnar.rows.sources import Dialect, parse_database


@dataclass(frozen=True, slots=True)
class ClassQuery:
    domain: Domain
    later: ClassVar[bool] = False
    parallel: ClassVar[Parallel] = PARALLEL_CELLS
    sensitivity: ClassVar[int] = 1
    words: ClassVar[str] = "rows of each class"

    @property
    def cells(self) -> int:
        return len(self.domain.classes)

    @property
    def digest(self) -> str:
        return hashlib.sha256(b"classes" + digest(self.domain).encode()).hexdigest()

    def empty(self) -> ClassSizes:
        return ClassSizes(self, (0,) * self.cells)


@dataclass(frozen=True, slots=True)
class ClassSizes:
    query: ClassQuery
    sizes: tuple[int, ...]
    parts: frozenset[str] = frozenset()
    whole_units: bool = False

    @property
    def own_part(self) -> frozenset[str]:
        return frozenset([digest_blocks("classes", [repr(self.sizes).encode()])] if any(self.sizes) else [])

    def __add__(self, other: ClassSizes) -> ClassSizes:
        check_disjoint(self, other, "class sizes of different domains")
        return self.joined(other)

    def joined(self, other: ClassSizes) -> ClassSizes:
        sizes = tuple(one + two for one, two in zip(self.sizes, other.sizes, strict=True))
        return ClassSizes(self.query, sizes, self.parts | other.parts, self.whole_units)

    def only(self, domain: Domain) -> ClassSizes:
        return self


def by_polars(query: ClassQuery, rows: pl.LazyFrame, types: Mapping[str, pl.DataType]) -> ClassSizes:
    counter = DenseCounter(query.cells)

    def add(part: pl.DataFrame) -> None:
        counter.add(part[CLASS].to_numpy())

    def reset() -> None:
        counter.counts[:] = 0

    stream_counted_rows(rows, types, query.domain, {}, [], add, reset)
    return ClassSizes(query, tuple(counter.counts.tolist()))


def by_sql(query: ClassQuery, kinds: Kinds, table: str | exp.Subquery | None, dialect: Dialect) -> str:
    steps = coded_rows(query.domain, kinds, rows_or_default(table, query.domain.name, dialect))
    count = as_column(exp.Count(this=exp.Star()), "count")
    columns = [own_column(CLASS), count, as_column(text(query.digest), "classes")]
    return render(over_steps(columns, steps).group_by(own_column(CLASS)), dialect)


class ClassFormat(Format[ClassQuery, ClassSizes]):
    """Its files and results: columns class and count, and the digest."""

    key = "test.class_sizes"
    columns = ("class", "count", "classes")
    name = "a file of class sizes"
    holds = "counts classes"

    def tables(self, answer: ClassSizes) -> tuple[pa.Schema, Iterable[pa.Table]]:
        classes = [*range(len(answer.sizes))]
        columns = {"class": classes, "count": [*answer.sizes], "classes": [answer.query.digest] * len(classes)}
        table = pa.table(columns)
        return table.schema, [table]

    def of_result(self, result: pl.DataFrame, query: ClassQuery, source: object) -> ClassSizes:
        frame = checked_columns(result, ("class", "count"), ("classes",), source, self)
        if not set(frame["classes"]) <= {query.digest}:
            raise DataError(f"{source}: classes of another domain")
        sizes = dict(frame.select("class", "count").iter_rows())
        counted = ClassSizes(query, tuple(sizes.get(klass, 0) for klass in range(query.cells)))
        return ClassSizes(query, counted.sizes, counted.own_part)


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    """The three places that a kind of query is known in."""
    reduce_rows.register(ClassQuery, by_polars)
    query_sql.register(ClassQuery, by_sql)
    FORMATS[ClassQuery] = ClassFormat()
    yield
    del FORMATS[ClassQuery]


ROWS = people(300, 4).with_columns(income=pl.Series([None, *["low"] * 120, *["high"] * 179]))
DOMAIN = people_domain()
QUERY = ClassQuery(DOMAIN)
EXPECTED = (120, 179)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    parts = (ROWS[:100], ROWS[100:150], ROWS[:0], ROWS[150:])
    return [write_people(tmp_path / f"{place}.parquet", part) for place, part in enumerate(parts)]


def table_of(file: Path) -> Any:
    (into_sqlite if file.suffix == ".sqlite" else into_duckdb)(file, ROWS.select("income", "age", "hours", "sex"))
    address = parse_database(str(file))
    assert address is not None
    return address


def by_a_printed_query(folder: Path) -> Any:
    printed = query_sql(QUERY, {}, "person", Dialect.DUCKDB)
    return DatabaseRows(table_of(folder / "people.duckdb"), printed, asked=QUERY).check(DOMAIN)


ENGINES: dict[str, Callable[[Path], Any]] = {
    "frame": lambda folder: FrameInput(ROWS).check(DOMAIN),
    "lazy frame": lambda folder: FrameInput(ROWS.lazy()).check(DOMAIN),
    "duckdb": lambda folder: DatabaseInput(table_of(folder / "people.duckdb"), "person").check(DOMAIN),
    "sqlite": lambda folder: DatabaseInput(table_of(folder / "people.sqlite"), "person").check(DOMAIN),
    "printed": by_a_printed_query,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_answers(engine: str, tmp_path: Path) -> None:
    assert ENGINES[engine](tmp_path).answer(QUERY).sizes == EXPECTED


def test_files_answer(files: list[Path]) -> None:
    assert LocalFiles(files).check(DOMAIN).answer(QUERY).sizes == EXPECTED


def test_a_file_of_it_is_private_and_of_its_query_alone(tmp_path: Path) -> None:
    answer = FrameInput(ROWS).check(DOMAIN).answer(QUERY)
    save_answer(answer, tmp_path / "classes.parquet")
    assert load_answer(tmp_path / "classes.parquet", QUERY) == answer
    other = ClassQuery(people_domain({**PEOPLE, "label": {"column": "income", "classes": ["low", "high", "none"]}}))
    with pytest.raises(DataError, match="another domain"):
        load_answer(tmp_path / "classes.parquet", other)
    with pytest.raises(DataError, match=r"classes\.parquet: counts classes"):
        load_answer(tmp_path / "classes.parquet", CellQuery(DOMAIN))
    save_answer(FrameInput(ROWS).check(DOMAIN).answer(CellQuery(DOMAIN)), tmp_path / "cells.parquet")
    with pytest.raises(DataError, match=r"cells\.parquet: counts the cells of a domain"):
        load_answer(tmp_path / "cells.parquet", QUERY)
    (tmp_path / "result.csv").write_text(f"CLASS,count,classes\n1,2,{QUERY.digest}\n")
    assert load_answer(tmp_path / "result.csv", QUERY).sizes == (0, 2)


@pytest.mark.parametrize("database", [DuckDB, SQLite])
def test_its_sql_runs_in_every_database_of_this_process(database: Any, tmp_path: Path) -> None:
    engine = database(tmp_path) if database is DuckDB else database()
    engine.load(ROWS.to_arrow())
    result = pl.DataFrame(engine.run(query_sql(QUERY, {}, "rows", engine.dialect)))
    assert answer_of(result, QUERY, "the database").sizes == EXPECTED


def test_parts_add_up_once(files: list[Path]) -> None:
    first, second = (LocalFiles([file]).check(DOMAIN).answer(QUERY) for file in files[:2])
    assert (first + second).sizes == LocalFiles(files[:2]).check(DOMAIN).answer(QUERY).sizes
    with pytest.raises(ValueError, match="the same rows are in both"):
        _ = (first + second) + second


def test_units_choose_their_rows_and_are_declared_whole(tmp_path: Path) -> None:
    domain = people_domain({**PEOPLE, "unit": {"columns": ["house"], "rows": 1}})
    assert domain.unit == Unit(("house",), 1)
    rows = ROWS.with_columns(house=pl.Series(np.arange(300) // 3))
    answer = FrameInput(rows).check(domain).answer(ClassQuery(domain))
    assert sum(answer.sizes) == 100
    with pytest.raises(ValueError, match=r"whole.units"):
        _ = answer + answer
    assert sum((with_whole_units(answer, True) + with_whole_units(answer, True)).sizes) == 200


def test_rows_that_were_asked_it_answer_nothing_else() -> None:
    asked = AskedRows(FrameInput(ROWS).check(DOMAIN).answer(QUERY)).check(DOMAIN)
    assert asked.answer(QUERY).sizes == EXPECTED
    with pytest.raises(ValueError, match="were asked something else"):
        asked.answer(CellQuery(DOMAIN))
