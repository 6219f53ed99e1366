"""Released scores under the audit: no pair of neighbours costs more than the claim, and planted faults are found."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from support.audited import compared, counted_units
from support.planting import plant

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Neighbours
from dpnb_columnar.core.mechanisms.score_release import GROUP_COUNTS, GROUP_PROBABILITIES, SCORES
from dpnb_columnar.domain import Domain
from dpnb_columnar.evaluation.score_values import ScoreValues
from dpnb_columnar.extensions.audit import exhaustive
from dpnb_columnar.extensions.audit.exhaustive import Compared
from dpnb_columnar.extensions.audit.neighbours import NeighbourGroup, small_pairs
from dpnb_columnar.extensions.audit.outcomes import EPSILON, GROUPED, Configuration, configurations, scored_model
from dpnb_columnar.extensions.audit.recording import Answers, numbers, record
from dpnb_columnar.extensions.audit.unit_universe import UNIT, AnyUniverse, homes
from dpnb_columnar.extensions.audit.universe import (
    HOURS,
    TRADES,
    VALUES,
    WAGES,
    YEARS,
    Universe,
    build_universe,
    frame_of,
)

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
ATTACKED = configurations([SCORES])


@pytest.fixture(scope="module")
def wages() -> Universe:
    return build_universe(WAGES)[0]


def grouped(relation: Neighbours) -> Configuration:
    return Configuration(SCORES, None, Budget(EPSILON, relation), by=GROUPED)


def compared_pairs(configuration: Configuration, universe: AnyUniverse) -> Compared:
    """All pairs of neighbours of one row, or unit."""
    pairs = list(small_pairs(len(universe.rows), configuration.budget.neighbours, 1))
    return compared(configuration, universe, NeighbourGroup(pairs, [()]))


@pytest.mark.parametrize("domain", [YEARS, WAGES, HOURS, TRADES, homes(1, weighted=False)], ids=lambda each: each.name)
def test_the_model_whose_scores_are_attacked_says_something_of_rows(domain: Domain) -> None:
    """Rows are of two predicted classes, and some move a sum of probabilities by nearly 1, others by nearly 0."""
    rows = [
        ("a", value, category) for value in (*VALUES.get(domain.name, (0.0, 4.0)), None) for category in ("p", None)
    ]
    scored = Model.of(scored_model(domain)).predict(frame_of(rows).with_columns(pl.int_range(pl.len()).alias(UNIT)))
    assert scored["predicted"].n_unique() == 2
    probability = scored[f"probability_{domain.classes[-1]}"]
    assert probability.max() > 0.985
    assert probability.min() < 0.05
    assert scored_model(domain).guarantee.private


@pytest.mark.parametrize("relation", Neighbours)
def test_no_pair_costs_more_than_the_claim_in_scores_by_group(relation: Neighbours, wages: Universe) -> None:
    found = compared_pairs(grouped(relation), wages)
    assert found.findings == ()
    assert 0.99 * EPSILON < found.loss <= EPSILON * (1 + 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("configuration", ATTACKED, ids=str)
def test_scores_lose_all_that_is_claimed_and_no_more(configuration: Configuration) -> None:
    universe: AnyUniverse = build_universe(TRADES if configuration.classes > 2 else WAGES)[0]
    if configuration.few:
        universe = counted_units(configuration.unit_rows, 1, weighted=configuration.weighted)
    found = compared_pairs(configuration, universe)
    assert found.findings == ()
    # The model of weighted units gives no row a probability near 0 or 1, so that sums move by less than they may.
    least = 0.84 if configuration.few and configuration.weighted else 0.985
    assert least * EPSILON < found.loss <= EPSILON * (1 + 1e-6)


def test_every_released_number_is_looked_at(wages: Universe) -> None:
    """Each draw is a number by which releases are told apart; the groups are of a column, and of two crossed."""
    plan, database = grouped(ADD).plan(WAGES), wages.counted((1,) * len(wages.rows))
    queries = [(share.query, share.attribute) for share in plan.shares]
    by_group = [
        (query, columns) for columns in ("category", "number:copy 1") for query in (GROUP_COUNTS, GROUP_PROBABILITIES)
    ]
    assert queries == [(SCORES, None), *by_group]
    released = record(plan, database, Answers((), 0))
    assert isinstance(released.release, ScoreValues)
    found = numbers(released.release)
    assert len(found) == len(released.draws) == sum(share.values for share in plan.shares)
    assert sorted(found.values()) == sorted(drawn.answer for drawn in released.draws)
    assert np.isfinite(list(found.values())).all()


@pytest.mark.parametrize(
    ("fault", "relation", "check"),
    [
        ("mechanisms/group-margin-twice", ADD, exhaustive.LOSS),
        ("mechanisms/group-margin-twice", REPLACE, exhaustive.LOSS),
        ("mechanisms/groups-whole-share", ADD, exhaustive.LOSS),
        ("mechanisms/noise-of-whole-share", REPLACE, exhaustive.LOSS),
        ("mechanisms/group-sums-by-counts", ADD, exhaustive.NOISE),
        ("mechanisms/empty-cells-left-out", ADD, exhaustive.QUERIES),
    ],
)
def test_a_fault_planted_into_scores_is_found(
    fault: str, relation: Neighbours, check: str, wages: Universe, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, fault)
    found = compared_pairs(grouped(relation), wages)
    assert check in {finding.check for finding in found.findings}, found.findings


@pytest.mark.parametrize("rows", [None, 1])
def test_noise_for_one_row_in_place_of_the_cap_of_its_weight_is_found(
    rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, "counting/weighted-scores-of-one")
    configuration = Configuration(SCORES, None, Budget(EPSILON, ADD), unit_rows=rows, weighted=True)
    found = compared_pairs(configuration, counted_units(rows, 1, weighted=True))
    assert {each.check for each in found.findings} >= {exhaustive.LOSS, exhaustive.NOISE}, found.findings
