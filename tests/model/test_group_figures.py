"""Figures of groups: intervals that hold the noise and the sampling of rows, and groups that are hidden by noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from dpnb_columnar.evaluation.group_figures import DivisionFigures, GroupTables, division_figures, is_known
from dpnb_columnar.evaluation.noisy_intervals import count_variance

from dpnb_columnar.model.intervals import wilson_interval

SIZES = (300, 1000, 4000, 20000)
LOG_ODDS = (-1.5, -0.5, 0.3, -1.0)
"""Of a group's rows, by the model; how far they are from the true ones is ``WRONG``."""

SPREADS = (1.2, 1.8, 1.5, 2.2)
WRONG = (0.3, 0.0, 0.1, -0.1)


def rows_of(group: int, size: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Draw rows of a group: counts by true and predicted class, and the sum of the rounded probabilities."""
    odds = LOG_ODDS[group] + SPREADS[group] * rng.standard_normal(size)
    second = rng.random(size) < 1 / (1 + np.exp(-(odds + WRONG[group])))
    counts = np.bincount(2 * second + (odds > 0), minlength=4).reshape(2, 2)
    return counts, float(np.round(1 / (1 + np.exp(-odds)), 2).sum())


def truths(counts: np.ndarray, expected: float) -> dict[str, float]:
    rows = counts.sum()
    return {
        "accuracy": counts.trace() / rows,
        "recall": counts[1, 1] / counts[1].sum(),
        "false_positives": counts[0, 1] / counts[0].sum(),
        "calibration": (expected - counts[1].sum()) / rows,
    }


def released(tables: list[tuple[np.ndarray, float]], epsilon: float, rng: np.random.Generator) -> DivisionFigures:
    """Figures as of a release by one column: half of epsilon for the counts, a quarter for the sums."""
    of_counts, of_sums = epsilon / 2, epsilon / 4
    counts = np.array([each for each, _ in tables]).astype(np.int64)
    counts += np.rint(rng.laplace(0, 1 / of_counts, counts.shape)).astype(np.int64)
    expected = np.array([each for _, each in tables]) + np.rint(rng.laplace(0, 100 / of_sums, len(tables))) / 100
    noise = count_variance(of_counts), count_variance(of_sums / 100) / 100**2
    values = [(str(place),) for place in range(len(tables))]
    return division_figures(("no", "yes"), ("g",), values, GroupTables(counts, expected, None, *noise))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0])
def test_intervals_hold_the_truth_as_often_as_they_say(epsilon: float) -> None:
    """Of accuracy, errors and calibration, and of their differences to all rows: neither too narrow nor too wide.

    The bounds are .93 and .98; 800 releases measure a coverage of .95 within .016 (two standard deviations).
    """
    rng, releases = np.random.default_rng(7), 800
    whole = [rows_of(group, 1_000_000, rng) for group in range(4)]
    shares = np.array(SIZES) / sum(SIZES)
    of_all = truths(
        sum(share * counts / counts.sum() for share, (counts, _) in zip(shares, whole, strict=True)),
        float(sum(share * expected / counts.sum() for share, (counts, expected) in zip(shares, whole, strict=True))),
    )
    held: dict[tuple[str, int], list[bool]] = {}
    for _ in range(releases):
        tables = [rows_of(group, int(rng.poisson(size)), rng) for group, size in enumerate(SIZES)]
        for place, group in enumerate(released(tables, epsilon, rng).groups):
            for name, truth in truths(*whole[place]).items():
                for suffix, value in (("", truth), ("_difference", truth - of_all[name])):
                    found = getattr(group, name + suffix)
                    estimate = found[1] if isinstance(found, tuple) else found
                    if is_known(estimate):
                        low, high = estimate.interval
                        held.setdefault((name + suffix, place), []).append(low <= value <= high)
    for (name, place), each in held.items():
        if len(each) == releases:
            assert 0.93 - 0.009 <= np.mean(each) <= 0.98 + 0.007, (name, place, np.mean(each))
    assert sum(len(each) == releases for each in held.values()) >= 24
    assert 0.945 <= np.mean([value for each in held.values() for value in each]) <= 0.965


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_groups_without_rows_are_taken_for_ones_with_rows_in_one_release_of_twenty_at_most(epsilon: float) -> None:
    rng = np.random.default_rng(3)
    nobody, somebody = (np.zeros((2, 2), dtype=np.int64), 0.0), rows_of(3, 50_000, rng)
    found = [released([somebody, *[nobody] * 30], epsilon, rng).known for _ in range(300)]
    assert all(each[0].rows > 40_000 for each in found)
    assert np.mean([len(each) > 1 for each in found]) <= 0.08
    assert np.mean([len(each) > 1 for each in found]) > 0  # else groups with few rows would be hidden for nothing


def test_without_noise_intervals_are_wilsons_and_groups_without_rows_have_none() -> None:
    counts = np.array([[[50, 10], [5, 35]], [[0, 0], [0, 0]], [[400, 20], [30, 150]]])
    tables = GroupTables(counts, np.array([40.0, 0.0, 160.0]), np.array([12.0, 0.0, 60.0]))
    figures = division_figures(("no", "yes"), ("g",), [("a",), ("b",), (None,)], tables)
    first, empty, rest = figures.groups
    assert first.accuracy.interval == pytest.approx(wilson_interval(85, 100))
    assert first.recall[1].interval == pytest.approx(wilson_interval(35, 40))
    assert first.false_positives[1].interval == pytest.approx(wilson_interval(10, 60))
    assert first.false_positives[0].value == pytest.approx(5 / 40)
    assert first.accuracy_difference.value == pytest.approx(85 / 100 - 635 / 700)
    assert first.recall_difference[1].value == pytest.approx(35 / 40 - 185 / 220)
    assert first.calibration is not None
    assert first.calibration.value == pytest.approx(0.0)
    half = (first.calibration.interval[1] - first.calibration.interval[0]) / 2
    assert half == pytest.approx(1.96 * math.sqrt(12 / 100 / 100), rel=0.01)
    assert (empty.rows, empty.has_rows, empty.accuracy.value, empty.accuracy_difference.value) == (0, False, None, None)
    assert figures.known == (first, rest)
    assert figures.worse == (first,)


@pytest.mark.parametrize("variance", [0.0, 2.0], ids=["exact", "noisy"])
@pytest.mark.parametrize("rows", [1, 29, 30])
def test_no_verdict_is_of_a_group_of_fewer_than_30_rows(rows: int, variance: float) -> None:
    counts = np.array([[[0, rows], [0, 0]], [[4000, 200], [300, 1500]]])
    figures = division_figures(("no", "yes"), ("g",), [("few",), ("all",)], GroupTables(counts, None, None, variance))
    few = figures.groups[0]
    assert few.rows == rows
    if few.has_rows and rows > 1:
        assert few.accuracy_difference.interval[1] < 0
    assert figures.worse == ((few,) if rows == 30 else ())
    assert ("1 group of fewer than 30 rows: no verdict." in figures.remark) == (few.has_rows and rows < 30)


def test_the_largest_error_of_an_area_is_a_remark() -> None:
    counts = np.array([[[50, 10], [5, 35]]] * 2)
    figures = division_figures(("no", "yes"), ("g",), [("a",), ("b",)], GroupTables(counts, None))
    assert figures.remark == ""
    for errors, remark in (((0.0, None), ""), ((0.0006, 0.01), "AUC give or take 0.0100: rows are ranked in bins.")):
        groups = tuple(replace(each, auc_error=error) for each, error in zip(figures.groups, errors, strict=True))
        assert replace(figures, groups=groups).remark == remark


def test_noise_of_the_other_groups_widens_a_difference_and_hides_few_rows() -> None:
    counts = np.array([[[500, 100], [50, 350]], *[[[2, 1], [1, 2]]] * 40, [[4000, 200], [300, 1500]]])
    by_noise = [
        division_figures(
            ("no", "yes"), ("g",), [(str(place),) for place in range(42)], GroupTables(counts, None, None, noise)
        )
        for noise in (0.0, 8.0)
    ]
    without, noisy = by_noise
    assert (len(without.known), len(noisy.known)) == (42, 2)
    widths = [
        each.groups[0].accuracy_difference.interval[1] - each.groups[0].accuracy_difference.interval[0]
        for each in by_noise
    ]
    # Variances: of the group 1.27e-4 by sampling and .14e-4 by noise; of all others .14e-4, and .16e-4 by 164 counts'.
    assert widths[1] / widths[0] == pytest.approx(1.10, abs=0.02)


def test_of_three_classes_there_is_no_calibration() -> None:
    counts = np.arange(18).reshape(2, 3, 3)
    figures = division_figures(("a", "b", "c"), ("g",), [("1",), ("2",)], GroupTables(counts, None))
    group = figures.groups[1]
    assert (group.calibration, group.calibration_difference, group.auc) == (None, None, None)
    assert [each.value for each in group.recall] == pytest.approx([9 / 30, 13 / 39, 17 / 48])
    assert group.false_positives[2].value == pytest.approx((11 + 14) / (30 + 39))


def test_a_group_of_fewer_rows_than_noise_makes_is_not_named_even_where_its_figure_is() -> None:
    """Noise alone may look like a few rows that are all predicted correctly, or all wrongly."""
    counts = np.array([*[[[0, 9], [9, 0]]] * 41, [[4000, 200], [300, 1500]]])
    values = [(str(place),) for place in range(42)]
    figures = division_figures(("no", "yes"), ("g",), values, GroupTables(counts, None, None, 8.0))
    first = figures.groups[0]
    assert is_known(first.accuracy)
    assert first.accuracy_difference.interval[1] < 0
    assert not first.has_rows
    assert figures.known == figures.groups[-1:]
    assert figures.worse == ()
