"""Lines that are not as the codebook says: the message tells where and what to do, and never what stands there."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from support.codebook_cases import codebook, variable
from support.extracts import HOUSEHOLDS, HOUSES, PEOPLE, TOWNSPEOPLE

from dpnb_columnar.errors import DataError
from dpnb_columnar.extracts import fixed_width
from dpnb_columnar.extracts.codebooks.codebook import Codebook, Form
from dpnb_columnar.extracts.fixed_width import read_fixed_width


def refusal(written: list[str], book: Codebook) -> str:
    """The message for an extract of these lines."""
    content = "\n".join(written).encode(book.encoding)
    with pytest.raises(DataError) as caught:
        list(read_fixed_width(io.BytesIO(content), "town.dat", book, book.columns))
    return str(caught.value)


def test_a_damaged_number() -> None:
    message = refusal([*PEOPLE, "20201 3x001250Ulm  "], TOWNSPEOPLE)
    assert message.startswith("town.dat, line 5: AGE, characters 6 to 8, is not a number or blanks; ")
    assert "town.xml" in message
    assert "3x" not in message


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
    monkeypatch.setattr(fixed_width, "LONGEST_LINE", 10)
    monkeypatch.setattr(fixed_width, "BLOCK_BYTES", 4)
    assert refusal(["0" * 40], TOWNSPEOPLE).startswith("town.dat, line 1: has no end within 10 bytes")


def test_line_numbers_go_on_from_block_to_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed_width, "BLOCK_BYTES", 25)
    assert "line 9: SEX" in refusal([*PEOPLE, *PEOPLE, "2020x 34001250Ulm  "], TOWNSPEOPLE)
    assert "line 15: AGE" in refusal([*HOUSES, *HOUSES, "P001x341"], HOUSEHOLDS)
