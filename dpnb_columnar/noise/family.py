"""What every noise family offers: one symmetrical distribution, calibrated when it is made."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpnb_columnar.budget.costs import PrivacyCost

Floats = NDArray[np.float64]


class NoiseFamily(Protocol):
    """The distribution of Z in a release of f + S * Z, symmetrical about 0.

    Claim of every family: for all shifts |t| <= min(1, r) and scale ratios exp(-beta) <= r <= exp(beta), the privacy
    loss between Z and t + r Z, either way round, is at most ``cost``. The caller must ensure that S is at least the
    local sensitivity and beta-smooth (docs/privacy.md, section 5); then one release of f + S * Z costs ``cost``.

    Attributes:
        name: The family's name on the command line and in the model.
        cost: Privacy cost of one release.
        beta: Smoothness the family allows for; 0 where S has to be a constant.
        uniforms: How many uniform numbers ``magnitude`` is made of: 1 where the distribution function has an inverse
            that can be evaluated as a ball, 2 for a product of two independent variables.
    """

    @property
    def name(self) -> str: ...

    @property
    def cost(self) -> PrivacyCost: ...

    @property
    def beta(self) -> Fraction: ...

    @property
    def uniforms(self) -> int: ...

    def magnitude(self, *uniforms: arb) -> arb | None:
        """|Z| as a function of independent uniform numbers in (0, 1), as a ball; None while their balls are too wide.

        Of one uniform number it is the inverse of ``survival``.
        """

    def survival(self, magnitude: Floats) -> Floats:
        """Probability that |Z| exceeds each magnitude (>= 0)."""

    def quantile(self, probability: float) -> float:
        """The magnitude that |Z| exceeds with this probability: the inverse of ``survival``."""

    def log_density(self, z: Floats) -> Floats:
        """Logarithm of the density at each z."""
