"""``--weight`` and ``--weight-cap``: the weight of rows, which whatever is printed or kept of a release states."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.people import PEOPLE, people, people_domain, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.domain import Weight
from dpnb_columnar.domain.editing import with_weight
from dpnb_columnar.errors import DomainError, UsageError

DECLARED = Weight("PERWT", Fraction(400), Fraction(2), Fraction(4))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    weights = pl.Series(np.random.default_rng(2).integers(0, 500, 400))
    return write_people(tmp_path / "people.parquet", people(400).with_columns(PERWT=weights))


@pytest.mark.parametrize(
    ("declared", "weight", "cap", "chosen"),
    [
        (None, None, None, None),
        (None, "PERWT", "400", Weight("PERWT", Fraction(400))),
        (None, "PERWT", Decimal("25"), Weight("PERWT", Fraction(25))),
        (DECLARED, None, None, DECLARED),
        (DECLARED, "PERWT", None, DECLARED),
        (DECLARED, None, "100", replace(DECLARED, cap=Fraction(100))),
        (DECLARED, "HHWT", 90.0, Weight("HHWT", Fraction(90))),
    ],
)
def test_the_weight_chosen_goes_before_the_one_declared(
    declared: Weight | None, weight: str | None, cap: Any, chosen: Weight | None
) -> None:
    assert with_weight(replace(people_domain(), weight=declared), weight, cap).weight == chosen


@pytest.mark.parametrize(
    ("weight", "cap", "error", "words"),
    [
        (None, "400", UsageError, "weight_cap '400': of which weight"),
        ("PERWT", None, UsageError, "how much may one row weigh at most? Give weight_cap"),
        ("age", "400", DomainError, "the column 'age' is an attribute or the label's"),
        ("income", "400", DomainError, "the column 'income' is an attribute or the label's"),
        ("PERWT", "x", DomainError, "people.weight.cap"),
        ("PERWT", float("nan"), DomainError, "people.weight.cap"),
        ("PERWT", True, DomainError, "people.weight.cap"),
        ("PERWT", "2.5", DomainError, "must be a multiple of the step"),
        ("PERWT", "-1", DomainError, "must be a multiple of the step (1), and no less"),
        ("", "5", DomainError, "expected the column of the weight"),
    ],
)
def test_weights_that_cannot_be_are_refused(weight: str | None, cap: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        with_weight(people_domain(), weight, cap)
    assert words in str(raised.value)


def test_every_verb_that_counts_takes_the_weight(run: Run, data: Path, tmp_path: Path) -> None:
    """The model of an option is that of the declaration, and of statistics."""
    declared = write_people(
        tmp_path / "declared.parquet", pl.read_parquet(data), {**PEOPLE, "weight": {"column": "PERWT", "cap": 400}}
    )
    chosen = ["--weight", "PERWT", "--weight-cap", "400"]
    common = ["--epsilon", "1", "--seed", "3"]
    one, two, three = (tmp_path / f"{name}.json" for name in ("one", "two", "three"))
    run("train", data, *chosen, *common, "--output", one)
    run("train", declared, *common, "--output", two)
    run("aggregate", data, *chosen, "--output", tmp_path / "counts.parquet")
    run("release", tmp_path / "counts.parquet", *common, "--output", three)
    assert one.read_bytes() == two.read_bytes() == three.read_bytes()
    facts = json.loads(run("plan", data, *chosen, "--no-advice", "--json").out)
    assert facts["weight"]["step"] == "1"
    job = tmp_path / "job.toml"
    settings = [f'data = ["{data}"]', 'weight = "PERWT"', "weight-cap = 400", f'output = "{tmp_path}/four.json"']
    job.write_text("\n".join(["[train]", *settings]))
    run("train", "--config", job)
    assert json.loads((tmp_path / "four.json").read_text())["domain"]["weight"]["cap"] == "400"


def test_options_of_a_fixed_domain_are_refused(run: Run, data: Path, tmp_path: Path) -> None:
    run("aggregate", data, "--output", tmp_path / "counts.parquet")
    refused = run(
        "release", tmp_path / "counts.parquet", "--weight", "PERWT", "--output", tmp_path / "m.json", expected=64
    )
    assert "--weight can only be used with --dataset or --domain; statistics files know their weight" in refused.err


WEIGHT = {"column": "PERWT", "cap": 400, "step": "0.5", "missing": 1}
WORDS = "prior: noisy sums of PERWT in steps of 0.5, at most 400 each, 1 for a row without one"


@pytest.fixture
def stated(tmp_path: Path) -> Path:
    weights = pl.Series(np.random.default_rng(2).integers(0, 500, 400))
    frame = people(400).with_columns(PERWT=weights, SERIAL=pl.Series(np.arange(400) // 2))
    document = {**PEOPLE, "weight": WEIGHT, "unit": {"column": "SERIAL", "rows": 2}}
    return write_people(tmp_path / "people.parquet", frame, document)


def test_plan_train_show_sheet_and_ledger_state_the_weight(run: Run, stated: Path) -> None:
    planned = run("plan", stated, "--epsilon", "1", "--no-advice")
    assert WORDS in planned.out
    assert "the error of a weighted class count is in units of PERWT" in planned.out
    facts = json.loads(run("plan", stated, "--epsilon", "1", "--no-advice", "--json").out)
    assert facts["weight"] == {"column": "PERWT", "cap": "400", "step": "0.5", "missing": "1"}
    errors = {query["query"]: query["errors"] for query in facts["queries"]}
    assert errors["weighted class counts"]["10000"] == pytest.approx(400 * errors["class counts"]["10000"])

    folder = stated.parent
    ledger, model, sheet = (folder / name for name in ("people.ledger", "people.model.json", "sheet.html"))
    run("ledger", "init", ledger, "--dataset", "people", "--epsilon", "2", "--unit", "SERIAL")
    assert WORDS in run("train", stated, "--epsilon", "1", "--ledger", ledger, "--output", model).out
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
    assert json.loads(run("check", data, "--json").out)["weight"] == {"lacking": 4, "above": 1, "nothing": 5}
    write_people(data, frame.with_columns(PERWT=-1), {**PEOPLE, "weight": {"column": "PERWT", "cap": 400}})
    assert "fault: weight PERWT: no row weighs anything" in run("check", data, expected=65).out
