"""Noise for concentrated differential privacy (Bun and Steinke 2019), its scale proven by a certificate.

Whoever draws it believes this folder as well as ``core``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

    from dpnb_columnar.core.mechanisms.tuning import SmoothFamily
    from dpnb_columnar.core.noise import NoiseFamily

SMOOTHNESS = 5
"""sqrt(2 rho)/beta."""


def _family(name: str, noise: str) -> SmoothFamily:
    """Make a family; the library that noise is drawn by is loaded when it is calibrated."""
    from dpnb_columnar.core.budget.costs import Concentrated, pure_within
    from dpnb_columnar.core.mechanisms.tuning import SmoothFamily

    def beta(rho: Fraction) -> Fraction:
        return pure_within(rho).epsilon / SMOOTHNESS

    def calibrate(rho: Fraction, beta: Fraction) -> NoiseFamily:
        from dpnb_columnar.extensions.concentrated import log_normal

        calibrated: NoiseFamily = getattr(log_normal, noise)(rho, beta)
        return calibrated

    return SmoothFamily(name, Concentrated, beta, calibrate)


FAMILIES = {
    "laplace-log-normal": partial(_family, "laplace-log-normal", "LaplaceLogNormal"),
    "uniform-log-normal": partial(_family, "uniform-log-normal", "UniformLogNormal"),
    "arsinh-normal": partial(_family, "arsinh-normal", "ArsinhNormal"),
}
