"""The one sampler: f + S * Z, correctly rounded to a public grid (docs/privacy.md, section 6).

|Z| is a function of one uniform number, the inverse of its distribution function, or of two. A uniform number is
known as a ball: the bits drawn so far, give or take the bits not yet drawn. The whole expression is evaluated in ball
arithmetic (Arb), and while the resulting ball does not round to one point of the grid, more bits are drawn and the
precision is raised. So the released point is the exact value's rounding: post-processing of the ideal mechanism, with
no trace of floating point.

Counts with Laplace noise, which may be a million, mostly need no ball: their 64 bits are compared with the ends of the
interval of a whole number (``Laplace.whole``).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Protocol

from flint import arb, ctx, fmpq

from dpnb_columnar.core.noise.family import NoiseFamily
from dpnb_columnar.core.noise.laplace import UNIFORM_BITS, Laplace

FIRST_BITS = UNIFORM_BITS
GUARD_BITS = 64

REPORTED = 256
"""Values that are drawn between two reports: some milliseconds."""


class RandomBits(Protocol):
    """A source of independent fair bits; ``private`` if nobody can predict or repeat them: others give no guarantee."""

    private: bool

    def __call__(self, count: int) -> int:
        """Return the next ``count`` bits as an integer in ``0 <= n < 2**count``."""


class SystemBits:
    """The operating system's cryptographic generator."""

    private = True

    def __call__(self, count: int) -> int:
        return secrets.randbits(count)


class SeededBits:
    """A repeatable sequence, for tests and demonstrations only."""

    private = False

    def __init__(self, seed: int) -> None:
        self._generator = Random(seed)

    def __call__(self, count: int) -> int:
        return self._generator.getrandbits(count)


def draw(location: Fraction, scale: Fraction, noise: NoiseFamily, bits: RandomBits, grid_bits: int = 0) -> Fraction:
    """Draw ``location + scale * Z`` rounded to the nearest multiple of ``2**-grid_bits``.

    The location is confidential, and so is the scale, unless it is a public constant; bits are secret in every real
    release.
    """
    if scale <= 0:
        raise ValueError("noise needs a positive scale")  # which may be confidential, so it is not quoted
    negative = bool(bits(1))
    drawn, count = [bits(FIRST_BITS) for _ in range(noise.uniforms)], FIRST_BITS
    if isinstance(noise, Laplace) and not grid_bits and location.denominator == 1:
        whole = noise.whole(scale, drawn[0])
        if whole is not None:
            return Fraction(location.numerator + (-whole if negative else whole))
    size = abs(location.numerator).bit_length() - location.denominator.bit_length() + abs(grid_bits)
    while True:
        with ctx.workprec(count + GUARD_BITS + max(size, 0)):
            # The bits seen so far leave a uniform number in [seen, seen + 1] / 2**count: midpoint and radius.
            uniforms = [arb((2 * seen + 1, -count - 1), (1, -count - 1)) for seen in drawn]
            magnitude = noise.magnitude(*uniforms)
            if magnitude is not None:
                shift = magnitude * fmpq(scale.numerator, scale.denominator)
                centre = fmpq(location.numerator, location.denominator)
                value = centre - shift if negative else centre + shift
                point = (value * arb((1, grid_bits)) + arb(0.5)).floor().unique_fmpz()
                if point is not None:
                    return Fraction(int(point)) / Fraction(2) ** grid_bits
        drawn, count = [seen << count | bits(count) for seen in drawn], 2 * count


class Sampler(Protocol):
    """The interface that a release draws its noise through; ``private`` if what it draws protects anybody."""

    @property
    def private(self) -> bool: ...

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        """Draw as ``draw`` does."""


@dataclass(frozen=True, slots=True)
class ExactSampler:
    """Draws correctly rounded values from a source of random bits."""

    bits: RandomBits

    @property
    def private(self) -> bool:
        return self.bits.private

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        return draw(location, scale, noise, self.bits, grid_bits)


class ReportedSampler:
    """Draws as another sampler does, and reports how many values it has drawn: nothing about the values."""

    def __init__(self, sampler: Sampler, advance: Callable[[float], None]) -> None:
        self._sampler, self._advance = sampler, advance
        self._drawn = 0

    @property
    def private(self) -> bool:
        return self._sampler.private

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        value = self._sampler(location, scale, noise, grid_bits)
        self._drawn += 1
        if self._drawn % REPORTED == 0:
            self._advance(REPORTED)
        return value
