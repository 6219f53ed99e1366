"""``dpnb-columnar suggest-domain``."""

from __future__ import annotations

import math
import stat
import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.people import people, write_people
from support.real_data import prepared
from support.running import Run

from dpnb_columnar.counting.suggestion import ColumnProfile, draft, outward
from dpnb_columnar.domain.catalogue import entry_toml, read_catalogue
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.domain.declaration import read_declaration
from dpnb_columnar.domain.declared_domain import UnlabelledDomain

ROWS = 1000
NUMBERS = st.integers(-(10**15), 10**15) | st.floats(-1e15, 1e15)


def write(**columns: Any) -> None:
    pl.DataFrame({name: [value(row) for row in range(ROWS)] for name, value in columns.items()}).write_parquet(
        "survey.parquet"
    )


def attributes(toml: str) -> dict[str, Any]:
    ((_, table),) = tomllib.loads(toml, parse_float=Decimal).items()
    found: dict[str, Any] = table["attributes"]
    return found


def test_columns_of_every_kind(folder: Path, run: Run) -> None:
    write(
        age=lambda row: row % 97,
        wage=lambda row: row // 2 * 14 - 100 if row % 9 else None,
        code=lambda row: ["a", "b", "it's"][row % 3],
        flag=lambda row: row % 2 == 0,
        share=lambda row: row / 7000,
        whole=lambda row: float(row % 3) if row % 5 else float("nan"),
        year=lambda row: 1951 + row % 60,
        big=lambda row: (row // 2) * 10**12,
    )
    ended = run("suggest-domain", "survey.parquet")
    found = attributes(ended.out)
    assert found == {
        "age": {"lower": 0, "upper": 100, "step": 1},
        "wage": {"lower": -100, "upper": 10000, "step": 1},
        "code": {"values": ["a", "b", "it's"]},
        "flag": {"values": ["false", "true"]},
        "share": {"lower": 0, "upper": Decimal("0.2")},
        "whole": {"values": [0, 1, 2]},
        "year": {"lower": 1900, "upper": 2100, "step": 1},
        "big": {"lower": 0, "upper": 5 * 10**14, "step": 10**6},
    }
    assert ended.out.startswith("# CONFIDENTIAL")
    assert ended.err == ""


def test_what_is_left_out_has_its_reason(folder: Path, run: Run) -> None:
    write(
        sex=lambda row: row % 2,
        serial=lambda row: row,
        text_id=lambda row: f"2018GQ{row}",
        sample=lambda row: 1,
        empty=lambda row: None,
        steady=lambda row: 2.5,
        job=lambda row: f"job {row % 200}",
        rooms=lambda row: [row],
    )
    out = run("suggest-domain", "survey.parquet").out
    assert list(attributes(out)) == ["sex"]
    for line in (
        "serial: another value in nearly every row",
        "text_id: another value in nearly every row",
        "sample: one value only",
        "empty: type Null",
        "steady: one value only",
        "job: many values",
        "rooms: type List",
    ):
        assert f"# left out: {line}" in out


def test_columns_that_no_declaration_holds_are_left_out(folder: Path, run: Run) -> None:
    """One that the reader refused would spoil the whole entry."""
    write(
        sex=lambda row: row % 2,
        far=lambda row: 1e15 + row / 7,
        tiny=lambda row: 1e-300 * (row + 1),
        **{"n" * 300: lambda row: row % 50 * 1.5},
        long=lambda row: "x" * 9000 if row % 2 else "y",
    )
    out = run("suggest-domain", "survey.parquet", "--output", "datasets.toml", "--most-values", 20).out
    assert "wrote datasets.toml" in out
    text = Path("datasets.toml").read_text()
    assert list(attributes(text)) == ["sex"]
    assert "# left out: far: 64-bit floats around these bounds are wider apart than the step" in text
    assert "# left out: tiny: " in text
    run("domain", "show", "--dataset", "survey")


@settings(deadline=None)  # the first call imports what it needs
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2, unique=True))
def test_every_draft_can_be_read(ends: list[float]) -> None:
    smallest, largest = sorted(ends)
    column = ColumnProfile("x", Kind.FLOAT, "Float64", 1000, 900, None, smallest, largest, None, ())
    found = draft([column])
    assert len(found.attributes) + len(found.left_out) == 1
    if found.attributes:
        toml = tomllib.loads(entry_toml(UnlabelledDomain("survey", found.attributes)), parse_float=Decimal)
        assert read_declaration("survey", toml["survey"], "x").attributes == found.attributes


def test_codes_for_missing_are_guessed_in_comments(folder: Path, run: Run) -> None:
    write(
        age=lambda row: 999 if row % 50 == 0 else row % 97,
        wage=lambda row: 999998 if row % 9 == 0 else 999999 if row % 7 == 0 else row,
        hours=lambda row: row % 100,
        health=lambda row: [1, 2, 3, 9][row % 4],
        sons=lambda row: row % 10,
    )
    out = run("suggest-domain", "survey.parquet").out
    remarks = {line.split()[1]: line for line in out.splitlines() if "missing" in line}
    assert set(remarks) == {"999", "999998,", "9"}
    assert remarks["999"].endswith("add missing_values = [999], and upper = 100 or so")
    assert remarks["999998,"].endswith("add missing_values = [999998, 999999], and upper = 1000 or so")
    assert attributes(out)["age"]["upper"] == 1000


def test_the_file_is_its_owners_alone_and_an_entry_without_a_label(folder: Path, run: Run) -> None:
    write_people(folder / "people.parquet", document=None)
    ended = run("suggest-domain", "people.parquet", "--output", "datasets.toml")
    assert "wrote datasets.toml: CONFIDENTIAL" in ended.out
    assert stat.S_IMODE(Path("datasets.toml").stat().st_mode) == 0o600
    (entry,) = read_catalogue(Path("datasets.toml"))
    assert entry.declared.columns == ("age", "hours", "sex", "income")
    ended = run("train", "people.parquet", expected=78)
    assert "declares no label: name what to predict" in ended.err
    run("train", "people.parquet", "--label", "income")


def test_several_files_are_one_data_set(folder: Path, run: Run) -> None:
    people(300).write_parquet("a.parquet")
    people(300).with_columns(sex=pl.lit("x"), age=pl.col("age").cast(pl.Int16)).write_parquet("b.parquet")
    assert attributes(run("suggest-domain", "a.parquet", "b.parquet").out)["sex"] == {"values": ["f", "m", "x"]}


@given(NUMBERS, NUMBERS)
def test_bounds_are_rounded_outwards(one: float, other: float) -> None:
    smallest, largest = sorted([one, other])
    assume(smallest != largest)
    lower, upper = outward(smallest, largest)
    assert lower <= smallest
    assert largest <= upper
    assert lower < upper
    size = max(abs(Fraction(smallest)), abs(Fraction(largest)))
    assert upper - lower <= 10 * max(Fraction(largest) - Fraction(smallest), size)


def test_a_draft_of_real_data_is_a_declaration(folder: Path, run: Run) -> None:
    file = prepared("adult", folder)
    found = attributes(run("suggest-domain", file).out)
    read_declaration("adult", {"attributes": found}, "x")
    assert found["sex"] == {"values": ["Female", "Male"]}
    assert found["age"] == {"lower": 0, "upper": 100, "step": 1}


def test_numbers_in_text_columns(folder: Path, run: Run) -> None:
    """As from CSV that was kept as text: numbers are suggested, whatever word stands among them."""
    write(
        age=lambda row: f"{row % 97:03d}",
        code=lambda row: ["1", "01", "2", "002", "+3"][row % 5],
        wage=lambda row: f"{row * 3 + 0.5}" if row else "unknown",
        mixed=lambda row: ["1", "01", "AB", "1E2"][row % 4],
        share=lambda row: [".5", "0.50", "1", None, ""][row % 5],
    )
    found = attributes(run("suggest-domain", "survey.parquet").out)
    assert found["age"] == {"lower": 0, "upper": 100, "step": 1}
    assert found["code"] == {"values": [1, 2, 3]}
    assert {key: found["wage"][key] for key in ("lower", "upper")} == {"lower": 0, "upper": 5000}
    assert found["mixed"] == {"values": ["01", "1E2", "AB"]}
    assert found["share"]["upper"] == 1


def test_a_column_of_infinities_is_left_out(folder: Path, run: Run) -> None:
    pl.DataFrame({"x": [math.inf] * 10 + [-math.inf] * 5, "y": range(15)}).write_parquet("odd.parquet")
    text = run("suggest-domain", "odd.parquet").out
    assert "left out: x: numbers beyond every sensible range" in text
    assert list(attributes(text)) == ["y"]
