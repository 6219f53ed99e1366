"""The audit finds planted faults, each by the check that is there for it, and nothing without them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from support import planted_faults as faults

from dpnb_columnar.audit import bits, exact, statistical
from dpnb_columnar.audit.databases import Population, populate
from dpnb_columnar.audit.findings import Configuration, Finding, configurations
from dpnb_columnar.audit.run import Effort, attack_one
from dpnb_columnar.budget import Budget, Neighbours

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
REDUCED = Effort(
    rows=1, duplicates=(12,), scenarios=2, logarithmic=False, scouted=0, pairs=1, releases=300, processes=1
)
SMOOTH = Configuration("smooth", "polyplace", Budget(Fraction(1)))
GLOBAL = Configuration("global", None, Budget(Fraction(1)))
GLOBAL_VARIANCE = Configuration("global-variance", None, Budget(Fraction(1)))
HISTOGRAM = Configuration("histogram", None, Budget(Fraction(1)))
MAJORITY = Configuration("majority", None, Budget(Fraction(1)))
DOUBLE = Configuration(faults.DOUBLE, None, Budget(Fraction(1)))
ADAPTIVE = Configuration("adaptive-histogram", "polyplace", Budget(Fraction(1)))

Plant = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(scope="module")
def population() -> Population:
    found, findings = populate()
    assert not findings
    return found


def under(configuration: Configuration, relation: Neighbours) -> Configuration:
    return replace(configuration, budget=replace(configuration.budget, neighbours=relation))


def found_in(configuration: Configuration, population: Population, effort: Effort = REDUCED) -> dict[str, Finding]:
    outcome = attack_one(configuration, (population,), effort, 0.001)
    return {finding.check: finding for finding in outcome.findings}


@pytest.mark.parametrize("configuration", configurations(), ids=str)
def test_nothing_is_found_in_the_landed_code(configuration: Configuration, population: Population) -> None:
    outcome = attack_one(configuration, (population,), replace(REDUCED, releases=60), 1e-6)
    assert outcome.findings == ()
    assert 0 < outcome.loss <= float(outcome.claim.epsilon) * (1 + 1e-6)
    assert 0 <= outcome.number_bound <= float(outcome.claim.epsilon)
    assert outcome.claim.epsilon == configuration.budget.epsilon
    assert outcome.releases == 120


FAULTS: list[tuple[Plant, Configuration, Neighbours, str]] = [
    (faults.label_change_forgotten, DOUBLE, REPLACE, exact.LOSS),
    (faults.label_change_forgotten, DOUBLE, REPLACE, statistical.NUMBER),
    (faults.one_count_of_two, MAJORITY, REPLACE, exact.LOSS),
    (faults.classes_from_rows, DOUBLE, ADD, exact.QUERIES),
    (faults.classes_from_rows, DOUBLE, REPLACE, exact.QUERIES),
    (faults.exact_total, DOUBLE, ADD, exact.POST_PROCESSING),
    (faults.exact_total, DOUBLE, ADD, statistical.MODEL),
    (faults.refusal_by_rows, DOUBLE, ADD, exact.FAILURES),
    (faults.noise_too_small, MAJORITY, ADD, exact.LOSS),
    (faults.noise_too_small, SMOOTH, REPLACE, exact.LOSS),
    (faults.noise_too_small_inside, SMOOTH, ADD, bits.DISTRIBUTION),
    (faults.noise_too_small_inside, MAJORITY, REPLACE, bits.DISTRIBUTION),
    (faults.beta_too_large, SMOOTH, ADD, exact.NOISE),
    (faults.family_too_light, SMOOTH, ADD, exact.NOISE),
    (faults.noise_in_floats, SMOOTH, ADD, bits.GRID),
    (faults.noise_in_floats, HISTOGRAM, ADD, bits.GRID),
    (faults.coarse_rounding, SMOOTH, ADD, bits.RESIDUES),
    (faults.coarse_rounding, SMOOTH, ADD, bits.REACHABLE),
    (faults.few_random_bits, SMOOTH, ADD, bits.REACHABLE),
    (faults.empty_cells_left_out, HISTOGRAM, ADD, exact.QUERIES),
    (faults.literal_mean_sensitivity, SMOOTH, ADD, exact.NOISE),
    (faults.asked_twice, HISTOGRAM, ADD, exact.LOSS),
    (faults.asked_twice, HISTOGRAM, REPLACE, exact.LOSS),
    (faults.size_of_the_rows, SMOOTH, ADD, exact.POST_PROCESSING),
    (faults.size_of_the_rows, GLOBAL, ADD, exact.NOISE),
    (faults.size_of_the_rows, ADAPTIVE, ADD, exact.NOISE),
    (faults.deviation_halved, GLOBAL, ADD, exact.NOISE),
    (faults.deviation_halved, GLOBAL, REPLACE, exact.LOSS),
    (faults.variance_halved, GLOBAL_VARIANCE, ADD, exact.NOISE),
    (faults.default_seed, SMOOTH, ADD, bits.REPEATS),
    (faults.default_seed, MAJORITY, ADD, bits.REPEATS),
]


@pytest.mark.parametrize(
    ("plant", "configuration", "relation", "check"),
    FAULTS,
    ids=[f"{plant.__name__}, {relation}: {check}" for plant, _, relation, check in FAULTS],
)
def test_planted_fault_is_found_by_its_check(
    plant: Plant,
    configuration: Configuration,
    relation: Neighbours,
    check: str,
    population: Population,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)
    found = found_in(under(configuration, relation), population)
    assert check in found, found
    assert found[check].pair
    assert found[check].seen


def test_forgotten_clipping_is_found_from_the_rows_on(monkeypatch: pytest.MonkeyPatch) -> None:
    faults.clipping_forgotten(monkeypatch)
    population, _ = populate()
    found = found_in(SMOOTH, population, replace(REDUCED, rows=2))
    assert exact.FAILURES in found
    assert statistical.MODEL in found


def test_the_corrected_double_is_left_alone(population: Population, monkeypatch: pytest.MonkeyPatch) -> None:
    faults.label_change_counted(monkeypatch)
    assert found_in(under(DOUBLE, REPLACE), population) == {}


def test_a_row_that_stops_the_engine_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    faults.refuses_nan(monkeypatch)
    _, findings = populate()
    assert [finding.check for finding in findings] == ["aggregation"]
    assert "nan" in findings[0].pair


@pytest.mark.parametrize(("times", "checks"), [(1.0, set()), (0.1, {exact.NOISE})])
def test_noise_with_a_delta_is_judged_by_its_delta(
    times: float, checks: set[str], population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults.gaussian_family(monkeypatch, times)
    budget = Budget(Fraction(1), delta=Fraction(1, 10**6))
    assert set(found_in(Configuration("smooth", faults.DOUBLE, budget), population)) == checks
