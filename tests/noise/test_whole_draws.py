"""Whole numbers with Laplace noise: decided by comparing integers, and the very numbers of ball arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import mpmath
import pytest
from dpnb_columnar.core.noise import Laplace, PolyPlace, SeededBits, draw
from dpnb_columnar.core.noise.laplace import _end
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from support.noise_cases import TheseBits


@dataclass(frozen=True)
class ByBalls:
    """Laplace noise that the sampler does not recognise."""

    noise: Laplace
    uniforms: int = 1

    def magnitude(self, *uniforms: arb) -> arb | None:
        return self.noise.magnitude(*uniforms)


EPSILONS = st.fractions(Fraction(1, 10**9), 10**6, max_denominator=10**9) | st.sampled_from(
    [Fraction(1, 4), Fraction(1, 10**30), Fraction(10) ** 400]
)


@settings(max_examples=300, deadline=None)
@given(
    EPSILONS,
    st.fractions(Fraction(1, 10**6), 10**12, max_denominator=10**6),
    st.integers(-(10**20), 10**20),
    st.booleans(),
    st.integers(1, 2**64 - 1) | st.integers(1, 64).map(lambda bits: 2**64 - 2**bits) | st.integers(1, 1000),
)
def test_a_whole_draw_is_the_draw_of_a_ball(
    epsilon: Fraction, scale: Fraction, location: int, negative: bool, first: int
) -> None:
    noise = Laplace(epsilon)
    found, expected = (
        draw(Fraction(location), scale, each, TheseBits(negative, first))  # type: ignore[arg-type]
        for each in (noise, ByBalls(noise))
    )
    assert found == expected


@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(3), Fraction(22, 7), Fraction(1, 1000)])
def test_bits_at_an_end_are_left_to_the_ball(rate: Fraction) -> None:
    """Bits just below an end decide for the larger number, just above it for the smaller one, and at it for none."""
    noise, scale = Laplace(rate), Fraction(1)
    for whole in (1, 2, 3, 10, 40):
        end = _end(whole, rate.numerator, rate.denominator)
        with mpmath.workdps(60):
            exact = mpmath.exp(-(whole - mpmath.mpf(1) / 2) * rate.numerator / rate.denominator)
            assert end == int(mpmath.floor(mpmath.ldexp(exact, 64)))
        if not end:
            continue
        # Right beside the end the number that floating point looks for may be the other one, and nothing is decided.
        assert noise.whole(scale, end - 1) in (whole, None)
        assert noise.whole(scale, end) is None
        assert noise.whole(scale, end + 1) in (whole - 1, None)
        apart = end >> 20
        if apart:
            assert [noise.whole(scale, end + by) for by in (-apart, apart)] == [whole, whole - 1]
        bits = TheseBits(False, end)
        assert draw(Fraction(7), scale, noise, bits) == 7 + whole  # u is above the end of its bits, t(k) further above
        assert bits.asked > 65


def test_bits_of_a_tail_beyond_every_end_are_left_to_the_ball() -> None:
    assert Laplace(Fraction(1)).whole(Fraction(1), 0) is None
    assert draw(Fraction(0), Fraction(1), Laplace(Fraction(1)), SeededBits(1)).denominator == 1


def test_most_draws_take_no_more_than_their_first_bits() -> None:
    bits = SeededBits(3)
    seen = [bits(64) for _ in range(2000)]
    for epsilon in (Fraction(1, 7), Fraction(1, 1000), Fraction(1, 10**6), Fraction(40)):
        assert None not in [Laplace(epsilon).whole(Fraction(1), each) for each in seen]


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(-1, 10**30)], ids=str)
def test_a_scale_that_is_not_positive_is_refused(scale: Fraction) -> None:
    """A scale of 0 would release the exact count."""
    with pytest.raises(ValueError, match="a positive scale"):
        Laplace(Fraction(1)).whole(scale, 2**63)
    for noise in (Laplace(Fraction(1)), PolyPlace(Fraction(1), Fraction(1, 8))):
        for bits in (0, 20):
            with pytest.raises(ValueError, match="noise needs a positive scale"):
                draw(Fraction(7), scale, noise, SeededBits(1), bits)


@pytest.mark.parametrize("seen", [-1, 2**64, 2**70])
def test_bits_that_are_no_uniform_number_are_refused(seen: int) -> None:
    with pytest.raises(ValueError, match="a uniform number of 64 bits"):
        Laplace(Fraction(1)).whole(Fraction(1), seen)
