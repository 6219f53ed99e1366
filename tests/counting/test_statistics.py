"""Statistics add up, show no count, and are assembled from cells of the domain alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dpnb_columnar.core.queries.statistics import CellQuery, Cells, Statistics, assemble
from dpnb_columnar.counting.answer_files import load_statistics, save_answer
from support.aggregation_cases import BOTH, LABEL, MIXED, NUMERIC_BODIES, declared, total, written
from support.rows_in_python import counts_of

from dpnb_columnar.counting import answer_files as statistics_files
from dpnb_columnar.counting.engines import local
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.parquet import open_parquet


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
