"""Noise: density, survival, its inverse and the sampler describe one distribution."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from support.noise_cases import DRAWN, FAMILIES, LAPLACE, POLYPLACE, every, name_of, panels

from dpnb_columnar.noise import NoiseFamily, PolyPlace, SeededBits, StudentT, SystemBits, draw


@pytest.mark.parametrize("family", POLYPLACE[:6], ids=name_of)
def test_polyplace_has_the_density_of_its_definition(family: PolyPlace) -> None:
    scale, alpha = 1 / float(family.beta), float(family.epsilon / family.beta)
    edge = scale / alpha
    join = (1 - 1 / alpha) ** (alpha - 1) / (1 + 1 / alpha) ** -(alpha + 1)

    def shape(z: float) -> float:
        return (1 - z / scale) ** (alpha - 1) if z <= edge else join * (1 + z / scale) ** -(alpha + 1)

    total = 2 * (integrate.quad(shape, 0, edge)[0] + integrate.quad(shape, edge, math.inf)[0])
    z = np.array([0.0, 0.3, 0.9, 1.1, 4.0, 50.0]) * edge
    expected = [math.log(shape(point) / total) for point in z]
    assert family.log_density(z) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("degrees", ["1/2", "1", "5/2", "3", "10"])
def test_student_noise_has_students_distribution(degrees: str) -> None:
    family = StudentT(Fraction(1), Fraction(1, 20), Fraction(degrees))
    expected = stats.t(df=float(family.degrees), scale=float(family.scale))
    z = np.geomspace(1e-3, 1e6, 40)
    assert family.log_density(z) == pytest.approx(expected.logpdf(z), rel=1e-9)
    assert family.survival(z) == pytest.approx(2 * expected.sf(z), rel=1e-9)


@every(FAMILIES)
def test_the_density_is_symmetrical(family: NoiseFamily) -> None:
    z = family.quantile(0.5) * np.geomspace(1e-3, 1e3, 50)
    assert np.array_equal(family.log_density(z), family.log_density(-z))


@every(FAMILIES)
def test_survival_is_the_integral_of_the_density(family: NoiseFamily) -> None:
    probabilities = (1 - 1e-12, 0.999, 0.9, 0.5, 0.1, 1e-3, 1e-6, 1e-10)
    for near, far in pairwise([0.0, *(family.quantile(probability) for probability in probabilities)]):
        z, weights = panels(np.geomspace(near, far, 80) if near else np.linspace(near, far, 80))
        mass = 2 * float(np.sum(weights * np.exp(family.log_density(z))))
        found = family.survival(np.array([near])) - family.survival(np.array([far]))
        # PolyPlace has a kink within one of the panels.
        assert mass == pytest.approx(float(found[0]), rel=1e-5 if family.name == "polyplace" else 1e-8, abs=1e-15)


@every(FAMILIES)
@settings(deadline=None, max_examples=20)
@given(st.floats(1e-12, 1 - 1e-6))
def test_quantile_inverts_survival(family: NoiseFamily, probability: float) -> None:
    assert family.survival(np.array([family.quantile(probability)]))[0] == pytest.approx(probability, rel=1e-9)


def test_a_quantile_beyond_all_numbers_is_infinite() -> None:
    family = StudentT(Fraction(1), Fraction(1, 2), Fraction(1, 200))
    assert 1e100 < family.quantile(0.2) < math.inf
    assert family.quantile(1e-3) == math.inf


@pytest.mark.parametrize("probability", [0.0, 1.0, -0.5, math.nan])
def test_no_quantile_of_what_is_not_a_probability(probability: float) -> None:
    with pytest.raises(ValueError, match="0 < probability < 1"):
        LAPLACE[1].quantile(probability)


@pytest.mark.parametrize("degrees", ["1/50", "1/2", "2", "7/2", "30"])
@settings(deadline=None, max_examples=12)
@given(st.integers(1, 2**64 - 2))
def test_the_ball_of_students_inverse_holds_what_mpmath_finds(degrees: str, first: int) -> None:
    standard = StudentT(Fraction(100), Fraction(1), Fraction(degrees)).standard
    with ctx.workprec(128):
        ball = standard.magnitude(arb((2 * first + 1, -65), (1, -65)))
        if ball is None:  # only where so few bits say little: more would be drawn
            assert first < 2**40
            return
        ends = [end.str(60, radius=False) for end in (ball.lower(), ball.upper())]
    with mpmath.workdps(60):
        low, high = (mpmath.mpf(end) for end in ends)
        nu = mpmath.mpf(Fraction(degrees).numerator) / Fraction(degrees).denominator

        def survival(z: mpmath.mpf) -> mpmath.mpf:
            return mpmath.betainc(nu / 2, 0.5, 0, nu / (nu + z**2), regularized=True)

        uniform = mpmath.mpf(2 * first + 1) / mpmath.mpf(2) ** 65
        assert survival(high) < uniform
        assert low <= 0 or survival(low) > uniform


@pytest.mark.slow
@every(DRAWN)
def test_the_sampler_draws_this_distribution_and_no_other(family: NoiseFamily) -> None:
    """Kolmogorov and Smirnov accept the true scale and reject 0.9 and 1.1 times it; signs are a fair coin's."""
    # How far survival moves with the scale decides how many draws it takes to see a tenth of it.
    z = family.quantile(0.5) * np.geomspace(0.01, 100, 200)
    visible = 0.1 * float(np.max(2 * z * np.exp(family.log_density(z))))
    bits, count = SeededBits(20211), min(int(10 / visible**2), 12_000)
    sample = np.array([float(draw(Fraction(0), Fraction(1), family, bits, grid_bits=40)) for _ in range(count)])

    def p_value(scale: float) -> float:
        return float(stats.kstest(np.abs(sample), lambda z: 1 - family.survival(z / scale)).pvalue)

    assert p_value(1.0) > 1e-4
    assert p_value(0.9) < 1e-4
    assert p_value(1.1) < 1e-4
    assert stats.binomtest(int((sample > 0).sum()), count).pvalue > 1e-4


def test_the_system_generator_draws_the_same_distribution() -> None:
    family = LAPLACE[1]
    sample = [float(draw(Fraction(5), Fraction(2), family, SystemBits(), grid_bits=30)) for _ in range(4000)]
    assert stats.kstest(sample, stats.laplace(loc=5, scale=2).cdf).pvalue > 1e-6


def test_importing_the_families_is_light() -> None:
    code = "import sys, dpnb_columnar.noise; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
