"""What docs/exports.md tells people to run, in R, PSPP and onnxruntime."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from support.examples import blocks, shell
from support.exported import EXACT, available
from support.people import DECLARATION, people
from support.running import Run

DOCUMENT = Path(__file__).parents[2] / "docs" / "exports.md"
PROBABILITY = "probability_high"

pytestmark = pytest.mark.exports


@pytest.fixture
def scored(folder: Path, program: None, run: Run) -> pl.DataFrame:
    """What ``predict`` says of the rows that the page names, after all commands of the page."""
    rows = people(1000).with_row_index("serial").cast({"serial": pl.Int32})
    rows.write_csv("census.csv")
    rows.write_parquet("census.parquet")
    Path("datasets.toml").write_text(DECLARATION.replace("people", "census"))
    run("train", "census.parquet", "--dataset", "census", "--output", "census.model.json")
    run("predict", "census.model.json", "census.parquet", "--output", "scored.parquet")
    shell(without_onnx("".join(blocks("sh", DOCUMENT.read_text()))))
    return pl.read_parquet("scored.parquet")


def without_onnx(commands: str) -> str:
    try:
        import onnx  # noqa: F401
    except ImportError:
        return "\n".join(line for line in commands.splitlines() if "--to onnx" not in line)
    return commands


def test_every_command_of_the_page_runs(scored: pl.DataFrame) -> None:
    commands = "".join(blocks("sh", DOCUMENT.read_text()))
    assert len(re.findall("^dpnb-columnar export", commands, re.MULTILINE)) == 5
    assert Path("census.R.terms.csv").is_file()


def test_the_function_of_r_scores_a_csv_file(scored: pl.DataFrame) -> None:
    if not available("Rscript"):
        pytest.skip("R is not installed")
    (script,) = blocks("R", DOCUMENT.read_text())
    subprocess.run(["Rscript", "--vanilla", "-e", script], check=True)
    found = pl.read_csv("scored.csv")
    assert found.columns[-4:] == ["predicted", "probability_low", PROBABILITY, "skipped"]
    assert found["predicted"].equals(scored["predicted"])
    assert (found[PROBABILITY] - scored[PROBABILITY]).abs().max() <= EXACT  # type: ignore[operator]


def test_the_syntax_scores_a_csv_file_in_pspp(scored: pl.DataFrame) -> None:
    if not available("pspp"):
        pytest.skip("PSPP is not installed")
    syntax = blocks("text", DOCUMENT.read_text())[0]
    Path("run.sps").write_text(
        f"{syntax}SAVE TRANSLATE /OUTFILE='scored.csv' /TYPE=CSV /FIELDNAMES /CELLS=VALUES /REPLACE.\n"
    )
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    subprocess.run(["pspp", "-O", "format=txt", "-o", "log.txt", "run.sps"], env=environment, check=True)
    assert Path("scored.sav").is_file()
    found = pl.read_csv("scored.csv")
    assert found["nb_predicted"].equals(scored["predicted"].alias("nb_predicted"))
    assert (found["nb_probability_2"] - scored[PROBABILITY]).abs().max() <= EXACT  # type: ignore[operator]


def test_the_graph_scores_a_parquet_file_in_onnxruntime(scored: pl.DataFrame) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    (script,) = blocks("python", DOCUMENT.read_text())
    script += "pl.DataFrame({'found': probabilities[:, 1], 'class': predicted}).write_parquet('found.parquet')\n"
    ended = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert "1-differentially private for one row" in ended.stdout
    found = pl.read_parquet("found.parquet")
    assert found["class"].equals(scored["predicted"].alias("class"))
    assert (found["found"] - scored[PROBABILITY]).abs().max() <= EXACT  # type: ignore[operator]
