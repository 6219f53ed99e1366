"""Approximate and concentrated guarantees, from ``train`` to ``show``."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from support.people import DECLARATION
from support.running import Run

from dpnb_columnar.api import load_model
from dpnb_columnar.core.budget import Approximate, Concentrated, Pure, total
from dpnb_columnar.core.budget.costs import implies
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family

APPROXIMATE = [name for name in NOISE_FAMILIES if smooth_family(name).kind is Approximate]
CONCENTRATED = [name for name in NOISE_FAMILIES if smooth_family(name).kind is Concentrated]
PURE = [name for name in NOISE_FAMILIES if smooth_family(name).kind is Pure]


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("noise", [*APPROXIMATE, *CONCENTRATED])
def test_a_model_with_a_delta_says_so_and_proves_it(noise: str, relation: str, people_file: Path, run: Run) -> None:
    options = ("--epsilon", "0.9", "--delta", "1e-6", "--noise", noise, "--neighbours", relation)
    told = run("train", people_file, "--mechanism", "smooth", *options).out
    assert f"epsilon 0.9, delta 0.000001 ({relation} neighbours), mechanism smooth" in told
    guarantee = load_model(Path("people.model.json")).guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.noise) == (Fraction(9, 10), Fraction(1, 10**6), noise)
    spent = total(guarantee.composition)
    shown = run("show", "people.model.json").out
    assert "(0.9, 0.000001)-differentially private" in shown
    assert "a probability of 0.000001 aside" in shown
    if noise in CONCENTRATED:
        assert isinstance(spent, Concentrated)
        assert spent.rho == guarantee.rho
        assert implies(spent.rho, Approximate(Fraction(9, 10), Fraction(1, 10**6)))
        assert "-zCDP, which implies it" in shown
        assert "\n  sum of the shares: rho " in shown
    else:
        assert spent == Approximate(Fraction(9, 10), Fraction(1, 10**6))
        assert "\n  sum of the shares: epsilon 0.9, delta 0.000001\n" in shown
    assert ("of one row" in shown) is (relation == "replace-one" or noise in CONCENTRATED)
    run("predict", "people.model.json", people_file, "--output", "scored.parquet")


@pytest.mark.parametrize("noise", [*PURE, "student-1", "student-7"])
def test_pure_noise_by_name(noise: str, people_file: Path, run: Run) -> None:
    run("train", people_file, "--noise", noise)
    document = json.loads(Path("people.model.json").read_text())
    assert (document["guarantee"]["noise"], document["guarantee"]["delta"]) == (noise, "0")
    assert "rho" not in document["guarantee"]
    assert {each["noise"] for each in document["measurements"]} == {"laplace", noise}


@pytest.mark.parametrize(
    "noise", ["student", "student-0", "student-101", "student-1.5", "student-" + "1" * 5000, "student--1", "normal"]
)
def test_other_noise_is_refused_with_the_known_names(noise: str, people_file: Path, run: Run) -> None:
    refused = run("train", people_file, "--noise", noise, expected=64).err
    assert all(name in refused for name in (*NOISE_FAMILIES, "student-NU"))


GAUSSIAN = ("--noise", "gaussian")


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "delta"), [("1/n", "0.0005"), ("1/n^2", "0.00000025")])
def test_a_rule_is_told_and_becomes_the_exact_number(rule: str, delta: str, people_file: Path, run: Run) -> None:
    options = ("--delta", rule, "--declared-rows", 2000, *GAUSSIAN)
    told = f"delta {rule}, n = 2000 from --declared-rows\nepsilon 1, delta {delta} ("
    assert told in run("plan", people_file, *options).out
    assert told in run("train", people_file, *options).out
    run("aggregate", people_file)
    assert told in run("release", "people.statistics.parquet", "--output", "people.json", *options).out
    for model in ("people.model.json", "people.json"):
        assert json.loads(Path(model).read_text())["guarantee"]["delta"] == delta


@pytest.mark.slow
def test_a_rule_uses_what_the_entry_declares_unless_rows_are_typed(people_file: Path, run: Run) -> None:
    Path("datasets.toml").write_text(DECLARATION.replace("[people]\n", "[people]\nrows = 400\n", 1))
    options = ("--delta", "1/n", *GAUSSIAN)
    origin = "delta 1/n, n = 400 from datasets.toml, entry people\n"
    for verb in ("plan", "train"):
        told = run(verb, people_file, *options).out
        assert origin in told
        assert "delta 0.0025 (" in told
    typed = ("--declared-rows", 1000, "--overwrite")
    assert "n = 1000 from --declared-rows\n" in run("train", people_file, *options, *typed).out
    run("aggregate", people_file)
    assert origin in run("release", "people.statistics.parquet", "--output", "people.json", *options).out
