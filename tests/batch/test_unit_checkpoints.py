"""Counting file by file is counting all at once, where files show, or it is declared, that they hold whole units."""

from __future__ import annotations

import stat
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.people import PEOPLE, people, people_domain, write_people
from support.running import Run

from dpnb_columnar.counting import checkpoints
from dpnb_columnar.counting.engines import local
from dpnb_columnar.counting.statistics import CellQuery
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.parquet import open_parquet

BY_HOUSE = {**PEOPLE, "unit": {"columns": ["town", "house"], "rows": 2}}


def write_parts(folder: Path, parts: list[pl.DataFrame]) -> list[Path]:
    return [write_people(folder / f"{place}.parquet", part, BY_HOUSE) for place, part in enumerate(parts)]


def houses(rows: int) -> pl.DataFrame:
    """People in houses of five, in the order of these, and some without one."""
    places = np.arange(rows)
    house = pl.Series(np.where(places % 7, places // 5, -1)).replace(-1, None)
    return people(rows).with_columns(town=pl.Series(places // 50).cast(pl.String), house=house)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    cuts=st.sets(st.integers(0, 12), max_size=3),
    values=st.lists(st.integers(0, 6), min_size=12, max_size=12),
    in_order=st.booleans(),
)
def test_files_whose_units_lie_apart_are_counted_one_by_one_and_no_others(
    tmp_path_factory: pytest.TempPathFactory, cuts: set[int], values: list[int], in_order: bool
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    values = sorted(values) if in_order else values
    rows = people(12).with_columns(town=pl.Series(["a"] * 12), house=pl.Series(values))
    edges = [*pairwise([0, *sorted(cuts), 12])]
    domain = people_domain(BY_HOUSE)
    source = open_parquet(write_parts(folder, [rows[low:high] for low, high in edges]), domain)
    held = [values[low:high] for low, high in edges if low < high]
    if any(min(one) <= max(other) and min(other) <= max(one) for one, other in combinations(held, 2)):
        with pytest.raises(DataError, match="values of town, house overlap"):
            checkpoints.answer(source, CellQuery(domain), folder / "kept")
    else:
        assert checkpoints.answer(source, CellQuery(domain), folder / "kept") == local.answer(source, CellQuery(domain))


def test_units_of_days_beyond_every_calendar(tmp_path: Path) -> None:
    days = pl.Series([2**30, 2**30 + 1, 2**30 + 7, 2**30 + 9], dtype=pl.Int32).cast(pl.Date)
    rows = people(4).with_columns(house=days, town=pl.lit("a"))
    source = open_parquet(write_parts(tmp_path, [rows[:2], rows[2:]]), people_domain(BY_HOUSE))
    apart = checkpoints.answer(source, CellQuery(people_domain(BY_HOUSE)), tmp_path / "kept")
    assert apart == local.answer(source, CellQuery(people_domain(BY_HOUSE)))


def test_an_interrupted_run_gives_the_bytes_of_one_without_checkpoints(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = houses(200)
    parts = write_parts(folder, [rows[:50], rows[50:120], rows[:0], rows[120:]])
    run("aggregate", *parts, "--output", "whole.parquet")
    count = local.answer

    def fail_at_the_second(source: Any, query: Any) -> Any:
        if source.files[0] == parts[1]:
            raise DataError("cut short")
        return count(source, query)

    with monkeypatch.context() as patch:
        patch.setattr(local, "answer", fail_at_the_second)
        run("aggregate", *parts, "--output", "kept.parquet", "--checkpoint", "kept", expected=65)
    run("aggregate", *parts, "--output", "kept.parquet", "--checkpoint", "kept")
    assert Path("kept.parquet").read_bytes() == Path("whole.parquet").read_bytes()
    assert {stat.S_IMODE(file.stat().st_mode) for file in Path("kept").iterdir()} == {0o600}


def test_what_files_do_not_show_is_declared(folder: Path, run: Run) -> None:
    """States whose serial numbers interleave: every house is in one file, and its number says nothing of which."""
    rows = houses(200)
    odd = pl.col("house") % 2 == 1
    parts = write_parts(folder, [rows.filter(odd), rows.filter(~odd)])
    options = [*parts, "--output", "kept.parquet", "--checkpoint", "kept"]
    assert "declare that with --whole-units" in run("aggregate", *options, expected=65).err
    assert not any(Path("kept").iterdir())
    run("aggregate", *options, "--whole-units")
    run("aggregate", *parts, "--output", "whole.parquet")
    assert Path("kept.parquet").read_bytes() == Path("whole.parquet").read_bytes()


def test_further_passes_file_by_file(folder: Path, run: Run) -> None:
    rows = houses(200)
    parts = write_parts(folder, [rows[:100], rows[100:]])
    run("aggregate", *parts, "--output", "tables.parquet")
    weighted = ["--mechanism", "histogram", "--attribute-weights", "calibrated", "--seed", 1, "--output", "tables.json"]
    run("release", "tables.parquet", *weighted)
    run("aggregate", *parts, "--given", "tables.json", "--output", "whole.parquet")
    kept = ["--given", "tables.json", "--output", "kept.parquet", "--checkpoint", "kept"]
    run("aggregate", *parts, *kept)
    assert Path("kept.parquet").read_bytes() == Path("whole.parquet").read_bytes()
    run(
        "aggregate",
        parts[0],
        write_people(folder / "again.parquet", rows[95:], BY_HOUSE),
        *kept,
        "--overwrite",
        expected=65,
    )


def test_declared_of_nothing(folder: Path, run: Run) -> None:
    (part,) = write_parts(folder, [houses(20)])
    assert "can only be used with --checkpoint" in run("aggregate", part, "--whole-units", expected=64).err
