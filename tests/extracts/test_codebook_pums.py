"""Data dictionaries of the ACS Public Use Microdata Sample."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from support.codebook_cases import codes, variable, written

from dpnb_columnar.errors import ConfigurationError
from dpnb_columnar.extracts.codebooks.codebook import Code, Form, Measure
from dpnb_columnar.extracts.codebooks.pums import read_pums_dictionary

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
