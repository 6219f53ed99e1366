"""Figures of released scores: what they are without noise, and how often their intervals hold the truth with it."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.golden_model import changed
from support.people import PEOPLE, people_domain

from dpnb_columnar.core.budget import Neighbours, Pure, Share
from dpnb_columnar.core.budget.composition import Guarantee
from dpnb_columnar.domain.declared_domain import Weight
from dpnb_columnar.errors import DataError, MissingInputError
from dpnb_columnar.evaluation.evaluation import (
    EDGES,
    DivisionFigures,
    Estimate,
    GroupTables,
    area,
    difference,
    division_figures,
    exact_sum_interval,
    is_known,
    mean,
    proportion,
)
from dpnb_columnar.evaluation.exact_evaluation import ranking
from dpnb_columnar.evaluation.released_scores import ReleasedScores, ScoreFigures, load_scores, score_figures
from dpnb_columnar.model import query_noise as intervals
from dpnb_columnar.model.query_noise import count_variance, wilson_interval

BINS = len(EDGES) + 1


def scores_of(
    counts: Any, epsilon: Fraction, cap: Fraction | int | None = None, step: Fraction = Fraction(1)
) -> ReleasedScores:
    released = tuple(tuple(int(count) for count in row) for row in counts)
    share = Share("score counts", None, sum(map(len, released)), "why", "laplace", Pure(epsilon), Pure(epsilon))
    guarantee = Guarantee("score counts", None, epsilon, Fraction(0), Neighbours.ADD_REMOVE, (share,), seeded=False)
    classes = ["low", "high"] if len(released) == 2 else [f"c{place}" for place, _ in enumerate(released)]
    domain = people_domain({**PEOPLE, "label": {"column": "income", "classes": classes}})
    domain = domain if cap is None else replace(domain, weight=Weight("w", Fraction(cap), step))
    return ReleasedScores(domain, "0" * 64, guarantee, released, {"numpy": "2"})


def made_up(rows: int, part: float, bits: Random) -> np.ndarray:
    """Rows of two classes by bin: normal scores that are a third too certain."""
    counts = np.zeros((2, BINS), dtype=np.int64)
    for _ in range(rows):
        positive = bits.random() < part
        log_odds = 1.5 * bits.gauss(1.5 * positive, 1) - 1.125 + math.log(part / (1 - part))
        counts[int(positive), np.searchsorted(EDGES, 1.3 * log_odds)] += 1
    return counts


def laplace(bits: Random, epsilon: float) -> float:
    """A draw of Laplace noise: fast, and not for releases."""
    return bits.expovariate(epsilon) - bits.expovariate(epsilon)


# The noise.


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 5.0, 1000.0])
def test_variance_of_a_rounded_count(epsilon: float) -> None:
    sizes = np.arange(1, 5000)
    likely = np.exp(-epsilon * (sizes - 0.5)) - np.exp(-epsilon * (sizes + 0.5))
    assert count_variance(epsilon) == pytest.approx(float(likely @ sizes**2), rel=1e-6)


# Without noise.


@pytest.mark.parametrize(("hits", "misses"), [(0, 9), (3, 7), (50, 50), (999, 1), (20, 0)])
def test_a_proportion_without_noise_has_wilsons_interval(hits: int, misses: int) -> None:
    estimate = proportion(hits, misses, (4, 9), 0.0)
    assert estimate.value == hits / (hits + misses)
    assert estimate.interval == pytest.approx(intervals.wilson_interval(hits, hits + misses))


def test_an_area_without_noise_is_that_of_the_ranking() -> None:
    counts = made_up(3000, 0.3, Random(1))
    rows = [
        {"bin": place, "own": bool(own), "rows": int(counts[own, place]), "least": place, "largest": place}
        for own in (0, 1)
        for place in range(BINS)
        if counts[own, place]
    ]
    exact, found = ranking(pl.DataFrame(rows)), area(*counts.tolist(), 0.0)
    assert exact is not None
    assert exact.interval is not None
    assert found.value == pytest.approx(exact.area)
    assert found.interval == pytest.approx(exact.interval, abs=0.003)


@pytest.mark.parametrize(("hits", "misses"), [(30, 70), (5, 400), (200, 180)])
def test_misses_are_the_hits_of_what_is_left(hits: int, misses: int) -> None:
    """The noise of both counts: an interval read from the other end is that of the other part."""
    one, other = proportion(hits, misses, (3, 20), 40.0), proportion(misses, hits, (20, 3), 40.0)
    assert one.interval == pytest.approx((1 - other.interval[1], 1 - other.interval[0]))


def test_the_noise_of_a_sum_grows_with_the_root_of_its_counts() -> None:
    widths = [np.diff(exact_sum_interval(10_000, cells, 9.0))[0] for cells in (1, 4, 100)]
    assert widths[1:] == pytest.approx([2 * widths[0], 10 * widths[0]], rel=0.08)
    # The sum of many is nearly normal, which the noise of one is not.
    assert widths[1] < 1.95 * widths[0]
    assert widths[2] < 9.3 * widths[0]
    assert exact_sum_interval(-10_000, 4, 9.0) == (0.0, 0.0)


def test_a_difference_without_noise_is_near_the_paired_interval() -> None:
    found = difference(120, 60, 820, (1, 1, 2), 0.0)
    assert found.value == pytest.approx(0.06)
    assert found.interval == pytest.approx(intervals.paired_difference(120, 60, 1000), abs=0.002)


def test_figures_of_counts_add_up() -> None:
    counts = made_up(2000, 0.4, Random(2))
    figures = score_figures(scores_of(counts, Fraction(1000)))
    (kept, raised), (lowered, found) = figures.confusion
    assert figures.rows == kept + raised + lowered + found == 2000
    assert found == counts[1, EDGES.index(0) + 1 :].sum()
    assert raised == counts[0, EDGES.index(0) + 1 :].sum()
    assert figures.accuracy.value == (kept + found) / 2000
    assert figures.majority_class == "low"
    assert figures.majority.value == (kept + raised) / 2000
    assert figures.gain.value == pytest.approx((found - raised) / 2000)
    assert figures.recall[1].value == found / (found + lowered)
    assert figures.precision[0].value == kept / (kept + lowered)
    assert figures.balanced_accuracy.value == pytest.approx((kept / (kept + raised) + found / (found + lowered)) / 2)
    assert sum(band.rows for band in figures.calibration) == 2000
    assert figures.calibration[0].lower == 0
    assert figures.calibration[-1].upper == 1
    assert all(one.upper == two.lower for one, two in zip(figures.calibration, figures.calibration[1:], strict=False))
    halves = [point for point in figures.roc if point.probability == 0.5]
    assert [point.true_positives for point in halves] == [figures.recall[1]]
    swapped = score_figures(scores_of(counts[::-1, ::-1], Fraction(1000)))
    assert swapped.accuracy == figures.accuracy
    assert swapped.gain.value == pytest.approx(figures.gain.value)
    assert swapped.gain.interval == pytest.approx(figures.gain.interval)
    assert swapped.auc is not None
    assert figures.auc is not None
    assert swapped.auc.interval == pytest.approx(figures.auc.interval)


CONFUSION = np.array([[500, 60, 40], [30, 200, 20], [10, 40, 100]])


def test_figures_of_three_classes_are_those_of_their_confusion() -> None:
    figures = score_figures(scores_of(CONFUSION, Fraction(1000)))
    assert (figures.rows, figures.confusion) == (1000, tuple(map(tuple, CONFUSION.tolist())))
    assert figures.accuracy == Estimate(0.8, figures.accuracy.interval)
    assert figures.accuracy.interval == pytest.approx(intervals.wilson_interval(800, 1000))
    assert (figures.majority_class, figures.majority.value) == ("c0", 0.6)
    assert figures.gain.value == pytest.approx(0.2)
    assert figures.gain.interval == pytest.approx(intervals.paired_difference(300, 100, 1000), abs=0.003)
    assert [recall.value for recall in figures.recall] == pytest.approx([500 / 600, 200 / 250, 100 / 150])
    assert [part.value for part in figures.precision] == pytest.approx([500 / 540, 200 / 300, 100 / 160])
    assert figures.recall[2].interval == pytest.approx(intervals.wilson_interval(100, 150))
    assert figures.precision[1].interval == pytest.approx(intervals.wilson_interval(200, 300))
    assert figures.balanced_accuracy.value == pytest.approx((500 / 600 + 200 / 250 + 100 / 150) / 3)
    assert (figures.auc, figures.calibration, figures.roc) == (None, (), ())


# With noise.


def test_counts_that_say_nothing_exclude_nothing() -> None:
    for counts in (np.zeros((2, BINS)), np.full((2, BINS), -3), made_up(3, 0.5, Random(1)), np.ones((3, 3))):
        figures = score_figures(scores_of(counts, Fraction(1, 100)))
        assert figures.accuracy.interval == (0.0, 1.0)
        assert figures.auc is None or figures.auc.interval == (0.0, 1.0)
        assert figures.gain.interval == (-1.0, 1.0)
    assert figures.rows_interval[0] == 0
    nothing = score_figures(scores_of(np.zeros((2, BINS)), Fraction(1)))
    assert nothing.auc is not None
    assert nothing.accuracy.value is nothing.auc.value is nothing.balanced_accuracy.value is None
    assert mean([Estimate(None, (0.0, 1.0)), Estimate(0.5, (0.4, 0.6))]) == Estimate(None, (0.0, 1.0))


def estimates(figures: ScoreFigures) -> dict[str, Estimate]:
    named = {name: getattr(figures, name) for name in ("accuracy", "majority", "gain", "balanced_accuracy")}
    named |= {} if figures.auc is None else {"auc": figures.auc}
    named |= {f"recall {code}": recall for code, recall in enumerate(figures.recall)}
    named |= {f"precision {code}": precision for code, precision in enumerate(figures.precision)}
    named |= {f"band {place}": band.share for place, band in enumerate(figures.calibration)}
    return named | {f"roc {place}": point.true_positives for place, point in enumerate(figures.roc)}


def noise_of(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Every size of the noise in a count that matters, and its probability."""
    sizes = np.arange(-round(25 / epsilon), round(25 / epsilon) + 1)
    far = np.abs(sizes)
    likely = (np.exp(-epsilon * (far - 0.5)) - np.exp(-epsilon * (far + 0.5))) / 2
    likely[far == 0] = 1 - math.exp(-epsilon / 2)
    return sizes, likely


@pytest.mark.parametrize("epsilon", [0.01, 0.05])
def test_an_interval_of_one_noisy_count_holds_it_as_often_as_it_says(epsilon: float) -> None:
    """Catches: a K of noisy intervals that is another one, such as 1, with which 93.7 % would hold the truth.

    By every size that the noise may have, not by draws; the noise of one count has the longest tails there are.
    """
    sizes, likely = noise_of(epsilon)
    assert likely.sum() == pytest.approx(1)
    rows, variance = 10**6, count_variance(epsilon)
    ends = [exact_sum_interval(rows + int(size), 1, variance) for size in sizes]
    held = float(likely @ [low <= rows <= high for low, high in ends])
    assert held == pytest.approx(0.95, abs=0.003)


def test_a_proportion_with_much_noise_holds_the_truth_as_often_as_it_says() -> None:
    """Catches: the K of noisy intervals left out of a proportion, or squared once more.

    There are so many rows that their sampling adds little to the noise, and one count of two has any.
    """
    sizes, likely = noise_of(0.001)
    sizes, likely = sizes[::40], likely[::40] * 40
    hits, variance = 20_000, count_variance(0.001)
    ends = [proportion(hits + int(size), hits, (1, 0), variance).interval for size in sizes]
    held = float(likely @ [low <= 0.5 <= high for low, high in ends])
    assert held == pytest.approx(0.95, abs=0.004)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "epsilon", "part"), [(1000, 1.0, 0.3), (1000, 0.1, 0.3), (5000, 0.2, 0.05)])
def test_intervals_hold_the_truth_as_often_as_they_say(rows: int, epsilon: float, part: float) -> None:
    """Of two classes."""
    bits = Random(7)
    check_coverage(made_up(200_000, part, bits), rows, epsilon, bits)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "largest", "own"), [(2.0, 3, 200), (0.2, 3, 200), (2.0, 1, 200), (1.0, 3, -10)])
def test_intervals_of_many_classes_hold_the_truth_as_often_as_they_say(epsilon: float, largest: int, own: int) -> None:
    """Few rows of each, whose noisy counts are often below 0: figures that are cut off there must not be averaged.

    Where all classes are equally large, the noise chooses the largest, whose part is overestimated.
    """
    population = 10 + own * np.eye(20, dtype=np.int64)
    population[0] *= largest
    check_coverage(population, 5000, epsilon, Random(7))


def check_coverage(population: np.ndarray, rows: int, epsilon: float, bits: Random) -> None:
    """Of 500 seeded samples with noise. By chance, fewer than 0.89 of them hold it with a probability below 1e-8.

    Intervals that are too wide fail as well, kind by kind: those aside which noise makes so wide that they hold nearly
    half of what is possible. Of one figure, 500 samples tell its coverage to within 0.02.
    """
    samples = 500
    figures = estimates(score_figures(scores_of(population, Fraction(1000))))
    truth = {name: estimate.value for name, estimate in figures.items() if estimate.value is not None}
    held, widths = coverage(population, truth, rows, epsilon, samples, bits)
    assert {name: part for name in truth if (part := held[name] / samples) <= 0.89} == {}
    kinds: dict[str, list[float]] = {}
    for name in truth:
        if widths[name] / samples < 0.4:
            kinds.setdefault(name.split()[0], []).append(held[name] / samples)
    off = {kind: 0.01 if len(parts) == 1 else 0.0 for kind, parts in kinds.items()}
    by_kind = {kind: float(np.mean(parts)) for kind, parts in kinds.items()}
    # A part of 0 or 1 is missed on one side alone.
    most = 0.99 if min(map(abs, truth.values())) == 0 else 0.98
    assert {kind: x for kind, x in by_kind.items() if not 0.93 - off[kind] <= x <= most + off[kind]} == {}


def coverage(
    population: np.ndarray, truth: dict[str, float], rows: int, epsilon: float, samples: int, bits: Random
) -> tuple[Counter[str], Counter[str]]:
    """Count how often the interval of each figure holds the truth, and add up how wide it is."""
    cells = list(np.ndindex(*population.shape))
    held: Counter[str] = Counter()
    widths: Counter[str] = Counter()
    for _ in range(samples):
        counts = np.zeros(population.shape, dtype=np.int64)
        drawn = Counter(bits.choices(cells, weights=population.ravel().tolist(), k=rows))
        for cell in cells:
            counts[cell] = drawn[cell] + round(laplace(bits, epsilon))
        for name, found in estimates(score_figures(scores_of(counts, Fraction(epsilon)))).items():
            if name in truth:
                held[name] += found.interval[0] <= truth[name] <= found.interval[1]
                widths[name] += found.interval[1] - found.interval[0]  # type: ignore[assignment]
    return held, widths


# Documents.


def test_a_file_holds_counts_and_figures(tmp_path: Path) -> None:
    scores = scores_of(made_up(300, 0.3, Random(4)), Fraction(1))
    scores.save(tmp_path / "s.json")
    document = json.loads((tmp_path / "s.json").read_text())
    assert document["released"] == [list(row) for row in scores.counts]
    assert scores.figures.auc is not None
    assert document["figures"]["auc"]["value"] == scores.figures.auc.value
    assert load_scores(tmp_path / "s.json") == scores


def test_a_file_of_three_classes_names_the_predicted_ones(tmp_path: Path) -> None:
    scores = scores_of(CONFUSION, Fraction(1))
    scores.save(tmp_path / "s.json")
    document = json.loads((tmp_path / "s.json").read_text())
    assert (document["predicted"], document["released"]) == (["c0", "c1", "c2"], CONFUSION.tolist())
    assert document["figures"]["auc"] is None
    assert "log_odds" not in document
    assert load_scores(tmp_path / "s.json") == scores
    for key, value in (("predicted", ["c0", "c2", "c1"]), ("released", [[1, 2, 3]] * 2), ("released", [[1, 2]] * 3)):
        (tmp_path / "s.json").write_text(json.dumps({**document, key: value}))
        with pytest.raises(DataError, match=f"not valid scores: {key}"):
            load_scores(tmp_path / "s.json")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *((("format",), "dpnb_columnar model"), (("log_odds",), [0.0]), (("model",), "x")),
        *((("released",), [[1], [2]]), (("released", 0, 3), 0.5), (("guarantee", "composition"), [])),
        *((("guarantee", "composition", 0, "row_epsilon"), "2"), (("guarantee", "epsilon"), "2")),
        *((("domain", "label", "classes"), ["a", "b", "c"]), (("software",), None)),
    ],
)
def test_a_changed_document_is_refused(place: tuple[str | int, ...], value: object, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    scores_of(np.ones((2, BINS)), Fraction(1)).save(file)
    file.write_text(json.dumps(changed(place, value, json.loads(file.read_text()))))
    with pytest.raises(DataError, match="not valid scores"):
        load_scores(file)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (1, "of version 1; dpnb-columnar 0.2.0 reads it; use it with that version, or release scores again"),
        (2, "of version 2; dpnb-columnar 0.2.0 reads it; use it with that version, or release scores again"),
        (4, r"of version 4, which this program does not know \(it reads version 3\)"),
        (None, r"of version None, which this program does not know"),
    ],
)
def test_scores_of_another_version_are_refused(version: object, words: str, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    scores_of(np.ones((2, BINS)), Fraction(1)).save(file)
    file.write_text(json.dumps({**json.loads(file.read_text()), "version": version}))
    with pytest.raises(DataError, match=f"s.json: a file of released scores {words}"):
        load_scores(file)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("{")
    with pytest.raises(DataError, match="not a JSON file"):
        load_scores(tmp_path / "s.json")
    with pytest.raises(MissingInputError):
        load_scores(tmp_path / "none.json")


@pytest.mark.slow
def test_intervals_of_weighted_rows_hold_what_is_true_of_them() -> None:
    """Rows of the weight four are the worst that a cap of four allows: one draw each, not four.

    Rows of the weight one have intervals that are wider than they need to be, and no narrower.
    """
    noise, cap, draws = np.random.default_rng(3), 4, 300
    chances = made_up(20_000, 0.3, Random(5)) / 20_000
    truth, sizes = chances.sum(axis=1)[0], {4: 0, 1: 0}
    for size in sizes:
        for _ in range(draws):
            counts = size * noise.multinomial(3000 // size, chances.ravel()).reshape(chances.shape)
            counts = counts + np.rint(noise.laplace(0, cap / 0.5, counts.shape))
            figures = score_figures(scores_of(counts, Fraction(1, 2), cap))
            sizes[size] += figures.majority.interval[0] <= truth <= figures.majority.interval[1]
            assert abs(figures.rows - 3000) < 600
            assert figures.rows == sum(map(sum, figures.confusion))
    assert 0.93 <= sizes[4] / draws <= 0.98
    assert sizes[1] / draws >= 0.98


def test_figures_of_weighted_rows_are_those_of_the_sums() -> None:
    """What a row weighs at most is in the widths of the intervals and in the noise, in no figure."""
    counts = made_up(5000, 0.3, Random(2))
    one, four = (score_figures(scores_of(counts, Fraction(100), cap)) for cap in (None, 4))
    assert (four.rows, four.confusion, four.majority_class) == (one.rows, one.confusion, one.majority_class)
    assert four.noise == pytest.approx(math.sqrt(count_variance(100 / 4)), abs=1e-9)
    assert [band.rows for band in four.calibration] == [band.rows for band in one.calibration]
    for name, found in estimates(four).items():
        assert found.value == pytest.approx(estimates(one)[name].value, abs=1e-9)
    width_of_one, width_of_four = (np.diff(each.accuracy.interval)[0] for each in (one, four))
    assert width_of_four == pytest.approx(2 * width_of_one, rel=0.01)


def test_numbers_of_weighted_rows_are_in_the_unit_of_the_weight() -> None:
    """The same sums in steps of a quarter: every number of rows is a quarter of it, and no figure changes."""
    counts = made_up(5000, 0.3, Random(2))
    one, quarter = (
        score_figures(scores_of(counts, Fraction(100), cap, step))
        for cap, step in ((4, Fraction(1)), (1, Fraction(1, 4)))
    )
    assert quarter.rows == round(one.rows / 4)
    assert quarter.rows_interval == pytest.approx([end / 4 for end in one.rows_interval])
    assert quarter.noise == pytest.approx(one.noise / 4)
    assert estimates(quarter) == estimates(one)


# Figures of groups: intervals that hold the noise and the sampling of rows, and groups that are hidden by noise.

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
def test_intervals_of_groups_hold_the_truth_as_often_as_they_say(epsilon: float) -> None:
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
