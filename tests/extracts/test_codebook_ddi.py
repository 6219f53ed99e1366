"""DDI codebooks: read as written, and nothing else in them does harm."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import HealthCheck, given, settings
from support.codebook_cases import codebook, codebooks, codes, ddi_of, variable, written

from dpnb_columnar.domain.declared_domain import Provenance
from dpnb_columnar.errors import ConfigurationError, MissingInputError
from dpnb_columnar.extracts.codebooks import codebook as checks
from dpnb_columnar.extracts.codebooks.codebook import Code, Codebook, Form, Measure
from dpnb_columnar.extracts.codebooks.read import read_ddi

TOWN = codebook(
    [
        variable("KIND", form=Form.TEXT, record_types=("H", "P"), codes=codes(H="Household", P="Person")),
        variable("RENT", start=1, width=4, decimals=2, measure=Measure.CONTINUOUS, record_types=("H",)),
        variable("SEX", start=1, label="Sex", record_types=("P",), codes=codes(_1="Male", _2="Female", _9="Female")),
    ],
    collection="usa.ipums.org",
    record_types=("H", "P"),
    record_type_variable="KIND",
    encoding="iso-8859-1",
)


def refused(path: Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read_ddi(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(book=codebooks())
def test_any_codebook_is_read_as_written(book: Codebook, tmp_path: Path) -> None:
    path = written(tmp_path, "town.xml", ddi_of(book))
    assert read_ddi(path) == replace(book, source=str(path))


@pytest.mark.parametrize(
    ("series", "periods", "name"),
    [
        ("usa", ["2012"], "usa_2012"),
        ("cps", ["2023-01", "2022-01", "2022-01"], "cps_2022-01_2023-01"),
        ("cps", [str(year) for year in range(1962, 2024)], "cps_1962_to_2023_62_samples"),
        ("cps", [], "town"),
        ("", ["2012"], "town"),
        ("u s a", ["2012"], "town"),
        ("usa", ["2012\n"], "town"),
    ],
)
def test_the_samples_name_the_data_set_where_they_are_known(
    series: str, periods: list[str], name: str, tmp_path: Path
) -> None:
    samples = "".join(f"<sumDscr><timePrd date={quoteattr(period)}/></sumDscr>" for period in periods)
    study = f"<stdyDscr><serStmt><serName abbr={quoteattr(series)}>IPUMS</serName></serStmt>{samples}</stdyDscr>"
    text = ddi_of(TOWN).replace("<fileDscr>", f"{study}<fileDscr>", 1)
    assert read_ddi(written(tmp_path, "town.xml", text)).dataset == name


STUDY = """<docDscr><citation><titlStmt><titl>Codebook of an extract</titl></titlStmt>
<rspStmt><AuthEnty affiliation="A press">Somebody else</AuthEnty></rspStmt></citation></docDscr>
<stdyDscr><citation><titlStmt><titl>User Extract town.dat</titl></titlStmt>
<rspStmt><AuthEnty affiliation="University of Town">TOWNS</AuthEnty></rspStmt>
<serStmt><serName abbr="tow">TOWNS
  USA</serName><serInfo>DOI:10.18128/D999.V1.0</serInfo></serStmt></citation>
<stdyInfo><sumDscr><timePrd date="2013">2013</timePrd><nation abbr="us">United States</nation></sumDscr>
<sumDscr><timePrd date="2012">2012</timePrd><nation abbr="us">United States</nation></sumDscr>
<notes><![CDATA[Additional notes on a sample that is part of this study:  TOWNS, March 2012; regular size
  Density: 0.01%
]]></notes></stdyInfo>
<dataAccs><useStmt><contact URI="https://towns.example"/>
<citReq><![CDATA[Publications must cite it. The citation should include the following:

A. Writer and B. Other.  TOWNS: Version 1.0 [dataset]. Town, 2023. https://doi.org/10.18128/D999.V1.0

Please add your citation to the bibliography: http://bibliography.example/]]></citReq></useStmt></dataAccs>
<notes>User-provided description: my secret plan</notes></stdyDscr>"""
CITED = Provenance(
    name="TOWNS USA",
    producer="TOWNS, University of Town",
    place="United States",
    period="2012; 2013",
    sample="TOWNS, March 2012, regular size",
    citation="A. Writer and B. Other. TOWNS: Version 1.0 [dataset]. Town, 2023. https://doi.org/10.18128/D999.V1.0",
    url="https://doi.org/10.18128/D999.V1.0",
)


def provenance_of(study: str, folder: Path) -> Provenance | None:
    text = ddi_of(TOWN).replace("<fileDscr>", f"{study}<fileDscr>", 1)
    return read_ddi(written(folder, "town.xml", text)).provenance


def test_the_study_says_where_the_rows_come_from_and_how_to_cite_them(tmp_path: Path) -> None:
    assert provenance_of(STUDY, tmp_path) == CITED


@pytest.mark.parametrize(
    ("study", "provenance"),
    [
        ("", None),
        ("<stdyDscr><citation/></stdyDscr>", None),
        (
            "<stdyDscr><citation><titlStmt><titl>Town survey</titl><IDNo agency='DOI'>doi:10.5255/UKDA-SN-1-2</IDNo>"
            "</titlStmt><prodStmt><producer>Town office</producer></prodStmt><biblCit>Town office (2020). Town survey."
            "</biblCit></citation></stdyDscr>",
            Provenance(
                name="Town survey",
                producer="Town office",
                citation="Town office (2020). Town survey.",
                url="https://doi.org/10.5255/UKDA-SN-1-2",
            ),
        ),
        (
            "<stdyDscr><useStmt><citReq>Cite the\n\noffice.</citReq><contact URI='https://town.example'/></useStmt>"
            "</stdyDscr>",
            Provenance(citation="Cite the office.", url="https://town.example"),
        ),
        (
            f"<stdyDscr><citation><titlStmt><titl>{'t' * 300}</titl></titlStmt></citation></stdyDscr>",
            Provenance(name=f"{'t' * 253}..."),
        ),
    ],
)
def test_what_a_study_does_not_say_is_left_out(study: str, provenance: Provenance | None, tmp_path: Path) -> None:
    assert provenance_of(study, tmp_path) == provenance


def test_a_control_character_in_the_source_is_refused(tmp_path: Path) -> None:
    study = STUDY.replace("A. Writer", "A. \x9bWriter")
    text = ddi_of(TOWN).replace("<fileDscr>", f"{study}<fileDscr>", 1)
    said = refused(written(tmp_path, "town.xml", text))
    assert "source: its name, producer, place or citation holds a control character" in said


@pytest.mark.parametrize("namespace", ["ddi:codebook:2_5", "http://www.icpsr.umich.edu/DDI", ""])
def test_the_namespace_does_not_matter(namespace: str, tmp_path: Path) -> None:
    path = written(tmp_path, "town.xml", ddi_of(TOWN, namespace))
    assert read_ddi(path) == replace(TOWN, source=str(path))


def test_compressed_codebook(tmp_path: Path) -> None:
    path = written(tmp_path, "town.xml.gz", gzip.compress(ddi_of(TOWN).encode()))
    assert read_ddi(path).variables == TOWN.variables


def test_codes_of_one_label_are_all_kept(tmp_path: Path) -> None:
    sex = read_ddi(written(tmp_path, "town.xml", ddi_of(TOWN))).variables[2]
    assert [code.value for code in sex.codes if code.label == "Female"] == ["2", "9"]


def test_coding_instructions_explain_codes_where_no_category_does(tmp_path: Path) -> None:
    wage = variable("WAGE", width=7, measure=Measure.CONTINUOUS)
    told = (
        "Codes WAGE is a 7-digit variable.\n\n 9999999 = N.I.U. (Not in Universe).\n-000,001=Net  loss\n"
        "12345678 = too wide\nnote: 3 = 3\n"
    )
    content = ddi_of(codebook([wage])).replace("<concept>", f"<codInstr><![CDATA[{told}]]></codInstr><concept>")
    (read,) = read_ddi(written(tmp_path, "town.xml", content)).variables
    assert read.codes == (Code("9999999", "N.I.U. (Not in Universe)."), Code("-000001", "Net loss"))
    labelled = ddi_of(codebook([replace(wage, codes=codes(_1="one"))])).replace(
        "<concept>", f"<codInstr>{told}</codInstr><concept>"
    )
    (read,) = read_ddi(written(tmp_path, "town.xml", labelled)).variables
    assert read.codes == codes(_1="one")


def test_what_a_codebook_may_leave_out(tmp_path: Path) -> None:
    bare = '<codeBook><dataDscr><var name="A"><location width="3"/></var><var name="B"/></dataDscr></codeBook>'
    read = read_ddi(written(tmp_path, "bare.xml", bare))
    assert (read.name, read.collection, read.encoding, read.record_types) == ("bare", "", "utf-8", ())
    assert read.variables == (
        variable("A", start=None, width=3, measure=Measure.CONTINUOUS),
        variable("B", start=None, width=None, measure=Measure.CONTINUOUS),
    )


def test_a_record_type_in_a_rectangular_extract_says_nothing(tmp_path: Path) -> None:
    content = ddi_of(codebook([variable("A")])).replace("<var ", '<var rectype="P" ')
    assert read_ddi(written(tmp_path, "town.xml", content)).variables[0].record_types == ()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("</codeBook>", "", "not well-formed XML at line "),
        ("<codeBook", "<!DOCTYPE codeBook><codeBook", "declares a document type"),
        ("<codeBook", '<!DOCTYPE a [<!ENTITY b "c">]><codeBook', "declares a document type"),
        ("<codeBook", '<!DOCTYPE a SYSTEM "file:///etc/passwd"><codeBook', "declares a document type"),
        ("Household<", "&outside;<", "not well-formed XML"),
        ("UTF-8", "none-such", "character encoding that XML parsers do not know"),
        ("UTF-8", "utf-7", "character encoding that XML parsers do not know"),
        ("codeBook", "html", "begins with 'html'"),
        ("<txt>", "<txt>" + "<b>" * 70, "nests more than 64 elements"),
        ('StartPos="2"', 'StartPos="two"', "'RENT': expected a whole number as StartPos, found 'two'"),
        ('EndPos="5" width="4"', 'EndPos="5" width="9"', "'RENT': columns 2 to 5 are not its width, 9"),
        ('EndPos="5" width="4"', 'EndPos="1" width="0"', "'RENT': its width is 0"),
        ('EndPos="5" width="4"', "", "'RENT': its place in the line has no end"),
        ('StartPos="2" EndPos="5"', "", "'RENT' have no place in the line, others have one"),
        ('StartPos="2" EndPos="5"', 'StartPos="999999999" EndPos="1000000002"', "expected a whole number as EndPos"),
        ('StartPos="2" EndPos="5"', 'StartPos="1000000" EndPos="1000003"', "'RENT': it lies outside of columns 1 to"),
        ('StartPos="2" EndPos="5"', 'StartPos="0" EndPos="3"', "'RENT': it lies outside of columns 1 to"),
        (
            'StartPos="2" EndPos="5"',
            'StartPos="1" EndPos="4"',
            "'RENT': column 1 of the line belongs to 'KIND' as well",
        ),
        ('dcml="2"', 'dcml="5"', "'RENT': it has 5 implied decimals in 4 characters"),
        ('dcml="2"', 'dcml="-2"', "'RENT': expected a whole number as dcml"),
        ('name="RENT"', 'name="kind"', "2 variables of this name on record type 'H'"),
        ('name="RENT"', "", "a name is printable text"),
        ('name="RENT"', 'name="&#x9b;31m"', "a name is printable text"),
        ('rectype="H">', 'rectype="X">', "'KIND': record type 'H' is unknown; the codebook has 'X', 'P'"),
        ('name="RENT" dcml="2" intrvl="contin" rectype="H"', 'name="RENT"', "'RENT': it is on no record type"),
        ('rectype="H P"', 'rectype="H"', "'KIND': it holds the record type of a line, but is not on record type 'P'"),
        ('recidvar="KIND"', 'recidvar="NONE"', "'NONE': it holds the record type of a line, but is not on"),
        ("recidvar=", "old=", "no variable holds a line's record type"),
        ("recGrp", "group", "declares no record group"),
        ("ISO-8859-1", "EBCDIC", "encoding: expected one of utf-8"),
        ("<catValu>9", "<catValu>" + "9" * 300, "is no code: printable text of at most 256 characters"),
        ("Male", "\x9b31m", "the label of a code holds a control character"),
        ("<labl>Sex", "<labl>\x9b31m", "its label, concept or universe holds a control character"),
        ("<fileName>town", "<fileName>" + "town" * 99, "the data set's name is printable text"),
    ],
)
def test_refusals_name_the_variable(old: str, new: str, said: str, tmp_path: Path) -> None:
    content = ddi_of(TOWN)
    assert old in content
    assert said in refused(written(tmp_path, "town.xml", content.replace(old, new)))


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    faulty = codebook([variable("A", start=-1), variable("B", start=5, width=-3), variable("C", width=1, decimals=2)])
    message = refused(written(tmp_path, "town.xml", ddi_of(faulty)))
    assert [line.split(":")[0].strip() for line in message.splitlines()[1:]] == ["'B'"]  # no position to look further
    path = written(tmp_path, "town.xml", ddi_of(replace(faulty, variables=(faulty.variables[0], faulty.variables[2]))))
    assert [line.split(":")[0].strip() for line in refused(path).splitlines()[1:]] == ["'A'", "'C'"]


def test_many_faults_are_counted(tmp_path: Path) -> None:
    book = codebook([variable(f"V{place}", start=place, decimals=2) for place in range(30)])
    message = refused(written(tmp_path, "town.xml", ddi_of(book)))
    assert message.endswith("\n  and 10 more")


def test_two_variables_that_tell_record_types(tmp_path: Path) -> None:
    content = ddi_of(TOWN).replace('recidvar="KIND"', 'recidvar="OTHER"', 1)
    assert "in more than one variable" in refused(written(tmp_path, "town.xml", content))


def test_record_type_at_two_places(tmp_path: Path) -> None:
    kinds = [variable("KIND", form=Form.TEXT, start=place, record_types=(kind,)) for place, kind in enumerate("HP")]
    content = ddi_of(replace(TOWN, variables=tuple(kinds)))
    assert "has more than one position in the line" in refused(written(tmp_path, "town.xml", content))


def test_no_variable(tmp_path: Path) -> None:
    assert "variables: there is none" in refused(written(tmp_path, "town.xml", ddi_of(codebook([]))))


def test_size_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "LARGEST_CODEBOOK", 2**20)
    bomb = written(tmp_path, "town.xml.gz", gzip.compress(b"<codeBook>" + b" " * 2**21))
    assert "larger than 1 MiB" in refused(bomb)


def test_an_unfinished_token_is_not_looked_at_a_thousand_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser begins it anew with every piece."""
    monkeypatch.setattr(checks, "LARGEST_CODEBOOK", 2**24)
    bomb = written(tmp_path, "town.xml.gz", gzip.compress(b"<" + b"a" * (checks.LARGEST_CODEBOOK - 1)))
    assert len([*checks.read_chunks(bomb)]) <= 2
    assert "not well-formed" in refused(bomb)


def test_numbers_of_variables_and_codes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "town.xml", ddi_of(TOWN))
    for limit in ("MOST_VARIABLES", "MOST_CODES"):
        with monkeypatch.context() as patch:
            patch.setattr(f"dpnb_columnar.extracts.codebooks.read.{limit}", 2)
            assert "has more than" in refused(path)
        with monkeypatch.context() as patch:
            patch.setattr(checks, limit, 2)
            assert ": more than 2" in refused(path)


def test_damaged_compression(tmp_path: Path) -> None:
    whole = gzip.compress(ddi_of(TOWN).encode())
    for damaged in (whole[:-20], whole[:40] + b"\0" * 20 + whole[60:]):
        assert "ends early or is damaged" in refused(written(tmp_path, "town.xml.gz", damaged))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="cannot be read"):
        read_ddi(tmp_path / "none.xml")
    with pytest.raises(MissingInputError, match="cannot be read"):
        read_ddi(tmp_path)
