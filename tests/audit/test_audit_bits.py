"""Chosen bits lead the sampler to a chosen point, and checks of bit patterns leave correct draws alone."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpnb_columnar.core.budget import Approximate, Concentrated, PrivacyCost, Pure
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family, smooth_noise
from dpnb_columnar.core.noise import ExactSampler, Laplace, NoiseFamily, SeededBits
from dpnb_columnar.extensions.audit.bit_patterns import PlayedBits, reachable
from dpnb_columnar.extensions.audit.recording import Answers, Drawn, RecordingSampler

LOSSES: dict[type[PrivacyCost], PrivacyCost] = {
    Pure: Pure(Fraction(1)),
    Approximate: Approximate(Fraction(1), Fraction(1, 10**6)),
    Concentrated: Concentrated(Fraction(1, 4)),
}
FAMILIES = [Laplace(Fraction(1, 2)), *(smooth_noise(name, LOSSES[smooth_family(name).kind]) for name in NOISE_FAMILIES)]


@pytest.mark.slow
@pytest.mark.parametrize("noise", FAMILIES, ids=lambda noise: noise.name)
@settings(max_examples=25, deadline=None)
@given(
    location=st.fractions(-50, 50, max_denominator=1000),
    scale=st.fractions(Fraction(1, 100), 10, max_denominator=1000),
    by=st.integers(-40, 40),
)
def test_every_point_near_the_location_can_be_reached(
    noise: NoiseFamily, location: Fraction, scale: Fraction, by: int
) -> None:
    point = Fraction(round(location * 2**20) + by, 2**20)
    assert reachable(Drawn(location, scale, noise, 20, Fraction(0)), point)


def test_a_point_off_the_grid_cannot_be_reached() -> None:
    asked = Drawn(Fraction(1, 3), Fraction(1), Laplace(Fraction(1)), 4, Fraction(0))
    assert reachable(asked, Fraction(1, 16))
    assert not reachable(asked, Fraction(1, 32))


def test_a_point_too_far_to_try_is_not_held_against_the_sampler() -> None:
    assert reachable(Drawn(Fraction(0), Fraction(1), Laplace(Fraction(1)), 0, Fraction(0)), Fraction(10**6))


def test_played_bits_are_played_in_order() -> None:
    bits = PlayedBits(True, [5, 7])
    assert [bits(1), bits(64), bits(64), bits(4)] == [1, 5, 7, 7]


def test_forced_answers_depend_on_their_place_alone() -> None:
    one, two = Answers((3, -1), 5), Answers((3, -1), 5)
    noise = Laplace(Fraction(1))
    first = [one(Fraction(place), Fraction(1), noise, 20 * (place % 2)) for place in range(9)]
    second = [two(Fraction(-place), Fraction(2), noise, 20 * (place % 2)) for place in range(9)]
    assert first == second
    assert first[:2] == [3, -1]
    assert [drawn.location for drawn in two.draws] == [-place for place in range(9)]
    assert all((answer * 2**20).denominator == 1 for answer in first)


def test_a_witness_draws_what_its_sampler_draws() -> None:
    witness, sampler = RecordingSampler(sampler=ExactSampler(SeededBits(4))), ExactSampler(SeededBits(4))
    noise = Laplace(Fraction(1))
    drawn = [witness(Fraction(1), Fraction(2), noise, 10) for _ in range(5)]
    assert drawn == [sampler(Fraction(1), Fraction(2), noise, 10) for _ in range(5)]
    assert [found.answer for found in witness.draws] == drawn
    assert not witness.private
    assert RecordingSampler().private
