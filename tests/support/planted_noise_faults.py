"""Faults of samplers and of noise families, planted by doubles: as in ``planted_faults``, which has the others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpnb_columnar import training
from dpnb_columnar.budget import Approximate
from dpnb_columnar.mechanisms import smooth_noise
from dpnb_columnar.model import tuning
from dpnb_columnar.noise import ClassicalGaussian, ExactSampler, NoiseFamily, SeededBits, sampler
from support.planted_faults import DOUBLE, Patch

real_draw = sampler.draw


def noise_too_small_inside(patch: Patch) -> None:
    def draw(location: Fraction, scale: Fraction, *arguments: Any) -> Fraction:
        return real_draw(location, scale * Fraction(7, 10), *arguments)

    patch.setattr(sampler, "draw", draw)


def noise_in_floats(patch: Patch) -> None:
    """A float drawn somehow, and added to the statistic: the sum's last digits tell the statistic."""

    def call(
        self: ExactSampler, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0
    ) -> Fraction:
        drawn = float(real_draw(Fraction(0), Fraction(1), noise, self.bits, 53))
        return Fraction(float(location) + float(scale) * drawn)

    patch.setattr(ExactSampler, "__call__", call)


def coarse_rounding(patch: Patch) -> None:
    """Rounded to fewer bits than promised."""

    def draw(location: Fraction, scale: Fraction, noise: NoiseFamily, bits: Any, grid_bits: int = 0) -> Fraction:
        return real_draw(location, scale, noise, bits, max(grid_bits - 2, 0))

    patch.setattr(sampler, "draw", draw)


@dataclass(frozen=True)
class FewBits:
    """A source of random bits of which only the first ten of each number are random."""

    bits: Any

    def __call__(self, count: int) -> int:
        found: int = self.bits(count)
        return found if count == 1 else found >> max(count - 10, 0) << max(count - 10, 0)


def few_random_bits(patch: Patch) -> None:
    def draw(location: Fraction, scale: Fraction, noise: NoiseFamily, bits: Any, grid_bits: int = 0) -> Fraction:
        return real_draw(location, scale, noise, FewBits(bits), grid_bits)

    patch.setattr(sampler, "draw", draw)


def default_seed(patch: Patch) -> None:
    class Seeded(SeededBits):
        queries = True

    patch.setattr(training, "SystemBits", lambda: Seeded(42))


def gaussian_family(patch: Patch, times: float) -> None:
    """The classical family of (epsilon, delta) noise, at a multiple of its deviation."""

    class Double(ClassicalGaussian):
        __slots__ = ()

        def __post_init__(self) -> None:
            """Whatever the scale, it is not refused."""

        @property
        def scale(self) -> Fraction:
            return ClassicalGaussian(self.epsilon, self.delta, self.beta).scale * Fraction(times)

    def lighter(epsilon: Fraction, delta: Fraction, beta: Fraction) -> Double:
        return Double(epsilon, delta, beta)

    patch.setitem(tuning.BETAS, DOUBLE, tuning.BETAS["classical-gaussian"])
    patch.setitem(smooth_noise._FAMILIES, DOUBLE, smooth_noise.SmoothFamily(DOUBLE, Approximate, lighter))
