"""What labels, names and flags of codebooks mean, and that every entry of the public lists can take effect."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.codebook_cases import codebook, codes, ddi_of, variable, written
from support.real_data import FOLDER

from dpnb_columnar.extracts.codebooks import to_domain
from dpnb_columnar.extracts.codebooks.codebook import Code, Codebook, Flag, Meaning, Measure, meaning_of
from dpnb_columnar.extracts.codebooks.read import read_ddi, read_pums_dictionary
from dpnb_columnar.extracts.codebooks.to_domain import flags_of

NOT_IN_UNIVERSE = [
    *("NIU", "N.I.U. (Not in Universe).", "NIU (Not in universe)", "Not in universe", "N/A", "N/A (Group quarters)"),
    *(
        "N/A (less than 16 years old/NILF who last worked more than 5 years ago or never worked)",
        "N.A.",
        "N/A or blank",
    ),
    *(
        *("NA (non-group quarters households)", "Not Applicable", "  N/A", "Not eligible - Born in the US"),
        *("Inapplicable", "N/A (or None, 1980)"),
    ),
]
UNKNOWN = [
    *("Missing", "Missing.", "Unknown", "Missing/blank", "Unknown/illegible", "Unknown or illegible", "Illegible"),
    *("Blank", "Not reported", "Industry not reported", "Refused", "Don't know", "Don’t know", "No response"),
    *("State not identified", "Not ascertained", "Period of service not ascertained", "Veteran status unknown"),
    *("Blank or blank equivalent", "HHTYPE could not be determined"),
    *("Suppressed for data year 2018 for select PUMAs", "Nonclassifiable", "Unknown (1850-1880)"),
    *("Occupation missing/unknown", "Missing data", "MISSING", "Not identifiable"),
]
VALUES = [
    *("", "Male", "1", "Under 1 year", "N/A or no schooling", "No subfamilies or N/A (GQ/vacant unit)"),
    *("0 couples or N/A", "Naturalized citizen", "NABISCO", "Native born, and father foreign, mother native"),
    *("National", "Foreign born, citizenship status not reported", "Private, unknown", "Fragment or Unknown"),
    *("Not Hispanic", "Two or three races, unspecified", "Abroad (unknown) or at sea"),
    *("Household not in missing data enumeration district", "In a metro area, central city status unknown"),
    *("Moved (place not reported)", "Other and unspecified languages", "Not a citizen", "Not in labor force"),
    *("No, not in school", "Unknown soldier", "Not yet classified", "/", "()"),
]


@pytest.mark.parametrize(
    ("label", "meaning"),
    [
        *((label, Meaning.NOT_IN_UNIVERSE) for label in NOT_IN_UNIVERSE),
        *((label, Meaning.UNKNOWN) for label in UNKNOWN),
        *((label, Meaning.VALUE) for label in VALUES),
    ],
)
def test_meaning_of_a_label(label: str, meaning: Meaning) -> None:
    assert meaning_of(label) is meaning


COLLECTIONS = {"usa.ipums.org", "cps.ipums.org", "international.ipums.org", "census.gov"}
LISTS = Path(to_domain.__file__).parent / "facts"


def entries(name: str, key: str) -> list[dict[str, Any]]:
    return list(tomllib.loads((LISTS / f"{name}.toml").read_text(encoding="utf-8"))[key])


def filled(pattern: str) -> str:
    return pattern.replace("[0-9]", "1").replace("*", "").replace("?", "X")


@pytest.mark.parametrize("rule", entries("technical", "rule"), ids=lambda rule: rule["reason"])
def test_every_technical_pattern_is_reached(rule: dict[str, Any]) -> None:
    assert set(rule.get("collections", [])) <= COLLECTIONS
    assert rule.get("names") or rule.get("labels") or rule.get("concepts")
    for collection in rule.get("collections", ["elsewhere.org"]):
        for pattern in rule.get("names", []):
            assert to_domain.technical_reason(variable(filled(pattern)), collection) == rule["reason"], pattern
    for key in ("label", "concept"):
        for pattern in rule.get(f"{key}s", []):
            one = variable("SOMETHING", **{key: filled(pattern)})
            assert to_domain.technical_reason(one, "elsewhere.org") == rule["reason"]


@pytest.mark.parametrize("fact", entries("amounts", "fact"), ids=lambda fact: fact["names"][0])
def test_every_fact_about_amounts_is_reached(fact: dict[str, Any]) -> None:
    assert set(fact["collections"]) <= COLLECTIONS
    for collection in fact["collections"]:
        for pattern in fact["names"]:
            found = to_domain.amount_fact(variable(filled(pattern), measure=Measure.CONTINUOUS), collection)
            assert pattern in found.names
            assert found.lower is None or found.upper is None or found.lower < found.upper


def test_what_nothing_is_known_of() -> None:
    assert to_domain.amount_fact(variable("INCWAGE"), "elsewhere.org") == to_domain.AmountFact()
    assert to_domain.technical_reason(variable("SERIAL"), "elsewhere.org") is None


USA = "usa.ipums.org"
TWO = codes(_1="Male", _2="Female")
ALLOCATED = codes(_0="Unaltered case", _1="Allocated, illegible", _3="Logical edit", _4="Hot deck allocation")


def flags(*variables: object, collection: str = USA) -> dict[str, Flag]:
    book = codebook(variables, collection=collection)  # type: ignore[arg-type]
    return flags_of(book, book.columns, book.columns)


def flag(name: str, label: str = "Flag for Sex", listed: tuple[Code, ...] = ALLOCATED) -> object:
    return variable(name, label=label, codes=listed)


def test_a_flag_of_ipums() -> None:
    assert flags(variable("SEX", codes=TWO), flag("QSEX")) == {"SEX": Flag("QSEX", ("1", "3", "4"))}


@pytest.mark.parametrize(
    ("name", "flagged"),
    [("RACED", "QRACE"), ("UHRSWORK", "QUHRSWOR"), ("WKSWORK1", "QWKSWORK"), ("EDUC", "QEDUC"), ("SEX", None)],
)
def test_names_that_are_short_or_of_several_variables(name: str, flagged: str | None) -> None:
    found = flags(variable(name, codes=TWO), *(flag(each) for each in ("QRACE", "QUHRSWOR", "QWKSWORK", "QEDUC")))
    assert [each.column for each in found.values()] == ([] if flagged is None else [flagged])


@pytest.mark.parametrize(
    ("listed", "values"),
    [
        (codes(_0="Not allocated", _1="Allocated"), ("1",)),
        (codes(_10="Original response used/Not imputed", _20="Imputed", _99="Unknown"), ("20",)),
        (codes(_0="NIU", _1="No change", _2="Value to value", _3="Allocated"), ("2", "3")),
        ((*codes(_0="No change"), Code("1", "Allocated", "3")), ("1", "2", "3")),
        (codes(_0="Unaltered case"), None),
        (codes(_1="Allocated", _2="Edited"), None),
        ((), None),
    ],
    ids=["usual", "unknown", "not asked", "a range", "nothing allocated", "nothing answered", "no labels"],
)
def test_codes_that_say_so_and_flags_that_would_be_a_guess(
    listed: tuple[Code, ...], values: tuple[str, ...] | None
) -> None:
    found = flags(variable("SEX", codes=TWO), flag("QSEX", listed=listed))
    assert found == ({} if values is None else {"SEX": Flag("QSEX", values)})


def test_what_is_no_flag() -> None:
    """Another collection, and a variable whose name is that of a flag by chance."""
    assert not flags(variable("SEX", codes=TWO), flag("QSEX"), collection="town.example")
    assert not flags(variable("SEX", codes=TWO), flag("QSEX", label="Quarters lived in"))


def test_a_ddi_codebook(folder: Path) -> None:
    amount = variable("INCTOT", measure=Measure.CONTINUOUS, start=0, width=7)
    marks = variable("QINCTOT", label="Flag for Inctot", codes=ALLOCATED, start=7, width=1)
    book: Codebook = read_ddi(written(folder, "usa.xml", ddi_of(codebook([amount, marks], collection=USA))))
    assert flags_of(book, ["INCTOT"], book.columns) == {"INCTOT": Flag("QINCTOT", ("1", "3", "4"))}
    assert not flags_of(book, ["INCTOT"], ["INCTOT"])


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the real data are not there")
def test_the_dictionary_of_the_acs() -> None:
    book = read_pums_dictionary(FOLDER / "acs_pums_2018" / "PUMS_Data_Dictionary_2018.csv.gz")
    found = flags_of(book, book.columns, book.columns)
    assert len(found) >= 120
    assert {flag.values for flag in found.values()} == {("1",)}
    named = {name: flag.column for name, flag in found.items()}
    wanted = {"AGEP": "FAGEP", "SEX": "FSEXP", "PINCP": "FPINCP", "RAC1P": "FRACP", "MIL": "FMILSP", "OCCP": "FOCCP"}
    assert wanted.items() <= named.items()
