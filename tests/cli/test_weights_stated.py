"""Whatever is printed or kept about a release states the weight that its prior is made of."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support.people import PEOPLE, people, write_people
from support.running import Run

import dpnb_columnar as dpnb

WEIGHT = {"column": "PERWT", "cap": 400, "step": "0.5", "missing": 1}
WORDS = "prior: noisy sums of PERWT in steps of 0.5, at most 400 each, 1 for a row without one"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    weights = pl.Series(np.random.default_rng(2).integers(0, 500, 400))
    frame = people(400).with_columns(PERWT=weights, SERIAL=pl.Series(np.arange(400) // 2))
    document = {**PEOPLE, "weight": WEIGHT, "unit": {"column": "SERIAL", "rows": 2}}
    return write_people(tmp_path / "people.parquet", frame, document)


def test_plan_train_show_sheet_and_ledger_state_the_weight(run: Run, data: Path) -> None:
    planned = run("plan", data, "--epsilon", "1", "--no-advice")
    assert WORDS in planned.out
    assert "the error of a weighted class count is in units of PERWT" in planned.out
    facts = json.loads(run("plan", data, "--epsilon", "1", "--no-advice", "--json").out)
    assert facts["weight"] == {"column": "PERWT", "cap": "400", "step": "0.5", "missing": "1"}
    errors = {query["query"]: query["errors"] for query in facts["queries"]}
    assert errors["weighted class counts"]["10000"] == pytest.approx(400 * errors["class counts"]["10000"])

    folder = data.parent
    ledger, model, sheet = (folder / name for name in ("people.ledger", "people.model.json", "sheet.html"))
    run("ledger", "init", ledger, "--dataset", "people", "--epsilon", "2", "--unit", "SERIAL")
    assert WORDS in run("train", data, "--epsilon", "1", "--ledger", ledger, "--output", model).out
    with closing(sqlite3.connect(ledger)) as connection:
        (inputs,) = connection.execute("SELECT inputs FROM entry WHERE kind = 'spend'").fetchone()
    assert json.loads(inputs)["weight"]["cap"] == "400"

    shown = run("show", model)
    assert WORDS in shown.out
    assert "noisy sum of PERWT" in shown.out
    assert "one row changes one of these sums by at most 400" in shown.out
    assert "sum of weights" in run("show", model, "--all").out
    run("show", model, "--html", sheet)
    page = sheet.read_text(encoding="utf-8")
    assert "The noise of a sum of PERWT is less than" in page
    assert "weight of a row, in the prior and in released scores" in page
    assert "noisy sum of PERWT" in dpnb.load_model(model)._repr_html_()


def test_statistics_release_the_model_of_train(run: Run, data: Path) -> None:
    folder = data.parent
    run("train", data, "--epsilon", "1", "--seed", "3", "--output", folder / "one.json")
    run("aggregate", data, "--output", folder / "counts.parquet")
    run("release", folder / "counts.parquet", "--epsilon", "1", "--seed", "3", "--output", folder / "two.json")
    assert (folder / "one.json").read_bytes() == (folder / "two.json").read_bytes()


def test_a_domain_without_a_weight_says_nothing_of_one(run: Run, tmp_path: Path) -> None:
    data = write_people(tmp_path / "people.parquet")
    run("train", data, "--epsilon", "1", "--output", tmp_path / "model.json")
    texts = [run("plan", data, "--epsilon", "1", "--no-advice"), run("show", tmp_path / "model.json", "--all")]
    assert not any("weighted" in text.out or "prior:" in text.out for text in texts)
    assert "weight" not in json.loads((tmp_path / "model.json").read_text())["domain"]


def test_check_tells_of_weights_that_are_missing_cut_off_or_nothing(run: Run, tmp_path: Path) -> None:
    frame = people(8).with_columns(PERWT=pl.Series([None, -1.0, float("nan"), float("inf"), 0.0, 500.0, 400.0, 3.0]))
    data = write_people(tmp_path / "people.parquet", frame, {**PEOPLE, "weight": {"column": "PERWT", "cap": 400}})
    told = run("check", data).out
    assert "note: weight PERWT: weights above the cap count as 400 (12.5% of the rows)" in told
    assert "note: weight PERWT: 50.0% of the rows have no weight, or one below 0, and count as 0" in told
    assert json.loads(run("check", data, "--json").out)["weight"] == {
        "lacking": 4,
        "above": 1,
        "nothing": 5,
    }
    write_people(data, frame.with_columns(PERWT=-1), {**PEOPLE, "weight": {"column": "PERWT", "cap": 400}})
    assert "fault: weight PERWT: no row weighs anything" in run("check", data, expected=65).out
