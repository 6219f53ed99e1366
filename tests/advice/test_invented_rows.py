"""Made-up rows: attributes that are independent, or in families, with the very tables that are released from."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.stats import laplace, rankdata

from dpnb_columnar.advice.population import (
    LIKENESS,
    RARE,
    SAMPLE_ROWS,
    InventedRows,
    expected_statistics,
    family_size,
    one_large_class,
    parse_class_sizes,
    population,
    sample,
)
from dpnb_columnar.advice.rehearsal import RepeatableNoise, stage
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.mechanisms.plan import plan
from dpnb_columnar.core.mechanisms.release import release
from dpnb_columnar.core.mechanisms.score_calibration import margins_given
from dpnb_columnar.core.noise import Laplace
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.training import train

NUMERIC = {f"n{number}": {"lower": 0, "upper": 200, "step": 1} for number in range(4)}
CATEGORIES = {f"c{number}": {"values": [str(value) for value in range(3 + number)]} for number in range(5)}
DOCUMENT = {"label": {"column": "y", "classes": ["no", "yes"]}, "attributes": {**NUMERIC, **CATEGORIES}}
FAMILY = 3


def domain() -> Domain:
    return read_domain("families", DOCUMENT, "test")


def rows(family: int) -> InventedRows:
    return sample(population(domain(), 1, one_large_class(2, RARE)), family)


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
    first, second = rows(family), rows(family)
    assert frame(first).equals(frame(second))
    counted = FrameInput(frame(first)).check(domain()).answer(CellQuery(domain()))
    assert counted == expected_statistics(first.population, SAMPLE_ROWS)


def test_attributes_are_alike_within_a_family_alone() -> None:
    drawn = rows(FAMILY)
    assert correlation(drawn, "n0", "n1") == pytest.approx(LIKENESS, abs=0.05)
    assert correlation(drawn, "n0", "n2") == pytest.approx(LIKENESS, abs=0.05)
    assert correlation(drawn, "c2", "c3") > 0.5  # few values are tied
    assert abs(correlation(drawn, "n2", "n3")) < 0.05
    assert abs(correlation(drawn, "n3", "c3")) < 0.05
    assert abs(correlation(rows(1), "n0", "n1")) < 0.05


def test_families_grow_with_the_number_of_attributes() -> None:
    assert [family_size(count) for count in (1, 3, 5, 6, 14, 22, 40, 137)] == [1, 1, 1, 2, 3, 3, 4, 8]


@pytest.mark.parametrize("mechanism", ["histogram", "smooth"])
def test_scores_and_predictions_of_made_up_rows_are_those_of_the_same_rows_in_a_frame(mechanism: str) -> None:
    """One release carried out in memory, and once more by ``train`` from a frame: same noise, weights and accuracy."""
    sizes = one_large_class(2, RARE)
    planned = plan(domain(), Budget(Fraction(2)), mechanism, attribute_weights="calibrated")
    for family in stage(domain(), 1, sizes, SAMPLE_ROWS).families:
        drawn = rows(family)
        outcome = stage(domain(), 1, sizes, SAMPLE_ROWS).outcome(planned, 1, family)
        tables = release(expected_statistics(drawn.population, SAMPLE_ROWS), planned, RepeatableNoise(0))
        scores = margins_given(tables)
        class_counts = np.bincount(drawn.classes)
        assert drawn.answer(scores, class_counts) == FrameInput(frame(drawn)).check(domain()).answer(scores)

        model = Model.of(train(planned, FrameInput(frame(drawn)), draw=_TwoPasses()))
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
    assert parse_class_sizes("94:6", domain()) == (94, 6)
    assert parse_class_sizes("0.938:0.062", domain()) == (Fraction("0.938"), Fraction("0.062"))
    for wrong in ("94", "94:6:1", "94:0", "94:-6", "a:b", ""):
        with pytest.raises(
            UsageError, match="class shares: expected a positive number for each class, 'no:yes', found"
        ):
            parse_class_sizes(wrong, domain())
    with pytest.raises(UsageError, match="a million times another"):
        parse_class_sizes("1:10000000", domain())


def test_scores_of_no_rows_of_a_class_are_none() -> None:
    drawn = rows(1)
    model = release(
        expected_statistics(drawn.population, 100), plan(domain(), Budget(Fraction(9)), "histogram"), RepeatableNoise(1)
    )
    lonely = replace(drawn, classes=np.zeros_like(drawn.classes))
    counts = lonely.answer(margins_given(model), np.array([7, 5])).counts
    assert list(counts.sum(axis=0)) == [7, 0]
