"""Both engines count what a row-by-row reading of the rules counts, in bounded memory; statistics add up."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpnb_columnar.aggregation import duckdb_engine, local, polars_engine
from dpnb_columnar.aggregation.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import Categorical, Domain, Label, Missing, Numeric, read_domain
from dpnb_columnar.domain.condition import Combination, Comparison, Negation, Node
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.source import Source, open_source

Row = Mapping[str, Any]
Document = dict[str, Any]
Counts = dict[tuple[str | None, int, int], int]

NAN, INFINITY = math.nan, math.inf


# The rules once more, one row at a time, in Python's own arithmetic. None stands for null, OTHER for a value that can
# be no category.

OTHER = object()
BEYOND_FLOATS = 2**53


def number_of(value: Any, missing: Sequence[Fraction]) -> float | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    number = float(value)
    return None if number in [float(declared) for declared in missing] else number


def text_of(value: Any, missing: Sequence[str]) -> Any:
    text: Any = OTHER
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, int | float):
        if abs(value) < BEYOND_FLOATS and value == int(value):
            text = str(int(value))
    elif isinstance(value, Decimal):
        text = format(value, "f")
    else:
        text = value.isoformat() if isinstance(value, date) else value
    return None if text in missing else text


def truth_of(node: Node, row: Row, label: Label) -> bool | None:
    """SQL's three-valued logic: None is unknown."""
    if isinstance(node, Negation):
        part = truth_of(node.part, row, label)
        return None if part is None else not part
    if isinstance(node, Combination):
        parts = [truth_of(part, row, label) for part in node.parts]
        decisive = node.operator == "OR"
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    assert isinstance(node, Comparison)
    value, constant = row[node.column], node.constant
    if isinstance(constant, str):
        found = text_of(value, label.missing_values)
    else:
        found = number_of(value, [Fraction(text) for text in label.missing_values if re.fullmatch(r"[-\d.]+", text)])
        constant = float(constant)  # type: ignore[assignment]
    if found is None:
        return None
    return {
        "=": lambda: found == constant,
        "<>": lambda: found != constant,
        "<": lambda: found < constant,
        "<=": lambda: found <= constant,
        ">": lambda: found > constant,
        ">=": lambda: found >= constant,
    }[node.operator]()


def class_of(row: Row, label: Label) -> int | None:
    if label.condition is not None:
        truth = truth_of(label.condition.root, row, label)
        return None if truth is None else int(truth)
    text = text_of(row[label.columns[0]], label.missing_values)
    return label.classes.index(text) if text in label.classes else None


def code_of(row: Row, attribute: Numeric | Categorical) -> int | None:
    value = row[attribute.name]
    if isinstance(attribute, Numeric):
        number = number_of(value, attribute.missing_values)
        if number is None:
            return None
        lower, upper, step = float(attribute.lower), float(attribute.upper), float(attribute.step)
        return min(math.floor((min(max(number, lower), upper) - lower) / step + 0.5), attribute.cells)
    text = text_of(value, attribute.missing_values)
    if text is None:
        return len(attribute.values) if attribute.missing is Missing.CATEGORY else None
    return attribute.values.index(text) if text in attribute.values else None


def expected_counts(rows: Sequence[Row], domain: Domain) -> Counts:
    found: Counts = Counter()
    for row in rows:
        klass = class_of(row, domain.label)
        codes = [code_of(row, attribute) for attribute in domain.attributes]
        if klass is None or None in codes:
            continue
        found[None, klass, 0] += 1
        for attribute, code in zip(domain.attributes, codes, strict=True):
            assert code is not None
            found[attribute.name, klass, code] += 1
    return dict(found)


# Files and engines.


def counts_of(statistics: Statistics) -> Counts:
    return {
        (cells.attribute, int(klass), int(code)): int(count)
        for cells in statistics.cells()
        for klass, code, count in zip(cells.classes, cells.codes, cells.counts, strict=True)
    }


def written(folder: Path, tables: Sequence[pa.Table], writer: str = "pyarrow", group: int = 3) -> list[Path]:
    """Each table as a file of several row groups."""
    folder.mkdir(exist_ok=True)
    files = [folder / f"{writer}_{position}.parquet" for position in range(len(tables))]
    for file, table in zip(files, tables, strict=True):
        if writer == "pyarrow":
            pq.write_table(table, file, row_group_size=group)
        else:
            pl.from_arrow(table).write_parquet(file, row_group_size=group)  # type: ignore[union-attr]
    return files


def by_polars(source: Source, domain: Domain) -> Statistics:
    return assemble(domain, polars_engine.count_cells(source, domain, domain.attributes, classes=True))


def by_duckdb(source: Source, domain: Domain) -> Statistics:
    return assemble(domain, duckdb_engine.count_cells(source, domain, domain.attributes, classes=True))


ENGINES: dict[str, Callable[[Source, Domain], Statistics]] = {
    "polars": by_polars,
    "duckdb": by_duckdb,
    "local": local.aggregate,
}


def declared(document: Document) -> Domain:
    return read_domain("test", document, "test")


WRITERS = ("pyarrow", "polars")


def check(
    folder: Path,
    tables: pa.Table | Sequence[pa.Table],
    document: Document,
    group: int = 3,
    writers: Sequence[str] = WRITERS,
) -> Counts:
    """Every engine, on the files of every writer, finds what the reference finds."""
    tables = [tables] if isinstance(tables, pa.Table) else list(tables)
    domain = declared(document)
    expected = expected_counts([row for table in tables for row in table.to_pylist()], domain)
    for writer in writers:
        source = open_source(written(folder, tables, writer, group), domain)
        for engine, aggregate in ENGINES.items():
            assert counts_of(aggregate(source, domain)) == expected, f"{engine}, written by {writer}"
    return expected


def total(counts: Counts) -> int:
    return sum(count for (name, _, _), count in counts.items() if name is None)


def labelled(**columns: pa.Array) -> pa.Table:
    """The columns and a label ``y`` that takes turns."""
    rows = max(len(column) for column in columns.values())
    return pa.table({**columns, "y": list(islice(cycle(["no", "yes", "yes"]), rows))})


LABEL: Document = {"column": "y", "classes": ["no", "yes"]}


# Columns of every kind.

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
TEXTS = [
    "a",
    "",
    " ",
    "A",
    "é",
    "e\u0301",
    "日本",
    "'",
    '"',
    "''; DROP TABLE x; --",
    "@column",
    "$1",
    "7",
    None,
]
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
    *("0.0000", "1.5", "10000000000000000000000000000000000001", "12345678901234567.89", "7.00"),
]


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


@pytest.mark.parametrize("name", COLUMNS)
def test_categorical_columns(tmp_path: Path, name: str) -> None:
    table = labelled(x=COLUMNS[name])
    without = [value for value in VALUES if value not in (1, "a", "2018-12-31", "0.30", True, 2**53 - 1)]
    missing = [1, "a", "2018-12-31", "0.30", "true", "9007199254740991"]
    for body in (
        {"values": VALUES},
        {"values": VALUES, "missing": "category"},
        {"values": without, "missing": "category", "missing_values": missing},
        {"values": without, "missing_values": missing},
    ):
        check(tmp_path, table, {"label": LABEL, "attributes": {"x": body}})


@pytest.mark.parametrize("name", COLUMNS)
def test_labels_of_every_kind(tmp_path: Path, name: str) -> None:
    column = COLUMNS[name]
    table = pa.table({"y": column, "x": pa.array(range(len(column)), pa.int16())})
    label = {"column": "y", "classes": [value for value in VALUES if value not in (7, "a")], "missing_values": [7, "a"]}
    check(tmp_path, table, {"label": label, "attributes": {"x": {"lower": 0, "upper": 8, "step": 2}}})


@pytest.mark.parametrize("categories", [pl.Enum(["b", "a", "it's"]), pl.Categorical], ids=["Enum", "Categorical"])
def test_polars_dictionaries(tmp_path: Path, categories: Any) -> None:
    values = ["a", None, "it's", "b", "a"]
    domain = declared({"label": LABEL, "attributes": {"x": {"values": ["it's", "a"], "missing": "category"}}})
    frame = pl.DataFrame({"x": pl.Series(values, dtype=categories), "y": ["no", "yes", "no", "yes", "yes"]})
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=2)
    source = open_source([tmp_path / "a.parquet"], domain)
    for aggregate in ENGINES.values():
        assert counts_of(aggregate(source, domain)) == expected_counts(frame.to_dicts(), domain)


def test_dates_beyond_the_calendar_match_nothing(tmp_path: Path) -> None:
    days = pa.array([-(2**31) + 1, -1_000_000, -719_163, 0, 2_932_897, 2**31 - 1, None], pa.int32()).cast(pa.date32())
    pq.write_table(labelled(x=days), tmp_path / "a.parquet")
    values = ["1970-01-01", "-0768-02-04", "+10000-01-01", "10000-01-01", "0769-02-04 (BC)", "infinity", "-infinity"]
    domain = declared({"label": LABEL, "attributes": {"x": {"values": values, "missing": "category"}}})
    source = open_source([tmp_path / "a.parquet"], domain)
    for aggregate in ENGINES.values():
        assert counts_of(aggregate(source, domain)) == {
            (None, 0, 0): 2, ("x", 0, 0): 1, ("x", 0, len(values)): 1
        }  # fmt: skip


# Grids whose floats are inexact.


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


# Labels by condition.

PEOPLE = pa.table(
    {
        "wage": pa.array([0.0, 1500.0, 1500.5, None, NAN, INFINITY, -INFINITY, 999999.0, -0.0, 7.0]),
        "hours": pa.array([0, 40, None, 40, 99, None, 7, 8, 40, 41], pa.int8()),
        "sex": pa.array(["Female", "Male", None, "", "it's", "Female", "Male", "NIU", "Female", None]),
        "large": pa.array([2**64 - 1, 2**63, 2**53 + 1, None, 0, 1, 7, 2**53, 40, 41], pa.uint64()),
        "owner": pa.array([True, False, None, True, False, None, True, False, True, None]),
        "day": pa.array([date(2018, 12, 31), None, *[date(2019, 1, day) for day in range(1, 9)]]),
        "rate": pa.array([None, *[Decimal(value) / 4 for value in range(9)]], pa.decimal128(10, 2)),
        "x": pa.array(range(10)),
    }
)
CONDITIONS = [
    "wage > 1500",
    "wage >= 1500 AND hours >= 40",
    "wage > 1500 OR hours = 40",
    "NOT (wage > 1500 OR sex = 'Female')",
    "NOT (wage <= 1500 AND NOT hours <> 40)",
    "wage = 0",
    "wage <> 7",
    "wage < 1e300",
    "hours IN (40, 41, 7.0)",
    "hours NOT IN (40, 41)",
    "hours BETWEEN 7 AND 40",
    "wage NOT BETWEEN 0 AND 1500",
    "hours BETWEEN 40 AND 7",
    "sex = 'Female'",
    "sex <> 'Female'",
    "sex IN ('Female', 'it''s', '')",
    "sex NOT IN ('Male', '')",
    "hours = '40'",
    "hours <> '40'",
    "wage = '7' OR wage = '0'",
    "wage <> '1500'",
    "large > 9007199254740992",
    "large = 9007199254740993",
    "large = '9007199254740991' OR large <> '40'",
    "owner = 'true'",
    "owner <> 'false'",
    "owner = 1",
    "owner > 0 OR sex = 'Female'",
    "day = '2018-12-31'",
    "day NOT IN ('2018-12-31', '2019-01-02')",
    "rate = 0.25 OR rate > 1.5",
    "rate = '0.25'",
    "wage = '999999' OR hours = 99 OR sex = 'NIU'",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions(tmp_path: Path, condition: str) -> None:
    attributes = {"x": {"lower": 0, "upper": 10, "step": 1}}
    for missing in ([], ["999999", "NIU", "99", "", "40.5"]):
        label = {"condition": condition, "classes": ["no", "yes"], "missing_values": missing}
        check(tmp_path, PEOPLE, {"label": label, "attributes": attributes})


# Domains of every shape.


def test_more_attributes_than_one_pass_takes(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    names = [f"c{position}" for position in range(65)]
    columns = {
        name: pa.array([["u", "v", None][code] for code in random.choice(3, 40, p=[0.6, 0.39, 0.01])]) for name in names
    }
    attributes = {name: {"values": ["u", "v"], "missing": "category" if name < "c9" else "drop"} for name in names}
    assert total(check(tmp_path, labelled(**columns), {"label": LABEL, "attributes": attributes}, group=10)) > 0


def test_many_values(tmp_path: Path) -> None:
    values = [f"value {position}" for position in range(10_000)]
    check(
        tmp_path,
        labelled(x=pa.array([*values[::100], "value", None])),
        {"label": LABEL, "attributes": {"x": {"values": values}}},
    )


MIXED = labelled(
    age=pa.array([1, 5, None, 9, 200, 3, 3], pa.int16()),
    wage=pa.array([0.5, NAN, 3.25, -1.0, 9.75, 3.25, 1.0]),
    sex=pa.array(["f", "m", None, "m", "f", "x", "m"]),
    code=pa.array([1.0, None, 2.0, NAN, 2.0, 1.0, 1.5]),
)
NUMERIC_BODIES: Document = {
    "age": {"lower": 0, "upper": 100, "step": 1},
    "wage": {"lower": 0, "upper": 10, "step": Decimal("0.1")},
}
CATEGORICAL_BODIES: Document = {
    "sex": {"values": ["m", "f"], "missing": "category"},
    "code": {"values": [1, 2, 3], "missing": "category"},
}


@pytest.mark.parametrize(
    "attributes",
    [NUMERIC_BODIES, CATEGORICAL_BODIES, NUMERIC_BODIES | CATEGORICAL_BODIES],
    ids=["numeric", "categorical", "both"],
)
@pytest.mark.parametrize("classes", [["no", "yes"], ["never", "yes", "no"], ["never", "nor this"]])
def test_domains_of_one_kind_and_classes_without_rows(tmp_path: Path, attributes: Document, classes: list[str]) -> None:
    check(tmp_path, MIXED, {"label": {"column": "y", "classes": classes}, "attributes": attributes})


BOTH: Document = {"label": LABEL, "attributes": NUMERIC_BODIES | CATEGORICAL_BODIES}


def with_type(table: pa.Table, name: str, type_: pa.DataType) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, table[name].cast(type_))


@pytest.mark.parametrize(
    "tables",
    [
        [MIXED, MIXED.slice(2, 3)],
        [MIXED.slice(0, 0)],
        [MIXED, MIXED.slice(0, 0)],
        [MIXED.slice(0, 0), MIXED],
        [MIXED, MIXED.select(["wage", "y", "code", "sex", "age"])],
        [MIXED, MIXED.append_column("extra", pa.array([[1]] * 7)).select(["extra", "y", "code", "sex", "age", "wage"])],
        [MIXED.append_column("extra", pa.array([[1]] * 7)), MIXED.append_column("extra", pa.array(["a"] * 7))],
        [with_type(MIXED.slice(0, 4), "age", pa.int8()), MIXED, with_type(MIXED, "age", pa.uint32())],
        [with_type(MIXED, "wage", pa.float32()), MIXED],
        [
            MIXED,
            with_type(MIXED, "sex", pa.dictionary(pa.int8(), pa.string())),
            with_type(MIXED, "sex", pa.large_string()),
        ],
    ],
    ids=[
        *(
            "two files",
            "no row",
            "rows then none",
            "none then rows",
            "other order",
            "extra column",
            "unlike extra columns",
        ),
        *("integer widths", "float widths", "texts and dictionaries"),
    ],
)
def test_several_files(tmp_path: Path, tables: list[pa.Table]) -> None:
    check(tmp_path, tables, BOTH)


@pytest.mark.parametrize("cells", [1, 10, 23])
def test_passes_cross_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """Down to one row a pass."""
    monkeypatch.setattr(polars_engine, "PASS_CELLS", cells)
    check(tmp_path, [MIXED, MIXED.slice(0, 0), MIXED.slice(1, 1), MIXED.slice(2)], BOTH)


def test_enums_of_different_files(tmp_path: Path) -> None:
    domain = declared({"label": LABEL, "attributes": {"x": {"values": ["a", "b"]}}})
    files = [tmp_path / "1.parquet", tmp_path / "2.parquet", tmp_path / "3.parquet"]
    for file, type_ in zip(files, [pl.Enum(["a"]), pl.Enum(["b", "a"]), pl.String], strict=True):
        pl.DataFrame({"x": pl.Series(["a"], dtype=type_), "y": ["no"]}).write_parquet(file)
    source = open_source(files, domain)
    for aggregate in ENGINES.values():
        assert counts_of(aggregate(source, domain)) == {(None, 0, 0): 3, ("x", 0, 0): 3}


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
    source = open_source([folder / f"{name}.parquet"], domain)
    for aggregate in ENGINES.values():
        assert counts_of(aggregate(source, domain)) == expected_counts(MIXED.to_pylist(), domain)


# Names and values that mean something to an engine.

ODD_NAMES = [
    *('a"b', '"', "it's", "@column", "@fits @@", "$files", "${class}", "x; DROP TABLE t; --", "-- name: cells", "/* x"),
    *("class", "attribute_0", "labelled", "cell", "rows", "count", "code", "constant_0", "read_parquet", "filename"),
    *("file_row_number", "rowid", "select", "*", "^.*$", "^x", "a.b", " ", "日本", "%s{0}", "\\", "NaN", "x" * 300),
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_column_names(tmp_path: Path, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    numeric, category, flag = pa.array([1.5, None, 4.0, 2.5]), pa.array(["u", "v", None, "u"]), pa.array([3, 1, 2, 5])
    others = {"other": {"lower": 0, "upper": 5, "step": 1}, "attribute_1": {"values": ["u", "v"]}}
    table = pa.table({name: numeric, "other": flag, "attribute_1": category, "y": ["yes", "no", "yes", "yes"]})
    check(
        tmp_path,
        table,
        {"label": LABEL, "attributes": {**others, name: {"lower": 0, "upper": 5, "step": 1}}},
        writers=WRITERS[:1],
    )
    table = table.set_column(0, name, category)
    check(
        tmp_path,
        table,
        {"label": LABEL, "attributes": {name: {"values": ["u"], "missing": "category"}, **others}},
        writers=WRITERS[:1],
    )
    label = {"condition": f"{quoted} = 'u' OR {quoted} = 'w'", "classes": ["no", "yes"]}
    check(tmp_path, table, {"label": label, "attributes": others}, writers=WRITERS[:1])
    check(
        tmp_path, table, {"label": {"column": name, "classes": ["v", "u"]}, "attributes": others}, writers=WRITERS[:1]
    )


def test_odd_values(tmp_path: Path) -> None:
    """Every odd name as a category, a class, a missing value and a text of a condition."""
    column = pa.array([*ODD_NAMES, None, "else"])
    table = pa.table({"x": column, "y": column, "z": column})
    half = ODD_NAMES[::2]
    attributes = {
        "x": {"values": ODD_NAMES},
        "z": {"values": half, "missing_values": ODD_NAMES[1::2], "missing": "category"},
    }
    label: Document = {"column": "y", "classes": half, "missing_values": ODD_NAMES[1::2]}
    assert total(check(tmp_path, table, {"label": label, "attributes": attributes})) == len(half)
    texts = ", ".join("'" + name.replace("'", "''") + "'" for name in half)
    label = {"condition": f"y IN ({texts})", "classes": ["no", "yes"]}
    assert total(check(tmp_path, table, {"label": label, "attributes": attributes})) == len(ODD_NAMES)


# Random frames.

KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int8": (pa.int8(), st.integers(-9, 9) | st.sampled_from([-128, 127])),
    "int64": (pa.int64(), st.integers(-9, 9) | st.sampled_from([-(2**63), 2**53, 2**63 - 1])),
    "uint16": (pa.uint16(), st.integers(0, 9) | st.just(2**16 - 1)),
    "uint64": (pa.uint64(), st.integers(0, 9) | st.sampled_from([2**53, 2**53 - 1, 2**64 - 1])),
    "float32": (pa.float32(), st.sampled_from([0.0, -0.0, 1, 2.5, 7, NAN, INFINITY, -INFINITY]) | st.floats(width=32)),
    "float64": (pa.float64(), st.sampled_from([0.0, -0.0, 1, 2.5, 7, NAN, INFINITY, -INFINITY]) | st.floats(-9, 9)),
    "decimal": (pa.decimal128(12, 2), st.decimals(-9, 9, places=2)),
    "boolean": (pa.bool_(), st.booleans()),
    "text": (
        pa.string(),
        st.sampled_from(["", "a", "7", "true", "é", "'", "2.50"]) | st.text(st.characters(codec="utf-8")),
    ),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["", "a", "7", "é", "'"])),
    "date": (pa.date32(), st.integers(0, 5).map(lambda days: date(2018, 12, 31) + timedelta(days))),
}
RANDOM_VALUES = ["", "a", "7", "é", "'", "0", "1", "-3", "true", "false", "2018-12-31", "2.50", "9007199254740991"]
MEASURED = ("int8", "int64", "uint16", "uint64", "float32", "float64", "decimal", "boolean")


@st.composite
def bodies(draw: st.DrawFn, kind: str) -> Document:
    if kind in MEASURED and draw(st.booleans()):
        step = draw(st.sampled_from([Fraction(1), Fraction(1, 10), Fraction(1, 3), Fraction(5, 2)]))
        lower = draw(st.integers(-9, 5))
        missing = draw(st.lists(st.sampled_from([0, 7, -3, Decimal("2.5")]), unique=True, max_size=2))
        upper = lower + step * draw(st.integers(1, 60))
        return {"lower": lower, "upper": upper, "step": step, "missing_values": missing}
    missing = draw(st.lists(st.sampled_from(["", "7", "0", "é"]), unique=True))
    return {
        "values": draw(st.permutations([value for value in RANDOM_VALUES if value not in missing])),
        "missing": draw(st.sampled_from(["drop", "category"])),
        "missing_values": missing,
    }


@st.composite
def conditions(draw: st.DrawFn) -> str:
    test = st.sampled_from(
        [
            "n > 2.5",
            "n <= 0",
            "n <> 7",
            "n BETWEEN -3 AND 7",
            "n NOT IN (0, 1)",
            "t = 'a'",
            "t <> '7'",
            "t IN ('', 'é')",
        ]
    )
    joined = st.recursive(
        test,
        lambda part: (
            part.map("NOT ({})".format)
            | st.tuples(part, st.sampled_from(["AND", "OR"]), part).map("({0[0]} {0[1]} {0[2]})".format)
        ),
        max_leaves=5,
    )
    return draw(joined)


@st.composite
def frames(draw: st.DrawFn) -> tuple[list[pa.Table], Document]:
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3))
    measure = draw(st.sampled_from(MEASURED))
    columns = {f"x{position}": kind for position, kind in enumerate(kinds)} | {"n": measure, "t": "text"}
    attributes = {f"x{position}": draw(bodies(kind)) for position, kind in enumerate(kinds)}
    label: Document = {"missing_values": draw(st.sampled_from([[], ["7"], ["0", "a"]]))}
    if draw(st.booleans()):
        label |= {"condition": draw(conditions()), "classes": ["no", "yes"]}
    else:
        classes = [value for value in RANDOM_VALUES if value not in label["missing_values"]]
        label |= {"column": draw(st.sampled_from(["n", "t"])), "classes": classes}
    tables = []
    for rows in draw(st.lists(st.integers(0, 12), min_size=1, max_size=3)):
        arrays = {
            name: pa.array(draw(st.lists(st.none() | KINDS[kind][1], min_size=rows, max_size=rows)), KINDS[kind][0])
            for name, kind in columns.items()
        }
        tables.append(pa.table(arrays).select(draw(st.permutations(list(columns)))))
    return tables, {"label": label, "attributes": attributes}


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(frames(), st.integers(1, 5), st.sampled_from(WRITERS))
def test_random_frames(
    tmp_path_factory: pytest.TempPathFactory, frame: tuple[list[pa.Table], Document], group: int, writer: str
) -> None:
    tables, document = frame
    check(tmp_path_factory.mktemp("random"), tables, document, group, [writer])


# Statistics.


@pytest.fixture
def parts(tmp_path: Path) -> tuple[Statistics, Statistics, Statistics]:
    """Statistics of three files: one, another, and both together."""
    domain = declared(BOTH)
    files = written(tmp_path, [MIXED, MIXED.slice(3)])
    first, second, both = (local.aggregate(open_source(some, domain), domain) for some in (files[:1], files[1:], files))
    return first, second, both


def test_statistics_add_up(parts: tuple[Statistics, Statistics, Statistics]) -> None:
    first, second, both = parts
    assert total(counts_of(second)) > 0
    assert first + second == both
    assert second + first == both
    assert both - second == first
    assert first + second - second == first
    assert first != second
    assert assemble(both.domain, both.cells()) == both
    nothing = first - first
    assert counts_of(nothing) == {}
    assert nothing + second == second


def test_statistics_show_no_count(parts: tuple[Statistics, Statistics, Statistics]) -> None:
    text = f"{parts[2]!r} {parts[2]} {parts[2].cells()!r} {parts[2].columns!r}"
    assert "CONFIDENTIAL" in text
    assert "2 classes, 2 numeric and 2 categorical" in text
    assert "[1" not in text
    assert "array" not in text


def test_statistics_of_different_domains(parts: tuple[Statistics, Statistics, Statistics]) -> None:
    other = assemble(declared({"label": LABEL, "attributes": NUMERIC_BODIES}), [])
    assert other != parts[0]
    with pytest.raises(ValueError, match="different domains cannot be added"):
        parts[0] + other
    with pytest.raises(ValueError, match="different domains cannot be subtracted"):
        parts[0] - other


def cells(attribute: str | None, *triples: tuple[int, int, int]) -> Cells:
    table = np.array(triples, dtype=np.int64).reshape(-1, 3)
    return Cells(attribute, table[:, 0], table[:, 1], table[:, 2])


SMALL = declared(
    {"label": LABEL, "attributes": {"age": {"lower": 0, "upper": 9, "step": 1}, "sex": {"values": ["m", "f"]}}}
)


def test_assembly() -> None:
    statistics = assemble(
        SMALL,
        [
            cells("sex", (1, 1, 41), (0, 0, 2)),
            cells(None, (1, 0, 41), (0, 0, 2)),
            cells("age", (1, 9, 40), (0, 3, 1), (0, 0, 1)),
            cells("age", (1, 9, 1)),
        ],
    )
    assert statistics.class_counts.tolist() == [2, 41]
    assert statistics.tables["sex"].tolist() == [[2, 0], [0, 41]]
    assert [(column.codes.tolist(), column.counts.tolist()) for column in statistics.columns["age"]] == [
        ([0, 3], [1, 1]),
        ([9], [41]),
    ]


@pytest.mark.parametrize(
    ("faulty", "problem"),
    [
        ([cells("age", (0, 10, 4711))], "'age' lies outside"),
        ([cells("age", (0, -1, 4711))], "'age' lies outside"),
        ([cells("age", (2, 1, 4711))], "'age' lies outside"),
        ([cells("sex", (0, 2, 4711))], "'sex' lies outside"),
        ([cells("sex", (-1, 1, 4711))], "'sex' lies outside"),
        ([cells(None, (2, 0, 4711))], "the classes lies outside"),
        ([cells(None, (0, 1, 4711))], "the classes lies outside"),
        ([cells("wage", (0, 0, 4711))], "'wage' is not in the domain"),
        ([cells("age", (0, 1, -4711))], "'age' is below zero"),
        ([cells("sex", (0, 1, 1), (0, 1, -4711))], "'sex' is below zero"),
        ([cells(None, (1, 0, -4711))], "the classes is below zero"),
        ([cells(None, (0, 0, 4711))], "'age' do not add up"),
        ([cells(None, (0, 0, 4711)), cells("age", (0, 1, 4711)), cells("sex", (0, 1, 4710))], "'sex' do not add up"),
        ([cells(None, (0, 0, 4711)), cells("age", (1, 1, 4711)), cells("sex", (0, 1, 4711))], "'age' do not add up"),
    ],
)
def test_faulty_cells_are_refused(faulty: list[Cells], problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        assemble(SMALL, faulty)
    assert "471" not in str(caught.value)


def test_more_cannot_be_taken_away_than_there_is(parts: tuple[Statistics, Statistics, Statistics]) -> None:
    with pytest.raises(ValueError, match="below zero"):
        parts[1] - parts[2]


# Files that cannot be read, and memory.


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
        ENGINES[engine](open_source([file], domain), domain)
    assert caught.value.exit_code == 65
    assert caught.value.__cause__ is None
    for text in (str(caught.value), *capfd.readouterr()):
        assert "SECRET" not in text
        assert "777" not in text


def test_a_file_that_vanishes(tmp_path: Path) -> None:
    domain = declared(BOTH)
    (file,) = written(tmp_path, [MIXED])
    source = open_source([file], domain)
    file.unlink()
    for aggregate in ENGINES.values():
        with pytest.raises(DataError, match="cannot be read to the end"):
            aggregate(source, domain)


MEMORY_SCRIPT = """
import sys
from pathlib import Path
from dpnb_columnar.aggregation import local
from dpnb_columnar.domain import read_domain
from dpnb_columnar.rows.source import open_source

def peak_mebibytes():
    # Not ru_maxrss on Linux: a child inherits the peak of the process that started it.
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

numeric = {f"n{position}": {"lower": 0, "upper": 100, "step": 1} for position in range(1, 4)}
categorical = {f"c{position}": {"values": list(range(9))} for position in range(3)}
label = {"condition": "n0 > 50", "classes": ["no", "yes"]}
domain = read_domain("memory", {"label": label, "attributes": numeric | categorical}, "")
for file in sys.argv[1:]:
    local.aggregate(open_source([Path(file)], domain), domain)
    sys.stdout.write(f"{peak_mebibytes()}\\n")
"""
BLOCK_ROWS, FEW_BLOCKS, MANY_BLOCKS = 250_000, 20, 44  # few enough to be quick, enough to fill every buffer


def test_memory_does_not_follow_rows(tmp_path: Path) -> None:
    """6 million rows more, of 56 bytes: held in memory they would be 320 MiB."""
    random = np.random.default_rng(1)
    columns = {f"n{position}": random.uniform(0, 100, BLOCK_ROWS) for position in range(4)}
    columns |= {f"c{position}": random.integers(0, 9, BLOCK_ROWS) for position in range(3)}
    block = pa.table(columns)
    files = [tmp_path / "few.parquet", tmp_path / "many.parquet"]
    for file, blocks in zip(files, (FEW_BLOCKS, MANY_BLOCKS), strict=True):
        with pq.ParquetWriter(file, block.schema, compression="lz4") as writer:
            for _ in range(blocks):
                writer.write_table(block)
    command = [sys.executable, "-W", "error", "-c", MEMORY_SCRIPT, *map(str, files)]
    few, many = map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    assert many - few < 100
