"""A mechanism whose models no program could read again is refused before anything is charged for one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from dpnb_columnar.core.mechanisms.baselines import Global
from dpnb_columnar.core.mechanisms.histogram import BinCounts
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family
from dpnb_columnar.releases import attribute_weights
from dpnb_columnar.releases import plan as release_plan
from support.ledger_cases import new_ledger, spent_epsilon
from support.mechanisms import MECHANISMS
from support.people import PEOPLE, people, people_domain, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.errors import ConfigurationError
from dpnb_columnar.model.mechanism_rules import RULES
from dpnb_columnar.model.postprocessing import NORMALS
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


@pytest.mark.parametrize(
    ("mechanism", "missing"), [(MyCounts(), "'mine' is no mechanism of this version"), (MyMoments(), "no entry 'mine'")]
)
def test_a_mechanism_without_its_rules_is_refused_and_nothing_is_charged(
    mechanism: BinCounts | Global, missing: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(release_plan.MECHANISMS, "mine", mechanism)
    write_people(Path("people.parquet"), people(60))
    new_ledger(Path("l.ledger"), dataset="people")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    error = run("train", "people.parquet", "--mechanism", "mine", "--ledger", "l.ledger", expected=78).err
    (line,) = error.splitlines()
    assert missing in line
    assert "RULES" in line
    assert "NORMALS" in line
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert spent_epsilon(Path("l.ledger"), "people") == 0


@pytest.mark.parametrize(
    ("name", "rules", "missing"),
    [
        ("global", "histogram", "'mean' of attribute 'number' is no query of this model"),
        ("histogram", "global", "releases no such parameters"),
        ("histogram", "adaptive-histogram", "draws noise of a family"),
        ("smooth", "trimmed-mean", "lacks the query 'mean of squares'"),
        ("majority", "histogram", "releases every declared attribute"),
    ],
)
def test_rules_of_another_mechanism_are_refused(
    name: str, rules: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RULES, name, RULES[rules])
    check_complete.cache_clear()
    mechanism = MECHANISMS[name]
    noise = mechanism.default_noise if mechanism.smooth else None
    with pytest.raises(ConfigurationError, match=f"mechanism '{name}' is incomplete: .*{missing}"):
        check_complete(name, type(mechanism), noise, attribute_weights.NONE, Fraction(0))


def test_a_mechanism_with_its_rules_is_released(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(release_plan.MECHANISMS, "mine", MyMoments())
    monkeypatch.setitem(RULES, "mine", RULES["global"])
    monkeypatch.setitem(NORMALS, "mine", NORMALS["global"])
    model = dpnb.train(people(60), domain=people_domain(), mechanism="mine", epsilon=1)
    model.save("mine.json")
    assert dpnb.load_model("mine.json") == model
