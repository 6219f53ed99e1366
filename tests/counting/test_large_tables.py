"""Tables of many cells, columns and values are counted as small ones are, in bounded memory."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.aggregation_cases import LABEL, by_polars, check, declared, labelled
from support.memory import peak
from support.people import PEOPLE, people

from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.core.queries.statistics import CellQuery, assemble
from dpnb_columnar.counting import local
from dpnb_columnar.counting.local import DenseCounter, SparseCounter
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.model.score_calibration import margins_given
from dpnb_columnar.releases.model_plan import release
from dpnb_columnar.releases.plan import plan
from dpnb_columnar.rows import streaming
from dpnb_columnar.rows.parquet import open_parquet


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 40), max_size=30), max_size=8), st.integers(0, 60))
def test_both_counters_count(parts: list[list[int]], waiting: int) -> None:
    expected = sorted(Counter(place for part in parts for place in part).items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "MOST_WAITING", waiting)
        for counter in (DenseCounter(41), SparseCounter(41)):
            for part in parts:
                counter.add(np.array(part, dtype=np.int64))
            places, counts = counter.counted()
            assert sorted(zip(places.tolist(), counts.tolist(), strict=True)) == expected


def test_a_cell_of_many_rows_is_counted_in_a_wider_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts are kept in the narrowest type that holds them, which their sum may not fit into."""
    monkeypatch.setattr(local, "MOST_WAITING", 0)
    counter = SparseCounter(2**16)
    for rows in (200, 200, 2**16):
        counter.add(np.full(rows, 7))
    places, counts = counter.counted()
    assert (places.tolist(), counts.tolist()) == ([7], [400 + 2**16])


@pytest.mark.parametrize("most", [0, 150, 2**24])
def test_tables_without_a_counter_for_every_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """None of the tables, some, or all have one."""
    monkeypatch.setattr(local, "MOST_COUNTERS", most)
    check(tmp_path, people(500).to_arrow(), PEOPLE, group=100)


@pytest.mark.parametrize("cells", [2**15 - 1, 2**15, 2**31 - 1, 2**31, 2**32])
def test_grids_at_the_limits_of_a_places_type(tmp_path: Path, cells: int) -> None:
    values = pa.array([0.0, cells, cells - 1.0, 3.0, -5.0, 1e300, None, cells / 2])
    bounds = {"lower": 0, "upper": cells, "step": 1}
    check(tmp_path, labelled(x=values), {"label": LABEL, "attributes": {"x": bounds}})


@pytest.mark.parametrize("unit", [None, {"columns": ["u"], "rows": 1}])
@pytest.mark.parametrize("rows", [0, 6])
def test_large_tables_into_which_no_row_falls(tmp_path: Path, unit: dict[str, object] | None, rows: int) -> None:
    """Whether rows have a class, and a unit, is nobody's to see: they are counted, as zero, and not refused."""
    table = pa.table(
        {
            "x": pa.array([*range(rows)], pa.int64()),
            "y": pa.nulls(rows, pa.string()),
            "u": pa.array([*range(rows)], pa.int64()),
        }
    )
    bounds = {"lower": 0, "upper": 2**25, "step": 1}
    document = {"label": LABEL, "attributes": {"x": bounds}} | ({} if unit is None else {"unit": unit})
    domain = declared(document)
    pq.write_table(table, tmp_path / "x.parquet")
    found = by_polars(open_parquet([tmp_path / "x.parquet"], domain), domain)
    assert found.class_counts.tolist() == [0, 0]
    assert [column.size for column in found.columns["x"]] == [0, 0]


@pytest.mark.slow
def test_very_many_attributes(tmp_path: Path) -> None:
    names = [f"x{number}" for number in range(1000)]
    pq.write_table(labelled(**{name: pa.array([1] * 8, pa.int8()) for name in names}), tmp_path / "x.parquet")
    domain = declared({"label": LABEL, "attributes": {name: {"values": ["1"]} for name in names}})
    found = by_polars(open_parquet([tmp_path / "x.parquet"], domain), domain)
    assert all(np.array_equal(table[:, 0], found.class_counts) for table in found.tables.values())
    assert found.class_counts.sum() == 8


COLUMNS, ROWS = 70, 90
VALUES = ["a", "b", "c"]


def domain() -> Domain:
    label = {"column": "class", "classes": ["0", "1"]}
    attributes = {f"a{number}": {"values": VALUES} for number in range(COLUMNS)}
    return read_domain("wide", {"label": label, "attributes": attributes}, "test")


def rows() -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {
        f"a{number}": [[*VALUES, None, "d"][(row * (number + 1) + row // 7) % 5] for row in range(ROWS)]
        for number in range(COLUMNS)
    }
    return columns | {"class": [row % 2 for row in range(ROWS)]}


@pytest.mark.slow
def test_rows_that_are_read_some_at_a_time_are_each_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / f"{name}.parquet" for name in ("first", "second")]
    for file in files:
        pl.DataFrame(rows()).write_parquet(file, row_group_size=40)
    source = open_parquet(files, domain())
    expected = assemble(domain(), local.count_by_duckdb(source, domain(), domain().attributes))
    assert expected.class_counts.tolist() == [ROWS, ROWS]
    model = release(expected, plan(domain(), Budget(Fraction(1)), "histogram"), ExactSampler(SeededBits(1)))
    scores = margins_given(model)
    monkeypatch.setattr(streaming, "WIDE", COLUMNS + 1)
    at_once = local.answer(source, scores)
    monkeypatch.setattr(streaming, "WIDE", COLUMNS)
    for at_a_time in (30, 89, 90, 91):
        monkeypatch.setattr(streaming, "WIDE_VALUES", at_a_time * (COLUMNS + 1))
        assert local.answer(source, CellQuery(domain())) == expected
        assert (local.answer(source, scores).counts == at_once.counts).all()


def test_a_text_that_is_not_utf8_is_a_missing_value(tmp_path: Path) -> None:
    columns = rows()
    texts = [b"\xff" if row == 50 else str(text).encode() for row, text in enumerate(columns["a0"])]
    arrays = {**columns, "a0": pa.array(texts).view(pa.string())}
    pq.write_table(pa.table(arrays), tmp_path / "wide.parquet")
    counted = local.answer(open_parquet([tmp_path / "wide.parquet"], domain()), CellQuery(domain()))
    columns["a0"][50] = None
    pl.DataFrame(columns).write_parquet(tmp_path / "null.parquet")
    assert counted == local.answer(open_parquet([tmp_path / "null.parquet"], domain()), CellQuery(domain()))


def test_a_damaged_file_is_called_so(tmp_path: Path) -> None:
    file = tmp_path / "wide.parquet"
    pl.DataFrame(rows()).write_parquet(file)
    content = bytearray(file.read_bytes())
    content[4:2000] = bytes(1996)
    file.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read to the end"):
        local.answer(open_parquet([file], domain()), CellQuery(domain()))


def many_domain(values: int) -> Domain:
    label = {"column": "class", "classes": ["0", "1"]}
    return read_domain("many", {"label": label, "attributes": {"a": {"values": texts(values)}}}, "test")


def texts(values: int) -> list[str]:
    return [f"c{value}" for value in range(values)]


def write_many(file: Path, values: int) -> None:
    number = pl.int_range(3 * values, eager=True)
    columns = {"a": pl.Series(texts(values)).gather(number * 7 % values), "class": number * number % 2}
    pl.DataFrame(columns).write_parquet(file)


def test_duckdb_is_not_asked_for_very_many_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values, many = 40, many_domain(40)
    write_many(tmp_path / "rows.parquet", values)
    source = open_parquet([tmp_path / "rows.parquet"], many)
    expected = assemble(many, local.count_by_duckdb(source, many, many.attributes))
    monkeypatch.setattr(local, "SMALL", 0)
    assert local.answer(source, CellQuery(many)) == expected
    monkeypatch.setattr(local, "MOST_VALUES", values - 1)
    monkeypatch.delattr(local, "count_by_duckdb")
    assert local.answer(source, CellQuery(many)) == expected


PEAK_PROBE = """sys.path += sys.argv[2:]
from counting.test_large_tables import many_domain
from dpnb_columnar.counting import local
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.rows.parquet import open_parquet
local.SMALL = 0
local.answer(open_parquet([Path(sys.argv[1])], many_domain(2**16)), CellQuery(many_domain(2**16)))
"""


@pytest.mark.slow
def test_many_values_fit_in_memory(tmp_path: Path) -> None:
    """DuckDB takes 8 KiB for each value, half a gigabyte here."""
    file, folder = tmp_path / "rows.parquet", Path(__file__).parents[1]
    write_many(file, 2**16)
    assert peak(PEAK_PROBE, file, folder) < 350
