"""``dpnb-columnar evaluate``."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from support.people import people, write_people
from support.running import Run


def test_figures_are_those_of_the_scored_rows(model_file: Path, people_file: Path, run: Run) -> None:
    found = json.loads(run("evaluate", model_file, people_file, "--json").out)
    run("predict", model_file, people_file, "--output", "scored.parquet")
    scored = pl.read_parquet("scored.parquet").with_columns(true=pl.read_parquet(people_file)["income"])
    right = scored["predicted"] == scored["true"]
    true_probability = pl.when(pl.col("true") == "high").then("probability_high").otherwise("probability_low")
    assert found["rows"] == 1000
    assert found["accuracy"] == pytest.approx(right.mean())
    assert found["majority"] == pytest.approx((scored["true"] == "low").mean())
    assert found["log_loss"] == pytest.approx(-scored.select(true_probability.log().mean()).item())
    for true, counts in zip(("low", "high"), found["confusion"], strict=True):
        rows = scored.filter(pl.col("true") == true)["predicted"]
        assert counts == [(rows == "low").sum(), (rows == "high").sum()]
    assert sum(tenth["rows"] for tenth in found["calibration"]) == 1000


def test_text_tells_the_same(model_file: Path, people_file: Path, run: Run) -> None:
    found = json.loads(run("evaluate", model_file, people_file, "--json").out)
    ended = run("evaluate", model_file, people_file)
    assert ended.err == "dpnb-columnar: CONFIDENTIAL: computed from the rows without noise; do not release.\n"
    assert f"rows      {found['rows']}\n" in ended.out
    assert f"accuracy  {found['accuracy']:.4f}  (largest class alone {found['majority']:.4f})\n" in ended.out
    assert f"log loss  {found['log_loss']:.4f}\n" in ended.out
    for name, counts in zip(("low", "high"), found["confusion"], strict=True):
        assert any(line.split() == [name, *map(str, counts)] for line in ended.out.splitlines())


def test_warning_stays_out_of_the_json(model_file: Path, people_file: Path, run: Run) -> None:
    ended = run("evaluate", model_file, people_file, "--json")
    assert "CONFIDENTIAL" in ended.err
    assert json.loads(ended.out)


def test_rows_outside_the_domain_are_left_out(model_file: Path, run: Run) -> None:
    frame = pl.concat([people(10), people(5).with_columns(income=pl.lit("middling"))])
    write_people(Path("new.parquet"), frame)
    assert "rows      10\n" in run("evaluate", model_file, "new.parquet").out


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (people(0), "no row"),
        (people(5).with_columns(income=pl.lit("middling")), "no row"),
        (people(5).drop("income"), "'income'"),
        (people(5).with_columns(hours=pl.date(2018, 1, 1)), "'hours'"),
    ],
    ids=["no rows", "no class", "no label", "type"],
)
def test_rows_that_cannot_be_evaluated_are_refused(frame: pl.DataFrame, told: str, model_file: Path, run: Run) -> None:
    write_people(Path("new.parquet"), frame)
    assert told in run("evaluate", model_file, "new.parquet", expected=65).err
