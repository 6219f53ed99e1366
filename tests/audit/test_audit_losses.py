"""Losses that the audit computes, against closed forms: never above the truth, and close to it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from dpnb_columnar.core.budget import Approximate, Concentrated, PrivacyCost, Pure
from dpnb_columnar.core.budget.costs import implies
from dpnb_columnar.core.noise import (
    ApproximateLaplace,
    ArsinhNormal,
    Gaussian,
    Laplace,
    NoiseFamily,
    PaperCauchy,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from dpnb_columnar.extensions.audit.exhaustive import (
    claimed,
    composed,
    concentrated_epsilon,
    concentrated_together,
    measured,
    worst_admissible,
)
from scipy.special import erfc
from scipy.stats import norm

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
