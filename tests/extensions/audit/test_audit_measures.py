"""What the audit measures by: losses against closed forms, confidence bounds, and bits that lead to a chosen point."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import erfc
from scipy.stats import norm

from dpnb_columnar.core.budget import Approximate, Concentrated, PrivacyCost, Pure
from dpnb_columnar.core.budget.costs import implies
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family, smooth_noise
from dpnb_columnar.core.noise import (
    ApproximateLaplace,
    ExactSampler,
    Gaussian,
    Laplace,
    NoiseFamily,
    PaperCauchy,
    PolyPlace,
    SeededBits,
    StudentT,
)
from dpnb_columnar.extensions.audit.epsilon_bounds import (
    SHAPE,
    PlayedBits,
    band,
    best_of_models,
    best_of_numbers,
    epsilon_bound,
    reachable,
)
from dpnb_columnar.extensions.audit.exhaustive import (
    claimed,
    composed,
    concentrated_epsilon,
    concentrated_together,
    measured,
    worst_admissible,
)
from dpnb_columnar.extensions.audit.outcomes import Answers, Drawn, RecordingSampler
from dpnb_columnar.extensions.concentrated.log_normal import ArsinhNormal, UniformLogNormal
from dpnb_columnar.model.query_noise import lower_bound, upper_bound

Floats = np.ndarray


@dataclass(frozen=True)
class AnyNormal:
    """Normal noise of a deviation, with whatever loss it is said to have."""

    deviation: float
    cost: PrivacyCost
    beta: Fraction = Fraction(0)

    def survival(self, magnitude: Floats) -> Floats:
        return np.asarray(erfc(magnitude / (self.deviation * math.sqrt(2))))

    def log_density(self, z: Floats) -> Floats:
        return np.asarray(-((z / self.deviation) ** 2) / 2 - math.log(self.deviation * math.sqrt(2 * math.pi)))


def one(noise: object, shift: float, ratio: float = 1.0) -> float:
    return float(measured(noise, np.array([shift]), np.array([ratio]))[0])  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(7)])
@pytest.mark.parametrize("shift", [-3.0, -0.5, 0.25, 1.0, 2.0])
def test_a_shifted_laplace_loses_epsilon_per_unit(epsilon: Fraction, shift: float) -> None:
    assert one(Laplace(epsilon), shift) == pytest.approx(float(epsilon) * abs(shift), rel=1e-9)


def test_a_laplace_of_another_scale_loses_without_bound() -> None:
    assert one(Laplace(Fraction(1)), 0.0, 1.01) > 1e6


@pytest.mark.parametrize("noise", [PolyPlace(Fraction(1), Fraction(1, 5)), PolyPlace(Fraction(1, 3), Fraction(1, 10))])
def test_polyplace_loses_all_of_its_epsilon_and_no_more(noise: PolyPlace) -> None:
    beta = float(noise.beta)
    ratios = np.repeat(np.exp([-beta, 0, beta]), 3)
    losses = measured(noise, np.tile([-1.0, 0.3, 1.0], 3) * np.minimum(1, ratios), ratios)
    assert losses.max() == pytest.approx(float(noise.epsilon), rel=1e-6)
    assert claimed(noise) == float(noise.epsilon)


def test_a_change_beyond_the_sensitivity_loses_more_than_claimed() -> None:
    for noise in (PolyPlace(Fraction(1), Fraction(1, 5)), PaperCauchy(Fraction(1), Fraction(7, 10))):
        assert one(noise, 2.0) > claimed(noise)
        assert one(noise, 0.0, math.exp(3 * float(noise.beta))) > claimed(noise)


@pytest.mark.parametrize("deviation", [0.7, 2.0, 20.0])
@pytest.mark.parametrize("shift", [-1.0, 0.4, 1.0])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1)])
def test_hockey_stick_of_shifted_normal_noise(deviation: float, shift: float, epsilon: Fraction) -> None:
    """Balle and Wang 2018, Theorem 8."""
    distance = abs(shift) / deviation
    exact = norm.cdf(distance / 2 - float(epsilon) / distance) - math.exp(epsilon) * norm.cdf(
        -distance / 2 - float(epsilon) / distance
    )
    found = one(AnyNormal(deviation, Approximate(epsilon, Fraction(1, 1000))), shift)
    assert found <= exact * (1 + 1e-6) + 1e-15
    assert found == pytest.approx(exact, rel=0.01, abs=1e-12)


@pytest.mark.parametrize("ratio", [0.8, 1.0, 1.25])
@pytest.mark.parametrize("shift", [0.0, 0.5, 1.0])
def test_renyi_divergence_of_normal_noise(shift: float, ratio: float) -> None:
    """Gil, Alajaji and Linder 2013: for variances s^2, v^2 and order a, with w = a v^2 + (1 - a) s^2 > 0."""
    deviation = 2.0
    orders = 1 + np.geomspace(1e-3, 299, 4001)

    def divergence(first: float, second: float) -> float:
        mixed = orders * second**2 + (1 - orders) * first**2
        usable = mixed > 0
        a, w = orders[usable], mixed[usable]
        value = a * shift**2 / (2 * w) - np.log(w / (first ** (2 * (1 - a)) * second ** (2 * a))) / (2 * (a - 1))
        return math.inf if not usable.all() else float(np.max(value / a))

    exact = max(divergence(deviation, deviation * ratio), divergence(deviation * ratio, deviation))
    found = one(AnyNormal(deviation, Concentrated(Fraction(1, 8))), shift, ratio)
    assert found <= exact * (1 + 1e-6) + 1e-12
    if math.isfinite(exact):
        assert found == pytest.approx(exact, rel=0.01, abs=1e-12)
        assert exact == pytest.approx(shift**2 / (2 * deviation**2), abs=1e-12)
    else:
        assert found > 1


@pytest.mark.parametrize("epsilons", [(0.01,), (0.03, 0.02, 0.01), (1.0, 0.5)])
def test_rho_of_independent_draws_together(epsilons: tuple[float, ...]) -> None:
    """Mironov 2017, Proposition 6: divergences of shifted Laplace noise; those of independent draws add up."""
    orders = 1 + np.geomspace(1e-3, 299, 4001)
    exact = np.zeros_like(orders)
    for epsilon in epsilons:
        near, far = orders * np.exp((orders - 1) * epsilon), (orders - 1) * np.exp(-orders * epsilon)
        exact += np.log((near + far) / (2 * orders - 1)) / (orders - 1)
    most = float(np.max(exact / orders))
    found = concentrated_together([(Laplace(Fraction(1)), epsilon, 1.0) for epsilon in epsilons])
    assert most * 0.98 < found <= most * (1 + 1e-9)
    assert found <= sum(epsilon**2 / 2 for epsilon in epsilons)


WORST: list[NoiseFamily] = [
    PolyPlace(Fraction(1, 3), Fraction(1, 10)),
    StudentT(Fraction(1), Fraction(1, 4), Fraction(3)),
    Gaussian(Fraction(1), Fraction(1, 10**6), Fraction(1, 40)),
    ApproximateLaplace(Fraction(1), Fraction(1, 10**6), Fraction(1, 40)),
    ArsinhNormal(Fraction(1, 8), Fraction(1, 10)),
    UniformLogNormal(Fraction(1, 8), Fraction(1, 10)),
    PaperCauchy(Fraction(1), Fraction(7, 10)),
]


@pytest.mark.parametrize("noise", WORST, ids=lambda noise: type(noise).__name__)
def test_families_lose_nearly_what_they_claim_and_no_more(noise: NoiseFamily) -> None:
    """Two independent computations: ball arithmetic and proofs there, probabilities of cells here."""
    assert 0.8 * claimed(noise) <= worst_admissible(noise) <= claimed(noise) * (1 + 1e-6)


def test_many_changes_at_once_give_what_each_gives_alone() -> None:
    noise = PolyPlace(Fraction(1), Fraction(1, 5))
    shifts, ratios = np.linspace(-1, 1, 700), np.linspace(0.9, 1.1, 700)
    together = measured(noise, shifts, ratios)
    assert together.shape == (700,)
    for place in (0, 255, 256, 699):
        assert together[place] == pytest.approx(one(noise, shifts[place], ratios[place]))


def test_losses_add_up_in_their_own_way() -> None:
    pure = (Pure(Fraction(1)), 0.75)
    approximate = (Approximate(Fraction(1, 2), Fraction(1, 10**6)), 3e-7)
    assert composed([], 0) == 0
    assert composed([pure, pure], 0) == 1.5
    assert composed([pure, approximate], 1e-6) == 1.25
    assert composed([pure, approximate, approximate], 1e-6) == math.inf
    concentrated = (Concentrated(Fraction(1, 8)), 0.1)
    assert composed([concentrated, pure], 1e-6) == concentrated_epsilon(1 / 8 + 0.75**2 / 2, 1e-6)


@pytest.mark.parametrize("rho", [Fraction(1, 100), Fraction(1, 2), Fraction(3)])
def test_conversion_of_rho_agrees_with_the_proven_one(rho: Fraction) -> None:
    delta = Fraction(1, 10**6)
    epsilon = Fraction(concentrated_epsilon(float(rho), float(delta)))
    assert implies(rho, Approximate(epsilon * Fraction(10**6 + 1, 10**6), delta))
    assert not implies(rho, Approximate(epsilon * Fraction(10**6 - 1, 10**6), delta))


# Confidence bounds of the audit, against independent computations and by their own promise.

TRIALS = 300


@pytest.mark.parametrize("error", [1e-2, 1e-5])
def test_bounds_are_those_of_clopper_and_pearson(error: float) -> None:
    hits = np.arange(TRIALS + 1)
    low, high = lower_bound(hits, TRIALS, error), upper_bound(hits, TRIALS, error)
    for count in (0, 1, 7, 150, 299, 300):
        exact = stats.binomtest(count, TRIALS).proportion_ci(1 - 2 * error, method="exact")
        assert (low[count], high[count]) == pytest.approx((exact.low, exact.high), rel=1e-9, abs=1e-15)


def test_the_bound_on_epsilon_is_rarely_above_the_truth() -> None:
    """Randomised response with epsilon log 3 and delta 0.1 on top, and an error of 10 %."""
    generator = np.random.default_rng(8)
    runs, trials, delta = 4000, 200, 0.1
    hits, other = generator.binomial(trials, 0.75 + delta, runs), generator.binomial(trials, 0.25, runs)
    bounds = epsilon_bound(hits, other, (trials, trials), delta, 0.1)
    assert (bounds > math.log(3)).mean() <= 0.1
    assert bounds.mean() > 0.6 * math.log(3)


def test_no_hit_shows_nothing_and_no_miss_shows_something() -> None:
    assert epsilon_bound(0, 50, (100, 100), 0.0, 0.01) == -math.inf
    assert epsilon_bound(5, 0, (100, 100), 0.5, 0.01) == -math.inf
    assert epsilon_bound(100, 0, (100, 100), 0.0, 0.01) > 2.5


def test_the_band_holds_for_uniform_numbers() -> None:
    generator = np.random.default_rng(3)
    values = np.sort(generator.random((2000, 100)), axis=1)
    steps = np.arange(101) / 100
    distance = np.maximum(np.abs(values - steps[1:]).max(axis=1), np.abs(values - steps[:-1]).max(axis=1))
    assert (distance > band(100, 0.05)).mean() <= 0.05


def sample(values: np.ndarray, shape: str = "all") -> pl.DataFrame:
    values = values.reshape(len(values), -1)
    numbers = {f"number {place}": column for place, column in enumerate(values.T)}
    return pl.DataFrame({SHAPE: [shape] * len(values), **numbers})


def test_the_event_chosen_is_about_the_number_that_differs() -> None:
    generator = np.random.default_rng(1)
    one, two = generator.normal(size=(400, 3)), generator.normal(size=(400, 3))
    two[:, 1] += 2
    event = best_of_numbers(sample(one), sample(two), 0.0, 0.01)
    assert event.name.startswith("number 1 ")
    assert event.bound(sample(one), sample(two), 0.0, 0.01) > 1


def test_a_value_that_only_one_database_leads_to_is_an_event() -> None:
    generator = np.random.default_rng(1)
    one, two = generator.integers(-9, 9, 600).astype(float), generator.integers(-9, 9, 600).astype(float)
    two[::3] = 4.0
    event = best_of_numbers(sample(one), sample(two), 0.0, 0.01)
    assert event.name == "number 0 == 4"
    assert event.swapped


def test_the_shape_of_a_model_and_an_exception_are_events() -> None:
    values = np.zeros(100)
    one, two = sample(values), sample(np.full(100, np.nan), "ValueError")
    assert best_of_numbers(one, two, 0.0, 0.01).name.startswith("shape")
    assert best_of_numbers(one, two, 0.0, 0.01).bound(one, two, 0.0, 0.01) > 2


def test_the_likelihood_ratio_gathers_what_single_numbers_tell() -> None:
    generator = np.random.default_rng(2)
    parts = [generator.normal(size=(4000, 6)) + shift for shift in (0.0, 0.7)]
    one, two = (sample(part) for part in parts)
    halves = [[whole[:2000] for whole in (one, two)], [whole[2000:] for whole in (one, two)]]
    bounds = [
        choose(*halves[0], 0.0, 1e-4).bound(*halves[1], 0.0, 1e-4) for choose in (best_of_numbers, best_of_models)
    ]
    assert bounds[1] > 1.5 * bounds[0] > 0.5


# Chosen bits lead the sampler to a chosen point, and checks of bit patterns leave correct draws alone.

LOSSES: dict[type[PrivacyCost], PrivacyCost] = {
    Pure: Pure(Fraction(1)),
    Approximate: Approximate(Fraction(1), Fraction(1, 10**6)),
    Concentrated: Concentrated(Fraction(1, 4)),
}
FAMILIES = [Laplace(Fraction(1, 2)), *(smooth_noise(name, LOSSES[smooth_family(name).kind]) for name in NOISE_FAMILIES)]


@pytest.mark.slow
@pytest.mark.parametrize("noise", FAMILIES, ids=lambda noise: noise.name)
@settings(max_examples=25, deadline=None)
@given(
    location=st.fractions(-50, 50, max_denominator=1000),
    scale=st.fractions(Fraction(1, 100), 10, max_denominator=1000),
    by=st.integers(-40, 40),
)
def test_every_point_near_the_location_can_be_reached(
    noise: NoiseFamily, location: Fraction, scale: Fraction, by: int
) -> None:
    point = Fraction(round(location * 2**20) + by, 2**20)
    assert reachable(Drawn(location, scale, noise, 20, Fraction(0)), point)


def test_a_point_off_the_grid_cannot_be_reached() -> None:
    asked = Drawn(Fraction(1, 3), Fraction(1), Laplace(Fraction(1)), 4, Fraction(0))
    assert reachable(asked, Fraction(1, 16))
    assert not reachable(asked, Fraction(1, 32))


def test_a_point_too_far_to_try_is_not_held_against_the_sampler() -> None:
    assert reachable(Drawn(Fraction(0), Fraction(1), Laplace(Fraction(1)), 0, Fraction(0)), Fraction(10**6))


def test_played_bits_are_played_in_order() -> None:
    bits = PlayedBits(True, [5, 7])
    assert [bits(1), bits(64), bits(64), bits(4)] == [1, 5, 7, 7]


def test_forced_answers_depend_on_their_place_alone() -> None:
    one, two = Answers((3, -1), 5), Answers((3, -1), 5)
    noise = Laplace(Fraction(1))
    first = [one(Fraction(place), Fraction(1), noise, 20 * (place % 2)) for place in range(9)]
    second = [two(Fraction(-place), Fraction(2), noise, 20 * (place % 2)) for place in range(9)]
    assert first == second
    assert first[:2] == [3, -1]
    assert [drawn.location for drawn in two.draws] == [-place for place in range(9)]
    assert all((answer * 2**20).denominator == 1 for answer in first)


def test_a_witness_draws_what_its_sampler_draws() -> None:
    witness, sampler = RecordingSampler(sampler=ExactSampler(SeededBits(4))), ExactSampler(SeededBits(4))
    noise = Laplace(Fraction(1))
    drawn = [witness(Fraction(1), Fraction(2), noise, 10) for _ in range(5)]
    assert drawn == [sampler(Fraction(1), Fraction(2), noise, 10) for _ in range(5)]
    assert [found.answer for found in witness.draws] == drawn
    assert not witness.private
    assert RecordingSampler().private
