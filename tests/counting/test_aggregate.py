"""Every engine counts what a reading row by row counts: columns of every type, grids, random tables, several files."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.aggregation_cases import (
    BOTH,
    ENGINES,
    FILES,
    LABEL,
    MIXED,
    WRITERS,
    check,
    declared,
    held,
    labelled,
    written,
)
from support.memory import peak
from support.random_tables import frames
from support.rows_in_python import INFINITY, NAN, Document, counts_of, expected_counts

from dpnb_columnar.counting import local
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.parquet import open_parquet

EDGES = {8: 2**7, 16: 2**15, 32: 2**31, 64: 2**63}
WIDE = [
    Decimal(text) for text in ("-99999999999999999999999999999999.50", "12345678901234567.89", "0.30", "1.13", "-0.05")
]
UNLIKE_FLOATS = [2**53 - 1, 2**53, 2**53 + 1, 9999999999999999, -(2**53) - 1, 7]
NUMERIC_COLUMNS: dict[str, pa.Array] = {
    **{
        f"int{bits}": pa.array([0, 1, -1, None, 7, edge - 1, -edge, 3], pa.type_for_alias(f"int{bits}"))
        for bits, edge in EDGES.items()
    },
    **{
        f"uint{bits}": pa.array([0, 1, 9, None, 7, 2 * edge - 1, edge, 3], pa.type_for_alias(f"uint{bits}"))
        for bits, edge in EDGES.items()
    },
    "int64 beyond 2^53": pa.array([*UNLIKE_FLOATS, None], pa.int64()),
    "float16": pa.array([np.float16(value) for value in (0.1, -0.0, 7, NAN, INFINITY)] + [None], pa.float16()),
    "float32": pa.array([0.1, 0.25, -0.0, 7.0, 1e30, NAN, INFINITY, -INFINITY, None, 16777217.0], pa.float32()),
    "float64": pa.array(
        [0.1, 0.25, -0.0, 7.0, 1e300, NAN, INFINITY, -INFINITY, None, 5e-324, 2.0**53, 3.0], pa.float64()
    ),
    "float64 of nothing": pa.array([None, NAN, None, NAN], pa.float64()),
    "decimal of 2 places": pa.array([*WIDE, None], pa.decimal128(38, 2)),
    "decimal of no place": pa.array([Decimal(value) for value in (*UNLIKE_FLOATS, 10**37 + 1)], pa.decimal128(38, 0)),
    "decimal of places only": pa.array(
        [Decimal(text) for text in ("0.1678", "-0.6637", "0.0000")], pa.decimal128(4, 4)
    ),
    "decimal32": pa.array([Decimal("1.50"), Decimal("7.00"), Decimal("-0.50"), None], pa.decimal32(5, 2)),
    "boolean": pa.array([True, False, None, True]),
}
TEXTS = ["a", "", " ", "A", "é", "e\u0301", "日本", "'", '"', "''; DROP TABLE x; --", "@column", "$1", "7", None]
OTHER_COLUMNS: dict[str, pa.Array] = {
    "text": pa.array(TEXTS),
    "large text": pa.array(TEXTS, pa.large_string()),
    "text views": pa.array(TEXTS, pa.string_view()),
    "dictionary": pa.array(TEXTS).dictionary_encode(),
    "dictionary of small indices": pa.array(TEXTS, pa.dictionary(pa.int8(), pa.string())),
    "dictionary of whole numbers": pa.array([1, 2, None, 7], pa.dictionary(pa.int8(), pa.int64())),
    "date": pa.array(
        [date(2018, 12, 31), date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), None, date(99, 1, 2)], pa.date32()
    ),
}
COLUMNS = NUMERIC_COLUMNS | OTHER_COLUMNS
VALUES = [
    *(0, 1, 7, -1, 127, "255", 2**31, 2**53 - 1, 2**53, 9999999999999999, 2**63, True, False),
    *(text for text in TEXTS if text not in ("7", None)),
    *("2018-12-31", "0001-01-01", "0099-01-02", "9999-12-31", "20180101", "0.30", "-0.05", "1.50", "0.1678", "-0.6637"),
    *("10000000000000000000000000000000000001", "12345678901234567.89"),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMERIC_COLUMNS)
@pytest.mark.parametrize(
    "bounds",
    [
        {"lower": -3, "upper": 5, "step": Decimal("0.5")},
        {"lower": 0, "upper": Decimal("7.7"), "step": Decimal("0.7"), "missing_values": [3, -1, Decimal("0.25"), 255]},
        {"lower": -(2**60), "upper": 2**60, "step": 2**30},
        {"lower": 0, "upper": 8, "transform": "log1p", "missing_values": [0]},
    ],
    ids=["halves", "sevenths", "wide", "log1p"],
)
def test_numeric_columns(tmp_path: Path, name: str, bounds: Document) -> None:
    check(tmp_path, labelled(x=COLUMNS[name]), {"label": LABEL, "attributes": {"x": bounds}})


@pytest.mark.slow
@pytest.mark.parametrize("name", COLUMNS)
def test_categorical_columns(tmp_path: Path, name: str) -> None:
    table = labelled(x=COLUMNS[name])
    values = held(VALUES, table["x"].type)
    without = [value for value in values if value not in (1, "a", "2018-12-31", "0.30", True, 2**53 - 1)]
    missing = [1, "a", "2018-12-31", "0.30", "true", "9007199254740991"]
    for body in (
        {"values": values},
        {"values": values, "missing": "category"},
        {"values": without, "missing": "category", "missing_values": missing},
        {"values": without, "missing_values": missing},
    ):
        check(tmp_path, table, {"label": LABEL, "attributes": {"x": body}})


@pytest.mark.slow
@pytest.mark.parametrize("name", COLUMNS)
def test_labels_of_every_kind(tmp_path: Path, name: str) -> None:
    column = COLUMNS[name]
    table = pa.table({"y": column, "x": pa.array(range(len(column)), pa.int16())})
    classes = [value for value in held(VALUES, column.type) if value not in (7, "a")]
    label = {"column": "y", "classes": classes, "missing_values": [7, "a"]}
    check(tmp_path, table, {"label": label, "attributes": {"x": {"lower": 0, "upper": 8, "step": 2}}})


@pytest.mark.parametrize("categories", [pl.Enum(["b", "a", "it's"]), pl.Categorical], ids=["Enum", "Categorical"])
def test_polars_dictionaries(tmp_path: Path, categories: Any) -> None:
    values = ["a", None, "it's", "b", "a"]
    domain = declared({"label": LABEL, "attributes": {"x": {"values": ["it's", "a"], "missing": "category"}}})
    frame = pl.DataFrame({"x": pl.Series(values, dtype=categories), "y": ["no", "yes", "no", "yes", "yes"]})
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=2)
    source = open_parquet([tmp_path / "a.parquet"], domain)
    for aggregate in ENGINES.values():
        assert counts_of(aggregate(source, domain)) == expected_counts(frame.to_dicts(), domain)


def test_dates_beyond_the_calendar_match_nothing(tmp_path: Path) -> None:
    days = pa.array([-(2**31) + 1, -1_000_000, -719_163, 0, 2_932_897, 2**31 - 1, None], pa.int32()).cast(pa.date32())
    pq.write_table(labelled(x=days), tmp_path / "a.parquet")
    values = ["1970-01-01", "9999-12-31"]
    domain = declared({"label": LABEL, "attributes": {"x": {"values": values, "missing": "category"}}})
    source = open_parquet([tmp_path / "a.parquet"], domain)
    for aggregate in ENGINES.values():
        assert counts_of(aggregate(source, domain)) == {
            (None, 0, 0): 3, (None, 1, 0): 4, ("x", 0, 0): 1, ("x", 0, 2): 2, ("x", 1, 2): 4
        }  # fmt: skip
    label = declared({"label": {"column": "x", "classes": values}, "attributes": {"y": {"values": ["no", "yes"]}}})
    for aggregate in ENGINES.values():
        assert counts_of(aggregate(source, label)) == {(None, 0, 0): 1, ("y", 0, 0): 1}


@pytest.mark.parametrize(
    ("lower", "upper", "step"), [("0", "100", "0.1"), ("-0.3", "99.7", "0.1"), ("0", "70", "0.7"), ("0", "30", "1/3")]
)
def test_values_half_way_between_grid_points(tmp_path: Path, lower: str, upper: str, step: str) -> None:
    low, width = float(Fraction(lower)), float(Fraction(step))
    points = [(position + 0.5) * width + low for position in range(300)]
    points += [low + position * width + width / 2 for position in range(300)]
    points += [math.nextafter(point, side) for point in points[:300] for side in (-INFINITY, INFINITY)]
    points += [round(position * 0.05, 2) for position in range(300)]
    bounds = {"lower": lower, "upper": upper, "step": step}
    check(tmp_path, labelled(x=pa.array(points)), {"label": LABEL, "attributes": {"x": bounds}}, group=500)
    exact = pa.array([Decimal(position * 5).scaleb(-2) for position in range(300)], pa.decimal128(18, 2))
    check(tmp_path, labelled(x=exact), {"label": LABEL, "attributes": {"x": bounds}}, group=500)


@pytest.mark.parametrize(("digits", "places"), [(9, 2), (18, 6), (38, 0), (38, 2), (38, 20), (38, 38), (20, 0)])
def test_decimals_become_the_nearest_float(tmp_path: Path, digits: int, places: int) -> None:
    random = np.random.default_rng(digits + places)
    lengths = random.integers(1, digits + 1, 500)
    wholes = ["".join(map(str, random.integers(0, 10, length))) for length in lengths]
    signs = random.choice([-1, 1], 500)
    with localcontext(prec=60):
        numbers = [Decimal(whole).scaleb(-places) * int(sign) for whole, sign in zip(wholes, signs, strict=True)]
    largest = 10 ** (digits - places)
    bounds = {"lower": -largest, "upper": largest, "step": Fraction(largest, 2**31)}
    table = labelled(x=pa.array(numbers, pa.decimal128(digits, places)))
    assert len(check(tmp_path, table, {"label": LABEL, "attributes": {"x": bounds}}, group=500)) > 100


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(frames(), st.integers(1, 5), st.sampled_from(WRITERS))
def test_random_frames(
    tmp_path_factory: pytest.TempPathFactory, frame: tuple[list[pa.Table], Document], group: int, writer: str
) -> None:
    tables, document = frame
    check(tmp_path_factory.mktemp("random"), tables, document, group, [writer])


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_several_files(tmp_path: Path, name: str) -> None:
    check(tmp_path, FILES[name], BOTH)


@pytest.mark.parametrize("cells", [1, 10, 23])
def test_passes_cross_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """Down to one row a pass."""
    monkeypatch.setattr(local, "PART_ROWS", cells)
    check(tmp_path, [MIXED, MIXED.slice(0, 0), MIXED.slice(1, 1), MIXED.slice(2)], BOTH)


def test_enums_of_different_files(tmp_path: Path) -> None:
    domain = declared({"label": LABEL, "attributes": {"x": {"values": ["a", "b"]}}})
    files = [tmp_path / "1.parquet", tmp_path / "2.parquet", tmp_path / "3.parquet"]
    for file, type_ in zip(files, [pl.Enum(["a"]), pl.Enum(["b", "a"]), pl.String], strict=True):
        pl.DataFrame({"x": pl.Series(["a"], dtype=type_), "y": ["no"]}).write_parquet(file)
    source = open_parquet(files, domain)
    for aggregate in ENGINES.values():
        assert counts_of(aggregate(source, domain)) == {(None, 0, 0): 3, ("x", 0, 0): 3}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["a[1]", "[", "a*", "a?", "a]b", "{x,y}", "it's", 'a"b', "a b", "日本", "a;b", "x%20y", "age=7", "a#b"]
)
def test_file_names(tmp_path: Path, name: str) -> None:
    """A name stands for one file, whatever else it would match as a pattern."""
    domain = declared(BOTH)
    folder = tmp_path / f"age=3,{name}"
    folder.mkdir()
    for decoy in ("a1", "ab", "x", "y"):
        pq.write_table(MIXED.slice(0, 1), folder / f"{decoy}.parquet")
    pq.write_table(MIXED, folder / f"{name}.parquet")
    source = open_parquet([folder / f"{name}.parquet"], domain)
    for aggregate in ENGINES.values():
        assert counts_of(aggregate(source, domain)) == expected_counts(MIXED.to_pylist(), domain)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("compression", ["zstd", "snappy", "none"])
def test_damaged_pages(tmp_path: Path, capfd: pytest.CaptureFixture[str], engine: str, compression: str) -> None:
    """A whole footer over damaged pages: an error that names the file and quotes nothing of it."""
    table = labelled(
        secret=pa.array([f"SECRET{position % 3}" for position in range(20_000)]),
        wage=pa.array([777.0 + position for position in range(20_000)]),
    )
    file = tmp_path / "census.parquet"
    pq.write_table(table, file, row_group_size=5000, compression=compression)
    content = bytearray(file.read_bytes())
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[footer // 4 : footer - 100] = b"\xa5" * (footer - 100 - footer // 4)
    file.write_bytes(content)
    domain = declared(
        {
            "label": LABEL,
            "attributes": {"secret": {"values": ["SECRET1"]}, "wage": {"lower": 0, "upper": 100, "step": 1}},
        }
    )
    with pytest.raises(DataError, match=r"census\.parquet: cannot be read to the end") as caught:
        ENGINES[engine](open_parquet([file], domain), domain)
    assert caught.value.exit_code == 65
    assert caught.value.__cause__ is None
    for text in (str(caught.value), *capfd.readouterr()):
        assert "SECRET" not in text
        assert "777" not in text


def test_a_file_that_vanishes(tmp_path: Path) -> None:
    domain = declared(BOTH)
    (file,) = written(tmp_path, [MIXED])
    source = open_parquet([file], domain)
    file.unlink()
    for aggregate in ENGINES.values():
        with pytest.raises(DataError, match="cannot be read to the end"):
            aggregate(source, domain)


MEMORY_SCRIPT = """
from dpnb_columnar.counting import local
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.rows.parquet import open_parquet

numeric = {f"n{position}": {"lower": 0, "upper": 100, "step": 1} for position in range(1, 4)}
categorical = {f"c{position}": {"values": list(range(9))} for position in range(3)}
label = {"condition": "n0 > 50", "classes": ["no", "yes"]}
domain = read_domain("memory", {"label": label, "attributes": numeric | categorical}, "")
local.answer(open_parquet([Path(sys.argv[1])], domain), CellQuery(domain))
"""
BLOCK_ROWS, FEW_BLOCKS, MANY_BLOCKS = 250_000, 30, 60  # few enough to be quick, enough to fill every buffer


@pytest.mark.slow
def test_memory_does_not_follow_rows(tmp_path: Path) -> None:
    """7.5 million rows more, of 56 bytes: held in memory they would be 400 MiB."""
    random = np.random.default_rng(1)
    columns = {f"n{position}": random.uniform(0, 100, BLOCK_ROWS) for position in range(4)}
    columns |= {f"c{position}": random.integers(0, 9, BLOCK_ROWS) for position in range(3)}
    block = pa.table(columns)
    files = [tmp_path / "few.parquet", tmp_path / "many.parquet"]
    for file, blocks in zip(files, (FEW_BLOCKS, MANY_BLOCKS), strict=True):
        with pq.ParquetWriter(file, block.schema, compression="lz4") as writer:
            for _ in range(blocks):
                writer.write_table(block)
    few, many = (peak(MEMORY_SCRIPT, file) for file in files)
    assert many - few < 250
