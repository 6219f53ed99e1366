"""Of each unit so many rows count, chosen by their codes alone: at the door, in further passes, and without bias."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from support.aggregation_cases import BOTH, LABEL, MIXED, by_polars, declared, labelled, written
from support.counted_queries import check
from support.engines import DuckDB, SQLite
from support.people import DECLARATION, PEOPLE, people, people_domain, write_people
from support.rows_in_python import Document, counts_of, expected_counts
from support.running import Run
from support.tables import into_duckdb, into_sqlite

from dpnb_columnar.core.queries.scores import GradientQuery, Margins, ScoreTable
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting import local
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain.attributes import MAXIMUM_CELLS
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.parquet import open_parquet
from dpnb_columnar.rows.row_rules import PRIME

DATABASES = ("rows.duckdb", "rows.sqlite")


def by_unit(document: Document, rows: int, *columns: str) -> Document:
    return {**document, "unit": {"columns": list(columns), "rows": rows}}


def test_the_order_does_not_prefer_a_class() -> None:
    """Two rows that differ by the same codes in every unit are chosen equally often, but for 6 deviations."""
    units = 20_000
    generator = np.random.default_rng(1)
    age = np.repeat(generator.integers(18, 80, units), 2)
    hours = np.repeat(generator.integers(0, 80, units), 2)
    frame = pl.DataFrame({"u": np.repeat(np.arange(units), 2), "age": age, "hours": hours}).with_columns(
        sex=pl.Series(["f", "m"] * units), income=pl.Series(["low", "high"] * units)
    )
    counted = local.answer(frame, CellQuery(people_domain(by_unit(PEOPLE, 1, "u"))))
    assert counted.class_counts.sum() == units
    assert abs(int(counted.class_counts[0]) - units / 2) < 6 * np.sqrt(units / 4)


def test_fifth_powers_are_a_permutation() -> None:
    """5 divides no order of the group, and so every residue is the fifth power of one."""
    assert (PRIME - 1) % 5 != 0
    assert all(PRIME % divisor for divisor in range(2, 46341))


TWO = MIXED.append_column("u", pa.array([1, 1, 2, None, 2, 3, 3])).append_column(
    "v", pa.array(["a", "a", "a", "a", None, "a", "ab"])
)


@pytest.mark.parametrize("columns", [["u"], ["v"], ["u", "v"]])
@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("part", [1, 2, 2**16])
def test_units_across_parts_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: list[str], rows: int, part: int
) -> None:
    """A unit that stands in two files, or comes again after others, has no more rows than another."""
    monkeypatch.setattr(local, "PART_ROWS", part)
    monkeypatch.setattr(local, "SHARE_ROWS", part)
    tables = [TWO, TWO.slice(2, 3), TWO.slice(0, 0), TWO]
    domain = declared(by_unit(BOTH, rows, *columns))
    counted = by_polars(open_parquet(written(tmp_path, tables), domain), domain)
    assert counts_of(counted) == expected_counts([row for table in tables for row in table.to_pylist()], domain)


def test_further_passes_over_units_out_of_order_count_no_row_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first parts have added up is forgotten when all rows come once more."""
    monkeypatch.setattr(local, "PART_ROWS", 8)
    domain = people_domain(by_unit(PEOPLE, 1, "u"))
    rows = people(90).with_columns(u=pl.int_range(pl.len()) // 3)
    table = ScoreTable("age", (0, 40), (-300, 200))
    scores, query = Margins(domain, ((table,),), (0, 0), 0, (0,)), GradientQuery(domain, (table,), (128,), 0, 200)
    disordered = pl.concat([rows[1:], rows[:1]])
    assert local.answer(disordered, scores) == local.answer(rows, scores)
    assert local.answer(rows, scores).counts.sum() == 30
    assert local.answer(disordered, query) == local.answer(rows, query)
    assert local.answer(rows, query).rows.sum() == 30


def test_rows_in_order_are_scanned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_InAnyOrder", None)
    domain = declared(by_unit(BOTH, 1, "u"))
    tables = [TWO.slice(0, 4), TWO.slice(4, 3)]
    counted = local.answer(open_parquet(written(tmp_path, tables), domain), CellQuery(domain))
    assert counts_of(counted) == expected_counts(TWO.to_pylist(), domain)


def test_ties_are_broken_by_the_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of one order, as none are by chance, are told apart by their codes wherever they stand."""
    monkeypatch.setattr("dpnb_columnar.rows.row_rules.multiplier", lambda place: PRIME)
    domain = declared(by_unit(BOTH, 1, "w"))
    table = TWO.append_column("w", pa.array([1] * 7))
    counted = [local.answer(table.take(order), CellQuery(domain)) for order in ([*range(7)], [*range(6, -1, -1)])]
    assert counted[0] == counted[1]
    assert counted[0].class_counts.tolist() == [1, 0]


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_codes_of_the_widest_grid(tmp_path: Path, dialect: str) -> None:
    """Products stay within 64 bits."""
    widest = {"lower": 0, "upper": MAXIMUM_CELLS, "step": 1}
    domain = declared(by_unit({"label": LABEL, "attributes": {"x": widest, "z": widest}}, 1, "u"))
    x = [MAXIMUM_CELLS - place for place in range(60)]
    table = labelled(x=pa.array(x), z=pa.array([*x[1:], None]), u=pa.array([place // 3 for place in range(60)]))
    engine = DuckDB(tmp_path) if dialect == "duckdb" else SQLite()
    check(engine, tmp_path, table, domain)


def test_floats_name_no_unit() -> None:
    frame = pl.DataFrame(TWO).with_columns(pl.col("u").cast(pl.Float64))
    with pytest.raises(DataError, match="'u' has type Float64, but names a unit: cast it"):
        FrameInput(frame).check(declared(by_unit(BOTH, 1, "u")))


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["none", "calibrated", "learned"])
def test_one_model_whatever_the_engine(run: Run, tmp_path: Path, weights: str) -> None:
    """From one file, from two that share units, from rows in another order, and from databases."""
    frame = people(600).with_columns(u=pl.Series(np.arange(600) // 4))
    document = by_unit(PEOPLE, 2, "u")
    whole = write_people(tmp_path / "whole.parquet", frame, document)
    shuffled = write_people(tmp_path / "shuffled.parquet", frame.sample(fraction=1, shuffle=True, seed=1), document)
    parts = [write_people(tmp_path / f"part{place}.parquet", frame[place::2], document) for place in range(2)]
    catalogue = tmp_path / "datasets.toml"
    catalogue.write_text(f'{DECLARATION}\n[people.unit]\ncolumn = "u"\nrows = 2\n')
    for load, name in zip((into_duckdb, into_sqlite), DATABASES, strict=True):
        load(tmp_path / name, frame, "people")
    declared_elsewhere = ["--table", "people", "--dataset", f"{catalogue}:people"]
    sources = [[whole], [shuffled], parts, *([tmp_path / name, *declared_elsewhere] for name in DATABASES)]
    models = set()
    for place, source in enumerate(sources):
        output = tmp_path / f"{place}.json"
        options = ["--mechanism", "histogram", "--attribute-weights", weights, "--seed", 1, "--output", output]
        run("train", *source, *options)
        models.add(output.read_bytes())
    assert len(models) == 1
