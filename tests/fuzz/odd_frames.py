"""Frames of every library with columns of odd types: what a program may hand over in place of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from support.people import people

OBJECTS: tuple[Any, ...] = (
    *(None, np.nan, pd.NA, pd.NaT, 1, 10**30, -1, 0.5, 20.0, float("inf"), True, np.int8(7), np.float16(3)),
    *(np.bool_(True), Decimal(20), Decimal("NaN"), Decimal("sNaN"), Decimal("1e400"), Fraction(41, 2), 1j, "f", "m"),
    *("high", "20", "\ud800", b"f", date(2020, 1, 1), datetime(2020, 1, 1), timedelta(1), np.timedelta64(1, "D")),
    *(np.datetime64("NaT", "D"), [], [1], (1, 2), {"a": 1}, {1}, object, int, pd.Timestamp(0, tz="UTC")),
    *(pd.Interval(0, 1), np.array([1, 2]), np.str_("f")),
)

PANDAS_TYPES: tuple[str, ...] = (
    *("object", "category", "Int8", "Int64", "UInt64", "Float32", "Float64", "boolean", "string", "string[pyarrow]"),
    *("str", "datetime64[ns]", "datetime64[ns, Europe/Berlin]", "timedelta64[ns]", "period[D]", "interval[int64]"),
    *("Sparse[float64]", "complex128", "float16", "float32", ">i4", "<f8", "uint8", "bool", "S3", "int64[pyarrow]"),
    *("double[pyarrow]", "timestamp[ns, tz=UTC][pyarrow]", "date32[pyarrow]", "bool[pyarrow]", "binary[pyarrow]"),
    "large_string[pyarrow]",
)

POLARS_TYPES: tuple[Any, ...] = (
    *(pl.Categorical, pl.Enum(["f", "m"]), pl.Decimal(38, 5), pl.List(pl.Int64), pl.Array(pl.Int64, 1), pl.Date),
    *(pl.Time, pl.Datetime("ns", "Asia/Kolkata"), pl.Duration, pl.Binary, pl.Null, pl.Int128, pl.UInt64, pl.Int8),
    *(pl.Float32, pl.Boolean, pl.String, pl.Object, pl.Struct({"a": pl.Int64})),
)

ARROW_TYPES: tuple[pa.DataType, ...] = (
    *(pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.uint64(), pa.int64()), pa.decimal128(38, 10)),
    *(pa.null(), pa.decimal256(76, 3), pa.string_view(), pa.large_string(), pa.binary(), pa.binary_view()),
    *(pa.timestamp("s", "UTC"), pa.timestamp("ns", "No/Where"), pa.date64(), pa.time32("s"), pa.duration("us")),
    *(pa.month_day_nano_interval(), pa.float16(), pa.uint64(), pa.bool_(), pa.binary(3)),
    *(pa.run_end_encoded(pa.int32(), pa.int64()), pa.uuid(), pa.large_list(pa.int64()), pa.list_view(pa.int64())),
    *(pa.map_(pa.string(), pa.int64()), pa.struct({"a": pa.int64()})),
)

SQL_TYPES: tuple[str, ...] = (
    *("HUGEINT", "UHUGEINT", "DECIMAL(38, 3)", "UUID", "BIT", "BLOB", "INTERVAL", "TIMETZ", "TIMESTAMPTZ", "DATE"),
    *("BIGNUM", "ENUM('f', 'm', 'low', 'high')", "VARCHAR", "INTEGER[]", "INTEGER[1]", "MAP(VARCHAR, INT)"),
    *("STRUCT(a INT)", "FLOAT", "UNION(a INT, b VARCHAR)", "BOOLEAN", "JSON", "VARIANT", "TINYINT", "UBIGINT"),
)


def _pandas(random: Random, rows: pl.DataFrame) -> pd.DataFrame:
    frame = pd.DataFrame({name: rows[name].to_list() for name in rows.columns})
    for name in random.sample(list(frame.columns), random.randrange(3)):
        try:
            frame[name] = frame[name].astype(random.choice(PANDAS_TYPES))
        except (ValueError, TypeError, OverflowError, NotImplementedError, pa.ArrowException):
            continue
    if random.random() < 0.5:
        name = random.choice(list(frame.columns))
        values = frame[name].to_numpy(dtype=object).copy()
        for place in range(len(values)):
            if random.random() < 0.5:
                values[place] = random.choice(OBJECTS)
        frame[name] = pd.Series(values, index=frame.index, dtype=object)
    kind = random.randrange(9)
    if kind == 0:
        frame.columns = pd.Index([*frame.columns[:-1], random.choice(list(frame.columns))])
    if kind == 1:
        frame.columns = pd.Index([7, *frame.columns[1:]])
    if kind == 2:
        frame.columns = pd.MultiIndex.from_product([["a"], frame.columns])
    if kind == 3:
        frame.index = pd.Index([0] * len(frame), name="age")
    if kind == 4:
        frame = frame.iloc[::-2]
    return frame


def _polars(random: Random, rows: pl.DataFrame) -> pl.DataFrame:
    for name in random.sample(rows.columns, random.randrange(3)):
        try:
            rows = rows.with_columns(pl.Series(name, rows[name]).cast(random.choice(POLARS_TYPES), strict=False))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, TypeError):
            continue
    if random.random() < 0.2:
        values = [random.choice(OBJECTS) for _ in range(len(rows))]
        rows = rows.with_columns(pl.Series(random.choice(rows.columns), values, dtype=pl.Object))
    if random.random() < 0.3:
        rows = pl.concat([rows[: len(rows) // 2], rows[len(rows) // 2 :]], rechunk=False)
    return rows[::-2] if random.random() < 0.2 else rows


def _arrow(random: Random, rows: pl.DataFrame) -> pa.Table:
    table = rows.to_arrow()
    for name in random.sample(table.column_names, random.randrange(3)):
        type_, place = random.choice(ARROW_TYPES), table.column_names.index(name)
        try:
            column = table.column(place)
            column = pa.nulls(len(table), type_) if random.random() < 0.3 else column.cast(type_, safe=False)
            table = table.set_column(place, name, column)
        except (pa.ArrowException, ValueError, TypeError):
            continue
    kind = random.randrange(6)
    if kind == 0:
        return pa.concat_tables([table.slice(0, 1), table.slice(1, 0), table.slice(1)])
    if kind == 1:
        return table.append_column(random.choice(table.column_names), table.column(0))
    return table.slice(len(table) // 3) if kind == 2 else table


def _duckdb(random: Random, rows: pl.DataFrame) -> duckdb.DuckDBPyRelation:
    connection = duckdb.connect()
    connection.register("given", rows.to_arrow())
    columns = {name: f'"{name}"' for name in rows.columns}
    for name in random.sample(rows.columns, random.randrange(3)):
        columns[name] = f'TRY_CAST("{name}" AS {random.choice(SQL_TYPES)})'
    if random.random() < 0.1:
        columns[random.choice(rows.columns)] = "error('no such row')"
    chosen = ", ".join(f'{value} AS "{name}"' for name, value in columns.items())
    try:
        return connection.sql(f"SELECT {chosen} FROM given")
    except duckdb.Error:
        return connection.sql("SELECT * FROM given")


LIBRARIES: Mapping[str, Callable[[Random, pl.DataFrame], Any]] = {
    "pandas": _pandas,
    "polars": _polars,
    "lazy": lambda random, rows: _polars(random, rows).lazy(),
    "arrow": _arrow,
    "duckdb": _duckdb,
}


def odd_frame(seed: int) -> tuple[str, Any]:
    """Make a frame, the same from the same seed; with the name of its library."""
    random = Random(seed)
    rows = people(random.choice((0, 1, 2, 30, 30, 30)), seed % 1000)
    if random.random() < 0.1:
        rows = rows.drop(random.choice(rows.columns))
    if random.random() < 0.1:
        rows = rows.with_columns(
            pl.lit(1).alias(random.choice(("AGE", "", "predicted", "x" * 300, "\x1b[31m", "__kept_0")))
        )
    library = random.choice([*LIBRARIES])
    return library, LIBRARIES[library](random, rows)
