"""What every noise family offers: one symmetrical distribution, calibrated when it is made."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class NoiseFamily(Protocol):
    """The distribution of Z in a release of f + S * Z, symmetrical about 0.

    Claim of every family: for all shifts |t| <= min(1, r) and scale ratios exp(-beta) <= r <= exp(beta), the
    densities of Z and of t + r Z differ by a factor of at most exp(epsilon) everywhere. The caller must ensure that S
    is at least the local sensitivity and beta-smooth (docs/privacy.md, section 5); then f + S * Z is
    epsilon-differentially private.

    Attributes:
        name: The family's name on the command line and in the model.
        epsilon: Privacy loss of one release.
        beta: Smoothness the family allows for; 0 where S has to be a constant.
    """

    @property
    def name(self) -> str: ...

    @property
    def epsilon(self) -> Fraction: ...

    @property
    def beta(self) -> Fraction: ...

    def magnitude(self, survival: arb) -> arb | None:
        """The value |Z| exceeds with this probability, as a ball; None while the ball of ``survival`` is too wide."""

    def survival(self, magnitude: Floats) -> Floats:
        """Probability that |Z| exceeds each magnitude (>= 0)."""

    def log_density(self, z: Floats) -> Floats:
        """Logarithm of the density at each z."""
