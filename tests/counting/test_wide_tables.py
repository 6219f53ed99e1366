"""Tables of many columns are read some rows at a time, and counted by Polars alone: the same counts and scores."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.mechanisms.plan import plan
from dpnb_columnar.core.mechanisms.release import release
from dpnb_columnar.core.mechanisms.score_calibration import margins_given
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.core.queries.statistics import CellQuery, assemble
from dpnb_columnar.counting.engines import local
from dpnb_columnar.counting.engines import local as duckdb
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows import streaming
from dpnb_columnar.rows.parquet import open_parquet

COLUMNS, ROWS = 70, 90
VALUES = ["a", "b", "c"]


def domain() -> Domain:
    label = {"column": "class", "classes": ["0", "1"]}
    attributes = {f"a{number}": {"values": VALUES} for number in range(COLUMNS)}
    return read_domain("wide", {"label": label, "attributes": attributes}, "test")


def rows() -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {
        f"a{number}": [[*VALUES, None, "d"][(row * (number + 1) + row // 7) % 5] for row in range(ROWS)]
        for number in range(COLUMNS)
    }
    return columns | {"class": [row % 2 for row in range(ROWS)]}


@pytest.mark.slow
def test_rows_that_are_read_some_at_a_time_are_each_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / f"{name}.parquet" for name in ("first", "second")]
    for file in files:
        pl.DataFrame(rows()).write_parquet(file, row_group_size=40)
    source = open_parquet(files, domain())
    expected = assemble(domain(), duckdb.count_cells(source, domain(), domain().attributes))
    assert expected.class_counts.tolist() == [ROWS, ROWS]
    model = release(expected, plan(domain(), Budget(Fraction(1)), "histogram"), ExactSampler(SeededBits(1)))
    scores = margins_given(model)
    monkeypatch.setattr(streaming, "WIDE", COLUMNS + 1)
    at_once = local.answer(source, scores)
    monkeypatch.setattr(streaming, "WIDE", COLUMNS)
    for at_a_time in (30, 89, 90, 91):
        monkeypatch.setattr(streaming, "WIDE_VALUES", at_a_time * (COLUMNS + 1))
        assert local.answer(source, CellQuery(domain())) == expected
        assert (local.answer(source, scores).counts == at_once.counts).all()


def test_a_text_that_is_not_utf8_is_a_missing_value(tmp_path: Path) -> None:
    columns = rows()
    texts = [b"\xff" if row == 50 else str(text).encode() for row, text in enumerate(columns["a0"])]
    arrays = {**columns, "a0": pa.array(texts).view(pa.string())}
    pq.write_table(pa.table(arrays), tmp_path / "wide.parquet")
    counted = local.answer(open_parquet([tmp_path / "wide.parquet"], domain()), CellQuery(domain()))
    columns["a0"][50] = None
    pl.DataFrame(columns).write_parquet(tmp_path / "null.parquet")
    assert counted == local.answer(open_parquet([tmp_path / "null.parquet"], domain()), CellQuery(domain()))


def test_a_damaged_file_is_called_so(tmp_path: Path) -> None:
    file = tmp_path / "wide.parquet"
    pl.DataFrame(rows()).write_parquet(file)
    content = bytearray(file.read_bytes())
    content[4:2000] = bytes(1996)
    file.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read to the end"):
        local.answer(open_parquet([file], domain()), CellQuery(domain()))
