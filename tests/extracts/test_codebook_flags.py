"""Flags of allocated values, as codebooks of IPUMS and of the Census Bureau name and label them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.codebook_cases import codebook, codes, ddi_of, variable, written
from support.real_data import FOLDER

from dpnb_columnar.extracts.codebooks.codebook import Code, Codebook, Flag, Measure
from dpnb_columnar.extracts.codebooks.ddi import read_ddi
from dpnb_columnar.extracts.codebooks.read import read_pums_dictionary
from dpnb_columnar.extracts.codebooks.to_domain import flags_of

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
