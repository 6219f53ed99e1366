"""Calibrated weights: scores of a released model, their bins, and the fit of slope and intercept."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest
from support.mechanisms import PRIVATE
from support.people import people, people_domain
from support.releases import plan_and_release

from dpnb_columnar.budget import Budget, Neighbours, Pure
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.counting.scores import UNITS, ScoreCounts, Scores
from dpnb_columnar.counting.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import Domain, read_domain
from dpnb_columnar.mechanisms.log_ratios import LARGEST_SCORE, log_ratios
from dpnb_columnar.mechanisms.release_plan import plan
from dpnb_columnar.mechanisms.score_calibration import (
    BINS,
    EDGES,
    calibrated_weights,
    centres,
    scores_given,
)
from dpnb_columnar.model.model import Model, load_model
from dpnb_columnar.model.parameters import Histogram, Normal, Presence, Table
from dpnb_columnar.noise import NoiseFamily
from dpnb_columnar.training import train

LABEL = {"column": "y", "classes": ["no", "yes"]}


def domain(**attributes: dict[str, object]) -> Domain:
    return read_domain("test", {"label": LABEL, "attributes": attributes}, "test")


class NoNoise:
    private = False

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        return location


exact = NoNoise()


# Scores of correlated attributes.


def correlated(copies: int) -> tuple[Domain, Statistics, np.ndarray]:
    """One categorical attribute, given several times over: rows per value and class."""
    rows = np.array([[50_000, 2_000], [20_000, 8_000], [5_000, 15_000]])
    declared = domain(**{f"x{number}": {"values": ["a", "b", "c"]} for number in range(copies)})
    code, klass = (part.ravel() for part in np.indices(rows.shape))
    cells = [Cells(None, np.arange(2), np.zeros(2, dtype=np.int64), rows.sum(axis=0))]
    cells += [Cells(f"x{number}", klass, code, rows.ravel()) for number in range(copies)]
    return declared, assemble(declared, cells), rows


@pytest.mark.parametrize("copies", [1, 2, 4])
def test_copies_of_an_attribute_share_its_weight(copies: int) -> None:
    """The slope is what a logistic regression on the true scores has: 1 over the number of copies."""
    _, statistics, rows = correlated(copies)
    model = plan_and_release(statistics, Budget(Fraction(1)), "histogram", draw=exact)
    scores = scores_given(model)
    counts = np.zeros((scores.bins, 2), dtype=np.int64)
    for code in range(3):
        score = sum(table.scores[code] for table in scores.tables)
        counts[sum(score >= edge for edge in scores.edges)] += rows[code]
    share = plan(statistics.domain, Budget(Fraction(1)), "histogram", attribute_weights="calibrated").calibration
    assert share is not None
    weights = calibrated_weights(model, ScoreCounts(scores, counts), share, exact)
    assert weights.method == "calibrated"
    assert weights.weights == (weights.weights[0],) * copies
    assert weights.weights[0] == pytest.approx(1 / copies, rel=0.2)
    assert weights.intercepts == (0.0, pytest.approx(0, abs=0.25))
    other = Scores(scores.domain, scores.tables, tuple(edge + 1 for edge in scores.edges))
    with pytest.raises(ValueError, match="not those that the released model gives"):
        calibrated_weights(model, ScoreCounts(other, counts), share, exact)


def test_scores_are_whole_units_of_log_ratios_and_bins_are_even() -> None:
    _, statistics, _ = correlated(3)
    scores = scores_given(plan_and_release(statistics, Budget(Fraction(1)), "histogram", draw=exact))
    width = scores.edges[5] - scores.edges[4]
    assert scores.edges == tuple(width * edge for edge in EDGES)
    assert scores.bins == BINS
    middles = [-9, -5, *np.arange(-3.5, 4), 5, 9]
    np.testing.assert_allclose(centres(scores), np.array(middles) * width / UNITS)
    (first, *_) = scores.tables
    assert first.starts == (0, 1, 2)
    # Released counts, with a prior that is far below them.
    table = np.array([[50_000, 20_000, 5_000], [2_000, 8_000, 15_000]])
    ratios = np.log(table[1] / 25_000) - np.log(table[0] / 75_000)
    np.testing.assert_allclose(first.scores, UNITS * ratios, atol=2)
    squares = 3 * (table.sum(axis=0) / 100_000 * ratios**2).sum()
    assert 4 * width == pytest.approx(UNITS * (1 + 2 * math.sqrt(squares)), abs=6)


# Log-ratios of every kind of attribute.


def test_log_ratios_of_a_table_and_of_a_histogram() -> None:
    declared = domain(c={"values": ["a", "b"]}, n={"lower": 0, "upper": 9, "step": 1})
    table = log_ratios(declared["c"], Table("c", ((1, 1), (1, 1)), ((0.25, 0.75), (0.5, 0.5))))
    np.testing.assert_allclose(table.ratios, [np.log([2, 2 / 3])])
    presence = Presence(((1, 1), (1, 1)), ((0.5, 0.5), (0.8, 0.2)))
    histogram = log_ratios(
        declared["n"], Histogram("n", (0, 3, 10), ((1, 1), (1, 1)), ((0.4, 0.6), (0.1, 0.9)), presence)
    )
    assert histogram.starts == [0, 3]
    np.testing.assert_allclose(histogram.ratios, [np.log([0.1 / 0.4 * 1.6, 0.9 / 0.6 * 1.6])])
    np.testing.assert_allclose(histogram.missing, [math.log(0.2 / 0.5)])
    total = histogram.probability.sum(axis=1) + histogram.absent
    np.testing.assert_allclose(total, 1)


@pytest.mark.parametrize(
    ("declared", "steps"),
    [
        ({"lower": 0, "upper": 100, "step": 1}, 101),
        ({"lower": 0, "upper": 10**9, "step": 1}, 4096),
        ({"lower": 0, "upper": 10**6, "step": 1, "transform": "log1p"}, None),
    ],
)
def test_log_ratios_of_a_normal_attribute(declared: dict[str, object], steps: int | None) -> None:
    attribute = domain(n=declared).numeric[0]
    scale = attribute.scale
    width = scale.end - scale.origin
    mean, deviation = (scale.origin + 0.4 * width, scale.origin + 0.5 * width), (0.1 * width, 0.15 * width)
    ratios = log_ratios(attribute, Normal("n", mean, deviation, mean, deviation))
    if steps is not None:
        assert len(ratios.starts) == steps
    assert ratios.starts[0] == 0
    assert np.all(np.diff(ratios.starts) > 0)
    assert len(ratios.starts) == ratios.ratios.shape[1] == ratios.probability.shape[1] <= 4096
    np.testing.assert_allclose(ratios.probability.sum(axis=1), 1)
    # The mean log-ratio within a class is the Kullback-Leibler divergence of two normal distributions.
    divergence = math.log(0.15 / 0.1) + (0.1**2 + 0.1**2) / (2 * 0.15**2) - 0.5
    assert -(ratios.probability[0] * ratios.ratios[0]).sum() == pytest.approx(divergence, rel=0.03)


def test_certainty_has_a_largest_score_and_does_not_stretch_the_bins() -> None:
    declared = domain(n={"lower": 0, "upper": 10**9, "step": 1}, c={"values": ["a", "b"]})
    table = Table("c", ((1, 1), (1, 1)), ((0.25, 0.75), (0.5, 0.5)))
    spike = Normal("n", (0.0, 5e8), (1.0, 1.0), (0.0, 5e8), (1.0, 2e8))
    model = plan_and_release(assemble(declared, ()), Budget(Fraction(1)), "smooth", draw=exact)
    spiky = scores_given(Model(declared, model.guarantee, model.classes, (spike, table), {}))
    assert max(map(abs, spiky.tables[0].scores)) == LARGEST_SCORE
    assert spiky.edges[-1] <= UNITS * 2 * (1 + 2 * math.hypot(3, 1)) + 8


class Extreme:
    """Answers far beyond anything that is ever drawn."""

    private = False

    def __init__(self, seed: int, size: int) -> None:
        self.random, self.size = Random(seed), size

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        return Fraction(self.random.choice([-self.size, -1, 0, 1, self.size]))


@pytest.mark.parametrize("size", [10**3, 10**15, 10**30])
@pytest.mark.parametrize("mechanism", [name for name in PRIVATE if name != "majority"])
def test_any_answers_make_weights(mechanism: str, size: int, tmp_path: Path) -> None:
    """A run that failed because of what it drew would tell what that was (docs/privacy.md, section 8)."""
    planned = plan(people_domain(), Budget(Fraction(1)), mechanism, attribute_weights="calibrated")
    for seed in range(3):
        model = train(planned, FrameInput(people(50)), draw=Extreme(seed, size))
        assert model.attribute_weights is not None
        model.save(tmp_path / "m.json", overwrite=True)
        assert load_model(tmp_path / "m.json") == model


# The plan.


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("mechanism", ["smooth", "histogram", "adaptive-histogram", "global", "paper"])
def test_a_tenth_of_every_budget(mechanism: str, neighbours: Neighbours) -> None:
    declared, _, _ = correlated(3)
    budget = Budget(Fraction(7, 10), neighbours)
    planned = plan(declared, budget, mechanism, attribute_weights="calibrated")
    assert planned.calibration is planned.shares[-1]
    assert planned.calibration.cost == Pure(Fraction(7, 100))
    assert planned.calibration.row_cost == Pure(Fraction(7, 100) / neighbours.rows)
    assert planned.total == Pure(Fraction(7, 10))
    plain = plan(declared, budget, mechanism)
    assert plain.calibration is None
    assert len(plain.shares) == len(planned.shares) - 1


def test_a_tenth_where_losses_are_concentrated() -> None:
    declared = domain(n={"lower": 0, "upper": 9, "step": 1})
    planned = plan(declared, Budget(Fraction(1), delta=Fraction(1, 10**6)), "smooth", "arsinh-normal", "calibrated")
    assert planned.calibration is not None
    assert 10 * planned.calibration.cost.rho == planned.total.rho  # type: ignore[union-attr]
