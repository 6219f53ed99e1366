"""The sampler: every draw is the exact value, correctly rounded, against a hundred digits and at every extreme."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import mpmath
import pytest
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
    precise,
)

from dpnb_columnar.noise import (
    ExactSampler,
    Laplace,
    NoiseFamily,
    PaperCauchy,
    PolyPlace,
    SeededBits,
    StudentT,
    SystemBits,
    draw,
)
from dpnb_columnar.noise.laplace import _end
from dpnb_columnar.noise.sampler import ReportedSampler
from dpnb_columnar.sensitivity.search import LARGEST_BETA, SMALLEST_BETA

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

    def __init__(self, negative: int, first: tuple[int, ...], filler: int = 0) -> None:
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


def polyplace_magnitude(family: PolyPlace, survival: mpmath.mpf) -> mpmath.mpf:
    """|Z| from the probability of exceeding it: the integral of the density, piece by piece, solved for its end."""
    # In units of 1/beta, with the density 1 at 0: integrals of (1 - z)^(a-1) to 1/a, of join (1 + z)^-(a+1) beyond.
    alpha, unit = precise(family.epsilon / family.beta), 1 / precise(family.beta)
    body = (1 - (1 - 1 / alpha) ** alpha) / alpha
    join = (1 - 1 / alpha) ** (alpha - 1) * (1 + 1 / alpha) ** (alpha + 1)
    beyond = join * (1 + 1 / alpha) ** -alpha / alpha
    mass = survival * (body + beyond)
    if mass < beyond:
        return unit * ((join / (alpha * mass)) ** (1 / alpha) - 1)
    return unit * (1 - (1 - alpha * (body + beyond - mass)) ** (1 / alpha))


def magnitude(family: NoiseFamily, first: mpmath.mpf, second: mpmath.mpf | None = None) -> mpmath.mpf:
    """|Z| from the family's definition; scales and sigmas that are found by a search are taken as they are."""
    if isinstance(family, PolyPlace):
        return polyplace_magnitude(family, first)
    if isinstance(family, StudentT):
        return student_magnitude(family, first)
    if isinstance(family, PaperCauchy):  # sqrt(2)/epsilon rounded up to a rational
        assert 0 < family.scale**2 - 2 / family.epsilon**2 < family.scale**2 / 2**140
    closed: dict[str, Callable[[], mpmath.mpf]] = {
        "cauchy": lambda: precise(family.scale) / mpmath.tan(mpmath.pi * first / 2),
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


# A draw at extreme locations, scales and budgets: the value is rounded as a thousand digits would be.

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
    found = draw(location, scale, family, FixedBits(negative, (first,)), grid_bits)
    with mpmath.workdps(1000):
        # Further bits are zero, but nobody knows how many of them: the uniform number is a little above.
        shift = magnitude(family, mpmath.ldexp(first, -64) + mpmath.ldexp(1, -3000)) * precise(scale)
        value = precise(location) - shift if negative else precise(location) + shift
        assert found == Fraction(int(mpmath.floor(mpmath.ldexp(value, grid_bits) + mpmath.mpf(1) / 2)), 2**grid_bits)


def test_the_smallest_scale_there_is_decides_on_which_side_of_a_boundary_the_value_falls() -> None:
    """exp(-512)/2**45 of a code: some 800 bits of the value agree with the boundary."""
    boundary, scale = Fraction(2**40 + 1, 2**21), Fraction(math.exp(-512) / 2**45)
    up, down = (draw(boundary, scale, SAMPLED[1], FixedBits(sign, (2**63,)), 20) for sign in (False, True))
    assert up - down == Fraction(1, 2**20)


# Whole numbers with Laplace noise: decided by comparing integers, and the very numbers of ball arithmetic.


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
    st.integers(1, 2**64 - 1) | st.integers(0, 63).map(lambda bits: 2**64 - 2**bits) | st.integers(1, 1000),
)
def test_a_whole_draw_is_the_draw_of_a_ball(
    epsilon: Fraction, scale: Fraction, location: int, negative: bool, first: int
) -> None:
    noise = Laplace(epsilon)
    found, expected = (
        draw(Fraction(location), scale, each, FixedBits(negative, (first,)))  # type: ignore[arg-type]
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
        bits = FixedBits(False, (end,))
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
