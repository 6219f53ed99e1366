"""The canonical declaration of a domain, its digest, its metadata and its exact numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.domain_cases import CENSUS, HUGE, census
from support.domain_strategies import declarations

from dpnb_columnar.domain import Declaration
from dpnb_columnar.domain.declaration import (
    DOMAIN_KEY,
    domain_from_metadata,
    domain_metadata,
    read_declaration,
    read_domain,
)
from dpnb_columnar.domain.declared_domain import digest, document_of
from dpnb_columnar.domain.names import exact_number, number_text
from dpnb_columnar.errors import ConfigurationError, DomainError


@pytest.mark.slow
@settings(deadline=None)
@given(declarations())
def test_canonical_declaration_describes_the_domain(domain: Declaration) -> None:
    found = read_declaration(domain.name, document_of(domain), "x")
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
        attributes["URBAN"] = {"values": ["1", "2"], "missing_values": []}
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
    "missing numbers are a category": lambda d: d["attributes"]["AGE"].update(missing="category"),
    "groups": lambda d: d["attributes"]["URBAN"].update(groups={"1": [1, 3]}),
    "other groups": lambda d: d["attributes"]["URBAN"].update(groups={"1": [1, 4]}),
    "a range": lambda d: d["attributes"]["URBAN"].update(groups={"1": ["3-4"]}),
    "what a range stands for": lambda d: d["attributes"]["URBAN"].update(groups={"1": [3, 4]}),
    "no label": lambda d: d.pop("label"),
    "missing texts": lambda d: d["attributes"]["URBAN"].update(missing_values=["?"]),
    "classes": lambda d: d["label"].update(classes=["high", "low"]),
    "condition": lambda d: d["label"].update(condition="INCWAGE > 1501 AND SEX = '2'"),
    "label's missing values": lambda d: d["label"].update(missing_values=[999998]),
    "column": lambda d: d["label"].update(column=d["label"].pop("condition")[:7]),
}


def test_digest_tells_different_domains_apart() -> None:
    digests = [digest(read_declaration("census", census(change), "x")) for change in CHANGES.values()]
    assert len({digest(read_domain("census", CENSUS, "x")), *digests}) == len(CHANGES) + 1


def test_no_metadata_no_domain() -> None:
    assert domain_from_metadata({}, "x.parquet") is None
    assert domain_from_metadata({"pandas": "{}"}, "x.parquet") is None


def handwritten(step: str) -> str:
    return (
        '{"name": "hand", "label": {"column": "y", "classes": ["a", "b"]}, '
        f'"attributes": {{"x": {{"lower": 0, "upper": 1, "step": {step}}}}}}}'
    )


def test_decimals_in_metadata_are_exact() -> None:
    found = domain_from_metadata({DOMAIN_KEY: handwritten("0.1")}, "x.parquet")
    attribute = found["x"]
    assert attribute.step == Fraction(1, 10)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a JSON declaration"),
        ("{", "not a JSON declaration"),
        ("[" * 100_000, "not a JSON declaration"),
        ('{"a":' * 100_000, "not a JSON declaration"),
        (handwritten("NaN"), "NaN is not a number"),
        (handwritten("Infinity"), "Infinity is not a number"),
        (handwritten("9" * 5000), "not a JSON declaration"),
        ('{"name": "a", "name": "b"}', "'name' is repeated"),
        ("[]", "expected a JSON object"),
        ("null", "expected a JSON object"),
        ('"adult"', "expected a JSON object"),
        ("{}", "expected a name"),
        ('{"name": 7}', "expected a name"),
        ('{"name": ""}', "expected a name"),
    ],
)
def test_malformed_metadata_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason) as caught:
        domain_from_metadata({DOMAIN_KEY: text}, "x.parquet")
    assert str(caught.value).startswith("x.parquet: metadata 'dpnb_columnar.domain'")
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("text", ['{"name": "x"}', '{"name": "x", "label": [], "attributes": 3}', handwritten("0.3")])
def test_faulty_declaration_in_metadata_is_refused_with_its_faults(text: str) -> None:
    with pytest.raises(DomainError, match=r"x\.parquet") as caught:
        domain_from_metadata({DOMAIN_KEY: text}, "x.parquet")
    assert caught.value.faults


def test_number_beyond_decimals_in_metadata_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="a number in it is out of every range"):
        domain_from_metadata({DOMAIN_KEY: '{"name": 1e99999999999999999999}'}, "x.parquet")


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
    assert exact_number(value) == expected


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
        exact_number(value)
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
    assert exact_number(number_text(number)) == number


@settings(deadline=None)
@given(st.decimals(-1000, 1000, allow_nan=False))
def test_text_of_a_decimal_is_the_shortest(number: Decimal) -> None:
    assume(number.adjusted() > -100)
    shortest = f"{number:.200f}".rstrip("0").rstrip(".")
    assert number_text(Fraction(number)) == ("0" if number == 0 else shortest)


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
    assert number_text(number) == expected
