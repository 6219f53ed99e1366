"""Codebooks by their names, layouts in the project's own form, and data dictionaries of the ACS."""

from __future__ import annotations

import csv
import gzip
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.codebook_cases import codebook, codebooks, codes, ddi_of, labelled, layout_of, variable, written
from support.real_data import FOLDER

from dpnb_columnar.domain.declared_domain import Provenance
from dpnb_columnar.errors import ConfigurationError, MissingInputError
from dpnb_columnar.extracts.codebooks.codebook import Code, Codebook, Form, Measure
from dpnb_columnar.extracts.codebooks.read import (
    codebook_beside,
    packaged_layouts,
    read_codebook,
    read_layout_file,
    read_pums_dictionary,
)
from dpnb_columnar.extracts.codebooks.to_domain import domain_of

TOWN = """
record_types = ["H", "P"]
record_type_variable = "KIND"
[[variable]]
name = "KIND"
columns = [1, 1]
record_types = ["H", "P"]
form = "text"
[[variable]]
name = "SEX"
columns = [2, 2]
record_types = ["P"]
codes = { 1 = "Male", 2 = "Female" }
"""


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(book=codebooks())
def test_any_codebook_is_read_as_written(book: Codebook, tmp_path: Path) -> None:
    path = written(tmp_path, "town.toml", layout_of(book))
    assert read_layout_file(path) == replace(book, source=str(path))


def test_the_documented_example_and_what_is_left_out(tmp_path: Path) -> None:
    documentation = Path(__file__).parents[2] / "docs" / "extracts.md"
    example = documentation.read_text("utf-8").split("```toml\n")[1].split("```")[0]
    book = read_layout_file(written(tmp_path, "town.toml", example))
    assert (book.name, book.record_types, book.record_type_variable) == ("town1930", ("H", "P"), "KIND")
    assert book.provenance == Provenance(
        name="Census of Town", producer="Town", period="1930", citation="Town. Census of 1930."
    )
    kind, sex = book.variables
    assert (kind.form, kind.measure, kind.codes) == (Form.TEXT, Measure.CONTINUOUS, ())
    assert sex == variable("SEX", start=1, record_types=("P",), label="Sex", codes=sex.codes)
    assert sex.codes == (Code("1", "Male"), Code("2", "Female"), Code("9", "Unknown"))


def test_a_delimited_extract_has_no_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "town.toml.gz", gzip.compress(b'[[variable]]\nname = "AGE"\n'))
    book = read_layout_file(path)
    assert book.name == "town"
    assert book.variables == (variable("AGE", start=None, width=None, measure=Measure.CONTINUOUS),)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("record_types", "record_kinds", "layout.record_kinds: unknown key; did you mean record_types?"),
        ('form = "text"', 'from = "text"', "'KIND'.from: unknown key; did you mean form?"),
        ('form = "text"', 'form = "words"', "'KIND'.form: expected one of number, text, found 'words'"),
        ("[2, 2]", "[2]", "'SEX'.columns: expected its first and last column such as [5, 7], found [2]"),
        ('{ 1 = "Male", 2 = "Female" }', '["Male"]', "'SEX'.codes: expected a table"),
        ('"Male"', "1", "'SEX'.codes.1: expected text, found 1"),
        ('1 = "Male"', '"1\\nFORGED" = 1', r""" 'SEX'.codes."1\nFORGED": expected text, found 1"""),
        ('name = "SEX"', "name = 3", "3.name: expected text, found 3"),
        ('name = "SEX"', 'name = "SEX"\ndecimals = true', "'SEX'.decimals: expected a whole number, found True"),
        ('name = "SEX"', 'name = "SEX"\ndecimals = 3000000000', "'SEX': it has more than 18 implied decimals"),
        ('name = "SEX"', 'name = "SEX"\ndecimals = 1e999999999999999999999', "not a TOML file: a number in it is out"),
        ("[[variable]]", "[variable]", "not a TOML file"),
        ('record_type_variable = "KIND"', "variable = 3", "not a TOML file"),
        ("record_types = ", "record_types = " + "[" * 9999, "not a TOML file"),
        ("KIND", "\xe9", "not UTF-8 text; save the codebook as UTF-8"),
    ],
)
def test_refusals_name_the_variable(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in TOWN
    path = written(tmp_path, "town.toml", TOWN.replace(old, new).encode("latin-1"))
    with pytest.raises(ConfigurationError) as caught:
        read_layout_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)


def test_variables_are_tables(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"variable: expected tables \[\[variable\]\], found 3"):
        read_layout_file(written(tmp_path, "town.toml", "variable = 3"))
    with pytest.raises(ConfigurationError, match="variable 1: expected a table, found 3"):
        read_layout_file(written(tmp_path, "town.toml", "variable = [3]"))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="cannot be read"):
        read_layout_file(tmp_path / "none.toml")


@pytest.fixture(scope="module")
def census() -> Codebook:
    return read_codebook("ipums1940")


def test_1940_is_packaged() -> None:
    assert "ipums1940" in packaged_layouts()


def test_1940_lines_are_filled_without_a_gap(census: Codebook) -> None:
    for kind, count, end in (("H", 53, 159), ("P", 102, 273)):
        found = [one for one in census.variables if one.record_types == (kind,)]
        assert len(found) == count
        column = 0
        for one in found:
            assert one.start == column
            assert one.width is not None
            column += one.width
        assert column == end


def test_1940_record_types(census: Codebook) -> None:
    assert (census.record_types, census.record_type_variable) == (("H", "P"), "RECTYPE")
    on_both = [{one.name for one in census.variables if one.record_types == (kind,)} for kind in "HP"]
    assert on_both[0] & on_both[1] == {"RECTYPE", "YEAR", "DATANUM", "SERIAL"}


def test_1940_codes_fit_their_columns(census: Codebook) -> None:
    for one in census.variables:
        assert all(len(code.value) == one.width and code.value.isdigit() and code.label for code in one.codes), one.name
    found = {one.name: one for one in census.variables}
    assert found["SEX"].codes == (Code("1", "Male"), Code("2", "Female"))
    assert (found["PERWT"].decimals, found["CPI99"].decimals, found["SEI"].decimals) == (2, 3, 0)
    assert len(found["IND1950"].codes) == 162


def test_1940_agrees_with_the_published_table(census: Codebook) -> None:
    table = FOLDER / "ipums1940_layout.tsv"
    if not table.is_file():
        pytest.skip(f"no table of the layout: {table} is not there")
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(rows) == len(census.variables) == 155
    for row, one in zip(rows, census.variables, strict=True):
        assert (row["name"], row["rectype"]) == (one.name, *one.record_types)
        assert (int(row["start"]), int(row["width"])) == (one.start + 1, one.width)
        assert (row["type"] == "str", int(row["implied_decimals"])) == (one.form is Form.TEXT, one.decimals)
        assert " ".join(row["label"].split()) == one.label
        listed = [code.split("=", 1) for code in row["codes"].split("|")] if row["codes"] else []
        if listed:
            assert [(value, " ".join(label.split())) for value, label in listed] == [
                (code.value, code.label) for code in one.codes
            ]
        elif one.codes:  # a list longer than the table gives
            assert len(one.codes) == int(row["n_codes"])
            assert row["code_range"] == f"{one.codes[0].value}..{one.codes[-1].value}"


SEX_ALONE = codebook([variable("SEX")])
SEX_DICTIONARY = 'NAME,SEX,C,1,""\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("town.xml", ddi_of(SEX_ALONE)),
        ("town.ddi.xml", ddi_of(SEX_ALONE)),
        ("SEX_ALONE.XML", ddi_of(SEX_ALONE)),
        ("town.toml", layout_of(SEX_ALONE)),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_form_by_name(name: str, content: str, compressed: bool, folder: Path) -> None:
    data = gzip.compress(content.encode()) if compressed else content.encode()
    path = written(folder, name + ".gz" * compressed, data)
    for named in (path, str(path), path.name):
        assert read_codebook(named).variables == SEX_ALONE.variables


def test_dictionary_by_name(folder: Path) -> None:
    assert read_codebook(written(folder, "dictionary.csv", SEX_DICTIONARY)).collection == "census.gov"


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


DICTIONARY = """NAME,RT,C,1,"Record Type"
VAL,RT,C,1,"H","H","Housing Record"
VAL,RT,C,1,"P","P","Person Record"
NAME,WKHP,N,2,"Usual hours worked per week"
VAL,WKHP,N,2,"bb","bb","N/A (did not work)"
VAL,WKHP,N,2,"1","98","1 to 98 usual hours"
VAL,WKHP,N,2,"99","99","99 or more, ""usual"" hours"

NAME,HISP,C,2,"Recoded detailed Hispanic origin"
VAL,HISP,C,2,"01","01","Not Spanish"
VAL,HISP,C,2,"02","02","Mexican"
NAME,RT,C,1,"Record Type"
VAL,RT,C,1,"H","H","Housing Record"
VAL,RT,C,1,"P","P","Person Record"
"""


@pytest.mark.parametrize(
    ("factors", "sample"),
    [
        (["2018 factor (1.013097)"], "acs2018"),
        (["2018 factor (1.01)", "2014 factor (1.07)", "2016 factor (1.06)"], "acs2014-2018"),
        (["a factor"], "PUMS_Data"),
    ],
)
def test_the_sample_is_named_by_its_years_whatever_the_file_is_called(
    factors: list[str], sample: str, tmp_path: Path
) -> None:
    lines = [f'VAL,ADJINC,C,7,"{number}","{number}","{text}"\n' for number, text in enumerate(factors, 1000000)]
    written(tmp_path, "PUMS_Data.csv", DICTIONARY + 'NAME,ADJINC,C,7,"Adjustment"\n' + "".join(lines))
    book = read_pums_dictionary(tmp_path / "PUMS_Data.csv")
    assert book.dataset == sample
    years = sample.removeprefix("acs") if sample != "PUMS_Data" else ""
    assert book.provenance.period == years
    assert book.provenance.citation == (
        f"Source: U.S. Census Bureau, {years} American Community Survey Public Use Microdata Sample".replace("  ", " ")
    )


def test_a_dictionary_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, "PUMS_Data_Dictionary_2018.csv", DICTIONARY)
    book = read_pums_dictionary(path)
    assert (book.source, book.name, book.collection) == (str(path), "PUMS_Data_Dictionary_2018", "census.gov")
    assert (book.record_types, book.record_type_variable, book.encoding) == ((), None, "utf-8")
    hours = (
        Code("", "N/A (did not work)"),
        Code("1", "1 to 98 usual hours", "98"),
        Code("99", '99 or more, "usual" hours'),
    )
    assert book.variables == (
        variable(
            "RT", start=None, form=Form.TEXT, label="Record Type", codes=codes(H="Housing Record", P="Person Record")
        ),
        variable(
            *("WKHP",),
            start=None,
            width=2,
            measure=Measure.CONTINUOUS,
            label="Usual hours worked per week",
            codes=hours,
        ),
        variable(
            *("HISP",),
            start=None,
            width=2,
            label="Recoded detailed Hispanic origin",
            codes=codes(_01="Not Spanish", _02="Mexican"),
        ),
    )


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf" + DICTIONARY.encode(), DICTIONARY.replace("\n", "\r\n").encode()])
def test_byte_order_mark_and_line_ends_do_not_matter(content: bytes, tmp_path: Path) -> None:
    expected = read_pums_dictionary(written(tmp_path, "a.csv", DICTIONARY)).variables
    assert read_pums_dictionary(written(tmp_path, "b.csv.gz", gzip.compress(content))).variables == expected


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("NAME,WKHP", "NAMED,WKHP", "line 4 is no record of a data dictionary"),
        ("VAL,WKHP,N,2,", "VAL,WKHP,N,", "line 5 is no record of a data dictionary"),
        ("VAL,HISP", "VAL,RT", "line 10 is no record of a data dictionary"),
        ('"01","01","Not', '"01","01"x,"Not', "line 10 is no record of a data dictionary"),
        ("NAME,HISP,C,2,", "NAME,HISP,C,0,", "'HISP': its width is 0"),
        ("NAME,HISP", "NAME,,", "is no record of a data dictionary"),
        ("Mexican", "\x1b[31m", "the label of a code holds a control character"),
        (",HISP,", ",hisp,", ""),
        (",HISP,", ",wkhp,", "'WKHP': 2 variables of this name"),
    ],
)
def test_what_is_refused(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in DICTIONARY
    path = written(tmp_path, "dictionary.csv", DICTIONARY.replace(old, new))
    if not said:
        assert read_pums_dictionary(path).variables
        return
    with pytest.raises(ConfigurationError) as caught:
        read_pums_dictionary(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)


def test_a_variable_described_in_two_ways(tmp_path: Path) -> None:
    changed = DICTIONARY + 'NAME,HISP,C,3,"Something else"\n'
    with pytest.raises(ConfigurationError, match="'HISP': line 15 describes it in another way"):
        read_pums_dictionary(written(tmp_path, "dictionary.csv", changed))
