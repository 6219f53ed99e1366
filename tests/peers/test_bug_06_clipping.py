"""Bug 6. The values are clipped, and then the raw ones used (smartnoise-sdk #622): noise for the declared bounds does
not cover a value beyond them.

Ours would show it as statistics, or a seeded model, that tell rows far outside the bounds from rows clipped beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.people import PEOPLE, people, people_domain, write_people
from support.recorded_draws import by_every_engine
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.counting.statistics import Cells, assemble

FAR: Mapping[str, tuple[Any, Sequence[Any]]] = {
    "int64": (pl.Int64, [-(2**63), -1, 101, 2**63 - 1]),
    "uint64": (pl.UInt64, [100, 101, 2**53, 2**64 - 1]),
    "int8": (pl.Int8, [-128, -1, 101, 127]),
    "float64": (pl.Float64, [-math.inf, -1e308, 1e308, math.inf]),
    "float32": (pl.Float32, [-math.inf, -3e38, 100.00001, math.inf]),
    "decimal": (pl.Decimal(38, 2), [Decimal(f"-{10**35}.99"), Decimal("-0.01"), Decimal("100.01"), Decimal(10**35)]),
}


def rows(kind: str) -> tuple[pl.DataFrame, ...]:
    """People, every third of whom has an age far outside its bounds; and the same, clipped beforehand."""
    dtype, values = FAR[kind]
    frame = people(400)
    number = type(values[0])
    ages = [values[row % len(values)] if row % 3 == 0 else number(age) for row, age in enumerate(frame["age"])]
    clipped = [min(max(age, number(0)), number(100)) for age in ages]
    return tuple(frame.with_columns(age=pl.Series(found, dtype=dtype)) for found in (ages, clipped))


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAR)
def test_bug_06_rows_beyond_the_bounds_count_as_the_bounds(kind: str, tmp_path: Path) -> None:
    raw, clipped = rows(kind)
    assert raw["age"].to_list() != clipped["age"].to_list()
    expected, *found = (
        statistics
        for name, frame in (("clipped", clipped), ("raw", raw))
        for statistics in by_every_engine(write_people(tmp_path / f"{name}.parquet", frame))
    )
    assert all(statistics == expected for statistics in found)


@pytest.mark.parametrize("mechanism", ["smooth", "histogram"])
@pytest.mark.parametrize("kind", ["int64", "float64"])
def test_bug_06_models_of_clipped_and_raw_rows_are_one(kind: str, mechanism: str, folder: Path, run: Run) -> None:
    contents = set()
    for frame in rows(kind):
        write_people(folder / "people.parquet", frame)
        run("train", "people.parquet", "--mechanism", mechanism, "--seed", 3, "--overwrite")
        contents.add(Path("people.model.json").read_bytes())
    assert len(contents) == 1


def test_bug_06_the_same_comparison_finds_values_that_are_not_clipped(tmp_path: Path) -> None:
    """Bounds wide enough to clip nothing, as if the raw values were used."""
    raw, clipped = rows("int8")
    wide = {**PEOPLE, "attributes": {"age": {"lower": -128, "upper": 127, "step": 1}}}
    found = [
        dpnb.aggregate(write_people(tmp_path / f"{number}.parquet", frame, wide))
        for number, frame in enumerate((raw, clipped))
    ]
    assert found[0] != found[1]


@pytest.mark.parametrize("code", [-1, 101, 2**62])
def test_bug_06_a_raw_value_is_refused_where_statistics_are_put_together(code: int) -> None:
    """A second fence: an engine that forgot to clip could not hand its codes on."""
    one = np.ones(1, dtype=np.int64)
    cells = [
        Cells(name, 0 * one, 0 * one if name != "age" else code * one, one) for name in (None, "age", "hours", "sex")
    ]
    with pytest.raises(ValueError, match="outside the domain"):
        assemble(people_domain(), cells)
