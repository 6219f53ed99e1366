"""Choosing a label for a domain: its classes, which cannot be empty, and attributes that tell how it is made up."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.domain_strategies import declarations
from support.running import Run

from dpnb_columnar.domain import Categorical, Declaration, Domain, Numeric
from dpnb_columnar.domain.condition import only_outcome, possible_values
from dpnb_columnar.domain.declaration import read_declaration, read_domain
from dpnb_columnar.domain.declared_domain import digest, document_of
from dpnb_columnar.domain.domain_text import FACTS, LabelRelatives, label_relatives
from dpnb_columnar.domain.editing import labelled
from dpnb_columnar.domain.field_reader import parse_condition
from dpnb_columnar.domain.names import number_text
from dpnb_columnar.errors import ConfigurationError, DomainError, UsageError

ATTRIBUTES: dict[str, Any] = {
    "INCWAGE": {"lower": 0, "upper": 5001, "step": 1, "missing_values": [999998, 999999]},
    "AGE": {"lower": 0, "upper": 120, "step": 1, "missing_values": [999]},
    "WEEKS": {"lower": 0, "upper": 52, "step": 1},
    "SEX": {"values": [1, 2], "missing_values": [9]},
    "OCC": {"values": ["Managers", 30], "groups": {"Managers": ["10-12"]}},
    "place of birth": {"values": ["Ohio", "it's"], "missing": "category", "missing_values": ["?"]},
}
EXTRACT = read_declaration("extract", {"attributes": ATTRIBUTES}, "x")


def names(domain: Domain) -> list[str]:
    return [attribute.name for attribute in domain]


@pytest.mark.parametrize(
    ("condition", "classes"),
    [
        ("INCWAGE > 1500", ("<=1500", ">1500")),
        ("INCWAGE >= 1500", ("<1500", ">=1500")),
        ("INCWAGE < 1.50e3", (">=1500", "<1500")),
        ("INCWAGE <= 0.5", (">0.5", "<=0.5")),
        ("SEX = 1", ("not (SEX = 1)", "SEX = 1")),
        ("\"place of birth\" <> 'it''s'", None),
        ("WEEKS > 15 AND NOT AGE < 20", None),
        ("INCWAGE BETWEEN 1 AND 2", None),
    ],
)
def test_classes_of_a_condition(condition: str, classes: tuple[str, str] | None) -> None:
    domain = labelled(EXTRACT, condition)
    assert domain.classes == (classes or (f"not ({condition})", condition))
    assert domain.label.condition.text == condition
    assert set(names(domain)) == set(ATTRIBUTES) - set(domain.label.columns)


def test_missing_values_follow_their_column() -> None:
    assert labelled(EXTRACT, "INCWAGE > 1500").label.missing_values == ("999998", "999999")
    assert labelled(EXTRACT, "SEX").label.missing_values == ("9",)
    assert labelled(EXTRACT, "AGE > 15 OR WEEKS > 9").label.missing_values == ("999",)


def test_a_column_gives_its_values_and_groups() -> None:
    domain = labelled(EXTRACT, "OCC")
    assert domain.label.column == "OCC"
    assert domain.classes == ("Managers", "30")
    assert domain.label.groups == EXTRACT.attributes[4].groups  # type: ignore[union-attr]
    assert names(domain) == ["INCWAGE", "AGE", "WEEKS", "SEX", "place of birth"]


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ("INCWGE > 1", "declares no column 'INCWGE'; did you mean INCWAGE?"),
        ("incwage > 1", "did you mean INCWAGE"),
        ("INCWAGE > 1 AND zzz = 2", "no column 'zzz'; its columns are INCWAGE, AGE"),
        ("SEXX", "no column 'SEXX'; did you mean SEX?"),
        ("AGE", 'no declared values to be classes; give a condition, such as "AGE > 1000"'),
        ("AGE >", "expected a number"),
        ("", "expected a column name"),
        ("AGE > 1; drop table", "unexpected"),
        ("SEX = 3", "'3' is no declared value of SEX; declared are 1, 2"),
        ("\"place of birth\" = 'Ohoi'", "no declared value of place of birth; declared are Ohio"),
        ("OCC = 'Managers'", "it names a group; compare with its members, such as '10'"),
    ],
)
def test_a_label_that_does_not_go_with_the_columns_is_a_usage_error(label: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        labelled(EXTRACT, label)
    assert told in str(caught.value)
    assert str(caught.value).startswith("label ")


def test_columns_that_disagree_on_missing_are_refused() -> None:
    attributes = {**ATTRIBUTES, "CODE": {"values": [1, 9, 999]}}
    domain = read_declaration("x", {"attributes": attributes}, "x")
    clashing = ("SEX = 1 AND CODE = 1", "AGE > 5 AND CODE = 1", "WEEKS > 5 AND SEX = 1", "INCWAGE > 1500 OR AGE > 9")
    for label in clashing:
        with pytest.raises(ConfigurationError, match=r"means missing in one of its columns .* in datasets\.toml"):
            labelled(domain, label)
    assert labelled(domain, "WEEKS > 5 AND AGE > 5").label.missing_values == ("999",)


def test_faults_of_the_outcome_are_faults_of_a_declaration() -> None:
    few = read_declaration("x", {"attributes": {"A": {"values": [1, 2]}, "B": {"values": ["only"]}}}, "x")
    with pytest.raises(DomainError, match="declare at least one attribute"):
        labelled(few, "A = 1 AND B = 'only'")
    with pytest.raises(DomainError, match="at least two class names"):
        labelled(few, "B")


def test_another_label_gives_the_first_one_back() -> None:
    first = labelled(EXTRACT, "SEX")
    second = labelled(first, "INCWAGE > 10")
    assert names(second) == ["AGE", "WEEKS", "OCC", "place of birth", "SEX"]
    assert labelled(second, "SEX").label == first.label


def test_columns_of_a_condition_may_be_read_by_another() -> None:
    first = labelled(EXTRACT, "INCWAGE > 1500")
    second = labelled(first, "INCWAGE > 3000")
    assert second.classes == ("<=3000", ">3000")
    assert second.label.missing_values == ("999998", "999999")
    assert second.attributes == first.attributes
    assert "INCWAGE" not in names(labelled(first, "SEX"))
    # Its bounds are not known any more: 999 may be a wage.
    with pytest.raises(ConfigurationError, match="means missing in one of its columns but may be a value of INCWAGE"):
        labelled(first, "INCWAGE > 3000 AND AGE > 5")


@pytest.mark.slow
@settings(deadline=None)
@given(declarations(), st.data())
def test_labelled_domains_are_declarations_without_fault(domain: Declaration, data: st.DataObject) -> None:
    attribute = data.draw(st.sampled_from(domain.attributes))
    quoted = '"' + attribute.name.replace('"', '""') + '"'
    if isinstance(attribute, Numeric):
        label = f"{quoted} {data.draw(st.sampled_from(['<', '<=', '>', '>=', '=']))} 17.50"
    else:
        constant = data.draw(st.sampled_from(sorted(attribute.members))).replace("'", "''")
        label = data.draw(st.sampled_from([attribute.name, f"{quoted} <> '{constant}'"]))
    try:
        found = labelled(domain, label)
    except DomainError as error:
        assert len(domain.attributes) == 1 or "two class names" in str(error)  # noqa: PT017
        return
    except UsageError as error:
        assert "so one class would be empty" in str(error)  # noqa: PT017
        return
    assert read_domain(found.name, document_of(found), "x") == found
    assert digest(read_domain("other", document_of(found), "x")) == digest(found)
    assert attribute.name in found.label.columns
    assert attribute.name not in names(found)
    missing = (
        [number_text(value) for value in attribute.missing_values]
        if isinstance(attribute, Numeric)
        else (attribute.missing_values)
    )
    assert set(missing) <= set(found.label.missing_values)
    if isinstance(attribute, Categorical) and label == attribute.name:
        assert found.label.categories.members == attribute.members


DECLARED = read_declaration(
    "town",
    {
        "attributes": {
            "age": {"lower": 0, "upper": 99, "missing_values": [99]},
            "sex": {"values": ["f", "m"]},
            "educ": {"values": ["1", "2", "3"], "missing_values": ["9"]},
            "hours": {"lower": 0, "upper": 80},
        }
    },
    "test",
)


@pytest.mark.parametrize(
    "condition",
    [
        *("age > 200", "age < 0", "age = 99", "age > 98 AND age < 20", "educ > 3", "educ = 1 AND educ = 2"),
        *("age > 10 AND hours > 80", "sex = 'f' AND sex = 'm'"),
    ],
)
def test_no_declared_value_meets_it(condition: str) -> None:
    with pytest.raises(UsageError, match=r"no declared value meets it.*so one class would be empty"):
        labelled(DECLARED, condition)


@pytest.mark.parametrize(
    "condition", ["age >= 0", "age <> 200", "educ < 4", "sex IN ('f', 'm')", "age < 50 OR age >= 50", "NOT age > 99"]
)
def test_every_declared_value_meets_it(condition: str) -> None:
    with pytest.raises(UsageError, match="every declared value meets it"):
        labelled(DECLARED, condition)


@pytest.mark.parametrize(
    "condition",
    [
        *("age > 98", "age = 0", "age >= 98.5", "educ >= 3", "sex = 'f'", "age > 200 OR hours = 80"),
        *("age BETWEEN 98 AND 300", "educ = '01'"),
    ],
)
def test_others_are_taken(condition: str) -> None:
    assert labelled(DECLARED, condition).label.condition is not None


def test_the_message_names_bounds_and_remedy(folder: Path, run: Run) -> None:
    pl.DataFrame({"age": [1, 2], "sex": ["f", "m"]}).write_parquet("town.parquet")
    entry = "[town.attributes]\nage = { lower = 0, upper = 99, step = 1 }\nsex = { values = ['f', 'm'] }\n"
    Path("datasets.toml").write_text(entry, encoding="utf-8")
    for verb in (("plan", "town.parquet"), ("domain", "edit", "town.parquet")):
        told = run(*verb, "--label", "age > 200", expected=64).err
        assert "no declared value meets it (declared: age 0 to 99)" in told
        assert "declare them first (lower and upper of a number)" in told


@pytest.mark.parametrize(("text", "outcome"), [("age > 5 AND age < 3", False), ("age > 3 OR age < 5", True)])
def test_a_condition_that_contradicts_itself_has_one_outcome(text: str, outcome: bool) -> None:
    condition = parse_condition(text)
    assert only_outcome(condition, {"age": possible_values(condition, "age")}) is outcome


def test_a_declared_one_is_read_as_ever() -> None:
    """Bounds of the label's columns are not declared."""
    label = {"condition": "age > 5 AND age < 3", "classes": ["no", "yes"]}
    assert read_domain("town", {"label": label, "attributes": {"sex": {"values": ["f", "m"]}}}, "test").classes


COMPARISONS = st.tuples(st.sampled_from("xy"), st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.integers(-1, 4))
CONDITIONS = st.recursive(
    COMPARISONS.map(lambda parts: " ".join(map(str, parts))),
    lambda parts: st.tuples(parts, st.sampled_from(["AND", "OR"]), parts, st.sampled_from(["", "NOT "])).map(
        lambda node: f"{node[3]}({node[0]} {node[1]} {node[2]})"
    ),
    max_leaves=5,
)


@given(CONDITIONS)
def test_the_outcomes_are_those_of_all_values(text: str) -> None:
    """Against every half number within the bounds, by Python's own rules."""
    condition = parse_condition(text)
    values = {name: possible_values(condition, name, Fraction(0), Fraction(3)) for name in condition.columns}
    program = (
        text.replace("<>", "!=").replace(" = ", " == ").replace("AND", "and").replace("OR", "or").replace("NOT", "not")
    )
    halves = [place / 2 for place in range(7)]
    outcomes = {bool(eval(program, {"x": x, "y": y})) for x in halves for y in halves}
    assert only_outcome(condition, values) == (outcomes.pop() if len(outcomes) == 1 else None)


def relatives(label: str, *names: str) -> LabelRelatives | None:
    """Those of a label that is a condition over a column."""
    attributes = {name: {"lower": 0, "upper": 9} for name in names}
    declared = {"label": {"condition": f"{label} > 1", "classes": ["no", "yes"]}, "attributes": attributes}
    return label_relatives(read_domain("test", declared, "test"))


@pytest.mark.parametrize(
    ("label", "parts", "wholes", "same"),
    [
        ("PINCP", ("WAGP", "SEMP", "PERNP"), ("POVPIP",), ()),
        ("pincp", ("wagp",), (), ()),
        ("WAGP", (), ("PINCP", "PERNP"), ()),
        ("INCTOT", ("INCWAGE", "INCSS", "OINCWAGE"), ("HHINCOME", "POVERTY"), ()),
        ("INCWAGE", (), ("INCTOT",), ()),
        ("EDUC", (), (), ("EDUCD",)),
    ],
)
def test_parts_wholes_and_other_records(
    label: str, parts: tuple[str, ...], wholes: tuple[str, ...], same: tuple[str, ...]
) -> None:
    assert relatives(label, "AGEP", *parts, *wholes, *same, "SCHL") == LabelRelatives((label,), parts, wholes, same)


@pytest.mark.parametrize("label", ["AGEP", "INCWAGE", "works"])
def test_most_labels_have_none(label: str) -> None:
    assert relatives(label, "SEX", "RACE", "INCSS", "WAGP") is None


def test_every_fact_is_of_columns_and_none_is_computed_from_itself() -> None:
    facts = tomllib.loads(FACTS.read_text(encoding="utf-8"))
    names = [fact["name"] for fact in facts["computed"]]
    assert len(set(names)) == len(names)
    every = {part for fact in facts["computed"] for part in [fact["name"], *fact["of"]]}
    for name in names:
        found = relatives(name, *(every - {name}))
        assert not set(found.parts) & set(found.wholes)
    for groups in facts["same"]:
        assert all(len(group) > 1 for group in groups["names"])


def test_plan_check_and_the_sheet_name_them(folder: Path, run: Run) -> None:
    rows = pl.DataFrame({"WAGP": range(1000), "AGEP": [n % 90 for n in range(1000)]}).with_columns(PINCP=pl.col("WAGP"))
    rows.write_parquet("town.parquet")
    entry = "[town]\nlabel = { condition = 'PINCP > 400', classes = ['low', 'high'] }\n[town.attributes]\n"
    entry += "WAGP = { lower = 0, upper = 999, step = 1 }\nAGEP = { lower = 0, upper = 99, step = 1 }\n"
    Path("datasets.toml").write_text(entry, encoding="utf-8")
    told = "PINCP is computed from WAGP: a model that reads it tells how the label is made up, not what goes with it"
    planned = run("plan", "town.parquet", "--dataset", "town", "--no-advice").out
    remedy = f"{told}; to leave them out, take WAGP out of attributes in datasets.toml"
    assert remedy in planned
    checked = run("check", "town.parquet", "--dataset", "town").out
    assert f"note: {remedy}" in checked
    train = ("train", "town.parquet", "--dataset", "town", "--attribute-weights", "none")
    run(*train, "--output", "with.json")
    run("show", "with.json", "--html", "sheet.html")
    assert told in Path("sheet.html").read_text(encoding="utf-8")
    Path("datasets.toml").write_text(entry.replace("WAGP = {", "OTHP = {"), encoding="utf-8")
    rows.rename({"WAGP": "OTHP"}).write_parquet("town.parquet")
    assert "how the label is made up" not in run("plan", "town.parquet", "--dataset", "town", "--no-advice").out
