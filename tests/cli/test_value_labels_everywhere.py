"""Titles and value labels wherever people read: domain show, check, plan, show, evaluate, predict, sql, the sheet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.people import PEOPLE, people, write_people
from support.running import Run

from dpnb_columnar.api import load_model

INCOME = {"low": "Below the median", "high": "Above the median"}
TITLES = {"income": "Income of the year", "age": "Age in years", "hours": "Usual hours worked"}
WORDED: dict[str, Any] = {
    **PEOPLE,
    "titles": TITLES,
    "value_labels": {"income": INCOME, "age": {"0": "Under 1 year"}, "sex": {"f": "Female", "m": "Male"}},
}


@pytest.fixture
def worded_file(folder: Path) -> Path:
    """``people.parquet`` with titles and value labels."""
    write_people(folder / "people.parquet", document=WORDED)
    return Path("people.parquet")


@pytest.fixture
def worded_model(worded_file: Path, run: Run) -> Path:
    """A model trained on it, with a seed."""
    run("train", worded_file, "--seed", 7)
    return Path("people.model.json")


def test_labels_change_nothing_but_the_domain_of_the_model(worded_model: Path, run: Run) -> None:
    write_people(Path("plain.parquet"))
    run("train", "plain.parquet", "--seed", 7, "--output", "plain.model.json")
    worded, plain = (json.loads(path.read_text()) for path in (worded_model, Path("plain.model.json")))
    assert worded["domain"].pop("value_labels") == WORDED["value_labels"]
    assert worded["domain"].pop("titles") == TITLES
    assert worded == plain
    assert load_model(worded_model) == load_model(Path("plain.model.json"))


def test_statistics_whose_labels_differ_are_added_and_the_first_ones_stay(worded_file: Path, run: Run) -> None:
    other = {**PEOPLE, "value_labels": {"income": {"low": "poor"}}}
    write_people(Path("more.parquet"), people(500, seed=2), other)
    for name in ("people", "more"):
        run("aggregate", f"{name}.parquet", "--output", f"{name}.statistics.parquet")
    run("release", "people.statistics.parquet", "more.statistics.parquet", "--seed", 1, "--output", "model.json")
    assert load_model(Path("model.json")).domain.class_labels == INCOME
    run("train", "more.parquet", worded_file, "--seed", 1, "--output", "other.json")
    assert load_model(Path("other.json")).domain.class_labels == {"low": "poor"}


def test_domain_show(worded_file: Path, run: Run) -> None:
    shown = run("domain", "show", worded_file).out
    assert "predicts income Income of the year: 2: low = Below the median, high = Above the median\n" in shown
    assert "2: f = Female, m = Male" in shown
    listed = run("domain", "show", worded_file, "--all").out.split(shown.rstrip())[1]
    assert [line.split() for line in listed.splitlines() if line.strip()][2:] == [
        ["income", "low", "Below", "the", "median"],
        ["income", "high", "Above", "the", "median"],
        ["age", "0", "Under", "1", "year"],
        ["sex", "f", "Female"],
        ["sex", "m", "Male"],
    ]


def test_an_entry_keeps_labels_and_trains_the_same(worded_file: Path, run: Run) -> None:
    run("domain", "edit", worded_file, "--output", "datasets.toml")
    text = Path("datasets.toml").read_text()
    assert '[people.titles]\nincome = "Income of the year"\nage = "Age in years"\n' in text
    assert '[people.value_labels.sex]\nf = "Female"\nm = "Male"\n' in text
    run("train", worded_file, "--dataset", "people", "--seed", 7, "--output", "entry.json")
    assert load_model(Path("entry.json")).domain.value_labels == WORDED["value_labels"]


def test_plan_check_and_the_first_table_name_columns_in_words(worded_file: Path, run: Run) -> None:
    planned = run("plan", worded_file, "--no-advice").out
    assert planned.splitlines()[1] == (
        "predicts income Income of the year: 'low = Below the median', 'high = Above the median'"
    )
    for shown in (planned, run("check", worded_file).out, run("domain", "show", worded_file).out):
        assert "  age Age in years" in shown or "age Age in years  " in shown
        assert "hours Usual hours worked" in shown


def test_check_and_evaluate(worded_model: Path, worded_file: Path, run: Run) -> None:
    assert "low = Below the median" in run("check", worded_file).out
    evaluated = run("evaluate", worded_model, worded_file).out
    assert "(always predicting 'low = Below the median')" in evaluated
    matrix = next(line for line in evaluated.splitlines() if line.strip().startswith("true"))
    assert matrix.endswith("low = Below the median  high = Above the median")
    assert json.loads(run("evaluate", worded_model, worded_file, "--json").out)["majority_class"] == "low"


def test_show(worded_model: Path, run: Run) -> None:
    shown = run("show", worded_model, "--all").out
    assert "  age Age in years  " in shown
    assert shown.startswith(
        "people: predicts income Income of the year: 'low = Below the median', 'high = Above the median'\n"
    )
    assert "speaks for low = Below the median" in shown
    assert any("f = Female" in line and "low = Below the median" in line for line in shown.splitlines())
    run("show", worded_model, "--html", "sheet.html")
    page = Path("sheet.html").read_text()
    assert "high = Above the median" in page
    assert "m = Male" in page
    assert "<h3>age Age in years</h3>" in page
    assert "<td>hours Usual hours worked</td>" in page or "hours Usual hours worked</th>" in page


def test_the_values_of_a_condition_are_shown_with_their_labels(worded_file: Path, run: Run) -> None:
    run("train", worded_file, "--label", "sex = 'm' AND hours > 35", "--seed", 7)
    shown = run("show", "people.model.json").out
    assert shown.startswith(
        "people: predicts whether sex = 'm' AND hours > 35 (hours Usual hours worked, sex m = Male): "
    )
    run("domain", "edit", worded_file, "--label", "sex = 'm'")
    assert "predicts sex = 'm' (sex m = Male): 2: " in run("domain", "show", worded_file).out


def test_predict_adds_the_label_beside_the_class(worded_model: Path, worded_file: Path, run: Run) -> None:
    run("predict", worded_model, worded_file, "--output", "plain.parquet")
    run("predict", worded_model, worded_file, "--labels", "--key", "age", "--output", "scored.parquet")
    plain, scored = pl.read_parquet("plain.parquet"), pl.read_parquet("scored.parquet")
    assert scored.columns == ["age", "predicted", "predicted_label", *plain.columns[1:]]
    assert scored.drop("age", "predicted_label").equals(plain)
    assert scored["predicted_label"].equals(plain["predicted"].replace(INCOME).alias("predicted_label"))
    framed = load_model(worded_model).predict(pl.read_parquet(worded_file), ["age"], labels=True)
    assert framed.equals(scored)


def test_predict_refuses_a_key_with_the_name_of_the_result(worded_model: Path, run: Run) -> None:
    write_people(Path("new.parquet"), people(5).with_columns(predicted_label=pl.lit("x")), document=None)
    arguments = ["predict", worded_model, "new.parquet", "--key", "predicted_label", "--output", "scored.parquet"]
    assert "column predicted_label would stand beside" in run(*arguments, "--labels", expected=65).err
    run(*arguments)


def test_comments_of_queries(worded_model: Path, worded_file: Path, run: Run) -> None:
    remark = "-- 'income': 'low = Below the median', 'high = Above the median'\n-- 'age': '0 = Under 1 year'\n"
    assert remark in run("sql", worded_model, "--dialect", "duckdb").out
    assert remark in run("sql", "statistics", worded_file, "--dialect", "postgres").out
