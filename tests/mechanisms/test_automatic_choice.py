"""``--mechanism auto``, the default: what it takes, by public facts alone, and what is said of it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from dpnb_columnar.core.budget import Budget, Pure
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family
from dpnb_columnar.releases import plan as release_plan
from dpnb_columnar.releases.automatic_choice import MechanismChoice, resolved_mechanism
from dpnb_columnar.releases.plan import plan
from hypothesis import given
from hypothesis import strategies as st
from support.mechanisms import MECHANISMS
from support.model_cases import declared
from support.people import PEOPLE, people_domain
from support.running import Run

from dpnb_columnar.advice.expectation import CANDIDATES
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import UsageError

DELTA = Fraction(1, 10**6)
NUMBERS = {"lower": 0, "upper": 99, "step": 1}


def domain_of(numeric: int, categorical: int, classes: int) -> Domain:
    attributes: dict[str, Any] = {f"n{number}": NUMBERS for number in range(numeric)}
    attributes |= {f"c{number}": {"values": ["a", "b"]} for number in range(categorical)}
    return declared(attributes, [f"y{number}" for number in range(classes)])


@given(
    st.integers(0, 6),
    st.integers(0, 6),
    st.integers(2, 9),
    st.fractions(Fraction(1, 10**4), 1000),
    st.none() | st.integers(100, 10**12),
    st.none() | st.sampled_from(NOISE_FAMILIES),
)
def test_it_takes_what_is_advised_and_says_why(
    numeric: int, categorical: int, classes: int, epsilon: Fraction, rows: int | None, noise: str | None
) -> None:
    domain = domain_of(numeric, categorical + (not numeric), classes)
    taken = resolved_mechanism("auto", domain, epsilon, rows, noise)
    assert taken.name in CANDIDATES
    assert taken.reason
    assert "\n" not in taken.reason
    assert noise is None or MECHANISMS[taken.name].smooth, "what is named is drawn"
    assert resolved_mechanism("auto", domain, epsilon, rows, noise) == taken
    for name in MECHANISMS:
        assert resolved_mechanism(name, domain, epsilon, rows, noise) == MechanismChoice(name)


@pytest.mark.parametrize("noise", NOISE_FAMILIES)
@pytest.mark.parametrize("rows", [None, 100, 10**9])
def test_whatever_noise_is_named_is_drawn_and_spends_the_delta_that_it_needs(noise: str, rows: int | None) -> None:
    pure = smooth_family(noise).kind is Pure
    planned = plan(people_domain(), Budget(Fraction(1), delta=Fraction(0) if pure else DELTA), "auto", noise, rows=rows)
    assert planned.noise == noise
    assert noise in {share.noise for share in planned.shares}
    if not pure:
        with pytest.raises(UsageError, match=f"noise: {noise} spends a delta"):
            plan(people_domain(), Budget(Fraction(1)), "auto", noise, rows=rows)


@pytest.mark.parametrize(("unit_rows", "epsilon"), [(None, Fraction(3)), (1, Fraction(3)), (3, Fraction(1))])
def test_it_goes_by_the_epsilon_of_one_row(
    unit_rows: int | None, epsilon: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Fraction] = []

    def recorded(name: str, domain: Domain, epsilon: Fraction, *others: Any) -> MechanismChoice:
        asked.append(epsilon)
        return resolved_mechanism(name, domain, epsilon, *others)

    monkeypatch.setattr(release_plan, "resolved_mechanism", recorded)
    unit = {} if unit_rows is None else {"unit": {"columns": ["u"], "rows": unit_rows}}
    plan(people_domain({**PEOPLE, **unit}), Budget(Fraction(3)))
    assert asked == [epsilon]


def test_a_plan_is_that_of_the_mechanism_it_takes() -> None:
    automatic = plan(people_domain(), Budget(Fraction(1)), attribute_weights="auto", rows=10**6)
    named = plan(people_domain(), Budget(Fraction(1)), automatic.mechanism.name, attribute_weights="auto", rows=10**6)
    assert automatic.mechanism_reason is not None
    assert named.mechanism_reason is None
    assert automatic.shares == named.shares
    assert automatic.inputs == named.inputs, "a run that was begun by name is finished by auto, and the other way about"


def test_train_says_what_it_took_and_the_model_names_that_alone(people_file: Path, run: Run) -> None:
    taken = plan(people_domain(), Budget(Fraction(1))).mechanism.name
    said = run("train", people_file, "--output", "model.json").out
    assert f"mechanism {taken} (auto)" in said
    assert f"mechanism {taken}: chosen by auto, since " in said
    written = Path("model.json").read_text()
    assert json.loads(written)["guarantee"]["mechanism"] == taken
    assert "auto" not in written
    logged = [
        json.loads(line) for line in run("train", people_file, "--overwrite", "--log-format", "json").out.splitlines()
    ]
    (budget,) = [line for line in logged if line.get("event") == "budget"]
    assert budget["mechanism"] == taken
    assert budget["mechanism_reason"]
    named = run("train", people_file, "--mechanism", "smooth", "--overwrite", "--output", "model.json").out
    assert "mechanism smooth" in named
    assert "chosen by auto, since" not in named


def test_declared_rows_are_for_it_as_well(people_file: Path, run: Run) -> None:
    rows = ("--attribute-weights", "none", "--declared-rows", 1000)
    run("train", people_file, *rows)
    told = run("train", people_file, *rows, "--mechanism", "smooth", expected=64).err
    assert "only a rule for delta, --mechanism auto and --attribute-weights auto depend on them" in told


def test_plan_says_it_as_json(people_file: Path, run: Run) -> None:
    document = json.loads(run("plan", people_file, "--no-advice", "--json").out)
    assert document["mechanism"] in CANDIDATES
    assert document["mechanism_reason"]
    assert document["shares"] == "by-size"
    named = json.loads(run("plan", people_file, "--no-advice", "--json", "--mechanism", "paper").out)
    assert (named["mechanism"], named["mechanism_reason"], named["shares"]) == ("paper", None, "equal")
