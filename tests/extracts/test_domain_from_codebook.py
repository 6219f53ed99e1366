"""Domains made from codebooks: every rule, on codebooks made up for it; bounds of amounts, and public facts."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from support.codebook_cases import amount, codebook, codebooks, codes, labelled, made, variable

from dpnb_columnar.domain import Attribute, Categorical, Missing, Numeric, Transform, Unit, Weight
from dpnb_columnar.domain.declaration import read_declaration
from dpnb_columnar.domain.declared_domain import Provenance, digest, document_of
from dpnb_columnar.errors import UsageError
from dpnb_columnar.extracts.codebooks.codebook import Code, Codebook, Form, Measure, Variable
from dpnb_columnar.extracts.codebooks.to_domain import adult_like, adult_roles, domain_of

USA, CPS, CENSUS = "usa.ipums.org", "cps.ipums.org", "census.gov"


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(book=codebooks())
def test_any_codebook_makes_a_domain_that_can_be_declared(book: Codebook) -> None:
    domain, left_out = domain_of(book)
    names = list(dict.fromkeys(one.name for one in book.variables))
    assert sorted([*domain.columns, *(one.name for one in left_out)]) == sorted(names)
    assert [name for name in names if name in domain.columns] == list(domain.columns)
    assert domain.name == book.name
    if domain.attributes:
        assert labelled(domain).attributes == domain.attributes


@pytest.mark.parametrize(
    ("collection", "names", "unit"),
    [
        (USA, ("YEAR", "SAMPLE", "SERIAL", "PERNUM"), ("SAMPLE", "SERIAL")),
        (USA, ("YEAR", "DATANUM", "SERIAL"), ("YEAR", "DATANUM", "SERIAL")),
        (USA, ("SERIAL", "YEAR"), ("YEAR", "SERIAL")),
        (USA, ("SERIAL",), ("SERIAL",)),
        (CPS, ("YEAR", "MONTH", "SERIAL"), ("YEAR", "MONTH", "SERIAL")),
        (CENSUS, ("RT", "SERIALNO", "SPORDER"), ("SERIALNO",)),
        (USA, ("YEAR", "SAMPLE", "PERNUM"), ()),
        (CENSUS, ("SERIAL",), ()),
        ("", ("SERIAL", "SERIALNO"), ()),
    ],
)
def test_the_household_of_an_extract_is_available_as_a_unit(
    collection: str, names: tuple[str, ...], unit: tuple[str, ...]
) -> None:
    described = [variable("SEX", codes=codes(_1="M", _2="F")), *map(variable, names)]
    domain, _ = domain_of(codebook(described, collection=collection))
    assert (domain.unit, domain.available_unit) == (None, unit)
    assert domain_of(codebook(described, collection=collection), ["SEX"])[0].available_unit == ()


@pytest.mark.parametrize(
    ("collection", "names", "samples", "person"),
    [
        (CPS, ("CPSID", "CPSIDP"), "", Unit(("CPSIDP",), 8)),
        (CPS, ("CPSIDV", "CPSIDP"), "IPUMS-CPS, January 2022; IPUMS-CPS, January 2023", Unit(("CPSIDP",), 2)),
        (CPS, ("CPSIDV",), "; ".join(f"IPUMS-CPS, month {each}" for each in range(12)), Unit(("CPSIDV",), 8)),
        (CPS, ("CPSIDP",), "; ".join(f"IPUMS-CPS, ASEC {each}" for each in range(2010, 2020)), Unit(("CPSIDP",), 2)),
        (CPS, ("CPSIDP",), "IPUMS-CPS, January 2022", None),
        (CPS, ("CPSID", "SERIAL"), "", None),
        (USA, ("CPSIDP", "SERIAL"), "", None),
        (CENSUS, ("SERIALNO",), "", None),
    ],
)
def test_linked_samples_say_how_many_rows_a_person_may_have(
    collection: str, names: tuple[str, ...], samples: str, person: Unit | None
) -> None:
    described = [variable("SEX", codes=codes(_1="M", _2="F")), *map(variable, names)]
    book = replace(codebook(described, collection=collection), provenance=Provenance(sample=samples))
    domain, _ = domain_of(book)
    assert domain.available_person == person
    again = read_declaration("people", document_of(domain), "x")
    assert again.available_person == person
    assert digest(labelled(domain)) == digest(replace(labelled(domain), available_person=None))


def test_categorical_codes_are_written_as_the_column_will_hold_them() -> None:
    number = variable("MONTHS", width=2, codes=codes(_01="A", _02="B", _10="B"))
    assert made(number) == Categorical("MONTHS", ("1", "2", "10"))
    text = variable("KIND", form=Form.TEXT, width=2, codes=(Code("01", "A"), Code("X ", "B"), Code("0A", "B")))
    assert made(text) == Categorical("KIND", ("01", "X", "0A"))
    negative = variable("CHANGE", width=2, codes=(Code("-1", "less"), Code("00", "as before"), Code("+1", "more")))
    assert made(negative) == Categorical("CHANGE", ("-1", "0", "1"))
    twice = variable("TWICE", width=2, codes=(Code("01", "A"), Code("1", "a"), Code("02", "B")))
    assert made(twice) == Categorical("TWICE", ("1", "2"))


def test_the_weight_of_a_record_is_available() -> None:
    """That of the person before that of the household, though nothing is weighted by it, and digests stay the same."""
    weights = [variable(name, width=6, decimals=2, measure=Measure.CONTINUOUS) for name in ("HHWT", "PERWT")]
    sex = variable("SEX", codes=codes(_1="M", _2="F"))
    for described, collection, weight in (
        ([sex, *weights], USA, Weight("PERWT", Fraction(400))),
        ([sex, weights[0]], USA, Weight("HHWT", Fraction(400))),
        ([sex, variable("PWGTP", width=5)], CENSUS, Weight("PWGTP", Fraction(400))),
        ([sex, variable("PWGTP", width=5)], USA, None),
        ([sex], USA, None),
    ):
        domain, _ = domain_of(codebook(described, collection=collection))
        assert (domain.weight, domain.available_weight) == (None, weight)
        assert read_declaration("x", document_of(domain), "x").available_weight == weight
        assert digest(domain) == digest(replace(domain, available_weight=None))


def test_unknown_codes_are_one_category_and_not_in_universe_is_a_value() -> None:
    employed = codes(_0="NIU", _1="Employed", _2="Not", _7="Unknown", _8="Illegible", _9="Missing")
    attribute = made(variable("EMPLOYED", codes=employed))
    assert attribute == Categorical("EMPLOYED", ("0", "1", "2"), Missing.CATEGORY, ("7", "8", "9"))
    assert made(variable("EMPLOYED", codes=employed[:3])) == Categorical("EMPLOYED", ("0", "1", "2"))


def test_blanks_are_a_category_of_their_own() -> None:
    for blank in ("", " "):
        listed = (Code(blank, "N/A (less than 16 years old)"), Code("1", "Yes"), Code("2", "No"))
        assert made(variable("WORKED", codes=listed)) == Categorical("WORKED", ("1", "2"), Missing.CATEGORY)


def test_a_code_that_is_listed_as_value_and_unknown_is_a_value() -> None:
    listed = (Code("1", "A"), Code("2", "B"), Code("02", "Unknown"))
    assert made(variable("X", width=2, codes=listed)) == Categorical("X", ("1", "2"))


def test_ranges_of_codes() -> None:
    groups = variable("GROUPS", codes=(Code("1", "groups", "6"),))
    assert made(groups) == Categorical("GROUPS", tuple("123456"))
    areas = variable("AREA", width=5, codes=(Code("00100", "areas", "70301"),))
    assert made(areas) == "it has more than 10000 codes"
    serial = variable("AREA", width=5, form=Form.TEXT, codes=(Code("A1", "areas", "A9"),))
    assert made(serial) == "its codes are a range, not a list"


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (variable("NAME", form=Form.TEXT, width=20), "text, and the codebook lists no codes"),
        (variable("NOTE", form=Form.TEXT, measure=Measure.CONTINUOUS), "text, and the codebook lists no codes"),
        (variable("PLACE", width=4), "names, and the codebook does not list their codes"),
        (variable("ONE", codes=codes(_1="All")), "it has one value only"),
        (variable("NONE", codes=codes(_9="Unknown")), "it has one value only"),
        (variable("MIXED", codes=codes(_1="One", _A="Two")), "its codes are not whole numbers"),
        (variable("HALVES", width=2, decimals=1, codes=codes(_05="A", _10="B")), "its codes are names with decimals"),
        (amount("MIXED", 1, 0, Code("A", "all")), "its codes are not numbers"),
        (amount("WIDE", 10), "its values, 0 to 9999999999, are more than a grid can hold (4294967296 cells)"),
        (amount("WIDER", 19), "its width gives no bounds"),
        (amount("FREE", None), "its width gives no bounds"),
        (amount("SINGLE", 4, 0, Code("2018", "the year", "2018")), "it has one value only"),
        (
            amount("FAR", 18, 0, Code("100000000000000000", "far", "100000000000000009")),
            "its values, 100000000000000000 to 100000000000000009, are more than a grid can hold (4294967296 cells)",
        ),
        (
            amount("MANY", 9, 0, Code("1", "known", "9"), Code("100000", "Unknown", "999999")),
            "more than 10000 of its codes mean that the value is missing",
        ),
    ],
)
def test_what_is_left_out(one: Variable, reason: str) -> None:
    assert made(one) == reason


@pytest.mark.parametrize(
    ("name", "collection"),
    [
        ("SERIAL", USA),
        ("PERWT", USA),
        ("repwtp12", USA),
        ("CPSIDP", CPS),
        ("RT", CENSUS),
        ("PWGTP80", CENSUS),
        ("CPI99", USA),
    ],
)
def test_technical_variables_by_name(name: str, collection: str) -> None:
    assert isinstance(made(amount(name, 4), collection), str)
    assert isinstance(made(amount(name, 4), "elsewhere.org"), Numeric)


@pytest.mark.parametrize(
    "one",
    [
        variable("A", concept="Technical Variables -- HOUSEHOLD", codes=codes(_1="a", _2="b")),
        variable("A", concept="Linking Variables -- PERSON", codes=codes(_1="a", _2="b")),
        variable("FAGEP", label="Age allocation flag", codes=codes(_0="No", _1="Yes")),
        variable("QAGE", label="Flag for Age", codes=codes(_0="No", _1="Yes")),
    ],
)
def test_technical_variables_by_concept_or_label(one: Variable) -> None:
    assert isinstance(made(one), str)


def test_numbers_that_are_names() -> None:
    assert "names" in str(made(amount("COUNTY", 4), USA))
    listed = variable("COUNTY", width=4, codes=codes(_0010="Here", _0030="There"))
    assert made(listed, USA) == Categorical("COUNTY", ("10", "30"))


def test_columns_are_chosen_by_name_and_order() -> None:
    book = codebook([variable("A", codes=codes(_1="a", _2="b")), amount("B", 2), variable("C", width=3)])
    domain, left_out = domain_of(book, ["C", "B", "B", "A"])
    assert domain.columns == ("B", "A")
    assert [one.name for one in left_out] == ["C"]
    with pytest.raises(UsageError, match=r"town\.xml: the codebook has no variable 'a'; did you mean A\?"):
        domain_of(codebook([variable("A"), variable("Q")]), ["Q", "a"])


def test_thirteen_roles() -> None:
    assert len(adult_roles()) == 13
    assert all(set(lists) == {"usa", "cps", "acs"} for lists in adult_roles().values())
    for collection in ("usa", "cps", "acs"):
        first = [lists[collection][0] for lists in adult_roles().values()]
        assert adult_like(first) == (tuple(first), ())
        last = [lists[collection][-1] for lists in adult_roles().values()]
        assert adult_like([*reversed(last), "OTHER"]) == (tuple(last), ())


def test_adult_like_names_that_are_there() -> None:
    assert adult_like(["WKHP", "AGEP", "SEX", "NATIVITY", "CIT"])[0] == ("AGEP", "SEX", "CIT", "WKHP")
    assert adult_like(iter(["AHRSWORKT", "AGE"])) == (
        ("AGE", "AHRSWORKT"),
        (*tuple(adult_roles())[1:11], "weeks per year"),
    )
    assert adult_like([]) == ((), tuple(adult_roles()))


def test_labels_of_codes_become_value_labels_of_the_values_in_the_data() -> None:
    race = variable("RACE", width=2, codes=codes(_01="White", _02=" Black\n or  mixed ", _03="3", _99="Unknown"))
    kind = variable("KIND", form=Form.TEXT, width=2, codes=(Code("A ", "Farm"), Code("B", ""), Code("", "Blank")))
    ages = variable("BAND", width=2, codes=(Code("1", "Child", "3"), Code("4", "Adult")))
    domain, _ = domain_of(codebook([race, kind, ages]))
    assert domain.value_labels == {
        "RACE": {"1": "White", "2": "Black or mixed", "99": "Unknown"},
        "KIND": {"A": "Farm"},
        "BAND": {"1": "Child", "2": "Child", "3": "Child", "4": "Adult"},
    }


def test_labels_of_variables_become_titles_unless_they_say_no_more_than_the_name() -> None:
    labels = {"RACE": " Race\n or color ", "SEX": "Sex", "AGE": "", "KIND": "x" * 300}
    domain, _ = domain_of(
        codebook([variable(name, codes=codes(_1="a", _2="b"), label=label) for name, label in labels.items()])
    )
    assert domain.titles == {"RACE": "Race or color", "KIND": f"{'x' * 253}..."}
    assert labelled(domain).titles == domain.titles


def test_long_labels_are_cut() -> None:
    domain, _ = domain_of(codebook([variable("KIND", codes=codes(_1="x" * 300, _2="y" * 256))]))
    assert domain.value_labels == {"KIND": {"1": f"{'x' * 253}...", "2": "y" * 256}}
    assert labelled(domain).value_labels == domain.value_labels


USA, CPS, CENSUS = "usa.ipums.org", "cps.ipums.org", "census.gov"


def bounds(made: Attribute | str) -> tuple[Fraction, Fraction, Fraction]:
    assert isinstance(made, Numeric), made
    return made.lower, made.upper, made.step


@pytest.mark.parametrize(
    "ranges",
    [
        [Code(str(first), "Unknown", str(first + 3999)) for first in range(0, 4_000_000, 4000)],
        [Code("0", "Unknown", "99999999")],
    ],
    ids=["many", "one"],
)
def test_ranges_of_missing_codes_are_not_written_out_for_nothing(ranges: list[Code]) -> None:
    huge = amount("HUGE", 9, 0, *ranges)
    tracemalloc.start()
    try:
        assert made(huge) == "more than 10000 of its codes mean that the value is missing"
        assert tracemalloc.get_traced_memory()[1] < 2**24  # the amounts alone would be a hundred times as much
    finally:
        tracemalloc.stop()


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
