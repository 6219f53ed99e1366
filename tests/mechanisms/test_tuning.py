"""Public choices and post-processing: public numbers in, public numbers out, whatever was released."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.model_cases import declared
from support.people import people_domain

from dpnb_columnar.budget import Concentrated, Pure
from dpnb_columnar.domain import Numeric
from dpnb_columnar.mechanisms.samples import on_scale
from dpnb_columnar.mechanisms.smooth_noise import smooth_noise
from dpnb_columnar.model.postprocessing import normal, probabilities
from dpnb_columnar.model.tuning import histogram_bins, pooled_rows, prior_count, trim, trimmed_normal_variance
from dpnb_columnar.sensitivity import RunLengthColumn

DOMAIN = declared(
    {"x": {"lower": 0, "upper": 6, "step": 1}, "w": {"lower": 0, "upper": 50, "step": 1, "transform": "log1p"}}
)

# --- trim -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(st.integers(8, 10**10), st.sampled_from(["polyplace", "cauchy"]), st.fractions(Fraction(1, 10**5), 100))
def test_the_trim_always_leaves_a_window(size: int, name: str, epsilon: Fraction) -> None:
    cut = trim(size, smooth_noise(name, Pure(epsilon)))
    assert cut >= 0
    assert size - 2 * cut >= max(2, size // 2)


@given(st.integers(8, 10**8), st.integers(8, 10**8), st.fractions(Fraction(1, 10**4), 10))
def test_classes_are_cut_far_together_or_not_at_all(one: int, two: int, epsilon: Fraction) -> None:
    noise, smallest = smooth_noise("polyplace", Pure(epsilon)), min(one, two)
    far = [math.ceil(math.log(size) / float(noise.beta)) for size in (one, two)]
    cut = [trim(size, noise, smallest) for size in (one, two)]
    if trim(smallest, noise) == far[(one, two).index(smallest)] <= smallest // 50:
        assert cut == far
    else:
        assert all(each <= size // 10 for each, size in zip(cut, (one, two), strict=True))


def test_at_census_scale_the_bounds_are_put_out_of_reach() -> None:
    """At k = trim + 1 the declared bounds weigh no more than one value of the sample."""
    size, noise = 10**6, smooth_noise("polyplace", Pure(Fraction(1, 40)))
    assert math.exp(-float(noise.beta) * trim(size, noise)) <= 1 / size
    assert trim(size, noise) < size / 50


@pytest.mark.parametrize("part", [0.0, 1e-6, 0.01, 0.1, 0.25])
def test_the_variance_left_by_trimming_is_that_of_a_cut_normal_distribution(part: float) -> None:
    places = (np.arange(10**6) + 0.5) / 10**6
    from scipy.special import ndtri

    kept = ndtri(places[(places > part) & (places < 1 - part)])
    assert trimmed_normal_variance(part) == pytest.approx(float(np.var(kept)), abs=2e-5)


# --- tables ---------------------------------------------------------------------------------------------------------

released_counts = st.integers(1, 40).flatmap(
    lambda cells: st.lists(
        st.tuples(st.lists(st.integers(-(10**6), 10**6), min_size=cells, max_size=cells), st.integers(-100, 10**7)),
        min_size=2,
        max_size=4,
    )
)


@pytest.mark.slow
@given(released_counts, st.fractions(Fraction(1, 10**4), 100))
def test_noisy_counts_become_probabilities(released: list[tuple[list[int], int]], epsilon: Fraction) -> None:
    counts, sizes = zip(*released, strict=True)
    for row in probabilities(counts, sizes, prior_count(epsilon)):
        assert min(row) > 0
        assert math.fsum(row) == pytest.approx(1, abs=1e-12)


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=4), st.integers(2, 20), st.fractions(Fraction(1, 100), 1))
def test_cells_that_are_empty_everywhere_tell_nothing(sizes: list[int], cells: int, epsilon: Fraction) -> None:
    """Of two classes with the same distribution, the empty cells have the same probability whatever their sizes."""
    counts = [[size + 1, *[0] * (cells - 1)] for size in sizes]
    found = probabilities(counts, sizes, prior_count(epsilon))
    assert [row[1] for row in found] == pytest.approx([found[0][1]] * len(found), rel=1e-12)


def test_counts_far_above_the_noise_are_left_as_they_are() -> None:
    (row, _) = probabilities([[300_000, 100_000], [1, 1]], [400_000, 2], prior_count(Fraction(1, 10)))
    assert row == pytest.approx((0.75, 0.25), abs=1e-4)


@given(st.integers(-(10**9), 10**12), st.integers(0, 10**6), st.fractions(Fraction(1, 10**5), 100))
def test_more_rows_are_never_counted_in_fewer_bins(rows: int, more: int, epsilon: Fraction) -> None:
    assert 4 <= histogram_bins(rows, epsilon) <= histogram_bins(rows + more, epsilon) <= 64


# --- moments --------------------------------------------------------------------------------------------------------

moments = st.fractions(-(10**13), 10**13)


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.tuples(moments, moments, st.integers(-100, 10**7)), min_size=2, max_size=4),
    st.sampled_from([0, 1]),
    st.sampled_from([0.0, 10.0, 1e9]),
)
@example([(Fraction(1), Fraction(-5), 10), (Fraction(1), Fraction(1), 40)], 0, 10.0)
def test_any_released_moment_becomes_a_usable_distribution(
    released: list[tuple[Fraction, Fraction, int]], which: int, weight: float
) -> None:
    attribute = DOMAIN.numeric[which]
    means, variances, sizes = zip(*released, strict=True)
    found = normal(attribute, means, variances, [0.9] * len(means), sizes, weight)
    scale = attribute.scale
    for mean, deviation in zip(found.mean, found.deviation, strict=True):
        assert scale.origin <= mean <= scale.end
        assert scale.step / math.sqrt(12) * (1 - 1e-9) <= deviation <= scale.end - scale.origin


def test_the_average_weighs_more_the_less_is_spent() -> None:
    weights = [pooled_rows(Pure(Fraction(epsilon))) for epsilon in ("0.01", "0.1", "1")]
    assert weights == sorted(weights, reverse=True)
    assert pooled_rows(Concentrated(Fraction(1, 2))) == pooled_rows(Pure(Fraction(1)))


# --- scales ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60))
def test_the_logarithmic_scale_keeps_every_row_and_their_order(codes: list[int]) -> None:
    attribute = DOMAIN.numeric[1]
    assert isinstance(attribute, Numeric)
    distinct, numbers = np.unique(codes, return_counts=True)
    scaled = on_scale(attribute, RunLengthColumn(distinct, numbers))
    assert scaled.size == len(codes)
    expected = np.unique(np.round((np.log1p(codes) - attribute.scale.origin) / attribute.scale.step))
    assert list(scaled.codes) == list(expected)
    assert scaled.codes[0] >= 0
    assert scaled.codes[-1] <= attribute.scale.cells


def test_a_variance_that_is_noise_is_replaced_by_the_average_and_others_are_drawn_towards_it() -> None:
    """Above the variance of rounding a class's own counts for its rows; at it and below it says nothing."""
    attribute = people_domain()["age"]
    assert isinstance(attribute, Numeric)
    for noise in (Fraction(1, 12), Fraction(1, 20), Fraction(-30)):
        variances = [noise, Fraction(100), Fraction(400)]
        found = normal(attribute, [Fraction(50)] * 3, variances, [1.0] * 3, [10, 10, 20], pooled_rows=30)
        average = (10 * noise + 10 * 100 + 20 * 400) / 40
        used = [average, (10 * 100 + 30 * average) / 40, (20 * 400 + 30 * average) / 50]
        assert found.deviation == pytest.approx([math.sqrt(each) for each in used])
