"""Noise: every draw is the exact value, correctly rounded, against a hundred digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import mpmath
import pytest
from dpnb_columnar.core.noise import ExactSampler, NoiseFamily, PolyPlace, SeededBits, StudentT, SystemBits, draw
from dpnb_columnar.core.noise.sampler import ReportedSampler
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from support.noise_cases import (
    APPROXIMATE_LAPLACE,
    CAUCHY,
    CONCENTRATED,
    GAUSSIAN,
    LAPLACE,
    NISSIM,
    POLYPLACE,
    name_of,
    polyplace_magnitude,
    precise,
)

STUDENT = StudentT(Fraction(1), Fraction(1, 8), Fraction(3))
CASES = [
    POLYPLACE[9],
    CAUCHY[1],
    LAPLACE[1],
    NISSIM[1],
    STUDENT,
    GAUSSIAN[1],
    APPROXIMATE_LAPLACE[0],
    *(CONCENTRATED[index] for index in (2, 7, 12)),
]


class FixedBits:
    """The first draws as given, then one bit repeated; notes how many bits were asked for."""

    private = False

    def __init__(self, negative: int, first: tuple[int, ...], filler: int) -> None:
        self.answers: Iterator[int] = iter([negative, *first])
        self.filler = filler
        self.asked = 0

    def __call__(self, count: int) -> int:
        self.asked += count
        return next(self.answers, (2**count - 1) * self.filler)


def normal(uniform: mpmath.mpf) -> mpmath.mpf:
    """The number that a standard normal variable exceeds with this probability."""
    start = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * uniform)
    return mpmath.findroot(lambda y: mpmath.erfc(y / mpmath.sqrt(2)) / 2 - uniform, start)


def student_magnitude(family: StudentT, uniform: mpmath.mpf) -> mpmath.mpf:
    """For three degrees of freedom the survival is elementary: 1 - 2/pi (arctan x + x/(1 + x^2)), x = z/sqrt(3)."""
    epsilon, beta = precise(family.epsilon), precise(family.beta)
    eta = (2 * epsilon - 2 * beta) / 4
    scale = mpmath.sqrt(
        max(mpmath.exp(-beta) / (6 * (mpmath.cosh(eta) - mpmath.cosh(beta))), 1 / (6 * (mpmath.cosh(epsilon / 2) - 1)))
    )
    low, high = mpmath.mpf(0), mpmath.mpf(10) ** 8
    for _ in range(500):  # bisection: no start to be found, nothing to converge
        middle = (low + high) / 2
        beyond = 1 - 2 / mpmath.pi * (mpmath.atan(middle) + middle / (1 + middle**2))
        low, high = (middle, high) if beyond > uniform else (low, middle)
    return scale * mpmath.sqrt(3) * low


def magnitude(family: NoiseFamily, first: mpmath.mpf, second: mpmath.mpf) -> mpmath.mpf:
    """|Z| from the family's definition; scales and sigmas that are found by a search are taken as they are."""
    if isinstance(family, PolyPlace):
        return polyplace_magnitude(family, first)
    if isinstance(family, StudentT):
        return student_magnitude(family, first)
    closed: dict[str, Callable[[], mpmath.mpf]] = {
        "cauchy": lambda: mpmath.sqrt(2) / precise(family.epsilon) / mpmath.tan(mpmath.pi * first / 2),
        "nissim-cauchy": lambda: 6 / precise(family.epsilon) / mpmath.tan(mpmath.pi * first / 2),
        "laplace": lambda: -mpmath.log(first) * precise(family.scale),
        "gaussian": lambda: normal(first / 2) * precise(family.scale),
        "arsinh-normal": lambda: mpmath.sinh(sigma * normal(first / 2)) / sigma * precise(family.scale),
        "uniform-log-normal": lambda: first * mpmath.exp(sigma * normal(second)) * precise(family.scale),
        "laplace-log-normal": lambda: -mpmath.log(first) * mpmath.exp(sigma * normal(second)) * precise(family.scale),
    }
    sigma = precise(family.standard.sigma) if hasattr(family, "rho") else None
    return closed[family.name]()


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(CASES),
    st.integers(1, 2**64 - 2),
    st.integers(1, 2**64 - 2),
    st.fractions(-1000, 1000, max_denominator=10**6),
    st.fractions(Fraction(1, 1000), 1000, max_denominator=10**6),
    st.integers(0, 40),
)
def test_rounding_agrees_with_a_hundred_digits(
    family: NoiseFamily, first: int, second: int, location: Fraction, scale: Fraction, grid_bits: int
) -> None:
    found = draw(location, scale, family, FixedBits(0, (first, second)[: family.uniforms], 0), grid_bits)
    with mpmath.workdps(110):
        uniforms = [(mpmath.mpf(bits) + mpmath.mpf(2) ** -300) / mpmath.mpf(2) ** 64 for bits in (first, second)]
        value = precise(location) + magnitude(family, *uniforms) * precise(scale)
        expected = mpmath.floor(value * 2**grid_bits + mpmath.mpf(1) / 2)
        assert found == Fraction(int(expected)) / 2**grid_bits


@pytest.mark.parametrize("family", CASES, ids=name_of)
def test_an_undecided_rounding_draws_more_bits(family: NoiseFamily) -> None:
    """The first 64 bits leave the value astride a rounding boundary: the further bits decide, one way or the other."""
    first = (2**62 + 12345, 2**63 + 2**60)[: family.uniforms]
    with ctx.workprec(300):
        middle = family.magnitude(*(arb((2 * bits + 1, -65)) for bits in first))
        assert middle is not None
        mantissa, exponent = (int(part) for part in middle.mid().man_exp())
    location = Fraction(1, 2) - Fraction(mantissa) * Fraction(2) ** exponent
    sources = [FixedBits(0, first, filler) for filler in (0, 1)]
    expected = [0, 1] if family.name == "uniform-log-normal" else [1, 0]  # it grows with its first uniform number
    assert [draw(location, Fraction(1), family, source) for source in sources] == expected
    assert all(source.asked > 65 * family.uniforms for source in sources)


def test_the_edge_between_the_pieces_of_polyplace_draws_more_bits() -> None:
    family = POLYPLACE[9]
    alpha = float(family.alpha)
    tail = (1 + 1 / alpha) / (2 / alpha + (1 - 1 / alpha) ** (1 - alpha))
    with ctx.workprec(200):
        assert family.magnitude(arb(tail, 2.0**-40)) is None


@pytest.mark.parametrize("family", CASES, ids=name_of)
@pytest.mark.parametrize("first", [0, 1, 2**64 - 1])
def test_the_outermost_uniform_numbers_are_drawn_too(family: NoiseFamily, first: int) -> None:
    """Balls that touch 0 or 1 are not inverted; the draw goes on until the number is known well enough."""
    for filler in (0, 1):
        bits = FixedBits(0, (first,) * family.uniforms, filler if 0 < first < 2**64 - 1 else 1 - (first > 0))
        assert draw(Fraction(0), Fraction(1), family, bits, grid_bits=10) >= 0


def test_any_size_of_location_and_scale_is_exact() -> None:
    huge, tiny = Fraction(10**60 + 7), Fraction(1, 10**60)
    assert draw(huge, tiny, LAPLACE[1], SeededBits(1), grid_bits=10) == huge
    assert abs(draw(tiny, huge, LAPLACE[1], SeededBits(1))) > 10**50


def test_bits_that_can_be_repeated_protect_nobody() -> None:
    """Whichever way they come to be drawn; those of the system do."""
    for bits, private in ((SystemBits(), True), (SeededBits(1), False), (FixedBits(0, (), 0), False)):
        sampler = ExactSampler(bits)
        assert bits.private is sampler.private is ReportedSampler(sampler, lambda _: None).private is private
