"""The unit of a domain, such as a household: declared, written, read again, and refused where it cannot be."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from support.domain_cases import CENSUS

import dpnb_columnar as dpnb
from dpnb_columnar.domain import Unit
from dpnb_columnar.domain.catalogue import entry_toml
from dpnb_columnar.domain.declaration import domain_from_metadata, domain_metadata, read_declaration, read_domain
from dpnb_columnar.domain.declaration_document import digest, document_of
from dpnb_columnar.domain.editing import labelled
from dpnb_columnar.domain.field_reader import parse_toml
from dpnb_columnar.domain.words import select_attributes
from dpnb_columnar.errors import DataError, DomainError

HOUSEHOLD: dict[str, Any] = {"column": "SERIAL", "rows": 1}
PEOPLE: dict[str, Any] = {
    "label": {"column": "SEX", "classes": ["1", "2"]},
    "attributes": {"AGE": {"lower": 0, "upper": 90, "step": 1}, "RACE": {"values": ["a", "b"]}},
}


def test_a_unit_is_read_from_one_column_or_from_several() -> None:
    assert read_domain("people", {**PEOPLE, "unit": HOUSEHOLD}, "x").unit == Unit(("SERIAL",), 1)
    several = {"columns": ["YEAR", "SERIAL"], "rows": 3}
    assert read_domain("people", {**PEOPLE, "unit": several}, "x").unit == Unit(("YEAR", "SERIAL"), 3)
    assert read_domain("people", PEOPLE, "x").unit is None


@pytest.mark.parametrize("unit", [HOUSEHOLD, {"columns": ["YEAR", "SERIAL"], "rows": 3}])
def test_toml_and_metadata_hold_the_unit(unit: dict[str, Any]) -> None:
    domain = read_domain("people", {**PEOPLE, "unit": unit, "available_unit": ["SAMPLE", "SERIAL"]}, "x")
    entry = parse_toml(entry_toml(domain))["people"]
    for again in (read_domain("people", entry, "x"), domain_from_metadata(domain_metadata(domain), "x")):
        assert again == domain
        assert again is not None
        assert again.available_unit == ("SAMPLE", "SERIAL")


def test_a_domain_without_a_unit_is_written_as_before() -> None:
    assert list(document_of(read_domain("census", CENSUS, "x"))) == ["label", "attributes"]


def test_another_unit_is_another_domain_and_one_that_is_merely_there_is_not() -> None:
    per_row, household = (read_domain("people", {**PEOPLE, **more}, "x") for more in ({}, {"unit": HOUSEHOLD}))
    pairs = read_domain("people", {**PEOPLE, "unit": {**HOUSEHOLD, "rows": 2}}, "x")
    assert len({digest(each) for each in (per_row, household, pairs)}) == 3
    there = read_domain("people", {**PEOPLE, "available_unit": ["SERIAL"]}, "x")
    assert there == per_row
    assert digest(there) == digest(per_row)


def test_choosing_a_label_and_leaving_attributes_out_keep_the_unit() -> None:
    tables = {**PEOPLE, "unit": HOUSEHOLD, "available_unit": ["SERIAL"]}
    domain = labelled(read_domain("people", tables, "x"), "AGE > 30")
    assert (domain.unit, domain.available_unit) == (Unit(("SERIAL",), 1), ("SERIAL",))
    assert select_attributes(domain, ["RACE"]).unit == domain.unit
    unlabelled = read_declaration("people", {key: tables[key] for key in ("unit", "attributes")}, "x")
    assert labelled(unlabelled, "RACE").unit == domain.unit


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ({"column": "AGE", "rows": 1}, "people.unit.column: the column 'AGE' is an attribute or the label"),
        ({"column": "SEX", "rows": 1}, "people.unit.column: the column 'SEX' is an attribute or the label"),
        ({"column": "SERIAL"}, "people.unit.rows: expected how many rows of one unit count at most"),
        ({"column": "SERIAL", "rows": 0}, "a whole number from 1 to 1000"),
        ({"column": "SERIAL", "rows": 1001}, "a whole number from 1 to 1000"),
        ({"column": "SERIAL", "rows": True}, "found True"),
        ({"column": "SERIAL", "rows": "1"}, "people.unit.rows"),
        ({"rows": 1}, "give either column"),
        ({"column": "SERIAL", "columns": ["SERIAL"], "rows": 1}, "give either column"),
        ({"columns": [], "rows": 1}, "names of 1 to 8 columns"),
        ({"columns": "SERIAL", "rows": 1}, "names of 1 to 8 columns"),
        ({"columns": ["A", "A"], "rows": 1}, "names the column 'A' twice"),
        ({"column": 5, "rows": 1}, "people.unit.column: expected names"),
        ({"column": "SERIAL", "rows": 1, "size": 3}, "people.unit.size: unknown key"),
        ("SERIAL", "people.unit: expected a table"),
    ],
)
def test_a_unit_that_cannot_be_is_refused_by_its_place(unit: object, words: str) -> None:
    with pytest.raises(DomainError) as error:
        read_domain("people", {**PEOPLE, "unit": unit}, "x")
    assert words in str(error.value)


def test_an_available_unit_is_checked_too() -> None:
    with pytest.raises(DomainError, match=r"people\.available_unit"):
        read_domain("people", {**PEOPLE, "available_unit": ["AGE"]}, "x")


def test_a_unit_column_that_is_missing_is_refused_before_a_row_is_read() -> None:
    frame = pl.LazyFrame({"SEX": ["1"], "AGE": [3], "RACE": ["a"], "SERIALNO": [7]})
    with pytest.raises(DataError, match=r"missing column 'SERIAL' \(is it 'SERIALNO'\?\)"):
        dpnb.aggregate(frame, domain={**PEOPLE, "unit": HOUSEHOLD})
