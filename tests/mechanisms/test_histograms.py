"""Bins of histograms: they cover every code once, and adaptive ones lie where the values are."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.model_cases import declared
from support.recorded_draws import Forced
from support.releases import plan_and_release

from dpnb_columnar.budget import Budget
from dpnb_columnar.counting.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import Domain
from dpnb_columnar.mechanisms.histogram import MOST_OUTER_BINS
from dpnb_columnar.model.bins import declared_edges, equal_edges, geometric_edges, placed_edges
from dpnb_columnar.model.parameters import Histogram
from dpnb_columnar.model.tuning import MOST_BINS
from dpnb_columnar.noise import ExactSampler, SeededBits

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


def edges(mean: Fraction, variance: Fraction) -> list[int]:
    """Where class counts are as they are, and these moments are drawn."""
    moments = iter([mean, variance])
    answers = Forced(lambda place, asked: next(moments) if asked.grid_bits else None)
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


# Bins of histograms: they cover every code once, whatever was released, and follow what they are placed by.

lasts = st.integers(1, 2**32) | st.integers(1, 100)
numbers = st.integers(1, MOST_BINS)


def covers(edges: list[int], last: int) -> bool:
    return edges[0] == 0 and edges[-1] == last + 1 and all(low < high for low, high in pairwise(edges))


@given(lasts, numbers)
def test_equal_bins_cover_every_code_and_differ_by_one_at_most(last: int, number: int) -> None:
    edges = equal_edges(last, number)
    assert covers(edges, last)
    assert len(edges) - 1 == min(number, last + 1)
    assert max(np.diff(edges)) - min(np.diff(edges)) <= 1


@given(lasts, numbers, st.data())
def test_geometric_bins_cover_every_code_and_grow_away_from_the_origin(
    last: int, number: int, data: st.DataObject
) -> None:
    origin = data.draw(st.integers(0, last))
    edges = geometric_edges(last, origin, number)
    assert covers(edges, last)
    assert len(edges) - 1 <= number + 1
    right = np.diff([edge for edge in edges if edge >= origin])
    assert all(high >= low - 2 for low, high in pairwise(right[:-1]))


@given(lasts, numbers, st.data())
def test_placed_bins_cover_every_code_whatever_was_released(last: int, number: int, data: st.DataObject) -> None:
    mean, deviation = data.draw(st.floats(0, last)), data.draw(st.floats(0.1, 1.5 * last + 1))
    edges = placed_edges(last, number, mean, deviation)
    assert covers(edges, last)
    assert len(edges) - 1 <= number + MOST_OUTER_BINS


def test_placed_bins_are_narrow_where_the_values_are_and_wide_outside() -> None:
    edges = placed_edges(10**6, 20, mean=400.0, deviation=80.0)
    inside = [edge for edge in edges if 200 <= edge <= 600]
    assert len(inside) == 21
    assert set(np.diff(inside)) == {20}
    assert len(edges) < 36


def test_an_amount_gets_growing_bins_and_anything_else_equal_ones() -> None:
    domain = declared(
        {
            "wage": {"lower": 0, "upper": 10**6, "step": 1},
            "balance": {"lower": -5000, "upper": 10**6, "step": 1},
            "age": {"lower": 0, "upper": 120, "step": 1},
            "length": {"lower": 0, "upper": 20, "step": "0.001"},
            "logged": {"lower": 0, "upper": 10**6, "step": 1, "transform": "log1p"},
        }
    )
    widths = {attribute.name: np.diff(declared_edges(attribute, 16)) for attribute in domain.numeric}
    assert widths["wage"][0] <= 2
    assert widths["wage"][-1] > 10**5
    assert np.argmin(widths["balance"]) in range(4, 9)
    for name in ("age", "length", "logged"):
        assert max(widths[name]) - min(widths[name]) <= 1
