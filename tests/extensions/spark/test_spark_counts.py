"""Spark counts what the local engine counts, whatever types, names and files the rows are in, whatever its defaults."""

from __future__ import annotations

import os
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.aggregation_cases import BOTH, FILES, LABEL, MIXED, declared, labelled, recast, written
from support.rows_in_python import INFINITY, NAN, Document, counts_of, expected_counts

from dpnb_columnar.core.queries.statistics import CellQuery, Statistics
from dpnb_columnar.counting import local
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError, Error, MissingInputError
from dpnb_columnar.extensions.spark import spark
from dpnb_columnar.extensions.spark.spark import open_files, read_footers
from dpnb_columnar.extensions.spark.spark_session import counting_session
from dpnb_columnar.rows.input_files import resolve_files
from dpnb_columnar.rows.parquet import open_parquet

SMALLEST = 5e-324


def by_spark(items: list[str], domain: Domain) -> Statistics:
    with counting_session() as session:
        return spark.answer(open_files(session, read_footers(session, items), domain), CellQuery(domain))


def check(paths: list[Path], document: Document) -> Statistics:
    """The same statistics, of the same files, by Spark and here."""
    domain = declared(document)
    expected = local.answer(open_parquet(resolve_files(paths), domain), CellQuery(domain))
    found = by_spark([str(path) for path in paths], domain)
    assert found == expected
    assert found.parts == expected.parts
    return found


def test_the_settings_do_not_reach_the_session_of_the_caller(session: Any) -> None:
    with counting_session() as ours:
        assert ours.conf.get("spark.sql.caseSensitive") == "true"
        assert ours.conf.get("spark.sql.ansi.enabled") == "true"
    assert session.conf.get("spark.sql.caseSensitive") == "false"
    assert session.range(3).count() == 3


def test_columns_in_the_names_of_folders(session: Any, tmp_path: Path) -> None:
    """Spark is given them by the program: as texts, with an odd name, and in one folder without a value."""
    for number, folder in enumerate(
        ["A=1/B%3D=x", "A=1/B%3D=%C3%A9", "A=__HIVE_DEFAULT_PARTITION__/B%3D=x", "A=02/B%3D="]
    ):
        (tmp_path / folder).mkdir(parents=True)
        rows = pa.table({"c": ["yes", "no", None], "n": pa.array([number, 7, None], pa.int64())})
        pq.write_table(rows, tmp_path / folder / f"{number}.parquet")
    document: Document = {
        "label": {"column": "c", "classes": ["yes", "no"]},
        "attributes": {
            "A": {"lower": 0, "upper": 5, "step": 1},
            "B=": {"values": ["x", "é"], "missing": "category"},
            "n": {"lower": 0, "upper": 9, "step": 1},
        },
    }
    found = check([tmp_path], document)
    assert found.class_counts.tolist() == [4, 4]
    assert found.lacking()["A"] == 2


COLUMNS: dict[str, tuple[pa.Array, Document]] = {
    "float64": (
        pa.array([0.1, -0.0, 0.0, NAN, INFINITY, -INFINITY, SMALLEST, -SMALLEST, 1e300, 0.25, 0.75, None]),
        {"lower": 0, "upper": 5, "step": "1/2", "missing_values": ["0.1"]},
    ),
    "float32": (
        pa.array([0.1, -0.0, 0.3, NAN, INFINITY, 1e-45, 7.0, None], pa.float32()),
        {"lower": 0, "upper": 1, "step": "1/10"},
    ),
    "float32 categories": (pa.array([0.1, -0.0, 7.0, NAN, 16777216.0, None], pa.float32()), {"values": [0, 7]}),
    "int8": (pa.array([-128, 127, 0, None], pa.int8()), {"lower": -100, "upper": 101, "step": 3}),
    "uint8": (pa.array([255, 128, 0, None], pa.uint8()), {"values": [255, 0]}),
    "uint16": (pa.array([65535, 1, None], pa.uint16()), {"lower": 0, "upper": 65535, "step": 1}),
    "uint32": (pa.array([2**32 - 1, 2**31, 1, None], pa.uint32()), {"values": [2**32 - 1, 2**31]}),
    "uint64": (
        pa.array([2**64 - 1, 2**63, 2**53 + 1, 2**53 - 1, 7, None], pa.uint64()),
        {"values": [2**53 - 1, 7], "missing": "category"},
    ),
    "uint64 measured": (
        pa.array([2**64 - 1, 2**63, 2**63 - 1, 2**53 + 1, 7, None], pa.uint64()),
        {"lower": 0, "upper": 2**62, "step": 2**40},
    ),
    "decimal32": (pa.array([Decimal("0.05"), Decimal("-7.00"), None], pa.decimal128(5, 2)), {"values": ["0.05"]}),
    "decimal64": (
        pa.array([Decimal("0.0000000000"), Decimal("-0.0000000001"), Decimal("3.5000000000"), None]).cast(
            pa.decimal128(18, 10)
        ),
        {"values": ["0.0000000000", "3.5000000000", "-0.0000000001"]},
    ),
    "decimal128": (
        pa.array([Decimal(10) ** 37, Decimal(2) ** 53 + 1, None], pa.decimal128(38, 0)),
        {"lower": 0, "upper": 2**60, "step": 2**30},
    ),
    "boolean": (pa.array([True, False, None]), {"values": ["true", "false"], "missing": "category"}),
    "boolean measured": (pa.array([True, False, None]), {"lower": 0, "upper": 1, "step": 1}),
    "text": (
        pa.array(["a", "a ", "A", "${x}", "'", '"', "\\", "\\n", "`", "", "e\u0301", "é", "😀", "%", None]),
        {"values": ["a", "A", "${x}", "'", '"', "\\", "\\n", "`", "é", "😀", ""], "missing": "category"},
    ),
    "trailing spaces": (pa.array(["a  ", "a ", "a", " "]), {"values": ["a  ", "a", " "]}),
    "dictionary": (pa.array(["f", "m", "x", None, "f"]).dictionary_encode(), {"values": ["m", "f"]}),
    "old dates": (
        pa.array([date(1, 1, 1), date(1500, 3, 1), date(1582, 10, 14), date(1582, 10, 15), date(9999, 12, 31), None]),
        {"values": ["0001-01-01", "1500-03-01", "1582-10-14", "9999-12-31"], "missing": "category"},
    ),
}


@pytest.mark.parametrize("vectorised", ["true", "false"])
def test_columns_of_every_type(session: Any, tmp_path: Path, vectorised: str) -> None:
    """In a file with dictionaries and one without, read by each of Spark's two readers."""
    configuration = session.sparkContext._jsc.sc().conf()
    configuration.set("spark.sql.parquet.enableVectorizedReader", vectorised)
    try:
        for name, (column, body) in COLUMNS.items():
            files = [tmp_path / f"{name} with.parquet", tmp_path / f"{name} without.parquet"]
            for file in files:
                pq.write_table(labelled(x=column), file, row_group_size=3, use_dictionary=file is files[0])
            found = check(files, {"label": LABEL, "attributes": {"x": body}})
            assert found.class_counts.sum() > 0, name
        with counting_session() as ours:
            assert ours.conf.get("spark.sql.parquet.enableVectorizedReader") == vectorised
    finally:
        configuration.remove("spark.sql.parquet.enableVectorizedReader")


def test_dates_of_the_julian_calendar(session: Any, tmp_path: Path) -> None:
    """A file that says it was written in the old calendar is read as the numbers of days that are in it."""
    body = {"values": ["1500-03-01", "0001-01-01", "2018-12-31"]}
    table = labelled(x=pa.array([date(1500, 3, 1), date(1, 1, 1), date(2018, 12, 31)]))
    marks = {"org.apache.spark.version": "2.4.8", "org.apache.spark.legacyDateTime": ""}
    pq.write_table(table.replace_schema_metadata(marks), tmp_path / "old.parquet", store_schema=False)
    found = check([tmp_path / "old.parquet"], {"label": LABEL, "attributes": {"x": body}})
    assert found.class_counts.sum() == 3
    rebased = session.read.parquet(str(tmp_path / "old.parquet")).selectExpr("CAST(x AS STRING)").collect()
    assert rebased[0][0] != "1500-03-01", "Spark by itself does not tell the calendars apart here; drop this test"


@pytest.mark.parametrize("name", FILES)
def test_several_files(session: Any, tmp_path: Path, name: str) -> None:
    check(written(tmp_path, FILES[name]), BOTH)


def test_polars_writes_what_spark_reads(session: Any, tmp_path: Path) -> None:
    check(written(tmp_path, [MIXED, MIXED.slice(2)], "polars"), BOTH)


def test_names_of_files_are_no_patterns_and_no_columns(session: Any, tmp_path: Path) -> None:
    """As in the local engine: a folder named age=3 makes no column, and a name stands for one file."""
    names = ["a[1]", "a*", "a?", "{x,y}", "it's", 'a"b', "a b", "日本", "a;b", "x%20y", "age=7", "a#b", "a\\b", "$1"]
    folder = tmp_path / "age=3,wage=0.5"
    folder.mkdir()
    for decoy in ("a1", "ab", "x", "y"):
        pq.write_table(MIXED.slice(0, 1), folder / f"{decoy}.parquet")
    for name in names:
        pq.write_table(MIXED, folder / f"{name}.parquet")
    found = check([folder / f"{name}.parquet" for name in names], BOTH)
    domain = declared(BOTH)
    once = expected_counts(MIXED.to_pylist(), domain)
    assert counts_of(found) == {cell: count * len(names) for cell, count in once.items()}


def test_one_file_by_many_names_counts_once(session: Any, tmp_path: Path) -> None:
    (file,) = written(tmp_path / "data", [MIXED])
    os.link(file, tmp_path / "data" / "hard.parquet")
    (tmp_path / "data" / "soft.parquet").symlink_to(file)
    domain = declared(BOTH)
    items = [
        str(tmp_path / "data"),
        str(file),
        f"file://{file}",
        f"file:{tmp_path}/data/*.parquet",
        f"file://{tmp_path}/data",
    ]
    assert counts_of(by_spark(items, domain)) == expected_counts(MIXED.to_pylist(), domain)


def test_addresses_and_paths_find_the_same_files(session: Any, tmp_path: Path) -> None:
    written(tmp_path / "data", [MIXED, MIXED.slice(3)])
    (tmp_path / "data" / "_SUCCESS").touch()
    (tmp_path / "data" / "folder.parquet").mkdir()
    domain = declared(BOTH)
    expected = by_spark([str(tmp_path / "data")], domain)
    assert expected.class_counts.sum() > 0
    for item in (f"file://{tmp_path}/data", f"file:{tmp_path}/data/pyarrow_*.parquet"):
        assert by_spark([item], domain) == expected


def test_a_name_that_spark_passes_over_is_refused(session: Any, tmp_path: Path) -> None:
    for name in ("_part.parquet", ".part.parquet"):
        pq.write_table(MIXED, tmp_path / name)
        with pytest.raises(DataError, match="names begin with _ or a dot; rename"):
            by_spark([str(tmp_path / name)], declared(BOTH))


def failure(items: list[str], document: Document = BOTH) -> Error:
    with pytest.raises(Error) as caught:
        by_spark(items, declared(document))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    return caught.value


def test_files_that_do_not_agree_are_refused_as_here(session: Any, tmp_path: Path) -> None:
    others = [
        recast(MIXED, "age", pa.float64()),
        recast(MIXED, "sex", pa.string()).drop_columns(["age"]),
        recast(MIXED, "wage", pa.string()),
        MIXED.append_column("AGE", MIXED["age"]),
        recast(MIXED, "age", pa.decimal128(12, 2)),
    ]
    for other in others:
        files = written(tmp_path, [MIXED, other])
        with pytest.raises(DataError) as here:
            open_parquet(files, declared(BOTH))
        assert str(failure([str(file) for file in files])) == str(here.value)


def test_columns_that_differ_in_case_alone(session: Any, tmp_path: Path) -> None:
    """A column of another case is another column: it is not read in the place of the one that is missing."""
    pq.write_table(MIXED.rename_columns(["AGE", "wage", "sex", "code", "y"]), tmp_path / "x.parquet")
    told = str(failure([str(tmp_path / "x.parquet")]))
    assert "missing column 'age'" in told


def test_half_floats_are_refused(session: Any, tmp_path: Path) -> None:
    pq.write_table(recast(MIXED, "wage", pa.float16()), tmp_path / "x.parquet")
    assert "'wage' has type Float16, which Spark does not read" in str(failure([str(tmp_path / "x.parquet")]))


@pytest.mark.parametrize("kept", [0, 9, -20], ids=["empty", "beginning", "without its end"])
def test_files_that_are_not_parquet(session: Any, tmp_path: Path, kept: int) -> None:
    (file,) = written(tmp_path, [MIXED])
    file.write_bytes(file.read_bytes()[:kept])
    assert "pyarrow_0.parquet: not a complete Parquet file" in str(failure([str(file)]))


def test_damaged_pages_are_refused_without_their_values(
    session: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also where the cluster's default is to pass over such files."""
    table = labelled(secret=pa.array([f"SECRET{place % 3}" for place in range(20_000)]))
    file = tmp_path / "census.parquet"
    pq.write_table(table, file, row_group_size=5000, compression="none")
    content = bytearray(file.read_bytes())
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[4 : footer - 100] = b"\xa5" * (footer - 104)
    file.write_bytes(content)
    error = failure([str(file)], {"label": LABEL, "attributes": {"secret": {"values": ["SECRET1"]}}})
    assert isinstance(error, DataError)
    assert "census.parquet: cannot be read to the end" in str(error)
    for text in (str(error), *capfd.readouterr()):
        assert "SECRET" not in text


def test_a_file_that_vanishes(session: Any, tmp_path: Path) -> None:
    domain = declared(BOTH)
    files = written(tmp_path, [MIXED, MIXED])
    with counting_session() as ours:
        source = open_files(ours, read_footers(ours, [str(tmp_path)]), domain)
        files[1].unlink()
        with pytest.raises(DataError, match="cannot be read to the end"):
            spark.answer(source, CellQuery(domain))


@pytest.mark.parametrize(
    "item", ["file:///nowhere/x.parquet", "file:///nowhere/*", "nosuch://bucket/x.parquet", "hdfs://127.0.0.1:1/x"]
)
def test_addresses_of_nothing(session: Any, item: str) -> None:
    error = failure([item])
    assert isinstance(error, MissingInputError)
    assert str(error).startswith(f"{item}: ")


def test_many_cells_and_many_attributes(session: Any, tmp_path: Path) -> None:
    rows = 3000
    frame = pl.DataFrame({f"x{place}": [(row * (place + 7)) % 1009 / 3 for row in range(rows)] for place in range(70)})
    frame = frame.with_columns(y=pl.Series(["no", "yes", "yes"] * (rows // 3)))
    frame.write_parquet(tmp_path / "wide.parquet", row_group_size=1000)
    attributes = {f"x{place}": {"lower": 0, "upper": 300, "step": "1/7"} for place in range(70)}
    assert check([tmp_path / "wide.parquet"], {"label": LABEL, "attributes": attributes}).class_counts.sum() == rows
