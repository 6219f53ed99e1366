"""Noise families for smooth sensitivity by name, each calibrated to a share with its own beta (``tuning``)."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from dpnb_columnar.core.budget import PrivacyCost
from dpnb_columnar.core.budget.costs import cost_parameters
from dpnb_columnar.core.mechanisms.tuning import LARGEST_DEGREES, SmoothFamily, beta_of, degrees_of, smoothness
from dpnb_columnar.core.noise import (
    ApproximateLaplace,
    ClassicalGaussian,
    ClassicalLaplace,
    Gaussian,
    NissimCauchy,
    NoiseFamily,
    PaperCauchy,
    PolyPlace,
    StudentT,
)
from dpnb_columnar.errors import UsageError, excerpt
from dpnb_columnar.registry import extension_families, noise_family, own_families

STUDENT_DEGREES = 3
"""Degrees of freedom of the Student t noise that is listed; ``student-NU`` has others."""


def smooth_family(name: str) -> SmoothFamily:
    """Look up a noise family."""
    if name in _FAMILIES:
        return _FAMILIES[name]
    if (degrees := degrees_of(name)) is not None:
        return _student(degrees)
    if (family := noise_family(name)) is None:
        raise UsageError(
            f"noise: no {excerpt(name)} for smooth sensitivity; known families: "
            f"{', '.join(dict.fromkeys((*NOISE_FAMILIES, *extension_families())))}, and student-NU for NU degrees of "
            f"freedom, 1 to {LARGEST_DEGREES}"
        )
    found: SmoothFamily = family
    return found


def smooth_noise(name: str, loss: PrivacyCost) -> NoiseFamily:
    """Calibrate a family's noise to a loss; ValueError if it states its loss otherwise or is not admissible for it."""
    return _calibrated(smooth_family(name), loss)


@lru_cache(maxsize=1024)
def _calibrated(family: SmoothFamily, loss: PrivacyCost) -> NoiseFamily:
    return family.calibrate(*cost_parameters(loss).values(), smoothness(family.name, loss).beta)


@lru_cache
def _student(degrees: int) -> SmoothFamily:
    """Make the Student t family of these degrees of freedom."""
    name = f"student-{degrees}"
    return SmoothFamily(name, *beta_of(name), lambda epsilon, beta: StudentT(epsilon, beta, Fraction(degrees)))


_FAMILIES = {
    family.name: family
    for family in (
        SmoothFamily("polyplace", *beta_of("polyplace"), PolyPlace),
        _student(STUDENT_DEGREES),
        SmoothFamily("cauchy", *beta_of("cauchy"), PaperCauchy),
        SmoothFamily("nissim-cauchy", *beta_of("nissim-cauchy"), NissimCauchy),
        SmoothFamily("gaussian", *beta_of("gaussian"), Gaussian),
        SmoothFamily("laplace", *beta_of("laplace"), ApproximateLaplace),
        SmoothFamily("classical-gaussian", *beta_of("classical-gaussian"), ClassicalGaussian),
        SmoothFamily("classical-laplace", *beta_of("classical-laplace"), ClassicalLaplace),
    )
}

NOISE_FAMILIES = (*_FAMILIES, *own_families())
"""Families of our own that are installed, by their name on the command line; the first is the default."""
