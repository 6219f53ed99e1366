"""Noise families for smooth sensitivity by name, each calibrated to a share with a beta of its own.

Every beta here is a public function of the share. It trades the reach of the smooth sensitivity (the larger beta, the
less it depends on databases that are many rows away) against the weight of the noise's tails.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpnb_columnar.budget import Approximate, Concentrated, PrivacyCost, Pure
from dpnb_columnar.budget.costs import floor_digits, numbers, pure_within
from dpnb_columnar.errors import UsageError, excerpt
from dpnb_columnar.noise import (
    ApproximateLaplace,
    ArsinhNormal,
    ClassicalGaussian,
    ClassicalLaplace,
    Gaussian,
    LaplaceLogNormal,
    NissimCauchy,
    NoiseFamily,
    PaperCauchy,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)

POLYPLACE_ALPHA = Fraction(5, 2)
"""epsilon/beta for PolyPlace: tails of power -3.5."""

CAUCHY_RATIO = Fraction(70_710_678, 100_000_000)
"""beta/epsilon for the paper's Cauchy noise: the largest eight-digit ratio below 1/sqrt(2)."""

CONCENTRATED_RATIO = Fraction(1, 5)
"""beta/sqrt(2 rho) for the families of concentrated differential privacy."""

STUDENT_DEGREES = 3
"""Degrees of freedom of the Student t noise that is listed; ``student-NU`` has others."""

LARGEST_DEGREES = 100


@dataclass(frozen=True, slots=True)
class SmoothFamily:
    """A noise family for smooth sensitivity, before calibration.

    Attributes:
        name: Its name on the command line and in the model.
        kind: How its loss is stated.
        calibrate: From the numbers of a loss to noise that costs no more.
    """

    name: str
    kind: type[PrivacyCost]
    calibrate: Callable[..., NoiseFamily]


def smooth_family(name: str) -> SmoothFamily:
    """Look up a noise family.

    Raises:
        UsageError: if no family has this name.
    """
    if name in _FAMILIES:
        return _FAMILIES[name]
    degrees = re.fullmatch(r"student-([1-9]\d{0,2})", name, re.ASCII)
    if degrees and int(degrees[1]) <= LARGEST_DEGREES:
        return _student(int(degrees[1]))
    raise UsageError(
        f"noise: no {excerpt(name)} for smooth sensitivity; known families: {', '.join(NOISE_FAMILIES)}, and "
        f"student-NU for NU degrees of freedom, 1 to {LARGEST_DEGREES}"
    )


def smooth_noise(name: str, loss: PrivacyCost) -> NoiseFamily:
    """Calibrate the noise of a family to a loss.

    Raises:
        ValueError: if the loss is not stated as the family states it, or if the family is not admissible for it.
    """
    return _calibrated(smooth_family(name), loss)


@lru_cache(maxsize=1024)
def _calibrated(family: SmoothFamily, loss: PrivacyCost) -> NoiseFamily:
    if not isinstance(loss, family.kind):
        raise ValueError(f"{family.name} noise is calibrated to a loss that is {family.kind.__name__.lower()}")
    return family.calibrate(*numbers(loss).values())


@lru_cache
def _student(degrees: int) -> SmoothFamily:
    """Make the Student t family of these degrees of freedom nu, with beta = epsilon/(nu + 3).

    That is well inside the admissible range, up to epsilon/nu.
    """
    return SmoothFamily(
        f"student-{degrees}",
        Pure,
        lambda epsilon: StudentT(epsilon, epsilon / (degrees + 3), Fraction(degrees)),
    )


def _gaussian_beta(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Choose beta as epsilon/(4 (1 + ln(2/delta))) (Nissim, Raskhodnikova and Smith 2007), at most 1/2."""
    return min(floor_digits(epsilon / (4 * (1 + _logarithm(delta)))), Fraction(1, 2))


def _laplace_beta(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Choose beta as epsilon/(2 ln(2/delta)) (Nissim, Raskhodnikova and Smith 2007), at most 1."""
    return min(floor_digits(epsilon / (2 * _logarithm(delta))), Fraction(1))


def _logarithm(delta: Fraction) -> Fraction:
    """Compute ln(2/delta). Any beta is admissible, so its last digit does not matter."""
    return Fraction(math.log(2) + math.log(delta.denominator) - math.log(delta.numerator))


def _concentrated_beta(rho: Fraction) -> Fraction:
    return pure_within(rho).epsilon * CONCENTRATED_RATIO


_FAMILIES = {
    family.name: family
    for family in (
        SmoothFamily("polyplace", Pure, lambda epsilon: PolyPlace(epsilon, epsilon / POLYPLACE_ALPHA)),
        _student(STUDENT_DEGREES),
        SmoothFamily("cauchy", Pure, lambda epsilon: PaperCauchy(epsilon, epsilon * CAUCHY_RATIO)),
        SmoothFamily("nissim-cauchy", Pure, lambda epsilon: NissimCauchy(epsilon, epsilon / 6)),
        SmoothFamily("gaussian", Approximate, lambda e, d: Gaussian(e, d, _gaussian_beta(e, d))),
        SmoothFamily("laplace", Approximate, lambda e, d: ApproximateLaplace(e, d, _laplace_beta(e, d))),
        SmoothFamily("classical-gaussian", Approximate, lambda e, d: ClassicalGaussian(e, d, _gaussian_beta(e, d))),
        SmoothFamily("classical-laplace", Approximate, lambda e, d: ClassicalLaplace(e, d, _laplace_beta(e, d))),
        SmoothFamily("laplace-log-normal", Concentrated, lambda rho: LaplaceLogNormal(rho, _concentrated_beta(rho))),
        SmoothFamily("uniform-log-normal", Concentrated, lambda rho: UniformLogNormal(rho, _concentrated_beta(rho))),
        SmoothFamily("arsinh-normal", Concentrated, lambda rho: ArsinhNormal(rho, _concentrated_beta(rho))),
    )
}

NOISE_FAMILIES = tuple(_FAMILIES)
"""Families by their name on the command line; the first is the default."""
