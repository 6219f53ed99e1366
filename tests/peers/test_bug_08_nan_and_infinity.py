"""Bug 8. NaN and infinity: a NaN passes a clamp (google #405, #411), turns to 0 without a word (opendp #2935), or makes
a NaN of the budget (PySyft #6956).

Ours would show it as a row with NaN that counts at all, an infinity that is not the bound, or a number in a
declaration, an option or a model that is not finite.
"""

from __future__ import annotations

import json
import math
import struct
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.mechanisms import PRIVATE
from support.people import DECLARATION, PEOPLE, people, write_people
from support.recorded_draws import by_every_engine
from support.releases import plan_and_release
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.budget import Budget
from dpnb_columnar.errors import UsageError

ROWS, EVERY = 300, 4
INFINITY, NAN = math.inf, math.nan
ODD_NANS = [struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in (0xFFF8 << 48, 0x7FF0 << 48 | 1, 2**64 - 1)]
"""Negative, signalling, and with every bit set."""

SPECIAL: dict[str, tuple[Any, list[Any], list[Any]]] = {
    # Type, values among the ages, and what each counts as: None for a row without an age.
    "float64": (pl.Float64, [NAN, None, -0.0, INFINITY, -INFINITY], [None, None, 0, 100, 0]),
    "float32": (pl.Float32, [NAN, None, -0.0, INFINITY, -INFINITY], [None, None, 0, 100, 0]),
    "odd NaNs": (pl.Float64, ODD_NANS, [None, None, None]),
    "subnormal": (pl.Float64, [5e-324, -5e-324, 1.7e308], [0, 0, 100]),
    "int32": (pl.Int32, [None, 0, 2**31 - 1], [None, 0, 100]),
    "uint64": (pl.UInt64, [None, 0, 2**64 - 1], [None, 0, 100]),
    "decimal": (pl.Decimal(10, 1), [None, Decimal("-0.0"), Decimal("99999999.9")], [None, 0, 100]),
}


def with_ages(dtype: Any, values: list[Any]) -> pl.DataFrame:
    """People, every fourth of whom has one of these ages in turn."""
    places = np.arange(0, ROWS, EVERY)
    special = pl.Series(values, dtype=dtype).gather(places // EVERY % len(values))
    frame = people(ROWS)
    return frame.with_columns(age=frame["age"].cast(dtype).scatter(places, special))


def by_hand(meanings: list[int | None]) -> pl.DataFrame:
    """The rows with the ages that they count as."""
    places = np.arange(0, ROWS, EVERY)
    ages = pl.Series([meanings[place // EVERY % len(meanings)] for place in places], dtype=pl.Int64)
    frame = people(ROWS)
    return frame.with_columns(age=frame["age"].scatter(places, ages))


@pytest.mark.slow
@pytest.mark.parametrize("kind", SPECIAL)
def test_bug_08_nan_is_missing_and_infinity_is_the_bound(kind: str, tmp_path: Path) -> None:
    dtype, values, meanings = SPECIAL[kind]
    expected = dpnb.aggregate(write_people(tmp_path / "plain.parquet", by_hand(meanings)))
    for found in by_every_engine(write_people(tmp_path / "special.parquet", with_ages(dtype, values))):
        assert found == expected


def test_bug_08_the_same_comparison_finds_nan_that_passes_for_a_number(tmp_path: Path) -> None:
    missing, zero, bound = (
        dpnb.aggregate(write_people(tmp_path / "plain.parquet", by_hand([meaning, 30]))) for meaning in (None, 0, 100)
    )
    for found in by_every_engine(write_people(tmp_path / "special.parquet", with_ages(pl.Float64, [NAN, 30.0]))):
        assert found == missing
        assert found not in (zero, bound)


def test_bug_08_nan_in_a_label_or_a_category_is_missing_too(tmp_path: Path) -> None:
    """``NaN > 1000`` is unknown, not false; a NaN is no category, not even a 0."""
    document = {
        "label": {"condition": "wage > 1000", "classes": ["low", "high"]},
        "attributes": {"rooms": {"values": ["0", "1", "2"]}},
    }
    wage, rooms = [NAN, INFINITY, -INFINITY, None, 5.0, 2000.0, 5.0], [1.0, 1.0, 2.0, 1.0, NAN, -0.0, 7.0]
    numbers = {"wage": wage, "rooms": rooms}
    path = write_people(tmp_path / "numbers.parquet", pl.DataFrame(numbers), document)
    found = dpnb.aggregate(path)
    assert found.class_counts.tolist() == [3, 2]
    assert found.tables["rooms"].tolist() == [[0, 0, 1], [1, 1, 0]]


NOT_FINITE = ("nan", "sNaN", "inf", "-Infinity")


@pytest.mark.parametrize("number", NOT_FINITE)
@pytest.mark.parametrize(
    ("option", "form"), [("epsilon", "{}"), ("delta", "{}"), ("shares", "{}:1:1"), ("shares", "1:1:{}")]
)
def test_bug_08_options_that_are_no_numbers_are_refused(
    option: str, form: str, number: str, people_file: Path, run: Run
) -> None:
    run("train", people_file, f"--{option}={form.format(number)}", expected=64)
    assert not Path("people.model.json").exists()


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", '"nan"', '"Infinity"'])
def test_bug_08_an_epsilon_that_is_no_number_is_refused_in_a_catalogue(number: str, folder: Path, run: Run) -> None:
    write_people(folder / "people.parquet", document=None)
    Path("datasets.toml").write_text(DECLARATION.replace("[people]\n", f"[people]\nepsilon = {number}\n"))
    run("train", "people.parquet", expected=78)


@pytest.mark.parametrize("number", [NAN, INFINITY, -INFINITY, np.float32("nan"), "nan"], ids=repr)
def test_bug_08_an_epsilon_that_is_no_number_is_refused_in_python(number: Any, people_file: Path) -> None:
    counts = dpnb.aggregate(people_file)
    for call in (lambda: dpnb.train(people_file, epsilon=number), lambda: dpnb.release(counts, epsilon=number)):
        with pytest.raises(UsageError, match="epsilon"):
            call()


@pytest.mark.parametrize("mechanism", PRIVATE)
def test_bug_08_a_nan_budget_releases_nothing(mechanism: str, people_file: Path) -> None:
    """Past every door that reads numbers, noise itself refuses to be made from NaN."""
    nan: Any = NAN
    with pytest.raises((ValueError, UsageError), match="epsilon"):
        plan_and_release(dpnb.aggregate(people_file), Budget(nan), mechanism)


@pytest.mark.parametrize("mechanism", PRIVATE)
def test_bug_08_a_column_of_nan_spends_the_budget_and_no_other(mechanism: str, folder: Path, run: Run) -> None:
    """The model of nothing but NaN holds finite numbers, and states the budget it was given."""
    nothing = people(100).with_columns(age=pl.lit(NAN), hours=pl.lit(INFINITY))
    write_people(folder / "people.parquet", nothing, PEOPLE)
    run("train", "people.parquet", "--epsilon", "0.3", "--mechanism", mechanism)
    text = Path("people.model.json").read_text()
    document = json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} in the model"))
    assert not {"nan", "inf", "infinity"} & {word.strip('",[]').lower() for word in text.split()}
    assert Fraction(document["guarantee"]["epsilon"]) == Fraction(3, 10)
    stated = dpnb.load_model("people.model.json").guarantee
    assert stated.private
    assert stated.delta == 0
