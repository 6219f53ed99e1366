"""Choosing a label for a domain, or another one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.domain_strategies import declarations

from dpnb_columnar.domain import Categorical, Declaration, Domain, Numeric
from dpnb_columnar.domain.declaration import read_declaration, read_domain
from dpnb_columnar.domain.declaration_document import digest, document_of
from dpnb_columnar.domain.editing import labelled
from dpnb_columnar.domain.numbers import number_text
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
    assert domain.label.condition is not None
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
