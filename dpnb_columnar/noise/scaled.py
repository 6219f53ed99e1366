"""Families of the form Z = c X: X of a standard shape, c the calibrated scale."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Protocol

from flint import arb

from dpnb_columnar.noise.calibration import rational
from dpnb_columnar.noise.family import Floats
from dpnb_columnar.noise.inverse import quantile


class Standard(Protocol):
    """The distribution of X, symmetrical about 0; methods as in ``NoiseFamily``."""

    @property
    def uniforms(self) -> int: ...

    def magnitude(self, *uniforms: arb) -> arb | None: ...

    def survival(self, magnitude: Floats) -> Floats: ...

    def log_density(self, z: Floats) -> Floats: ...


class Scaled(ABC):
    """What a family gets for nothing once it names its shape and its scale."""

    __slots__ = ()

    @property
    @abstractmethod
    def standard(self) -> Standard:
        """The shape X."""

    @property
    @abstractmethod
    def scale(self) -> Fraction:
        """The scale c, never below the one that is proven."""

    @property
    def uniforms(self) -> int:
        return self.standard.uniforms

    def magnitude(self, *uniforms: arb) -> arb | None:
        standard = self.standard.magnitude(*uniforms)
        return None if standard is None else rational(self.scale) * standard

    def survival(self, magnitude: Floats) -> Floats:
        return self.standard.survival(magnitude / float(self.scale))

    def log_density(self, z: Floats) -> Floats:
        scale = float(self.scale)
        return self.standard.log_density(z / scale) - math.log(scale)

    def quantile(self, probability: float) -> float:
        return float(self.scale) * quantile(self.standard.survival, probability)
