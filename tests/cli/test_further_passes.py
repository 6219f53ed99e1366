"""Attribute weights that further passes over the rows decide: one release, paid for once, of files and of databases."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from support.ledger_cases import new_ledger, spent_epsilon
from support.people import people_domain, repeated_document, repeated_people, write_people
from support.running import Run
from support.servers import PostgresServer
from support.tables import into_postgres

import dpnb_columnar as dpnb
from dpnb_columnar.api import load_model
from dpnb_columnar.core.budget import Approximate, Pure
from dpnb_columnar.core.measurement import CALIBRATION
from dpnb_columnar.model.weight_rounds import WeightRounds
from dpnb_columnar.releases import model_plan as model_release

TARGET = Path("m.json")
CALIBRATED = ("--mechanism", "histogram", "--attribute-weights", "calibrated")
REPEATED = repeated_document()
PART = Pure(Fraction(1, 10))


@pytest.fixture
def correlated(folder: Path) -> Path:
    return write_people(folder / "repeated.parquet", repeated_people(5000), REPEATED)


def losses(run: Run, data: Path) -> list[float]:
    """The log loss of a calibrated model, and of one without weights."""
    found = []
    for weights in ("calibrated", "none"):
        run("train", data, *CALIBRATED[:3], weights, "--seed", 3, "--output", f"{weights}.json")
        found.append(json.loads(run("evaluate", f"{weights}.json", data, "--json").out)["log_loss"])
    return found


def test_a_tenth_of_the_budget_calibrates(correlated: Path, run: Run) -> None:
    told = run("train", correlated, *CALIBRATED, "--seed", 1, "--output", TARGET).out
    assert "epsilon 1 (add-remove neighbours), mechanism histogram, attribute weights calibrated, 8 queries" in told
    model = load_model(TARGET)
    assert model.attribute_weights is not None
    assert model.attribute_weights.method == "calibrated"
    assert (set(model.weights), set(model.intercepts)) == ({1.0}, {0})
    assert model.attribute_weights.line is not None
    *others, last = model.guarantee.composition
    assert (last.query, last.values, last.cost) == (CALIBRATION, 48, PART)
    assert sum((each.cost.epsilon for each in others if isinstance(each.cost, Pure)), Fraction(0)) == Fraction(9, 10)
    calibrated, plain = losses(run, correlated)
    assert calibrated < plain


@pytest.mark.parametrize(
    ("weights", "stated"),
    [
        ("calibrated", "how probabilities follow from the score, in which each of 6 attributes weighs 1, is fitted"),
        ("learned", "a weight of each of 6 attributes and an intercept are fitted in 2 further passes"),
        ("learned", "a weight gradient's error is in units of its bound, which the released tables decide"),
        ("learned", "how probabilities follow from the score in one more: 35.0% of the budget"),
        ("calibrated", "10.0% of the budget"),
    ],
)
def test_plan_prints_every_pass_and_its_share(weights: str, stated: str, correlated: Path, run: Run) -> None:
    told = run("plan", correlated, *CALIBRATED[:3], weights, "--no-advice").out
    assert stated in told
    (query,) = [line for line in told.splitlines() if line.startswith(f"  {CALIBRATION}")]
    assert query.split()[2:5] == ["48", "0.1", "laplace"]
    assert [f"weight gradient {number}" in told for number in (1, 2)] == [weights == "learned"] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "weights"),
    [
        *(("histogram", weights) for weights in ("calibrated", "learned")),
        *((mechanism, "calibrated") for mechanism in ("smooth", "adaptive-histogram")),
    ],
)
def test_seeded_bytes_do_not_depend_on_the_files(mechanism: str, weights: str, folder: Path, run: Run) -> None:
    rows = repeated_people(3000)
    whole = write_people(folder / "whole.parquet", rows, REPEATED)
    parts = [write_people(folder / f"part-{part}.parquet", rows[part::3], REPEATED) for part in range(3)]
    models = []
    for files in ([whole], parts, parts[::-1]):
        options = ("--mechanism", mechanism, "--attribute-weights", weights, "--seed", 7, "--overwrite")
        run("train", *files, *options, "--output", TARGET)
        models.append(TARGET.read_bytes())
    assert len(set(models)) == 1
    model = load_model(TARGET)
    assert model.attribute_weights is not None
    assert (model.attribute_weights.method, model.guarantee.epsilon) == (weights, 1)
    assert (len(set(model.weights)) > 1) == (weights == "learned")
    assert ("weight gradient 2" in run("show", TARGET).out) == (weights == "learned")
    assert "wrote p.parquet" in run("predict", TARGET, whole, "--output", "p.parquet").out


def test_a_lazy_frame_is_calibrated_in_two_passes(correlated: Path) -> None:
    chosen: dict[str, Any] = {"epsilon": 1, "mechanism": "histogram", "attribute_weights": "calibrated"}
    model = dpnb.train(pl.scan_parquet(correlated), domain=people_domain(REPEATED), **chosen)
    assert model.attribute_weights is not None
    assert model.guarantee.epsilon == 1


# In the second pass, and in a round.
PASSES = {"calibrated": (model_release, "margins_given"), "learned": (WeightRounds, "after")}


@pytest.mark.parametrize("weights", PASSES)
def test_a_run_cut_short_in_a_further_pass_is_finished_for_nothing_and_charged_once(
    weights: str, correlated: Path, ledger: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid = ("train", correlated, "--mechanism", "histogram", "--ledger", ledger, "--run-id", "night")
    command = (*paid, "--attribute-weights", weights, "--output", TARGET)

    def fails(*_: object) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(*PASSES[weights], fails)
        with pytest.raises(BaseException):  # noqa: B017, PT011
            run(*command)
    assert not TARGET.exists()
    assert spent_epsilon(ledger, "people") == 1
    run(*command)
    first = TARGET.read_bytes()
    TARGET.unlink()
    assert "nothing is spent again" in run(*command).out
    assert TARGET.read_bytes() == first
    assert spent_epsilon(ledger, "people") == 1
    told = run(*paid, "--output", TARGET, "--overwrite", expected=64).err
    assert "run id night: belongs to a release with other inputs (attribute_weights)" in told


@pytest.mark.parametrize(("weights", "begins"), [("calibrated", "margins_given"), ("learned", "start_rounds")])
def test_rows_that_change_between_the_passes_are_refused(
    weights: str, begins: str, correlated: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = getattr(model_release, begins)

    def changed(*arguments: object) -> Any:
        write_people(correlated, repeated_people(100), REPEATED)
        return given(*arguments)

    monkeypatch.setattr(model_release, begins, changed)
    told = run("train", correlated, *CALIBRATED[:3], weights, "--output", TARGET, expected=65).err
    assert "the rows changed between two passes over them; start again when they are complete" in told


# Several classes: one later pass and one query.

NAMES = ("none", "low", "some", "more", "most", "high", "rare", "odd", "last")


def document(classes: int) -> dict[str, object]:
    attributes = {f"c{copy}": {"values": list(NAMES[:classes])} for copy in range(4)}
    label = {"column": "y", "classes": list(NAMES[:classes])}
    return {"label": label, "attributes": {**attributes, "n": {"lower": 0, "upper": 99, "step": 1}}}


def rows(classes: int, size: int) -> pl.DataFrame:
    """One class of half of the rows; a column that is right in half of the others, given several times over."""
    generator = np.random.default_rng(1)
    shares = np.array([0.5, *(0.5 / (classes - 1) for _ in range(classes - 1))])
    truth = generator.choice(classes, size, p=shares)
    told = np.where(generator.random(size) < 0.6, truth, generator.choice(classes, size, p=shares))
    names = np.array(NAMES)
    columns = {f"c{copy}": names[told] for copy in range(4)}
    return pl.DataFrame({**columns, "n": generator.integers(0, 100, size), "y": names[truth]})


@pytest.fixture(params=[3, 9], ids=["three classes", "nine classes"])
def classes(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def several(folder: Path, classes: int) -> Path:
    return write_people(folder / "rows.parquet", rows(classes, 8000), document(classes))


@pytest.mark.slow
def test_one_query_calibrates_all_classes(several: Path, run: Run) -> None:
    """Catches: gradient rounds, counts of two columns, a line that no class but two hears of."""
    told = run("plan", several, *CALIBRATED, "--no-advice").out
    (query,) = [line for line in told.splitlines() if line.startswith(f"  {CALIBRATION}")]
    assert query.split()[2:5] == ["72", "0.1", "laplace"]
    assert "24 ranges of the margin between the largest class and the best other" in told
    calibrated, plain = losses(run, several)
    assert calibrated < plain - 0.05
    model = load_model(Path("calibrated.json"))
    share = model.guarantee.composition[-1]
    assert (share.query, share.values, share.cost) == (CALIBRATION, 72, PART)
    assert model.attribute_weights is not None
    assert model.attribute_weights.line is not None
    assert len(model.attribute_weights.line.others) == len(model.attribute_weights.line.margins)
    assert json.loads(run("evaluate", "calibrated.json", several, "--json").out)["accuracy"] > 0.7


def test_counts_of_another_model_are_refused_and_nothing_is_charged(several: Path, run: Run) -> None:
    account = new_ledger(Path("rows.ledger"), Approximate(Fraction(2), Fraction(0)), "rows")
    run("aggregate", several, "--output", "first.parquet")
    for name in ("one", "other"):
        run("release", "first.parquet", *CALIBRATED, "--output", f"{name}.json")
    run("aggregate", several, "--given", "one.json", "--output", "second.parquet")
    given = ("--given", "other.json", "--ledger", account)
    told = run("release", "second.parquet", *given, "--output", "m.json", expected=65).err
    assert "second.parquet: was counted given another model, whose scores differ" in told
    assert spent_epsilon(account, "rows") == 0
    assert not Path("m.json").exists()


def test_rows_that_change_between_the_passes_are_noticed(several: Path, classes: int) -> None:
    """The answer knows the rows of each class, though no released count tells them."""
    tables = dpnb.release(dpnb.aggregate(several), epsilon=1, mechanism="histogram", attribute_weights="calibrated")
    counts = dpnb.count_given(several, tables)
    assert counts.class_counts.tolist() == dpnb.aggregate(several).class_counts.tolist()
    assert len(counts.class_counts) == classes
    fewer = dpnb.count_given(rows(classes, 7000), tables)
    assert fewer.class_counts.sum() == 7000


# Databases are asked in turn, and the model is that of files.

COPIED = repeated_document(6)


@pytest.mark.slow
@pytest.mark.parametrize(("weights", "count"), [("calibrated", 2), ("learned", 2), ("calibrated", 3)])
def test_a_database_is_asked_in_every_pass_and_gives_the_bytes_of_train(
    weights: str, count: int, folder: Path, run: Run
) -> None:
    names = ["low", "high", "none"][:count]
    third = pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.lit(names[-1])).otherwise("income")
    made = repeated_people(1500, copies=6).with_columns(income=third)
    data = write_people(folder / "people.parquet", made, {**COPIED, "label": {"column": "income", "classes": names}})
    with duckdb.connect("people.duckdb") as connection:
        connection.execute("CREATE TABLE people AS FROM read_parquet($1)", [str(data)])
    chosen = ("--attribute-weights", weights, "--seed", 3)
    run("train", data, *chosen, "--output", "trained.json")
    run("release", "people.duckdb", "--table", "people", "--domain", data, *chosen, "--output", "asked.json")
    assert Path("asked.json").read_bytes() == Path("trained.json").read_bytes()
    if weights == "calibrated":
        run("sql", "statistics", data, "--dialect", "duckdb", "--table", "people", "--output", "q.sql")
        run("release", "people.duckdb", "--query", "q.sql", "--domain", data, *chosen, "--output", "counted.json")
        assert load_model(Path("counted.json")).guarantee.reserved


@pytest.mark.xdist_group("postgres")
def test_postgres_gives_the_bytes_of_train(folder: Path, run: Run, postgres: PostgresServer) -> None:
    data = write_people(folder / "people.parquet", repeated_people(3000, copies=6), COPIED)
    into_postgres(postgres, "second_release", pl.read_parquet(data))
    for weights in ("calibrated", "learned"):
        chosen = ("--attribute-weights", weights, "--seed", 3, "--overwrite")
        run("train", data, *chosen, "--output", "trained.json")
        asked = ("release", postgres.uri, "--table", "second_release")
        run(*asked, "--domain", data, *chosen, "--output", "asked.json")
        assert Path("asked.json").read_bytes() == Path("trained.json").read_bytes()
