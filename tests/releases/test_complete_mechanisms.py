"""A mechanism whose models no program could read again is refused before anything is charged for one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import ModuleType

import pytest
from support.ledger_cases import new_ledger, spent_epsilon
from support.mechanisms import MECHANISMS
from support.people import PEOPLE, people, people_domain, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar import mechanisms, registry
from dpnb_columnar.core.mechanisms.baselines import Global
from dpnb_columnar.core.mechanisms.histogram import BinCounts
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family
from dpnb_columnar.errors import ConfigurationError
from dpnb_columnar.extensions.audit.attacks import Effort, attack_one
from dpnb_columnar.extensions.audit.outcomes import configurations
from dpnb_columnar.extensions.audit.universe import YEARS, build_universe
from dpnb_columnar.mechanisms import OWN, MechanismRecord
from dpnb_columnar.releases import attribute_weights
from dpnb_columnar.training import check_complete

WEIGHTS = (
    attribute_weights.NONE,
    attribute_weights.TEMPERED,
    attribute_weights.CALIBRATED,
    attribute_weights.LEARNED,
)

CASES = [
    (name, noise, weights)
    for name, mechanism in MECHANISMS.items()
    for noise, weights in product(NOISE_FAMILIES if mechanism.smooth else [None], WEIGHTS)
    if (weights != attribute_weights.TEMPERED or mechanism.binned)
    and (weights == attribute_weights.NONE or name not in {"majority", "none"})
]
"""Every mechanism with each noise family and with all attribute weights that go together."""


class MyCounts(BinCounts):
    """A mechanism of counts alone, as somebody adds it who has read one step too few."""

    name = "mine"


class MyMoments(Global):
    """The same of moments."""

    name = "mine"


@pytest.mark.slow
def test_every_mechanism_is_released_saved_and_read(folder: Path) -> None:
    domain = people_domain({**PEOPLE, "weight": {"column": "persons", "cap": 2, "step": 1}})
    rows = people(60).with_columns(persons=1)
    for name, noise, weights in CASES:
        delta = 0 if noise is None or smooth_family(noise).kind.__name__ == "Pure" else "1e-6"
        model = dpnb.train(
            rows, domain=domain, mechanism=name, noise=noise, attribute_weights=weights, delta=delta, epsilon=1
        )
        model.save("model.json", overwrite=True)
        assert dpnb.load_model("model.json") == model, (name, noise, weights)


EFFORT = Effort(rows=1, duplicates=(), scenarios=1, domains=(YEARS,), scouted=0, pairs=1, releases=60, processes=1)

GLOBAL = replace(OWN["global"], drawn_by=f"{__name__}:MyMoments", words="my noisy moments")


def register(monkeypatch: pytest.MonkeyPatch, name: str, record: MechanismRecord) -> None:
    """Offer a mechanism as an extension of another package does."""
    package = ModuleType("my_extension")
    package.MECHANISMS = {name: record}  # type: ignore[attr-defined]
    monkeypatch.setattr(registry, "_packages", lambda: (package,))
    check_complete.cache_clear()


def test_a_mechanism_without_its_parts_is_refused_and_nothing_is_charged(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, "mine", replace(GLOBAL, drawn_by=f"{__name__}:MyCounts"))
    write_people(Path("people.parquet"), people(60))
    new_ledger(Path("l.ledger"), dataset="people")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    (line,) = run(
        "train", "people.parquet", "--mechanism", "mine", "--ledger", "l.ledger", expected=78
    ).err.splitlines()
    assert "mechanism 'mine' is incomplete" in line
    assert "('mean', 'number')" in line
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert spent_epsilon(Path("l.ledger"), "people") == 0


@pytest.mark.parametrize(
    ("name", "rules", "missing"),
    [
        ("global", "histogram", r"\('counts', 'number'\)"),
        ("histogram", "global", r"\('mean', 'number'\)"),
        ("histogram", "adaptive-histogram", "draws noise of a family"),
        ("smooth", "trimmed-mean", r"\('mean of squares', 'number'\)"),
        ("majority", "histogram", r"\('counts', 'number'\)"),
    ],
)
def test_rules_of_another_mechanism_are_refused(
    name: str, rules: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = replace(OWN[rules], drawn_by=OWN[name].drawn_by)
    monkeypatch.setattr(mechanisms, "OWN", {**OWN, name: wrong})
    check_complete.cache_clear()
    mechanism = MECHANISMS[name]
    noise = mechanism.default_noise if mechanism.smooth else None
    with pytest.raises(ConfigurationError, match=f"mechanism '{name}' is incomplete.*{missing}"):
        check_complete(name, type(mechanism), noise, attribute_weights.NONE, Fraction(0))


@pytest.mark.slow
def test_a_mechanism_of_another_package_is_planned_released_read_shown_scored_and_audited(
    people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guide of CONTRIBUTING: a class and its record are all that is written."""
    register(monkeypatch, "mine", GLOBAL)
    assert "mine" in run("plan", people_file, "--mechanism", "mine").out
    run("train", people_file, "--mechanism", "mine", "--output", "mine.json")
    model = dpnb.load_model("mine.json")
    assert model.guarantee.mechanism == "mine"
    assert "Mechanism mine" in run("show", "mine.json").out
    run("show", "mine.json", "--html", "mine.html")
    assert "my noisy moments" in Path("mine.html").read_text()
    run("predict", "mine.json", people_file, "--output", "scores.parquet")
    run("sql", "score", "mine.json", "--dialect", "duckdb", "--table", "people", "--output", "score.sql")
    run("evaluate", "mine.json", people_file, "--epsilon", "1", "--output", "scores.json")
    universe, faults = build_universe(YEARS)
    (attacked, *_) = configurations(["mine"])
    assert attacked.mechanism == "mine"
    assert not [*faults, *attack_one(attacked, (universe,), EFFORT, 1e-6).findings]
