"""``--attribute-weights calibrated`` of more than two classes: one later pass and one query, at every door."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from support.ledger_cases import new_ledger, spent_epsilon
from support.people import write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.api import load_model
from dpnb_columnar.core.budget import Approximate, Pure
from dpnb_columnar.core.mechanisms.score_calibration import CALIBRATION

NAMES = ("none", "low", "some", "more", "most", "high", "rare", "odd", "last")
COPIES = 4
PART = Pure(Fraction(1, 10))


def document(classes: int) -> dict[str, object]:
    attributes = {f"c{copy}": {"values": list(NAMES[:classes])} for copy in range(COPIES)}
    label = {"column": "y", "classes": list(NAMES[:classes])}
    return {"label": label, "attributes": {**attributes, "n": {"lower": 0, "upper": 99, "step": 1}}}


def rows(classes: int, size: int, seed: int = 1) -> pl.DataFrame:
    """One class of half of the rows; a column that is right in half of the others, given several times over."""
    generator = np.random.default_rng(seed)
    shares = np.array([0.5, *(0.5 / (classes - 1) for _ in range(classes - 1))])
    truth = generator.choice(classes, size, p=shares)
    told = np.where(generator.random(size) < 0.6, truth, generator.choice(classes, size, p=shares))
    names = np.array(NAMES)
    columns = {f"c{copy}": names[told] for copy in range(COPIES)}
    return pl.DataFrame({**columns, "n": generator.integers(0, 100, size), "y": names[truth]})


@pytest.fixture(params=[3, 9], ids=["three classes", "nine classes"])
def classes(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def data(folder: Path, classes: int) -> Path:
    return write_people(folder / "rows.parquet", rows(classes, 8000), document(classes))


CALIBRATED = ("--mechanism", "histogram", "--attribute-weights", "calibrated")


def figures(run: Run, model: Path, data: Path) -> dict[str, float]:
    found: dict[str, float] = json.loads(run("evaluate", model, data, "--json").out)
    return found


@pytest.mark.slow
def test_one_query_calibrates_all_classes(data: Path, classes: int, run: Run) -> None:
    """Catches: gradient rounds, counts of two columns, a line that no class but two hears of."""
    told = run("plan", data, *CALIBRATED, "--no-advice").out
    (query,) = [line for line in told.splitlines() if line.startswith(f"  {CALIBRATION}")]
    assert query.split()[2:5] == ["72", "0.1", "laplace"]
    assert "24 ranges of the margin between the largest class and the best other" in told
    losses = []
    for weights in ("calibrated", "none"):
        run("train", data, *CALIBRATED[:3], weights, "--seed", 3, "--output", f"{weights}.json")
        losses.append(figures(run, Path(f"{weights}.json"), data))
    model = load_model(Path("calibrated.json"))
    share = model.guarantee.composition[-1]
    assert (share.query, share.values, share.cost) == (CALIBRATION, 72, PART)
    assert model.attribute_weights is not None
    assert model.attribute_weights.line is not None
    assert len(model.attribute_weights.line.others) == len(model.attribute_weights.line.margins)
    assert losses[0]["log_loss"] < losses[1]["log_loss"] - 0.05
    assert losses[0]["accuracy"] > 0.7


@pytest.mark.slow
def test_releases_from_statistics_give_the_line_of_the_same_counts(data: Path, classes: int, run: Run) -> None:
    """Counts of files, of parts, and of a database's query are the same, and so is the seeded line that follows."""
    run("aggregate", data, "--output", "first.parquet")
    run("release", "first.parquet", *CALIBRATED, "--seed", 1, "--output", "tables.json")
    share = load_model(Path("tables.json")).guarantee.reserved
    assert share is not None
    assert (share.query, share.values, share.cost) == (CALIBRATION, 72, PART)
    frame = pl.read_parquet(data)
    parts = [write_people(Path(f"part-{part}.parquet"), frame[part::2], document(classes)) for part in range(2)]
    for part in parts:
        run("aggregate", part, "--given", "tables.json", "--output", part.with_suffix(".counts.parquet"))
    query = run("sql", "statistics", "--given", "tables.json", "--dialect", "duckdb", "--table", "rows").out
    with duckdb.connect() as connection:
        connection.register("rows", frame)
        connection.sql(query).write_csv("result.csv")
    run("aggregate", data, "--given", "tables.json", "--output", "whole.parquet")
    lines = []
    for counts in (["whole.parquet"], [part.with_suffix(".counts.parquet") for part in parts], ["result.csv"]):
        run("release", *counts, "--given", "tables.json", "--seed", 2, "--output", "m.json", "--overwrite")
        model = load_model(Path("m.json"))
        assert model.guarantee.reserved is None
        assert model.attribute_weights is not None
        assert model.attribute_weights.line is not None
        lines.append(model.attribute_weights)
    assert lines[0] == lines[1] == lines[2]


def test_counts_of_another_model_are_refused_and_nothing_is_charged(data: Path, run: Run) -> None:
    account = new_ledger(Path("rows.ledger"), Approximate(Fraction(2), Fraction(0)), "rows")
    run("aggregate", data, "--output", "first.parquet")
    for name in ("one", "other"):
        run("release", "first.parquet", *CALIBRATED, "--output", f"{name}.json")
    run("aggregate", data, "--given", "one.json", "--output", "second.parquet")
    given = ("--given", "other.json", "--ledger", account)
    told = run("release", "second.parquet", *given, "--output", "m.json", expected=65).err
    assert "second.parquet: was counted given another model, whose scores differ" in told
    assert spent_epsilon(account, "rows") == 0
    assert not Path("m.json").exists()


def test_rows_that_change_between_the_passes_are_noticed(data: Path, classes: int) -> None:
    """The answer knows the rows of each class, though no released count tells them."""
    tables = dpnb.release(dpnb.aggregate(data), epsilon=1, mechanism="histogram", attribute_weights="calibrated")
    counts = dpnb.count_given(data, tables)
    assert counts.class_counts.tolist() == dpnb.aggregate(data).class_counts.tolist()
    assert len(counts.class_counts) == classes
    fewer = dpnb.count_given(rows(classes, 7000), tables)
    assert fewer.class_counts.sum() == 7000
