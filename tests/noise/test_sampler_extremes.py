"""A draw at extreme locations, scales and budgets: the value is rounded as a thousand digits would be."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from dpnb_columnar.core.noise import Laplace, NoiseFamily, PaperCauchy, PolyPlace, draw
from dpnb_columnar.core.sensitivity.search import LARGEST_BETA, SMALLEST_BETA
from hypothesis import given, settings
from hypothesis import strategies as st
from support.noise_cases import TheseBits, polyplace_magnitude, precise

SAMPLED = [
    *(Laplace(epsilon) for epsilon in (Fraction(1, 10**9), Fraction(1), Fraction(1000))),
    *(PaperCauchy(epsilon, epsilon * 7 / 10) for epsilon in (Fraction(1, 2**21), Fraction(1), Fraction(1000))),
    *(PolyPlace(epsilon, epsilon / 5) for epsilon in (Fraction(1, 2**21), Fraction(1), Fraction(1000))),
    *(PolyPlace(10 * SMALLEST_BETA, SMALLEST_BETA), PolyPlace(LARGEST_BETA * 3 / 2, LARGEST_BETA)),
]


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
        shift = exact_magnitude(family, mpmath.ldexp(first, -64) + mpmath.ldexp(1, -3000)) * precise(scale)
        value = precise(location) - shift if negative else precise(location) + shift
        assert found == Fraction(int(mpmath.floor(mpmath.ldexp(value, grid_bits) + mpmath.mpf(1) / 2)), 2**grid_bits)


def test_the_smallest_scale_there_is_decides_on_which_side_of_a_boundary_the_value_falls() -> None:
    """exp(-512)/2**45 of a code: some 800 bits of the value agree with the boundary."""
    boundary, scale = Fraction(2**40 + 1, 2**21), Fraction(math.exp(-512) / 2**45)
    up, down = (draw(boundary, scale, SAMPLED[1], TheseBits(sign, 2**63), 20) for sign in (False, True))
    assert up - down == Fraction(1, 2**20)


def exact_magnitude(family: NoiseFamily, survival: mpmath.mpf) -> mpmath.mpf:
    """|Z| from the probability of exceeding it: the integral of each density, solved for its end."""
    if isinstance(family, Laplace):
        return -mpmath.log(survival) / precise(family.epsilon)
    if isinstance(family, PaperCauchy):
        # The scale is sqrt(2)/epsilon rounded up to a rational: what is tested here is the rounding of the value.
        assert 0 < family.scale**2 - 2 / family.epsilon**2 < family.scale**2 / 2**140
        return precise(family.scale) * mpmath.cot(mpmath.pi * survival / 2)
    assert isinstance(family, PolyPlace)
    return polyplace_magnitude(family, survival)
