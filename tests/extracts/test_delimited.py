"""CSV extracts: fields held to the types of a codebook, and refused where they are not of them."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpnb_columnar.errors import DataError
from dpnb_columnar.extracts import decode
from dpnb_columnar.extracts.decode import MalformedFieldError, convert_texts, read_delimited, read_header
from dpnb_columnar.runtime.confinement import confined

SCHEMA = pa.schema([("A", pa.int8()), ("B", pa.float64()), ("C", pa.string())])


def read(content: bytes, schema: pa.Schema = SCHEMA, encoding: str = "utf-8") -> list[dict[str, object]]:
    batches = read_delimited(io.BytesIO(content), "town.csv", schema, encoding)
    return [row for batch in batches for row in batch.to_pylist()]


def test_fields_of_each_type() -> None:
    content = b'C,A,B\r\n"x, y",01,1475.59\r\n"",,\r\n  z ,-7,-.5\r\n"8"," +9 ",1e2'
    assert read(content) == [
        {"A": 1, "B": 1475.59, "C": "x, y"},
        {"A": None, "B": None, "C": None},
        {"A": -7, "B": -0.5, "C": "z"},
        {"A": 9, "B": 100.0, "C": "8"},
    ]


def test_encodings_and_a_byte_order_mark() -> None:
    assert read("A,B,C\n1,1,Köln\n".encode("iso-8859-1"), encoding="iso-8859-1")[0]["C"] == "Köln"
    content = "\ufeffA,B,C\n1,1,Köln\n".encode()
    assert read_header(io.BytesIO(content), "town.csv", "utf-8") == ("A", "B", "C")
    assert read(content)[0] == {"A": 1, "B": 1.0, "C": "Köln"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"128,1,x", "row 4: A is not a whole number that int8 holds; "),
        (b"1.5,1,x", "row 4: A is not a whole number that int8 holds; "),
        (b"0x1,1,x", "row 4: A is not a whole number that int8 holds; "),
        (b"1,nan,x", "row 4: B is not a number; "),
        (b"1,1 2,x", "row 4: B is not a number; "),
        (b"1,1", "row 4: has more or fewer fields than the header; "),
        (b"1,1,x,y", "row 4: has more or fewer fields than the header; "),
        (b"1,1,\xff", "is not CSV in utf-8; "),
    ],
)
@pytest.mark.parametrize("block", [16, 2**20])
def test_damaged_rows(row: bytes, message: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "BLOCK_BYTES", block)
    with pytest.raises(DataError) as caught:
        read(b"A,B,C\n1,1,x\n1,1,x\n" + row + b"\n1,1,x\n")
    assert message in str(caught.value)
    assert str(caught.value).startswith("town.csv")


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
@pytest.mark.parametrize("end", [b"", b"\n", b"\n1,1,x\n"])
def test_a_line_that_is_too_long_is_called_so(end: bytes, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No encoding is wrong with it."""
    monkeypatch.setattr(decode, "BLOCK_BYTES", 64)
    with pytest.raises(DataError, match=r"^town.csv: has a line of more than 64 bytes; lines end in LF or CRLF"):
        read(b"A,B,C\n1,1,x\n1,1," + b"x" * 200 + end, encoding=encoding)


@pytest.mark.parametrize("content", [b"", b"\n1,2\n", b"A,,C\n", b"A, ,C\n", b"\xff\xfe\n", b'"A\n', b"A,B\x1b[2J\n"])
def test_no_header(content: bytes) -> None:
    with pytest.raises(DataError, match=r"^town.csv: line 1 is no header"):
        read_header(io.BytesIO(content), "town.csv", "utf-8")


@pytest.mark.parametrize("value", ["35", " 35 ", "-7", "1.5", ".5", "1e6", "1,475", "+9", "1978-05-01", "10:30", "2-3"])
@pytest.mark.parametrize("declared", [None, frozenset({"A", "NAME"})])
def test_a_person_in_the_place_of_the_header_is_not_told(value: str, declared: frozenset[str] | None) -> None:
    with pytest.raises(DataError, match=r"^town.csv: line 1 is no header") as caught:
        read_header(io.BytesIO(f'NAME,SECRET,"{value}",SECRET\n'.encode()), "town.csv", "utf-8", declared)
    assert "SECRET" not in str(caught.value)
    assert value not in str(caught.value)


def test_a_header_of_another_codebook() -> None:
    declared = frozenset({"AGE", "SEX", "1940"})
    with pytest.raises(DataError, match=r"declares no name of line 1.*codebook") as caught:
        read_header(io.BytesIO(b"Smith,Ulm\n"), "town.csv", "utf-8", declared)
    assert "Smith" not in str(caught.value)
    for header in ("1940,AGE", "other,age", "SEX", "1940"):
        assert read_header(io.BytesIO(f"{header}\n".encode()), "town.csv", "utf-8", declared) == (*header.split(","),)


@pytest.mark.parametrize("header", [b"A,B,A\n", b"AGE,B,age\n"])
def test_a_repeated_name(header: bytes) -> None:
    with pytest.raises(DataError, match="columns 1 and 3 have the same name in line 1"):
        read_header(io.BytesIO(header), "town.csv", "utf-8")


@pytest.mark.parametrize("wanted", ["A", "C"])
@pytest.mark.parametrize("block", [16, 2**20])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_an_unclosed_quote_swallows_no_row(
    end: bytes, block: int, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever column is wanted, and whether or not another quote follows."""
    monkeypatch.setattr(decode, "BLOCK_BYTES", block)
    for later in (b"", b'6,1,"z"\n' * 20, b'6,1,z"\n'):
        content = b'A,B,C\n1,1,"x"\n2,1,"y""y"\n3,1,"z' + (end or b"") + (later if end else b"")
        with pytest.raises(DataError, match=r"^town.csv, line 4: has a quote that is not closed on that line"):
            read(content, pa.schema([(wanted, pa.string())]))


@given(
    st.lists(st.lists(st.text("a\"', 1é", max_size=6), min_size=2, max_size=2), max_size=30),
    st.sampled_from([64, 256, 2**20]),
)
def test_quoted_fields_are_read_but_for_blanks_around_them(fields: list[list[str]], block: int) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["A", "B"], *fields])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode, "BLOCK_BYTES", block)
        rows = read(file.getvalue().encode(), pa.schema([("A", pa.string()), ("B", pa.string())]))
    assert rows == [{"A": first.strip(" ") or None, "B": second.strip(" ") or None} for first, second in fields]


@given(
    st.lists(st.none() | st.from_regex(r"[ ]{0,2}[-+]?[0-9]{1,5}", fullmatch=True)), st.sampled_from([8, 16, 32, 64])
)
def test_whole_numbers_are_kept_or_refused(texts: list[str | None], bits: int) -> None:
    values = [None if text is None else int(text) for text in texts]
    fits = [value is None or -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) for value in values]
    strings, type_ = pa.array(texts, pa.string()), getattr(pa, f"int{bits}")()
    if all(fits):
        assert convert_texts(strings, type_).to_pylist() == values
    else:
        with pytest.raises(MalformedFieldError) as caught:
            convert_texts(strings, type_)
        assert caught.value.row == fits.index(False)


def test_a_damaged_row_of_another_encoding_is_told_once(capfd: pytest.CaptureFixture[str]) -> None:
    """Arrow gives such a row to a function as text, and printed what it met beside the error."""
    with confined(), pytest.raises(DataError, match="is not CSV in utf-8"):
        read(b"A,B,C\n1,2,\xfc,3\n")
    assert capfd.readouterr().err == ""
