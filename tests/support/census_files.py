"""Small census files with columns of any type, and the refusal to open one."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.parquet import open_parquet

CENSUS = read_domain(
    "census",
    {
        "label": {"column": "income", "classes": ["low", "high"]},
        "attributes": {"AGE": {"lower": 0, "upper": 100, "step": 1}, "SEX": {"values": ["f", "m"]}},
    },
    "test",
)
COLUMNS: dict[str, pa.Array] = {
    "income": pa.array(["low", "high", None]),
    "AGE": pa.array([41, 42, None], pa.int16()),
    "SEX": pa.array(["f", "m", "secret"]),
}


def with_condition(condition: str) -> Domain:
    label = {"condition": condition, "classes": ["low", "high"]}
    return read_domain("census", {"label": label, "attributes": {"SEX": {"values": ["f", "m"]}}}, "test")


def parquet(path: Path, **columns: pa.Array | None) -> Path:
    """A census file with some columns replaced, added, or (None) left out."""
    found = {name: column for name, column in (COLUMNS | columns).items() if column is not None}
    pq.write_table(pa.table(found), path)
    return path


def refusal(file: Path, domain: Domain = CENSUS) -> str:
    with pytest.raises(DataError) as caught:
        open_parquet([file], domain)
    assert caught.value.exit_code == 65
    assert str(file) in str(caught.value)
    assert "secret" not in str(caught.value)
    return str(caught.value)
