"""Weights by rounds: what is asked, what is spent, and that the weights are those of a logistic regression."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.integrate import quad
from support.mechanisms import MECHANISMS, PRIVATE
from support.model_cases import declared, histogram_of, measurement, model_of, presence_of, table_of
from support.people import PEOPLE, people, people_domain
from support.planting import plant
from support.recorded_draws import Drawn, Forced
from support.releases import release_weights, train

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Concentrated, Neighbours, Pure, RowEffect, Share, parse_division, total
from dpnb_columnar.core.budget.composition import BOUNDED_TOGETHER, GRADIENT, calibration_cost, row_effect
from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.mechanisms.later import draw_gradient
from dpnb_columnar.core.noise import ExactSampler, Laplace, SeededBits, SystemBits
from dpnb_columnar.core.queries.scores import (
    CERTAIN,
    LARGEST_CLIP,
    ClassScores,
    GradientQuery,
    GradientSums,
    ScoreCounts,
    largest_score,
)
from dpnb_columnar.core.queries.statistics import CellQuery, Cells, Statistics, assemble
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model import score_calibration, weight_rounds
from dpnb_columnar.model.document import to_document
from dpnb_columnar.model.likelihood import model_log_ratios
from dpnb_columnar.model.parameters import LEARNED, AttributeWeights, CalibrationLine
from dpnb_columnar.model.score_calibration import margins_given
from dpnb_columnar.model.weight_rounds import BOUND, CLIP, WeightRounds, _clip, start_rounds
from dpnb_columnar.releases.model_plan import ReleasePlan, release
from dpnb_columnar.releases.plan import plan, plan_given, reserve_later_pass
from dpnb_columnar.releases.score_plan import FINER, model_scores

THREE = people_domain({**PEOPLE, "label": {"column": "income", "classes": ["low", "high", "none"]}})


def dependent(rows: int) -> tuple[pl.DataFrame, Domain]:
    """Attributes a and its copy, and b, which is independent of a within a class."""
    generator = np.random.default_rng(3)
    klass = generator.choice(2, rows, p=[0.6, 0.4])
    a = (generator.random(rows) < 0.2 + 0.25 * klass).astype(int)
    b = (generator.random(rows) < 0.7 - 0.25 * klass).astype(int)
    frame = pl.DataFrame({"label": klass, "a": a, "copy": a, "b": b}).cast(pl.String)
    return frame, declared({name: {"values": ["0", "1"]} for name in ("a", "copy", "b")}, ["0", "1"])


def trained(frame: pl.DataFrame, domain: Domain, method: str, epsilon: int = 50) -> Model:
    planned = plan(domain, Budget(Fraction(epsilon)), "histogram", attribute_weights=method)
    return train(planned, FrameInput(frame), draw=ExactSampler(SeededBits(1)))


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
    after = rounds.after(draw_gradient(rounds.query, planned.rounds[0], sums, Forced()))
    with pytest.raises(ValueError, match="not at the weights of this round"):
        draw_gradient(after.query, planned.rounds[1], sums, Forced())


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
    guarantee = release_weights(plan_given(model), counts, samplers[1]).guarantee
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
    guarantee = release_weights(given, counts, ExactSampler(SystemBits())).guarantee
    assert (guarantee.epsilon, guarantee.reserved) == (1, None)
    assert guarantee.composition == (*model.guarantee.composition, left)
    assert total(guarantee.composition) == Pure(Fraction(1))


# Single faults that releases of attribute weights and of scores could have: calibration, gradients, and steps.

ONE = Fraction(1)
TWO = people_domain({**PEOPLE, "weight": {"column": "w", "cap": 4}})

# What is drawn.

RELEASES = [
    *((mechanism, TWO, "none") for mechanism in PRIVATE),
    ("histogram", TWO, "calibrated"),
    ("smooth", TWO, "calibrated"),
    ("adaptive-histogram", TWO, "learned"),
    ("global", TWO, "learned"),
]


def rows(seed: int) -> pl.DataFrame:
    return people(60 + 20 * seed, seed).with_columns(w=pl.lit(seed))


@pytest.mark.parametrize(("mechanism", "domain", "weights"), RELEASES)
def test_a_model_is_a_function_of_what_was_drawn(mechanism: str, domain: Domain, weights: str) -> None:
    """Catches: counts, sums or moments that are used without noise, such as calibration counts; noise of another share.

    Two tables that have nothing in common make one model, if all that is drawn of them is the same. And what is drawn
    is what the composition table names: so many values, with noise that costs what one row may cost there.
    """
    planned = plan(domain, Budget(ONE), mechanism, None, weights)
    documents = []
    for seed in (1, 2):
        forced = Forced(30)
        model = train(planned, FrameInput(rows(seed)), draw=forced)
        documents.append(to_document(model))
        drawn = Counter(call.noise.cost for call in forced.calls)
        wanted = Counter[Any]()
        for share in model.guarantee.composition:
            wanted[share.row_cost] += share.values
        assert drawn == wanted
    assert documents[0] == documents[1]


# Calibration.

BUDGETS = {
    "pure": ("smooth", "polyplace", Budget(ONE)),
    "replaced": ("histogram", None, Budget(ONE, Neighbours.REPLACE_ONE)),
    "delta": ("smooth", "gaussian", Budget(ONE, delta=Fraction(1, 10**6))),
    "concentrated": ("smooth", "arsinh-normal", Budget(ONE, delta=Fraction(1, 10**6))),
}


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_fit_knows_the_deviation_of_its_counts(budget: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: the scale of noise taken for its deviation, which is larger by sqrt 2, under any kind of budget; that of
    the counts taken for that of the classes' sizes.
    """
    known: list[float] = []

    def fitted(
        counts: Any, centres: Any, noise: float, shares: Any, deviation: float, largest: int, size: int
    ) -> CalibrationLine:
        known.extend([noise, deviation])
        return CalibrationLine(largest, (0.0, 1.0), (0.0, 1.0))

    monkeypatch.setattr(score_calibration, "fit_line", fitted)
    mechanism, family, given = BUDGETS[budget]
    forced = Forced(30)
    train(plan(people_domain(), given, mechanism, family, "calibrated"), FrameInput(rows(1)), draw=forced)
    draw = ExactSampler(SeededBits(5))
    for call, deviation in zip((forced.calls[-1], forced.calls[0]), known, strict=True):
        drawn = [float(draw(Fraction(0), call.scale, call.noise)) for _ in range(3000)]
        assert deviation == pytest.approx(np.std(drawn), rel=0.08)
    assert known[0] != known[1]


@pytest.mark.parametrize(("nats", "counted"), [(0.5, 0.5), (2.0, 2.0), (2.9, 2.9), (3.1, 3.0), (8.0, 3.0)])
def test_one_attribute_widens_ranges_and_clips_up_to_three_nats(nats: float, counted: float) -> None:
    """Catches: a bound of three nats (TELLING) that is another one, or left out, in ranges and in clips.

    Every value of this attribute says the same number of nats, for one class or for the other. Ranges are an eighth
    of one nat more than twice that; a clip is 1.5 times the score's root mean square, or the score where that is less.
    """
    likely = 1 / (1 + math.exp(-nats))
    domain = declared({"a": {"values": ["x", "y"]}})
    model = model_of(domain, [table_of("a", (likely, 1 - likely), (1 - likely, likely))])
    edges = margins_given(model).edges
    assert edges[12] - edges[11] == pytest.approx(UNITS * (1 + 2 * counted) / 8, abs=1)
    (table,) = start_rounds(model).query.tables
    assert largest_score(table) == pytest.approx(min(max(1.5 * counted, 1), nats) * UNITS, abs=1)


# Rounds.


def answering(*numbers: float) -> Forced:
    """Answer with the numbers in their order, and then again."""
    return Forced(lambda place, asked: Fraction(numbers[place % len(numbers)]))


CATEGORIES = [(0.04, 0.56, 0.4), (0.004, 0.396, 0.6)]
"""Probabilities of the values of an attribute in each of two classes, the last one being to have none."""
BINS = [(0.6, 0.2, 0.2), (0.3, 0.65, 0.05)]
"""The same of two bins, and of having no value."""


def small_model(released: int = 300) -> Model:
    """A model of a domain of two attributes, either of which may be missing."""
    domain = declared(
        {
            "a": {"values": ["x", "y"], "missing": "category"},
            "n": {"lower": 0, "upper": 9, "step": 1, "missing": "category"},
        }
    )
    histogram = histogram_of("n", (0, 4, 10), *((low / (low + high), high / (low + high)) for low, high, _ in BINS))
    histogram = replace(histogram, presence=presence_of(*((1 - absent, absent) for *_, absent in BINS)))
    measured = [measurement("class counts", None, *[[released]] * 2)]
    return model_of(domain, [table_of("a", *CATEGORIES), histogram], [0.6, 0.4], measured=measured)


def stepped(rounds: WeightRounds, answers: Forced, epsilon: str = "1/10") -> WeightRounds:
    """What a round makes of answers."""
    sums = GradientSums(rounds.query, *(np.zeros(size, dtype=np.int64) for size in (rounds.query.sums, 2)))
    planned = plan(people_domain(), Budget(Fraction(epsilon) * 10), "histogram", None, "learned")
    return rounds.after(draw_gradient(rounds.query, planned.rounds[-1], sums, answers))


def test_made_up_rows_have_the_probabilities_of_the_model() -> None:
    """Catches: rows made up under another class, without missing values, or of another number than was released.

    And scores that are not clipped as those of rows are: one log-ratio of the first attribute is beyond its clip.
    """
    model = small_model()
    rounds = start_rounds(model)
    assert rounds.likely.sum() == pytest.approx(600)
    assert (rounds.made_up[-1] == 1).all()
    by_class = np.split(np.arange(len(rounds.likely)), 2)
    for scores, table, cells in zip(rounds.made_up, rounds.query.tables, (CATEGORIES, BINS), strict=False):
        clip, ratios = largest_score(table) / UNITS, np.diff(np.log(cells), axis=0)[0]
        for klass, places in enumerate(by_class):
            assert rounds.likely[places].sum() == pytest.approx(600 * model.classes.probability[klass])
            for cell, ratio in enumerate(ratios):
                # Of a class's rows, each as likely as the others, the part that has the log-ratio of a cell.
                alike = np.isclose(scores[places], np.clip(ratio, -clip, clip))
                assert np.mean(alike) == pytest.approx(cells[klass][cell], abs=0.03)
    assert np.abs(np.log(CATEGORIES[1]) - np.log(CATEGORIES[0])).max() > largest_score(rounds.query.tables[0]) / UNITS


@pytest.mark.parametrize("epsilon", ["1/10", "1/2"])
def test_a_step_is_the_mean_of_what_is_known(epsilon: str) -> None:
    """Catches: the variance of the noise halved, doubled or left out of a step, and other information than there is.

    The Fisher information is twice the derivative of what made-up rows add, by differences; the noise is that of a
    thousand draws. What is known before and the answer are normal, and so is what is known after.
    """
    rounds, gradient = start_rounds(small_model()), np.array([20.0, -25.0, 30.0])
    answers = answering(*gradient)
    after = stepped(rounds, answers, epsilon)
    draw, asked = ExactSampler(SeededBits(3)), answers.calls[-1]
    variance = np.var([float(draw(Fraction(0), asked.scale, asked.noise, 8)) for _ in range(4000)])
    start = np.array([*(weight / UNITS for weight in rounds.query.weights), 0.0])
    first, second = rounds.model.classes.probability
    whole = rounds.query.bound / UNITS / np.abs(rounds.made_up[:2]).sum(axis=0)
    assert (whole < 1).any()

    def added(point: Any) -> Any:
        odds = point @ rounds.made_up + math.log(second / first)
        return rounds.made_up @ (rounds.likely * np.minimum(whole, 1) / (1 + np.exp(-odds)))

    information = 2 * np.array([(added(start + one) - added(start - one)) / 2e-3 for one in np.eye(3) * 1e-3])
    observed = information @ np.linalg.inv(information + variance * np.eye(3))
    known = np.diag(np.array([*(0.8 * start[:2]), 0.3]) ** -2.0) + observed @ information
    wanted = start + np.linalg.solve(known, observed @ gradient)
    point = after.weights
    assert np.abs(wanted - start).max() > 0.05
    assert [*point.weights, point.intercepts[1]] == pytest.approx(wanted, abs=0.01)
    assert after.precision == pytest.approx(known, rel=0.1)


def test_no_answer_moves_weights_beyond_their_limits() -> None:
    """Catches: limits of weights or of log-odds that are left out or are others; an answer that makes no number."""
    rounds = start_rounds(small_model(released=10**9))
    for size in (1e12, 1e30):
        up, down = (
            stepped(rounds, answering(sign * size, -sign * size, sign * size), "1000").weights for sign in (1, -1)
        )
        assert [up.weights, down.weights] == [(2.0, -0.5), (-0.5, 2.0)]
        assert [up.intercepts, down.intercepts] == [(0.0, 5.0), (0.0, -5.0)]


# Released scores.


@pytest.mark.parametrize("classes", [2, 3])
def test_an_attributes_weight_is_that_of_its_missing_values_too(classes: int) -> None:
    """Catches: presence, or a missing value, whose log-ratio is not multiplied by the attribute's weight."""
    domain = declared(
        {"n": {"lower": 0, "upper": 9, "step": 1, "missing": "category"}}, ["no", "yes", "other"][:classes]
    )
    present = [(0.9, 0.1), (0.2, 0.8), (0.5, 0.5)][:classes]
    inside = [(0.7, 0.3), (0.4, 0.6), (0.2, 0.8)][:classes]
    histogram = replace(histogram_of("n", (0, 4, 10), *inside), presence=presence_of(*present))
    weight = 0.25
    model = replace(
        model_of(domain, [histogram]), attribute_weights=AttributeWeights("test", (weight,), (0.0,) * classes)
    )
    terms = {
        None: [math.log(absent) for _, absent in present],
        2: [math.log(there * low) for (there, _), (low, _) in zip(present, inside, strict=True)],
        7: [math.log(there * high) for (there, _), (_, high) in zip(present, inside, strict=True)],
    }
    tables = [table for (table,) in model_scores(model).tables]
    for value, logs in terms.items():
        found = [
            table.missing if value is None else table.scores[sum(start <= value for start in table.starts) - 1]
            for table in tables
        ]
        unit = FINER * UNITS * weight
        wanted = [unit * (logs[1] - logs[0])] if classes == 2 else [unit * (log - max(logs)) for log in logs]
        assert found == pytest.approx(wanted, abs=1), value
    predicted = model.predict(pl.DataFrame({"n": [*terms]}, schema={"n": pl.Int64}))
    columns = [name for name in predicted.columns if name.startswith("probability")]
    for row, logs in zip(predicted.select(columns).rows(), terms.values(), strict=True):
        odds = np.exp(weight * np.array(logs))
        assert row == pytest.approx(odds / odds.sum(), rel=1e-9)


# Divergence of whole releases with rounds of weights, for an actual pair of replaced rows, beside what is stated.
#
# Nothing of the package's accounting is used: the divergence of every draw is an integral of the densities of its
# noise, and those of one release add up, given the answers that it drew. Two attributes tell so much that a row with a
# value of one alone is not scaled down, and the second class is so rare that no score makes it likely. So the row that
# goes, of the rare class with a value that speaks for it, adds the whole clip to the sum of one weight, and the row
# that comes, of the same class with a value that speaks against it, takes it away: twice what one row does, which is
# all that it may do but for the log-odds, whose sum both move alike.

TELLING = [f"telling{number}" for number in range(2)]
ATTRIBUTES = {name: {"values": ["against", "for"], "missing": "skip"} for name in TELLING}
RARE = declared({"age": {"lower": 0, "upper": 100, "step": 1}, **ATTRIBUTES}, ["usual", "rare"])
BUDGET = Budget(Fraction(3, 10), Neighbours.REPLACE_ONE, division=parse_division("0.001:1:1"), delta=Fraction(1, 10**6))
"""Next to nothing is for the age, which is there since no noise but that of moments is concentrated. The rows that go
and come have none, so all draws that they move are Laplace noise."""

ORDERS = (1.0, 1.5, 2.0, 8.0, 32.0)


def kind(label: str, value: str, age: int | None = 40, told: int = len(TELLING)) -> Kind:
    """A row that has the value in some attributes, and no value in the others."""
    values = ((name, value if place < told else "silent") for place, name in enumerate(TELLING))
    return (("label", label), *values, ("age", age))


GOES, COMES = kind("rare", "for", None, 1), kind("rare", "against", None, 1)
ROWS = {
    kind("usual", "against"): 99 * 10**8,
    kind("usual", "for"): 10**8,
    kind("rare", "for"): 9900,
    kind("rare", "against"): 100,
}


def divergence(one: Drawn, two: Drawn, order: float) -> float:
    """Renyi divergence of a draw from its neighbour's by quadrature; of order 1, Kullback and Leibler's."""
    assert one.noise == two.noise
    if (one.location, one.scale) == (two.location, two.scale):
        return 0.0
    assert one.scale == two.scale
    assert isinstance(one.noise, Laplace)
    shift = abs(float((two.location - one.location) / one.scale * one.noise.epsilon))

    def term(z: float) -> float:
        """Of p = exp(-|z|)/2 and q = exp(-|z - shift|)/2; p - q, whose integral is 0, leaves nothing to cancel out."""
        loss = abs(z - shift) - abs(z)
        gain = loss if order == 1 else math.expm1((order - 1) * loss) / (order - 1)
        return math.exp(-abs(z)) / 2 * (gain + math.expm1(-loss))

    pieces = ((-50, 0), (0, shift), (shift, shift + 50))
    total = math.fsum(quad(term, low, high, epsabs=1e-14, epsrel=1e-11)[0] for low, high in pieces)
    return total if order == 1 else math.log1p((order - 1) * total) / (order - 1)


def neighbours(planned: ReleasePlan, seed: int) -> list[tuple[Share, list[tuple[Drawn, Drawn]]]]:
    """Draw a release, ask for it again after one row was replaced, and list the pairs of draws by share."""
    sampler, answers = ExactSampler(SeededBits(seed)), list[Fraction]()

    def draw(place: int, asked: Drawn) -> Fraction:
        if place == len(answers):
            answers.append(sampler(asked.location, asked.scale, asked.noise, asked.grid_bits))
        return answers[place]

    one, two = Forced(draw), Forced(draw)
    for forced, row in ((one, GOES), (two, COMES)):
        train(planned, CountedKinds(RARE, {**ROWS, row: 1}), draw=forced)
    pairs = list(zip(one.calls, two.calls, strict=True))
    by_share = []
    for share in planned.shares:
        by_share.append((share, pairs[: share.values]))
        pairs = pairs[share.values :]
    assert not pairs
    return by_share


def rho_of(share: Share) -> float:
    assert isinstance(share.cost, Concentrated)
    return float(share.cost.rho)


def planned_rounds() -> ReleasePlan:
    return plan(RARE, BUDGET, "smooth", "arsinh-normal", "learned")


@pytest.mark.slow
def test_a_replaced_row_costs_a_whole_release_no_more_than_its_rho() -> None:
    planned = planned_rounds()
    stated = float(planned.total.rho)  # type: ignore[union-attr]
    whole: dict[float, list[float]] = {order: [] for order in ORDERS}
    for seed in range(3):
        by_share = neighbours(planned, seed)
        for order in ORDERS:
            spent = [sum(divergence(*pair, order) for pair in pairs) / order for _, pairs in by_share]
            for (share, _), each in zip(by_share, spent, strict=True):
                assert each <= rho_of(share) * (1 + 1e-6), (share.query, order, each / rho_of(share))
            whole[order].append(sum(spent) / stated)
        rounds = [pairs for share, pairs in by_share if share in planned.rounds]
        spent_in_rounds = [sum(divergence(*pair, 1) for pair in pairs) for pairs in rounds]
        assert all(spent > 0.6 * rho_of(share) for spent, share in zip(spent_in_rounds, planned.rounds, strict=True))
    # By the chain rule the mean over outcomes is the divergence of the releases.
    assert all(np.mean(each) <= 1 for each in whole.values()), whole
    assert np.mean(whole[1.0]) > 0.4


@pytest.mark.slow
def test_a_gradient_reckoned_too_low_for_a_replaced_row_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pair is hard enough to see it."""
    plant(monkeypatch, "budget/rho-of-same-draws")
    planned = planned_rounds()
    for share, pairs in neighbours(planned, 1):
        if share not in planned.rounds:
            continue
        assert sum(divergence(*pair, 1) for pair in pairs) > 1.25 * rho_of(share)


@pytest.mark.parametrize("mechanism", [name for name, each in MECHANISMS.items() if each.smooth])
@pytest.mark.parametrize("weights", ["none", "calibrated", "learned"])
def test_what_a_row_does_to_a_query_is_read_from_a_document_as_it_was_planned(mechanism: str, weights: str) -> None:
    """Documents name queries alone. Of a replaced row's rho each share shows what its row was planned to do."""
    budget = Budget(Fraction(1), Neighbours.REPLACE_ONE, delta=Fraction(1, 10**6))
    for labels in (["a", "b"], ["a", "b", "c"]):
        attributes = {"x": {"values": ["p", "q"]}, "n": {"lower": 0, "upper": 9, "step": 1, "missing": "category"}}
        document = {
            "label": {"column": "label", "classes": labels},
            "weight": {"column": "w", "cap": 3},
            "attributes": attributes,
        }
        domain = read_domain("any", document, "test")
        try:
            shares = plan(domain, budget, mechanism, "arsinh-normal", weights).shares
        except UsageError:
            continue  # learned weights are for two classes
        for share in shares:
            assert (row_effect(share.query) is RowEffect.ALL_DRAWS) is ("gradient" in share.query)
            assert calibration_cost(share.cost, type(share.row_cost), 2, row_effect(share.query)) == share.row_cost


# Rows that come in a few kinds, each many times: counted as one of each, so that a census takes no time.

Kind = tuple[tuple[str, str | int | None], ...]
"""Values of a row by column: texts, and whole numbers, of which one may be missing."""


@dataclass(frozen=True, eq=False)
class CountedKinds:
    """How many rows there are of each kind, as rows that a release counts."""

    domain: Domain
    rows: Mapping[Kind, int]
    repeatable = True

    def check(self, domain: Domain) -> CountedKinds:
        assert domain == self.domain
        return self

    def answer(self, query: Any) -> Any:
        if isinstance(query, CellQuery):
            return self._statistics()
        one = [(number, _answer(kind, query)) for kind, number in self.rows.items()]
        if isinstance(query, ClassScores):
            return ScoreCounts(query, sum(number * each.counts for number, each in one))
        assert isinstance(query, GradientQuery)
        sums = sum(number * each.sums for number, each in one)
        return GradientSums(query, sums, sum(number * each.rows for number, each in one))

    def _statistics(self) -> Statistics:
        cells = [
            Cells(cell.attribute, cell.classes, cell.codes, cell.counts * number)
            for kind, number in self.rows.items()
            for cell in _cells(kind, self.domain)
        ]
        return assemble(self.domain, cells)


@lru_cache(maxsize=64)
def _cells(kind: Kind, domain: Domain) -> tuple[Cells, ...]:
    return tuple(_frame(kind).check(domain).answer(CellQuery(domain)).cells())


@lru_cache(maxsize=256)
def _answer(kind: Kind, query: Any) -> Any:
    return _frame(kind).check(query.domain).answer(query)


def _frame(kind: Kind) -> FrameInput:
    types = {column: pl.String if isinstance(value, str) else pl.Int64 for column, value in kind}
    return FrameInput(pl.DataFrame({column: [value] for column, value in kind}, schema=types))
