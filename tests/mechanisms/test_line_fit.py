"""Fits of calibration lines: what counts show is found, what they do not show is not made up."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from dpnb_columnar.model.line_fit import fit_line
from hypothesis import given
from hypothesis import strategies as st

from dpnb_columnar.model import line_fit
from dpnb_columnar.model.parameters import CalibrationLine

BINS = 24
CENTRES = np.linspace(-6, 6, BINS)
BELL = np.exp(-(CENTRES**2) / 8)


def fitted(
    counts: object, noise: float, shares: tuple[float, ...], deviation: float = 1.0, largest: int = 0
) -> CalibrationLine:
    rows = tuple(map(tuple, np.rint(np.array(counts)).astype(int).tolist()))
    return fit_line(rows, tuple(CENTRES.tolist()), noise, shares, deviation, largest, 12)


def two_columns(log_odds: np.ndarray, rows: float) -> np.ndarray:
    """Exact counts of so many rows, whose margins lie in a bell, with these log-odds at the centres."""
    second = rows * BELL / BELL.sum() / (1 + np.exp(-log_odds))
    return np.column_stack([rows * BELL / BELL.sum() - second, second])


def shares_of(counts: np.ndarray) -> tuple[float, ...]:
    sizes = counts.sum(axis=0)
    return tuple(sizes / sizes.sum())


def at_centres(fit: CalibrationLine) -> np.ndarray:
    return np.interp(CENTRES, fit.margins, fit.log_odds)


@pytest.mark.parametrize("slope", [0.15, 0.5, 1.0])
def test_a_straight_line_is_found(slope: float) -> None:
    counts = two_columns(slope * CENTRES - 0.7, 1e6)
    fit = fitted(counts, 10.0, shares_of(counts))
    telling = np.abs(CENTRES) < 4
    np.testing.assert_allclose(at_centres(fit)[telling], (slope * CENTRES - 0.7)[telling], atol=0.05)


def test_a_bent_line_is_found() -> None:
    log_odds = 2 * np.tanh(CENTRES) - 0.5
    counts = two_columns(log_odds, 1e6)
    telling = np.abs(CENTRES) < 4
    np.testing.assert_allclose(
        at_centres(fitted(counts, 10.0, shares_of(counts)))[telling], log_odds[telling], atol=0.2
    )


@pytest.mark.parametrize("seed", range(8))
def test_where_counts_are_noise_the_released_shares_stand(seed: int) -> None:
    shares, noise = (0.98, 0.02), 100.0
    rows = BELL / BELL.sum()
    drawn = np.random.default_rng(seed).normal(0, noise, (BINS, 2)) + np.outer(10_000 * rows, shares)
    odds, released = at_centres(fitted(drawn, noise, shares, 20.0)), float(np.log(shares[1] / shares[0]))

    def log_loss(odds: np.ndarray | float) -> float:
        return float(np.sum(rows * (np.logaddexp(0, odds) - shares[1] * odds)))

    assert log_loss(odds) - log_loss(released) < 0.01
    assert log_loss(0.5 * CENTRES + released) - log_loss(released) > 0.01


def test_another_class_is_predicted_only_where_counts_show_that_it_has_more_rows() -> None:
    counts = two_columns(CENTRES, 10_000)
    gain, shares = (counts[:, 1] - counts[:, 0])[CENTRES > 0], shares_of(counts)
    certain = max(float(gain[:bins].sum()) / sure / np.sqrt(2 * len(gain[:bins])) for bins, sure in line_fit.GUARDS)
    assert at_centres(fitted(counts, certain / 2, shares)).max() > 0
    assert at_centres(fitted(counts, certain * 1.5, shares)).max() <= 0


def test_the_other_classes_together_follow_their_counts() -> None:
    two = two_columns(CENTRES, 1e6)
    counts = np.column_stack([two, two[:, 0] * 0.25])
    fit = fitted(counts, 10.0, (0.4, 0.3, 0.2, 0.1))
    telling = np.abs(CENTRES) < 4
    others = np.interp(CENTRES, fit.margins, fit.others)
    np.testing.assert_allclose(others[telling], np.log(0.25), atol=0.05)
    assert 0 < fit.evidence < 1


def test_where_the_best_other_class_has_the_rows_those_of_neither_are_counted_beside_it() -> None:
    """The largest class has no rows there that would say how much likelier each of them is."""
    two = two_columns(3 * CENTRES, 1e6)
    counts = np.column_stack([two, two.sum(axis=1) / 40])
    fit = fitted(counts, 10.0, shares_of(counts))
    others = np.interp(CENTRES, fit.margins, fit.others)
    assert np.all((others - at_centres(fit))[CENTRES > 0] < -2)  # the counts say one in 40


@given(
    counts=st.lists(st.lists(st.integers(-(10**6), 10**6), min_size=3, max_size=3), min_size=BINS, max_size=BINS),
    noise=st.floats(0.01, 1e6),
    size=st.integers(1, 1000),
    shares=st.lists(st.floats(1e-6, 1), min_size=3, max_size=8),
    two=st.booleans(),
)
def test_any_counts_give_a_line_that_rises(
    counts: list[list[int]], noise: float, size: int, shares: list[float], two: bool
) -> None:
    kept = tuple(tuple(row[:2] if two else row) for row in counts)
    used = shares[:2] if two else shares
    probabilities = tuple(share / sum(used) for share in used)
    largest = int(np.argmax(probabilities))
    line = fit_line(kept, tuple(CENTRES.tolist()), noise, probabilities, noise, largest, size)
    assert len(line.margins) == len(line.log_odds) == BINS + 2
    assert all(low < high for points in (line.margins, line.log_odds) for low, high in pairwise(points))
    assert max(map(abs, line.log_odds)) <= line_fit.LARGEST_LOG_ODDS + 1
    assert len(line.others) == (0 if two else BINS + 2)
    assert 0 <= line.evidence <= 1


def test_pooled_violators_are_the_nearest_line_that_does_not_fall() -> None:
    log_odds, precision = np.array([0.0, 2.0, 1.0, 3.0, 2.5, -1.0]), np.array([1.0, 1.0, 3.0, 1.0, 1.0, 2.0])
    found = line_fit._rising(log_odds, precision)
    assert (np.diff(found) >= 0).all()

    def distance(line: np.ndarray) -> float:
        return float(precision @ (line - log_odds) ** 2)

    generator = np.random.default_rng(3)
    others = np.sort(found + generator.normal(0, 0.5, (2000, len(found))), axis=1)
    assert all(distance(found) <= distance(other) + 1e-12 for other in others)
