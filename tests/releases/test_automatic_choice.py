"""What auto chooses, of mechanisms and of attribute weights, by public facts alone; and ``tempered`` weights."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.mechanisms import MECHANISMS
from support.model_cases import declared, normal_of
from support.people import PEOPLE, people_domain
from support.running import Run

from dpnb_columnar.advice.rehearsal import CANDIDATES
from dpnb_columnar.core.budget import Budget, Pure
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.core.queries.statistics import assemble
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.likelihood import class_terms
from dpnb_columnar.model.parameters import Normal, tempered_weight
from dpnb_columnar.model.recipes import bounded
from dpnb_columnar.releases import plan as release_plan
from dpnb_columnar.releases.model_plan import release
from dpnb_columnar.releases.plan import MechanismChoice, plan, resolved_mechanism

DELTA = Fraction(1, 10**6)
NUMBERS = {"lower": 0, "upper": 99, "step": 1}


def domain_with(numeric: int, categorical: int, classes: int) -> Domain:
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
    domain = domain_with(numeric, categorical + (not numeric), classes)
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


# ``tempered``: one weight for all attributes, from their number; and what ``auto`` chooses, from public facts.

BINNED = ["histogram", "adaptive-histogram"]


def domain_of(attributes: int, classes: int = 2) -> Domain:
    """A domain of as many attributes, every third of them numeric."""
    numeric, categorical = {"lower": 0, "upper": 9, "step": 1}, {"values": ["a", "b"]}
    kinds = {f"x{place}": categorical if place % 3 else numeric for place in range(attributes)}
    return declared(kinds, [f"class {place}" for place in range(classes)])


def test_the_weight_is_the_fourth_root_of_one_over_the_number_of_attributes_from_eight_on() -> None:
    assert [tempered_weight(count) for count in range(8)] == [1.0] * 8
    assert tempered_weight(16) == 0.5
    for count in (8, 14, 40, 500):
        assert tempered_weight(count) ** 4 * count == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("mechanism", BINNED)
@pytest.mark.parametrize(("attributes", "weight"), [(7, 1.0), (8, 8**-0.25), (16, 0.5)])
def test_a_tempered_release_draws_what_an_ordinary_one_draws(mechanism: str, attributes: int, weight: float) -> None:
    domain = domain_of(attributes)
    plans = [plan(domain, Budget(Fraction(1)), mechanism, attribute_weights=name) for name in ("none", "tempered")]
    assert plans[0].shares == plans[1].shares
    plain, tempered = (release(assemble(domain, ()), each, ExactSampler(SeededBits(7))) for each in plans)
    assert (plain.attributes, plain.classes, plain.guarantee) == (
        tempered.attributes,
        tempered.classes,
        tempered.guarantee,
    )
    assert plain.attribute_weights is None
    assert tempered.attribute_weights is not None
    assert tempered.attribute_weights.method == "tempered"
    assert tempered.weights == (weight,) * attributes
    assert class_terms(tempered) == class_terms(plain) == list(map(math.log, plain.classes.probability))


@pytest.mark.parametrize(
    ("mechanism", "weights", "attributes", "classes", "words"),
    [
        *(
            (name, "tempered", 9, 2, f"tempered is for histograms, and mechanism {name} makes none; choose h")
            for name in MECHANISMS
            if name not in BINNED
        ),
        ("histogram", "tempered", 9, 3, "tempered is for two classes, and the domain declares 3; choose calibr"),
        ("histogram", "learned", 9, 3, "learned is for two classes, and the domain declares 3; choose calibr"),
        ("majority", "learned", 9, 2, "learned is for mechanisms that release attributes with noise"),
        ("none", "learned", 9, 2, "learned is for mechanisms that release attributes with noise"),
        ("histogram", "learned", 1001, 2, "at most 1000 attributes, and the domain declares 1001; choose calibrated"),
        ("histogram", "temperd", 9, 2, "attribute weights: no 'temperd'; known ways: auto, none, tempered"),
    ],
)
def test_weights_that_a_plan_cannot_have_are_refused(
    mechanism: str, weights: str, attributes: int, classes: int, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        plan(domain_of(attributes, classes), Budget(Fraction(1)), mechanism, attribute_weights=weights)


def test_weighted_normal_distributions_of_two_classes_are_bounded() -> None:
    """Ordinary naive Bayes is not, nor are tables and histograms, whose counts say how much a cell can tell."""
    domain = domain_of(6)
    for mechanism, weights, bound in (
        ("smooth", "calibrated", 3.0),
        ("smooth", "none", None),
        ("global", "calibrated", 3.0),
    ):
        planned = plan(domain, Budget(Fraction(1)), mechanism, attribute_weights=weights)
        model = release(assemble(domain, ()), planned, ExactSampler(SeededBits(7)))
        assert {each.bound for each in model.attributes if isinstance(each, Normal)} == {bound}
    normal = normal_of("x0", (1.0, 2.0, 3.0), (1.0, 1.0, 2.0))
    assert bounded(normal, 3) == normal


CHOICES = [
    # attributes, rows, epsilon: chosen where the rows can be read twice, where they cannot
    (8, 1_000_000, "1", "learned", "tempered"),
    (14, 10_478, "1", "learned", "tempered"),  # 200 * 14^1.5
    (14, 10_476, "1", "calibrated", "tempered"),
    (24, 10**6, "1", "learned", "tempered"),
    (25, 10**9, "1", "calibrated", "tempered"),
    (40, 30_000, "1/10", "calibrated", "tempered"),
    (40, 29_999, "1/10", "calibrated", None),
    (14, 10_000, "1/10", "calibrated", None),
    (14, 9_999, "1/10", None, None),
    (14, None, "1/1000", "calibrated", "tempered"),
    (7, 3_000, "1", "calibrated", None),
    (7, 2_999, "1", None, None),
    (7, None, "1", None, None),
]


@pytest.mark.parametrize(("attributes", "rows", "epsilon", "twice", "once"), CHOICES)
def test_auto_chooses_by_public_facts(
    attributes: int, rows: int | None, epsilon: str, twice: str | None, once: str | None
) -> None:
    budget = Budget(Fraction(epsilon))
    for mechanism in MECHANISMS.values():
        for repeatable, expected in ((True, twice), (False, once)):
            planned = plan(
                domain_of(attributes),
                budget,
                mechanism.name,
                attribute_weights="auto",
                rows=rows,
                repeatable=repeatable,
            )
            if mechanism.name in ("majority", "none") or (expected == "tempered" and not mechanism.binned):
                expected = None
            assert planned.attribute_weights == expected
            assert (planned.calibration is not None) == (expected in ("calibrated", "learned"))
            assert planned.automatic
            assert planned.uncalibrated == (
                not repeatable and twice is not None and mechanism.name not in ("majority", "none")
            )


@pytest.mark.parametrize("classes", [3, 9])
def test_auto_calibrates_more_than_two_classes_too(classes: int) -> None:
    for attributes, rows, repeatable, expected in (
        (40, 1_000, True, "calibrated"),
        (40, 999, True, None),
        (40, None, True, "calibrated"),
        (40, 3_000, False, None),
        (7, 3_000, True, "calibrated"),
        (7, None, True, None),
    ):
        domain = domain_of(attributes, classes=classes)
        planned = plan(domain, Budget(Fraction(1)), "histogram", None, "auto", rows, repeatable=repeatable)
        assert planned.attribute_weights == expected
        assert planned.rounds == ()
        assert planned.uncalibrated is (not repeatable)


@pytest.mark.parametrize("method", ["none", "tempered", "calibrated"])
def test_what_is_asked_for_does_not_depend_on_rows(method: str) -> None:
    for rows in (None, 100, 10**9):
        planned = plan(domain_of(9), Budget(Fraction(1, 100)), "histogram", attribute_weights=method, rows=rows)
        assert planned.attribute_weights == (None if method == "none" else method)
        assert not planned.automatic
        assert not planned.uncalibrated
