"""Bounds on attacks that follow from a guarantee: mechanisms that reach them, and mechanisms that try to pass them."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from dpnb_columnar.extensions.attack.membership_bounds import (
    contradicted,
    largest_advantage,
    largest_area,
    largest_rate,
    surprise,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nchypergeom_fisher

EPSILONS = st.floats(0.01, 6)
DELTAS = st.sampled_from([0.0, 1e-6, 0.01, 0.2])


@given(EPSILONS, DELTAS)
def test_the_release_that_is_as_revealing_as_allowed_reaches_every_bound(epsilon: float, delta: float) -> None:
    """With probability delta it tells the truth for sure, and else by randomised response."""
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    inside = [delta, 0.0, (1 - delta) * right, (1 - delta) * (1 - right)]
    outside = [0.0, delta, (1 - delta) * (1 - right), (1 - delta) * right]
    order = sorted(range(4), key=lambda answer: -(inside[answer] / max(outside[answer], 1e-300)))
    points = [(0.0, 0.0)]
    for answer in order:
        points.append((points[-1][0] + outside[answer], points[-1][1] + inside[answer]))
    for false, true in points:
        assert true <= largest_rate(false, epsilon, delta) + 1e-9
    assert max(true - false for false, true in points) == pytest.approx(largest_advantage(epsilon, delta))
    for (false, true), (more_false, more_true) in pairwise(points[1:]):  # and what lies between, by lot
        assert largest_rate((false + more_false) / 2, epsilon, delta) == pytest.approx((true + more_true) / 2)
    area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))
    assert area == pytest.approx(largest_area(epsilon, delta))


@given(st.lists(st.floats(0.001, 1), min_size=4, max_size=4), st.lists(st.floats(0.001, 1), min_size=4, max_size=4))
def test_no_event_of_any_two_laws_passes_the_rates(one: list[float], two: list[float]) -> None:
    inside, outside = np.array(one) / sum(one), np.array(two) / sum(two)
    epsilon = float(np.abs(np.log(inside / outside)).max()) / 2
    delta = max(
        float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) for p, q in ((inside, outside), (outside, inside))
    )
    for event in product([False, True], repeat=4):
        false, true = (float(law[list(event)].sum()) for law in (outside, inside))
        assert true <= largest_rate(false, epsilon, delta) + 1e-9


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 0.9), st.floats(0.1, 2), st.floats(0, 1))
def test_the_surprise_of_one_model_is_as_rare_as_it_says(seed: int, part: float, spread: float, pure: float) -> None:
    """Mechanisms on three rows, exactly: P(surprise <= s) <= s, whatever they say together of the rows, and to whom."""
    generator, rows, models = np.random.default_rng(seed), 3, 5
    sets = list(product([0, 1], repeat=rows))
    laws = np.exp(generator.uniform(-spread, spread, (len(sets), models)))
    laws /= laws.sum(axis=1, keepdims=True)
    pairs = [
        (laws[one], laws[two])
        for one, first in enumerate(sets)
        for two, second in enumerate(sets)
        if sum(abs(a - b) for a, b in zip(first, second, strict=True)) == 1
    ]
    largest = max(float(np.log(one / two).max()) for one, two in pairs)
    epsilon = largest * (0.5 + pure / 2)  # the rest is delta
    delta = max(float(np.maximum(one - math.exp(epsilon) * two, 0).sum()) for one, two in pairs)
    prior = [part ** sum(members) * (1 - part) ** (rows - sum(members)) for members in sets]
    # The worst flags: for each model the set of rows that makes members the likeliest, or any other one.
    flags = generator.integers(0, 2, (models, rows)).astype(bool)
    for model in range(0, models, 2):
        weights = np.array(prior) * laws[:, model]
        flags[model] = (weights @ np.array(sets)) / weights.sum() >= part
    found = []
    for chance, members, law in zip(prior, sets, laws, strict=True):
        for model in range(models):
            flagged = flags[model]
            hits = int(np.array(members)[flagged].sum())
            found.append((surprise(hits, int(flagged.sum()), rows, part, epsilon, delta), chance * law[model]))
    for value, _ in found:
        assert sum(chance for other, chance in found if other <= value) <= value + 1e-9


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_randomised_response_is_hardly_ever_called_broken(epsilon: float) -> None:
    """The part of members is estimated by the rows themselves; 4 of 4,000 at 0.001 would be as claimed."""
    generator, error, tries = np.random.default_rng(5), 0.01, 1000
    for rows, part in ((60, 0.5), (400, 0.2)):
        broken = 0
        for _ in range(tries):
            members = generator.random(rows) < part
            flags = members ^ (generator.random(rows) > math.exp(epsilon) / (1 + math.exp(epsilon)))
            hits, flagged = int((members & flags).sum()), int(flags.sum())
            broken += surprise(hits, flagged, rows, float(members.mean()), epsilon) < error
        assert broken <= 20  # of 10 expected at most: more than that with probability 0.002


@pytest.mark.parametrize(("rows", "members", "flagged"), [(40, 20, 13), (90, 30, 60), (200, 20, 5)])
def test_replaced_rows_are_within_the_same_tail(rows: int, members: int, flagged: int) -> None:
    for epsilon in (0.2, 1.0, 4.0):
        law = nchypergeom_fisher(rows, members, flagged, math.exp(epsilon))
        odds = math.exp(epsilon) * members / (rows - members)
        mean = flagged * odds / (1 + odds)
        for hits in range(math.ceil(mean + 1), min(flagged, members) + 1):
            assert law.sf(hits - 1) <= surprise(hits, flagged, rows, members / rows, epsilon) + 1e-9


def test_what_a_tail_says_by_hand() -> None:
    assert surprise(3, 3, 10, 0.5, 0.0) == pytest.approx(1 / 8)
    assert surprise(2, 2, 10, 0.5, math.log(3)) == pytest.approx(9 / 16)
    assert surprise(0, 7, 10, 0.5, 1.0) == 1.0
    assert surprise(0, 0, 10, 0.5, 1.0) == 1.0
    # delta: 10 q (1 - q') delta = 10/2 * 1/2 * 0.01, in full for i = 0
    assert surprise(8, 8, 10, 0.5, 0.0, 0.01) == pytest.approx(
        min(sum(math.comb(8, hit) for hit in range(8 - i, 9)) / 256 + 0.025 / (i + 1) for i in range(9))
    )


@given(st.integers(1, 60), st.integers(0, 60), st.floats(0.05, 0.95))
def test_an_epsilon_is_contradicted_up_to_where_it_is_no_surprise(members: int, others: int, part: float) -> None:
    bound = contradicted(members, members + others, 200, part, 0.01)
    if bound:
        assert surprise(members, members + others, 200, part, bound) <= 0.01
    assert surprise(members, members + others, 200, part, bound + 2e-4) >= 0.01
