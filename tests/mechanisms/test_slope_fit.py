"""The fit of a slope and an intercept to noisy counts of rows by score and class."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from dpnb_columnar.mechanisms.score_calibration import DEVIATION, FLAT, fitted

MIDDLES = np.array([-20.0, -12.0, *(2.0 * (np.arange(8) - 3.5)), 12.0, 20.0])
BINS = len(MIDDLES)


def logistic_counts(slope: float, log_odds: float, rows: int, middles: np.ndarray) -> list[list[int]]:
    """Rows per bin and class as a logistic model has them, most scores near 0."""
    share = np.exp(-(middles**2) / 8)
    positive = 1 / (1 + np.exp(-(log_odds + slope * middles)))
    sizes = rows * share / share.sum()
    return [[round(size * (1 - p)), round(size * p)] for size, p in zip(sizes, positive, strict=True)]


@pytest.mark.parametrize("slope", [0.1, 0.25, 0.45, 0.8, 1.2])
@pytest.mark.parametrize("shift", [-2.0, 0.0, 0.37])
def test_without_noise_the_fit_is_the_logistic_one(slope: float, shift: float) -> None:
    found = fitted(logistic_counts(slope, shift - 1.1, 10**9, MIDDLES), MIDDLES, 1, -1.1, 14)
    assert found == pytest.approx((slope, shift), abs=0.011)


@pytest.mark.slow
def test_the_fit_is_the_best_of_its_grid() -> None:
    """Compared with a general optimiser of the same penalised loss, on few and noisy counts."""
    generator = np.random.default_rng(5)
    for _ in range(20):
        rows = generator.integers(20, 300, BINS)
        positive = generator.binomial(rows, 1 / (1 + np.exp(-MIDDLES / 2)))
        counts = np.stack([rows - positive, positive], axis=1) + generator.normal(0, 10, (BINS, 2)).round()
        log_odds = float(generator.normal())
        usual = math.log(counts[:, 1].sum() / counts[:, 0].sum())

        def loss(
            at: np.ndarray, counts: np.ndarray = counts, log_odds: float = log_odds, usual: float = usual
        ) -> float:
            slope, shift = at
            p = 1 / (1 + np.exp(-(log_odds + shift + slope * MIDDLES)))
            variance = 100 * (p**2 + (1 - p) ** 2) + np.maximum(counts.sum(axis=1), 0) * p * (1 - p)
            residual = counts[:, 1] - p * counts.sum(axis=1)
            fit = residual**2 / (2 * variance) + np.log(variance / (p**2 + (1 - p) ** 2)) / 2
            prior = (math.log(slope) + math.log(10) / 4) ** 2 + (log_odds + shift - usual) ** 2
            return float(fit.sum() + prior / (2 * DEVIATION**2))

        found = fitted(counts.tolist(), MIDDLES, 10, log_odds, 10)
        best = minimize(loss, found, bounds=[(0.1, 1.2), (-5, 5)], method="L-BFGS-B")
        assert loss(np.array(found)) <= best.fun + 0.1
        assert found == pytest.approx(tuple(best.x), abs=0.02)


@pytest.mark.parametrize(("attributes", "slope"), [(1, 1.0), (16, 0.5), (81, 0.33), (10**6, 0.03)])
def test_without_rows_the_prior_decides(attributes: int, slope: float) -> None:
    """The classes are then as likely as each other: no count says otherwise."""
    assert fitted([[0, 0]] * BINS, MIDDLES, 100, 0.3, attributes) == pytest.approx((slope, -0.3), abs=0.006)


def test_log_odds_of_noisy_class_counts_are_mended() -> None:
    """A class whose released count was far below its rows: the counts of the second pass know better."""
    for log_odds in (-10.6, -2.7, 4.0):
        slope, shift = fitted(logistic_counts(0.3, -2.7, 50_000, MIDDLES), MIDDLES, 140, log_odds, 40)
        assert slope == pytest.approx(0.3, abs=0.1)
        assert log_odds + shift == pytest.approx(-2.7, abs=0.3)


def test_noise_in_empty_bins_does_not_move_the_fit() -> None:
    """A likelihood of exact counts takes 500 rows of noise, where the model expects none, for evidence."""
    counts = logistic_counts(0.5, -1.0, 40_000, MIDDLES)
    noise = np.zeros((BINS, 2), dtype=int)
    noise[[0, -1]] = [300, -200], [500, -300]
    slope, shift = fitted((np.array(counts) + noise).tolist(), MIDDLES, 250, -1.0, 16)
    assert slope == pytest.approx(0.5, abs=0.06)
    assert shift == pytest.approx(0.0, abs=0.1)


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_score_whose_extremes_hold_the_larger_class_is_flattened(mirrored: bool) -> None:
    """One attribute's tails, drawn badly, can make rows of the larger class look most like the rarer one."""
    counts = [[20_000, 100], [5_000, 50], [2_000, 50], [2_500, 60], [3_000, 140], [3_500, 300], [2_600, 640]]
    spoilt, sound = ([*counts, *ends] for ends in (TAILS, [[900, 700], [300, 500], [100, 300], [0, 20], [0, 0]]))
    log_odds = 2.7 if mirrored else -2.7
    for table, helps in ((spoilt, False), (sound, True)):
        given = [row[::-1] for row in table[::-1]] if mirrored else table
        slope, shift = fitted(given, MIDDLES, 14, log_odds, 40)
        assert (slope not in FLAT) is helps
        if not helps:
            odds = log_odds + shift + slope * 512 * (-1 if mirrored else 1)
            assert (odds > 0) is mirrored


TAILS = [[900, 700], [500, 500], [700, 200], [400, 50], [900, 100]]


def test_probabilities_of_a_rare_class_are_fitted_though_it_is_never_predicted() -> None:
    counts = logistic_counts(0.3, -6.0, 10**6, np.clip(MIDDLES, -8, 8))
    assert all(negatives > positives for negatives, positives in counts)
    counts[0], counts[-1] = [0, 0], [3, -2]
    slope, shift = fitted(counts, MIDDLES, 14, -6.1, 40)
    assert slope == pytest.approx(0.3, abs=0.05)
    assert shift == pytest.approx(0.1, abs=0.1)


def test_noise_alone_does_not_flatten_a_score() -> None:
    counts = logistic_counts(0.5, -1.0, 10_000, MIDDLES)
    counts[-1] = [100, -250]
    assert fitted(counts, MIDDLES, 200, -1.0, 16)[0] not in FLAT
