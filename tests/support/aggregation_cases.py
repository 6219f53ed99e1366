"""Tables as files of every writer, counted by every engine and compared with the reading row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from itertools import cycle, islice
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from dpnb_columnar.core.queries.statistics import CellQuery, Statistics, assemble
from dpnb_columnar.counting import local
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.column_kinds import kind_of, value_keys
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.rows.parquet import ParquetSource, open_parquet
from support.rows_in_python import INFINITY, NAN, Counts, Document, counts_of, expected_counts

TEN_ROWS = pa.table(
    {
        "wage": pa.array([0.0, 1500.0, 1500.5, None, NAN, INFINITY, -INFINITY, 999999.0, -0.0, 7.0]),
        "hours": pa.array([0, 40, None, 40, 99, None, 7, 8, 40, 41], pa.int16()),
        "sex": pa.array(["Female", "Male", None, "", "it's", "Female", "Male", "NIU", "Female", None]),
        "large": pa.array([2**64 - 1, 2**63, 2**53 + 1, None, 0, 1, 7, 2**53, 40, 41], pa.uint64()),
        "owner": pa.array([True, False, None, True, False, None, True, False, True, None]),
        "day": pa.array([date(2018, 12, 31), None, *[date(2019, 1, day) for day in range(1, 9)]]),
        "rate": pa.array([None, *[Decimal(value) / 4 for value in range(9)]], pa.decimal128(10, 2)),
        "x": pa.array(range(10)),
    }
)
"""Ten rows that hold every sort of value a label condition may meet."""
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
    "wage >= 1500 AND hours >= 40 OR sex = 'Male'",
    "wage = 0 OR NOT wage <> 7",
    "hours IN (40, 41, 7.0) AND NOT (sex IN ('', 'it''s') OR wage < 1e300)",
    "owner > 0 OR sex <> 'Male'",
]


def written(folder: Path, tables: Sequence[pa.Table], writer: str = "pyarrow", group: int = 3) -> list[Path]:
    folder.mkdir(exist_ok=True)
    files = [folder / f"{writer}_{position}.parquet" for position in range(len(tables))]
    for file, table in zip(files, tables, strict=True):
        if writer == "pyarrow":
            pq.write_table(table, file, row_group_size=group)
        else:
            pl.from_arrow(table).write_parquet(file, row_group_size=group)  # type: ignore[union-attr]
    return files


def by_polars(source: ParquetSource, domain: Domain) -> Statistics:
    return assemble(domain, local.count_cells(source, domain, domain.attributes, classes=True))


def by_duckdb(source: ParquetSource, domain: Domain) -> Statistics:
    return assemble(domain, local.count_by_duckdb(source, domain, domain.attributes))


def by_both(source: ParquetSource, domain: Domain) -> Statistics:
    """As files are counted that are not small."""
    tables = local.count_by_duckdb(source, domain, domain.categorical)
    return assemble(domain, [*tables, *local.count_cells(source, domain, domain.numeric, classes=False)])


def by_local(source: ParquetSource, domain: Domain) -> Statistics:
    """As files are counted that nothing more is said of."""
    return local.answer(source, CellQuery(domain))


ENGINES: dict[str, Callable[[ParquetSource, Domain], Statistics]] = {
    "polars": by_polars,
    "duckdb": by_duckdb,
    "local": by_local,
    "large": by_both,
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
        source = open_parquet(written(folder, tables, writer, group), domain)
        for engine, aggregate in ENGINES.items():
            assert counts_of(aggregate(source, domain)) == expected, f"{engine}, written by {writer}"
    return expected


def held(values: Sequence[object], type_: pa.DataType) -> list[object]:
    """Those of some declared values that a column of this type can hold: with any other, it would be refused."""
    kind = kind_of(pl.DataFrame(pa.table({"x": pa.nulls(0, type_)})).schema["x"])
    written = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    return [value for value, text in zip(values, written, strict=True) if value_keys([text], kind)]


def total(counts: Counts) -> int:
    return sum(count for (name, _, _), count in counts.items() if name is None)


def labelled(**columns: pa.Array) -> pa.Table:
    """The columns and a label ``y`` that takes turns."""
    rows = max(len(column) for column in columns.values())
    return pa.table({**columns, "y": list(islice(cycle(["no", "yes", "yes"]), rows))})


LABEL: Document = {"column": "y", "classes": ["no", "yes"]}

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

BOTH: Document = {"label": LABEL, "attributes": NUMERIC_BODIES | CATEGORICAL_BODIES}


def recast(table: pa.Table, name: str, type_: pa.DataType) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, table[name].cast(type_))


LISTS = MIXED.append_column("extra", pa.array([[1]] * 7))
FILES: dict[str, list[pa.Table]] = {
    "two files": [MIXED, MIXED.slice(2, 3)],
    "no row": [MIXED.slice(0, 0)],
    "rows and none": [MIXED, MIXED.slice(0, 0)],
    "none and rows": [MIXED.slice(0, 0), MIXED],
    "other order": [MIXED, MIXED.select(["wage", "y", "code", "sex", "age"])],
    "extra column": [MIXED, LISTS.select(["extra", "y", "code", "sex", "age", "wage"])],
    "unlike extra columns": [LISTS, MIXED.append_column("extra", pa.array(["a"] * 7))],
    "integer widths": [
        *(recast(MIXED, "age", type_) for type_ in (pa.int64(), pa.int16(), pa.uint8(), pa.int32(), pa.uint32())),
        recast(MIXED.slice(0, 4), "age", pa.int8()),
    ],
    "float widths": [recast(MIXED, "wage", pa.float32()), MIXED],
    "texts": [MIXED, *(recast(MIXED, "sex", t) for t in (pa.dictionary(pa.int8(), pa.string()), pa.large_string()))],
}
"""Files of one extract that are not alike."""
