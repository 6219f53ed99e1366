"""Declared domains: what is read, and every fault with its place."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from support.domain_cases import CENSUS, HUGE, census, declared, faults

from dpnb_columnar.domain import Categorical, Domain, Label, Missing, Numeric, Transform
from dpnb_columnar.domain.attributes import DEFAULT_CELLS
from dpnb_columnar.domain.declaration import read_declaration, read_domain
from dpnb_columnar.domain.editing import labelled
from dpnb_columnar.domain.field_reader import parse_condition
from dpnb_columnar.domain.names import number_text
from dpnb_columnar.errors import DomainError


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
        "census.attributes.mixed.lower": "unknown key; known keys: values, groups, missing, missing_values",
        "census.attributes.mixed.values": "expected text or a whole number, found 1.5; quote it if it is a name",
        "census.attributes.mixed.missing": "expected one of skip, category, row, found 'keep'",
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
        ({"classes": ["a"], "column": "y"}, "label.classes", "at least two class names"),
        ({"classes": "ab", "column": "y"}, "label.classes", "at least two class names"),
        ({"classes": ["true", True], "column": "y"}, "label.classes", "'true' appear more than once"),
        ({"classes": ["a", "b", "c"], "condition": "y = 1"}, "label.classes", "where it is false, then"),
        ({"classes": ["a", "b"], "condition": "y = "}, "label.condition", "expected a number"),
        ({"classes": ["a", "b"], "condition": "f(y) = 1"}, "label.condition", "expected a comparison"),
        ({"classes": ["a", "b"], "condition": True}, "label.condition", "expected a condition as text, found True"),
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
        ({"lower": True, "upper": 2}, ".lower", "expected a number, found True"),
        ({"lower": 0.5, "upper": 2}, ".lower", "binary float"),
        ({"lower": Decimal("-Infinity"), "upper": 2}, ".lower", "expected a finite number"),
        ({"lower": 0, "upper": "1e400"}, ".upper", "out of every sensible range"),
        ({"lower": 0, "upper": HUGE}, ".upper", "out of every sensible range"),
        ({"lower": 0, "upper": [HUGE]}, ".upper", "expected a number"),
        ({"lower": "1e-300", "upper": "1e300"}, ".step", "out of every sensible range"),
        ({"lower": 0, "upper": 1, "step": 0}, ".step", "must be positive"),
        ({"lower": 0, "upper": 1, "step": 2}, ".step", "evenly"),
        ({"lower": 0, "upper": 2**32 + 1, "step": 1}, ".step", "more than 4294967296 cells"),
        ({"lower": 10**20, "upper": 10**20 + 1, "step": 1}, ".step", "wider apart than the step (1)"),
        ({"lower": 10**20, "upper": 10**20 + 1}, ".step", "wider apart than the step"),
        ({"lower": 0, "upper": 1, "transform": HUGE}, ".transform", "found a value too large"),
        ({"lower": -1, "upper": 1, "transform": "log1p"}, ".lower", "above -1, found -1"),
        ({"lower": 2**52, "upper": 2**52 + 1, "step": 1, "transform": "log1p"}, ".transform", "too close together"),
        ({"lower": 0, "upper": 1, "missing_values": 9}, ".missing_values", "expected a list"),
        ({"lower": 0, "upper": 1, "missing_values": [True]}, ".missing_values", "expected a number, found True"),
        ({"lower": 0, "upper": 1, "missing_values": [0] * 10_001}, ".missing_values", "at most 10000"),
        ({"values": HUGE}, ".values", "found a value too large"),
        ({"values": [["a"]]}, ".values", "expected text or a whole number, found ['a']"),
        ({"values": [None]}, ".values", "expected text or a whole number, found None"),
        ({"values": [HUGE]}, ".values", "found a value too large"),
        ({"values": ["a"], "missing_values": list(range(10_001))}, ".missing_values", "10001 values; at most 10000"),
        ({"values": ["a", "b"] * 3000}, ".values", "'a', 'b' appear more than once"),
        ({"values": [str(i) for i in range(20)] * 2}, ".values", "'4' and 15 more appear more than once"),
        ({"values": ["a"], "valeus": ["b"]}, ".valeus", "did you mean values?"),
        ({"lower": 0, "upper": 9, "Max": 9}, ".Max", "did you mean upper?"),
        ({"values": ["a"], "na_values": ["b"]}, ".na_values", "did you mean missing_values?"),
        ({"values": ["a"], "a\nb": 1}, '."a\\nb"', "unknown key"),
        pytest.param(HUGE, "", "expected a table, found a value too large", id="huge"),
        ([1, 2], "", "expected a table, found [1, 2]"),
    ],
)
def test_faulty_attributes(attribute: object, place: str, problem: str) -> None:
    found = faults(census(lambda d: d["attributes"].update(new=attribute)))
    assert list(found) == [f"census.attributes.new{place}"]
    assert problem in found[f"census.attributes.new{place}"]


def test_keys_are_corrected_where_they_leave_the_kind_of_an_attribute_open() -> None:
    found = faults(census(lambda d: d["attributes"].update(new={"min": 0, "max": 9}, other={"valeus": ["a"]})))
    meant = {"new.min": "lower", "new.max": "upper", "other.valeus": "values"}
    corrected = {f"census.attributes.{key}": f"unknown key; did you mean {known}?" for key, known in meant.items()}
    neither = "give lower and upper (numeric), or values (categorical)"
    assert found == corrected | {f"census.attributes.{name}": neither for name in ("new", "other")}


def test_lower_bound_that_rounds_to_minus_one_has_no_logarithm() -> None:
    lower = Fraction(-1) + Fraction(1, 2**60)
    attribute = {"lower": number_text(lower), "upper": number_text(lower + 1), "step": 1, "transform": "log1p"}
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


def _places(categories: int, classes: int, **more: object) -> dict[str, object]:
    label = {"column": "y", "classes": [f"c{number}" for number in range(classes)]}
    return {
        "label": label,
        "attributes": {"ZIP": {"values": [f"{number:05d}" for number in range(categories)], **more}},
    }


@pytest.mark.slow
def test_tables_of_a_million_counts_are_accepted_and_larger_ones_are_not() -> None:
    """40,000 places and a few classes; up to 10,000 values, as before, any number of classes."""
    assert read_domain("t", _places(40_000, 26), "t").categorical[0].size == 40_000
    assert read_domain("t", _places(10_000, 200), "t").categorical[0].size == 10_000
    with pytest.raises(DomainError, match=r"ZIP.values: 40000 categories and 27 classes make 1080000 counts; at most"):
        read_domain("t", _places(40_000, 27), "t")
    with pytest.raises(
        DomainError, match=r"524289 categories and 2 classes make 1048578 counts; at most 1048576 .*groups"
    ):
        read_domain("t", _places(2**19, 2, missing="category"), "t")
    with pytest.raises(DomainError, match=r"ZIP.values: 1048577 values; at most 1048576 are accepted"):
        read_declaration("t", {"attributes": _places(2**20 + 1, 2)["attributes"]}, "t")


def test_a_label_that_makes_a_table_too_large_is_refused() -> None:
    attributes = {"ZIP": {"values": list(range(40_000))}, "PLACE": {"values": list(range(30))}}
    unlabelled = read_declaration("t", {"attributes": attributes}, "t")
    with pytest.raises(DomainError, match="40000 categories and 30 classes make 1200000 counts"):
        labelled(unlabelled, "PLACE")
