"""Flags of allocated values, as codebooks of IPUMS and of the Census Bureau name and label them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from support.codebook_cases import codebook, codes, ddi_of, variable, written
from support.real_data import FOLDER
from support.running import Run

from dpnb_columnar.domain import Imputed
from dpnb_columnar.extracts.codebooks.codebook import Code, Codebook, Measure
from dpnb_columnar.extracts.codebooks.ddi import read_ddi
from dpnb_columnar.extracts.codebooks.pums import read_pums_dictionary
from dpnb_columnar.extracts.codebooks.to_domain import domain_of, flags_of

USA = "usa.ipums.org"
TWO = codes(_1="Male", _2="Female")
ALLOCATED = codes(_0="Unaltered case", _1="Allocated, illegible", _3="Logical edit", _4="Hot deck allocation")


def flags(*variables: object, collection: str = USA) -> dict[str, tuple[Imputed, ...]]:
    book = codebook(variables, collection=collection)  # type: ignore[arg-type]
    return dict(domain_of(book)[0].available_imputed)


def flag(name: str, label: str = "Flag for Sex", listed: tuple[Code, ...] = ALLOCATED) -> object:
    return variable(name, label=label, codes=listed)


def test_a_flag_of_ipums() -> None:
    assert flags(variable("SEX", codes=TWO), flag("QSEX")) == {"SEX": (Imputed("QSEX", ("1", "3", "4")),)}


@pytest.mark.parametrize(
    ("name", "flagged"),
    [("RACED", "QRACE"), ("UHRSWORK", "QUHRSWOR"), ("WKSWORK1", "QWKSWORK"), ("EDUC", "QEDUC"), ("SEX", None)],
)
def test_names_that_are_short_or_of_several_variables(name: str, flagged: str | None) -> None:
    found = flags(variable(name, codes=TWO), *(flag(each) for each in ("QRACE", "QUHRSWOR", "QWKSWORK", "QEDUC")))
    assert [each.column for each in found.get(name, ())] == ([] if flagged is None else [flagged])


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
    assert found == ({} if values is None else {"SEX": (Imputed("QSEX", values),)})


def test_what_is_no_flag() -> None:
    """Another collection, and a variable whose name is that of a flag by chance."""
    assert not flags(variable("SEX", codes=TWO), flag("QSEX"), collection="town.example")
    assert not flags(variable("SEX", codes=TWO), flag("QSEX", label="Quarters lived in"))


PUMS = """NAME,AGEP,N,2,"Age"
VAL,AGEP,N,2,"0","99","0 to 99 years"
NAME,RAC1P,C,1,"Race"
VAL,RAC1P,C,1,"1","1","White alone"
VAL,RAC1P,C,1,"2","2","Other"
NAME,FER,C,1,"Gave birth"
VAL,FER,C,1,"1","1","Yes"
VAL,FER,C,1,"2","2","No"
NAME,FAGEP,C,1,"Age allocation flag"
VAL,FAGEP,C,1,"0","0","No"
VAL,FAGEP,C,1,"1","1","Yes"
NAME,FRACP,C,1,"Detailed race allocation flag"
VAL,FRACP,C,1,"0","0","No"
VAL,FRACP,C,1,"1","1","Yes"
"""


@pytest.fixture
def town(folder: Path) -> Path:
    """An extract of ACS PUMS with its dictionary: every third age and every fifth race was allocated."""
    written(folder, "dictionary.csv", PUMS)
    rows = [f"{20 + age},{1 + age % 2},{1 + age % 4 // 2},{int(age % 3 == 0)},{int(age % 5 == 0)}" for age in range(60)]
    return written(folder, "psam_p01.csv", "\n".join(["AGEP,RAC1P,FER,FAGEP,FRACP", *rows, ""]))


def test_ingest_keeps_the_flags_of_the_columns_it_writes(town: Path, run: Run) -> None:
    options = [town, "--codebook", "dictionary.csv", "--output"]
    out = run("ingest", *options, "all.parquet", "--columns", "AGEP,FER").out
    assert pl.read_parquet_schema("all.parquet").names() == ["AGEP", "FER", "FAGEP"]
    assert "flags of allocated values available: for AGEP" in out
    assert "add --imputed missing to train" in out
    answers = run("ingest", *options, "answers.parquet", "--imputed", "missing").out
    assert "Allocated values of AGEP, RAC1P do not count" in answers
    report = run("check", "answers.parquet", "--label", "RAC1P").out
    assert "AGEP 33.3%, (label) 20.0%" in report
    assert "the data have flags of allocated values for AGEP" in run("check", "all.parquet", "--label", "FER = 1").out


def test_ingest_without_flags_refuses_to_use_them(town: Path, run: Run) -> None:
    written(town.parent, "bare.csv", "\n".join(PUMS.splitlines()[:5]) + "\n")
    written(town.parent, "psam_p02.csv", "AGEP,RAC1P\n30,1\n31,2\n")
    options = ["--codebook", "bare.csv", "--imputed", "missing", "--output", "bare.parquet"]
    error = run("ingest", "psam_p02.csv", *options, expected=64).err
    assert "bare.csv: --imputed missing: the domain knows no flag of its columns" in error


def test_a_ddi_codebook(folder: Path) -> None:
    amount = variable("INCTOT", measure=Measure.CONTINUOUS, start=0, width=7)
    marks = variable("QINCTOT", label="Flag for Inctot", codes=ALLOCATED, start=7, width=1)
    book: Codebook = read_ddi(written(folder, "usa.xml", ddi_of(codebook([amount, marks], collection=USA))))
    assert flags_of(book, ["INCTOT"]) == {"INCTOT": (Imputed("QINCTOT", ("1", "3", "4")),)}


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the real data are not there")
def test_the_dictionary_of_the_acs() -> None:
    book = read_pums_dictionary(FOLDER / "acs_pums_2018" / "PUMS_Data_Dictionary_2018.csv.gz")
    found = domain_of(book)[0].available_imputed
    assert len(found) >= 120
    assert {flag.values for flags in found.values() for flag in flags} == {("1",)}
    named = {name: flags[0].column for name, flags in found.items()}
    wanted = {"AGEP": "FAGEP", "SEX": "FSEXP", "PINCP": "FPINCP", "RAC1P": "FRACP", "MIL": "FMILSP", "OCCP": "FOCCP"}
    assert wanted.items() <= named.items()
