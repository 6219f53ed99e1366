"""``dpnb-columnar simulate`` and ``demo``."""

from __future__ import annotations

import shlex
from pathlib import Path

import polars as pl
from support.running import Run

from dpnb_columnar.api import load_model
from dpnb_columnar.domain.declaration import domain_from_metadata


def test_extract_carries_its_domain(folder: Path, run: Run) -> None:
    assert run("simulate", "census.parquet", "--rows", 500).out == "wrote census.parquet: 500 rows\n"
    frame = pl.read_parquet("census.parquet")
    assert frame.shape == (500, 14)
    domain = domain_from_metadata(pl.read_parquet_metadata("census.parquet"), "census.parquet")
    assert domain is not None
    assert domain.name == "census_simulated"
    assert set(domain.columns) == set(frame.columns)


def test_a_catalogue_in_the_working_directory_does_not_change_it(folder: Path, run: Run) -> None:
    run("simulate", "census.parquet", "--rows", 10)
    Path("datasets.toml").write_text('[census_simulated]\nfiles = ["*.parquet"]\n')
    run("simulate", "again.parquet", "--rows", 10)
    assert Path("again.parquet").read_bytes() == Path("census.parquet").read_bytes()


FILES = ["census.model.json", "census.parquet", "census.test.parquet", "census.train.parquet", "scored.parquet"]


def test_demo_goes_the_whole_way_and_prints_every_command(folder: Path, run: Run) -> None:
    ended = run("demo", "--rows", 3000, "--epsilon", "2")
    assert sorted(path.name for path in (folder / "dpnb-demo").iterdir()) == FILES
    assert load_model(folder / "dpnb-demo" / "census.model.json").guarantee.epsilon == 2
    commands = [shlex.split(line[2:]) for line in ended.out.splitlines() if line.startswith("$ ")]
    assert [command[1] for command in commands] == ["simulate", "split", "train", "predict", "evaluate", "show"]
    assert "accuracy" in ended.out
    assert "differentially private" in ended.out
    assert "\nCONFIDENTIAL: computed from the rows without noise" in ended.out
    for _, *arguments in commands:
        run(*arguments, *(["--overwrite"] if arguments[0] in ("simulate", "split", "train", "predict") else []))


def test_demo_does_not_replace_files_unasked(folder: Path, run: Run) -> None:
    (folder / "dpnb-demo").mkdir()
    precious = folder / "dpnb-demo" / "census.model.json"
    precious.write_text("precious")
    assert "census.model.json: exists already" in run("demo", "--rows", 100, expected=73).err
    assert precious.read_text() == "precious"
    run("demo", "--rows", 100, "--overwrite")
    load_model(precious)
