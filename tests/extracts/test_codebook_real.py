"""Codebooks that IPUMS shipped, against what is known of them and against ipumspy."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.real_data import FOLDER

from dpnb_columnar.extracts.codebooks.codebook import Form, Measure
from dpnb_columnar.extracts.codebooks.read import codebook_beside, read_codebook

EXTRACTS = {
    "cps_00006": (8, 43),
    "cps_00097": (14, 73),
    "cps_00361": (12, 72),
    "cps_00421": (14, 46),
    "usa_00172": (10, 60),
}
"""Variables, and characters of the longest line."""


def shipped(name: str) -> Path:
    """The codebook of one extract; skips the test where it is absent."""
    path = FOLDER / "ipums" / f"{name}.xml"
    if not path.is_file():
        pytest.skip(f"no codebook of a real extract: {path} is not there")
    return path


@pytest.mark.parametrize("name", EXTRACTS)
def test_extent(name: str) -> None:
    path = shipped(name)
    book = read_codebook(path)
    assert (book.name, book.collection, book.encoding) == (name, f"{name[:3]}.ipums.org", "iso-8859-1")
    ends = [one.start + one.width for one in book.variables if one.start is not None and one.width is not None]
    assert (len(book.variables), max(ends)) == EXTRACTS[name]
    if not book.record_types:  # no gap and no overlap
        assert sum(one.width or 0 for one in book.variables) == max(ends)
    assert codebook_beside(path.with_suffix(".dat.gz")) == path


def test_hierarchical() -> None:
    book = read_codebook(shipped("cps_00421"))
    assert (book.record_types, book.record_type_variable) == (("H", "P"), "RECTYPE")
    places = {one.name: (one.start, one.width, one.record_types) for one in book.variables}
    assert places["SERIAL"] == (5, 5, ("H", "P"))
    assert places["STATEFIP"] == (37, 2, ("H",))
    assert places["RACE"] == (43, 3, ("P",))


def test_the_data_set_is_named_by_its_samples() -> None:
    names = {name: read_codebook(shipped(name)).dataset for name in EXTRACTS}
    assert names["usa_00172"] == "usa_2012"
    assert names["cps_00421"] == "cps_2022-01_2023-01"


def test_details() -> None:
    found = {one.name: one for one in read_codebook(shipped("cps_00361")).variables}
    assert (found["HRSERSUF"].form, len(found["HRSERSUF"].codes)) == (Form.TEXT, 21)
    assert {code.label for code in found["HRSERSUF"].codes} == {""}  # one label for all: no key to tell codes apart
    assert (found["WTFINL"].decimals, found["WTFINL"].measure) == (4, Measure.CONTINUOUS)
    assert found["AGE"].concept == "Demographics Variables -- PERSON"
    income = {one.name: one for one in read_codebook(shipped("cps_00006")).variables}["INCTOT"]
    assert [code.value for code in income.codes] == ["99999999", "99999998"]


@pytest.mark.parametrize("name", EXTRACTS)
@pytest.mark.filterwarnings("ignore")  # of ipumspy's own
def test_ipumspy_reads_the_same(name: str) -> None:
    readers = pytest.importorskip("ipumspy.readers", reason="ipumspy is not installed")
    theirs = readers.read_ipums_ddi(shipped(name))
    ours = read_codebook(shipped(name))
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
