"""Noise families for smooth sensitivity by name, each calibrated to a share with its own beta (``tuning``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpnb_columnar.core.budget import Approximate, Concentrated, PrivacyCost, Pure
from dpnb_columnar.core.budget.costs import cost_parameters
from dpnb_columnar.core.mechanisms.tuning import LARGEST_DEGREES, beta_of, smoothness
from dpnb_columnar.core.noise import (
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
from dpnb_columnar.errors import UsageError, excerpt

STUDENT_DEGREES = 3
"""Degrees of freedom of the Student t noise that is listed; ``student-NU`` has others."""


@dataclass(frozen=True, slots=True)
class SmoothFamily:
    """A noise family for smooth sensitivity, before calibration.

    Attributes:
        name: Its name on the command line and in the model.
        kind: How its loss is stated.
        calibrate: From the numbers of a loss, and a beta, to noise that costs no more.
    """

    name: str
    kind: type[PrivacyCost]
    calibrate: Callable[..., NoiseFamily]


def smooth_family(name: str) -> SmoothFamily:
    """Look up a noise family."""
    if name in _FAMILIES:
        return _FAMILIES[name]
    try:
        beta_of(name)
    except ValueError:
        raise UsageError(
            f"noise: no {excerpt(name)} for smooth sensitivity; known families: {', '.join(NOISE_FAMILIES)}, and "
            f"student-NU for NU degrees of freedom, 1 to {LARGEST_DEGREES}"
        ) from None
    return _student(int(name.removeprefix("student-")))


def smooth_noise(name: str, loss: PrivacyCost) -> NoiseFamily:
    """Calibrate the noise of a family to a loss.

    Raises:
        ValueError: if the loss is not stated as the family states it, or if the family is not admissible for it.
    """
    return _calibrated(smooth_family(name), loss)


@lru_cache(maxsize=1024)
def _calibrated(family: SmoothFamily, loss: PrivacyCost) -> NoiseFamily:
    return family.calibrate(*cost_parameters(loss).values(), smoothness(family.name, loss).beta)


@lru_cache
def _student(degrees: int) -> SmoothFamily:
    """Make the Student t family of these degrees of freedom."""
    return SmoothFamily(f"student-{degrees}", Pure, lambda epsilon, beta: StudentT(epsilon, beta, Fraction(degrees)))


_FAMILIES = {
    family.name: family
    for family in (
        SmoothFamily("polyplace", Pure, PolyPlace),
        _student(STUDENT_DEGREES),
        SmoothFamily("cauchy", Pure, PaperCauchy),
        SmoothFamily("nissim-cauchy", Pure, NissimCauchy),
        SmoothFamily("gaussian", Approximate, Gaussian),
        SmoothFamily("laplace", Approximate, ApproximateLaplace),
        SmoothFamily("classical-gaussian", Approximate, ClassicalGaussian),
        SmoothFamily("classical-laplace", Approximate, ClassicalLaplace),
        SmoothFamily("laplace-log-normal", Concentrated, LaplaceLogNormal),
        SmoothFamily("uniform-log-normal", Concentrated, UniformLogNormal),
        SmoothFamily("arsinh-normal", Concentrated, ArsinhNormal),
    )
}

NOISE_FAMILIES = tuple(_FAMILIES)
"""Families by their name on the command line; the first is the default."""
