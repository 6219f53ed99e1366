"""Weights by rounds: what is asked, what is spent, and that the weights are those of a logistic regression."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.people import PEOPLE, people, people_domain
from support.recorded_draws import Forced

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Neighbours, Pure, total
from dpnb_columnar.core.budget.composition import BOUNDED_TOGETHER, GRADIENT
from dpnb_columnar.core.mechanisms import weight_rounds
from dpnb_columnar.core.mechanisms.attribute_weights import LEARNED
from dpnb_columnar.core.mechanisms.plan import plan, plan_given, reserve_later_pass
from dpnb_columnar.core.mechanisms.release import release, release_weights
from dpnb_columnar.core.mechanisms.score_calibration import margins_given
from dpnb_columnar.core.mechanisms.weight_rounds import BOUND, CLIP, _clip, start_rounds
from dpnb_columnar.core.noise import ExactSampler, SeededBits, SystemBits
from dpnb_columnar.core.queries.scores import CERTAIN, LARGEST_CLIP, UNITS, largest_score
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.log_ratios import model_log_ratios
from dpnb_columnar.training import train

THREE = people_domain({**PEOPLE, "label": {"column": "income", "classes": ["low", "high", "none"]}})


def dependent(rows: int) -> tuple[pl.DataFrame, Domain]:
    """Attributes a and its copy, and b, which is independent of a within a class."""
    generator = np.random.default_rng(3)
    klass = generator.choice(2, rows, p=[0.6, 0.4])
    a = (generator.random(rows) < 0.2 + 0.25 * klass).astype(int)
    b = (generator.random(rows) < 0.7 - 0.25 * klass).astype(int)
    frame = pl.DataFrame({"y": klass, "a": a, "copy": a, "b": b}).cast(pl.String)
    document = {
        "label": {"column": "y", "classes": ["0", "1"]},
        "attributes": {name: {"values": ["0", "1"]} for name in ("a", "copy", "b")},
    }
    return frame, read_domain("dependent", document, "test")


def trained(frame: pl.DataFrame, domain: Domain, method: str, epsilon: int = 50) -> Model:
    planned = plan(domain, Budget(Fraction(epsilon)), "histogram", attribute_weights=method)
    return Model.of(train(planned, FrameInput(frame), draw=ExactSampler(SeededBits(1))))


def test_copies_share_a_weight_and_others_keep_theirs() -> None:
    weights = trained(*dependent(20_000), LEARNED).attribute_weights
    assert weights is not None
    assert weights.method == "learned"
    one, two, other = weights.weights
    assert one + two == pytest.approx(1, abs=0.1)
    assert other == pytest.approx(1, abs=0.2)
    assert weights.intercepts == (0, pytest.approx(0, abs=0.1))


@pytest.mark.parametrize("neighbours", Neighbours)
def test_every_round_has_its_row_in_the_table(neighbours: Neighbours) -> None:
    budget = Budget(Fraction(1), neighbours)
    learned = plan(people_domain(), budget, "histogram", attribute_weights=LEARNED)
    assert learned.total == Pure(Fraction(1))
    assert [share.query for share in learned.rounds] == [f"{GRADIENT} {number}" for number in (1, 2)]
    assert {(share.values, share.composition) for share in learned.rounds} == {(4, BOUNDED_TOGETHER.reason)}
    costs = [Fraction(1, 4) * part / 3 for part in (1, 2)]
    assert [share.cost for share in learned.rounds] == [Pure(cost) for cost in costs]
    assert [share.row_cost for share in learned.rounds] == [Pure(cost / neighbours.rows) for cost in costs]
    assert learned.calibration is not None
    assert learned.calibration.cost == Pure(Fraction(1, 10))
    assert learned.shares[-1] is learned.calibration


@pytest.mark.parametrize("noise", ["gaussian", "arsinh-normal"])
def test_rounds_are_pure_whatever_the_tables_spend(noise: str) -> None:
    budget = Budget(Fraction(1), delta=Fraction(1, 10**6))
    planned = plan(people_domain(), budget, "smooth", noise, LEARNED)
    assert {type(share.row_cost) for share in planned.rounds} == {Pure}
    model = train(planned, FrameInput(people(200)), draw=ExactSampler(SeededBits(2)))
    assert model.attribute_weights is not None
    assert (model.guarantee.epsilon, model.guarantee.delta) == (1, Fraction(1, 10**6))


def test_a_round_is_drawn_with_its_bound_and_share() -> None:
    frame, domain = dependent(500)
    forced = Forced()
    planned = plan(domain, Budget(Fraction(2)), "histogram", attribute_weights=LEARNED)
    model = train(planned, FrameInput(frame), draw=forced)
    rounds = start_rounds(replace(model, attribute_weights=None))
    bound = Fraction(rounds.query.bound, UNITS) + 1
    assert rounds.query.bound < sum(map(largest_score, rounds.query.tables))
    after_tables = sum(share.values for share in planned.shares[: -len(planned.rounds) - 1])
    drawn = forced.calls[after_tables : after_tables + 8]
    assert {call.scale for call in drawn} == {bound}
    assert [call.noise.cost for call in drawn] == [share.row_cost for share in planned.rounds for _ in range(4)]
    sums = FrameInput(frame).check(domain).answer(rounds.query)
    after = rounds.after(planned.rounds[0], sums, Forced())
    with pytest.raises(ValueError, match="not at the weights of this round"):
        after.after(planned.rounds[1], sums, Forced())


def test_clips_and_the_bound_are_public_and_bounded() -> None:
    """Functions of the released model alone: a clip at most the largest entry, the bound below the sum of the clips."""
    frame, domain = dependent(3000)
    model = trained(frame, domain, LEARNED)
    rounds = start_rounds(model)
    assert rounds.query == start_rounds(model).query
    clips = []
    for place, table in enumerate(rounds.query.tables):
        (released,) = model_log_ratios(model)[place].tables()
        largest, clip = largest_score(released), largest_score(table)
        assert table.scores == tuple(min(max(score, -clip), clip) for score in released.scores)
        assert min(UNITS, largest) <= clip <= min(max(UNITS, math.ceil(CLIP * largest)), largest) <= LARGEST_CLIP
        assert np.abs(rounds.made_up[place]).max() * UNITS <= clip + 0.5
        clips.append(clip)
    squares = rounds.made_up[:-1] ** 2 @ (rounds.likely / rounds.likely.sum())
    assert rounds.query.bound == max(math.ceil(UNITS * BOUND * np.sqrt(squares).sum()), UNITS) <= sum(clips)


def test_attributes_that_tell_nothing_bound_a_row_by_one_nat() -> None:
    """And noise is for as much as they can tell."""
    frame, domain = dependent(2000)
    silent = frame.with_columns(pl.lit("0").alias(name) for name in ("a", "copy", "b"))
    query = start_rounds(trained(silent, domain, LEARNED)).query
    assert query.bound == UNITS
    assert sum(map(largest_score, query.tables)) < UNITS
    assert query.sensitivity < 2 * UNITS * CERTAIN


def test_rows_that_are_read_once_learn_no_weights() -> None:
    """Two rounds and a calibration follow one another over the rows; a later calibration alone can be left."""
    budget = Budget(Fraction(1))
    with pytest.raises(UsageError, match="learned reads the rows four times, and these can be read once; train on the"):
        plan(people_domain(), budget, "histogram", attribute_weights=LEARNED, repeatable=False)
    learned = plan(people_domain(), budget, "histogram", attribute_weights=LEARNED)
    assert len(learned.rounds) == 2
    calibrated = plan(people_domain(), budget, "histogram", attribute_weights="calibrated", repeatable=False)
    assert reserve_later_pass(calibrated).reserved == calibrated.calibration


def test_no_clip_is_beyond_what_sums_are_exact_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much an attribute tells, and not below one nat however little."""
    monkeypatch.setattr(weight_rounds, "TELLING", 1e9)
    likely = np.full(4, 0.25)
    assert [_clip(np.full(4, nats), likely) for nats in (0.0, 1e6)] == [UNITS, LARGEST_CLIP]


@pytest.mark.parametrize(("first", "second"), [(1, None), (None, 1), (1, 2), (None, None)])
def test_a_seed_in_either_release_is_told(first: int | None, second: int | None) -> None:
    """Whichever noise came from a seed, the model protects nobody."""
    domain, rows = people_domain(), people(200)
    planned = reserve_later_pass(plan(domain, Budget(Fraction(1)), "histogram", attribute_weights="calibrated"))
    samplers = [ExactSampler(SystemBits() if seed is None else SeededBits(seed)) for seed in (first, second)]
    model = release(FrameInput(rows).check(domain).answer(CellQuery(domain)), planned, samplers[0])
    counts = FrameInput(rows).check(domain).answer(margins_given(model))
    guarantee = release_weights(plan_given(model), model, counts, samplers[1]).guarantee
    assert guarantee.seeded is (first is not None or second is not None)
    assert guarantee.private is not guarantee.seeded


def test_statistics_of_another_domain_are_not_released() -> None:
    domain = people_domain()
    other = people_domain({**PEOPLE, "label": {"column": "income", "classes": ["high", "low"]}})
    counted = FrameInput(people(20)).check(other).answer(CellQuery(other))
    with pytest.raises(ValueError, match="the statistics were counted in another domain"):
        release(counted, plan(domain, Budget(Fraction(1)), "histogram"), ExactSampler(SeededBits(1)))


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("unit", [{}, {"unit": {"columns": ["u"], "rows": 3}}])
def test_both_releases_together_state_what_was_given(relation: Neighbours, unit: dict[str, Any]) -> None:
    """The first one less than its budget, the second the rest of it; the model all that was spent on it."""
    domain, rows = people_domain({**PEOPLE, **unit}), people(60).with_columns(u=pl.int_range(pl.len()))
    budget = Budget(Fraction(1), relation)
    planned = reserve_later_pass(plan(domain, budget, "histogram", attribute_weights="calibrated"))
    model = release(FrameInput(rows).check(domain).answer(CellQuery(domain)), planned, ExactSampler(SystemBits()))
    left = model.guarantee.reserved
    assert left is not None
    assert model.guarantee.epsilon == planned.budget.epsilon == 1 - left.cost.epsilon
    given = plan_given(model)
    assert given.budget.epsilon == total(given.shares).epsilon == left.cost.epsilon
    counts = FrameInput(rows).check(domain).answer(margins_given(model))
    guarantee = release_weights(given, model, counts, ExactSampler(SystemBits())).guarantee
    assert (guarantee.epsilon, guarantee.reserved) == (1, None)
    assert guarantee.composition == (*model.guarantee.composition, left)
    assert total(guarantee.composition) == Pure(Fraction(1))
