"""The certificate of concentrated scales: F(mu) bounded from above, and the condition for every mu."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family, smooth_noise
from dpnb_columnar.core.noise import ArsinhNormal, LaplaceLogNormal, UniformLogNormal
from dpnb_columnar.core.noise.family import rational
from dpnb_columnar.extensions.concentrated import log_normal
from dpnb_columnar.extensions.concentrated import log_normal as certificate
from dpnb_columnar.extensions.concentrated.log_normal import (
    ConcentratedNoise,
    Cumulants,
    Shape,
    StandardArsinhNormal,
    StandardLaplaceLogNormal,
    StandardUniformLogNormal,
    calibrate,
    cumulants,
    is_certified,
)
from flint import arb, ctx
from support.noise_cases import CONCENTRATED, every

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


def parts(make: Callable[[Fraction], Shape], ratio_squared: Fraction) -> tuple[Shape, Cumulants]:
    unit = calibrate(make, ratio_squared)
    with ctx.workprec(certificate.PRECISION):
        found = cumulants(make(unit.sigma).score(), arb(rational(ratio_squared)).sqrt(), 1 / arb(rational(unit.scale)))
    assert found is not None
    return make(unit.sigma), found


@pytest.mark.slow
@pytest.mark.parametrize("make", SHAPES)
def test_bounds_are_what_mpmath_integrates_and_never_below(make: Callable[[Fraction], Shape]) -> None:
    scale = float(calibrate(make, RELEASED).scale)
    shape, found = parts(make, RELEASED)
    for mu in (-2.5, 0.7):
        exact = moment(shape, 0.2, scale, mu)
        with ctx.workprec(certificate.PRECISION):
            bound = mpmath.mpf(found.bound(arb(mu)).str(25, radius=False))
        assert -1e-11 < bound / exact - 1 < 1e-8


@pytest.mark.parametrize("make", SHAPES)
def test_bounds_by_few_nodes_are_larger_and_never_smaller(
    make: Callable[[Fraction], Shape], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of a rule is counted, whatever the rule."""
    _, fine = parts(make, RELEASED)
    monkeypatch.setattr(certificate, "ORDERS", (3,))
    monkeypatch.setattr(certificate, "PANEL_ERROR", arb(1))
    _, coarse = parts(make, RELEASED)
    with ctx.workprec(certificate.PRECISION):
        for mu in (-6.0, -1.0, 0.1, 2.0):
            assert fine.bound(arb(mu)) < coarse.bound(arb(mu))


@pytest.mark.parametrize("make", SHAPES)
def test_bounds_at_the_farthest_mu_leave_the_condition_true(make: Callable[[Fraction], Shape]) -> None:
    _, found = parts(make, RELEASED)
    with ctx.workprec(certificate.PRECISION):
        for mu in found.farthest:
            assert all(found.bound(arb(mu) * factor) < (arb(mu * factor) ** 2 / 2).exp() for factor in (1, 1.5, 3))


@pytest.mark.parametrize("make", SHAPES)
def test_the_released_scales_are_certified_and_less_is_not(make: Callable[[Fraction], Shape]) -> None:
    unit = calibrate(make, RELEASED)
    score = make(unit.sigma).score()
    assert is_certified(score, RELEASED, unit.scale)
    for share in (Fraction(7, 10), Fraction(99, 100), Fraction(9998, 10000)):
        assert not is_certified(score, RELEASED, unit.scale * share)


@pytest.mark.parametrize("name", [name for name in NOISE_FAMILIES if "normal" in name])
@pytest.mark.parametrize("rho", ["1/20000", "1/7", "2", "123456789/1000000"])
def test_every_release_has_the_ratio_that_is_certified(name: str, rho: str) -> None:
    family = smooth_noise(name, smooth_family(name).kind(Fraction(rho)))
    assert isinstance(family, ConcentratedNoise)
    assert log_normal._ratio_squared(family.rho, family.beta) == RELEASED


@every(
    [
        pytest.param(family, marks=pytest.mark.slow) if isinstance(family, LaplaceLogNormal) else family
        for family in CONCENTRATED
    ]
)
def test_every_scale_is_certified_and_seven_tenths_of_it_is_not(family: ConcentratedNoise) -> None:
    ratio_squared = max(log_normal._ratio_squared(family.rho, family.beta), log_normal.SMALLEST_RATIO**2)
    scale = calibrate(family.shape, ratio_squared).scale
    assert is_certified(family.standard.score(), ratio_squared, scale)
    assert not is_certified(family.standard.score(), ratio_squared, scale * Fraction(7, 10))


def test_a_steeper_condition_than_that_of_the_shape_is_never_certified() -> None:
    """Where beta reaches sigma, no scale is private."""
    score = StandardArsinhNormal(Fraction(1, 2)).score()
    assert not is_certified(score, Fraction(1, 4), Fraction(1000))


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
        with ctx.workprec(certificate.PRECISION):
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
