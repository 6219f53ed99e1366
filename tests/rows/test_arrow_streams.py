"""Data sets of Arrow, and whatever hands out an Arrow stream, count as a file of their rows."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from support.lake_tables import write_delta
from support.people import people, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.errors import DataError, UsageError

ROWS = people(3000, 4)
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
    return ROWS.with_columns(more=pl.lit("x")).to_arrow(compat_level=pl.CompatLevel.oldest())


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
    assert dpnb.aggregate(rows, domain=DOMAIN) == dpnb.aggregate(ROWS, domain=DOMAIN)


def test_several_passes_read_the_rows_that_a_stream_gave_once(rows: Any) -> None:
    model = dpnb.train(rows, epsilon=100, domain=DOMAIN, attribute_weights="learned", mechanism="histogram")
    assert any("round" in share.query or "gradient" in share.query for share in model.guarantee.composition)


def test_check_and_evaluate_take_them(rows: Any) -> None:
    assert dpnb.check(rows, domain=DOMAIN).diagnosis == dpnb.check(ROWS, domain=DOMAIN).diagnosis


def test_figures_and_predictions_are_those_of_a_frame(rows: Any, tmp_path: Path) -> None:
    model = dpnb.train(ROWS, epsilon=1, domain=DOMAIN)
    if isinstance(rows, ds.Dataset):
        figures = [dpnb.evaluate(model, rows), model.evaluate(rows), dpnb.evaluate(model, ROWS)]
        assert len({(each.rows, each.accuracy, each.auc) for each in figures}) == 1
    predicted = model.predict(rows, keep=["more"])
    assert isinstance(predicted, pa.Table)
    assert pl.DataFrame(predicted).drop("more").equals(model.predict(ROWS))


def test_a_plan_reads_no_row() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        raise AssertionError("read")
        yield

    stream = pa.RecordBatchReader.from_batches(arrow().schema, batches())
    assert dpnb.plan(stream, domain=DOMAIN, epsilon=1).plan.domain == DOMAIN
    kept = reader()
    dpnb.plan(kept, domain=DOMAIN, epsilon=1)
    assert dpnb.aggregate(kept, domain=DOMAIN) == dpnb.aggregate(ROWS, domain=DOMAIN)


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
            assert scanned.select(pl.len()).collect(engine=engine).item() == len(ROWS)  # type: ignore[call-overload]
    both = pl.concat([scanned, scanned.filter(pl.col("age") > 50)]).collect(engine="streaming")
    assert len(both) == len(ROWS) + len(ROWS.filter(pl.col("age") > 50))
    assert scanned.head(10).collect().equals(ROWS.select("age", "sex").head(10))


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
        assert dpnb.aggregate(source, domain=DOMAIN) == dpnb.aggregate(ROWS, domain=DOMAIN)


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
