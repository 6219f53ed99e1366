"""Declared numbers are exact, and so is their text."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.domain_cases import HUGE

from dpnb_columnar.domain.numbers import exact_number, number_text


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
