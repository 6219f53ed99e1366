"""``--attribute-weights learned``, and ``calibrated`` for more than two classes: rounds, one release, paid for once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.ledger_cases import spent_epsilon
from support.people import people, write_people
from support.running import Run

from dpnb_columnar.api import load_model
from dpnb_columnar.core.mechanisms import release as model_release
from dpnb_columnar.core.mechanisms.weight_rounds import WeightRounds

TARGET = Path("m.json")
LEARNED = ("--mechanism", "histogram", "--attribute-weights", "learned")


@pytest.mark.slow
def test_seeded_bytes_do_not_depend_on_the_files(folder: Path, run: Run) -> None:
    rows = people(3000)
    whole = write_people(folder / "whole.parquet", rows)
    parts = [write_people(folder / f"part-{part}.parquet", rows[part::3]) for part in range(3)]
    models = []
    for number, files in enumerate(([whole], parts, parts[::-1])):
        target = Path(f"learned-{number}.json")
        run("train", *files, *LEARNED, "--seed", 7, "--output", target)
        models.append(target.read_bytes())
    assert len(set(models)) == 1
    model = load_model(target)
    assert model.attribute_weights is not None
    assert model.attribute_weights.method == "learned"
    assert len(set(model.weights)) > 1
    assert model.guarantee.epsilon == 1
    assert "weight gradient 2" in run("show", target).out
    assert "wrote p.parquet" in run("predict", target, whole, "--output", "p.parquet", "--overwrite").out


def test_plan_prints_every_round(folder: Path, run: Run) -> None:
    told = run("plan", write_people(folder / "people.parquet"), *LEARNED, "--no-advice").out
    assert "a weight of each of 3 attributes and an intercept are fitted in 2 further passes" in told
    assert "a weight gradient's error is in units of its bound, which the released tables decide" in told
    assert "over the rows, and how probabilities follow from the score in one more: 35.0% of the budget" in told
    assert [f"weight gradient {number}" in told for number in (1, 2)] == [True] * 2


@pytest.mark.slow
def test_plan_rehearses_every_round(folder: Path, run: Run) -> None:
    file = write_people(folder / "people.parquet")
    learned, calibrated = (
        json.loads(run("plan", file, "--mechanism", "histogram", "--attribute-weights", weights, "--json").out)
        for weights in ("learned", "calibrated")
    )
    accuracies = [[each["accuracy"] for each in told["expected"]] for told in (learned, calibrated)]
    assert accuracies[0] != accuracies[1]


def test_a_run_cut_short_in_a_round_is_finished_for_nothing(
    folder: Path, ledger: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_people(folder / "people.parquet")
    command = ("train", file, *LEARNED, "--ledger", ledger, "--run-id", "night", "--output", TARGET)

    def fails(*rounds: object) -> WeightRounds:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(WeightRounds, "after", fails)
        with pytest.raises(BaseException):  # noqa: B017, PT011
            run(*command)
    assert not TARGET.exists()
    run(*command)
    first = TARGET.read_bytes()
    TARGET.unlink()
    assert "nothing is spent again" in run(*command).out
    assert TARGET.read_bytes() == first
    assert spent_epsilon(ledger, "people") == 1


def test_rows_that_change_between_rounds_are_refused(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_people(folder / "people.parquet")
    first = model_release.start_rounds

    def changed(*plan: object) -> WeightRounds:
        write_people(file, people(100))
        return first(*plan)  # type: ignore[arg-type]

    monkeypatch.setattr(model_release, "start_rounds", changed)
    told = run("train", file, *LEARNED, "--output", TARGET, expected=65).err
    assert "the rows changed between two passes over them" in told
