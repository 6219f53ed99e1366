"""A draw at extreme locations, scales and budgets: the value is rounded as a thousand digits would be."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpnb_columnar.noise import Laplace, NoiseFamily, PaperCauchy, PolyPlace, draw
from dpnb_columnar.sensitivity.search import LARGEST_BETA, SMALLEST_BETA

SAMPLED = [
    *(Laplace(epsilon) for epsilon in (Fraction(1, 10**9), Fraction(1), Fraction(1000))),
    *(PaperCauchy(epsilon, epsilon * 7 / 10) for epsilon in (Fraction(1, 2**21), Fraction(1), Fraction(1000))),
    *(PolyPlace(epsilon, epsilon / 5) for epsilon in (Fraction(1, 2**21), Fraction(1), Fraction(1000))),
    *(PolyPlace(10 * SMALLEST_BETA, SMALLEST_BETA), PolyPlace(LARGEST_BETA * 3 / 2, LARGEST_BETA)),
]


class TheseBits:
    """A sign, the first 64 bits, and zeros from there on."""

    private = False

    def __init__(self, negative: bool, first: int) -> None:
        self.answers = iter([int(negative), first])

    def __call__(self, count: int) -> int:
        return next(self.answers, 0)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(SAMPLED),
    st.booleans(),
    st.integers(1, 2**64 - 2) | st.sampled_from([1, 2, 2**63, 2**64 - 2]),
    st.sampled_from([0, 1, 20]),
    st.data(),
)
def test_rounding_at_extremes_agrees_with_a_thousand_digits(
    family: NoiseFamily, negative: bool, first: int, grid_bits: int, data: st.DataObject
) -> None:
    """Locations up to 10**20, on rounding boundaries as well, and scales from 10**-30 to 10**30."""
    boundary = st.integers(-(10**20), 10**20).map(lambda point: Fraction(2 * point + 1, 2 ** (grid_bits + 1)))
    location = data.draw(st.fractions(-(10**20), 10**20, max_denominator=2**90) | boundary)
    scale = data.draw(st.integers(1, 10**6)) * Fraction(10) ** data.draw(st.integers(-30, 24))
    found = draw(location, scale, family, TheseBits(negative, first), grid_bits)
    with mpmath.workdps(1000):
        # Further bits are zero, but nobody knows how many of them: the uniform number is a little above.
        shift = exact_magnitude(family, mpmath.ldexp(first, -64) + mpmath.ldexp(1, -3000)) * exact(scale)
        value = exact(location) - shift if negative else exact(location) + shift
        assert found == Fraction(int(mpmath.floor(mpmath.ldexp(value, grid_bits) + mpmath.mpf(1) / 2)), 2**grid_bits)


def test_the_smallest_scale_there_is_decides_on_which_side_of_a_boundary_the_value_falls() -> None:
    """exp(-512)/2**45 of a code: some 800 bits of the value agree with the boundary."""
    boundary, scale = Fraction(2**40 + 1, 2**21), Fraction(math.exp(-512) / 2**45)
    up, down = (draw(boundary, scale, SAMPLED[1], TheseBits(sign, 2**63), 20) for sign in (False, True))
    assert up - down == Fraction(1, 2**20)


def exact(number: Fraction) -> mpmath.mpf:
    return mpmath.mpf(number.numerator) / number.denominator


def exact_magnitude(family: NoiseFamily, survival: mpmath.mpf) -> mpmath.mpf:
    """|Z| from the probability of exceeding it: the integral of each density, solved for its end."""
    if isinstance(family, Laplace):
        return -mpmath.log(survival) / exact(family.epsilon)
    if isinstance(family, PaperCauchy):
        # The scale is sqrt(2)/epsilon rounded up to a rational: what is tested here is the rounding of the value.
        assert 0 < family.scale**2 - 2 / family.epsilon**2 < family.scale**2 / 2**140
        return exact(family.scale) * mpmath.cot(mpmath.pi * survival / 2)
    assert isinstance(family, PolyPlace)
    # In units of 1/beta, with the density 1 at 0: integrals of (1 - z)^(a-1) to 1/a, of join (1 + z)^-(a+1) beyond.
    alpha, unit = exact(family.epsilon / family.beta), 1 / exact(family.beta)
    body = (1 - (1 - 1 / alpha) ** alpha) / alpha
    join = (1 - 1 / alpha) ** (alpha - 1) * (1 + 1 / alpha) ** (alpha + 1)
    beyond = join * (1 + 1 / alpha) ** -alpha / alpha
    mass = survival * (body + beyond)
    if mass < beyond:
        return unit * ((join / (alpha * mass)) ** (1 / alpha) - 1)
    return unit * (1 - (1 - alpha * (body + beyond - mass)) ** (1 / alpha))
