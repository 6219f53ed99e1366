"""What is installed without an extra counts the rows of every door, whatever their bytes, and of wide tables.

Polars pickles a condition that it hands to a function which reads rows, and needs cloudpickle for one that holds a
function. Other packages bring cloudpickle to where tests run, so it is hidden here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from polars.io.plugins import register_io_source
from support.people import PEOPLE, people, people_domain
from support.tables import into_duckdb, into_sqlite
from support.unknown_types import write_unknown

import dpnb_columnar as dpnb
from dpnb_columnar.domain import Domain
from dpnb_columnar.rows import streaming
from dpnb_columnar.rows.lazy_rows import lazy_rows

ROWS = people(300).with_columns(
    age=pl.when(pl.int_range(300) % 7 == 0).then(pl.lit("unknown")).otherwise(pl.col("age").cast(pl.String)),
    sex=pl.when(pl.int_range(300) % 5 == 0).then(pl.lit("2.0")).otherwise("sex"),
)
"""Ages are texts, some of which are no number; some rows have a sex that is listed by its number alone."""

ODD = 8
"""The row whose age is not UTF-8 where a file says so."""


def domain(missing: str) -> Domain:
    attributes: dict[str, Any] = {name: {**dict(of), "missing": missing} for name, of in PEOPLE["attributes"].items()}
    attributes["sex"]["values"] = ["f", "m", "2"]
    return people_domain({**PEOPLE, "attributes": attributes})


def texts(ages: list[str]) -> pa.Array:
    return pa.array([b"\xff" if row == ODD else age.encode() for row, age in enumerate(ages)]).view(pa.string())


def plain_file(folder: Path) -> Any:
    ROWS.write_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def odd_file(folder: Path) -> Any:
    table = ROWS.to_arrow(compat_level=pl.CompatLevel.oldest())
    place = table.schema.get_field_index("age")
    pq.write_table(table.set_column(place, "age", texts(ROWS["age"].to_list())), folder / "odd.parquet")
    return folder / "odd.parquet"


def beside_a_geometry(folder: Path) -> Any:
    table = ROWS.to_arrow(compat_level=pl.CompatLevel.oldest())
    write_unknown(folder / "place.parquet", table.add_column(0, "place", pa.array(["x"] * len(ROWS))), "geometry")
    return folder / "place.parquet"


def duckdb_table(folder: Path) -> Any:
    into_duckdb(folder / "rows.duckdb", ROWS)
    return folder / "rows.duckdb"


def sqlite_table(folder: Path) -> Any:
    into_sqlite(folder / "rows.sqlite", ROWS)
    return folder / "rows.sqlite"


def data_set(folder: Path) -> Any:
    return ds.dataset(plain_file(folder))


def arrow_stream(_: Path) -> Any:
    return ROWS.to_arrow(compat_level=pl.CompatLevel.oldest()).to_reader(max_chunksize=100)


def relation(folder: Path) -> Any:
    return duckdb.connect().read_parquet(str(plain_file(folder)))


def rows_of_a_function(_: Path) -> Any:
    def read(columns: list[str] | None, condition: pl.Expr | None, *_: int | None) -> Any:
        yield (ROWS if condition is None else ROWS.filter(condition)).select(columns or ROWS.columns)

    return register_io_source(read, schema=ROWS.schema)


def lazy_file(folder: Path) -> Any:
    return pl.scan_parquet(plain_file(folder))


DOORS: list[Callable[[Path], Any]] = [
    *(plain_file, odd_file, beside_a_geometry, duckdb_table, sqlite_table, data_set, arrow_stream),
    *(relation, rows_of_a_function, lazy_file),
]


@pytest.fixture(autouse=True)
def _without_cloudpickle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)


def counted(data: Any, missing: str) -> dpnb.Statistics:
    table = {"table": "person"} if str(data).endswith((".duckdb", ".sqlite")) else {}
    return dpnb.aggregate(data, domain=domain(missing), **table)


@pytest.mark.parametrize("missing", ["skip", "category", "row"])
@pytest.mark.parametrize("door", DOORS)
def test_every_door_counts_the_same_rows(door: Callable[[Path], Any], missing: str, tmp_path: Path) -> None:
    rows = ROWS if door is not odd_file else ROWS.with_columns(age=pl.when(pl.int_range(300) != ODD).then("age"))
    assert counted(door(tmp_path), missing) == counted(rows, missing)


@pytest.mark.parametrize("stored", [False, True])
def test_a_wide_table_counts_the_same_rows(stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = counted(ROWS, "row")
    monkeypatch.setattr(streaming, "WIDE", 3)
    if stored:  # as an object is read
        monkeypatch.setattr(streaming, "_slices", streaming._read)
    assert counted(plain_file(tmp_path), "row") == expected


def test_a_model_is_trained_of_a_text_that_is_not_utf8(tmp_path: Path) -> None:
    assert dpnb.train(odd_file(tmp_path), domain=domain("row"), epsilon=1).domain == domain("row")


def test_polars_needs_cloudpickle_where_a_condition_reaches_a_function() -> None:
    """The package that is hidden here is the one that it needs: otherwise these tests would pass with any code."""
    condition = pl.col("age").map_batches(lambda ages: ages == "1", return_dtype=pl.Boolean, is_elementwise=True)
    with pytest.raises(pl.exceptions.PolarsError):
        rows_of_a_function(Path()).filter(condition).collect()


def test_a_function_is_asked_for_columns_and_takes_no_condition() -> None:
    asked: list[list[str]] = []

    def read(names: list[str]) -> Any:
        asked.append(names)
        yield ROWS.select(names)

    rows = lazy_rows(read, ROWS.schema)
    assert rows.select("sex").head(2).collect(engine="streaming").height == 2
    assert asked == [["sex"]]
    assert rows.filter(pl.col("sex") == "f").select("age").collect(engine="streaming").height < len(ROWS)
    assert sorted(asked[1]) == ["age", "sex"]
