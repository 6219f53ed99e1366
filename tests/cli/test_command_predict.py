"""``dpnb-columnar predict``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support.people import people, write_people
from support.running import Run

from dpnb_columnar.api import load_model

SCORED = Path("scored.parquet")
RESULTS = ["predicted", "probability_low", "probability_high", "skipped"]


def test_every_row_is_scored_in_order(model_file: Path, people_file: Path, run: Run) -> None:
    ended = run("predict", model_file, people_file, "--output", SCORED, "--key", "age", "--key", "hours")
    assert ended.out == "wrote scored.parquet; its column skipped counts the attributes that a row's score leaves out\n"
    scored, rows = pl.read_parquet(SCORED), pl.read_parquet(people_file)
    assert scored.columns == ["age", "hours", *RESULTS]
    assert scored.select("age", "hours").equals(rows.select("age", "hours"))
    assert np.allclose(scored["probability_low"] + scored["probability_high"], 1)
    likelier = scored.select(pl.when(pl.col("probability_high") > 0.5).then(pl.lit("high")).otherwise(pl.lit("low")))
    assert scored["predicted"].equals(likelier.to_series().alias("predicted"))
    assert (scored["predicted"] == rows["income"]).sum() > 800


def test_scores_are_those_of_the_model(model_file: Path, people_file: Path, run: Run) -> None:
    run("predict", model_file, people_file, "--output", SCORED)
    expected = load_model(model_file).predict(pl.scan_parquet(people_file)).collect()
    assert pl.read_parquet(SCORED).equals(expected)


def test_label_is_not_needed(model_file: Path, run: Run) -> None:
    write_people(Path("new.parquet"), people(5).drop("income"), document=None)
    run("predict", model_file, "new.parquet", "--output", SCORED)
    assert pl.read_parquet(SCORED).columns == RESULTS


def test_missing_and_unknown_values_are_skipped_and_counted(model_file: Path, run: Run) -> None:
    frame = pl.DataFrame({"age": [30, None, 30, None], "hours": [40, 40, 40, None], "sex": ["f", "m", "x", None]})
    write_people(Path("new.parquet"), frame, document=None)
    run("predict", model_file, "new.parquet", "--output", SCORED)
    scored = pl.read_parquet(SCORED)
    assert scored["skipped"].to_list() == [0, 1, 1, 3]
    priors = load_model(model_file).classes.probability
    assert scored.row(3)[1:3] == pytest.approx(priors)


def test_several_files_follow_one_another(model_file: Path, run: Run) -> None:
    for name, rows in (("a", 3), ("b", 2)):
        write_people(Path(f"new-{name}.parquet"), people(rows).with_columns(file=pl.lit(name)))
    run("predict", model_file, "new-*.parquet", "--output", SCORED, "--key", "file")
    assert pl.read_parquet(SCORED)["file"].to_list() == ["a", "a", "a", "b", "b"]


def test_no_row_is_no_fault(model_file: Path, run: Run) -> None:
    write_people(Path("new.parquet"), people(0))
    run("predict", model_file, "new.parquet", "--output", SCORED)
    assert pl.read_parquet(SCORED).columns == RESULTS
    assert pl.read_parquet(SCORED).is_empty()


def test_what_is_printed_does_not_depend_on_the_rows(model_file: Path, run: Run) -> None:
    texts = set()
    for rows in (0, 1, 100):
        write_people(Path("new.parquet"), people(rows))
        ended = run("predict", model_file, "new.parquet", "--output", SCORED, "--overwrite")
        texts.add((ended.out, ended.err))
    assert len(texts) == 1


def test_model_as_parquet_scores_alike(people_file: Path, run: Run) -> None:
    for name in ("model.json", "model.parquet"):
        run("train", people_file, "--seed", 1, "--output", name)
        run("predict", name, people_file, "--output", f"{name}.scored.parquet")
    first, second = (pl.read_parquet(f"{name}.scored.parquet") for name in ("model.json", "model.parquet"))
    assert first.equals(second)
