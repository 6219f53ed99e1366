"""Adaptive histograms: bins where the values are, however loosely the bounds are declared."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.mechanisms.bins import declared_edges
from dpnb_columnar.core.noise import ExactSampler, NoiseFamily, SeededBits
from dpnb_columnar.core.queries.statistics import Cells, Statistics, assemble
from support.model_cases import declared
from support.releases import plan_and_release

from dpnb_columnar.domain import Domain
from dpnb_columnar.model.parameters import Histogram

ROWS = 20_000


def domain(upper: int) -> Domain:
    """One attribute on tenths, so that it is no amount."""
    return declared({"x": {"lower": 0, "upper": upper, "step": "0.1"}})


def statistics(domain: Domain, centres: tuple[int, int] = (400, 480)) -> Statistics:
    """Two classes of ``ROWS`` rows, 2.7 deviations apart."""
    generator = np.random.default_rng(7)
    codes = np.concatenate([generator.normal(centre, 30, ROWS).round().astype(np.int64) for centre in centres])
    classes, ones = np.repeat([0, 1], ROWS), np.ones(2 * ROWS, dtype=np.int64)
    return assemble(domain, [Cells(None, classes, 0 * codes, ones), Cells("x", classes, codes, ones)])


def histogram(mechanism: str, upper: int, epsilon: Fraction = Fraction(1), seed: int = 3) -> Histogram:
    model = plan_and_release(statistics(domain(upper)), Budget(epsilon), mechanism, draw=ExactSampler(SeededBits(seed)))
    (found,) = model.attributes
    assert isinstance(found, Histogram)
    return found


def apart(found: Histogram) -> float:
    """Total variation distance between the classes: 0.82 for the normal distributions they are drawn from."""
    first, second = (np.array(row) for row in found.probability)
    return float(np.abs(first - second).sum() / 2)


@pytest.mark.parametrize("upper", [100, 1_000, 10_000, 30_000])
def test_bins_tell_the_classes_apart_under_any_bounds(upper: int) -> None:
    assert apart(histogram("adaptive-histogram", upper)) == pytest.approx(0.82, abs=0.03)


def test_equal_bins_do_not() -> None:
    """What the test above would see of a mechanism that does not adapt."""
    assert apart(histogram("histogram", 100)) == pytest.approx(0.82, abs=0.05)
    assert apart(histogram("histogram", 10_000)) < 0.05


def test_a_hopeless_budget_still_gives_a_whole_histogram() -> None:
    for seed in range(5):
        found = histogram("adaptive-histogram", 10_000, Fraction(1, 1000), seed)
        assert found.edges[0] == 0
        assert found.edges[-1] == 100_001
        assert all(low < high for low, high in pairwise(found.edges))
        assert all(sum(row) == pytest.approx(1) for row in found.probability)


class Answers:
    """Class counts as they are, then these moments, then zeros."""

    private = False

    def __init__(self, mean: Fraction, variance: Fraction) -> None:
        self.moments = iter([mean, variance])

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        return next(self.moments, Fraction(0)) if grid_bits else location


def edges(mean: Fraction, variance: Fraction) -> list[int]:
    answers = Answers(mean, variance)
    model = plan_and_release(statistics(domain(1_000)), Budget(Fraction(1)), "adaptive-histogram", draw=answers)
    (found,) = model.attributes
    assert isinstance(found, Histogram)
    return list(found.edges)


def test_a_released_variance_that_is_none_leaves_the_declared_bins() -> None:
    (attribute,) = domain(1_000).numeric
    for variance in (Fraction(-5), Fraction(0), Fraction(-(10**400))):
        assert edges(Fraction(400), variance) == declared_edges(attribute, 64)


@pytest.mark.parametrize("mean", [Fraction(-(10**400)), Fraction(400), Fraction(10**400)])
def test_a_released_variance_beyond_the_bounds_spreads_the_bins_over_all_of_them(mean: Fraction) -> None:
    found = np.diff(edges(mean, Fraction(10**400)))
    assert max(found) <= 2 * min(found) + 1
