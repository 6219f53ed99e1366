"""Summaries in Parquet files change no count of Polars; where DuckDB believes them, the file is refused."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.people import PEOPLE, people
from support.running import Run
from thrift_compact import BINARY, Reader, Value, written

from dpnb_columnar.core.queries.statistics import CellQuery, Statistics
from dpnb_columnar.counting import local
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import domain_metadata, read_declaration, read_domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.parquet import open_parquet

GROUPS, META, COLUMNS, COLUMN_META = 4, 3, 1, 3
STATISTICS, BLOOM_FILTER, VALUES = 12, 14, 5
NULLS, BOUNDS = 3, (1, 5, 2, 6)
"""Fields of Parquet's footer, by their numbers in parquet.thrift: maximum, then minimum, each in two fields."""


def summarised(table: pa.Table, rows: int) -> bytes:
    """Write a table with statistics, page indices and Bloom filters of every column, in groups of so many rows."""
    sink = io.BytesIO()
    filters = {name: {"ndv": rows} for name in table.column_names}  # otherwise each of a mebibyte
    pq.write_table(table, sink, row_group_size=rows, write_page_index=True, bloom_filter_options=filters)
    return sink.getvalue()


def _footer(content: bytes) -> tuple[int, Value]:
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    return start, Reader(content[start:-8]).struct()


def _columns(footer: Value) -> Iterator[dict[int, Value]]:
    for group in dict(footer.held)[GROUPS].held[1]:
        for column in dict(group.held)[COLUMNS].held[1]:
            yield dict(dict(column.held)[COLUMN_META].held)


def _changed(content: bytes, change: Callable[[dict[int, Value], int], None]) -> bytes:
    """The file with the statistics of every column changed: by field, with the number of values."""
    start, footer = _footer(content)
    for column in _columns(footer):
        change(dict(column[STATISTICS].held), column[VALUES].held)
    new = written(footer)
    return content[:start] + new + len(new).to_bytes(4, "little") + content[-4:]


def _no_value_above(fields: dict[int, Value], _values: int) -> None:
    for bound in BOUNDS:
        if bound in fields:
            fields[bound].held = fields[BOUNDS[2]].held if BOUNDS[2] in fields else fields[BOUNDS[3]].held


def _swapped(fields: dict[int, Value], _values: int) -> None:
    for most, least in zip(BOUNDS[:2], BOUNDS[2:], strict=True):
        if most in fields and least in fields:
            fields[most].held, fields[least].held = fields[least].held, fields[most].held


def _elsewhere(fields: dict[int, Value], _values: int) -> None:
    for bound in BOUNDS:
        if bound in fields:
            assert fields[bound].type == BINARY
            fields[bound].held = b"\x7a" * len(fields[bound].held)


def _all_null(fields: dict[int, Value], values: int) -> None:
    fields[NULLS].held = values


def _no_null(fields: dict[int, Value], _values: int) -> None:
    fields[NULLS].held = 0


def _without_filters(content: bytes) -> bytes:
    """The file with Bloom filters that say of every value that no row has it."""
    changed, emptied = bytearray(content), 0
    for column in _columns(_footer(content)[1]):
        reader = Reader(content, column[BLOOM_FILTER].held)
        size = dict(reader.struct().held)[1].held
        changed[reader.position : reader.position + size] = bytes(size)
        emptied += 1
    assert emptied
    return bytes(changed)


LIES: Mapping[str, Callable[[bytes], bytes]] = {
    "no value above the smallest": lambda content: _changed(content, _no_value_above),
    "smallest and largest swapped": lambda content: _changed(content, _swapped),
    "values elsewhere": lambda content: _changed(content, _elsewhere),
    "all null": lambda content: _changed(content, _all_null),
    "no null": lambda content: _changed(content, _no_null),
    "empty Bloom filters": _without_filters,
}


DOCUMENT = {
    **PEOPLE,
    "attributes": {
        "age": {"lower": 0, "upper": 100, "step": 1, "missing": "row"},
        "hours": {"lower": 0, "upper": 98, "step": 1, "missing": "category"},
        "sex": {"values": ["f", "m"]},
    },
}
CONDITION = {**DOCUMENT, "label": {"condition": "household > 100 AND income = 'low'", "classes": ["no", "yes"]}}
UNIT = {**DOCUMENT, "unit": {"column": "household", "rows": 2}}
DOMAINS = {
    name: read_domain("people", document, "test")
    for name, document in {"column": DOCUMENT, "condition": CONDITION, "unit": UNIT}.items()
}

LACKING = {"age": 7, "hours": 11, "sex": 5}


@pytest.fixture(scope="module")
def honest() -> bytes:
    """Rows of which some lack values, in six groups of rows."""
    place = pl.int_range(pl.len())
    lacking = [pl.when(place % each == 0).then(None).otherwise(name).alias(name) for name, each in LACKING.items()]
    table = people(600).with_columns(*lacking, household=place // 3).to_arrow(compat_level=pl.CompatLevel.oldest())
    return summarised(table.replace_schema_metadata(domain_metadata(read_declaration("people", DOCUMENT, "t"))), 100)


def counted(file: Path, content: bytes, domain: Domain) -> Statistics:
    """Count, without the digest of the file."""
    file.write_bytes(content)
    return replace(local.answer(open_parquet([file], domain), CellQuery(domain)), parts=frozenset())


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_polars_counts_the_rows(lie: Callable[[bytes], bytes], domain: Domain, honest: bytes, tmp_path: Path) -> None:
    expected = counted(tmp_path / "honest.parquet", honest, domain)
    assert counted(tmp_path / "people.parquet", lie(honest), domain) == expected


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
@pytest.mark.parametrize("name", LIES)
def test_duckdb_counts_the_rows_or_refuses_the_file(
    name: str, domain: Domain, honest: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = counted(tmp_path / "honest.parquet", honest, domain)
    monkeypatch.setattr(local, "SMALL", 0)
    assert counted(tmp_path / "honest.parquet", honest, domain) == expected
    found: Statistics | None = None
    with suppress(DataError):
        found = counted(tmp_path / "people.parquet", LIES[name](honest), domain)
    assert found in (expected, None if name != "empty Bloom filters" else expected)


def test_a_refusal_names_the_cause(honest: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "SMALL", 0)
    with pytest.raises(DataError, match="are the statistics in its footer false"):
        counted(tmp_path / "people.parquet", LIES["all null"](honest), DOMAINS["column"])


@pytest.mark.slow
@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_no_verb_is_misled(lie: Callable[[bytes], bytes], honest: bytes, folder: Path, run: Run) -> None:
    printed = []
    for name, content in {"honest": honest, "false": lie(honest)}.items():
        (folder / name).mkdir()
        (folder / name / "people.parquet").write_bytes(content)
        data, model = f"{name}/people.parquet", f"{name}/model.json"
        run("train", data, "--seed", 1, "--output", model)
        run("predict", model, data, "--output", f"{name}/scored.parquet")
        parts = ["--train-output", f"{name}/a.parquet", "--test-output", f"{name}/b.parquet"]
        run("split", data, "--test", 0.3, "--by", "household", *parts)
        texts = [run(*command).out for command in (["check", data], ["evaluate", model, data])]
        frames = [pl.read_parquet(folder / name / file) for file in ("scored.parquet", "a.parquet", "b.parquet")]
        model_text = (folder / model).read_text()
        printed.append(([text.replace(name, "") for text in texts], [frame.rows() for frame in frames], model_text))
    assert printed[0] == printed[1]
