"""Releases with a weighted prior: all data sets of few rows, and of few units, and planted faults of weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from support.audited import REDUCED, compared, counted_units
from support.planting import plant

from dpnb_columnar.core.budget import Budget, Neighbours
from dpnb_columnar.core.mechanisms.plan import MECHANISMS
from dpnb_columnar.extensions.audit import exhaustive
from dpnb_columnar.extensions.audit.attacks import UNITS_TOGETHER, attack_units
from dpnb_columnar.extensions.audit.neighbours import NeighbourGroup, forced_sizes, small_pairs
from dpnb_columnar.extensions.audit.outcomes import Configuration
from dpnb_columnar.extensions.audit.unit_universe import CAP, LIGHT, MEMBERS, build_units

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
HISTOGRAM = Configuration("histogram", None, Budget(Fraction(1)), weighted=True)


def test_rows_weigh_what_is_declared() -> None:
    universe = counted_units(None, weighted=True)
    assert universe.rows == tuple((each,) for each in (*MEMBERS, LIGHT))
    everybody = universe.counted((1,) * len(universe.rows)).count()
    assert everybody.weight_sums is not None
    assert everybody.weight_sums.tolist() == [1 + CAP + 0, CAP]


@pytest.mark.enumeration
@pytest.mark.slow
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("rows", [None, 2])
@pytest.mark.parametrize("mechanism", [name for name, each in MECHANISMS.items() if each.private])
def test_every_release_of_weighted_rows_costs_at_most_epsilon(
    mechanism: str, rows: int | None, relation: Neighbours
) -> None:
    """All data sets of up to three rows, or of two units of two rows, and all neighbours."""
    configuration = Configuration(mechanism, None, Budget(Fraction(1), relation), unit_rows=rows, weighted=True)
    universe = counted_units(rows, weighted=True)
    pairs = list(small_pairs(len(universe.rows), relation, UNITS_TOGETHER if rows else 3))
    group = NeighbourGroup(pairs, forced_sizes(universe.domain, 2 if rows is None else 1))
    found = compared(configuration, universe, group)
    assert found.findings == ()
    assert 0.5 < found.loss <= 1 + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["student-3", "gaussian", "laplace", "arsinh-normal"])
@pytest.mark.parametrize("mechanism", ["smooth", "paper"])
def test_noise_with_a_delta_or_a_rho_covers_the_sums(mechanism: str, noise: str) -> None:
    """Whatever moments spend, sums and counts of classes have pure noise, or noise that their share's rho allows."""
    delta = Fraction(0) if noise == "student-3" else Fraction(1, 10**6)
    configuration = Configuration(mechanism, noise, Budget(Fraction(1), REPLACE, delta=delta), weighted=True)
    universe = counted_units(None, weighted=True)
    group = NeighbourGroup(list(small_pairs(len(universe.rows), REPLACE, 2)), forced_sizes(universe.domain, 2))
    found = compared(configuration, universe, group)
    assert found.findings == ()
    assert 0.2 < found.loss <= 1 + 1e-6


UNCAPPED, NORMALISED = ("rows/weight-not-capped", "counting/weights-above-cap"), ("counting/weights-normalised",)
"""Faults under which the rows have to be counted anew."""


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("rows", [pytest.param(None), pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("faults", "checks"),
    [
        pytest.param(UNCAPPED, {"weights", exhaustive.LOSS}, marks=pytest.mark.slow),
        pytest.param(NORMALISED, {"units"}, marks=pytest.mark.slow),
        (["mechanisms/weights-without-cap"], {exhaustive.LOSS}),
        (["mechanisms/weighted-tables"], {exhaustive.LOSS}),
        (["mechanisms/population-prior-exact"], {exhaustive.POST_PROCESSING}),
        (["mechanisms/weighted-sums-exact"], {exhaustive.QUERIES}),
    ],
    ids=lambda value: " and ".join(value) if isinstance(value, (list, tuple)) else None,
)
def test_a_fault_of_weights_is_found(
    faults: Sequence[str], checks: set[str], rows: int | None, relation: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    universe, findings = counted_units(rows, weighted=True), []
    plant(monkeypatch, *faults)
    if faults in (UNCAPPED, NORMALISED):
        universe, findings = build_units(rows, REDUCED.members, weighted=True)
    budget = replace(HISTOGRAM.budget, neighbours=relation)
    outcome = attack_units(replace(HISTOGRAM, budget=budget, unit_rows=rows), universe, REDUCED, 0.05)
    assert checks <= {finding.check for finding in (*findings, *outcome.findings)}, outcome.findings
