"""Bug 12. opendp #2639: until 0.14.2 all its additive noise was biased. Nobody had compared what was installed with the
distribution it claims.

Ours would show it as bits that are not fair, or as released counts and moments whose noise is off in its centre, its
spread or its shape. Every draw here comes through ``release`` and the system's generator.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.recorded_draws import every_noise, survival_at
from support.releases import plan_and_release

from dpnb_columnar.budget import Budget, Pure
from dpnb_columnar.counting.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import read_domain
from dpnb_columnar.mechanisms.smooth_noise import smooth_family
from dpnb_columnar.noise import ExactSampler, Laplace, NoiseFamily, Sampler, SystemBits

SURE = 1e-9
"""P-values below this are faults: less than one false alarm in ten million runs of this file."""


# --- bits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 64, 129])
def test_bug_12_bits_are_fair_and_independent(width: int) -> None:
    bits = SystemBits()
    drawn = [bits(width) for _ in range(10_000)]
    assert min(drawn) >= 0
    assert max(drawn) < 2**width
    ones = [sum(number >> place & 1 for number in drawn) for place in range(width)]
    assert min(stats.binomtest(count, len(drawn)).pvalue for count in ones) * width > SURE
    # Neighbouring bits, and the last bit of one number with the first of the next.
    for first, second in ((0, width - 1), (width - 1, 0)):
        pairs = Counter((a >> first & 1, b >> second & 1) for a, b in zip(drawn[::2], drawn[1::2], strict=True))
        assert stats.chisquare([pairs[pair] for pair in ((0, 0), (0, 1), (1, 0), (1, 1))]).pvalue > SURE


def test_bug_12_bytes_are_uniform() -> None:
    bits = SystemBits()
    found = np.bincount(np.frombuffer(b"".join(bits(64).to_bytes(8, "big") for _ in range(10_000)), np.uint8))
    assert stats.chisquare(found).pvalue > SURE


# --- counts --------------------------------------------------------------------------------------------------------


def statistics_of_classes(classes: int, sizes: Sequence[int]) -> Statistics:
    """Many classes of these sizes in turn; in each, half of the rows have 20 and half 30."""
    label = {"column": "y", "classes": [f"class {number}" for number in range(classes)]}
    attributes = {"x": {"lower": 0, "upper": 60, "step": 1}}
    domain = read_domain("many", {"label": label, "attributes": attributes}, "test")
    places, counts = np.arange(classes), np.resize(np.array(sizes), classes)
    halves = {20: counts // 2, 30: counts - counts // 2}
    cells = [Cells("x", places, np.full(classes, code), half) for code, half in halves.items()]
    return assemble(domain, [Cells(None, places, np.zeros_like(places), counts), *cells])


COUNTED = statistics_of_classes(500, [0, 1, 41, 1000, 10**9])


def errors_of_counts(epsilon: Fraction, sampler: Sampler = ExactSampler(SystemBits())) -> Any:  # noqa: B008
    """Released minus exact class counts of 12 releases. Shape (6_000,), int64."""
    released = [
        plan_and_release(COUNTED, Budget(epsilon), "majority", draw=sampler).classes.released for _ in range(12)
    ]
    return (np.array(released) - COUNTED.class_counts).ravel()


def rounded_laplace(k: Any, epsilon: float) -> Any:
    """P(k) for Laplace noise of scale 1/epsilon, rounded: the mass of (k - 1/2, k + 1/2), by its closed form."""
    return np.where(k == 0, -math.expm1(-epsilon / 2), np.exp(-epsilon * np.abs(k)) * math.sinh(epsilon / 2))


def test_bug_12_the_closed_form_is_the_integral() -> None:
    k = np.arange(-40, 41)
    for epsilon in (0.05, 0.3, 1.0, 2.5):
        laplace = stats.laplace(scale=1 / epsilon)
        assert rounded_laplace(k, epsilon) == pytest.approx(laplace.cdf(k + 0.5) - laplace.cdf(k - 0.5), abs=1e-12)


def fit(errors: Any, epsilon: float) -> float:
    """Chi-square p-value of errors against the rounded Laplace distribution; rare values count as tails."""
    edge = math.floor(math.log(len(errors) * math.sinh(epsilon / 2) / 10) / epsilon)
    k = np.arange(-edge, edge + 1)
    inner = rounded_laplace(k, epsilon)
    tail = (1 - inner.sum()) / 2
    found = [np.sum(errors < -edge), *(np.sum(errors == value) for value in k), np.sum(errors > edge)]
    return float(stats.chisquare(found, np.array([tail, *inner, tail]) * len(errors)).pvalue)


def moments_fit(errors: Any, epsilon: float) -> tuple[float, float]:
    """How many standard errors the mean and the variance are away from those of the distribution."""
    k = np.arange(-math.ceil(60 / epsilon), math.ceil(60 / epsilon) + 1).astype(float)
    weights = rounded_laplace(k, epsilon)
    variance, fourth = float(weights @ k**2), float(weights @ k**4)
    root = math.sqrt(len(errors))
    spread = math.sqrt(fourth - variance**2)
    return float(errors.mean()) / math.sqrt(variance) * root, (float(np.mean(errors**2)) - variance) / spread * root


STANDARD_ERRORS = 6
"""Beyond six standard errors: one normal variable in five hundred million."""


@pytest.mark.parametrize("epsilon", ["0.3", "1", "2.5"])
def test_bug_12_released_counts_follow_the_rounded_laplace_distribution(epsilon: str) -> None:
    errors = errors_of_counts(Fraction(epsilon))
    assert fit(errors, float(epsilon)) > SURE
    assert max(map(abs, moments_fit(errors, float(epsilon)))) < STANDARD_ERRORS
    positive, negative = int(np.sum(errors > 0)), int(np.sum(errors < 0))
    assert stats.binomtest(positive, positive + negative).pvalue > SURE
    assert min(fit(errors[place::5], float(epsilon)) for place in range(5)) > SURE, "alike on no row and on a billion"


class Distorted:
    """Exact draws, bent: as noise comes out that nobody has tested."""

    private = True

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.exact = ExactSampler(SystemBits())

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        fine = self.exact(location, scale, noise, grid_bits + 30)
        if self.fault == "rounded down":
            return Fraction(math.floor(fine * 2**grid_bits), 2**grid_bits)
        if self.fault == "rounded to zero":
            return location + Fraction(math.trunc((fine - location) * 2**grid_bits), 2**grid_bits)
        return Fraction(round((location + (fine - location) * Fraction(5, 4)) * 2**grid_bits), 2**grid_bits)


@pytest.mark.parametrize("fault", ["rounded down", "rounded to zero", "a quarter too wide"])
def test_bug_12_the_same_tests_find_biased_noise(fault: str) -> None:
    errors = errors_of_counts(Fraction(1), Distorted(fault))
    assert fit(errors, 1.0) < SURE
    assert max(map(abs, moments_fit(errors, 1.0))) > STANDARD_ERRORS


# --- moments -------------------------------------------------------------------------------------------------------


class Noted:
    """A sampler that notes what became of every draw of a moment, in units of its scale."""

    private = True

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self.drawn: dict[NoiseFamily, list[float]] = {}

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        value = self.sampler(location, scale, noise, grid_bits)
        if grid_bits:
            self.drawn.setdefault(noise, []).append(float((value - location) / scale))
        return value


@cache
def moments_of(noise: str) -> tuple[NoiseFamily, Any]:
    """The noise on 120 means and 120 variances, in units of their sensitivities, far wider than the grid."""
    noted = Noted(ExactSampler(SystemBits()))
    delta = Fraction(0) if smooth_family(noise).kind is Pure else Fraction(1, 10**6)
    statistics = statistics_of_classes(120, [0, 1, 12, 40])
    plan_and_release(statistics, Budget(Fraction(1), delta=delta), "smooth", noise, noted)
    ((family, drawn),) = noted.drawn.items()
    return family, np.array(drawn)


@pytest.mark.slow
@every_noise()
def test_bug_12_released_moments_follow_their_family(noise: str) -> None:
    family, drawn = moments_of(noise)
    assert len(drawn) == 240
    assert stats.kstest(np.abs(drawn), lambda z: 1 - survival_at(family, z)).pvalue > SURE
    assert stats.binomtest(int(np.sum(drawn > 0)), len(drawn)).pvalue > SURE


@pytest.mark.slow
@every_noise()
def test_bug_12_the_same_tests_find_moments_that_are_moved(noise: str) -> None:
    family, drawn = moments_of(noise)
    middle = float(np.median(np.abs(drawn)))
    assert stats.binomtest(int(np.sum(drawn + 2 * middle > 0)), len(drawn)).pvalue < SURE
    assert stats.kstest(np.abs(drawn) * 4, lambda z: 1 - survival_at(family, z)).pvalue < SURE


def test_bug_12_laplace_noise_is_scipys() -> None:
    """On a fine grid, against an independent implementation of the distribution."""
    sampler = ExactSampler(SystemBits())
    drawn = [float(sampler(Fraction(5), Fraction(2), Laplace(Fraction(4)), 30)) for _ in range(5000)]
    assert stats.kstest(drawn, stats.laplace(loc=5, scale=0.5).cdf).pvalue > SURE
    assert stats.kstest(drawn, stats.laplace(loc=5.1, scale=0.6).cdf).pvalue < SURE
