"""Numeric attributes made from codebooks: bounds, steps, codes that mean missing, and public facts."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.codebook_cases import amount, codebook, codes, made, variable

from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric, Transform
from dpnb_columnar.extracts.codebooks import to_domain
from dpnb_columnar.extracts.codebooks.codebook import Code
from dpnb_columnar.extracts.codebooks.to_domain import domain_of

USA, CPS, CENSUS = "usa.ipums.org", "cps.ipums.org", "census.gov"


def bounds(made: Attribute | str) -> tuple[Fraction, Fraction, Fraction]:
    assert isinstance(made, Numeric), made
    return made.lower, made.upper, made.step


def test_ranges_of_missing_codes_are_not_written_out_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    written_out: list[Fraction] = []

    def noted(code: Code, unit: Fraction) -> list[Fraction]:
        members = [*amounts_members(code, unit)]
        written_out.extend(members)
        return members

    amounts_members = to_domain._members
    monkeypatch.setattr(to_domain, "_members", noted)
    ranges = [Code(str(first), "Unknown", str(first + 3999)) for first in range(0, 4_000_000, 4000)]
    assert made(amount("HUGE", 9, 0, *ranges)) == "more than 10000 of its codes mean that the value is missing"
    assert len(written_out) == 8000
    assert (
        made(amount("WIDE", 9, 0, Code("0", "Unknown", "99999999"))) == "more than 10000 of its codes mean that "
        "the value is missing"
    )
    assert len(written_out) == 8000


def test_amounts_take_their_bounds_from_width_and_decimals() -> None:
    assert bounds(made(amount("DOLLARS", 7))) == (0, 9_999_999, 1)
    assert bounds(made(amount("SCORE", 3, 1))) == (0, Fraction("99.9"), Fraction("0.1"))
    assert bounds(made(amount("CENTS", 4, 4))) == (0, Fraction("0.9999"), Fraction("0.0001"))


def test_amounts_can_be_negative_where_a_code_is() -> None:
    assert bounds(made(amount("BALANCE", 4, 0, Code("-001", "Net loss")))) == (-999, 9999, 1)
    missing = made(amount("BALANCE", 4, 0, Code("-001", "Missing")))
    assert bounds(missing) == (0, 9999, 1)
    assert missing.missing_values == (-1,)


def test_implied_decimals_of_missing_codes() -> None:
    wage = made(amount("WAGE", 5, 2, Code("99999", "NIU"), Code("999.98", "Missing"), Code("00000", "None")))
    assert wage.missing_values == (Fraction("999.99"), Fraction("999.98"))


def test_lists_that_spell_numbers_are_amounts() -> None:
    ages = tuple(Code(f"{age:03}", str(age)) for age in range(1, 91))
    others = (Code("000", "Under 1 year"), Code("098", "98+"), Code("997", "NIU"), Code("999", "Missing"))
    age = made(variable("AGE", width=3, codes=(*others[:1], *ages, *others[1:])))
    codes_missing = (Fraction(997), Fraction(999))
    assert age == Numeric(
        "AGE", Fraction(0), Fraction(98), Fraction(1), missing_values=codes_missing, missing=Missing.CATEGORY
    )
    children = (
        Code("0", "0 children present"),
        Code("1", "1 child present"),
        *(Code(str(k), str(k)) for k in range(2, 9)),
    )
    assert bounds(made(variable("CHILDREN", codes=(*children, Code("9", "9+"))))) == (0, 9, 1)


def test_lists_of_names_and_short_lists_are_categories() -> None:
    weeks = codes(_0="N/A", _1="1-13 weeks", _2="2 or so", _3="27-39 weeks")
    assert isinstance(made(variable("WEEKS", codes=weeks)), Categorical)
    vehicles = tuple(Code(str(k), f"{k} vehicles") for k in range(7))
    assert isinstance(made(variable("VEHICLES", codes=vehicles)), Categorical)
    grades = tuple(Code(f"{k:02}", f"Grade {k}") for k in range(20))
    assert isinstance(made(variable("GRADE", width=2, codes=grades)), Categorical)
    intervals = tuple(Code(f"{k:02}", f"{k} - {k + 9} years") for k in range(20))
    assert isinstance(made(variable("YEARS", width=2, codes=intervals)), Categorical)
    shifted = tuple(Code(f"{k:02}", str(1998 + k)) for k in range(20))
    assert isinstance(made(variable("BUILT", width=2, codes=shifted)), Categorical)


def test_ranges_bound_amounts() -> None:
    blank, hours, most = Code("", "N/A"), Code("1", "hours", "98"), Code("99", "99 or more hours")
    worked = made(amount("WORKED", 2, 0, blank, hours, most), CENSUS)
    assert worked == Numeric("WORKED", Fraction(1), Fraction(99), Fraction(1), missing=Missing.CATEGORY)
    income = made(
        amount("INCOME", 7, 0, Code("-19997", "Loss", "-1"), Code("0", "None"), Code("1", "$1 to", "4209995"))
    )
    assert bounds(income) == (-19997, 4209995, 1)


def test_amounts_that_were_not_asked_of_all_have_a_category_for_the_others() -> None:
    for listed in (Code("", "N/A (less than 16 years old)"), Code("9999", "NIU")):
        made_of = made(amount("HOURS", 4, 0, listed))
        assert made_of.missing is Missing.CATEGORY
    for listed in ((), (Code("9999", "Unknown"),), (Code("0000", "None"),)):
        made_of = made(amount("HOURS", 4, 0, *listed))
        assert made_of.missing is None, listed
    age = made(amount("AGE", 3), USA)
    assert age == Numeric("AGE", Fraction(0), Fraction(135), Fraction(1), missing_values=(Fraction(999),))


def test_public_facts_about_amounts() -> None:
    for collection, width in ((USA, 7), (CPS, 8), (CPS, 9), (USA, 6)):
        nines = Fraction(10**width - 1)
        wage = made(amount("INCWAGE", width), collection)
        assert wage == Numeric(
            *("INCWAGE", Fraction(0), Fraction(200_000), Fraction(1)),
            missing_values=(nines, nines - 1),
            missing=Missing.CATEGORY,
        )
        assert bounds(made(amount("INCTOT", width), collection)) == (-19_998, 200_000, 1)
    assert made(amount("INCWAGE", 7)) == Numeric("INCWAGE", Fraction(0), Fraction(9999999), Fraction(1))
    hours = made(amount("AHRSWORKT", 3, 0, Code("999", "NIU")), CPS)
    assert bounds(hours) == (0, 198, 1)
    assert Fraction(999) in hours.missing_values


def test_bounds_of_facts_reach_no_further_than_the_width() -> None:
    assert bounds(made(amount("INCWAGE", 4), USA)) == (0, 9999, 1)
    assert bounds(made(amount("INCTOT", 4), USA)) == (-999, 9999, 1)
    assert bounds(made(amount("HOURWAGE", 4, 2), CPS)) == (0, Fraction("99.99"), Fraction("0.01"))
    assert bounds(made(amount("EARNWEEK", 8, 2), CPS)) == (0, 2885, Fraction("0.01"))


def test_logarithms_are_for_amounts_that_nobody_has_none_of() -> None:
    value = made(amount("VALUEH", 7), USA)
    assert value == Numeric(
        *("VALUEH", Fraction(1), Fraction(9_999_999), Fraction(1), Transform.LOG1P),
        missing_values=(Fraction(0), Fraction(9_999_999), Fraction(9_999_998)),
        missing=Missing.CATEGORY,
    )
    rent = made(amount("RNTP", 5, 0, Code("", "N/A"), Code("1", "$1 to $99999", "99999")), CENSUS)
    assert rent == Numeric(
        *("RNTP", Fraction(1), Fraction(99_999), Fraction(1), Transform.LOG1P), missing=Missing.CATEGORY
    )
    abroad = made(amount("INCTOT", 7), "international.ipums.org")
    assert (abroad.lower, abroad.upper, abroad.transform) == (0, 9_999_999, Transform.LOG1P)
    for name in ("INCTOT", "INCWAGE", "INCSS"):
        income = made(amount(name, 7), USA)
        assert income.transform is Transform.IDENTITY


def test_amounts_keep_the_labels_of_special_codes_alone() -> None:
    listed = (Code("0", "None"), Code("55", "55 dollars"), Code("60", "Some", "70"), Code("998", "Missing"))
    wage = amount("WAGE", 3, 1, *listed, Code("9.5", "Half"), Code("999", "N/A"))
    domain, _ = domain_of(codebook([wage]))
    assert domain.value_labels == {"WAGE": {"0": "None", "99.8": "Missing", "9.5": "Half", "99.9": "N/A"}}
