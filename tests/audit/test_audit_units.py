"""Releases of whole units: all data sets of few units, each with one unit more or exchanged; and planted faults."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from support.audited import REDUCED, compared, counted_units
from support.planting import plant

from dpnb_columnar.core.budget import Budget, Neighbours
from dpnb_columnar.core.mechanisms.plan import MECHANISMS
from dpnb_columnar.extensions.audit import exhaustive
from dpnb_columnar.extensions.audit.attacks import UNITS_TOGETHER, attack_units, audit
from dpnb_columnar.extensions.audit.neighbours import NeighbourGroup, forced_sizes, small_pairs
from dpnb_columnar.extensions.audit.outcomes import Configuration, configurations
from dpnb_columnar.extensions.audit.unit_universe import MEMBERS, build_units

RARE = 1e-6
ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
HISTOGRAM = Configuration("histogram", None, Budget(Fraction(1)), unit_rows=1)


def test_units_of_a_row_that_does_not_count_have_no_row() -> None:
    universe, findings = build_units(1, 1)
    assert not findings
    assert [
        int(universe.counted(universe.database((1, unit))).count().class_counts.sum()) for unit in universe.rows
    ] == [int(label is not None) for label, *_ in MEMBERS]


@pytest.mark.slow
@pytest.mark.enumeration
@pytest.mark.parametrize("configuration", [each for each in configurations() if each.few], ids=str)
def test_nothing_is_found_in_the_audit_of_units(configuration: Configuration) -> None:
    universe = counted_units(configuration.unit_rows, weighted=configuration.weighted)
    outcome = attack_units(configuration, universe, REDUCED, RARE)
    assert outcome.findings == ()
    assert 0 < outcome.loss <= float(outcome.claim.epsilon) * (1 + 1e-6)
    assert outcome.claim.epsilon == configuration.budget.epsilon


@pytest.mark.enumeration
@pytest.mark.slow
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("mechanism", [name for name, each in MECHANISMS.items() if each.private])
def test_every_release_of_few_units_costs_at_most_epsilon(mechanism: str, relation: Neighbours) -> None:
    """All data sets of up to two units of two rows, of histograms three, of which two count, and all neighbours."""
    configuration = Configuration(mechanism, None, Budget(Fraction(1), relation), unit_rows=2)
    universe = counted_units(2, 3 if mechanism == "histogram" and relation is ADD else 2)
    pairs = list(small_pairs(len(universe.rows), relation, UNITS_TOGETHER))
    group = NeighbourGroup(pairs, forced_sizes(universe.domain, 2))
    found = compared(configuration, universe, group)
    assert found.findings == ()
    assert 0.5 < found.loss <= 1 + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize(
    ("fault", "rows", "checks"),
    [
        ("counting/unit-rows-by-others", 1, {"units", exhaustive.LOSS}),
        ("counting/unit-one-more", 1, {"units", exhaustive.LOSS}),
        ("counting/units-file-by-file", 1, {"units", exhaustive.LOSS}),
        ("budget/unit-rows-ignored", 2, {exhaustive.LOSS}),
    ],
)
def test_a_fault_in_the_choice_of_a_units_rows_is_found(
    fault: str, rows: int, checks: set[str], relation: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, fault)
    budget = replace(HISTOGRAM.budget, neighbours=relation)
    found = audit([replace(HISTOGRAM, budget=budget, unit_rows=rows)], replace(REDUCED, domains=()))
    (outcome,) = found.outcomes
    assert checks <= {finding.check for finding in outcome.findings}, outcome.findings
    assert not found.holds
