"""What queries say of themselves is what their answers do; statistics add up, and show no count."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.aggregation_cases import BOTH, LABEL, MIXED, NUMERIC_BODIES, declared, total, written
from support.people import PEOPLE, people, people_domain, write_people
from support.rows_in_python import counts_of
from support.tables import into_duckdb

from dpnb_columnar.core.budget import RowEffect
from dpnb_columnar.core.queries.scores import GradientQuery, Margins, Scores, ScoreTable
from dpnb_columnar.core.queries.statistics import CellQuery, Cells, Statistics, assemble
from dpnb_columnar.counting import answer_files as statistics_files
from dpnb_columnar.counting import local
from dpnb_columnar.counting.answer_files import FORMATS, kind_of_columns, load_statistics, save_answer
from dpnb_columnar.counting.database import DatabaseRows
from dpnb_columnar.counting.inputs import FrameInput, LocalFiles
from dpnb_columnar.dialects.statistics_query import query_sql
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.parquet import open_parquet
from dpnb_columnar.rows.sources import Dialect, parse_database

AnyQuery = CellQuery | Scores | Margins | GradientQuery

TABLE = ScoreTable("age", (0, 30, 50), (-256, 0, 256))
THREE = {**PEOPLE, "label": {"column": "income", "classes": ["low", "high", "none"]}}
WEIGHTED = {**PEOPLE, "weight": {"column": "hours_of_weight", "cap": 5}}
DOCUMENTS = {"people": PEOPLE, "three classes": THREE, "weighted": WEIGHTED}


def numbers(statistics: Statistics) -> dict[tuple[object, ...], int]:
    """Every count, and every sum of weights, that is not zero."""
    return {
        (cell.attribute, int(klass), int(code)): int(count)
        for cell in statistics.cells()
        for klass, code, count in zip(cell.classes, cell.codes, cell.counts, strict=True)
    }


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_row_moves_the_cells_by_their_sensitivity_and_no_further(document: dict[str, object]) -> None:
    """All rows of few values, each added to the same others: some move all numbers as far as is said, none farther."""
    domain = people_domain(document)
    query, others = CellQuery(domain), people(20)
    ages, hours, sexes = (None, 1000), (None, 12), (None, "f")
    rows = pl.DataFrame(
        list(product(("low", None), ages, hours, sexes, (None, 2.0, 90.0))),
        schema={
            "income": pl.String,
            "age": pl.Int64,
            "hours": pl.Int64,
            "sex": pl.String,
            "hours_of_weight": pl.Float64,
        },
        orient="row",
    )
    others = others.select("income", "age", "hours", "sex", hours_of_weight=pl.lit(1.0))
    before = numbers(local.answer(others, query))
    moved = []
    for place in range(len(rows)):
        after = numbers(local.answer(pl.concat([others, rows[place]]), query))
        moved.append(sum(abs(after.get(cell, 0) - before.get(cell, 0)) for cell in {*before, *after}))
    assert max(moved) == query.sensitivity
    assert min(moved) == 0


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_there_are_as_many_numbers_as_said(document: dict[str, object]) -> None:
    domain = people_domain(document)
    sizes = {each.name: each.size for each in domain.categorical} | {
        each.name: each.cells + 1 for each in domain.numeric
    }
    columns = 1 + sum(sizes.values()) + (domain.weight is not None)
    assert CellQuery(domain).cells == len(domain.classes) * columns
    tables, classes = (TABLE,), len(domain.classes)
    scores = Scores(domain, (tables,) * classes, (0,) * classes)
    assert scores.empty().counts.size == scores.cells
    margins = Margins(domain, (tables,) * (classes - 1), (0,) * classes, 0, (-100, 100))
    assert margins.columns_of(margins.empty().counts).size == margins.cells
    query = GradientQuery(domain, (TABLE,) * 2, (128,) * 2, 0, 512)
    empty = query.empty()
    assert empty.sums.size == query.sums
    assert query.sums + empty.rows.size == query.cells


@pytest.fixture
def queries() -> list[AnyQuery]:
    domain = people_domain()
    gradient = GradientQuery(domain, (TABLE,), (128,), 0, 512)
    return [
        CellQuery(domain),
        Margins(domain, ((TABLE,),), (0, 0), 0, (-100, 100)),
        Scores(domain, ((TABLE,),) * 2, (0, 0)),
        gradient,
    ]


def test_no_row_answers_the_empty_answer(queries: list[AnyQuery]) -> None:
    for query in queries:
        empty = local.answer(people(10)[:0], query)
        assert empty == query.empty()
        assert empty.own_part == frozenset()
        assert local.answer(people(10), query).joined(query.empty()) == local.answer(people(10), query)


def test_queries_differ_in_their_digests_and_say_what_they_ask(queries: list[AnyQuery]) -> None:
    assert len({query.digest for query in queries}) == len(queries)
    assert len({query.words for query in queries}) == len(queries)
    assert [query.later for query in queries] == [False, True, True, True]
    assert [query.parallel.effect for query in queries] == [RowEffect.ONE_DRAW] * 3 + [RowEffect.ALL_DRAWS]


def test_answers_of_parts_join_to_that_of_all(queries: list[AnyQuery]) -> None:
    rows = people(90)
    for query in queries:
        first, second = (local.answer(part, query) for part in (rows[:31], rows[31:]))
        assert first.joined(second) == local.answer(rows, query)


def test_answers_of_one_part_are_not_added_twice(queries: list[AnyQuery]) -> None:
    """Whatever else they have added up, and whatever is declared of their units."""
    for query in queries:
        counted = replace(local.answer(people(9), query), whole_units=True)
        first, second, both = (replace(counted, parts=frozenset(parts)) for parts in ("a", "b", "ab"))
        if not isinstance(query, CellQuery):  # which knows equal counts as well
            assert (first + second).parts == {"a", "b"}
            assert first + second == replace(first.joined(second), parts=both.parts)
        for one, two in ((first, first), (first, both), (both, second)):
            with pytest.raises(ValueError, match="the same rows are in both and would count twice"):
                one + two


def test_failures_are_reported_without_the_engines_text(queries: list[AnyQuery], tmp_path: Path) -> None:
    for query in queries:
        file = write_people(tmp_path / "people.parquet")
        checked = LocalFiles([file]).check(query.domain)
        assert checked.repeatable
        file.write_bytes(file.read_bytes()[:-9])
        with pytest.raises(DataError, match=r"people\.parquet"):
            checked.answer(query)
        rows = people(10).lazy().with_columns(age=pl.col("sex").str.to_integer(strict=True))
        with pytest.raises(DataError, match="its query fails"):
            FrameInput(rows).check(query.domain).answer(query)


def test_what_is_cut_to_fewer_attributes_answers_their_query() -> None:
    domain = people_domain()
    fewer = Domain(domain.name, domain.label, domain.attributes[1:])
    cut = local.answer(people(50), CellQuery(domain)).only(fewer)
    assert cut.query.digest == CellQuery(fewer).digest
    assert np.array_equal(cut.class_counts, local.answer(people(50), CellQuery(fewer)).class_counts)


def test_the_result_of_a_printed_query_is_cut_to_what_is_asked(tmp_path: Path) -> None:
    """A public file may leave attributes out of what a query counts that was printed before."""
    domain, rows = people_domain(), people(50)
    into_duckdb(tmp_path / "people.duckdb", rows)
    address = parse_database(str(tmp_path / "people.duckdb"))
    assert address is not None
    fewer = Domain(domain.name, domain.label, domain.attributes[1:])
    printed = query_sql(CellQuery(domain), {}, "person", Dialect.DUCKDB)
    checked = DatabaseRows(address, printed, asked=CellQuery(domain)).check(fewer)
    assert not checked.repeatable
    assert checked.answer(CellQuery(fewer)) == local.answer(rows, CellQuery(fewer))


def test_formats_are_known_by_the_columns_and_keys_of_one_kind_alone() -> None:
    assert len({kind.key for kind in FORMATS.values()}) == len(FORMATS)
    for query, kind in FORMATS.items():
        assert kind.later == query.later
        assert kind_of_columns(kind.columns) is kind


@pytest.fixture
def parts(tmp_path: Path) -> tuple[Statistics, Statistics, Statistics]:
    """Statistics of three files: one, another, and both together."""
    domain = declared(BOTH)
    files = written(tmp_path, [MIXED, MIXED.slice(3)])
    first, second, both = (
        local.answer(open_parquet(some, domain), CellQuery(domain)) for some in (files[:1], files[1:], files)
    )
    return first, second, both


def test_statistics_add_up(parts: tuple[Statistics, Statistics, Statistics]) -> None:
    first, second, both = parts
    assert total(counts_of(second)) > 0
    assert first + second == both
    assert second + first == both
    assert both - second == first
    assert first + second - second == first
    assert first != second
    assert assemble(both.domain, both.cells()) == both
    nothing = first - first
    assert counts_of(nothing) == {}
    assert nothing + second == second


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_row_groups_of_a_file_hold_each_cell_once(
    size: int, parts: tuple[Statistics, Statistics, Statistics], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether one attribute has cells for several groups, or several attributes for one."""
    monkeypatch.setattr(statistics_files, "ROW_GROUP", size)
    for number, each in enumerate([parts[2], parts[0] - parts[0]]):
        file = tmp_path / f"{number}.statistics.parquet"
        save_answer(each, file)
        assert load_statistics(file) == each
        footer = pq.read_metadata(file)
        rows = [footer.row_group(place).num_rows for place in range(footer.num_row_groups)]
        assert sum(rows) == len(counts_of(each))
        assert set(rows[:-1]) <= {size}


def test_statistics_show_no_count(parts: tuple[Statistics, Statistics, Statistics]) -> None:
    text = f"{parts[2]!r} {parts[2]} {[*parts[2].cells()]!r} {parts[2].columns!r}"
    assert "CONFIDENTIAL" in text
    assert "2 classes, 2 numeric and 2 categorical" in text
    assert "[1" not in text
    assert "array" not in text


def test_statistics_of_different_domains(parts: tuple[Statistics, Statistics, Statistics]) -> None:
    other = assemble(declared({"label": LABEL, "attributes": NUMERIC_BODIES}), [])
    assert other != parts[0]
    with pytest.raises(ValueError, match="different domains cannot be added"):
        parts[0] + other
    with pytest.raises(ValueError, match="different domains cannot be subtracted"):
        parts[0] - other


def cells(attribute: str | None, *triples: tuple[int, int, int]) -> Cells:
    table = np.array(triples, dtype=np.int64).reshape(-1, 3)
    return Cells(attribute, table[:, 0], table[:, 1], table[:, 2])


AGE = {"lower": 0, "upper": 9, "step": 1}
SMALL = declared({"label": LABEL, "attributes": {"age": AGE, "sex": {"values": ["m", "f"]}}})


def test_assembly() -> None:
    statistics = assemble(
        SMALL,
        [
            cells("sex", (1, 1, 41), (0, 0, 2)),
            cells(None, (1, 0, 41), (0, 0, 2)),
            cells("age", (1, 9, 40), (0, 3, 1), (0, 0, 1)),
            cells("age", (1, 9, 1)),
        ],
    )
    assert statistics.class_counts.tolist() == [2, 41]
    assert statistics.tables["sex"].tolist() == [[2, 0], [0, 41]]
    assert [(column.codes.tolist(), column.counts.tolist()) for column in statistics.columns["age"]] == [
        ([0, 3], [1, 1]),
        ([9], [41]),
    ]


@pytest.mark.parametrize(
    ("faulty", "problem"),
    [
        ([cells("age", (0, 10, 4711))], "'age' lies outside"),
        ([cells("age", (0, -1, 4711))], "'age' lies outside"),
        ([cells("age", (2, 1, 4711))], "'age' lies outside"),
        ([cells("sex", (0, 2, 4711))], "'sex' lies outside"),
        ([cells("sex", (-1, 1, 4711))], "'sex' lies outside"),
        ([cells(None, (2, 0, 4711))], "the classes lies outside"),
        ([cells(None, (0, 1, 4711))], "the classes lies outside"),
        ([cells("wage", (0, 0, 4711))], "'wage' is not in the domain"),
        ([cells("age", (0, 1, -4711))], "'age' is below zero"),
        ([cells("sex", (0, 1, 1), (0, 1, -4711))], "'sex' is below zero"),
        ([cells(None, (1, 0, -4711))], "the classes is below zero"),
        ([cells("age", (0, 1, 4711))], "'age' do not add up"),
        ([cells(None, (0, 0, 4711)), cells("age", (0, 1, 4711)), cells("sex", (0, 1, 4712))], "'sex' do not add up"),
        ([cells(None, (0, 0, 4711)), cells("age", (1, 1, 4711)), cells("sex", (0, 1, 4711))], "'age' do not add up"),
    ],
)
def test_faulty_cells_are_refused(faulty: list[Cells], problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        assemble(SMALL, faulty)
    assert "471" not in str(caught.value)


@pytest.mark.parametrize(("age", "sex"), [("row", "skip"), ("skip", "row"), ("skip", "category")])
def test_attributes_that_every_row_has_are_counted_for_every_row(age: str, sex: str) -> None:
    attributes = {"age": {**AGE, "missing": age}, "sex": {"values": ["m", "f"], "missing": sex}}
    domain = declared({"label": LABEL, "attributes": attributes})
    whole = {name: cells(name, (0, 1, 4711)) for name in (None, "age", "sex")} | {None: cells(None, (0, 0, 4711))}
    assert assemble(domain, whole.values()).lacking() == {"age": 0, "sex": 0}
    for name in ("age", "sex"):
        fewer = (whole | {name: cells(name, (0, 1, 4710))}).values()
        if attributes[name]["missing"] == "skip":
            assert assemble(domain, fewer).lacking()[name] == 1
        else:
            with pytest.raises(ValueError, match=f"'{name}' do not add up"):
                assemble(domain, fewer)


def test_more_cannot_be_taken_away_than_there_is(parts: tuple[Statistics, Statistics, Statistics]) -> None:
    with pytest.raises(ValueError, match="below zero"):
        parts[1] - parts[2]


def test_statistics_may_be_as_large_as_their_file_allows(
    parts: tuple[Statistics, Statistics, Statistics], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written is read again, however much it is; what unpacks to far more than its file is not."""
    save_answer(parts[2], tmp_path / "all.statistics.parquet")
    monkeypatch.setattr(statistics_files, "LARGEST_TABLE", 1)
    assert load_statistics(tmp_path / "all.statistics.parquet") == parts[2]
    monkeypatch.setattr(statistics_files, "LARGEST_RATIO", 0.001)
    with pytest.raises(DataError, match=r"all\.statistics\.parquet: not a statistics file"):
        load_statistics(tmp_path / "all.statistics.parquet")


def test_codes_without_a_text_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a damaged file Arrow returns dictionary codes that are in no dictionary, at which Polars panics."""
    path = tmp_path / "counts.parquet"
    others = {name: pa.array([1], pa.int64()) for name in ("class", "code", "count")} | {"domain": ["any"]}
    pq.write_table(pa.table({"attribute": ["sex"], **others}), path)
    beyond = pa.DictionaryArray.from_arrays(pa.array([7], pa.int32()), pa.array(["sex"]), safe=False)
    monkeypatch.setattr(pq, "read_table", lambda *_, **__: pa.table({"attribute": beyond, **others}))
    with pytest.raises(DataError, match=r"counts\.parquet: not a statistics file"):
        load_statistics(path, SMALL)
