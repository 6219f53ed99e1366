"""Single faults that releases of attribute weights and of scores could have: calibration, gradients, and steps."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.mechanisms import PRIVATE
from support.model_cases import declared, histogram_of, model_of, presence_of, table_of
from support.people import PEOPLE, people, people_domain
from support.recorded_draws import Forced

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Neighbours
from dpnb_columnar.core.mechanisms import score_calibration
from dpnb_columnar.core.mechanisms.plan import plan
from dpnb_columnar.core.mechanisms.score_calibration import margins_given
from dpnb_columnar.core.mechanisms.score_release import FINER, model_scores
from dpnb_columnar.core.mechanisms.weight_rounds import WeightRounds, start_rounds
from dpnb_columnar.core.noise import ExactSampler, NoiseFamily, SeededBits
from dpnb_columnar.core.queries.scores import (
    UNITS,
    GradientSums,
    largest_score,
)
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Domain
from dpnb_columnar.model.document import to_document
from dpnb_columnar.model.parameters import AttributeWeights, CalibrationLine, ClassCounts
from dpnb_columnar.training import train

ONE = Fraction(1)
TWO = people_domain({**PEOPLE, "weight": {"column": "w", "cap": 4}})
THREE = people_domain({**PEOPLE, "label": {"column": "income", "classes": ["low", "high", "none"]}})

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


# Gradients.


# Rounds.


class Answers:
    """Answers with numbers that were given beforehand, in their order, and then again."""

    private = False

    def __init__(self, *numbers: float) -> None:
        self.numbers = list(numbers)
        self.noise: Any = None
        self.scale = Fraction(0)

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        self.noise, self.scale = noise, scale
        self.numbers.append(self.numbers.pop(0))
        return Fraction(self.numbers[-1])


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
    model = model_of(domain, [table_of("a", *CATEGORIES), histogram], [0.6, 0.4])
    return replace(model, classes=ClassCounts((released,) * 2, model.classes.probability))


def stepped(rounds: WeightRounds, answers: Answers, epsilon: str = "1/10") -> WeightRounds:
    """What a round makes of answers."""
    sums = GradientSums(rounds.query, *(np.zeros(size, dtype=np.int64) for size in (rounds.query.sums, 2)))
    planned = plan(people_domain(), Budget(Fraction(epsilon) * 10), "histogram", None, "learned")
    return rounds.after(planned.rounds[-1], sums, answers)


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
    answers = Answers(*gradient)
    after = stepped(rounds, answers, epsilon)
    draw = ExactSampler(SeededBits(3))
    variance = np.var([float(draw(Fraction(0), answers.scale, answers.noise, 8)) for _ in range(4000)])
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
            stepped(rounds, Answers(sign * size, -sign * size, sign * size), "1000").weights for sign in (1, -1)
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
