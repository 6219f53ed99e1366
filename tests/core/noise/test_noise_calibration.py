"""Noise: the loss that a family claims against the worst that can be measured from its density."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
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
    ONE_UNIFORM,
    POLYPLACE,
    STUDENT,
    every,
    precise,
    renyi,
    worst_hockey_stick,
    worst_loss,
    worst_renyi,
)

from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family, smooth_noise
from dpnb_columnar.core.noise import (
    ApproximateLaplace,
    ClassicalGaussian,
    ClassicalLaplace,
    Gaussian,
    Laplace,
    NissimCauchy,
    NoiseFamily,
    PaperCauchy,
    PolyPlace,
    StudentT,
)
from dpnb_columnar.core.noise.family import rational
from dpnb_columnar.extensions.concentrated import log_normal
from dpnb_columnar.extensions.concentrated.log_normal import (
    ArsinhNormal,
    ConcentratedNoise,
    Cumulants,
    LaplaceLogNormal,
    Shape,
    StandardArsinhNormal,
    StandardLaplaceLogNormal,
    StandardUniformLogNormal,
    UniformLogNormal,
    calibrate,
    cumulants,
    is_certified,
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


every_concentrated = every(
    [
        pytest.param(family, marks=pytest.mark.slow) if isinstance(family, LaplaceLogNormal) else family
        for family in CONCENTRATED
    ]
)


@every_concentrated
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
        (PaperCauchy, "1 7072/10000", r"beta <= epsilon/sqrt\(2\) = 0.707107, found"),
        (NissimCauchy, "1 1/5", "0 < beta <= epsilon/6 = 0.166667, found beta = 0.2"),
        (Laplace, "0", "epsilon > 0"),
        (StudentT, "1 2/5 3", "0 < beta < epsilon/3 = 0.333333, found beta = 0.4"),
        (StudentT, "1 1 1/2", "0 < beta < epsilon = 1, found beta = 1"),
        (StudentT, "1 1/5 0", "degrees > 0"),
        (Gaussian, "1 1/100000 1/10", "0 <= beta < 0.0646934, found beta = 0.1"),
        (Gaussian, "1 1/100000 -1/10", "0 <= beta"),
        (Gaussian, "1 1 0", "0 < delta < 1"),
        (Gaussian, "0 1/10 0", "epsilon > 0"),
        (ApproximateLaplace, "1 1/100000 1/5", "beta < 0.11331, found beta = 0.2"),
        (ApproximateLaplace, "1 1/100000 0", "beta > 0"),
        (ClassicalGaussian, "1 1/100000 1/50", "0 < beta <= 0.0189307, found"),
        (ClassicalLaplace, "1 1/100000 1/20", "0 < beta <= 0.0409632, found"),
        (ClassicalLaplace, "1 0 1/20", "0 < delta < 1"),
        (ArsinhNormal, "0 1", "rho > 0"),
        (UniformLogNormal, "1/2 0", r"0 < beta <= sqrt\(2 rho\) = 1, found beta = 0"),
        (LaplaceLogNormal, "1/50 1/4", r"beta <= sqrt\(2 rho\) = 0.2, found beta = 0.25"),
    ],
)
def test_inadmissible_parameters_are_refused(family: Callable[..., object], parameters: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        family(*map(Fraction, parameters.split()))


# Single faults that a noise family could have: in what is drawn, in its density, or in its scale.

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


# The certificate of concentrated scales: F(mu) bounded from above, and the condition for every mu.

SHAPES = [
    StandardArsinhNormal,
    StandardUniformLogNormal,
    pytest.param(StandardLaplaceLogNormal, marks=pytest.mark.slow),
]
RELEASED = Fraction(1, 25)
"""(beta/kappa)^2 of every release."""


def moment(shape: Shape, beta: float, scale: float, mu: float) -> mpmath.mpf:
    """Integrate exp(mu s) against the density of X by its definition, over a grid of log x that is even and fine.

    The density is a mean over Y, and -psi its derivative's ratio to it, both term by term; of arsinh-normal noise the
    logarithm of the density is differentiated numerically.
    """
    sigma = mpmath.mpf(shape.sigma.numerator) / shape.sigma.denominator
    normal = [(y, mpmath.npdf(y) / 8) for y in mpmath.linspace(-11, 11, 177)]
    mixed = [(mpmath.exp(-sigma * y), weight) for y, weight in normal]

    def density_and_shift(x: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
        if isinstance(shape, StandardLaplaceLogNormal):
            terms = [(rate, weight * rate * mpmath.exp(-x * rate) / 2) for rate, weight in mixed]
            density = mpmath.fsum(term for _, term in terms)
            return density, mpmath.fsum(rate * term for rate, term in terms) / density
        if isinstance(shape, StandardUniformLogNormal):
            start = mpmath.log(x) / sigma  # the least Y that reaches x; the density falls as that Y is passed
            density = mpmath.exp(sigma**2 / 2) * mpmath.ncdf(-start - sigma) / 2
            return density, mpmath.npdf(start) * mpmath.exp(-sigma * start) / 2 / (sigma * x) / density

        def log_density(at: mpmath.mpf) -> mpmath.mpf:
            return mpmath.log(mpmath.npdf(mpmath.asinh(sigma * at) / sigma)) - mpmath.log1p((sigma * at) ** 2) / 2

        return mpmath.exp(log_density(x)), -mpmath.diff(log_density, x, h=x * mpmath.mpf(10) ** -10)

    def integrand(log_x: mpmath.mpf) -> mpmath.mpf:
        x = mpmath.exp(log_x)
        density, shift = density_and_shift(x)
        return 2 * x * density * mpmath.exp(mu * beta * (1 - x * shift)) * mpmath.cosh(mu * shift / scale)

    with mpmath.workdps(25):
        return mpmath.fsum(integrand(log_x) for log_x in mpmath.linspace(-36, 5, 657)) / 16


def parts(make: type[Shape], ratio_squared: Fraction) -> tuple[Shape, Cumulants]:
    unit = calibrate(make, ratio_squared)
    with ctx.workprec(log_normal.PRECISION):
        found = cumulants(make(unit.sigma), arb(rational(ratio_squared)).sqrt(), 1 / arb(rational(unit.scale)))
    assert found is not None
    return make(unit.sigma), found


@pytest.mark.slow
@pytest.mark.parametrize("make", SHAPES)
def test_bounds_are_what_mpmath_integrates_and_never_below(make: type[Shape]) -> None:
    scale = float(calibrate(make, RELEASED).scale)
    shape, found = parts(make, RELEASED)
    for mu in (-2.5, 0.7):
        exact = moment(shape, 0.2, scale, mu)
        with ctx.workprec(log_normal.PRECISION):
            bound = mpmath.mpf(found.bound(arb(mu)).str(25, radius=False))
        assert -1e-11 < bound / exact - 1 < 1e-8


@pytest.mark.parametrize("make", SHAPES)
def test_bounds_by_few_nodes_are_larger_and_never_smaller(make: type[Shape], monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of a rule is counted, whatever the rule."""
    _, fine = parts(make, RELEASED)
    monkeypatch.setattr(log_normal, "ORDERS", (3,))
    monkeypatch.setattr(log_normal, "PANEL_ERROR", arb(1))
    _, coarse = parts(make, RELEASED)
    with ctx.workprec(log_normal.PRECISION):
        for mu in (-6.0, -1.0, 0.1, 2.0):
            assert fine.bound(arb(mu)) < coarse.bound(arb(mu))


@pytest.mark.parametrize("make", SHAPES)
def test_bounds_at_the_farthest_mu_leave_the_condition_true(make: type[Shape]) -> None:
    _, found = parts(make, RELEASED)
    with ctx.workprec(log_normal.PRECISION):
        for mu in found.farthest:
            assert all(found.bound(arb(mu) * factor) < (arb(mu * factor) ** 2 / 2).exp() for factor in (1, 1.5, 3))


@pytest.mark.parametrize("make", SHAPES)
def test_the_released_scales_are_certified_and_less_is_not(make: type[Shape]) -> None:
    unit = calibrate(make, RELEASED)
    shape = make(unit.sigma)
    assert is_certified(shape, RELEASED, unit.scale)
    for share in (Fraction(7, 10), Fraction(99, 100), Fraction(9998, 10000)):
        assert not is_certified(shape, RELEASED, unit.scale * share)


@pytest.mark.parametrize("name", [name for name in NOISE_FAMILIES if "normal" in name])
@pytest.mark.parametrize("rho", ["1/20000", "1/7", "2", "123456789/1000000"])
def test_every_release_has_the_ratio_that_is_certified(name: str, rho: str) -> None:
    family = smooth_noise(name, smooth_family(name).kind(Fraction(rho)))
    assert isinstance(family, ConcentratedNoise)
    assert log_normal._ratio_squared(family.rho, family.beta) == RELEASED


@every_concentrated
def test_every_scale_is_certified_and_seven_tenths_of_it_is_not(family: ConcentratedNoise) -> None:
    ratio_squared = max(log_normal._ratio_squared(family.rho, family.beta), log_normal.SMALLEST_RATIO**2)
    scale = calibrate(family.shape, ratio_squared).scale
    assert is_certified(family.standard, ratio_squared, scale)
    assert not is_certified(family.standard, ratio_squared, scale * Fraction(7, 10))


def test_a_steeper_condition_than_that_of_the_shape_is_never_certified() -> None:
    """Where beta reaches sigma, no scale is private."""
    assert not is_certified(StandardArsinhNormal(Fraction(1, 2)), Fraction(1, 4), Fraction(1000))


def test_a_scale_is_raised_until_it_is_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    scales: list[Fraction] = []

    def third(score: object, ratio_squared: Fraction, scale: Fraction) -> bool:
        scales.append(scale)
        return len(scales) == 3

    monkeypatch.setattr(log_normal, "is_certified", third)
    found = calibrate.__wrapped__(StandardArsinhNormal, RELEASED)
    assert found.scale == scales[2]
    assert [float(scale / scales[0]) for scale in scales] == pytest.approx([1, 1 + 2**-14, 1 + 3 * 2**-14], rel=1e-7)


def test_a_family_without_a_certified_scale_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_normal, "is_certified", lambda *_: False)
    with pytest.raises(ArithmeticError, match=r"no scale of StandardArsinhNormal was certified .* = 1/25"):
        calibrate.__wrapped__(StandardArsinhNormal, RELEASED)


@pytest.mark.parametrize(
    "make", [ArsinhNormal, UniformLogNormal, pytest.param(LaplaceLogNormal, marks=pytest.mark.slow)]
)
def test_enclosed_scores_are_those_of_the_search(make: type[ConcentratedNoise]) -> None:
    """Two quadratures of one function: in floating point by the trapezoidal rule, and in ball arithmetic."""
    shape = make(Fraction(1, 2), Fraction(1, 5)).standard
    scores = shape.scores(9.0, 400)
    _, found = parts(make(Fraction(1, 2), Fraction(1, 5)).shape, RELEASED)
    for mu in (-3.0, -0.5, 0.5, 3.0):
        scale = calibrate(make(Fraction(1, 2), Fraction(1, 5)).shape, RELEASED).scale
        steepness = scores._steepness_at(np.array([mu]), 0.2, 1 / float(scale))[0]
        with ctx.workprec(log_normal.PRECISION):
            bound = float(2 * found.bound(arb(mu)).log() / arb(mu) ** 2)
        assert bound == pytest.approx(steepness, rel=1e-7)
        assert math.isfinite(bound)


@pytest.mark.parametrize("mu", [-30.0, -10.0, -2.0, 3.0])
def test_the_mass_beyond_the_panels_counts_by_hoelders_inequality(mu: float) -> None:
    """Alone, without a panel: tilted by mu beta/sigma where mu is negative, up to W, and beyond it."""
    tilt, speed, reach, shift = 0.5, 0.7, 6.0, 1.5
    found = Cumulants([], arb(tilt), arb(0.1), arb(speed), arb(reach), arb(shift), (-50.0, 50.0)).bound(arb(mu))
    turned = max(-mu * tilt, 0.0)
    exponent = turned * reach - reach**2 / 2 if turned <= reach else turned**2 / 2
    assert float(found) == pytest.approx(2 * math.exp(exponent) * math.cosh(mu * speed * shift))


@pytest.mark.parametrize("shape", [StandardLaplaceLogNormal, StandardUniformLogNormal, StandardArsinhNormal])
@pytest.mark.parametrize("sigma", [Fraction(1, 4), Fraction(1), Fraction(3)])
def test_the_score_grows_as_the_logarithm_at_most(shape: type[Shape], sigma: Fraction) -> None:
    """-u psi(u), as a difference of the density's logarithm: it is not negative, and bounded as in Lemma 5.5."""
    logs, step, number = np.linspace(-6, 6, 241), 1e-4, float(sigma)
    ahead, behind = (shape(sigma).log_density(np.exp(logs + sign * step / 2)) for sign in (1, -1))
    growth = (behind - ahead) / step
    assert growth.min() > -1e-6
    if shape is StandardArsinhNormal:
        assert np.all(growth <= np.arcsinh(number * np.exp(logs)) / number**2 + 1 + 1e-6)
        assert growth[-1] > np.arcsinh(number * np.exp(logs[-1])) / number**2 + 0.9
        return
    slopes = np.diff(growth) / np.diff(logs)
    assert slopes.max() <= (1 + 1e-3) / number**2
    assert slopes.max() > 0.6 / number**2
