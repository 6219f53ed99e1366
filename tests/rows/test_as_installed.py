"""What is installed without an extra counts the rows of every door, of streams and data sets of Arrow, of wide tables.

Polars pickles a condition that it hands to a function which reads rows, and needs cloudpickle for one that holds a
function. Other packages bring cloudpickle to where tests run, so it is hidden here.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from polars.io.plugins import register_io_source
from support.lake_tables import write_delta
from support.people import PEOPLE, people, people_domain
from support.tables import into_duckdb, into_sqlite
from support.unknown_types import write_unknown

import dpnb_columnar as dpnb
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.rows import streaming
from dpnb_columnar.rows.input_files import lazy_rows

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


PEOPLE_ROWS = people(3000, 4)
DOMAIN = people_domain()


class Capsule:
    """Rows that another library holds, of which nothing is known but that they are a stream; it counts its readings."""

    def __init__(self, rows: pa.Table, often: int = 10) -> None:
        self.rows = rows
        self.left = often

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        if not self.left:
            raise RuntimeError("consumed, low")
        self.left -= 1
        return self.rows.__arrow_c_stream__(requested_schema)


def arrow() -> pa.Table:
    return PEOPLE_ROWS.with_columns(more=pl.lit("x")).to_arrow(compat_level=pl.CompatLevel.oldest())


def reader(rows: pa.Table | None = None) -> pa.RecordBatchReader:
    return (arrow() if rows is None else rows).to_reader(max_chunksize=700)


def dataset(folder: Path) -> Any:
    ds.write_dataset(arrow(), folder / "rows", format="parquet", max_rows_per_file=1000, max_rows_per_group=1000)
    return ds.dataset(folder / "rows")


@pytest.fixture(params=["reader", "capsule", "data set", "in memory", "batch", "scanner"])
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    match request.param:
        case "reader":
            return reader()
        case "capsule":
            return Capsule(arrow(), 1)
        case "data set":
            return dataset(tmp_path)
        case "in memory":
            return ds.dataset(arrow())
        case "batch":
            return arrow().combine_chunks().to_batches()[0]
    return ds.dataset(arrow()).scanner().to_reader()


def test_counts_are_those_of_a_frame(rows: Any) -> None:
    assert dpnb.aggregate(rows, domain=DOMAIN) == dpnb.aggregate(PEOPLE_ROWS, domain=DOMAIN)


def test_several_passes_read_the_rows_that_a_stream_gave_once(rows: Any) -> None:
    model = dpnb.train(rows, epsilon=100, domain=DOMAIN, attribute_weights="learned", mechanism="histogram")
    assert any("round" in share.query or "gradient" in share.query for share in model.guarantee.composition)


def test_check_and_evaluate_take_them(rows: Any) -> None:
    assert dpnb.check(rows, domain=DOMAIN).diagnosis == dpnb.check(PEOPLE_ROWS, domain=DOMAIN).diagnosis


def test_figures_and_predictions_are_those_of_a_frame(rows: Any, tmp_path: Path) -> None:
    model = dpnb.train(PEOPLE_ROWS, epsilon=1, domain=DOMAIN)
    if isinstance(rows, ds.Dataset):
        figures = [dpnb.evaluate(model, rows), model.evaluate(rows), dpnb.evaluate(model, PEOPLE_ROWS)]
        assert len({(each.rows, each.accuracy, each.auc) for each in figures}) == 1
    predicted = model.predict(rows, keep=["more"])
    assert isinstance(predicted, pa.Table)
    assert pl.DataFrame(predicted).drop("more").equals(model.predict(PEOPLE_ROWS))


def test_a_plan_reads_no_row() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        raise AssertionError("read")
        yield

    stream = pa.RecordBatchReader.from_batches(arrow().schema, batches())
    assert dpnb.plan(stream, domain=DOMAIN, epsilon=1).plan.domain == DOMAIN
    kept = reader()
    dpnb.plan(kept, domain=DOMAIN, epsilon=1)
    assert dpnb.aggregate(kept, domain=DOMAIN) == dpnb.aggregate(PEOPLE_ROWS, domain=DOMAIN)


def test_a_stream_that_was_read_is_refused_and_not_counted_as_no_rows() -> None:
    stream = reader()
    dpnb.aggregate(stream, domain=DOMAIN)
    for again in (dpnb.aggregate, dpnb.check):
        with pytest.raises(UsageError, match=r"the frame: is a stream that was read before.*\.read_all"):
            again(stream, domain=DOMAIN)
    with pytest.raises(UsageError, match="read before"):
        dpnb.train(stream, epsilon=1, domain=DOMAIN)
    once = Capsule(arrow(), 1)
    dpnb.aggregate(once, domain=DOMAIN)
    with pytest.raises(DataError, match=r"gives no Arrow stream.*read before") as caught:
        dpnb.aggregate(once, domain=DOMAIN)
    assert "low" not in str(caught.value)
    empty = reader(arrow().slice(0, 0))
    assert dpnb.aggregate(empty, domain=DOMAIN).class_counts.sum() == 0


def test_only_the_columns_that_are_asked_for_are_kept() -> None:
    from dpnb_columnar.rows.frames import scan_stream

    scanned = scan_stream(reader(), ["age", "sex"])
    assert scanned.collect_schema().names() == ["age", "sex"]
    for engine in ("streaming", "in-memory", "streaming"):
        for _ in range(2):
            assert scanned.select(pl.len()).collect(engine=engine).item() == len(PEOPLE_ROWS)  # type: ignore[call-overload]
    both = pl.concat([scanned, scanned.filter(pl.col("age") > 50)]).collect(engine="streaming")
    assert len(both) == len(PEOPLE_ROWS) + len(PEOPLE_ROWS.filter(pl.col("age") > 50))
    assert scanned.head(10).collect().equals(PEOPLE_ROWS.select("age", "sex").head(10))


def test_nothing_of_a_stream_is_held_once_it_was_counted() -> None:
    before = pa.total_allocated_bytes()
    big = pa.concat_tables([arrow()] * 50)
    stream = reader(big)
    del big
    dpnb.aggregate(stream, domain=DOMAIN)
    del stream
    gc.collect()
    assert pa.total_allocated_bytes() - before < 1_000_000


def test_a_stream_that_fails_tells_no_value() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield arrow().to_batches()[0]
        raise KeyError("high")

    stream = pa.RecordBatchReader.from_batches(arrow().schema, batches())
    with pytest.raises(DataError, match="the frame: its stream fails before its end") as caught:
        dpnb.aggregate(stream, domain=DOMAIN)
    assert "high" not in str(caught.value)


def test_texts_and_types_are_read_as_those_of_a_file() -> None:
    table = arrow()
    odd = pa.StringArray.from_buffers(len(table), *pa.array([b"\xff"] * len(table), pa.binary()).buffers()[1:])
    (seen,) = [
        column
        for column in dpnb.check(reader(table.set_column(2, "sex", odd)), domain=DOMAIN).diagnosis.columns
        if column.name == "sex"
    ]
    assert seen.missing == len(table)
    encoded = table.set_column(2, "sex", table["sex"].dictionary_encode())
    nested = encoded.append_column("map", pa.array([[("a", 1)]] * len(table), pa.map_(pa.string(), pa.int64())))
    for source in (reader(nested), ds.dataset(nested)):
        assert dpnb.aggregate(source, domain=DOMAIN) == dpnb.aggregate(PEOPLE_ROWS, domain=DOMAIN)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(DataError, match="two columns of one name"):
        dpnb.aggregate(reader(pa.table([[1], [2]], names=["age", "age"])), domain=DOMAIN)
    with pytest.raises(UsageError, match="give names of files or a frame"):
        dpnb.aggregate(pl.Series([1]), domain=DOMAIN)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="give names of files or a frame"):
        dpnb.aggregate(pa.chunked_array([[1]]), domain=DOMAIN)
    with pytest.raises(DataError, match="gives no Arrow stream of record batches"):
        dpnb.aggregate(Capsule(pa.chunked_array([[1]])), domain=DOMAIN)
    with pytest.raises(UsageError, match=r"collect it first: .*\.read_all\(\) of Arrow"):
        dpnb.split(reader())
    with pytest.raises(DataError, match="missing column 'income'"):
        dpnb.aggregate(reader(arrow().drop_columns("income")), domain=DOMAIN)


def test_a_data_set_of_the_files_of_a_lake_table_is_refused(tmp_path: Path) -> None:
    table = write_delta(tmp_path / "t", [people(40, 1), people(40, 2)])
    with pytest.raises(DataError, match="belongs to the Delta table"):
        dpnb.aggregate(ds.dataset(table), domain=DOMAIN)


@pytest.mark.lake
def test_a_data_set_that_the_library_of_a_lake_table_makes_has_the_live_rows(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake", reason="deltalake, which reads Delta tables, is not installed")
    table = write_delta(tmp_path / "t", [people(40, 1), people(40, 2)])
    live = deltalake.DeltaTable(table).to_pyarrow_dataset()
    assert dpnb.aggregate(live, domain=DOMAIN) == dpnb.aggregate(people(40, 2), domain=DOMAIN)
