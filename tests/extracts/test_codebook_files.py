"""Which file is read as which form of codebook, and which codebook goes with an extract."""

from __future__ import annotations

import gzip
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.codebook_cases import codebook, ddi_of, labelled, layout_of, variable, written

from dpnb_columnar.errors import ConfigurationError, MissingInputError
from dpnb_columnar.extracts.codebooks.codebook import Code
from dpnb_columnar.extracts.codebooks.read import codebook_beside, packaged_layouts, read_codebook
from dpnb_columnar.extracts.codebooks.to_domain import domain_of

TOWN = codebook([variable("SEX")])
DICTIONARY = 'NAME,SEX,C,1,""\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("town.xml", ddi_of(TOWN)),
        ("town.ddi.xml", ddi_of(TOWN)),
        ("TOWN.XML", ddi_of(TOWN)),
        ("town.toml", layout_of(TOWN)),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_form_by_name(name: str, content: str, compressed: bool, folder: Path) -> None:
    data = gzip.compress(content.encode()) if compressed else content.encode()
    path = written(folder, name + ".gz" * compressed, data)
    for named in (path, str(path), path.name):
        assert read_codebook(named).variables == TOWN.variables


def test_dictionary_by_name(folder: Path) -> None:
    assert read_codebook(written(folder, "dictionary.csv", DICTIONARY)).collection == "census.gov"


def test_packaged_layouts_by_name(folder: Path) -> None:
    for name in packaged_layouts():
        assert read_codebook(name).name == name
    (folder / "ipums1940").mkdir()  # of extracts, perhaps
    assert read_codebook("ipums1940").name == "ipums1940"
    (folder / "ipums1940").rmdir()
    written(folder, "ipums1940", "")
    with pytest.raises(ConfigurationError, match="ipums1940: no codebook by its name"):
        read_codebook("ipums1940")


def test_what_is_no_codebook(folder: Path) -> None:
    with pytest.raises(MissingInputError, match=r"none\.xml: no such codebook; .* packaged layout \(.*ipums1940.*\)"):
        read_codebook("none.xml")
    with pytest.raises(ConfigurationError, match=r"town\.sas: no codebook by its name; give a DDI codebook \(\.xml\)"):
        read_codebook(written(folder, "town.sas", ""))


@pytest.mark.parametrize(
    ("extract", "beside", "found"),
    [
        ("cps_1.dat.gz", ["cps_1.xml"], "cps_1.xml"),
        ("cps_1.dat", ["cps_1.xml"], "cps_1.xml"),
        ("cps_1.csv.gz", ["cps_1.xml.gz"], "cps_1.xml.gz"),
        ("cps_1.dat.gz", ["cps_1.ddi.xml"], "cps_1.ddi.xml"),
        ("cps_1.dat.gz", ["cps_1.dat.xml"], "cps_1.dat.xml"),
        ("cps_1.dat.gz", ["cps_1.ddi.xml", "cps_1.xml"], "cps_1.xml"),
        ("cps_1.dat.gz", ["cps_2.xml", "cps_1.toml"], None),
        ("cps_1.dat.gz", [], None),
        ("cps_1.xml", ["cps_1.xml"], None),
    ],
)
def test_codebook_beside_an_extract(extract: str, beside: list[str], found: str | None, folder: Path) -> None:
    for name in beside:
        written(folder, name, "")
    assert codebook_beside(folder / extract) == (None if found is None else folder / found)


SEXES = codebook([variable("SEX", codes=(Code("1", "Male"), Code("2", "Female"), Code("9", "Unknown")))])
DAMAGED = {
    "town.xml": ddi_of(SEXES),
    "town.toml": layout_of(SEXES),
    "town.csv": 'NAME,SEX,C,1,"Sex"\nVAL,SEX,C,1,"b","b","N/A"\nVAL,SEX,C,1,"1","2","Male or female"\n',
}


@pytest.mark.parametrize("name", DAMAGED)
@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(
    place=st.integers(0, 2000),
    length=st.integers(0, 9),
    put=st.binary(max_size=6) | st.sampled_from([b"0", b"-", b'"']),
)
def test_damage_is_refused_or_harmless(name: str, place: int, length: int, put: bytes, tmp_path: Path) -> None:
    """Whatever happens to a codebook, it is read and makes a domain that can be declared, or it is refused in words."""
    content = DAMAGED[name].encode()
    place %= len(content)
    path = written(tmp_path, name, content[:place] + put + content[place + length :])
    with suppress(ConfigurationError):
        domain, _ = domain_of(read_codebook(path))
        assert not domain.attributes or labelled(domain)
