"""The second pass under the audit: no pair of neighbours costs more than the claim, and planted faults are found."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from support.audited import compared
from support.planting import plant
from support.tiers import Tenth

from dpnb_columnar.core.budget import Budget, Neighbours
from dpnb_columnar.core.mechanisms.score_calibration import margins_given
from dpnb_columnar.core.mechanisms.weight_rounds import GRID_BITS
from dpnb_columnar.domain import Domain
from dpnb_columnar.extensions.audit import exhaustive
from dpnb_columnar.extensions.audit.attacks import Effort, attack_one
from dpnb_columnar.extensions.audit.exhaustive import Compared
from dpnb_columnar.extensions.audit.neighbours import NeighbourGroup, forced_sizes, groups, small_pairs
from dpnb_columnar.extensions.audit.outcomes import Configuration
from dpnb_columnar.extensions.audit.recording import Answers, record
from dpnb_columnar.extensions.audit.universe import HOURS, SHOPS, TRADES, WAGES, YEARS, Universe, build_universe

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
MECHANISMS = ("histogram", "smooth", "adaptive-histogram")


@pytest.fixture(scope="module")
def universe() -> Universe:
    return build_universe()[0]


def calibrated(mechanism: str, relation: Neighbours, classes: int = 2) -> Configuration:
    return Configuration(mechanism, None, Budget(Fraction(1), relation), "calibrated", classes=classes)


def compared_groups(configuration: Configuration, universe: Universe, rows: int = 1) -> Compared:
    return compared(configuration, universe, *groups(universe, configuration.budget.neighbours, rows, (12,), 3))


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("domain", [YEARS, WAGES, HOURS, TRADES], ids=lambda domain: domain.name)
def test_one_row_changes_one_cell_by_one(domain: Domain, relation: Neighbours, tenth: Tenth) -> None:
    """All pairs of neighbours of up to two rows, given the same released model; a replaced row changes two cells."""
    universe, classes = build_universe(domain)[0], len(domain.classes)
    nobody = (0,) * len(universe.rows)
    for mechanism in MECHANISMS:
        plan = calibrated(mechanism, relation, classes).plan(universe.domain)
        most, moved, columns = 0, set(), set()
        for seed, sizes in enumerate([(8, 40, 20), (920, 1, 3), (100_000, 300, 900), (30, 50_000, 7)]):
            model = record(plan, universe.counted(nobody), Answers(sizes[:classes], seed)).release
            assert model is not None
            margins = margins_given(model)
            found: dict[tuple[int, ...], tuple[Any, Any]] = {}
            for pair in tenth(small_pairs(len(universe.rows), relation, 2)):
                for database in pair:
                    if database not in found:
                        answer = universe.counted(database).answer(margins)
                        found[database] = answer.counts, margins.columns_of(answer.counts)
                        assert (answer.class_counts == universe.statistics(database).class_counts).all()
                        assert found[database][1].sum() == answer.class_counts.sum()
                for one, two in zip(*(found[database] for database in pair), strict=True):
                    most = max(most, int(abs(one - two).sum()))
                    moved.add(int(abs(one - two).max()))
                columns |= set(found[pair[1]][1].sum(axis=0).nonzero()[0])
        assert most == relation.rows
        assert 1 in moved <= {0, 1}
        assert columns == set(range(min(classes, 3)))


@pytest.mark.enumeration
@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_pair_costs_more_than_the_claim(mechanism: str, relation: Neighbours, universe: Universe) -> None:
    found = compared_groups(calibrated(mechanism, relation), universe, rows=2)
    assert found.findings == ()
    assert 0.9 < found.loss <= 1 + 1e-6


@pytest.mark.slow
def test_the_whole_audit_finds_nothing(universe: Universe) -> None:
    effort = Effort(
        rows=1, duplicates=(12,), scenarios=2, domains=(YEARS,), scouted=0, pairs=1, releases=60, processes=1
    )
    outcome = attack_one(calibrated("histogram", ADD), (universe,), effort, 1e-6)
    assert outcome.findings == ()
    assert 0 <= outcome.number_bound <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "relation", "check"),
    [
        ("mechanisms/calibration-without-noise", ADD, exhaustive.QUERIES),
        ("mechanisms/calibration-beyond-its-share", ADD, exhaustive.LOSS),
        ("mechanisms/noise-of-whole-share", REPLACE, exhaustive.LOSS),
        ("mechanisms/margins-of-exact-counts", ADD, exhaustive.POST_PROCESSING),
        ("counting/margin-in-two-bins", ADD, exhaustive.LOSS),
    ],
)
def test_a_planted_fault_is_found(
    fault: str, relation: Neighbours, check: str, universe: Universe, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, fault)
    found = compared_groups(calibrated("histogram", relation), universe)
    assert check in {finding.check for finding in found.findings}, found.findings


def margins_of_three_classes(relation: Neighbours) -> Compared:
    """All pairs of neighbours of one row, given models whose largest class is the second, and the first."""
    universe = build_universe(TRADES)[0]
    configuration = calibrated("histogram", relation, classes=3)
    group = NeighbourGroup(list(small_pairs(len(universe.rows), relation, 1)), [(30, 50_000, 7), (920, 3, 300)])
    return compared(configuration, universe, group)


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours)
def test_no_pair_costs_more_than_the_claim_in_margins_of_three_classes(relation: Neighbours) -> None:
    found = margins_of_three_classes(relation)
    assert found.findings == ()
    assert 0.9 < found.loss <= 1 + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "relation", "check"),
    [
        ("mechanisms/calibration-without-noise", ADD, exhaustive.QUERIES),
        ("mechanisms/noise-of-whole-share", REPLACE, exhaustive.LOSS),
        ("mechanisms/margins-of-exact-counts", ADD, exhaustive.POST_PROCESSING),
        ("counting/margin-in-two-bins", ADD, exhaustive.LOSS),
        ("counting/margin-counted-twice", ADD, exhaustive.LOSS),
    ],
)
def test_a_fault_planted_into_margins_of_three_classes_is_found(
    fault: str, relation: Neighbours, check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, fault)
    found = margins_of_three_classes(relation)
    assert check in {finding.check for finding in found.findings}, found.findings


def learned(relation: Neighbours) -> Configuration:
    return Configuration("histogram", None, Budget(Fraction(1), relation), "learned")


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours)
def test_no_pair_costs_more_than_the_claim_in_rounds(relation: Neighbours, universe: Universe) -> None:
    found = compared_groups(learned(relation), universe)
    assert found.findings == ()
    assert 0.5 < found.loss <= 1 + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("mechanisms/gradient-without-noise", exhaustive.QUERIES),
        ("counting/gradient-sensitivity-small", exhaustive.LOSS),
        ("counting/gradient-bound-of-rows", exhaustive.LOSS),
        ("mechanisms/information-of-exact-rows", exhaustive.POST_PROCESSING),
        ("mechanisms/rounds-of-one-share", exhaustive.LOSS),
    ],
)
def test_a_fault_planted_into_rounds_is_found(
    fault: str, check: str, universe: Universe, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, fault)
    found = compared_groups(learned(ADD), universe)
    assert check in {finding.check for finding in found.findings}, found.findings


PURE = Budget(Fraction(4))
ARSINH_NORMAL = Budget(Fraction(4), delta=Fraction(1, 10**6))


def compared_copies(mechanism: str, noise: str | None, budget: Budget) -> Compared:
    """All pairs of neighbours of one row of ten copies, and a released model in which a gradient scales rows down."""
    universe = build_universe(SHOPS)[0]
    group = NeighbourGroup(
        list(small_pairs(len(universe.rows), budget.neighbours, 1)), forced_sizes(universe.domain, 2)
    )
    configuration = Configuration(mechanism, noise, budget, "learned", copies=True)
    return compared(configuration, universe, group)


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize(
    ("mechanism", "noise", "budget"), [("histogram", None, PURE), ("smooth", "arsinh-normal", ARSINH_NORMAL)]
)
def test_a_row_that_is_scaled_down_costs_no_more_than_its_share(
    mechanism: str, noise: str | None, budget: Budget, relation: Neighbours
) -> None:
    found = compared_copies(mechanism, noise, replace(budget, neighbours=relation))
    assert found.findings == ()
    assert found.loss <= 4 * (1 + 1e-6)


@pytest.mark.slow
def test_a_row_that_is_not_scaled_down_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "counting/gradient-not-scaled")
    found = compared_copies("histogram", None, PURE)
    (finding,) = (each for each in found.findings if each.check == exhaustive.NOISE)
    words = re.fullmatch(r"one gradient has a pure loss of (\S+) where its share is (\S+)", finding.seen)
    assert words is not None, finding
    assert float(words[1]) > 1.3 * float(words[2])


def replaced_values() -> tuple[Universe, NeighbourGroup]:
    """One row of a class goes from the lower to the upper bound, or the other way."""
    universe = build_universe(HOURS)[0]
    low, high = universe.extremes(0)
    pairs = [
        (universe.database((5, one)), universe.database((4, one), (1, other)))
        for one, other in ((low, high), (high, low))
    ]
    return universe, NeighbourGroup(pairs, [(5, 12), (2, 1), (7, 3), (100_000, 5), (100, -1)])


def test_the_row_that_goes_and_the_one_that_comes_may_both_move_a_component() -> None:
    """The bound of a gradient is one of all components together, of a removed row and of an added one each."""
    universe, group = replaced_values()
    configuration = learned(REPLACE)
    plan = configuration.plan(universe.domain)
    both = 0
    for (one, two), (seed, sizes) in product(group.pairs, enumerate(group.sizes)):
        fewer = tuple(map(min, one, two))
        drawn = [record(plan, universe.counted(each), Answers(sizes, seed)).draws for each in (one, two, fewer)]
        for draws in zip(*drawn, strict=True):
            if draws[0].grid_bits == GRID_BITS:
                before, after, between = (float(each.location / each.scale) for each in draws)
                # In what one row may move all components together by.
                single = max(abs(before - between), abs(after - between))
                assert single <= 1
                both += 0.1 < 1.2 * single < abs(after - before) <= 2 * single
    assert both > 0
    found = compared(configuration, universe, group)
    assert found.findings == ()


def test_a_gradient_whose_noise_is_too_small_for_a_replaced_row_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, "counting/gradient-sensitivity-small")
    universe, group = replaced_values()
    configuration = learned(REPLACE)
    found = compared(configuration, universe, group)
    assert exhaustive.NOISE in {finding.check for finding in found.findings}, found.findings
