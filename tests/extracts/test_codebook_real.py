"""Codebooks of real extracts, and the domains made of them, against what is known of them and against ipumspy."""

from __future__ import annotations

import gzip
import zipfile
from fractions import Fraction
from functools import cache
from itertools import islice
from pathlib import Path

import polars as pl
import pytest
from support.codebook_cases import labelled, variable
from support.real_data import FOLDER

from dpnb_columnar.domain import Categorical, Domain, Missing, Numeric
from dpnb_columnar.domain.catalogue import packaged_entries
from dpnb_columnar.domain.declared_domain import ValueLabels
from dpnb_columnar.domain.words import applicable_labels
from dpnb_columnar.extracts.codebooks.codebook import Form, Measure
from dpnb_columnar.extracts.codebooks.read import codebook_beside, read_codebook
from dpnb_columnar.extracts.codebooks.to_domain import LeftOut, adult_like, amount_fact, domain_of

EXTRACTS = {
    "cps_00006": (8, 43),
    "cps_00097": (14, 73),
    "cps_00361": (12, 72),
    "cps_00421": (14, 46),
    "usa_00172": (10, 60),
}
"""Variables, and characters of the longest line."""


@pytest.mark.parametrize("name", EXTRACTS)
def test_extent(name: str) -> None:
    path = shipped(f"ipums/{name}.xml")
    book = read_codebook(path)
    assert (book.name, book.collection, book.encoding) == (name, f"{name[:3]}.ipums.org", "iso-8859-1")
    ends = [one.start + one.width for one in book.variables if one.start is not None and one.width is not None]
    assert (len(book.variables), max(ends)) == EXTRACTS[name]
    if not book.record_types:  # no gap and no overlap
        assert sum(one.width or 0 for one in book.variables) == max(ends)
    assert codebook_beside(path.with_suffix(".dat.gz")) == path


def test_details() -> None:
    found = {one.name: one for one in read_codebook(shipped("ipums/cps_00361.xml")).variables}
    assert (found["HRSERSUF"].form, len(found["HRSERSUF"].codes)) == (Form.TEXT, 21)
    assert {code.label for code in found["HRSERSUF"].codes} == {""}  # one label for all: no key to tell codes apart
    assert (found["WTFINL"].decimals, found["WTFINL"].measure) == (4, Measure.CONTINUOUS)
    assert found["AGE"].concept == "Demographics Variables -- PERSON"
    income = {one.name: one for one in read_codebook(shipped("ipums/cps_00006.xml")).variables}["INCTOT"]
    assert [code.value for code in income.codes] == ["99999999", "99999998"]


@pytest.mark.parametrize("name", EXTRACTS)
@pytest.mark.filterwarnings("ignore")  # of ipumspy's own
def test_ipumspy_reads_the_same(name: str) -> None:
    readers = pytest.importorskip("ipumspy.readers", reason="ipumspy is not installed")
    theirs = readers.read_ipums_ddi(shipped(f"ipums/{name}.xml"))
    ours = read_codebook(shipped(f"ipums/{name}.xml"))
    assert theirs.ipums_collection == ours.collection.partition(".")[0]
    assert len(theirs.data_description) == len(ours.variables)
    for they, we in zip(theirs.data_description, ours.variables, strict=True):
        assert they.name == we.name
        assert (they.start, they.end) == (we.start, (we.start or 0) + (we.width or 0))
        assert they.shift in ((we.decimals,) if we.decimals else (0, None))
        assert (they.vartype == "character") == (we.form is Form.TEXT)
        assert {"H P": ("H", "P"), "": ()}.get(they.rectype, (they.rectype,)) == we.record_types
        values = {code.value.lstrip("0") or "0" for code in we.codes}  # a subset: theirs are keyed by label
        assert {str(value).lstrip("0") or "0" for value in they.codes.values()} <= values


SHIPPED = [f"ipums/{name}.xml" for name in EXTRACTS]
DICTIONARY = "acs_pums_2018/PUMS_Data_Dictionary_2018.csv.gz"
LABEL = "AGE > 40"


def shipped(name: str) -> Path:
    """A file of the real data; skips the test where it is absent."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"no real codebook: {path} is not there")
    return path


@cache
def declared(source: Path | str) -> tuple[Domain, dict[str, str]]:
    """The domain of a codebook, labelled and read back from its declaration; and why what is not in it is left out."""
    domain, left_out = domain_of(read_codebook(source))
    assert all(isinstance(one, LeftOut) and one.reason for one in left_out)
    return labelled(domain, "SOMETHING > 40"), {one.name: one.reason for one in left_out}


@pytest.mark.parametrize("name", [*SHIPPED, DICTIONARY])
def test_every_codebook_says_where_its_rows_come_from(name: str) -> None:
    domain, _ = declared(shipped(name))
    known = domain.provenance.known() if domain.provenance else {}
    assert {*known} == {"name", "producer", "place", "period", "sample", "citation", "url"}
    assert known["place"] == "United States"
    if name != DICTIONARY:
        assert "[dataset]. Minneapolis, MN: " in known["citation"]
        assert "Publications" not in known["citation"]
        assert known["citation"].endswith(known["url"])
        assert known["url"].startswith("https://doi.org/10.18128/D0")


@pytest.mark.parametrize("name", [*SHIPPED, DICTIONARY])
def test_every_codebook_makes_a_domain(name: str) -> None:
    domain, left_out = declared(shipped(name))
    assert {one.name for one in read_codebook(shipped(name)).variables} == {one.name for one in domain} | set(left_out)
    unlabelled, _ = domain_of(read_codebook(shipped(name)))
    if "AGE" in unlabelled.columns:
        assert "AGE" not in {one.name for one in labelled(unlabelled, LABEL)}


def test_acs_agrees_with_what_the_catalogue_declares() -> None:
    domain, left_out = declared(shipped(DICTIONARY))
    entry = next(entry for entry in packaged_entries() if entry.name == "acs2018")
    for ours in entry.domain:
        found = domain[ours.name]
        if isinstance(ours, Numeric):
            assert (found.lower, found.upper, found.step) == (ours.lower, ours.upper, ours.step)
        else:
            assert found.values == ours.values
    income = domain["PINCP"]
    assert (income.lower, income.upper, income.missing) == (-19998, 200_000, Missing.CATEGORY)
    hours, age = domain["WKHP"], domain["AGEP"]
    assert (hours.missing, age.missing) == (Missing.CATEGORY, None)
    assert domain["SOCP"].name not in left_out
    assert {left_out[name] for name in ("PWGTP1", "WGTP80")} == {"a replicate weight"}
    assert len([name for name, reason in left_out.items() if reason == "a flag about how a value was edited"]) == 131
    chosen, without = adult_like(one.name for one in domain)
    assert not without
    assert chosen == (
        *("AGEP", "SEX", "RAC1P", "CIT", "MAR", "RELP", "SCHL", "ESR", "COW", "OCCP", "INDP", "WKHP", "WKW"),
    )


def test_acs_values_lie_in_the_domain() -> None:
    """Rows of one state: all values are declared, or blank; a few amounts lie beyond the bounds of published tables."""
    domain, _ = declared(shipped(DICTIONARY))
    with zipfile.ZipFile(shipped("acs_pums_2018/csv_pvt.zip")) as archive:
        rows = pl.read_csv(archive.read("psam_p50.csv"), infer_schema=False)
    compared = [one for one in domain if one.name in rows.columns]
    assert len(compared) > 100
    for one in compared:
        column = rows[one.name].drop_nulls()
        if isinstance(one, Numeric):
            outside = ((numbers := column.cast(pl.Int64)) < float(one.lower)) | (numbers > float(one.upper))
            fact = amount_fact(variable(one.name), "census.gov")
            assert outside.sum() <= (0 if fact.upper is None else 0.02 * len(rows)), one.name
            assert one.missing is Missing.CATEGORY or not rows[one.name].null_count(), one.name
        else:
            whole = all(value.lstrip("-").isdigit() for value in one.values)
            written = column.cast(pl.Int64).cast(pl.String) if whole else column.str.strip_chars_end()
            assert set(written) <= {*one.values, *one.missing_values}, one.name
            assert one.missing is Missing.CATEGORY or not rows[one.name].null_count(), one.name


@pytest.mark.parametrize("name", SHIPPED)
def test_ipums_values_lie_in_the_domain(name: str) -> None:
    """The first lines of each extract, cut by hand: every value is declared, as an amount, a category or missing."""
    book = read_codebook(shipped(name))
    variables = {one.name: one for one in book.variables}
    with gzip.open(shipped(name.replace(".xml", ".dat.gz")), "rt", encoding=book.encoding) as file:
        lines = [line.rstrip("\n") for line in islice(file, 20_000)]
    for attribute in domain_of(book)[0].attributes:
        one = variables[attribute.name]
        assert one.width is not None
        held = {
            int(line[one.start : one.start + one.width])
            for line in lines
            if not one.record_types or line[0] in one.record_types
        }
        if isinstance(attribute, Numeric):
            within = {value for value in held if attribute.lower <= value <= attribute.upper}
            assert held <= within | set(attribute.missing_values), one.name
        else:
            assert {str(value) for value in held} <= {*attribute.values, *attribute.missing_values}, one.name


def test_1940() -> None:
    domain, left_out = declared("ipums1940")
    assert len(domain.attributes) + len(left_out) == 151  # 155, four of them on both record types
    wage = domain["INCWAGE"]
    assert (wage.lower, wage.upper, set(wage.missing_values)) == (0, 200_000, {999_998, 999_999})
    assert domain["WKSWORK1"] == Numeric("WKSWORK1", Fraction(0), Fraction(52), Fraction(1))
    prestige = domain["PRESGL"]
    assert (prestige.upper, prestige.step) == (Fraction("99.9"), Fraction("0.1"))
    married = domain["MARRNO"]
    assert married == Categorical("MARRNO", tuple("0123456"), Missing.CATEGORY, ("7", "8", "9"))
    for name in ("HISTID", "SERIAL", "PERWT", "RECTYPE", "YEAR", "MOMLOC", "OCC", "COUNTY", "BPLD"):
        assert name in left_out


def test_1940_holds_what_the_catalogue_declares() -> None:
    domain, _ = declared("ipums1940")
    entry = next(entry for entry in packaged_entries() if entry.name == "ipums1940")
    for ours in entry.domain:
        found = domain[ours.name]
        if isinstance(ours, Categorical):
            assert {*ours.values, *ours.missing_values} == {*found.values, *found.missing_values}
        else:
            assert (found.lower, found.step) == (ours.lower, ours.step)
            assert found.upper >= ours.upper
            assert set(ours.missing_values) <= set(found.missing_values)


def test_1940_is_adult_like() -> None:
    domain, _ = declared("ipums1940")
    chosen, without = adult_like(one.name for one in domain)
    assert chosen == (
        *("AGE", "SEX", "RACE", "NATIVITY", "MARST", "RELATE", "EDUC", "EMPSTAT", "CLASSWKR", "SEI", "IND1950"),
        *("HRSWORK1", "WKSWORK1"),
    )
    assert without == ()
    assert adult_like(one.name for one in read_codebook("ipums1940").variables) == (chosen, ())


def test_value_labels_of_the_catalogue_are_those_of_the_codebooks() -> None:
    entries = {entry.name: entry.declared for entry in packaged_entries()}
    assert entries["acs2018"].value_labels == applicable_labels(
        entries["acs2018"], codebook_labels(shipped(DICTIONARY))
    )
    assert entries["ipums1940"].value_labels == applicable_labels(entries["ipums1940"], codebook_labels("ipums1940"))


def codebook_labels(source: Path | str) -> ValueLabels:
    return domain_of(read_codebook(source))[0].value_labels
