"""The unit of a domain and the weight of its rows: declared, written, read again, and refused where they cannot be."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from support.domain_cases import CENSUS
from support.people import PEOPLE, people, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.domain import Unit, Weight
from dpnb_columnar.domain.catalogue import entry_toml
from dpnb_columnar.domain.declaration import domain_from_metadata, domain_metadata, read_declaration, read_domain
from dpnb_columnar.domain.declared_domain import MOST_WEIGHT_STEPS, digest, document_of
from dpnb_columnar.domain.editing import labelled
from dpnb_columnar.domain.field_reader import parse_toml
from dpnb_columnar.domain.words import select_attributes
from dpnb_columnar.errors import DataError, DomainError

HOUSEHOLD: dict[str, Any] = {"column": "SERIAL", "rows": 1}
TOWN: dict[str, Any] = {
    "label": {"column": "SEX", "classes": ["1", "2"]},
    "attributes": {"AGE": {"lower": 0, "upper": 90, "step": 1}, "RACE": {"values": ["a", "b"]}},
}


def test_a_unit_is_read_from_one_column_or_from_several() -> None:
    assert read_domain("town", {**TOWN, "unit": HOUSEHOLD}, "x").unit == Unit(("SERIAL",), 1)
    several = {"columns": ["YEAR", "SERIAL"], "rows": 3}
    assert read_domain("town", {**TOWN, "unit": several}, "x").unit == Unit(("YEAR", "SERIAL"), 3)
    assert read_domain("town", TOWN, "x").unit is None


@pytest.mark.parametrize("unit", [HOUSEHOLD, {"columns": ["YEAR", "SERIAL"], "rows": 3}])
def test_toml_and_metadata_hold_the_unit(unit: dict[str, Any]) -> None:
    domain = read_domain("town", {**TOWN, "unit": unit, "available_unit": ["SAMPLE", "SERIAL"]}, "x")
    entry = parse_toml(entry_toml(domain))["town"]
    for again in (read_domain("town", entry, "x"), domain_from_metadata(domain_metadata(domain), "x")):
        assert again == domain
        assert again.available_unit == ("SAMPLE", "SERIAL")


def test_a_domain_without_a_unit_is_written_as_before() -> None:
    assert list(document_of(read_domain("census", CENSUS, "x"))) == ["label", "attributes"]


def test_another_unit_is_another_domain_and_one_that_is_merely_there_is_not() -> None:
    per_row, household = (read_domain("town", {**TOWN, **more}, "x") for more in ({}, {"unit": HOUSEHOLD}))
    pairs = read_domain("town", {**TOWN, "unit": {**HOUSEHOLD, "rows": 2}}, "x")
    assert len({digest(each) for each in (per_row, household, pairs)}) == 3
    there = read_domain("town", {**TOWN, "available_unit": ["SERIAL"]}, "x")
    assert there == per_row
    assert digest(there) == digest(per_row)


def test_choosing_a_label_and_leaving_attributes_out_keep_the_unit() -> None:
    tables = {**TOWN, "unit": HOUSEHOLD, "available_unit": ["SERIAL"]}
    domain = labelled(read_domain("town", tables, "x"), "AGE > 30")
    assert (domain.unit, domain.available_unit) == (Unit(("SERIAL",), 1), ("SERIAL",))
    assert select_attributes(domain, ["RACE"]).unit == domain.unit
    unlabelled = read_declaration("town", {key: tables[key] for key in ("unit", "attributes")}, "x")
    assert labelled(unlabelled, "RACE").unit == domain.unit


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ({"column": "AGE", "rows": 1}, "town.unit.column: the column 'AGE' is an attribute or the label"),
        ({"column": "SEX", "rows": 1}, "town.unit.column: the column 'SEX' is an attribute or the label"),
        ({"column": "SERIAL"}, "town.unit.rows: expected how many rows of one unit count at most"),
        ({"column": "SERIAL", "rows": 0}, "a whole number from 1 to 1000"),
        ({"column": "SERIAL", "rows": 1001}, "a whole number from 1 to 1000"),
        ({"column": "SERIAL", "rows": True}, "found True"),
        ({"column": "SERIAL", "rows": "1"}, "town.unit.rows"),
        ({"rows": 1}, "give either column"),
        ({"column": "SERIAL", "columns": ["SERIAL"], "rows": 1}, "give either column"),
        ({"columns": [], "rows": 1}, "names of 1 to 8 columns"),
        ({"columns": "SERIAL", "rows": 1}, "names of 1 to 8 columns"),
        ({"columns": ["A", "A"], "rows": 1}, "names the column 'A' twice"),
        ({"column": 5, "rows": 1}, "town.unit.column: expected names"),
        ({"column": "SERIAL", "rows": 1, "size": 3}, "town.unit.size: unknown key"),
        ("SERIAL", "town.unit: expected a table"),
    ],
)
def test_a_unit_that_cannot_be_is_refused_by_its_place(unit: object, words: str) -> None:
    with pytest.raises(DomainError) as error:
        read_domain("town", {**TOWN, "unit": unit}, "x")
    assert words in str(error.value)


def test_an_available_unit_is_checked_too() -> None:
    with pytest.raises(DomainError, match=r"town\.available_unit"):
        read_domain("town", {**TOWN, "available_unit": ["AGE"]}, "x")


PERSONS: dict[str, Any] = {"column": "PERWT", "cap": 400}
HUNDREDTHS: dict[str, Any] = {"column": "77", "cap": "19.5", "step": "0.25", "missing": "1.5"}


def weighted(weight: object = PERSONS, **more: Any) -> dict[str, Any]:
    return {**PEOPLE, "weight": weight, **more}


def test_a_weight_has_whole_steps() -> None:
    persons, part = (read_domain("people", weighted(each), "x").weight for each in (PERSONS, HUNDREDTHS))
    assert persons == Weight("PERWT", Fraction(400))
    assert (persons.steps, persons.missing_steps) == (400, 0)
    assert (part.steps, part.missing_steps) == (78, 6)
    assert people_domain().weight is None


def test_another_weight_is_another_domain() -> None:
    weights = [None, PERSONS, {**PERSONS, "cap": 401}, {**PERSONS, "step": 2}, {**PERSONS, "missing": 1}]
    domains = [read_domain("people", weighted(each) if each else PEOPLE, "x") for each in weights]
    assert len({digest(each) for each in domains}) == len(weights)
    assert "weight" not in document_of(domains[0])
    assert domains[1].per_row == domains[0]


def test_choosing_a_label_and_leaving_attributes_out_keep_the_weight() -> None:
    domain = read_domain("people", weighted(), "x")
    chosen = labelled(domain, "age > 30")
    assert chosen.weight == select_attributes(chosen, ["sex"]).weight == domain.weight
    unlabelled = read_declaration("people", {key: weighted()[key] for key in ("weight", "attributes")}, "x")
    assert unlabelled.counted_columns[-1] == "PERWT"
    assert labelled(unlabelled, "sex").weight == domain.weight


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ({**PERSONS, "column": "age"}, "people.weight.column: the column 'age' is an attribute or the label's"),
        ({**PERSONS, "column": "income"}, "people.weight.column: the column 'income' is an attribute or the label's"),
        ({**PERSONS, "column": "SERIAL"}, "people.weight.column: the column 'SERIAL' is the unit's"),
        ({**PERSONS, "column": 5}, "people.weight.column: expected the column of the weight, such as PERWT, found 5"),
        ({"cap": 400}, "people.weight.column: expected the column of the weight"),
        ({"column": "PERWT"}, "people.weight.cap: missing: the most that one row weighs, declared and not taken from"),
        ({**PERSONS, "cap": 0}, "people.weight.cap: must be a multiple of the step (1), and no less, found 0"),
        ({**PERSONS, "cap": -4}, "people.weight.cap: must be a multiple of the step (1), and no less, found -4"),
        ({**PERSONS, "cap": 4, "step": 5}, "must be a multiple of the step (5), and no less, found 4; choose another"),
        ({**PERSONS, "step": 3}, "must be a multiple of the step (3), and no less, found 400"),
        ({**PERSONS, "step": 0}, "people.weight.step: must be above 0, found 0; leave it out for 1"),
        ({**PERSONS, "step": "-1"}, "people.weight.step: must be above 0, found -1"),
        ({**PERSONS, "cap": "inf"}, "people.weight.cap"),
        ({**PERSONS, "cap": True}, "people.weight.cap: expected a number, found True"),
        ({**PERSONS, "step": "0.0001"}, f"people.weight.cap: 400 has more than {MOST_WEIGHT_STEPS} steps of 0.0001;"),
        ({**PERSONS, "missing": "0.5"}, "people.weight.missing: must be a multiple of the step from 0 to the cap"),
        ({**PERSONS, "missing": 401}, "people.weight.missing: must be a multiple of the step from 0 to the cap"),
        ({**PERSONS, "missing": -1}, "people.weight.missing: must be a multiple of the step from 0 to the cap"),
        ({**PERSONS, "cap": 10**200, "step": 10**198}, "people.weight.upper: bounds beyond 1e100"),
        ({**PERSONS, "rows": 1}, "people.weight.rows: unknown key"),
        ("PERWT", "people.weight: expected a table"),
    ],
)
def test_a_weight_that_cannot_be_is_refused_by_its_place(weight: object, words: str) -> None:
    with pytest.raises(DomainError) as error:
        read_domain("people", weighted(weight, unit={"column": "SERIAL", "rows": 1}), "x")
    assert words in str(error.value)


def test_a_condition_of_the_label_cannot_name_the_weight() -> None:
    label = {"condition": "PERWT > 3", "classes": ["few", "many"]}
    with pytest.raises(DomainError, match="the column 'PERWT' is an attribute or the label's"):
        read_domain("people", weighted(label=label), "x")


def test_columns_of_other_types_are_refused_before_a_row_is_read() -> None:
    frame = people(3).lazy()
    with pytest.raises(DataError, match=r"missing column 'PERWT' \(is it 'PERWTS'\?\)"):
        dpnb.aggregate(frame.with_columns(PERWTS=1), domain=weighted())
    with pytest.raises(DataError, match="'PERWT' has type Date, but is the weight of rows: cast it to a number"):
        dpnb.aggregate(frame.with_columns(PERWT=pl.lit("2020-01-01").str.to_date()), domain=weighted())


def test_a_domain_shows_its_weight() -> None:
    domain = read_domain("people", weighted(HUNDREDTHS), "x")
    assert "class counts are weighted: 77 in steps of 0.25, at most 19.5 each, 1.5 for a row without one" in str(domain)
    assert "weighted" not in str(replace(domain, weight=None))
