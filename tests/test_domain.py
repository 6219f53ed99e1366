"""Declared domains: every fault with its place, the canonical declaration, exact numbers, and the catalogue."""

from __future__ import annotations

import copy
import json
import math
import tomllib
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpnb_columnar.domain import (
    Categorical,
    Domain,
    Label,
    Missing,
    Numeric,
    Transform,
    catalogue,
    digest,
    document_of,
    read_domain,
)
from dpnb_columnar.domain.attributes import DEFAULT_CELLS
from dpnb_columnar.domain.catalogue import Entry, entries, entry_for, entry_named, read_catalogue
from dpnb_columnar.domain.condition import parse_condition
from dpnb_columnar.domain.metadata import domain_from_metadata, domain_metadata
from dpnb_columnar.domain.numbers import exact, text
from dpnb_columnar.errors import ConfigurationError, DomainError, MissingInputError, UsageError

HUGE = 2**20_000
"""A whole number that Python itself refuses to write out; TOML can hold it as 0x..."""


def declared(toml: str) -> dict[str, Any]:
    """A declaration as the catalogue reads it."""
    return tomllib.loads(toml, parse_float=Decimal)


CENSUS = declared(
    """
    [label]
    condition = "INCWAGE > 1500 AND SEX = '2'"
    classes = ["low", "high"]
    missing_values = [999998, "999999"]

    [attributes]
    AGE = { lower = 0, upper = 120, step = 1, missing_values = [999, 0.5] }
    WEEKS = { lower = 0.0, upper = 52 }
    DEBT = { lower = "-1/3", upper = "2/3", step = "1/9" }
    WEALTH = { lower = 0, upper = 1e6, step = 0.1, transform = "log1p" }
    URBAN = { values = [1, 2] }
    "place of birth" = { values = ["Ohio", true, 7], missing = "category", missing_values = ["?"] }
    """
)


def census(change: Callable[[dict[str, Any]], object] = lambda document: None) -> dict[str, Any]:
    """The census declaration after a change."""
    document = copy.deepcopy(CENSUS)
    change(document)
    return document


def faults(document: object) -> dict[str, str]:
    """What reading finds, by place."""
    with pytest.raises(DomainError) as caught:
        read_domain("census", document, "datasets.toml")
    message = str(caught.value)
    assert message.startswith(f"datasets.toml: {len(caught.value.faults)} fault(s) in the domain declaration\n")
    assert message.count("\n") == len(caught.value.faults)
    assert all(len(line) < 400 for line in message.splitlines())
    found = {fault.place: fault.problem for fault in caught.value.faults}
    assert len(found) == len(caught.value.faults)
    return found


# --- reading ------------------------------------------------------------------------------------------------------


def test_every_key_is_read() -> None:
    assert read_domain("census", CENSUS, "x") == Domain(
        "census",
        Label(("low", "high"), None, parse_condition("INCWAGE > 1500 AND SEX = '2'"), ("999998", "999999")),
        (
            Numeric("AGE", Fraction(0), Fraction(120), Fraction(1), missing_values=(Fraction(999), Fraction(1, 2))),
            Numeric("WEEKS", Fraction(0), Fraction(52), Fraction(52, 2**16)),
            Numeric("DEBT", Fraction(-1, 3), Fraction(2, 3), Fraction(1, 9)),
            Numeric("WEALTH", Fraction(0), Fraction(10**6), Fraction(1, 10), Transform.LOG1P),
            Categorical("URBAN", ("1", "2")),
            Categorical("place of birth", ("Ohio", "true", "7"), Missing.CATEGORY, ("?",)),
        ),
    )


def test_label_may_be_a_column() -> None:
    domain = read_domain("x", census(lambda d: d.update(label={"column": "EMPSTAT", "classes": [1, 2, 3]})), "x")
    assert domain.label == Label(("1", "2", "3"), "EMPSTAT")
    assert domain.label.columns == ("EMPSTAT",)
    assert domain.classes == ("1", "2", "3")


def test_domain_by_parts() -> None:
    domain = read_domain("census", CENSUS, "x")
    names = ("AGE", "WEEKS", "DEBT", "WEALTH", "URBAN", "place of birth")
    assert tuple(attribute.name for attribute in domain) == names
    assert domain.columns == ("INCWAGE", "SEX", *names)
    assert (*domain.numeric, *domain.categorical) == domain.attributes
    assert domain["URBAN"] == domain.attributes[4]
    with pytest.raises(KeyError):
        domain["SEX"]


def test_grids_and_scales() -> None:
    age, weeks, debt, wealth = read_domain("census", CENSUS, "x").numeric
    assert (age.cells, weeks.cells, debt.cells, wealth.cells) == (120, DEFAULT_CELLS, 9, 10**7)
    assert (age.scale.origin, age.scale.step, age.scale.cells, age.scale.end) == (0.0, 1.0, 120, 120.0)
    assert (wealth.scale.origin, wealth.scale.cells) == (0.0, DEFAULT_CELLS)
    assert math.isclose(wealth.scale.end, math.log1p(10**6), rel_tol=1e-12)


def test_sizes_count_the_category_of_missing_values() -> None:
    assert [attribute.size for attribute in read_domain("census", CENSUS, "x").categorical] == [2, 4]


def test_all_faults_are_gathered_with_their_places() -> None:
    document = declared(
        """
        atributes = 1
        [label]
        column = 7
        classes = ["a", "b", "a"]
        missing_values = ["b"]
        clases = 1
        [attributes]
        reversed = { lower = 9, upper = 1, step = "x", transform = "log", missing_values = ["?", 3] }
        "uneven step" = { lower = 0, upper = 1, step = 0.3, stepp = 1 }
        half = { upper = nan }
        empty = { values = [] }
        mixed = { values = [1.5, "a"], missing = "keep", lower = 0 }
        clash = { values = ["a", "?"], missing_values = ["?"] }
        nothing = { step = 1 }
        bare = 3
        """
    )
    assert faults(document) == {
        "census.atributes": "unknown key; did you mean attributes?",
        "census.label.clases": "unknown key; did you mean classes?",
        "census.label.classes": "'a' appear more than once",
        "census.label.missing_values": "'b' are classes as well",
        "census.label.column": "expected a column name, found 7",
        "census.attributes.reversed.lower": "lower (9) must be below upper (1); are the bounds reversed?",
        "census.attributes.reversed.step": "expected a number, found 'x'",
        "census.attributes.reversed.transform": "expected one of identity, log1p, found 'log'",
        "census.attributes.reversed.missing_values": "expected a number, found '?'",
        'census.attributes."uneven step".stepp': "unknown key; did you mean step?",
        'census.attributes."uneven step".step': "step (0.3) must be positive and divide upper - lower (1) evenly",
        "census.attributes.half.lower": "missing: bounds are declared, never taken from the rows",
        "census.attributes.half.upper": "expected a finite number, found NaN",
        "census.attributes.empty.values": "expected at least one value, found []",
        "census.attributes.mixed.lower": "unknown key; known keys: values, missing, missing_values",
        "census.attributes.mixed.values": "expected text or a whole number, found 1.5; quote it if it is a name",
        "census.attributes.mixed.missing": "expected one of drop, category, found 'keep'",
        "census.attributes.clash.missing_values": "'?' are listed in values as well",
        "census.attributes.nothing": "give lower and upper (numeric), or values (categorical)",
        "census.attributes.bare": "expected a table, found 3",
    }


@pytest.mark.parametrize("document", [None, 3, "adult", [], [{}], pytest.param(HUGE, id="huge")])
def test_declaration_that_is_no_table(document: object) -> None:
    assert faults(document)["census"].startswith("expected a table")


def test_empty_declaration_says_what_is_missing() -> None:
    found = faults({})
    assert set(found) == {"census.label", "census.attributes"}
    assert all(problem.startswith("missing: declare") for problem in found.values())


@pytest.mark.parametrize(
    ("label", "place", "problem"),
    [
        ({"classes": ["a", "b"]}, "label", "give either column or condition"),
        ({"classes": ["a", "b"], "column": "y", "condition": "y = 1"}, "label", "give either"),
        ({"classes": ["a", "b"], "column": ""}, "label.column", "expected a column name"),
        ({"classes": ["a", "b"], "column": None}, "label.column", "expected a column name"),
        ({"classes": ["a"], "column": "y"}, "label.classes", "at least two class names"),
        ({"column": "y"}, "label.classes", "at least two class names"),
        ({"classes": "ab", "column": "y"}, "label.classes", "at least two class names"),
        ({"classes": ["true", True], "column": "y"}, "label.classes", "'true' appear more than once"),
        ({"classes": ["1", 1], "column": "y"}, "label.classes", "'1' appear more than once"),
        ({"classes": ["a", "b", "c"], "condition": "y = 1"}, "label.classes", "where it is false, then"),
        ({"classes": ["a"], "condition": "y = 1"}, "label.classes", "at least two class names"),
        ({"classes": ["a", "b"], "condition": "y = "}, "label.condition", "expected a number"),
        ({"classes": ["a", "b"], "condition": "f(y) = 1"}, "label.condition", "expected a comparison"),
        ({"classes": ["a", "b"], "condition": True}, "label.condition", "expected a condition as text, found True"),
        ({"classes": ["a", "b"], "condition": ["y = 1"]}, "label.condition", "expected a condition as text"),
        ({"classes": ["a", "b"], "column": "y", "missing_values": "?"}, "label.missing_values", "a list of values"),
        ({"classes": ["a", HUGE], "column": "y"}, "label.classes", "found a value too large"),
        ({"classes": ["a", "b"], "column": "AGE"}, "attributes.AGE", "the label is read from this column"),
        ({"classes": ["a", "b"], "condition": "y = 1 OR AGE > 3"}, "attributes.AGE", "the label is read"),
        (
            {"classes": ["a", "b"], "column": "place of birth"},
            'attributes."place of birth"',
            "the label is read from this column",
        ),
        ([], "label", "expected a table"),
        (None, "label", "missing: declare [label]"),
    ],
)
def test_faulty_labels(label: object, place: str, problem: str) -> None:
    found = faults(census(lambda d: d.update(label=label)))
    assert list(found) == [f"census.{place}"]
    assert problem in found[f"census.{place}"]


def test_faulty_condition_does_not_hide_other_faults() -> None:
    label = {"classes": ["a", "b"], "condition": "y", "missing_values": ["b"]}
    assert set(faults(census(lambda d: d.update(label=label)))) == {
        "census.label.condition",
        "census.label.missing_values",
    }


@pytest.mark.parametrize(
    ("attribute", "place", "problem"),
    [
        ({"lower": 0}, ".upper", "bounds are declared, never taken from the rows"),
        ({"lower": 0, "upper": 0}, ".lower", "must be below upper"),
        ({"lower": True, "upper": 2}, ".lower", "expected a number, found True"),
        ({"lower": 0.5, "upper": 2}, ".lower", "binary float"),
        ({"lower": "low", "upper": 2}, ".lower", "expected a number, found 'low'"),
        ({"lower": Decimal("-Infinity"), "upper": 2}, ".lower", "expected a finite number"),
        ({"lower": 0, "upper": "1e400"}, ".upper", "out of every sensible range"),
        ({"lower": 0, "upper": HUGE}, ".upper", "out of every sensible range"),
        ({"lower": 0, "upper": [HUGE]}, ".upper", "expected a number"),
        ({"lower": "1e-300", "upper": "1e300"}, ".step", "out of every sensible range"),
        ({"lower": 0, "upper": 1, "step": 0}, ".step", "must be positive"),
        ({"lower": 0, "upper": 1, "step": -1}, ".step", "must be positive"),
        ({"lower": 0, "upper": 1, "step": 2}, ".step", "evenly"),
        ({"lower": 0, "upper": 2**32 + 1, "step": 1}, ".step", "more than 4294967296 cells"),
        ({"lower": 10**20, "upper": 10**20 + 1, "step": 1}, ".step", "wider apart than the step (1)"),
        ({"lower": 10**20, "upper": 10**20 + 1}, ".step", "wider apart than the step"),
        ({"lower": 0, "upper": 1, "transform": "LOG1P"}, ".transform", "expected one of identity, log1p"),
        ({"lower": 0, "upper": 1, "transform": HUGE}, ".transform", "found a value too large"),
        ({"lower": -1, "upper": 1, "transform": "log1p"}, ".lower", "above -1, found -1"),
        ({"lower": 2**52, "upper": 2**52 + 1, "step": 1, "transform": "log1p"}, ".transform", "too close together"),
        ({"lower": 0, "upper": 1, "missing_values": 9}, ".missing_values", "expected a list"),
        ({"lower": 0, "upper": 1, "missing_values": [True]}, ".missing_values", "expected a number, found True"),
        ({"lower": 0, "upper": 1, "missing_values": [0] * 10_001}, ".missing_values", "at most 10000"),
        ({"values": "ab"}, ".values", "expected at least one value, found 'ab'"),
        ({"values": HUGE}, ".values", "found a value too large"),
        ({"values": [["a"]]}, ".values", "expected text or a whole number, found ['a']"),
        ({"values": [None]}, ".values", "expected text or a whole number, found None"),
        ({"values": [HUGE]}, ".values", "found a value too large"),
        ({"values": [str(i) for i in range(10_001)]}, ".values", "10001 values; at most 10000"),
        ({"values": ["a", "b"] * 3000}, ".values", "'a', 'b' appear more than once"),
        ({"values": [str(i) for i in range(20)] * 2}, ".values", "'4' and 15 more appear more than once"),
        ({"values": ["a"], "missing": True}, ".missing", "expected one of drop, category, found True"),
        ({"values": ["a"], "valeus": ["b"]}, ".valeus", "did you mean values?"),
        ({"values": ["a"], "a\nb": 1}, '."a\\nb"', "unknown key"),
        ({}, "", "give lower and upper (numeric), or values (categorical)"),
        pytest.param(HUGE, "", "expected a table, found a value too large", id="huge"),
        ([1, 2], "", "expected a table, found [1, 2]"),
    ],
)
def test_faulty_attributes(attribute: object, place: str, problem: str) -> None:
    found = faults(census(lambda d: d["attributes"].update(new=attribute)))
    assert list(found) == [f"census.attributes.new{place}"]
    assert problem in found[f"census.attributes.new{place}"]


def test_lower_bound_that_rounds_to_minus_one_has_no_logarithm() -> None:
    lower = Fraction(-1) + Fraction(1, 2**60)
    attribute = {"lower": text(lower), "upper": text(lower + 1), "step": 1, "transform": "log1p"}
    found = faults(census(lambda d: d["attributes"].update(new=attribute)))
    assert list(found) == ["census.attributes.new.lower"]


@pytest.mark.parametrize("attributes", [None, {}, [], "AGE", 3])
def test_declaration_without_attributes(attributes: object) -> None:
    assert list(faults(census(lambda d: d.update(attributes=attributes)))) == ["census.attributes"]


def test_too_many_attributes() -> None:
    many = {f"a{i}": {"values": ["x"]} for i in range(10_001)}
    assert "at most 10000" in faults(census(lambda d: d.update(attributes=many)))["census.attributes"]


def test_attribute_without_a_name() -> None:
    found = faults(census(lambda d: d["attributes"].update({"": {"values": ["x"]}})))
    assert found == {'census.attributes.""': "an attribute needs a name"}


def test_name_of_the_data_set_is_quoted_in_places() -> None:
    with pytest.raises(DomainError) as caught:
        read_domain("two words", {**CENSUS, "label": None}, "x")
    assert caught.value.faults[0].place == '"two words".label'


# --- the canonical declaration ------------------------------------------------------------------------------------

PRINTABLE = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
NAMES = st.text(PRINTABLE, min_size=1, max_size=12)
TEXTS = st.text(PRINTABLE, max_size=8)
FRACTIONS = st.fractions(-1000, 1000, max_denominator=10**6) | st.decimals(-1000, 1000, places=3).map(Fraction)


@st.composite
def numerics(draw: st.DrawFn, name: str) -> Numeric:
    lower = draw(FRACTIONS)
    step = abs(draw(FRACTIONS.filter(bool)))
    upper = lower + step * draw(st.integers(1, 2**32))
    assume(max(abs(lower), abs(upper)) < step * 2**53)
    transform = draw(st.sampled_from(Transform)) if lower >= 0 else Transform.IDENTITY
    return Numeric(name, lower, upper, step, transform, tuple(draw(st.lists(FRACTIONS, max_size=3))))


@st.composite
def categoricals(draw: st.DrawFn, name: str) -> Categorical:
    texts = draw(st.lists(TEXTS, min_size=2, max_size=8, unique=True))
    cut = draw(st.integers(1, len(texts)))
    return Categorical(name, tuple(texts[:cut]), draw(st.sampled_from(Missing)), tuple(texts[cut:]))


@st.composite
def labels(draw: st.DrawFn, columns: list[str]) -> Label:
    texts = draw(st.lists(TEXTS, min_size=2, max_size=6, unique=True))
    if draw(st.booleans()):
        quoted = [column.replace('"', '""') for column in columns]
        condition = " OR ".join(f'"{column}" > {draw(st.integers(0, 99))}' for column in quoted)
        return Label(tuple(texts[:2]), None, parse_condition(condition), tuple(texts[2:]))
    cut = draw(st.integers(2, len(texts)))
    return Label(tuple(texts[:cut]), columns[0], None, tuple(texts[cut:]))


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    columns = draw(st.lists(NAMES, min_size=2, max_size=7, unique=True))
    cut = draw(st.integers(1, len(columns) - 1))
    attributes = tuple(draw(numerics(name) | categoricals(name)) for name in columns[cut:])
    return Domain(draw(NAMES), draw(labels(columns[:cut])), attributes)


@settings(deadline=None)
@given(domains())
def test_canonical_declaration_describes_the_domain(domain: Domain) -> None:
    found = read_domain(domain.name, document_of(domain), "x")
    assert found == domain
    assert document_of(found) == document_of(domain)
    assert digest(found) == digest(domain)
    assert domain_from_metadata(domain_metadata(domain), "x") == domain


def test_canonical_declaration_writes_out_defaults_and_exact_numbers() -> None:
    document = document_of(read_domain("census", CENSUS, "x"))
    assert document["attributes"]["WEEKS"] == {"lower": "0", "upper": "52", "step": "0.00079345703125"}
    assert document["attributes"]["DEBT"] == {"lower": "-1/3", "upper": "2/3", "step": "1/9"}
    assert document["attributes"]["WEALTH"]["step"] == "0.1"
    assert json.loads(json.dumps(document)) == document


def test_largest_numbers_survive_too() -> None:
    attribute = {"lower": "-1e100", "upper": "1e100", "missing_values": ["1e-300", "1e300", "1/" + "3" * 300]}
    domain = read_domain("x", census(lambda d: d["attributes"].update(new=attribute)), "x")
    assert read_domain("x", document_of(domain), "x") == domain
    assert math.isfinite(domain.numeric[-1].scale.end)


def test_digest_is_stable() -> None:
    """Models and ledgers remember it: it may change with the format of the declaration only."""
    assert (
        digest(read_domain("census", CENSUS, "x")) == "81576470e379f53c9482ad022d36a99c0323a4ad71c11d81611fa02fd46ba8f2"
    )


def test_digest_does_not_depend_on_how_the_same_is_written() -> None:
    def rewrite(document: dict[str, Any]) -> None:
        attributes = document["attributes"]
        attributes["AGE"] = {"missing_values": ["999", "1/2"], "step": "1.0", "upper": Decimal("1.2e2"), "lower": "0/7"}
        attributes["WEEKS"] |= {"step": "13/16384", "transform": "identity", "missing_values": []}
        attributes["URBAN"] = {"values": ["1", "2"], "missing": "drop", "missing_values": []}
        document["label"]["missing_values"] = ["999998", 999999]

    reference, rewritten = read_domain("census", CENSUS, "x"), read_domain("other", census(rewrite), "y")
    assert rewritten.attributes == reference.attributes
    assert digest(rewritten) == digest(reference)


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "lower": lambda d: d["attributes"]["AGE"].update(lower=-1),
    "upper": lambda d: d["attributes"]["AGE"].update(upper=121),
    "step": lambda d: d["attributes"]["AGE"].update(step=2),
    "transform": lambda d: d["attributes"]["AGE"].update(transform="log1p"),
    "missing numbers": lambda d: d["attributes"]["AGE"].update(missing_values=[999]),
    "name": lambda d: d["attributes"].update(Age=d["attributes"].pop("AGE")),
    "order of attributes": lambda d: d["attributes"].update(AGE=d["attributes"].pop("AGE")),
    "one more attribute": lambda d: d["attributes"].update(SEX2={"values": ["x"]}),
    "one less": lambda d: d["attributes"].pop("URBAN"),
    "values": lambda d: d["attributes"]["URBAN"].update(values=[1, 2, 3]),
    "order of values": lambda d: d["attributes"]["URBAN"].update(values=[2, 1]),
    "missing": lambda d: d["attributes"]["URBAN"].update(missing="category"),
    "missing texts": lambda d: d["attributes"]["URBAN"].update(missing_values=["?"]),
    "classes": lambda d: d["label"].update(classes=["high", "low"]),
    "condition": lambda d: d["label"].update(condition="INCWAGE > 1501 AND SEX = '2'"),
    "label's missing values": lambda d: d["label"].update(missing_values=[999998]),
    "column": lambda d: d["label"].update(column=d["label"].pop("condition")[:7]),
}


def test_digest_tells_different_domains_apart() -> None:
    digests = [digest(read_domain("census", census(change), "x")) for change in CHANGES.values()]
    assert len({digest(read_domain("census", CENSUS, "x")), *digests}) == len(CHANGES) + 1


# --- exact numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, Fraction(0)),
        (-7, Fraction(-7)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Decimal("-1.50e2"), Fraction(-150)),
        (Fraction(2, 6), Fraction(1, 3)),
        ("0.1", Fraction(1, 10)),
        (" 1 / 3 ", Fraction(1, 3)),
        ("-1/3", Fraction(-1, 3)),
        ("+2/4", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("1e300", Fraction(10**300)),
        ("-1e-300", Fraction(-1, 10**300)),
    ],
)
def test_numbers_mean_what_is_written(value: object, expected: Fraction) -> None:
    assert exact(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        *("", " ", "one", "1/0", "0/0", "1/-3", "1/2/3", "1/2.5", "/2", "1/", "1,5", "0x1", "--1", "1e", "1 2"),
        *("nan", "NaN", "sNaN", "inf", "-inf", "Infinity", "1e400", "-1e400", "1e-400", "1e301", "1e-301"),
        *("1e999999999", "1e-999999999", "1e99999999999999999999", "0e999999999", "1e1000000000/3"),
        *(Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), Decimal("1e400"), Decimal("1e-400")),
        *(True, False, 0.1, 1.0, math.nan, math.inf, None, [], {}, 1j, b"1"),
        pytest.param(HUGE, id="huge"),
        pytest.param(-HUGE, id="minus huge"),
        pytest.param(10**300 + 1, id="barely too large"),
        pytest.param(Fraction(1, HUGE), id="tiny"),
        pytest.param("7" * 301, id="301 digits"),
        pytest.param("7" * 1_000_000, id="a million digits"),
        pytest.param("1/" + "7" * 301, id="301 digits below"),
        pytest.param(Decimal("7" * 1_000_000), id="a million digits in a decimal"),
        pytest.param([HUGE], id="huge in a list"),
    ],
)
def test_other_values_are_no_numbers(value: object) -> None:
    with pytest.raises(ValueError, match=r"expected|range") as caught:
        exact(value)
    assert type(caught.value) is ValueError
    assert len(str(caught.value)) < 200


WIDE = st.integers(-(10**300), 10**300)
DECIMALS = st.builds(lambda digits, places: Fraction(digits, 10**places), WIDE, st.integers(0, 300))
BINARY = st.builds(lambda digits, places: Fraction(digits, 2**places), WIDE, st.integers(0, 990))
RATIOS = st.builds(Fraction, WIDE, st.integers(1, 10**300))


@settings(deadline=None)
@given(DECIMALS | BINARY | RATIOS | st.fractions())
def test_text_of_a_number_is_exact(number: Fraction) -> None:
    assume(max(abs(number.numerator), number.denominator) <= 10**300)
    assert exact(text(number)) == number


@settings(deadline=None)
@given(st.decimals(-1000, 1000, allow_nan=False))
def test_text_of_a_decimal_is_the_shortest(number: Decimal) -> None:
    assume(number.adjusted() > -100)
    shortest = f"{number:.200f}".rstrip("0").rstrip(".")
    assert text(Fraction(number)) == ("0" if number == 0 else shortest)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (Fraction(0), "0"),
        (Fraction(-5), "-5"),
        (Fraction(100), "100"),
        (Fraction(1, 10), "0.1"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(101, 100), "1.01"),
        (Fraction(1, 3), "1/3"),
        (Fraction(-7, 6), "-7/6"),
    ],
)
def test_text_of_numbers(number: Fraction, expected: str) -> None:
    assert text(number) == expected


# --- the catalogue ------------------------------------------------------------------------------------------------

BODY = 'label = {{ column = "y", classes = ["{}", "b"] }}\nattributes.x = {{ lower = 0, upper = 1 }}\n'


def entry(name: str, before: str = "", first_class: str = "a") -> str:
    """The TOML of one small data set."""
    return f"[{name}]\n{before}\n{BODY.format(first_class)}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The catalogue of a working directory, beside a packaged one."""
    packaged = tmp_path / "packaged" / "datasets.toml"
    packaged.parent.mkdir()
    packaged.write_text(entry("adult", 'files = ["adult*.parquet"]', "packaged") + entry("skin") + entry("census_1940"))
    monkeypatch.setattr(catalogue, "resource", lambda name: packaged.parent / name)
    local = tmp_path / "local" / "datasets.toml"
    local.parent.mkdir()
    monkeypatch.chdir(local.parent)
    return local


def test_packaged_catalogue_alone(here: Path) -> None:
    assert not here.exists()
    assert [found.name for found in entries()] == ["adult", "skin", "census_1940"]


def test_working_directory_comes_first_and_hides(here: Path) -> None:
    here.write_text(entry("mine") + entry("adult", first_class="local"))
    assert [found.name for found in entries()] == ["mine", "adult", "skin", "census_1940"]
    adult = entry_named("adult")
    assert adult.catalogue == here
    assert adult.domain.classes == ("local", "b")
    assert adult.files == ()
    assert entry_named("skin").catalogue != here


def test_another_folder_may_be_named(here: Path) -> None:
    here.write_text(entry("mine"))
    assert entries(here.parent)[0].name == "mine"
    assert [found.name for found in entries(here.parent.parent)] == ["adult", "skin", "census_1940"]


def test_packaged_catalogue_in_the_working_directory_is_read_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here.parent.parent / "packaged")
    assert len(catalogue.catalogues()) == 1


def test_folder_of_the_catalogues_name_is_no_catalogue(here: Path) -> None:
    here.mkdir()
    assert len(entries()) == 3


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("adlut", "did you mean adult"),
        ("Adult", "did you mean adult"),
        ("census1940", "did you mean census_1940"),
        ("unrelated", "known names: adult, skin, census_1940"),
        ("", "known names: adult, skin, census_1940"),
    ],
)
def test_unknown_name_is_refused_with_a_hint(typed: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"no data set named '{typed}'; {hint}"):
        entry_named(typed)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["skin.parquet"], "skin"),
        (["/data/skin.parquet"], "skin"),
        (["skin"], "skin"),
        (["adult.parquet"], "adult"),
        (["adult_2.parquet", "elsewhere/adult_1.parquet"], "adult"),
        (["adult_2.parquet", "skin.parquet"], None),
        (["adult_2.csv"], None),
        (["ADULT_2.parquet"], None),
        (["skin_2.parquet"], None),
        (["adult/part.parquet"], None),
    ],
)
def test_entry_by_stem_and_pattern(paths: list[str], expected: str | None) -> None:
    found = entry_for([Path(path) for path in paths])
    assert (found and found.name) == expected


def test_entry_of_the_working_directory_claims_first(here: Path) -> None:
    here.write_text(entry("mine", 'files = ["adult_[0-9].parquet"]'))
    found = entry_for([Path("adult_2.parquet")])
    assert found is not None
    assert found.name == "mine"
    assert entry_for([Path("adult_x.parquet")]) == entry_named("adult")


def only(toml: str, folder: Path) -> Entry:
    """The only entry of a catalogue."""
    path = folder / "datasets.toml"
    path.write_text(toml)
    (found,) = read_catalogue(path)
    return found


def test_entry_properties(tmp_path: Path) -> None:
    before = 'title = "T"\nsource = "S"\nepsilon = 0.1\nfiles = ["a*"]\nraw = { "a/b.gz" = "ff" }'
    found = only(entry("mine", before), tmp_path)
    assert (found.title, found.source, found.epsilon) == ("T", "S", Fraction(1, 10))
    assert (found.files, found.raw) == (("a*",), {"a/b.gz": "ff"})
    assert found.domain is found.domain
    bare = only(entry("mine"), tmp_path)
    assert (bare.title, bare.source, bare.epsilon, bare.files, bare.raw) == ("mine", "", None, (), {})
    assert bare.domain == found.domain
    assert "packaged" not in repr(bare)


@pytest.mark.parametrize(
    ("before", "key", "problem"),
    [
        ('epsilon = "much"', "epsilon", "expected a number, found 'much'"),
        ("epsilon = nan", "epsilon", "expected a finite number"),
        ('files = "*.parquet"', "files", "expected a list of patterns"),
        ("files = [1]", "files", "expected a list of patterns"),
        ('raw = ["a"]', "raw", "expected a table"),
    ],
)
def test_faulty_entry_properties(tmp_path: Path, before: str, key: str, problem: str) -> None:
    found = only(entry("mine", before), tmp_path)
    with pytest.raises(ConfigurationError, match=f"toml: mine.{key}: {problem}"):
        getattr(found, key)


def test_text_where_a_list_of_patterns_belongs_claims_nothing(here: Path) -> None:
    """Read letter by letter it would hold the pattern that claims every file."""
    here.write_text(entry("mine", 'files = "*.parquet"'))
    with pytest.raises(ConfigurationError, match="expected a list of patterns"):
        entry_for([Path("unrelated.csv")])


def test_faults_of_an_entry_name_its_catalogue_and_no_other_entry_suffers(here: Path) -> None:
    here.write_text("[broken]\nlabel = 3\ntitel = 'x'\n" + entry("mine"))
    assert entry_named("mine").domain.classes == ("a", "b")
    with pytest.raises(DomainError) as caught:
        _ = entry_named("broken").domain
    assert str(caught.value).startswith(f"{here}: 3 fault(s)")
    assert str(caught.value.faults[0]) == "broken.titel: unknown key; did you mean title?"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"[adult", "not a TOML file"),
        (b"a = 1\na = 2", "not a TOML file"),
        (b"\xff\xfe", "not a TOML file"),
        (b"a = " + b"[" * 100_000, "not a TOML file"),
        (b"a.b = " + b"9" * 5000, "not a TOML file"),
        (b"a.b = 1e99999999999999999999", "a number in it is out of every range"),
        (b"epsilon = 1", r"epsilon: expected a table such as \[epsilon\]"),
        (b"[[adult]]", r"adult: expected a table such as \[adult\]"),
    ],
)
def test_malformed_catalogue_is_refused(here: Path, content: bytes, problem: str) -> None:
    here.write_bytes(content)
    for look in (entries, lambda: entry_named("adult"), lambda: entry_for([Path("adult.parquet")])):
        with pytest.raises(ConfigurationError, match=problem) as caught:
            look()
        assert str(caught.value).startswith(f"{here}: ")
        assert len(str(caught.value)) < 400 + len(str(here))


def test_empty_catalogue_is_none_at_all(tmp_path: Path) -> None:
    (tmp_path / "datasets.toml").touch()
    assert read_catalogue(tmp_path / "datasets.toml") == ()


@pytest.mark.parametrize("path", ["missing.toml", ".", "file/datasets.toml"])
def test_unreadable_catalogue_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MissingInputError, match=r"cannot be read: .") as caught:
        read_catalogue(tmp_path / path)
    assert str(caught.value).startswith(f"{tmp_path / path}: ")


def test_number_beyond_decimals_in_metadata_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="a number in it is out of every range"):
        domain_from_metadata({"dpnb_columnar.domain": '{"name": 1e99999999999999999999}'}, "x.parquet")


@pytest.mark.parametrize(
    "name",
    ["bell\x07", "line\nfeed", "escape\x1b[2J", "half \ud800", "separator\u2028"],
    ids=["bell", "line feed", "escape", "surrogate", "separator"],
)
def test_names_that_could_forge_output_are_refused(name: str) -> None:
    documents = [
        (name, {"label": {"column": "y", "classes": ["a", "b"]}, "attributes": {"x": {"lower": 0, "upper": 1}}}),
        ("d", {"label": {"column": name, "classes": ["a", "b"]}, "attributes": {"x": {"lower": 0, "upper": 1}}}),
        ("d", {"label": {"column": "y", "classes": ["a", name]}, "attributes": {"x": {"lower": 0, "upper": 1}}}),
        ("d", {"label": {"column": "y", "classes": ["a", "b"]}, "attributes": {name: {"lower": 0, "upper": 1}}}),
        ("d", {"label": {"column": "y", "classes": ["a", "b"]}, "attributes": {"x": {"values": [name]}}}),
    ]
    for domain, document in documents:
        with pytest.raises(DomainError, match="control character") as caught:
            read_domain(domain, document, "test")
        assert name not in str(caught.value)


def test_bounds_whose_squares_overflow_are_refused() -> None:
    document = {"label": {"column": "y", "classes": ["a", "b"]}, "attributes": {"x": {"lower": 0, "upper": "1e101"}}}
    with pytest.raises(DomainError, match="beyond 1e100"):
        read_domain("d", document, "test")
