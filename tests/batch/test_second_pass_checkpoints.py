"""Counting the scores of files one by one is counting all at once, whatever is found in the folder of checkpoints."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.people import people, people_domain, write_people
from support.running import Run

from dpnb_columnar.counting import checkpoints
from dpnb_columnar.counting.engines import local
from dpnb_columnar.counting.query import Query
from dpnb_columnar.counting.scores import GradientQuery, GradientSums, Margins, ScoreCounts, ScoreTable
from dpnb_columnar.counting.statistics import CellQuery
from dpnb_columnar.rows.parquet import ParquetSource, open_parquet

DOMAIN = people_domain()
SCORES = Margins(DOMAIN, ((ScoreTable("age", (0, 30, 50), (-256, 0, 256)),),), (0, 0), 0, (-100, 100))


@pytest.fixture
def source(folder: Path) -> ParquetSource:
    """Four files of people, one of them without rows."""
    files = [write_people(folder / f"part-{rows}.parquet", people(rows, rows)) for rows in (50, 51, 0, 52)]
    return open_parquet(files, DOMAIN)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that are counted, as they are."""
    names: list[str] = []

    def answer(source: ParquetSource, query: Query[Any]) -> Any:
        if isinstance(query, Margins):
            names.extend(file.name for file in source.files)
        return once(source, query)

    once = local.answer
    monkeypatch.setattr(checkpoints.local, "answer", answer)
    return names


def test_what_was_counted_is_not_counted_again(source: ParquetSource, folder: Path, counted: list[str]) -> None:
    expected = local.answer(source, SCORES)
    counted.clear()
    kept = folder / "kept"
    checkpoints.answer(ParquetSource(source.files[:2], source.types), SCORES, kept)
    checkpoints.answer(source, CellQuery(DOMAIN), kept)  # a first pass may share the folder
    for _ in range(2):
        found = checkpoints.answer(source, SCORES, kept)
        assert found == expected
        assert found.parts == expected.parts
    rows = [name for name in counted if name != "part-0.parquet"]
    assert rows == ["part-50.parquet", "part-51.parquet", "part-52.parquet"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept.iterdir()} == {0o600}
    checkpoints.answer(source, replace(SCORES, edges=(-100, 101)), kept)
    assert counted[-1] == "part-52.parquet"


@pytest.mark.parametrize("of", ["scores", "gradients"])
def test_checkpoints_under_each_others_names_are_counted_anew(source: ParquetSource, folder: Path, of: str) -> None:
    """Their parts name the file and their own counts: neither another file's nor changed ones are believed."""
    gradient = GradientQuery(DOMAIN, SCORES.tables[0], (128,), 0, 512)

    def total(files: Sequence[Path]) -> ScoreCounts | GradientSums:
        part = ParquetSource(tuple(files), source.types)
        if of == "scores":
            return checkpoints.answer(part, SCORES, folder / "kept")
        return checkpoints.answer(part, gradient, folder / "kept")

    expected = total(source.files[:1])
    (first,) = (folder / "kept").iterdir()
    total(source.files[1:2])
    (second,) = set((folder / "kept").iterdir()) - {first}
    second.replace(first)
    assert total(source.files[:1]) == expected


@pytest.mark.slow
def test_no_flipped_bit_changes_a_count(source: ParquetSource, folder: Path) -> None:
    one = ParquetSource(source.files[:1], source.types)
    expected = checkpoints.answer(one, SCORES, folder / "kept")
    (checkpoint,) = (folder / "kept").iterdir()
    whole, draw = checkpoint.read_bytes(), np.random.default_rng(5)
    for place in draw.choice(len(whole), 60, replace=False):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(draw.integers(8))
        checkpoint.write_bytes(damaged)
        assert checkpoints.answer(one, SCORES, folder / "kept") == expected


def test_aggregate_given_goes_on_where_it_was_cut_short(source: ParquetSource, counted: list[str], run: Run) -> None:
    run("aggregate", *source.files, "--output", "first.parquet")
    run("release", "first.parquet", "--attribute-weights", "calibrated", "--output", "tables.json")
    given = ("--given", "tables.json", "--checkpoint", "kept")
    run("aggregate", *source.files[:2], *given, "--output", "cut-short.parquet")
    counted.clear()
    run("aggregate", *source.files, *given, "--output", "second.parquet")
    assert counted == ["part-0.parquet", "part-52.parquet"]
    run("aggregate", *source.files, *given[:2], "--output", "whole.parquet")
    assert Path("second.parquet").read_bytes() == Path("whole.parquet").read_bytes()
