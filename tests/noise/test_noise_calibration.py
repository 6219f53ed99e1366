"""Noise: the loss that a family claims against the worst that can be measured from its density."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import pytest
from dpnb_columnar.core.noise import (
    ApproximateLaplace,
    ArsinhNormal,
    ClassicalGaussian,
    ClassicalLaplace,
    Gaussian,
    Laplace,
    LaplaceLogNormal,
    NissimCauchy,
    NoiseFamily,
    PaperCauchy,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from support.noise_cases import (
    APPROXIMATE_LAPLACE,
    CAUCHY,
    CLASSICAL,
    CONCENTRATED,
    GAUSSIAN,
    LAPLACE,
    NISSIM,
    POLYPLACE,
    STUDENT,
    every,
    precise,
    worst_hockey_stick,
    worst_loss,
    worst_renyi,
)

ROUNDING = 1e-9


@every([*POLYPLACE, *LAPLACE, *STUDENT])
def test_worst_case_loss_is_epsilon_and_never_more(family: NoiseFamily) -> None:
    epsilon = float(family.epsilon)
    worst = worst_loss(family)
    assert worst <= epsilon * (1 + ROUNDING)
    assert worst == pytest.approx(epsilon, rel=1e-6)


@every([POLYPLACE[1], LAPLACE[1], *STUDENT[1::5], *STUDENT[2::5]])
def test_one_percent_less_noise_loses_more_than_epsilon(family: NoiseFamily) -> None:
    assert worst_loss(family, 0.99) > float(family.epsilon) * 1.001


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(1, 999), st.fractions(Fraction(1, 5), 30, max_denominator=10))
def test_student_noise_is_private_and_tight_for_any_parameters(tenths: int, share: int, degrees: Fraction) -> None:
    epsilon = Fraction(tenths, 10)
    family = StudentT(epsilon, epsilon / max(degrees, Fraction(1)) * Fraction(share, 1000), degrees)
    assert worst_loss(family) == pytest.approx(float(epsilon), rel=1e-6)


def test_one_degree_of_freedom_is_the_least_cauchy_noise() -> None:
    for paper in CAUCHY:
        assert StudentT(paper.epsilon, paper.beta, Fraction(1)).scale < paper.scale


@every(CAUCHY)
def test_the_papers_cauchy_never_exceeds_epsilon(family: PaperCauchy) -> None:
    epsilon, beta = float(family.epsilon), float(family.beta)
    worst = worst_loss(family)
    distance = [math.acosh(math.cosh(b) + math.exp(-b) * epsilon**2 / 4) for b in (0.0, beta)]
    assert worst == pytest.approx(max(distance), rel=1e-6)
    assert worst <= epsilon


def test_the_papers_cauchy_approaches_epsilon_as_epsilon_falls() -> None:
    for epsilon in (Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**6)):
        with mpmath.workdps(50):
            exact = precise(epsilon)
            beta = exact / mpmath.sqrt(2)
            loss = mpmath.acosh(mpmath.cosh(beta) + mpmath.exp(-beta) * exact**2 / 4)
            assert 1 - exact < loss / exact < 1


@every(NISSIM)
def test_nissims_cauchy_loses_less_than_a_quarter_of_epsilon(family: NissimCauchy) -> None:
    assert worst_loss(family) <= float(family.epsilon) * math.sqrt(2) / 6


@every([*GAUSSIAN, *APPROXIMATE_LAPLACE, *CLASSICAL])
def test_worst_hockey_stick_divergence_never_exceeds_delta(family: NoiseFamily) -> None:
    assert worst_hockey_stick(family, float(family.epsilon)) <= float(family.delta) * (1 + 1e-8)


@every([family for family in (*GAUSSIAN, *APPROXIMATE_LAPLACE) if family.delta < family.epsilon / 100])
def test_the_worst_divergence_is_delta_and_less_noise_exceeds_it(family: NoiseFamily) -> None:
    epsilon, delta = float(family.epsilon), float(family.delta)
    assert worst_hockey_stick(family, epsilon) == pytest.approx(delta, rel=1e-6)
    assert worst_hockey_stick(family, epsilon, 0.99) > delta * 1.002


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([Gaussian, ApproximateLaplace]),
    st.fractions(Fraction(1, 50), 10, max_denominator=50),
    st.integers(1, 10),
    st.fractions(Fraction(1, 100), Fraction(3, 2), max_denominator=100),
)
def test_noise_with_a_delta_is_private_for_any_parameters(
    make: Callable[[Fraction, Fraction, Fraction], NoiseFamily], epsilon: Fraction, digits: int, share: Fraction
) -> None:
    delta = Fraction(1, 10**digits)
    beta = share * epsilon / Fraction(4 * (1 + math.log(2 / delta)))
    assert worst_hockey_stick(make(epsilon, delta, beta), float(epsilon)) <= float(delta) * (1 + 1e-8)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1/100000"), ("1/10", "1/10000000"), ("5", "1/1000")])
def test_gaussian_noise_of_constant_scale_is_that_of_balle_and_wang(epsilon: str, delta: str) -> None:
    """Their condition: Phi(1/(2 sigma) - epsilon sigma) - exp(epsilon) Phi(-1/(2 sigma) - epsilon sigma) <= delta."""
    family = Gaussian(Fraction(epsilon), Fraction(delta), Fraction(0))
    with mpmath.workdps(50):
        e, d, found = map(precise, (family.epsilon, family.delta, family.scale))

        def loses(sigma: mpmath.mpf) -> mpmath.mpf:
            near, far = 1 / (2 * sigma) - e * sigma, -1 / (2 * sigma) - e * sigma
            return mpmath.ncdf(near) - mpmath.exp(e) * mpmath.ncdf(far)

        assert loses(found) <= d < loses(found * (1 - mpmath.mpf(2) ** -29))


def test_the_laplace_scale_with_a_delta_is_the_larger_of_three_in_fifty_digits() -> None:
    for family in APPROXIMATE_LAPLACE:
        with mpmath.workdps(50):
            e, d, b = map(precise, (family.epsilon, family.delta, family.beta))
            dilation = (1 - mpmath.exp(-b)) * mpmath.exp(-(e + b) / mpmath.expm1(b))
            exact = max(1 / (mpmath.expm1(b) * mpmath.acosh(d / dilation)), 1 / e, mpmath.exp(-b) / (e - b))
            assert 0 <= precise(family.scale) / exact - 1 < 1e-30


@every(
    [
        pytest.param(family, marks=pytest.mark.slow) if isinstance(family, LaplaceLogNormal) else family
        for family in CONCENTRATED
    ]
)
def test_worst_renyi_divergence_never_exceeds_order_times_rho(family: NoiseFamily) -> None:
    assert 0.5 < worst_renyi(family, float(family.rho)) <= 1


@pytest.mark.slow
@every([CONCENTRATED[index] for index in (0, 5, 10)])
def test_for_a_small_rho_one_percent_less_noise_exceeds_it(family: NoiseFamily) -> None:
    assert worst_renyi(family, float(family.rho), 0.99) > 1.01


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(
    st.sampled_from([ArsinhNormal, UniformLogNormal]),
    st.fractions(Fraction(1, 1000), 3, max_denominator=1000),
    st.fractions(Fraction(1, 200), 1, max_denominator=200),
)
def test_concentrated_noise_is_private_for_any_parameters(
    make: Callable[[Fraction, Fraction], NoiseFamily], rho: Fraction, share: Fraction
) -> None:
    family = make(rho, share * Fraction(math.isqrt(int(2 * rho * 10**12)), 10**6))
    assert worst_renyi(family, float(rho)) <= 1


def test_arsinh_normal_noise_is_hardly_more_than_gaussian() -> None:
    """Gaussian noise of a constant scale has standard deviation 1/kappa; here beta is kappa/10."""
    family = CONCENTRATED[0]
    deviation = float(family.scale) * math.exp(family.standard.log_deviation())
    assert 1 < deviation * math.sqrt(2 * float(family.rho)) < 1.06


@pytest.mark.parametrize(
    ("family", "parameters", "message"),
    [
        (PolyPlace, "1 1", "0 < beta < epsilon"),
        (PolyPlace, "1 0", "0 < beta < epsilon"),
        (PaperCauchy, "1 7072/10000", r"beta <= epsilon/sqrt\(2\) = 0.707107, found"),
        (PaperCauchy, "0 0", "0 < beta"),
        (NissimCauchy, "1 1/5", "0 < beta <= epsilon/6 = 0.166667, found beta = 0.2"),
        (NissimCauchy, "-1 -1", "0 < beta"),
        (Laplace, "0", "epsilon > 0"),
        (StudentT, "1 2/5 3", "0 < beta < epsilon/3 = 0.333333, found beta = 0.4"),
        (StudentT, "1 1/3 3", "0 < beta < epsilon/3"),
        (StudentT, "1 1 1/2", "0 < beta < epsilon = 1, found beta = 1"),
        (StudentT, "1 0 3", "0 < beta"),
        (StudentT, "1 1/5 0", "degrees > 0"),
        (Gaussian, "1 1/100000 1/10", "0 <= beta < 0.0646934, found beta = 0.1"),
        (Gaussian, "1 1/100000 -1/10", "0 <= beta"),
        (Gaussian, "1 1 0", "0 < delta < 1"),
        (Gaussian, "0 1/10 0", "epsilon > 0"),
        (ApproximateLaplace, "1 1/100000 1/5", "beta < 0.11331, found beta = 0.2"),
        (ApproximateLaplace, "1 1/100000 0", "beta > 0"),
        (ApproximateLaplace, "1 9/10 2", "beta < "),
        (ClassicalGaussian, "1 1/100000 1/50", "0 < beta <= 0.0189307, found"),
        (ClassicalLaplace, "1 1/100000 1/20", "0 < beta <= 0.0409632, found"),
        (ClassicalLaplace, "20 1/100000 4/5", "0 < beta <= 0.720698, found"),
        (ClassicalLaplace, "1 0 1/20", "0 < delta < 1"),
        (ArsinhNormal, "0 1", "rho > 0"),
        (UniformLogNormal, "1/2 0", r"0 < beta <= sqrt\(2 rho\) = 1, found beta = 0"),
        (LaplaceLogNormal, "1/50 1/4", r"beta <= sqrt\(2 rho\) = 0.2, found beta = 0.25"),
    ],
)
def test_inadmissible_parameters_are_refused(family: Callable[..., object], parameters: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        family(*map(Fraction, parameters.split()))
