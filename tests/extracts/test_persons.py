"""The weight of a unit that ``ingest`` writes: how many of its rows the file holds, however the rows come."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpnb_columnar as dpnb
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.domain.declaration import UNIT_WEIGHT, read_domain
from dpnb_columnar.domain.declared_domain import Weight, document_of
from dpnb_columnar.errors import DataError, DomainError, UsageError
from dpnb_columnar.extracts import persons
from dpnb_columnar.extracts.persons import PersonCounts, Persons

CATALOGUE = """
[town]
label = { column = "MAR", classes = ["1", "2"] }
available_weight = { column = "PERWT", cap = 10 }
attributes.AGE = { lower = 0, upper = 100, step = 1 }
"""
ROWS = [("A", 1, 30, 2.4), ("A", 2, 41, None), ("A", 1, 5, 3), ("B", 1, 60, 7), ("C", 2, 20, 9), ("C", 2, 21, 1)]


def write(rows: list[tuple[object, ...]] = ROWS, file: str = "town.csv") -> None:
    pl.DataFrame(rows, ["SERIAL", "MAR", "AGE", "PERWT"], orient="row").write_csv(file)
    Path("datasets.toml").write_text(CATALOGUE)


def weights(**more: object) -> list[object]:
    dpnb.ingest("town.csv", "town.parquet", dataset="town", overwrite=True, **more)  # type: ignore[arg-type]
    return pl.read_parquet("town.parquet")[UNIT_WEIGHT].to_list()


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 4), st.integers(1, 7))
def test_units_that_stand_together_are_counted_wherever_batches_end(names: list[int], cap: int, size: int) -> None:
    """No more rows wait than the cap; units may come in any order, and rows without a unit between them."""
    together = [name for name in dict.fromkeys(names) for _ in range(names.count(name))]
    units: list[int | None] = [name if name < 9 else None for name in together]
    made = Persons(("u",), cap, None, Weight(UNIT_WEIGHT, Fraction(cap)))
    counts, found = PersonCounts(made, {"u": Kind.INTEGER}), []
    table = pa.table({"u": pa.array(units, pa.int64())})
    for batch in counts.counted(table.to_batches(max_chunksize=size)):
        found += batch[UNIT_WEIGHT].to_pylist()
        assert counts._waiting is None or len(counts._waiting) < cap
    sizes = Counter(units)
    assert found == [None if unit is None else min(sizes[unit], cap) for unit in units]


def test_the_file_declares_the_unit_and_its_weight(folder: Path) -> None:
    write()
    assert weights(unit="SERIAL", persons_cap=2) == [2, 2, 2, 1, 2, 2]
    model = dpnb.train("town.parquet", epsilon=1000, mechanism="histogram")
    assert (model.domain.unit.columns, model.domain.unit.rows) == (("SERIAL",), 1)
    assert model.domain.weight == Weight(UNIT_WEIGHT, Fraction(2), unit=("SERIAL",))
    assert sum(model.weighted_counts) == 5
    assert sum(model.class_counts) == 3


def test_the_own_weight_of_a_row_is_multiplied_up_to_the_cap_of_the_product(folder: Path) -> None:
    write()
    assert weights(unit="SERIAL", persons_cap=3, weight="PERWT") == [6, 0, 9, 7, 10, 2]
    assert weights(unit="SERIAL", persons_cap=2, weight="PERWT") == [4, 0, 6, 7, 10, 2]
    assert weights(unit="SERIAL", persons_cap=3, weight="PERWT", weight_cap=20) == [6, 0, 9, 7, 18, 2]
    domain = dpnb.train("town.parquet", epsilon=1, mechanism="histogram").domain
    assert domain.weight == Weight(UNIT_WEIGHT, Fraction(20), unit=("SERIAL",))


@pytest.mark.parametrize("typed", [{"unit": "PERWT"}, {"unit": "SERIAL,PERWT"}, {"unit_rows": 2}])
def test_the_weight_of_a_unit_is_refused_for_another_guarantee(folder: Path, typed: dict[str, object]) -> None:
    """One row more changes the weights of the others of its unit, so a guarantee for rows would not hold."""
    write()
    weights(unit="SERIAL", persons_cap=2)
    with pytest.raises(DomainError, match="counts the rows of one unit of 'SERIAL', so it is private for this unit"):
        dpnb.train("town.parquet", epsilon=1, **typed)  # type: ignore[arg-type]
    with pytest.raises(DomainError, match=r"weight\.unit: missing: unit_weight counts the rows of a unit"):
        dpnb.train("town.parquet", epsilon=1, dataset="town", weight=UNIT_WEIGHT, weight_cap=2)
    document = document_of(dpnb.read_domain("town.parquet"))
    assert read_domain("town", document, "here").weight is not None
    del document["unit"]
    with pytest.raises(DomainError, match="private for this unit alone"):
        read_domain("town", document, "here")


def test_rows_that_are_not_written_are_not_counted(folder: Path) -> None:
    write()
    assert weights(unit="SERIAL", persons_cap=8, where="AGE >= 16") == [2, 2, 1, 2, 2]


def test_a_unit_whose_rows_are_apart_is_refused_and_nothing_is_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few units are looked at together; and rows that are in no order of units, but together, are none."""
    write([ROWS[4], ROWS[5], ROWS[0], ROWS[1], ROWS[2], ROWS[3]])
    for share in (1, 2**21):
        monkeypatch.setattr(persons, "SHARE_UNITS", share)
        assert weights(unit="SERIAL", persons_cap=8) == [2, 2, 3, 3, 3, 1]
    Path("town.parquet").unlink()
    for apart in ([ROWS[0], ROWS[3], ROWS[1]], [ROWS[0], (None, 1, 9, 1), ROWS[1]]):
        write(apart)
        for share in (1, 2**21):
            monkeypatch.setattr(persons, "SHARE_UNITS", share)
            with pytest.raises(DataError, match="persons_cap: rows of one unit of SERIAL do not stand together"):
                weights(unit="SERIAL", persons_cap=8)
    assert not Path("town.parquet").exists()


@pytest.mark.parametrize(
    ("typed", "error", "words"),
    [
        ({"persons_cap": 8}, UsageError, "rows of which unit"),
        ({"unit": "SERIAL", "persons_cap": 0}, UsageError, "persons_cap=0: choose a whole number from 1 to 1048576"),
        ({"unit": "HOME", "persons_cap": 8}, UsageError, "persons_cap: the extract has no column 'HOME'"),
        ({"unit": "AGE", "persons_cap": 8}, DomainError, "the column 'AGE' is an attribute"),
        ({"unit": "SERIAL"}, UsageError, "are for the weight of units; add persons_cap=8 or leave them out"),
        ({"unit": "SERIAL", "persons_cap": 8, "weight": "W"}, UsageError, "how much may one row weigh at most"),
    ],
)
def test_a_weight_of_units_that_cannot_be_made_is_refused(
    folder: Path, typed: dict[str, object], error: type[Exception], words: str
) -> None:
    write()
    with pytest.raises(error, match=words):
        weights(**typed)
    assert not Path("town.parquet").exists()


def test_a_weight_that_holds_no_numbers_is_refused(folder: Path) -> None:
    write()
    dates = pl.read_csv("town.csv").with_columns(PERWT=pl.date(2018, 1, 1))
    dates.write_parquet("dates.parquet")
    with pytest.raises(DataError, match="weight: the column 'PERWT' holds no numbers"):
        dpnb.ingest("dates.parquet", "out.parquet", dataset="town", unit="SERIAL", persons_cap=2, weight="PERWT")
    assert not Path("out.parquet").exists()
