"""``--attribute-weights calibrated``: two passes over the rows, one release, paid for once."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.ledger_cases import spent_epsilon
from support.people import people_domain, repeated_document, repeated_people, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.api import load_model
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Pure
from dpnb_columnar.core.mechanisms import release as model_release
from dpnb_columnar.core.mechanisms.score_calibration import CALIBRATION

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from dpnb_columnar.sklearn import SmoothNaiveBayes

CALIBRATED = ("--mechanism", "histogram", "--attribute-weights", "calibrated")
TARGET = Path("m.json")
REPEATED = repeated_document()


@pytest.fixture
def correlated(folder: Path) -> Path:
    return write_people(folder / "repeated.parquet", repeated_people(5000), REPEATED)


def test_a_tenth_of_the_budget_calibrates(correlated: Path, run: Run) -> None:
    told = run("train", correlated, *CALIBRATED, "--seed", 1, "--output", TARGET).out
    assert "epsilon 1 (add-remove neighbours), mechanism histogram, attribute weights calibrated, 8 queries" in told
    model = load_model(TARGET)
    assert model.attribute_weights is not None
    assert model.attribute_weights.method == "calibrated"
    assert set(model.weights) == {len(model.attributes) ** -0.25 if len(model.attributes) >= 8 else 1.0}
    assert set(model.intercepts) == {0}
    assert model.attribute_weights.line is not None
    *others, last = model.guarantee.composition
    assert (last.query, last.values, last.cost) == (CALIBRATION, 48, Pure(Fraction(1, 10)))
    assert sum((each.cost.epsilon for each in others if isinstance(each.cost, Pure)), Fraction(0)) == Fraction(9, 10)
    losses = [
        json.loads(run("evaluate", file, correlated, "--json").out)["log_loss"]
        for file in (TARGET, _trained(run, correlated, "none"))
    ]
    assert losses[0] < losses[1]


def _trained(run: Run, data: Path, weights: str) -> Path:
    run("train", data, *CALIBRATED[:3], weights, "--seed", 1, "--output", f"{weights}.json")
    return Path(f"{weights}.json")


def test_plan_prints_its_share(correlated: Path, run: Run) -> None:
    told = run("plan", correlated, *CALIBRATED, "--no-advice").out
    assert (
        "how probabilities follow from the score, in which each of 6 attributes weighs 1, is fitted in a second" in told
    )
    assert "10.0% of the budget" in told
    (query,) = [line for line in told.splitlines() if line.startswith(f"  {CALIBRATION}")]
    assert query.split()[2:5] == ["48", "0.1", "laplace"]


@pytest.mark.slow
def test_seeded_bytes_do_not_depend_on_the_files(folder: Path, run: Run) -> None:
    rows = repeated_people(3000)
    whole = write_people(folder / "whole.parquet", rows, REPEATED)
    parts = [write_people(folder / f"part-{part}.parquet", rows[part::3], REPEATED) for part in range(3)]
    for mechanism in ("histogram", "smooth", "adaptive-histogram"):
        models = []
        for number, files in enumerate(([whole], parts, parts[::-1])):
            target = Path(f"{mechanism}-{number}.json")
            run("train", *files, *CALIBRATED[2:], "--mechanism", mechanism, "--seed", 7, "--output", target)
            models.append(target.read_bytes())
        assert len(set(models)) == 1
        assert load_model(target).attribute_weights is not None


def test_a_frame_and_python_calibrate_alike(correlated: Path) -> None:
    rows = pl.read_parquet(correlated)
    chosen: dict[str, Any] = {"epsilon": 1, "mechanism": "histogram", "attribute_weights": "calibrated"}
    for model in (
        dpnb.train(correlated, **chosen),
        dpnb.train(pl.scan_parquet(correlated), domain=people_domain(REPEATED), **chosen),
        SmoothNaiveBayes(domain=people_domain(REPEATED), **chosen).fit(rows.drop("income"), rows["income"]).model_,
    ):
        assert model.attribute_weights is not None
        assert model.guarantee.epsilon == 1


def test_a_run_is_charged_once_for_both_passes(correlated: Path, ledger: Path, run: Run) -> None:
    command = ("train", correlated, *CALIBRATED, "--ledger", ledger, "--run-id", "night", "--output", TARGET)
    run(*command)
    first = TARGET.read_bytes()
    assert spent_epsilon(ledger, "people") == 1
    TARGET.unlink()
    assert "nothing is spent again" in run(*command).out
    assert TARGET.read_bytes() == first
    assert spent_epsilon(ledger, "people") == 1
    told = run(*command[:2], *CALIBRATED[:2], *command[6:], "--overwrite", expected=64).err
    assert "run id night: belongs to a release with other inputs (attribute_weights)" in told


def test_a_run_cut_short_in_the_second_pass_is_finished_for_nothing(
    correlated: Path, ledger: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("train", correlated, *CALIBRATED, "--ledger", ledger, "--run-id", "night", "--output", TARGET)

    def fails(model: Model) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(model_release, "margins_given", fails)
        with pytest.raises(BaseException):  # noqa: B017, PT011
            run(*command)
    assert not TARGET.exists()
    assert spent_epsilon(ledger, "people") == 1
    run(*command)
    assert spent_epsilon(ledger, "people") == 1
    assert load_model(TARGET).attribute_weights is not None


def test_rows_that_change_between_the_passes_are_refused(
    correlated: Path, ledger: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = model_release.margins_given

    def changed(model: Model) -> Any:
        write_people(correlated, repeated_people(100), REPEATED)
        return given(model)

    monkeypatch.setattr(model_release, "margins_given", changed)
    told = run("train", correlated, *CALIBRATED, "--output", TARGET, expected=65).err
    assert "the rows changed between two passes over them; start again when they are complete" in told
