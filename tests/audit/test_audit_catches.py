"""The audit finds planted faults, each by the check that is there for it, and nothing without them."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest
from dpnb_columnar.core.budget import Budget, Neighbours
from dpnb_columnar.extensions.audit import bit_patterns, epsilon_bounds, exhaustive
from dpnb_columnar.extensions.audit.attacks import Effort, attack_one
from dpnb_columnar.extensions.audit.outcomes import Configuration, Finding, configurations
from dpnb_columnar.extensions.audit.universe import HOURS, SHOPS, TRADES, YEARS, Universe, build_universe
from support.planting import plant

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
GAUSSIAN = Configuration("smooth", "gaussian", Budget(Fraction(1), delta=Fraction(1, 10**6)))
ADAPTIVE = Configuration("adaptive-histogram", "polyplace", Budget(Fraction(1)))


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


FAULTS: list[tuple[str, Configuration, Neighbours, set[str]]] = [
    ("mechanisms/noise-of-whole-share", MAJORITY, REPLACE, {exhaustive.LOSS}),
    ("mechanisms/noise-of-whole-share", GLOBAL, REPLACE, {exhaustive.LOSS}),
    ("mechanisms/counts-without-noise", MAJORITY, REPLACE, {exhaustive.QUERIES, epsilon_bounds.NUMBER}),
    ("mechanisms/empty-cells-left-out", MAJORITY, ADD, {exhaustive.QUERIES}),
    ("mechanisms/empty-cells-left-out", MAJORITY, REPLACE, {exhaustive.QUERIES}),
    ("mechanisms/class-counts-add-up", MAJORITY, ADD, {exhaustive.POST_PROCESSING, epsilon_bounds.MODEL}),
    ("mechanisms/empty-class-refused", MAJORITY, ADD, {exhaustive.FAILURES}),
    ("noise/laplace-scale-halved", MAJORITY, ADD, {exhaustive.LOSS}),
    ("noise/laplace-scale-halved", SMOOTH, REPLACE, {exhaustive.LOSS}),
    ("noise/sampler-scale", SMOOTH, ADD, {bit_patterns.DISTRIBUTION}),
    ("noise/sampler-scale", MAJORITY, REPLACE, {bit_patterns.DISTRIBUTION}),
    ("sensitivity/beta-doubled", SMOOTH, ADD, {exhaustive.NOISE}),
    ("noise/polyplace-too-light", SMOOTH, ADD, {exhaustive.NOISE}),
    ("noise/sampler-in-floats", SMOOTH, ADD, {bit_patterns.GRID}),
    ("noise/sampler-in-floats", HISTOGRAM, ADD, {bit_patterns.GRID}),
    ("noise/sampler-coarse-grid", SMOOTH, ADD, {bit_patterns.RESIDUES, bit_patterns.REACHABLE}),
    ("noise/sampler-few-bits", SMOOTH, ADD, {bit_patterns.REACHABLE}),
    ("mechanisms/histogram-empty-bins-left-out", HISTOGRAM, ADD, {exhaustive.QUERIES}),
    ("sensitivity/mean-search-without-monotone", SMOOTH, ADD, {exhaustive.NOISE}),
    ("mechanisms/counts-asked-twice", HISTOGRAM, ADD, {exhaustive.LOSS}),
    ("mechanisms/counts-asked-twice", HISTOGRAM, REPLACE, {exhaustive.LOSS}),
    ("mechanisms/empty-class-sizes-exact", SMOOTH, ADD, {exhaustive.POST_PROCESSING}),
    ("mechanisms/empty-class-sizes-exact", GLOBAL, ADD, {exhaustive.NOISE}),
    ("mechanisms/empty-class-sizes-exact", ADAPTIVE, ADD, {exhaustive.NOISE}),
    ("sensitivity/deviation-sensitivity-halved", GLOBAL, ADD, {exhaustive.NOISE}),
    ("sensitivity/deviation-sensitivity-halved", GLOBAL, REPLACE, {exhaustive.LOSS}),
    ("sensitivity/variance-sensitivity-small", GLOBAL_VARIANCE, ADD, {exhaustive.NOISE}),
    ("mechanisms/release-repeatable", SMOOTH, ADD, {bit_patterns.REPEATS}),
    ("mechanisms/release-repeatable", MAJORITY, ADD, {bit_patterns.REPEATS}),
    ("noise/gaussian-sigma-halved", GAUSSIAN, ADD, {exhaustive.NOISE}),
]


def shown(value: object) -> str:
    """Sets in one order in every process, so that all workers collect the same tests."""
    return ", ".join(sorted(map(str, value))) if isinstance(value, set) else str(value)


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "configuration", "relation", "checks"), FAULTS, ids=shown)
def test_planted_fault_is_found_by_its_checks(
    fault: str,
    configuration: Configuration,
    relation: Neighbours,
    checks: set[str],
    universe: Universe,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, fault)
    found = found_in(under(configuration, relation), universe)
    assert checks <= set(found), found
    assert all(found[check].pair and found[check].seen for check in checks)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "odd"),
    [("rows/grid-codes-beyond", r"1000000000\.0|inf"), ("counting/nan-refused", "nan")],
    ids=["values beyond the bounds", "no number"],
)
def test_a_row_that_stops_the_engine_is_found(fault: str, odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, fault)
    _, findings = build_universe()
    assert {finding.check for finding in findings} == {"aggregation"}
    assert all(re.search(odd, finding.pair) and "refuses" in finding.seen for finding in findings)
