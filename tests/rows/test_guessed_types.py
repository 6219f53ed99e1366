"""One odd cell makes a library guess another type for a column; no other row is counted, or split, in another way."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from support.aggregation_cases import declared

from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting import local
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.frames import open_frame, to_polars
from dpnb_columnar.rows.holdout import NO_TYPE, split_frame, split_of

pd = pytest.importorskip("pandas", reason="pandas is not installed")

ROWS = 24
KINDS: Mapping[str, Sequence[str]] = {
    "truths": ("True", "False"),
    "loud truths": ("TRUE", "FALSE", ""),
    "small truths": ("true", "false"),
    "whole": ("0", "1", "7", "12"),
    "padded": ("001", "007", "012"),
    "large": ("1", "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551615"),
    "exponents": ("1e+05", "2.5E-3", "7", "1E0", "-1e-05"),
    "floats": ("0.5", "7.0", "inf", "-inf", "100000.0", "", "1e+99", ".5"),
    "dates": ("2020-01-01", "2021-05-06", "1899-12-31"),
    "points": ("2020-01-01 12:30:00", "2021-05-06 00:00:00", "1999-12-31 23:59:59"),
    "fractions of a second": ("2020-01-01 12:30:00.123456789", "2021-05-06 01:02:03.000000001"),
    "words": ("a", "b", "1e5", "7"),
}
"""Cells of a file, by what a library takes their column for."""

NESTED = {"lists", "lists of lists", "mappings"}
MOMENTS = {"dates", "points", "fractions of a second", "nanoseconds", "zones", "spans"}
"""What makes no unit of a split: points in time of another type are other units."""

NOT_OF_POLARS = {"nanoseconds", "zones", "spans", "mappings", "numpy"}
"""What Polars itself changes to make a column of it: microseconds, fields for all, True as 1.0."""

ODD = (
    *("odd", "", "1", "2.5e3", "True", "false", "2020-02-30", "2020-01-01", "inf", "12:30", "0001-01-01 00:00+05:00"),
    *("9" * 20, "1e400", "nan", "-"),
)

OBJECTS: Mapping[str, Sequence[Any]] = {
    "truths": (True, False, None),
    "numpy": (np.int8(7), np.float32(0.5), np.bool_(True), np.float64("nan")),
    "whole": (0, 1, 7, 2**64 - 1),
    "huge": (10**400, -(10**400), 2**64, 1),
    "floats": (0.5, 7.0, float("inf"), float("nan"), 1e5),
    "decimals": (Decimal("0.5"), Decimal("7.00"), Decimal("1e5"), Decimal("NaN"), Decimal("sNaN")),
    "ratios": (Fraction(1, 2), Fraction(7)),
    "dates": (date(2020, 1, 1), date(2021, 5, 6)),
    "points": (datetime(2020, 1, 1), datetime(2021, 5, 6, 12)),
    "nanoseconds": (pd.Timestamp("2020-01-01 12:30:00.123456789"), pd.Timestamp(1), pd.NaT),
    "zones": (pd.Timestamp(1, tz="UTC"), pd.Timestamp("2020-01-01", tz="Europe/Berlin")),
    "spans": (timedelta(-1, 5), pd.Timedelta(1), pd.Timedelta(-1)),
    "lists": ([], [1, 2], [2, 1], [7.0, None], None),
    "lists of lists": ([["a"], []], [["b", None]], [[]]),
    "mappings": ({"a": 1}, {"a": 2, "b": None}, {"b": "x"}, {}),
    "words": ("a", "b", "True", "1e5", "2020-01-01", "\ud800"),
    "bytes": (b"a", b"7"),
}
ODD_OBJECTS = (
    *ODD,
    None,
    pd.NA,
    pd.NaT,
    True,
    1,
    2**64 - 1,
    10**400,
    0.5,
    2j,
    [1, "a"],
    {"a": [1]},
    {1: 2},
    {1},
    b"\xff",
)
ODD_OBJECTS += (Decimal("sNaN"), date(1, 1, 1), datetime(9999, 12, 31), np.datetime64(1, "ns"), np.array([1, 2]))


def read_by_pandas(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), parse_dates=["x"] if is_of_dates(text) else False)


def is_of_dates(text: str) -> bool:
    return text.count("-") > ROWS


def read_in_chunks(text: str) -> pd.DataFrame:
    """As pandas reads a large file: a type for every part, and objects for all of them."""
    head, *lines = text.splitlines(keepends=True)
    parts = (io.StringIO(head + "".join(part)) for part in (lines[:9], lines[9:]))
    return pd.concat(map(pd.read_csv, parts), ignore_index=True)


def read_by_polars(text: str) -> pl.DataFrame:
    return pl.read_csv(io.StringIO(text), infer_schema_length=None, try_parse_dates=True)


def of_polars(columns: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    """A type of its own for a column whose values have one, else that of any objects."""
    made = {}
    for name, held in columns.items():
        try:
            made[name] = pl.Series(name, held)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            made[name] = pl.Series(name, held, dtype=pl.Object)
    return pl.DataFrame(made)


READERS: Sequence[Callable[[str], Any]] = (
    read_by_pandas,
    read_in_chunks,
    lambda text: pd.read_csv(io.StringIO(text), dtype_backend="pyarrow"),
    read_by_polars,
    lambda text: pa.csv.read_csv(io.BytesIO(text.encode())),
)
MAKERS: Sequence[Callable[[Mapping[str, Sequence[Any]]], Any]] = (
    pd.DataFrame,
    lambda columns: pd.DataFrame(columns, dtype=object),
    of_polars,
)


@cache
def domains() -> list[Domain]:
    """The column as a number, as categories and as the label."""
    label = {"column": "y", "classes": ["0", "1"]}
    number = {"lower": -5, "upper": 100_000, "step": "1/2"}
    declarations: list[Any] = [{"label": label, "attributes": {"x": number}}]
    for values in (["true", "false"], ["1", "7"], ["0.5", "100000"], ["2020-01-01", "2021-05-06"], ["a", "7", "True"]):
        declarations.append({"label": label, "attributes": {"x": {"values": values}}})
        declarations.append({"label": {"column": "x", "classes": values}, "attributes": {"y": number}})
    return [declared(each) for each in declarations]


def counted(frame: Any, domain: Domain) -> Counter[Any] | None:
    """The cells of the domain; None of a frame that is refused before a row is read."""
    try:
        open_frame(frame, domain)
    except DataError:
        return None
    cells: Counter[Any] = Counter()
    for cell in local.answer(to_polars(frame, domain.counted_columns), CellQuery(domain)).cells():
        for label, code, number in zip(cell.classes, cell.codes, cell.counts, strict=True):
            cells[cell.attribute, int(label), int(code)] += int(number)
    return cells


def held_out(frame: Any, seed: int, by: Sequence[str]) -> set[int]:
    parts, _ = split_frame(frame, split_of("1/2", by, seed))
    return {int(row) for row in parts["test"]["row"].to_numpy()}


def frames(random: Random) -> tuple[Any, Any, int, str]:
    """A frame, its neighbour, the row in which they differ, and what the column holds."""
    row = random.randrange(ROWS)
    columns: dict[str, list[Any]] = {"row": [*range(ROWS)], "y": [place % 2 for place in range(ROWS)]}
    if random.random() < 0.5:
        kind, odd, make = random.choice([*KINDS]), random.choice(ODD), random.choice(READERS)
    else:
        kind, odd, make = random.choice([*OBJECTS]), random.choice(ODD_OBJECTS), random.choice(MAKERS)
    if make is of_polars and kind in NOT_OF_POLARS:
        make = pd.DataFrame
    if make is read_by_polars and kind == "fractions of a second":
        make = read_by_pandas
    values = [random.choice((KINDS if make in READERS else OBJECTS)[kind]) for _ in range(ROWS)]
    made = []
    for held in (values, [*values[:row], odd, *values[row + 1 :]]):
        if make in READERS:
            lines = zip(*columns.values(), held, strict=True)
            made.append(make("\n".join(["row,y,x", *(",".join(map(str, line)) for line in lines)]) + "\n"))
        else:
            made.append(make({**columns, "x": held}))
    return made[0], made[1], row, kind


def check(seed: int) -> None:
    random = Random(seed)
    try:
        one, other, row, kind = frames(random)
    except (ValueError, TypeError, OverflowError, *NO_TYPE):
        return  # the library makes no frame of it
    for domain in [random.choice(domains())]:
        before, after = counted(one, domain), counted(other, domain)
        if before is not None and after is not None:
            for moved in (before - after, after - before):
                attributes = Counter(cell[0] for cell in moved.elements())
                assert all(number == 1 for number in attributes.values()), (seed, domain)
    by = random.choice(((), ("x",))) if kind not in MOMENTS | NESTED else ()
    assert held_out(one, seed, by) - {row} == held_out(other, seed, by) - {row}, (seed, by)


def test_one_odd_cell_moves_no_other_row() -> None:
    for seed in range(4):
        check(seed)


@pytest.mark.slow
def test_one_odd_cell_of_700_frames_moves_no_other_row() -> None:
    for seed in range(4, 704):
        check(seed)


def test_a_word_is_a_truth_value_or_a_number_in_a_column_of_text() -> None:
    """What the two columns hold where a library knows their types."""
    label = {"column": "y", "classes": ["0", "1"]}
    for values, typed in (
        (["True", "FALSE", "true"], [True, False, True]),
        (["1e+05", "-inf", "2.5e-01"], [1e5, -np.inf, 0.25]),
    ):
        for body in ({"lower": 0, "upper": 1, "step": "1/4"}, {"values": ["True", "false"]}):
            domain = declared({"label": label, "attributes": {"x": body}})
            found = [counted(pl.DataFrame({"y": [0, 0, 1], "x": held}), domain) for held in (values, typed)]
            assert found[1] is None or found[0] == found[1]


def test_a_whole_number_of_64_bits_among_texts_is_split() -> None:
    frame = pd.DataFrame({"x": [2**64 - 1, "a", 10**400, None]})
    parts, sizes = split_frame(frame, split_of("1/2", (), 1))
    assert sum(sizes.values()) == sum(map(len, parts.values())) == 4


@pytest.mark.parametrize(
    "missing",
    [
        pl.Series([float("nan")] * 40),
        pl.Series([float("nan")] * 40, dtype=pl.Object),
        pl.Series(["NaN"] * 40),
        pl.Series([None] * 40, dtype=pl.Int64),
        pl.Series([pd.NA] * 40, dtype=pl.Object),
    ],
    ids=["floats", "objects", "texts", "nulls", "NA"],
)
def test_rows_whose_unit_is_missing_are_no_unit(missing: pl.Series) -> None:
    """They go by their own values: to both parts."""
    assert 0 < len(held_out(pl.DataFrame({"home": missing, "row": range(40)}), 1, ("home",))) < 40


@pytest.mark.parametrize(
    ("typed", "other"),
    [
        ([*range(40)], pl.Series([f"0{number}" for number in range(40)])),
        ([*range(40)], pl.Series([*range(40)], dtype=pl.Object)),
        ([number % 2 == 1 for number in range(40)], pl.Series(["False", "True"] * 20)),
        ([number / 8 for number in range(40)], pl.Series([f"{number / 8:e}" for number in range(40)])),
    ],
    ids=["texts", "objects", "truths", "exponents"],
)
def test_a_column_and_a_unit_of_another_type_are_split_alike(typed: list[Any], other: pl.Series) -> None:
    one, two = (pl.DataFrame({"row": range(40), "x": held}) for held in (typed, other))
    for by in ((), ("x",)):
        assert held_out(one, 1, by) == held_out(two, 1, by)
