"""Counting the scores of files one by one is counting all at once, whatever is found in the folder of checkpoints."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.people import people, people_domain, write_people
from support.running import Run

from dpnb_columnar.counting import checkpoints
from dpnb_columnar.counting.checkpoints import aggregate_by_file, differentiate_by_file, score_by_file
from dpnb_columnar.counting.engines.polars import score_files
from dpnb_columnar.counting.scores import GradientQuery, GradientSums, ScoreCounts, Scores, ScoreTable, WeightGroup
from dpnb_columnar.rows.parquet import ParquetSource, open_parquet

DOMAIN = people_domain()
SCORES = Scores(DOMAIN, (ScoreTable("age", (0, 30, 50), (-256, 0, 256)),), (-100, 100))


@pytest.fixture
def source(folder: Path) -> ParquetSource:
    """Four files of people, one of them without rows."""
    files = [write_people(folder / f"part-{rows}.parquet", people(rows, rows)) for rows in (50, 51, 0, 52)]
    return open_parquet(files, DOMAIN)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that are counted, as they are."""
    names: list[str] = []

    def score(source: ParquetSource, scores: Scores) -> ScoreCounts:
        names.extend(file.name for file in source.files)
        return score_files(source, scores)

    monkeypatch.setattr(checkpoints, "score_files", score)
    return names


def test_what_was_counted_is_not_counted_again(source: ParquetSource, folder: Path, counted: list[str]) -> None:
    expected = score_files(source, SCORES)
    kept = folder / "kept"
    score_by_file(ParquetSource(source.files[:2], source.types), SCORES, kept)
    aggregate_by_file(source, DOMAIN, kept)  # a first pass may share the folder
    for _ in range(2):
        found = score_by_file(source, SCORES, kept)
        assert found == expected
        assert found.parts == expected.parts
    rows = [name for name in counted if name != "part-0.parquet"]
    assert rows == ["part-50.parquet", "part-51.parquet", "part-52.parquet"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept.iterdir()} == {0o600}
    score_by_file(source, replace(SCORES, edges=(-100, 101)), kept)
    assert counted[-1] == "part-52.parquet"


@pytest.mark.parametrize("of", ["scores", "gradients"])
def test_checkpoints_under_each_others_names_are_counted_anew(source: ParquetSource, folder: Path, of: str) -> None:
    """Their parts name the file and their own counts: neither another file's nor changed ones are believed."""
    group = WeightGroup(((SCORES.tables[0],),), 512, 128)

    def total(files: Sequence[Path]) -> ScoreCounts | GradientSums:
        part = ParquetSource(tuple(files), source.types)
        if of == "scores":
            return score_by_file(part, SCORES, folder / "kept")
        return differentiate_by_file(part, GradientQuery(DOMAIN, (group,), (0,)), folder / "kept")

    expected = total(source.files[:1])
    (first,) = (folder / "kept").iterdir()
    total(source.files[1:2])
    (second,) = set((folder / "kept").iterdir()) - {first}
    second.replace(first)
    assert total(source.files[:1]) == expected


@pytest.mark.slow
def test_no_flipped_bit_changes_a_count(source: ParquetSource, folder: Path) -> None:
    one = ParquetSource(source.files[:1], source.types)
    expected = score_by_file(one, SCORES, folder / "kept")
    (checkpoint,) = (folder / "kept").iterdir()
    whole, draw = checkpoint.read_bytes(), np.random.default_rng(5)
    for place in draw.choice(len(whole), 60, replace=False):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(draw.integers(8))
        checkpoint.write_bytes(damaged)
        assert score_by_file(one, SCORES, folder / "kept") == expected


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
