"""Made-up populations: a function of the domain alone, with exact numbers of rows."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import laplace, rankdata
from support.mechanisms import MECHANISMS
from support.people import people_domain
from support.releases import plan_and_release, train

from dpnb_columnar.advice.population import (
    LIKENESS,
    RARE,
    SAMPLE_ROWS,
    USUAL,
    InventedRows,
    Population,
    accuracy,
    expected_statistics,
    family_size,
    one_large_class,
    parse_class_sizes,
    population,
    sample,
    whole,
)
from dpnb_columnar.advice.rehearsal import RepeatableNoise, log_likelihoods, stage
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.noise import ExactSampler, Laplace, SeededBits
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.core.sensitivity import trimmed_mean, trimmed_variance
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Domain, Numeric
from dpnb_columnar.domain.catalogue import entries
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.likelihood import class_terms
from dpnb_columnar.model.parameters import AttributeWeights, CalibrationLine
from dpnb_columnar.model.score_calibration import margins_given
from dpnb_columnar.model.scoring import score
from dpnb_columnar.releases.model_plan import release
from dpnb_columnar.releases.plan import plan

KINDS = {
    "label": {"column": "y", "classes": ["a", "b", "c"]},
    "attributes": {
        "wide": {"lower": 0, "upper": 600, "step": 1},
        "about zero": {"lower": -300, "upper": 300, "step": 1},
        "below zero": {"lower": -900, "upper": -300, "step": 1},
        "fine": {"lower": 1, "upper": 2, "step": "0.00001"},
        "few": {"lower": 0, "upper": 5, "step": 1},
        "two": {"lower": 0, "upper": 1, "step": 1},
        "amount": {"lower": 0, "upper": 99999, "step": 1},
        "logarithm": {"lower": 0, "upper": 99999, "step": 1, "transform": "log1p"},
        "widest": {"lower": 0, "upper": 2**32, "step": 1},
        "one": {"values": ["only"]},
        "many": {"values": [str(value) for value in range(40)], "missing": "category"},
    },
}


def domain() -> Domain:
    return read_domain("kinds", KINDS, "test")


def usual(domain: Domain, looseness: int) -> Population:
    """A population of which the first class is three times as large as each other."""
    return population(domain, looseness, one_large_class(len(domain.classes), USUAL))


def moments(domain: Domain, name: str, looseness: int, rows: int = 100_000) -> list[tuple[float, float]]:
    """Mean and deviation within every class, in codes."""
    columns = expected_statistics(usual(domain, looseness), rows).columns[name]
    return [(float(trimmed_mean(each, 0)), math.sqrt(trimmed_variance(each, 0))) for each in columns]


@pytest.mark.parametrize("looseness", [1, 10])
@pytest.mark.parametrize("rows", [1, 7, 100, 99_999, 10**12, 2**45])
def test_counts_are_exactly_as_many_as_rows(rows: int, looseness: int) -> None:
    found = expected_statistics(usual(domain(), looseness), rows)
    assert found.class_counts.sum() == rows
    for name, columns in found.columns.items():
        assert [column.size for column in columns] == list(found.class_counts), name
    for name, table in found.tables.items():
        assert list(table.sum(axis=1)) == list(found.class_counts), name


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 1000), min_size=1, max_size=20), st.integers(0, 10**9))
def test_rounding_moves_no_cumulative_count_by_more_than_a_half(weights: list[int], size: int) -> None:
    cumulative = np.cumsum(weights) / sum(weights)
    counts = whole(cumulative, size)
    assert counts.min() >= 0
    assert counts.sum() == size
    exact = [Fraction(sum(weights[: place + 1]), sum(weights)) * size for place in range(len(weights))]
    drift = [abs(int(total) - each) for total, each in zip(np.cumsum(counts), exact, strict=True)]
    assert max(drift) <= Fraction(1, 2) + Fraction(1, 10**5)


def test_the_first_class_is_three_times_as_large_as_each_other() -> None:
    assert list(expected_statistics(usual(domain(), 1), 5000).class_counts) == [3000, 1000, 1000]
    assert list(expected_statistics(usual(people_domain(), 1), 4000).class_counts) == [3000, 1000]


@pytest.mark.parametrize(
    ("name", "cells"), [("wide", 600), ("about zero", 600), ("below zero", 600), ("fine", 100_000)]
)
def test_values_fill_the_bounds_or_a_tenth_of_them(name: str, cells: int) -> None:
    for looseness in (1, 10):
        for _, deviation in moments(domain(), name, looseness):
            assert deviation == pytest.approx(cells / looseness / 6, rel=0.03)


def test_bounds_are_loose_on_the_far_side_of_zero() -> None:
    for name, middle in (("wide", 30), ("about zero", 300), ("below zero", 570)):
        found = moments(domain(), name, 10)
        assert np.mean([mean for mean, _ in found]) == pytest.approx(middle, abs=5), name


def test_classes_are_moderately_far_apart() -> None:
    """Standardised distances of all attributes add up, as squares, to the one that is promised."""
    names = [attribute.name for attribute in people_domain().numeric]
    for name in names:
        (first, deviation), (second, _) = moments(people_domain(), name, 1)
        assert abs(first - second) / deviation == pytest.approx(1.75 / math.sqrt(3), rel=0.05)


def test_amounts_are_skewed_and_begin_at_zero() -> None:
    for looseness in (1, 10):
        for column in expected_statistics(usual(domain(), looseness), 100_000).columns["amount"]:
            mean, deviation = float(trimmed_mean(column, 0)), math.sqrt(trimmed_variance(column, 0))
            assert mean == pytest.approx(99999 / 6 / looseness, rel=1)
            assert deviation == pytest.approx(mean, rel=0.1)
            median = column.codes[np.searchsorted(np.cumsum(column.counts), column.size / 2)]
            assert median < 0.8 * mean


def test_narrow_ranges_keep_some_values() -> None:
    for name in ("few", "two"):
        for column in expected_statistics(usual(domain(), 10), 10_000).columns[name]:
            assert len(column.codes) >= 2


def test_frequencies_of_categories_fall_and_differ_between_classes() -> None:
    table = expected_statistics(usual(domain(), 1), 1_000_000).tables["many"]
    together = table.sum(axis=0)
    assert np.all(np.diff(together[::2]) < 0)
    assert np.all(np.diff(together[1::2]) < 0)
    shares = table / table.sum(axis=1, keepdims=True)
    assert np.abs(shares[0] - shares[1]).max() > 0.02


@pytest.mark.parametrize("looseness", [1, 10])
def test_every_declared_data_set_has_a_population(looseness: int) -> None:
    for entry in entries():
        found = expected_statistics(usual(entry.domain, looseness), 1000)
        assert found.class_counts.sum() == 1000


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_likelihoods_are_those_of_prediction(mechanism: str) -> None:
    """The arrays here and the frames of ``predict`` give rows of codes the same probabilities."""
    import polars as pl

    made = people_domain()
    statistics = expected_statistics(usual(made, 1), 5000)
    model = plan_and_release(statistics, Budget(Fraction(3)), mechanism, draw=ExactSampler(SeededBits(5)))
    weights = (0.5, 1.25, -0.75)[: len(model.attributes)]
    model = replace(model, attribute_weights=AttributeWeights("fitted", weights, (0.25, -0.5)))
    generator = np.random.default_rng(3)
    codes = {
        attribute.name: generator.integers(0, (attribute.cells + 1) if isinstance(attribute, Numeric) else 2, 500)
        for attribute in made.attributes
    }
    joint = np.array(class_terms(model))[:, None] + np.zeros((2, 500))
    for parameters, weight in zip(model.attributes, weights, strict=True):
        joint += weight * log_likelihoods(made[parameters.attribute], parameters, codes[parameters.attribute])
    frame = pl.DataFrame({"age": codes["age"], "hours": codes["hours"], "sex": np.array(["f", "m"])[codes["sex"]]})
    found = score(model, frame.lazy()).collect()
    expected = 1 / (1 + np.exp(np.clip(joint[0] - joint[1], -700, 700)))
    np.testing.assert_allclose(found["probability_high"].to_numpy(), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("log_odds", [(-2.0, 1.0), (-3.0, -1.0), (0.5, 2.0)])
def test_the_accuracy_under_a_line_is_that_of_prediction(largest: int, log_odds: tuple[float, float]) -> None:
    """The line predicts either class, or one of them alone."""
    import polars as pl

    made = usual(people_domain(), 1)
    model = plan_and_release(expected_statistics(made, 5000), Budget(Fraction(3)), "histogram",
                             draw=ExactSampler(SeededBits(5)))  # fmt: skip
    line = CalibrationLine(largest, (-1.5, 2.0), log_odds)
    weights = AttributeWeights("calibrated", (1.0,) * len(model.attributes), (0.0, 0.0), line=line)
    model, rows, ratios, values = replace(model, attribute_weights=weights), sample(made, 2), {}, {}
    for parameters in model.attributes:
        codes = made.distributions[parameters.attribute].codes
        terms = log_likelihoods(made.domain[parameters.attribute], parameters, codes)
        ratios[parameters.attribute] = terms[1:] - terms[:1]
        values[parameters.attribute] = codes[rows.places[parameters.attribute]]
    frame = pl.DataFrame({**values, "sex": np.array(["f", "m"])[values["sex"]]})
    predicted = score(model, frame.lazy()).collect()["predicted"].to_numpy()
    truth = np.array(made.domain.classes)[rows.classes]
    assert accuracy(model, ratios, rows) == np.mean(predicted == truth)
    assert len(set(predicted)) == (2 if log_odds == (-2.0, 1.0) else 1)


# Made-up rows: attributes that are independent, or in families, with the very tables that are released from.

NUMERIC = {f"n{number}": {"lower": 0, "upper": 200, "step": 1} for number in range(4)}
CATEGORIES = {f"c{number}": {"values": [str(value) for value in range(3 + number)]} for number in range(5)}
DOCUMENT = {"label": {"column": "y", "classes": ["no", "yes"]}, "attributes": {**NUMERIC, **CATEGORIES}}
FAMILY = 3


def families() -> Domain:
    return read_domain("families", DOCUMENT, "test")


def rows_of(family: int) -> InventedRows:
    return sample(population(families(), 1, one_large_class(2, RARE)), family)


def frame(drawn: InventedRows) -> pl.DataFrame:
    """The rows as a user's file would hold them."""
    codes = {name: each.codes[drawn.places[name]] for name, each in drawn.population.distributions.items()}
    columns = {name: code if name in NUMERIC else code.astype(str) for name, code in codes.items()}
    return pl.DataFrame({**columns, "y": np.array(["no", "yes"])[drawn.classes]})


def correlation(drawn: InventedRows, first: str, second: str) -> float:
    """Spearman's, within the first class, of positions in the order of what values tell."""
    ranks = []
    for name in (first, second):
        order = drawn.population.distributions[name].order
        position = np.argsort(order)[drawn.places[name][drawn.classes == 0]]
        ranks.append(rankdata(position))
    return float(np.corrcoef(*ranks)[0, 1])


@pytest.mark.parametrize("family", [1, FAMILY])
def test_rows_are_always_alike_and_have_the_counts_that_are_released_from(family: int) -> None:
    first, second = rows_of(family), rows_of(family)
    assert frame(first).equals(frame(second))
    counted = FrameInput(frame(first)).check(families()).answer(CellQuery(families()))
    assert counted == expected_statistics(first.population, SAMPLE_ROWS)


def test_attributes_are_alike_within_a_family_alone() -> None:
    drawn = rows_of(FAMILY)
    assert correlation(drawn, "n0", "n1") == pytest.approx(LIKENESS, abs=0.05)
    assert correlation(drawn, "n0", "n2") == pytest.approx(LIKENESS, abs=0.05)
    assert correlation(drawn, "c2", "c3") > 0.5  # few values are tied
    assert abs(correlation(drawn, "n2", "n3")) < 0.05
    assert abs(correlation(drawn, "n3", "c3")) < 0.05
    assert abs(correlation(rows_of(1), "n0", "n1")) < 0.05


def test_families_grow_with_the_number_of_attributes() -> None:
    assert [family_size(count) for count in (1, 3, 5, 6, 14, 22, 40, 137)] == [1, 1, 1, 2, 3, 3, 4, 8]


@pytest.mark.parametrize("mechanism", ["histogram", "smooth"])
def test_scores_and_predictions_of_made_up_rows_are_those_of_the_same_rows_in_a_frame(mechanism: str) -> None:
    """One release carried out in memory, and once more by ``train`` from a frame: same noise, weights and accuracy."""
    sizes = one_large_class(2, RARE)
    planned = plan(families(), Budget(Fraction(2)), mechanism, attribute_weights="calibrated")
    for family in stage(families(), 1, sizes, SAMPLE_ROWS).families:
        drawn = rows_of(family)
        outcome = stage(families(), 1, sizes, SAMPLE_ROWS).outcome(planned, 1, family)
        tables = release(expected_statistics(drawn.population, SAMPLE_ROWS), planned, RepeatableNoise(0))
        scores = margins_given(tables)
        class_counts = np.bincount(drawn.classes)
        assert drawn.answer(scores, class_counts) == FrameInput(frame(drawn)).check(families()).answer(scores)

        model = train(planned, FrameInput(frame(drawn)), draw=_TwoPasses())
        predicted = model.predict(frame(drawn))["predicted"].to_numpy()
        assert outcome.accuracies == (float(np.mean(predicted == frame(drawn)["y"].to_numpy())),)


class _TwoPasses:
    """The noise of a rehearsal: a seed for the tables, another one for the calibration counts, which come last."""

    private = False

    def __init__(self) -> None:
        self._tables, self._weights, self._count = RepeatableNoise(0), RepeatableNoise(-1), 0

    def __call__(self, location: Fraction, scale: Fraction, noise: Laplace, grid_bits: int = 0) -> Fraction:
        calibration = isinstance(noise, Laplace) and noise.epsilon == Fraction(1, 5)
        return (self._weights if calibration else self._tables)(location, scale, noise, grid_bits)


def test_noise_of_a_rehearsal_is_laplace_noise() -> None:
    draw, noise = RepeatableNoise(3), Laplace(Fraction(1, 100))
    drawn = np.array([float(draw(Fraction(7), Fraction(2), noise)) for _ in range(20_000)]) - 7
    assert np.mean(drawn) == pytest.approx(0, abs=8)
    assert np.mean(np.abs(drawn)) == pytest.approx(laplace(scale=200).expect(np.abs), rel=0.03)
    assert np.quantile(drawn, 0.9) == pytest.approx(laplace(scale=200).ppf(0.9), rel=0.05)
    again = RepeatableNoise(3)
    assert drawn[0] == float(again(Fraction(7), Fraction(2), noise)) - 7
    assert again(Fraction(1, 3), Fraction(1, 100), noise, 4).denominator <= 16


def test_class_shares_are_as_many_positive_numbers_as_classes() -> None:
    assert parse_class_sizes("94:6", families()) == (94, 6)
    assert parse_class_sizes("0.938:0.062", families()) == (Fraction("0.938"), Fraction("0.062"))
    for wrong in ("94", "94:6:1", "94:0", "94:-6", "a:b", ""):
        with pytest.raises(
            UsageError, match="class shares: expected a positive number for each class, 'no:yes', found"
        ):
            parse_class_sizes(wrong, families())
    with pytest.raises(UsageError, match="a million times another"):
        parse_class_sizes("1:10000000", families())


def test_scores_of_no_rows_of_a_class_are_none() -> None:
    drawn = rows_of(1)
    model = release(
        expected_statistics(drawn.population, 100),
        plan(families(), Budget(Fraction(9)), "histogram"),
        RepeatableNoise(1),
    )
    lonely = replace(drawn, classes=np.zeros_like(drawn.classes))
    counts = lonely.answer(margins_given(model), np.array([7, 5])).counts
    assert list(counts.sum(axis=0)) == [7, 0]
