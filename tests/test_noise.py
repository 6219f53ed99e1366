"""Noise: calibration against the numeric worst case, distribution against samples, rounding against more digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from dpnb_columnar.noise import Laplace, NoiseFamily, PaperCauchy, PolyPlace, SeededBits, SystemBits, draw

POLYPLACE = [
    PolyPlace(Fraction(epsilon), Fraction(epsilon) / ratio)
    for epsilon in ("1/100", "1/10", "1", "5")
    for ratio in (Fraction(3, 2), 3, 5, 8)
]
CAUCHY = [PaperCauchy(Fraction(epsilon), Fraction(epsilon) * Fraction(7071, 10000)) for epsilon in ("1/100", "1", "3")]
LAPLACE = [Laplace(Fraction(epsilon)) for epsilon in ("1/100", "1", "3")]
FAMILIES = [*POLYPLACE, *CAUCHY, *LAPLACE]


def name_of(family: NoiseFamily) -> str:
    return f"{family.name} {family.epsilon} {family.beta}"


every_family = pytest.mark.parametrize("family", FAMILIES, ids=name_of)


def worst_loss(log_density: Callable[[np.ndarray], np.ndarray], beta: float) -> float:
    """Largest |log-ratio| of the densities of Z and t + r Z over |t| <= min(1, r), |log r| <= beta, on a grid."""
    reach = 1e12 if beta else 1e4  # far tails matter only where the scale moves; there the log-density stays small
    magnitudes = np.concatenate([np.linspace(0, 60, 2401), np.geomspace(60, reach, 1201)])
    z = np.concatenate([-magnitudes[::-1], magnitudes])
    worst = 0.0
    for logarithm in np.unique(np.linspace(-beta, beta, 9)):
        ratio = math.exp(logarithm)
        for shift in np.linspace(-1, 1, 17) * min(1.0, ratio):
            # The grid is moved along, so that both centres, where the ratio of a Laplace density peaks, are on it.
            for point in (z, z * ratio + shift):
                loss = log_density(point) - (log_density((point - shift) / ratio) - logarithm)
                worst = max(worst, float(np.max(np.abs(loss))))
    return worst


@pytest.mark.parametrize("family", [*POLYPLACE, *LAPLACE], ids=name_of)
def test_worst_case_loss_is_epsilon_and_never_more(family: NoiseFamily) -> None:
    epsilon = float(family.epsilon)
    worst = worst_loss(family.log_density, float(family.beta))
    assert worst <= epsilon * (1 + 1e-9)
    assert worst == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("family", CAUCHY, ids=name_of)
def test_the_papers_cauchy_never_exceeds_epsilon(family: PaperCauchy) -> None:
    epsilon, beta = float(family.epsilon), float(family.beta)
    worst = worst_loss(family.log_density, beta)
    assert worst <= epsilon
    distance = [math.acosh(math.cosh(b) + math.exp(-b) * epsilon**2 / 4) for b in (0.0, beta)]
    assert worst == pytest.approx(max(distance), rel=2e-3)  # the grid comes close to the closed-form supremum


def test_the_papers_cauchy_approaches_epsilon_as_epsilon_falls() -> None:
    for epsilon in (Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**6)):
        with mpmath.workdps(50):
            exact = mpmath.mpf(epsilon.numerator) / epsilon.denominator
            beta = exact / mpmath.sqrt(2)
            loss = mpmath.acosh(mpmath.cosh(beta) + mpmath.exp(-beta) * exact**2 / 4)
            assert 1 - exact < loss / exact < 1


@pytest.mark.parametrize("family", POLYPLACE[:6], ids=name_of)
def test_polyplace_has_the_density_of_its_definition(family: PolyPlace) -> None:
    scale, alpha = 1 / float(family.beta), float(family.epsilon / family.beta)
    edge = scale / alpha
    join = (1 - 1 / alpha) ** (alpha - 1) / (1 + 1 / alpha) ** -(alpha + 1)

    def shape(z: float) -> float:
        return (1 - z / scale) ** (alpha - 1) if z <= edge else join * (1 + z / scale) ** -(alpha + 1)

    total = 2 * (integrate.quad(shape, 0, edge)[0] + integrate.quad(shape, edge, math.inf)[0])
    z = np.array([0.0, 0.3, 0.9, 1.1, 4.0, 50.0]) * edge
    expected = [math.log(shape(point) / total) for point in z]
    assert family.log_density(z) == pytest.approx(expected, rel=1e-9)
    assert family.log_density(-z) == pytest.approx(expected, rel=1e-9)


@every_family
def test_survival_is_the_integral_of_the_density(family: NoiseFamily) -> None:
    def density(z: float) -> float:
        return 2 * math.exp(float(family.log_density(np.array([z]))[0]))

    median = float(family.magnitude(arb(0.5)))  # type: ignore[arg-type]
    edges = [0.0, median / 2, median, 3 * median]
    parts = [integrate.quad(density, low, high)[0] for low, high in pairwise(edges)]
    assert 1 - np.cumsum(parts) == pytest.approx(family.survival(np.array(edges[1:])), rel=1e-6)


@every_family
@given(st.floats(1e-12, 1 - 1e-9))
def test_magnitude_inverts_survival(family: NoiseFamily, probability: float) -> None:
    magnitude = family.magnitude(arb(probability))
    assert magnitude is not None
    assert float(family.survival(np.array([float(magnitude)]))[0]) == pytest.approx(probability, rel=1e-6)


@every_family
def test_the_sampler_draws_this_distribution_and_no_other(family: NoiseFamily) -> None:
    """Kolmogorov and Smirnov accept the true scale and reject 0.9 and 1.1 times it; signs are a fair coin's."""
    bits, count = SeededBits(20211), 12_000
    sample = np.array([float(draw(Fraction(0), Fraction(1), family, bits, grid_bits=40)) for _ in range(count)])

    def p_value(scale: float) -> float:
        return float(stats.kstest(np.abs(sample), lambda z: 1 - family.survival(z / scale)).pvalue)

    assert p_value(1.0) > 1e-4
    assert p_value(0.9) < 1e-6
    assert p_value(1.1) < 1e-6
    assert stats.binomtest(int((sample > 0).sum()), count).pvalue > 1e-4


def test_the_system_generator_draws_the_same_distribution() -> None:
    family = LAPLACE[1]
    sample = [float(draw(Fraction(5), Fraction(2), family, SystemBits(), grid_bits=30)) for _ in range(4000)]
    assert stats.kstest(sample, stats.laplace(loc=5, scale=2).cdf).pvalue > 1e-6


class FixedBits:
    """The first draws as given, then one bit repeated; notes how many bits were asked for."""

    private = False

    def __init__(self, negative: int, first: int, filler: int) -> None:
        self.answers: Iterator[int] = iter([negative, first])
        self.filler = filler
        self.asked = 0

    def __call__(self, count: int) -> int:
        self.asked += count
        return next(self.answers, (2**count - 1) * self.filler)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([POLYPLACE[9], CAUCHY[1], LAPLACE[1]]),
    st.integers(1, 2**64 - 2),
    st.fractions(-1000, 1000, max_denominator=10**6),
    st.fractions(Fraction(1, 1000), 1000, max_denominator=10**6),
    st.integers(0, 40),
)
def test_rounding_agrees_with_a_hundred_digits(
    family: NoiseFamily, first: int, location: Fraction, scale: Fraction, grid_bits: int
) -> None:
    found = draw(location, scale, family, FixedBits(0, first, 0), grid_bits)
    with mpmath.workdps(100):
        uniform = (mpmath.mpf(first) + mpmath.mpf(2) ** -200) / mpmath.mpf(2) ** 64
        epsilon = mpmath.mpf(family.epsilon.numerator) / family.epsilon.denominator
        if isinstance(family, Laplace):
            magnitude = -mpmath.log(uniform) / epsilon
        elif isinstance(family, PaperCauchy):
            magnitude = mpmath.sqrt(2) / epsilon / mpmath.tan(mpmath.pi * uniform / 2)
        else:
            magnitude = _polyplace_magnitude(family, uniform)
        value = mpmath.mpf(location.numerator) / location.denominator
        value += magnitude * scale.numerator / scale.denominator
        expected = mpmath.floor(value * 2**grid_bits + mpmath.mpf(1) / 2)
        assert found == Fraction(int(expected)) / 2**grid_bits


def _polyplace_magnitude(family: NoiseFamily, uniform: mpmath.mpf) -> mpmath.mpf:
    """Inverse survival from the definition of the density, pieces normalised one by one."""
    scale = mpmath.mpf(family.beta.denominator) / family.beta.numerator
    alpha = scale * family.epsilon.numerator / family.epsilon.denominator
    body = scale / alpha * (1 - (1 - 1 / alpha) ** alpha)
    join = (1 - 1 / alpha) ** (alpha - 1) * (1 + 1 / alpha) ** (alpha + 1)
    beyond = join * scale / alpha * (1 + 1 / alpha) ** -alpha
    mass = uniform * (body + beyond)
    if mass < beyond:
        return scale * ((mass * alpha / (join * scale)) ** (-1 / alpha) - 1)
    return scale * (1 - (1 - (body + beyond - mass) * alpha / scale) ** (1 / alpha))


@pytest.mark.parametrize("family", [POLYPLACE[9], CAUCHY[1], LAPLACE[1]], ids=name_of)
def test_an_undecided_rounding_draws_more_bits(family: NoiseFamily) -> None:
    """The first 64 bits leave the value astride a rounding boundary: the further bits decide, one way or the other."""
    first = 2**62 + 12345
    with ctx.workprec(300):
        middle = family.magnitude(arb((2 * first + 1, -65)))
        assert middle is not None
        mantissa, exponent = (int(part) for part in middle.mid().man_exp())
    location = Fraction(1, 2) - Fraction(mantissa) * Fraction(2) ** exponent
    sources = [FixedBits(0, first, filler) for filler in (0, 1)]
    assert [draw(location, Fraction(1), family, source) for source in sources] == [1, 0]
    assert all(source.asked > 65 for source in sources)


def test_the_edge_between_the_pieces_of_polyplace_draws_more_bits() -> None:
    family = POLYPLACE[9]
    alpha = float(family.alpha)
    tail = (1 + 1 / alpha) / (2 / alpha + (1 - 1 / alpha) ** (1 - alpha))
    with ctx.workprec(200):
        assert family.magnitude(arb(tail, 2.0**-40)) is None


def test_any_size_of_location_and_scale_is_exact() -> None:
    huge, tiny = Fraction(10**60 + 7), Fraction(1, 10**60)
    assert draw(huge, tiny, LAPLACE[1], SeededBits(1), grid_bits=10) == huge
    assert abs(draw(tiny, huge, LAPLACE[1], SeededBits(1))) > 10**50


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PolyPlace(Fraction(1), Fraction(1)), "0 < beta < epsilon"),
        (lambda: PolyPlace(Fraction(1), Fraction(0)), "0 < beta < epsilon"),
        (lambda: PaperCauchy(Fraction(1), Fraction(7072, 10000)), r"beta <= epsilon/sqrt\(2\)"),
        (lambda: PaperCauchy(Fraction(0), Fraction(0)), "0 < beta"),
        (lambda: Laplace(Fraction(0)), "epsilon > 0"),
    ],
)
def test_inadmissible_parameters_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
