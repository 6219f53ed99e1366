"""Chosen random bits: can the sampler be made to release a given point?"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from dpnb_columnar.noise import ExactSampler, NoiseFamily
from dpnb_columnar.study.audit.recording import Drawn

BITS = 64
"""Bits of a uniform number that are chosen; those that follow are one zero and ones."""

LAST = 2**BITS - 1

SMALLEST = 2.0**-50
"""Tail probabilities below this are not tried: too few of the chosen bits are left to hit one point."""


@dataclass(slots=True)
class PlayedBits:
    """A source of random bits that plays a sign and the first bits of each uniform number."""

    negative: bool
    uniforms: list[int]
    private: bool = True
    _played: int = field(default=0)

    def __call__(self, count: int) -> int:
        place, self._played = self._played, self._played + 1
        if place == 0:
            return int(self.negative)
        return self.uniforms[place - 1] if place <= len(self.uniforms) else 2 ** (count - 1) - 1


def reachable(drawn: Drawn, point: Fraction) -> bool:
    """Whether some random bits make the sampler release this point; True as well where it is too unlikely to try.

    |Z| moves in one direction with each of its uniform numbers. So it falls from infinity to 0 along a line through all
    of them, and the bits are found by bisection, starting from the family's distribution function.
    """
    distance = (point - drawn.location) / drawn.scale
    tail = float(drawn.noise.survival(np.array([abs(float(distance))]))[0])
    if tail < SMALLEST:
        return True
    negative, falling = distance < 0, _falling(drawn.noise)

    def beyond(place: int) -> Fraction:
        """How far beyond the point, seen from the location, these bits lead."""
        bits = PlayedBits(negative, [place if falls else LAST - place for falls in falling])
        found = ExactSampler(bits)(drawn.location, drawn.scale, drawn.noise, drawn.grid_bits)
        return point - found if negative else found - point

    low, high = 0, LAST
    place = min(int(tail * 2.0**BITS), LAST)
    while low <= high:
        error = beyond(place)
        if error == 0:
            return True
        low, high = (place + 1, high) if error > 0 else (low, place - 1)
        place = (low + high) // 2
    return False


def _falling(noise: NoiseFamily) -> list[bool]:
    """For each uniform number, whether |Z| falls as it grows."""
    found = []
    for place in range(noise.uniforms):
        with ctx.workprec(4 * BITS):
            small, large = (
                noise.magnitude(*(arb(value if other == place else 0.5) for other in range(noise.uniforms)))
                for value in (0.25, 0.75)
            )
        assert small is not None, "a quarter and a half are exact"
        assert large is not None, "three quarters and a half are exact"
        found.append(bool(small > large))
    return found
