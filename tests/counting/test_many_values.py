"""Attributes of very many declared values are counted by Polars alone, in memory that half a million values fit in."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from support.memory import peak

from dpnb_columnar.core.queries.statistics import CellQuery, assemble
from dpnb_columnar.counting.engines import local
from dpnb_columnar.counting.engines import local as duckdb
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.rows.parquet import open_parquet


def domain(values: int) -> Domain:
    label = {"column": "class", "classes": ["0", "1"]}
    return read_domain("many", {"label": label, "attributes": {"a": {"values": texts(values)}}}, "test")


def texts(values: int) -> list[str]:
    return [f"c{value}" for value in range(values)]


def write_rows(file: Path, values: int) -> None:
    number = pl.int_range(3 * values, eager=True)
    columns = {"a": pl.Series(texts(values)).gather(number * 7 % values), "class": number * number % 2}
    pl.DataFrame(columns).write_parquet(file)


def test_duckdb_is_not_asked_for_very_many_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = 40
    write_rows(tmp_path / "rows.parquet", values)
    source = open_parquet([tmp_path / "rows.parquet"], domain(values))
    expected = assemble(domain(values), duckdb.count_cells(source, domain(values), domain(values).attributes))
    monkeypatch.setattr(local, "SMALL", 0)
    assert local.answer(source, CellQuery(domain(values))) == expected
    monkeypatch.setattr(local, "MOST_VALUES", values - 1)
    monkeypatch.delattr(duckdb, "count_cells")
    assert local.answer(source, CellQuery(domain(values))) == expected


PEAK_PROBE = """sys.path += sys.argv[2:]
from counting.test_many_values import domain
from dpnb_columnar.counting.engines import local
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.rows.parquet import open_parquet
local.SMALL = 0
local.answer(open_parquet([Path(sys.argv[1])], domain(2**16)), CellQuery(domain(2**16)))
"""


@pytest.mark.slow
def test_many_values_fit_in_memory(tmp_path: Path) -> None:
    """DuckDB takes 8 KiB for each value, half a gigabyte here."""
    file, folder = tmp_path / "rows.parquet", Path(__file__).parents[1]
    write_rows(file, 2**16)
    assert peak(PEAK_PROBE, file, folder) < 350
