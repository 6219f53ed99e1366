"""The audit finds planted faults, each by the check that is there for it, and nothing without them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from support import planted_faults as faults
from support import planted_noise_faults as noise_faults

from dpnb_columnar.audit import bit_patterns, epsilon_bounds, exhaustive
from dpnb_columnar.audit.attacks import Effort, attack_one
from dpnb_columnar.audit.outcomes import Configuration, Finding, configurations
from dpnb_columnar.audit.universe import HOURS, SHOPS, TRADES, YEARS, Universe, build_universe
from dpnb_columnar.budget import Budget, Neighbours
from dpnb_columnar.domain import Domain

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
REDUCED = Effort(rows=1, duplicates=(12,), scenarios=2, domains=(YEARS,), scouted=0, pairs=1, releases=300, processes=1)
RARE = 1e-6
"""Error of an audit that is to find nothing: a false alarm in a million runs."""
LIKELY = 0.05
"""Error of an audit that is to find a fault: what else it finds does not matter, and chance must not hide the fault."""

SMOOTH = Configuration("smooth", "polyplace", Budget(Fraction(1)))
GLOBAL = Configuration("global", None, Budget(Fraction(1)))
GLOBAL_VARIANCE = Configuration("global-variance", None, Budget(Fraction(1)))
HISTOGRAM = Configuration("histogram", None, Budget(Fraction(1)))
MAJORITY = Configuration("majority", None, Budget(Fraction(1)))
DOUBLE = Configuration(faults.DOUBLE, None, Budget(Fraction(1)))
ADAPTIVE = Configuration("adaptive-histogram", "polyplace", Budget(Fraction(1)))

Plant = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(scope="module")
def universe() -> Universe:
    return faultless(YEARS)


@pytest.fixture(scope="module")
def hours() -> Universe:
    return faultless(HOURS)


@pytest.fixture(scope="module")
def trades() -> Universe:
    return faultless(TRADES)


@pytest.fixture(scope="module")
def shops() -> Universe:
    return faultless(SHOPS)


def faultless(domain: Domain) -> Universe:
    found, findings = build_universe(domain)
    assert not findings
    return found


def under(configuration: Configuration, relation: Neighbours) -> Configuration:
    return replace(configuration, budget=replace(configuration.budget, neighbours=relation))


def found_in(
    configuration: Configuration, universe: Universe, effort: Effort = REDUCED, error: float = LIKELY
) -> dict[str, Finding]:
    outcome = attack_one(configuration, (universe,), effort, error)
    return {finding.check: finding for finding in outcome.findings}


@pytest.mark.slow
@pytest.mark.enumeration
@pytest.mark.parametrize("configuration", [each for each in configurations() if not each.few], ids=str)
def test_nothing_is_found_in_the_landed_code(
    configuration: Configuration, universe: Universe, hours: Universe, trades: Universe, shops: Universe
) -> None:
    wide = (trades,) if configuration.classes > 2 else (shops,) if configuration.copies else ()
    universes = wide or (universe, hours)
    effort = replace(REDUCED, releases=60, duplicates=() if wide else REDUCED.duplicates)
    outcome = attack_one(configuration, universes, effort, RARE)
    assert outcome.findings == ()
    assert 0 < outcome.loss <= float(outcome.claim.epsilon) * (1 + 1e-6)
    assert 0 <= outcome.number_bound <= float(outcome.claim.epsilon)
    assert outcome.claim.epsilon == configuration.budget.epsilon
    assert outcome.releases == 120


FAULTS: list[tuple[Plant, Configuration, Neighbours, set[str]]] = [
    (faults.label_change_forgotten, DOUBLE, REPLACE, {exhaustive.LOSS, epsilon_bounds.NUMBER}),
    (faults.one_count_of_two, MAJORITY, REPLACE, {exhaustive.LOSS}),
    (faults.classes_from_rows, DOUBLE, ADD, {exhaustive.QUERIES}),
    (faults.classes_from_rows, DOUBLE, REPLACE, {exhaustive.QUERIES}),
    (faults.exact_total, DOUBLE, ADD, {exhaustive.POST_PROCESSING, epsilon_bounds.MODEL}),
    (faults.refusal_by_rows, DOUBLE, ADD, {exhaustive.FAILURES}),
    (faults.noise_too_small, MAJORITY, ADD, {exhaustive.LOSS}),
    (faults.noise_too_small, SMOOTH, REPLACE, {exhaustive.LOSS}),
    (noise_faults.noise_too_small_inside, SMOOTH, ADD, {bit_patterns.DISTRIBUTION}),
    (noise_faults.noise_too_small_inside, MAJORITY, REPLACE, {bit_patterns.DISTRIBUTION}),
    (faults.beta_too_large, SMOOTH, ADD, {exhaustive.NOISE}),
    (faults.family_too_light, SMOOTH, ADD, {exhaustive.NOISE}),
    (noise_faults.noise_in_floats, SMOOTH, ADD, {bit_patterns.GRID}),
    (noise_faults.noise_in_floats, HISTOGRAM, ADD, {bit_patterns.GRID}),
    (noise_faults.coarse_rounding, SMOOTH, ADD, {bit_patterns.RESIDUES, bit_patterns.REACHABLE}),
    (noise_faults.few_random_bits, SMOOTH, ADD, {bit_patterns.REACHABLE}),
    (faults.empty_cells_left_out, HISTOGRAM, ADD, {exhaustive.QUERIES}),
    (faults.literal_mean_sensitivity, SMOOTH, ADD, {exhaustive.NOISE}),
    (faults.asked_twice, HISTOGRAM, ADD, {exhaustive.LOSS}),
    (faults.asked_twice, HISTOGRAM, REPLACE, {exhaustive.LOSS}),
    (faults.size_of_the_rows, SMOOTH, ADD, {exhaustive.POST_PROCESSING}),
    (faults.size_of_the_rows, GLOBAL, ADD, {exhaustive.NOISE}),
    (faults.size_of_the_rows, ADAPTIVE, ADD, {exhaustive.NOISE}),
    (faults.deviation_halved, GLOBAL, ADD, {exhaustive.NOISE}),
    (faults.deviation_halved, GLOBAL, REPLACE, {exhaustive.LOSS}),
    (faults.variance_halved, GLOBAL_VARIANCE, ADD, {exhaustive.NOISE}),
    (noise_faults.default_seed, SMOOTH, ADD, {bit_patterns.REPEATS}),
    (noise_faults.default_seed, MAJORITY, ADD, {bit_patterns.REPEATS}),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "configuration", "relation", "checks"),
    FAULTS,
    ids=[f"{plant.__name__}, {configuration}, {relation}" for plant, configuration, relation, _ in FAULTS],
)
def test_planted_fault_is_found_by_its_checks(
    plant: Plant,
    configuration: Configuration,
    relation: Neighbours,
    checks: set[str],
    universe: Universe,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)
    found = found_in(under(configuration, relation), universe)
    assert checks <= set(found), found
    assert all(found[check].pair and found[check].seen for check in checks)


@pytest.mark.slow
def test_forgotten_clipping_is_found_from_the_rows_on(monkeypatch: pytest.MonkeyPatch) -> None:
    faults.clipping_forgotten(monkeypatch)
    universe, _ = build_universe()
    found = found_in(SMOOTH, universe, replace(REDUCED, rows=2))
    assert exhaustive.FAILURES in found
    assert epsilon_bounds.MODEL in found


@pytest.mark.slow
def test_the_corrected_double_is_left_alone(universe: Universe, monkeypatch: pytest.MonkeyPatch) -> None:
    faults.label_change_counted(monkeypatch)
    assert found_in(under(DOUBLE, REPLACE), universe, error=RARE) == {}


@pytest.mark.slow
def test_a_row_that_stops_the_engine_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    faults.refuses_nan(monkeypatch)
    _, findings = build_universe()
    assert {finding.check for finding in findings} == {"aggregation"}
    assert all("nan" in finding.pair and "refuses" in finding.seen for finding in findings)


@pytest.mark.slow
@pytest.mark.parametrize(("times", "checks"), [(1.0, set()), (0.1, {exhaustive.NOISE})])
def test_noise_with_a_delta_is_judged_by_its_delta(
    times: float, checks: set[str], universe: Universe, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise_faults.gaussian_family(monkeypatch, times)
    budget = Budget(Fraction(1), delta=Fraction(1, 10**6))
    assert set(found_in(Configuration("smooth", faults.DOUBLE, budget), universe, error=RARE)) == checks
