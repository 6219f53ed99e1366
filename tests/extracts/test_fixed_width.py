"""Fixed-width lines say what a reader of one line at a time finds in them; others are refused by their place alone."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.codebook_cases import codebook, codebooks, variable
from support.extracts import HOUSEHOLD_ROWS, HOUSEHOLDS, HOUSES, PEOPLE, ROWS, TOWNSPEOPLE, rows_of

from dpnb_columnar.errors import DataError
from dpnb_columnar.extracts import decode
from dpnb_columnar.extracts.codebooks.codebook import Codebook, Form, Variable
from dpnb_columnar.extracts.decode import (
    MalformedFieldError,
    column_type,
    decimal_numbers,
    read_digits,
    read_fixed_width,
    whole_numbers,
)


def read(content: bytes, book: Codebook, names: list[str] | None = None) -> list[dict[str, object]]:
    wanted = list(book.columns) if names is None else names
    batches = list(read_fixed_width(io.BytesIO(content), "town.dat", book, wanted))
    for batch in batches:
        batch.validate(full=True)
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_rectangular(end: str, last: bool) -> None:
    content = (end.join(PEOPLE) + (end if last else "")).encode("iso-8859-1")
    assert read(content, TOWNSPEOPLE) == list(ROWS)


def test_hierarchical_carries_households_down_to_their_persons() -> None:
    assert read("\n".join(HOUSES).encode(), HOUSEHOLDS) == list(HOUSEHOLD_ROWS)


def test_three_record_types() -> None:
    def at(name: str, *kinds: str) -> Variable:
        return variable(name, start=0 if name == "KIND" else 1, form=Form.TEXT, record_types=kinds)

    everyone = [at("KIND", "H", "P", "A"), at("HOUSE", "H"), at("PERSON", "P"), at("ACTIVITY", "A")]
    book = codebook(everyone, record_types=("H", "P", "A"), record_type_variable="KIND")
    content = b"H1\nPa\nAx\nAy\nPb\nH2\nPc\nAz\n"
    found = [(row["HOUSE"], row["PERSON"], row["ACTIVITY"]) for row in read(content, book)]
    assert found == [("1", "a", "x"), ("1", "a", "y"), ("2", "c", "z")]


def test_only_the_wanted_columns_are_looked_at() -> None:
    content = b"20201 34  damage     \n".replace(b"  damage     ", b"damageUlm  ")
    assert read(content, TOWNSPEOPLE, ["AGE", "YEAR"]) == [{"AGE": 34, "YEAR": 2020}]


def test_lines_padded_with_blanks_to_one_length() -> None:
    assert read("\n".join(line.ljust(12) for line in HOUSES).encode(), HOUSEHOLDS) == list(HOUSEHOLD_ROWS)


@pytest.mark.parametrize("content", [b"", "\n".join(HOUSES[3:4]).encode()])
def test_no_rows(content: bytes) -> None:
    assert read(content, HOUSEHOLDS) == []


def test_utf_8_where_a_character_is_more_than_a_byte() -> None:
    book = codebook([variable("TOWN", form=Form.TEXT, width=5), variable("SEX", start=5)])
    assert read("Köln1\nParis2\n".encode(), book) == [{"TOWN": "Köln", "SEX": 1}, {"TOWN": "Paris", "SEX": 2}]


@st.composite
def fields(draw: st.DrawFn, declared: Variable) -> str:
    """What may stand in the place of a variable."""
    width = declared.width or 0
    if column_type(declared) == pa.string():
        return draw(st.text("aZ9 -", max_size=width)).ljust(width)
    number = draw(st.from_regex(rf"[+-]?[0-9]{{1,{width}}}", fullmatch=True).filter(lambda text: len(text) <= width))
    blanks = draw(st.integers(0, width - len(number)))
    written = " " * blanks + number
    return draw(st.sampled_from([" " * width, number.zfill(width), written.ljust(width)]))


@st.composite
def extracts(draw: st.DrawFn) -> tuple[Codebook, list[str]]:
    """A codebook and lines that it describes, households before persons."""
    book = draw(codebooks())
    kinds = ["H", *draw(st.lists(st.sampled_from("HPP"), max_size=12))] if book.record_types else [""] * 12
    fixed_width = []
    for kind in kinds:
        line = ""
        for declared in book.variables:
            if not kind or kind in declared.record_types:
                assert declared.start is not None
                text = kind if declared.name == book.record_type_variable else draw(fields(declared))
                line = line.ljust(declared.start, "*") + text
        fixed_width.append(line)
    return book, fixed_width


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(extracts(), st.sampled_from(["\n", "\r\n"]), st.integers(1, 200))
def test_any_extract_in_blocks_of_any_size(extract: tuple[Codebook, list[str]], end: str, size: int) -> None:
    book, written = extract
    names = list(book.columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode, "LINES_BYTES", size)
        assert read(end.join(written).encode(book.encoding), book) == rows_of(book, written, names)


@pytest.mark.slow
@given(st.lists(st.from_regex(r"[0-9]{1,22}", fullmatch=True), min_size=1), st.integers(0, 25), st.booleans())
def test_implied_decimals_are_those_of_the_decimal_text(numbers: list[str], decimals: int, minus: bool) -> None:
    width = max(map(len, numbers)) + minus
    texts = [("-" if minus else "") + text.zfill(width - minus) for text in numbers]
    characters = np.frombuffer("".join(texts).encode(), np.uint8).reshape(-1, width).T
    expected = [float(Decimal(text).scaleb(-decimals)) for text in texts]
    assert decimal_numbers(read_digits(np.ascontiguousarray(characters)), decimals).tolist() == expected


@given(st.lists(st.text("0159+- \x00/:a", min_size=5, max_size=5), min_size=1))
def test_a_field_is_a_number_a_blank_or_malformed(texts: list[str]) -> None:
    characters = np.ascontiguousarray(np.frombuffer("".join(texts).encode(), np.uint8).reshape(-1, 5).T)
    sound = [re.fullmatch(r" *[+-]?[0-9]+ *| *", text) for text in texts]
    if not all(sound):
        with pytest.raises(MalformedFieldError) as caught:
            read_digits(characters)
        assert caught.value.row == sound.index(None)
        return
    spelled = read_digits(characters)
    missing = [False] * len(texts) if spelled.missing is None else spelled.missing.tolist()
    assert missing == [not text.strip() for text in texts]
    assert whole_numbers(spelled, np.int32).tolist() == [int(text) if text.strip() else 0 for text in texts]


@pytest.mark.parametrize(
    ("width", "decimals", "form", "type_"),
    [
        (1, 0, Form.NUMBER, pa.int8()),
        (2, 0, Form.NUMBER, pa.int8()),
        (3, 0, Form.NUMBER, pa.int16()),
        (4, 0, Form.NUMBER, pa.int16()),
        (5, 0, Form.NUMBER, pa.int32()),
        (9, 0, Form.NUMBER, pa.int32()),
        (10, 0, Form.NUMBER, pa.int64()),
        (18, 0, Form.NUMBER, pa.int64()),
        (19, 0, Form.NUMBER, pa.string()),
        (19, 2, Form.NUMBER, pa.float64()),
        (2, 1, Form.NUMBER, pa.float64()),
        (None, 0, Form.NUMBER, pa.int64()),
        (1, 0, Form.TEXT, pa.string()),
    ],
)
def test_the_type_is_the_narrowest_that_the_width_allows(
    width: int | None, decimals: int, form: Form, type_: pa.DataType
) -> None:
    declared = variable("X", width=width, decimals=decimals, form=form)
    assert column_type(declared) == type_
    if pa.types.is_integer(type_) and width:
        for text in ("9" * width, "-" + "9" * (width - 1)):
            if text != "-":
                assert read(f"{text}\n".encode(), codebook([declared])) == [{"X": int(text)}]


def refusal(written: list[str], book: Codebook) -> str:
    content = "\n".join(written).encode(book.encoding)
    with pytest.raises(DataError) as caught:
        list(read_fixed_width(io.BytesIO(content), "town.dat", book, book.columns))
    return str(caught.value)


@pytest.mark.parametrize("field", ["1 2", "--1", " - ", "1-1", "1.2", "\t12", "٣٤٥"[:3]])
def test_what_is_no_number(field: str) -> None:
    book = replace(codebook([variable("N", width=len(field.encode()))]), encoding="utf-8")
    assert "line 1: N, characters 1 to" in refusal([field], book)


@pytest.mark.parametrize(("line", "length"), [("20201 34001250Ulm", 17), ("20201 34001250Ulm  X", 20), ("", 0)])
def test_lines_of_another_length(line: str, length: int) -> None:
    message = refusal([*PEOPLE, line, ""], TOWNSPEOPLE)
    assert message.startswith(
        f"town.dat, line 5: has {length} characters, and a line has 19 by town.xml; the codebook is "
    )


def test_a_person_shorter_than_its_record_type() -> None:
    message = refusal([*HOUSES, "P0040341"[:7]], HOUSEHOLDS)
    assert "line 8: has 7 characters, and a line of record type P has 8" in message


def test_a_person_before_any_household() -> None:
    message = refusal(list(HOUSES[1:]), HOUSEHOLDS)
    assert message.startswith("town.dat, line 1: record type P without a record of type H before it")


def test_an_inner_record_without_one_of_its_own_around_it() -> None:
    kinds = ("H", "P", "A")
    told = variable("KIND", form=Form.TEXT, record_types=kinds)
    book = codebook([told], record_types=kinds, record_type_variable="KIND")
    message = refusal(["H", "P", "A", "H", "A"], book)
    assert message.startswith("town.dat, line 5: record type A without a record of type P before it")


def test_an_unknown_record_type() -> None:
    message = refusal([*HOUSES, "X0040341"], HOUSEHOLDS)
    assert message.startswith("town.dat, line 8: has no record type of town.xml, which has H, P, at characters 1 to 1;")


def test_a_line_that_ends_before_its_record_type() -> None:
    told = variable("KIND", start=2, form=Form.TEXT, record_types=("H", "P"))
    book = codebook([told], record_types=("H", "P"), record_type_variable="KIND")
    assert refusal(["..H", "..P", ".."], book).startswith("town.dat, line 3: ends before its record type")


def test_text_that_is_not_of_the_encoding() -> None:
    book = codebook([variable("A", form=Form.TEXT, width=2), variable("B", start=2, form=Form.TEXT, width=2)])
    content = b"abcd\nab\xff\xff\n"
    with pytest.raises(DataError, match=r"^town.dat, line 2: B, characters 3 to 4, is not utf-8 text; "):
        list(read_fixed_width(io.BytesIO(content), "town.dat", book, ["A", "B"]))


def test_a_character_cut_in_two() -> None:
    book = codebook([variable("A", form=Form.TEXT, width=2), variable("B", start=2, form=Form.TEXT, width=2)])
    assert re.match(r"town.dat, line 2: [AB], characters", refusal(["abcd", "aéb"], book))


def test_a_file_without_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "LONGEST_LINE", 10)
    monkeypatch.setattr(decode, "LINES_BYTES", 4)
    assert refusal(["0" * 40], TOWNSPEOPLE).startswith("town.dat, line 1: has no end within 10 bytes")


def test_line_numbers_go_on_from_block_to_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "LINES_BYTES", 25)
    assert "line 9: SEX" in refusal([*PEOPLE, *PEOPLE, "2020x 34001250Ulm  "], TOWNSPEOPLE)
    assert "line 15: AGE" in refusal([*HOUSES, *HOUSES, "P001x341"], HOUSEHOLDS)
