"""Single faults that a noise family could have: in what is drawn, in its density, or in its scale."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dpnb_columnar.core.noise import ClassicalGaussian, ClassicalLaplace, NissimCauchy, NoiseFamily, PaperCauchy
from flint import arb, ctx
from support.noise_cases import CONCENTRATED, ONE_UNIFORM, every, renyi

PROBABILITIES = (1 - 1e-6, 0.97, 0.75, 0.5, 0.3, 0.1, 0.02, 1e-4, 1e-9)


@every(ONE_UNIFORM)
def test_what_is_drawn_has_the_survival_that_is_claimed(family: NoiseFamily) -> None:
    """Catches: a fault in a tail or in the middle of the draws, such as PolyPlace's tail; a sigma or scale halved."""
    for probability in PROBABILITIES:
        with ctx.workprec(128):
            magnitude = family.magnitude(arb(probability))
        assert magnitude is not None
        assert float(family.survival(np.array([float(magnitude)]))[0]) == pytest.approx(probability, rel=1e-6)


@every([CONCENTRATED[index] for index in (7, 12)])
def test_what_is_drawn_of_two_numbers_has_the_survival_that_is_claimed(family: NoiseFamily) -> None:
    """Catches: a sigma halved, or the normal left out, in the draws alone. Over an even grid of both numbers."""
    steps = 32
    numbers = [arb((step + 0.5) / steps) for step in range(steps)]
    with ctx.workprec(64):
        drawn = np.array([float(family.magnitude(one, two) or 0) for one in numbers for two in numbers])
    for probability in (0.9, 0.7, 0.5, 0.3, 0.1, 0.04):
        assert np.mean(drawn > family.quantile(probability)) == pytest.approx(probability, rel=0.08)
    deviation = math.sqrt(float(np.mean(drawn**2)))
    assert deviation == pytest.approx(float(family.scale) * math.exp(family.standard.log_deviation()), rel=0.15)


@every([CONCENTRATED[index] for index in (2, 7, 12)])
def test_a_worst_neighbour_loses_no_more_than_rho(family: NoiseFamily) -> None:
    """Catches: half of a sigma or of a scale, in each concentrated family: the shift and dilation that cost most."""
    rho, beta = float(family.rho), float(family.beta)
    orders = 1 + np.array([0.1, 1.0, 4.0]) / math.sqrt(2 * rho)
    worst = max(
        float(np.max(renyi(family, orders, min(1.0, ratio), ratio) / (orders * rho)))
        for ratio in (math.exp(-beta), math.exp(beta))
    )
    assert 0.5 < worst <= 1


def test_classical_noise_has_the_published_constants() -> None:
    """Catches: a constant that is smaller, and still private: it would no longer be what others are compared with."""
    epsilon, delta = Fraction(1, 2), Fraction(2 * math.exp(-8))  # 5 sqrt(2 ln(2/delta)) = 20
    assert float(ClassicalGaussian(epsilon, delta, Fraction(1, 100)).scale) == pytest.approx(20 / 0.5)
    assert ClassicalLaplace(epsilon, delta, Fraction(1, 100)).scale == 2 / epsilon
    assert float(PaperCauchy(epsilon, Fraction(1, 3)).scale) == pytest.approx(2 * math.sqrt(2))
    assert NissimCauchy(epsilon, Fraction(1, 12)).scale == 12
