"""``--attribute-weights`` at every door: train, release, plan, job files, Python, the estimator and the ledger."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support.people import DECLARATION, PEOPLE, people, people_domain, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.api import load_model
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Approximate, Neighbours
from dpnb_columnar.errors import UsageError
from dpnb_columnar.ledger import Ledger

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from dpnb_columnar.sklearn import SmoothNaiveBayes

TARGET = Path("wide.model.json")
FLAGS = [f"flag {number}" for number in range(5)]
WIDE = {**PEOPLE, "attributes": PEOPLE["attributes"] | {name: {"values": ["f", "m"]} for name in FLAGS}}
"""Eight attributes: five repeat another one, as recodes do."""

FLAG_LINES = "".join(f'"{name}" = {{ values = ["f", "m"] }}\n' for name in FLAGS)
"""The declaration of these five."""

WEIGHT = 8**-0.25
TEMPERED = ("--mechanism", "histogram", "--attribute-weights", "tempered")


@pytest.fixture
def wide(folder: Path) -> Path:
    """A file of rows that carry their domain."""
    path = folder / "wide.parquet"
    rows = people(2000).with_columns(pl.col("sex").alias(name) for name in FLAGS)
    write_people(path, rows, WIDE)
    return path


def weights_of(model: Model) -> tuple[str, tuple[float, ...], tuple[float, ...]]:
    assert model.attribute_weights is not None
    return model.attribute_weights.method, model.weights, model.intercepts


EXPECTED = ("tempered", (WEIGHT,) * 8, (0.0, 0.0))


def test_train_and_release_weight_alike(wide: Path, run: Run) -> None:
    told = run("train", wide, *TEMPERED, "--seed", 1, "--output", TARGET).out
    assert "epsilon 1 (add-remove neighbours), mechanism histogram, attribute weights tempered, 9 queries" in told
    assert weights_of(load_model(TARGET)) == EXPECTED
    run("aggregate", wide, "--output", "wide.statistics.parquet")
    run("release", "wide.statistics.parquet", *TEMPERED, "--seed", 1, "--output", "released.parquet")
    assert load_model(Path("released.parquet")) == load_model(TARGET)


def test_where_auto_chooses_none_the_bytes_are_those_of_none(wide: Path, run: Run) -> None:
    """100 rows at epsilon 1 tell too little."""
    few = ("train", wide, "--mechanism", "histogram", "--seed", 1)
    run(*few, "--declared-rows", 100, "--output", TARGET)
    first = TARGET.read_bytes()
    assert b"weights" not in first
    run(*few, "--attribute-weights", "none", "--output", TARGET, "--overwrite")
    assert TARGET.read_bytes() == first


def test_a_job_file_and_the_environment_set_it(wide: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("job.toml").write_text('[train]\nmechanism = "histogram"\nattribute-weights = "tempered"\n')
    run("train", wide, "--config", "job.toml", "--output", TARGET)
    assert weights_of(load_model(TARGET)) == EXPECTED
    monkeypatch.setenv("DPNB_ATTRIBUTE_WEIGHTS", "none")
    run("train", wide, "--config", "job.toml", "--output", TARGET, "--overwrite")
    assert load_model(TARGET).attribute_weights is None


def test_plan_says_what_attributes_will_weigh(wide: Path, people_file: Path, run: Run) -> None:
    told = run("plan", wide, *TEMPERED, "--no-advice").out
    assert "mechanism histogram, attribute weights tempered\n" in told
    assert "each of 8 attributes weighs 0.595, since correlated ones say the same twice (8^(-1/4)): free\n" in told
    few = run("plan", people_file, *TEMPERED, "--no-advice").out
    assert "each of 3 attributes weighs 1, as in ordinary naive Bayes, since they are fewer than 8: free\n" in few
    assert "weighs" not in run("plan", wide, "--no-advice", "--attribute-weights", "none").out
    for options, method in ((TEMPERED, "tempered"), (("--attribute-weights", "none"), "none"), ((), "calibrated")):
        document = json.loads(run("plan", wide, *options, "--no-advice", "--json").out)
        assert document["attribute_weights"] == method


def test_python_and_the_estimator_weight_as_the_command_line_does(wide: Path) -> None:
    chosen = {"epsilon": 1, "mechanism": "histogram", "attribute_weights": "tempered"}
    assert weights_of(dpnb.train(wide, **chosen)) == EXPECTED
    assert weights_of(dpnb.release(dpnb.aggregate(wide), **chosen)) == EXPECTED
    rows = pl.read_parquet(wide)
    fitted = SmoothNaiveBayes(domain=people_domain(WIDE), **chosen).fit(rows.drop("income"), rows["income"])
    assert weights_of(fitted.model_) == EXPECTED


def test_other_weights_are_another_run(wide: Path, run: Run) -> None:
    with Ledger.create(Path("wide.ledger")) as opened:
        opened.open_account("people", Approximate(Fraction(1), Fraction(0)), Neighbours.ADD_REMOVE)
    command = ("train", wide, "--epsilon", "0.3", "--ledger", "wide.ledger", "--run-id", "night", "--output", TARGET)
    run(*command, *TEMPERED)
    assert "nothing is spent again" in run(*command, *TEMPERED).out
    assert weights_of(load_model(TARGET)) == EXPECTED
    told = run(*command, "--mechanism", "histogram", "--overwrite", expected=64).err
    assert "run id night: belongs to a release with other inputs (attribute_weights)" in told


def test_evaluate_and_sql_use_the_weights(wide: Path, run: Run) -> None:
    """Six columns say the same: without weights their probabilities are too certain."""
    run("train", wide, *TEMPERED[:3], "none", "--seed", 1, "--output", "plain.json")
    run("train", wide, *TEMPERED, "--seed", 1, "--output", TARGET)
    losses = [json.loads(run("evaluate", model, wide, "--json").out)["log_loss"] for model in ("plain.json", TARGET)]
    assert losses[0] != losses[1]
    plain, tempered = (load_model(path) for path in (Path("plain.json"), TARGET))
    assert plain.to_sql("duckdb") != tempered.to_sql("duckdb")
    rows = pl.read_parquet(wide)
    probabilities = [model.predict(rows)["probability_high"].to_numpy() for model in (plain, tempered)]
    logits = [np.log(found / (1 - found)) for found in probabilities]
    prior = np.log(plain.classes.probability[1] / plain.classes.probability[0])
    np.testing.assert_allclose(logits[1] - prior, WEIGHT * (logits[0] - prior), rtol=1e-9, atol=1e-9)


def test_auto_is_the_default_at_every_door_and_told(wide: Path, run: Run) -> None:
    """8 attributes and no declared number of rows: calibrated where the rows can be read twice, else tempered."""
    histogram = ("--mechanism", "histogram")
    told = run("plan", wide, *histogram, "--no-advice").out
    assert "mechanism histogram, attribute weights calibrated (auto)\n" in told
    assert "weights calibrated: chosen by auto for 8 attributes, no declared number of rows, and epsilon 1\n" in told
    rehearsed = run("train", wide, *histogram, "--dry-run", "--output", TARGET).out
    trained = run("train", wide, *histogram, "--output", TARGET).out
    for told in (rehearsed, trained):
        assert "mechanism histogram, attribute weights calibrated (auto), 10 queries" in told
    run("aggregate", wide, "--output", "wide.statistics.parquet")
    once = ("release", "wide.statistics.parquet", *histogram, "--output", "released.json")
    for told in (run(*once, "--dry-run").out, run(*once).out):
        assert "mechanism histogram, attribute weights tempered (auto), 9 queries" in told
        assert told.count("calibrated weights are left out, since they need the rows a second time; train from") == 1
    rows, chosen = pl.read_parquet(wide), {"epsilon": 1, "mechanism": "histogram"}
    domain = people_domain(WIDE)
    fitted = SmoothNaiveBayes(domain=domain, **chosen).fit(rows.drop("income"), rows["income"])
    methods = {
        "calibrated": [load_model(TARGET), dpnb.train(wide, **chosen), fitted.model_],
        "tempered": [load_model(Path("released.json")), dpnb.release(dpnb.aggregate(wide), **chosen)],
    }
    for method, models in methods.items():
        assert [weights_of(model)[0] for model in models] == [method] * len(models)
    plain = [dpnb.train(wide, rows=900, **chosen), dpnb.release(dpnb.aggregate(wide), rows=2999, **chosen)]
    assert [model.attribute_weights for model in plain] == [None, None]


def test_auto_depends_on_the_declared_rows_and_not_on_those_there_are(wide: Path, run: Run) -> None:
    Path("datasets.toml").write_text(DECLARATION.replace("[people]\n", "[people]\nrows = 900\n") + FLAG_LINES)
    told = run("plan", wide, "--no-advice").out
    assert "weights none: chosen by auto for 8 attributes, 900 rows declared by" in told
    run("train", wide, "--output", TARGET)
    assert load_model(TARGET).attribute_weights is None
    assert dpnb.train(wide, epsilon=1).attribute_weights is None
    told = run("train", wide, "--declared-rows", 1000, "--output", TARGET, "--overwrite").out
    assert "attribute weights calibrated (auto)" in told
    named = ("--mechanism", "smooth", "--attribute-weights", "none")
    refused = run("train", wide, "--declared-rows", 1000, *named, expected=64).err
    assert "only a rule for delta, --mechanism auto and --attribute-weights auto depend on them" in refused
    with pytest.raises(UsageError, match="only a rule for delta, mechanism auto and attribute_weights auto depend on"):
        dpnb.train(wide, epsilon=1, rows=1000, mechanism="smooth", attribute_weights="none")
