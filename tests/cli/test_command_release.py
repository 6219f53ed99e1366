"""``dpnb-columnar aggregate`` and ``dpnb-columnar release``: the two halves of ``train``."""

from __future__ import annotations

import stat
from pathlib import Path

import polars as pl
import pytest
from support.mechanisms import MECHANISMS
from support.people import DECLARATION, people, write_people
from support.running import Run

STATISTICS = Path("people.statistics.parquet")


@pytest.fixture
def statistics(people_file: Path, run: Run) -> Path:
    run("aggregate", people_file)
    return STATISTICS


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_train_is_aggregate_and_release(mechanism: str, suffix: str, people_file: Path, run: Run) -> None:
    options = ("--mechanism", mechanism, "--epsilon", "0.7", "--neighbours", "replace-one", "--seed", 11)
    run("train", people_file, *options, "--output", f"whole{suffix}")
    run("aggregate", people_file)
    run("release", STATISTICS, *options, "--output", f"halves{suffix}")
    assert Path(f"whole{suffix}").read_bytes() == Path(f"halves{suffix}").read_bytes()


def test_census_too(census: Path, folder: Path, run: Run) -> None:
    options = ("--seed", 1, "--attribute-weights", "none")
    run("train", census, *options, "--output", "whole.json")
    run("aggregate", census)
    run("release", "census.statistics.parquet", *options, "--output", "halves.json")
    assert Path("whole.json").read_bytes() == Path("halves.json").read_bytes()


def test_shards_aggregated_apart_add_up(folder: Path, run: Run) -> None:
    frame = people(999)
    names = []
    for part, rows in enumerate((0, 1, 300, 698)):
        write_people(folder / f"part-{part}.parquet", frame.slice([0, 0, 1, 301][part], rows))
        run("aggregate", f"part-{part}.parquet")
        names.append(f"part-{part}.statistics.parquet")
    write_people(folder / "whole.parquet", frame)
    run("train", "whole.parquet", "--seed", 2, "--output", "whole.json")
    run("train", "part-?.parquet", "--seed", 2, "--output", "pattern.json")
    run("release", *names, "--seed", 2, "--output", "shards.json")
    run("release", *reversed(names), "--seed", 2, "--output", "reversed.json")
    whole = Path("whole.json").read_bytes()
    assert all(Path(name).read_bytes() == whole for name in ("pattern.json", "shards.json", "reversed.json"))


def test_statistics_are_confidential_and_say_so(people_file: Path, run: Run) -> None:
    ended = run("aggregate", people_file)
    assert "CONFIDENTIAL" in ended.out
    assert stat.S_IMODE(STATISTICS.stat().st_mode) == 0o600
    assert "CONFIDENTIAL" in pl.read_parquet_metadata(STATISTICS)["dpnb_columnar.statistics"]
    assert pl.read_parquet(STATISTICS).columns == ["attribute", "class", "code", "count"]


def test_replaced_statistics_are_confidential_too(people_file: Path, run: Run) -> None:
    STATISTICS.touch(mode=0o644)
    run("aggregate", people_file, "--overwrite")
    assert stat.S_IMODE(STATISTICS.stat().st_mode) == 0o600


def test_statistics_are_named_after_the_data_or_as_asked(people_file: Path, run: Run) -> None:
    assert "wrote people.statistics.parquet: CONFIDENTIAL" in run("aggregate", people_file).out
    run("aggregate", people_file, "--output", "counts.parquet")
    assert Path("counts.parquet").read_bytes() == STATISTICS.read_bytes()
    assert "--overwrite" in run("aggregate", people_file, expected=73).err


def test_domain_of_a_named_entry_is_counted(people_file: Path, run: Run) -> None:
    Path("datasets.toml").write_text(DECLARATION.replace("upper = 100", "upper = 50"))
    assert "entry people" in run("aggregate", people_file, "--dataset", "people").out
    assert pl.read_parquet(STATISTICS).filter(pl.col("attribute") == "age")["code"].max() == 50


def test_model_that_carries_no_guarantee_says_so(statistics: Path, run: Run) -> None:
    assert "NO GUARANTEE" in run("release", statistics, "--output", "model.json", "--seed", 1).err
    assert run("release", statistics, "--output", "private.json").err == ""
    assert "NOT PRIVATE" in run("release", statistics, "--output", "plain.json", "--mechanism", "none").out


def test_parts_without_rows_add_up(people_file: Path, run: Run) -> None:
    for name in ("empty", "void"):
        write_people(Path(f"{name}.parquet"), people(1).head(0))
        run("aggregate", f"{name}.parquet")
    run("aggregate", people_file)
    parts = (STATISTICS, "empty.statistics.parquet", "void.statistics.parquet")
    run("release", *parts, "--seed", 1, "--output", "parts.json")
    run("train", people_file, "--seed", 1, "--output", "whole.json")
    assert Path("parts.json").read_bytes() == Path("whole.json").read_bytes()
