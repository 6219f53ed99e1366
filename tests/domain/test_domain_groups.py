"""Groups of categories: what is declared, what is refused, and that every side maps alike."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.domain_cases import HUGE
from support.domain_strategies import declarations
from support.people import people, people_domain, write_people
from support.running import Run

from dpnb_columnar.domain import Categorical, Declaration, Group, declaration
from dpnb_columnar.domain.attributes import compress_members, expand_member, in_order
from dpnb_columnar.domain.catalogue import entry_toml
from dpnb_columnar.domain.declaration import read_declaration, read_domain
from dpnb_columnar.domain.declared_domain import digest, document_of
from dpnb_columnar.domain.groupings import divisions_of
from dpnb_columnar.errors import DomainError, UsageError

OCC = {"values": ["Managers", "Clerks", 77], "groups": {"Managers": ["10-12", 20], "Clerks": [30, "031"]}}


def categorical(body: Mapping[str, Any]) -> Categorical:
    (attribute,) = read_declaration("x", {"attributes": {"OCC": body}}, "x").attributes
    assert isinstance(attribute, Categorical)
    return attribute


def faults(**changes: Any) -> dict[str, str]:
    with pytest.raises(DomainError) as caught:
        categorical({**OCC, **changes})
    return {fault.place.removeprefix("x.attributes.OCC."): fault.problem for fault in caught.value.faults}


def test_members_lead_to_the_codes_of_their_categories() -> None:
    attribute = categorical(OCC)
    assert attribute.values == ("Managers", "Clerks", "77")
    assert attribute.size == 3
    managers = {"10": 0, "11": 0, "12": 0, "10-12": 0, "20": 0}
    assert attribute.members == managers | {"30": 1, "031": 1, "77": 2}
    assert categorical({**OCC, "missing": "category"}).size == 4


def test_without_groups_each_value_is_its_own_member() -> None:
    assert categorical({"values": ["a", 2]}).members == {"a": 0, "2": 1}


def test_a_group_may_hold_a_value_of_its_own_name() -> None:
    attribute = categorical({"values": ["Gov", "Private"], "groups": {"Gov": ["State", "Gov"]}})
    assert attribute.members == {"Gov": 0, "State": 0, "Private": 1}


@pytest.mark.parametrize(
    ("groups", "place", "problem"),
    [
        ({"Managers": [1, 2], "Clerks": [2]}, "groups.Clerks", "'2' stands in group 'Managers' as well"),
        ({"Managers": ["1-5"], "Clerks": ["5-6"]}, "groups.Clerks", "'5' stands in group 'Managers' as well"),
        ({"Managers": [77]}, "groups.Managers", "'77' stands in values as well"),
        ({"Managers": ["Clerks"]}, "groups.Managers", "'Clerks' stands in values as well"),
        ({"Managers": ["90-99"]}, "groups.Managers", "'99' stands in missing_values as well"),
        ({"Manager": [1]}, "groups.Manager", "not in values; did you mean Managers?"),
        ({"Others": [1]}, "groups.Others", "not in values"),
        ({"Managers": []}, "groups.Managers", "expected a list of values and ranges"),
        ({"Managers": "10-12"}, "groups.Managers", "expected a list of values and ranges"),
        ({"Managers": [1, 1]}, "groups.Managers", "'1' appear more than once"),
        ({"Managers": [1.5]}, "groups.Managers", "expected text or a whole number"),
        ({"Managers": [HUGE]}, "groups.Managers", "expected text or a whole number"),
        ({"Managers": ["12-10"]}, "groups.Managers", "runs downwards"),
        ({"Managers": ["001-99"]}, "groups.Managers", "the same number of digits"),
        ({"Managers": ["0-999999999999999"]}, "groups.Managers", "more than 1048576 values"),
        pytest.param(
            {"Managers": ["1-600000"], "Clerks": ["700001-1200000"]},
            "groups",
            "more than 1048576 values, ranges",
            marks=pytest.mark.slow,
        ),
        ({"Managers": ["a\nb"]}, "groups.Managers", "control character"),
        ([["Managers", 1]], "groups", "expected a table"),
    ],
)
def test_faults_have_their_place(groups: object, place: str, problem: str) -> None:
    assert problem in faults(groups=groups, missing_values=[99])[place]


def test_thousands_of_unknown_groups_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search for the closest category takes a tenth of a second among thousands: only reported faults get one."""
    values, groups = [f"v{i}" for i in range(10_000)], {f"w{i}": [f"x{i}"] for i in range(3000)}
    searches: list[str] = []
    search = difflib.get_close_matches
    monkeypatch.setattr(
        difflib, "get_close_matches", lambda name, *given, **more: searches.append(name) or search(name, *given, **more)
    )
    with pytest.raises(DomainError, match=r"did you mean v\d+\?(?s:.*)and 2980 more"):
        read_declaration("t", {"attributes": {"OCC": {"values": values, "groups": groups}}}, "t")
    assert 0 < len(searches) <= 40


@pytest.mark.parametrize("names", [1, 50])
def test_ranges_are_not_written_out_for_nothing(names: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ranges there are, in one group or in many: four times as many values as may be, here few."""
    made: list[str] = []

    def noted(member: str, most: int) -> list[str]:
        values = expand_member(member, most)
        made.extend(values)
        return values

    monkeypatch.setattr(declaration, "expand_member", noted)
    monkeypatch.setattr(declaration, "LARGEST_TABLE", 2**14)
    ranges = [f"{first}-{first + 63}" for first in range(0, 2**16, 64)]
    groups = {f"group {place}": ranges[place::names] for place in range(names)}
    assert faults(values=[*groups], groups=groups) == {
        "groups": "more than 16384 values, ranges written out; merge fewer"
    }
    assert len(made) < 2**14 + 800


def test_all_faults_of_groups_are_told_together() -> None:
    assert len(faults(groups={"Managers": ["9-1"], "Clerk": [1], "Clerks": [77]})) == 3


@pytest.mark.parametrize(
    ("member", "values"),
    [
        ("8-11", ["8", "9", "10", "11", "8-11"]),
        ("08-11", ["08", "09", "10", "11", "08-11"]),
        ("0-2", ["0", "1", "2", "0-2"]),
        ("7-7", ["7", "7-7"]),
        ("2018-12-31", ["2018-12-31"]),
        ("-5", ["-5"]),
        ("a-b", ["a-b"]),
        ("1" * 16 + "-2", ["1" * 16 + "-2"]),
    ],
)
def test_ranges_are_written_out(member: str, values: list[str]) -> None:
    assert expand_member(member, 100) == values


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 30)), min_size=1, max_size=5), st.lists(st.text()))
def test_compressed_members_stand_for_the_same(ranges: list[tuple[int, int]], texts: list[str]) -> None:
    written = [f"{low}-{low + size}" for low, size in ranges]
    members = in_order([value for member in [*written, "a", "17"] for value in expand_member(member, 100)])
    short = compress_members(members)
    assert in_order([value for member in short for value in expand_member(member, 100)]) == members
    assert len(short) <= len(written) + 2


def test_how_members_are_written_does_not_matter() -> None:
    one = categorical({**OCC, "groups": {"Clerks": ["031", 30], "Managers": [20, 11, "10-12"]}})
    assert one == categorical(OCC)
    (group, _) = document_of(read_declaration("x", {"attributes": {"OCC": OCC}}, "x"))["attributes"]["OCC"]["groups"]
    assert group == "Managers"


def test_groups_of_a_label() -> None:
    attributes = {"x": {"lower": 0, "upper": 1}}
    label = {"column": "y", "classes": ["low", "high"], "groups": {"high": ["3-5"], "low": [1, 2]}}
    domain = read_domain("x", {"label": label, "attributes": attributes}, "x")
    assert domain.label.groups == (Group("low", ("1", "2")), Group("high", ("3", "4", "5", "3-5")))
    assert document_of(domain)["label"]["groups"] == {"low": ["1", "2"], "high": ["3-5"]}
    condition = {"condition": "z > 1", "classes": ["low", "high"], "groups": {"high": [3]}}
    with pytest.raises(DomainError, match=r"x\.label\.groups: groups are for a label that is a column"):
        read_domain("x", {"label": condition, "attributes": attributes}, "x")


@pytest.mark.slow
@settings(deadline=None)
@given(declarations())
def test_toml_is_read_back_as_the_same_domain(domain: Declaration) -> None:
    toml = entry_toml(domain, {"files": ["a*.parquet"], "raw": {"a b": "0"}}, {domain.attributes[0].name: ["a\nb"]})
    ((name, table),) = tomllib.loads(toml, parse_float=Decimal).items()
    found = read_declaration(name, table, "x", other_keys=["files", "raw"])
    assert found == domain
    assert digest(found) == digest(domain)


def test_a_model_of_groups_predicts_what_one_of_the_groups_names_would(folder: Path, run: Run) -> None:
    """Codes merged by the domain, and codes merged in the file beforehand: the same model, the same scores."""
    groups = {"young": ["15-39"], "old": ["40-90"]}
    base = {"label": {"column": "income", "classes": ["low", "high"]}}
    sex = {"values": ["f", "m"]}
    codes = {**base, "attributes": {"age": {"values": ["young", "old"], "groups": groups}, "sex": sex}}
    names = {**base, "attributes": {"age": {"values": ["young", "old"]}, "sex": sex}}
    frame = people(500)
    write_people(folder / "codes.parquet", frame, codes)
    named = pl.when(pl.col("age") < 40).then(pl.lit("young")).otherwise(pl.lit("old"))
    write_people(folder / "names.parquet", frame.with_columns(age=named), names)
    scores = []
    for file in ("codes", "names"):
        run("train", f"{file}.parquet", "--seed", 3)
        run("predict", f"{file}.model.json", f"{file}.parquet", "--output", f"{file}.scored.parquet")
        scores.append(pl.read_parquet(f"{file}.scored.parquet"))
        assert "young" in run("show", f"{file}.model.json", "--all").out
    assert scores[0].equals(scores[1])
    assert scores[0]["skipped"].max() == 0


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"values": ["1", "01"]}, "'1' and '01' are one number"),
        ({"values": ["0.5", ".50"]}, "'0.5' and '.50' are one number"),
        ({"values": [9], "missing_values": ["09"]}, "'09' and '9' are one number"),
        ({"values": ["a", "7"], "groups": {"a": ["007"]}}, "'007' and '7' are one number"),
    ],
)
def test_one_number_is_in_one_category(body: Any, problem: str) -> None:
    with pytest.raises(DomainError, match=f"{problem}, and numbers match by value; keep one"):
        categorical(body)


def test_texts_of_one_number_may_stand_in_one_group() -> None:
    found = categorical(
        {"values": ["a", "1E2", "100"], "groups": {"a": ["7", "007", "7.0"]}, "missing_values": ["9", "09"]}
    )
    assert found.members == {"007": 0, "7": 0, "7.0": 0, "1E2": 1, "100": 2}


@pytest.mark.parametrize("values", ["1,01", "true,True", "1,1.0,2"])
def test_one_number_or_truth_value_is_one_group(values: str) -> None:
    with pytest.raises(UsageError, match="name each of its values once"):
        divisions_of(f"region={values}", people_domain())


def test_one_truth_value_is_one_category() -> None:
    problem = "'true' and 'True' are one truth value, and truth values match by value; keep one"
    assert problem in next(iter(faults(values=["true", "True"], groups={}).values()))
