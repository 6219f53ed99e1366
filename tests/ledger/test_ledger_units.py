"""Accounts of units: an account has one relation and one unit, and guarantees of different units do not add up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from dpnb_columnar.core.budget import Neighbours
from support.ledger_cases import PURE_LIMIT, charge, new_ledger
from support.running import Run

from dpnb_columnar.errors import ConfigurationError
from dpnb_columnar.ledger import Charge, Ledger
from dpnb_columnar.ledger.records import Entry, relation_of, written_relation


def of_units(run: str, *columns: str) -> Charge:
    return replace(charge(run), unit=tuple(sorted(columns)))


@pytest.fixture
def households(tmp_path: Path) -> Path:
    path = tmp_path / "census.ledger"
    with Ledger.create(path) as ledger:
        ledger.open_account("census", PURE_LIMIT, Neighbours.ADD_REMOVE, unit=["YEAR", "SERIAL"])
    return path


def test_an_account_of_a_unit_takes_releases_of_this_unit_alone(households: Path) -> None:
    with Ledger(households) as ledger:
        ledger.spend(of_units("a", "SERIAL", "YEAR"))
        for other, words in ((charge("b"), "stated for one row"), (of_units("c", "SERIAL"), "one unit of SERIAL;")):
            with pytest.raises(ConfigurationError, match=f"kept for one unit of SERIAL, YEAR, .* {words}"):
                ledger.spend(other)
        assert ledger.account("census").unit == ("SERIAL", "YEAR")
        assert ledger.verify().entries == 2


def test_an_account_of_rows_refuses_a_release_of_a_unit(tmp_path: Path) -> None:
    with (
        Ledger(new_ledger(tmp_path / "census.ledger")) as ledger,
        pytest.raises(ConfigurationError, match="kept for one row, this release is stated for one unit of SERIAL"),
    ):
        ledger.refuse_if_unaffordable(of_units("a", "SERIAL"))


@pytest.mark.parametrize("unit", [(), ("SERIAL",), ("SERIAL", "YEAR"), ('a "b" of c',)])
def test_a_relation_is_read_as_it_was_written(unit: tuple[str, ...]) -> None:
    written = written_relation(Neighbours.REPLACE_ONE, unit)
    assert relation_of(Entry(1, "account", "", "", neighbours=written)) == (Neighbours.REPLACE_ONE, unit)


@pytest.mark.parametrize(
    "written", ["", "add-remove of ", "add-remove of []", 'add-remove of ["B","A"]', 'add-remove of ["A","A"]', "x"]
)
def test_a_relation_that_no_ledger_writes_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"relation is unknown|not JSON"):
        relation_of(Entry(1, "account", "", "", neighbours=written))


def test_the_verbs_show_the_unit_of_an_account(tmp_path: Path, run: Run) -> None:
    file = str(tmp_path / "census.ledger")
    opened = run("ledger", "init", file, "--dataset", "census", "--epsilon", "1", "--unit", "YEAR,SERIAL").out
    assert "(add-remove neighbours of units of SERIAL, YEAR)" in opened
    with Ledger(Path(file)) as ledger:
        ledger.spend(of_units("a", "SERIAL", "YEAR"))
    assert 'add-remove of ["SERIAL","YEAR"]' in run("ledger", "show", file).out
    shown = json.loads(run("ledger", "show", file, "--json").out)
    assert shown["accounts"][0]["unit"] == ["SERIAL", "YEAR"]
    assert shown["releases"][0]["neighbours"] == 'add-remove of ["SERIAL","YEAR"]'


@pytest.mark.parametrize("unit", ["", "SERIAL,", "A,A", ",".join("ABCDEFGHI")])
def test_a_unit_that_names_no_columns_is_refused(unit: str, tmp_path: Path, run: Run) -> None:
    file = str(tmp_path / "census.ledger")
    refused = run("ledger", "init", file, "--dataset", "census", "--epsilon", "1", "--unit", unit, expected=64)
    assert "name 1 to 8 columns, each once" in refused.err
