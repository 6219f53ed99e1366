"""Calibrated weights: margins of a released model, their ranges, and what is made of the counts."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.mechanisms import PRIVATE
from support.model_cases import declared, from_document
from support.people import PEOPLE, people, people_domain
from support.recorded_draws import Forced
from support.releases import plan_and_release, train

from dpnb_columnar.api import load_model
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Neighbours, Pure, Share
from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.mechanisms.later import draw_margins
from dpnb_columnar.core.queries.scores import Margins, ScoreCounts
from dpnb_columnar.core.queries.statistics import Cells, Statistics, assemble
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.model import score_calibration
from dpnb_columnar.model.document import to_document
from dpnb_columnar.model.likelihood import LARGEST_SCORE, log_ratios, population_line
from dpnb_columnar.model.parameters import (
    AttributeWeights,
    CalibrationLine,
    Histogram,
    NaiveBayes,
    Normal,
    Presence,
    Table,
)
from dpnb_columnar.model.score_calibration import STEPS, calibrated_weights, centres, fit_line, margins_given
from dpnb_columnar.releases.model_plan import release
from dpnb_columnar.releases.plan import plan, plan_given, reserve_later_pass

# Margins of correlated attributes.

ROWS = {
    2: [[50_000, 2_000], [20_000, 8_000], [5_000, 15_000]],
    3: [[9_000, 40_000, 1_000], [8_000, 3_000, 2_000], [6_000, 2_000, 7_000]],
}
"""Rows per value and class."""


def correlated(copies: int, classes: int = 2) -> tuple[Domain, Statistics, np.ndarray]:
    """One categorical attribute, given several times over: rows per value and class."""
    rows = np.array(ROWS[classes])
    attributes = {f"x{number}": {"values": ["a", "b", "c"]} for number in range(copies)}
    domain = declared(attributes, ["no", "yes", "other"][:classes])
    code, klass = (part.ravel() for part in np.indices(rows.shape))
    cells = [Cells(None, np.arange(classes), np.zeros(classes, dtype=np.int64), rows.sum(axis=0))]
    cells += [Cells(f"x{number}", klass, code, rows.ravel()) for number in range(copies)]
    return domain, assemble(domain, cells), rows


def released(copies: int, classes: int = 2) -> tuple[NaiveBayes, Margins, ScoreCounts, Share]:
    """A model without noise, its margins, how many rows have each, and the share of the second pass."""
    domain, statistics, rows = correlated(copies, classes)
    model = plan_and_release(statistics, Budget(Fraction(1)), "histogram", draw=Forced())
    margins = margins_given(model)
    counts = margins.empty().counts
    for code in range(3):
        scores = np.array(
            [
                offset + sum(table.scores[code] for table in tables)
                for offset, tables in zip(margins.offsets, margins.by_class, strict=True)
            ]
        )
        for klass in range(classes):
            (place,) = margins.bins_of(scores[:, None], np.array([klass]))
            counts[place, klass] += rows[code, klass]
    share = plan(domain, Budget(Fraction(1)), "histogram", attribute_weights="calibrated").calibration
    assert share is not None
    return model, margins, ScoreCounts(margins, counts), share


def fitted_weights(model: NaiveBayes, counts: ScoreCounts, share: Share) -> AttributeWeights:
    """Weights that are fitted to counts without noise."""
    return calibrated_weights(model, draw_margins(margins_given(model), share, counts, Forced()))


@pytest.mark.parametrize(("copies", "classes"), [(1, 2), (4, 2), (9, 2), (4, 3), (9, 3)])
def test_the_line_gives_the_parts_of_rows_however_often_an_attribute_is_given(copies: int, classes: int) -> None:
    """Catches: rows of the classes in the wrong columns, ranges in a wrong order, another weight than the tempered."""
    model, margins, counts, share = released(copies, classes)
    weights = fitted_weights(model, counts, share)
    weight = copies**-0.25 if copies >= 8 else 1.0
    assert (weights.method, weights.weights, weights.intercepts) == ("calibrated", (weight,) * copies, (0.0,) * classes)
    assert weights.line is not None
    assert weights.line.largest == margins.largest == np.argmax(np.sum(ROWS[classes], axis=0))
    for row in np.array(ROWS[classes], dtype=np.float64):
        logs = np.log(row / np.sum(ROWS[classes], axis=0))
        priors = np.log(np.sum(ROWS[classes], axis=0) / np.sum(ROWS[classes]))
        scores = priors + copies * weight * logs
        other = max((k for k in range(classes) if k != margins.largest), key=scores.__getitem__)
        margin = scores[other] - scores[margins.largest]
        odds = np.interp(margin, weights.line.margins, weights.line.log_odds)
        assert odds == pytest.approx(math.log(row[other] / row[margins.largest]), abs=0.35)
    moved = replace(margins, edges=tuple(edge + 1 for edge in margins.edges))
    with pytest.raises(ValueError, match="not those that the released model gives"):
        fitted_weights(model, ScoreCounts(moved, counts.counts), share)


@pytest.mark.parametrize("mirrored", [False, True])
def test_the_margins_of_learned_weights_are_counted(mirrored: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches: weights or intercepts that rounds have learned, and that the ranges, or the line's model, know not."""
    if mirrored:
        monkeypatch.setitem(ROWS, 2, [row[::-1] for row in ROWS[2]])
    model, _, _, share = released(4)
    learned = AttributeWeights("learned", (0.5, 0.25, 1.0, -0.25), (0.0, 0.75))
    model = replace(model, attribute_weights=learned)
    margins = margins_given(model)
    first, second = model.classes.probability
    assert np.subtract(*margins.offsets[::-1]) == pytest.approx(UNITS * (math.log(second / first) + 0.75), abs=1)
    logs = [np.log(np.array(each.probability)) for each in model.attributes]
    (tables,) = margins.tables
    for table, log, weight in zip(tables, logs, learned.weights, strict=True):
        np.testing.assert_allclose(table.scores, UNITS * weight * (log[1] - log[0]), atol=0.51)
    assert margins.largest == int(mirrored)
    assert margins.edges[11] == margins.offsets[1 - margins.largest] - margins.offsets[margins.largest]
    counts = ScoreCounts(margins, np.full((margins.bins, 2), 1000))
    weights = fitted_weights(model, counts, share)
    assert weights.line is not None
    assert replace(weights, line=None) == learned


@pytest.mark.parametrize(("copies", "classes"), [(3, 2), (9, 2), (3, 3), (9, 3)])
def test_scores_are_whole_units_of_weighted_log_ratios_and_ranges_are_even(copies: int, classes: int) -> None:
    """Catches: ranges of another width, or around another margin; tables without the weight; another pair of classes in
    the width than the two farthest apart.
    """
    margins = released(copies, classes)[1]
    weight = copies**-0.25 if copies >= 8 else 1.0
    sizes = np.sum(ROWS[classes], axis=0)
    logs = np.log(np.array(ROWS[classes]) / sizes)  # released counts, with a prior that is far below them
    for klass, tables in enumerate(margins.tables, 1):
        assert [table.starts for table in tables] == [(0, 1, 2)] * copies
        np.testing.assert_allclose(tables[-1].scores, weight * UNITS * (logs[:, klass] - logs[:, 0]), atol=2)
    np.testing.assert_allclose(margins.offsets, UNITS * np.log(sizes / sizes.sum()), atol=1)
    squares = copies * (np.sum(ROWS[classes], axis=1) / sizes.sum() * np.minimum(np.ptp(logs, axis=1), 3) ** 2).sum()
    step = UNITS * (1 + 2 * weight * math.sqrt(squares)) / 8
    others = np.delete(sizes, margins.largest)
    centre = UNITS * math.log(others.max() / sizes[margins.largest])
    np.testing.assert_allclose(margins.edges, centre + step * np.array(STEPS), atol=2 + 16)
    assert np.ptp(np.diff(margins.edges) / np.diff(STEPS)) == 0
    width = margins.edges[12] - margins.edges[11]
    assert width == pytest.approx(step, abs=1.5)
    middles = [-18, -14, -11, -9, *np.arange(-7.5, 8), 9, 11, 14, 18]
    np.testing.assert_allclose(centres(margins), (margins.edges[11] + width * np.array(middles)) / UNITS)


def test_weights_of_rows_move_the_line_as_they_move_the_priors() -> None:
    """Catches: a line that undoes the weighted priors, which it was not fitted to."""
    model, _, _, share = released(4)
    weighted = replace(model, weighted_classes=replace(model.classes, probability=(0.4, 0.6)))
    margins = margins_given(weighted)
    assert margins.largest == 0  # of the rows
    counts = ScoreCounts(margins, np.full((margins.bins, 2), 1000))
    weights = fitted_weights(weighted, counts, share)
    line = population_line(replace(weighted, attribute_weights=weights))
    assert line is not None
    first, second = model.classes.probability
    # As many rows of each class everywhere; then 0.6 to 0.4 in place of the rows' shares.
    assert np.mean(line.log_odds) == pytest.approx(math.log(1.5) - math.log(second / first), abs=0.1)


# Log-ratios of every kind of attribute.


def test_log_ratios_of_a_table_and_of_a_histogram() -> None:
    domain = declared({"c": {"values": ["a", "b"]}, "n": {"lower": 0, "upper": 9, "step": 1}})
    table = log_ratios(domain["c"], Table("c", ((0.25, 0.75), (0.5, 0.5))))
    np.testing.assert_allclose(table.ratios, [np.log([2, 2 / 3])])
    presence = Presence(((0.5, 0.5), (0.8, 0.2)))
    histogram = log_ratios(domain["n"], Histogram("n", (0, 3, 10), ((0.4, 0.6), (0.1, 0.9)), presence))
    assert histogram.starts == [0, 3]
    np.testing.assert_allclose(histogram.ratios, [np.log([0.1 / 0.4 * 1.6, 0.9 / 0.6 * 1.6])])
    np.testing.assert_allclose(histogram.missing, [math.log(0.2 / 0.5)])
    total = histogram.probability.sum(axis=1) + histogram.absent
    np.testing.assert_allclose(total, 1)


@pytest.mark.parametrize(
    ("entry", "steps"),
    [
        ({"lower": 0, "upper": 100, "step": 1}, 101),
        ({"lower": 0, "upper": 10**9, "step": 1}, 4096),
        ({"lower": 0, "upper": 10**6, "step": 1, "transform": "log1p"}, None),
    ],
)
def test_log_ratios_of_a_normal_attribute(entry: dict[str, object], steps: int | None) -> None:
    attribute = declared({"n": entry}).numeric[0]
    scale = attribute.scale
    width = scale.end - scale.origin
    mean, deviation = (scale.origin + 0.4 * width, scale.origin + 0.5 * width), (0.1 * width, 0.15 * width)
    ratios = log_ratios(attribute, Normal("n", mean, deviation))
    if steps is not None:
        assert len(ratios.starts) == steps
    assert ratios.starts[0] == 0
    assert np.all(np.diff(ratios.starts) > 0)
    assert len(ratios.starts) == ratios.ratios.shape[1] == ratios.probability.shape[1] <= 4096
    np.testing.assert_allclose(ratios.probability.sum(axis=1), 1)
    # The mean log-ratio within a class is the Kullback-Leibler divergence of two normal distributions.
    divergence = math.log(0.15 / 0.1) + (0.1**2 + 0.1**2) / (2 * 0.15**2) - 0.5
    assert -(ratios.probability[0] * ratios.ratios[0]).sum() == pytest.approx(divergence, rel=0.03)


def test_certainty_has_a_largest_score_and_does_not_stretch_the_ranges() -> None:
    domain = declared({"n": {"lower": 0, "upper": 10**9, "step": 1}, "c": {"values": ["a", "b"]}})
    table = Table("c", ((0.25, 0.75), (0.5, 0.5)))
    spike = Normal("n", (0.0, 5e8), (1.0, 2e8))
    model = plan_and_release(assemble(domain, ()), Budget(Fraction(1)), "smooth", draw=Forced())
    spiky = margins_given(Model(domain, model.guarantee, model.measurements, model.classes, (spike, table), {}))
    assert max(map(abs, spiky.tables[0][0].scores)) == LARGEST_SCORE
    assert spiky.edges[-1] <= UNITS * 2 * (1 + 2 * math.hypot(3, 1)) + 16


@pytest.mark.parametrize("size", [10**3, 10**15, 10**30])
@pytest.mark.parametrize("mechanism", [name for name in PRIVATE if name != "majority"])
def test_any_answers_make_weights(mechanism: str, size: int, tmp_path: Path) -> None:
    """A run that failed because of what it drew would tell what that was (docs/privacy.md, section 8)."""
    two, three = (
        people_domain({**PEOPLE, "label": {"column": "income", "classes": ["low", "high", "none"][:classes]}})
        for classes in (2, 3)
    )
    ways = [(two, "calibrated"), (three, "calibrated"), (two, "learned")]
    for seed, (domain, weights) in enumerate(ways * 2):
        planned = plan(domain, Budget(Fraction(1)), mechanism, attribute_weights=weights)
        random = Random(seed)
        draw = Forced(lambda place, asked, random=random: random.choice([-size, -1, 0, 1, size]))
        model = train(planned, FrameInput(people(50)), draw=draw)
        assert model.attribute_weights is not None
        model.save(tmp_path / "m.json", overwrite=True)
        assert load_model(tmp_path / "m.json") == model


# The plan.


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("mechanism", ["smooth", "histogram", "adaptive-histogram", "global", "paper"])
def test_a_tenth_of_every_budget(mechanism: str, neighbours: Neighbours) -> None:
    domain, _, _ = correlated(3)
    budget = Budget(Fraction(7, 10), neighbours)
    planned = plan(domain, budget, mechanism, attribute_weights="calibrated")
    assert planned.calibration is planned.shares[-1]
    assert planned.calibration.cost == Pure(Fraction(7, 100))
    assert planned.calibration.row_cost == Pure(Fraction(7, 100) / neighbours.rows)
    assert planned.total == Pure(Fraction(7, 10))
    plain = plan(domain, budget, mechanism)
    assert plain.calibration is None
    assert len(plain.shares) == len(planned.shares) - 1


@pytest.mark.parametrize(("classes", "values"), [(2, 24), (3, 48), (3, 24)])
def test_other_counts_are_not_asked_for(classes: int, values: int) -> None:
    """Catches: a share of other counts than these, drawn with noise that it does not pay for."""
    domain, statistics, _ = correlated(3, classes)
    planned = reserve_later_pass(plan(domain, Budget(Fraction(1)), "histogram", attribute_weights="calibrated"))
    model = release(statistics, planned, Forced())
    share = model.guarantee.reserved
    assert share is not None
    assert plan_given(model).shares == (share,)
    assert share.values == 24 * classes
    other = replace(model, guarantee=replace(model.guarantee, reserved=replace(share, values=values)))
    with pytest.raises(DataError, match=f"guarantee.reserved.values: says {values}, and the query has {24 * classes}"):
        from_document(to_document(other), "other.json")


def test_a_tenth_where_losses_are_concentrated() -> None:
    domain = declared({"n": {"lower": 0, "upper": 9, "step": 1}})
    planned = plan(domain, Budget(Fraction(1), delta=Fraction(1, 10**6)), "smooth", "arsinh-normal", "calibrated")
    assert planned.calibration is not None
    assert 10 * planned.calibration.cost.rho == planned.total.rho  # type: ignore[union-attr]


# Fits of calibration lines: what counts show is found, what they do not show is not made up.

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
    certain = max(
        float(gain[:bins].sum()) / sure / np.sqrt(2 * len(gain[:bins])) for bins, sure in score_calibration.GUARDS
    )
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
    assert max(map(abs, line.log_odds)) <= score_calibration.LARGEST_LOG_ODDS + 1
    assert len(line.others) == (0 if two else BINS + 2)
    assert 0 <= line.evidence <= 1


def test_pooled_violators_are_the_nearest_line_that_does_not_fall() -> None:
    log_odds, precision = np.array([0.0, 2.0, 1.0, 3.0, 2.5, -1.0]), np.array([1.0, 1.0, 3.0, 1.0, 1.0, 2.0])
    found = score_calibration._rising(log_odds, precision)
    assert (np.diff(found) >= 0).all()

    def distance(line: np.ndarray) -> float:
        return float(precision @ (line - log_odds) ** 2)

    generator = np.random.default_rng(3)
    others = np.sort(found + generator.normal(0, 0.5, (2000, len(found))), axis=1)
    assert all(distance(found) <= distance(other) + 1e-12 for other in others)
