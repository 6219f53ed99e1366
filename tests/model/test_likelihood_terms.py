"""Terms of a score are weighted log-likelihoods by definition, up to a number that all classes have in common."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support.people import PEOPLE, people_domain

from dpnb_columnar.domain import Numeric
from dpnb_columnar.domain.attributes import scale_codes
from dpnb_columnar.model.likelihood import bin_starts, cell_terms, missing_terms, normal_terms, reference_class
from dpnb_columnar.model.parameters import Histogram, Normal, Presence

AGE = people_domain()["age"]
assert isinstance(AGE, Numeric)
VALUES = np.array([0.0, 1.0, 30.0, 49.5, 99.0, 100.0])
PRESENCE = Presence(((9, 1), (5, 5), (2, 8)), ((0.9, 0.1), (0.5, 0.5), (0.2, 0.8)))


def normal(deviations: tuple[float, ...], presence: Presence | None = None, bound: float | None = None) -> Normal:
    means = (20.0, 45.0, 80.0)
    return Normal("age", means, (1.0,) * 3, means, deviations, presence=presence, bound=bound)


def log_density(value: float, mean: float, deviation: float) -> float:
    """The truncated normal's, by its definition."""

    def below(end: float) -> float:
        return (1 + math.erf((end - mean) / deviation / math.sqrt(2))) / 2

    whole = deviation * math.sqrt(2 * math.pi) * (below(100) - below(0))
    return -(((value - mean) / deviation) ** 2) / 2 - math.log(whole)


@pytest.mark.parametrize("weight", [1.0, 0.3, -0.7])
@pytest.mark.parametrize("presence", [None, PRESENCE])
@pytest.mark.parametrize("deviations", [(12.0, 12.0, 12.0), (12.0, 30.0, 30.0), (5.0, 60.0, 7.0)])
def test_normal_terms_are_the_log_densities(
    deviations: tuple[float, ...], presence: Presence | None, weight: float
) -> None:
    """Where deviations are equal, and where they are not: in both, weighted, truncated and with the missing ones."""
    parameters = normal(deviations, presence)
    terms = np.array(normal_terms(AGE, parameters, weight).of(VALUES))
    present = [0.0] * 3 if presence is None else [math.log(each) for each, _ in presence.probability]
    expected = np.array(
        [
            [weight * (log_density(value, mean, deviation) + there) for value in VALUES]
            for mean, deviation, there in zip(parameters.mean, deviations, present, strict=True)
        ]
    )
    assert terms - terms[0] == pytest.approx(expected - expected[0], abs=1e-10, rel=1e-12)
    assert np.all(terms[reference_class(parameters, weight)] == 0)


@pytest.mark.parametrize("weight", [1.0, 0.3, -0.7])
def test_terms_are_relative_to_the_class_that_is_likeliest_far_away(weight: float) -> None:
    """That is the widest one, under a negative weight the narrowest: there rounding errors of the others are small."""
    assert reference_class(normal((5.0, 60.0, 7.0)), weight) == (1 if weight > 0 else 0)


@pytest.mark.parametrize("transform", ["identity", "log1p"])
def test_rows_are_scored_in_the_bins_that_they_are_counted_in(transform: str) -> None:
    """Every code of a grid: the number of starts that it reaches is its bin by the edges, which are of the scale."""
    wage = {"lower": 0, "upper": 3000, "step": 1, "transform": transform}
    attribute = people_domain({**PEOPLE, "attributes": {"wage": wage}})["wage"]
    assert isinstance(attribute, Numeric)
    last = attribute.scale.cells
    edges = [0, 1, last // 7, last // 3, last // 2, last, last + 1]
    codes = np.arange(attribute.cells + 1)
    scored = np.searchsorted(bin_starts(attribute, edges), codes, side="right")
    scaled = codes if transform == "identity" else scale_codes(attribute, codes)
    assert np.array_equal(scored, np.searchsorted(edges, scaled, side="right") - 1)


@pytest.mark.parametrize("weight", [1.0, 0.3, -0.7])
def test_terms_of_cells_and_of_none_are_weighted_logarithms(weight: float) -> None:
    probability = ((0.2, 0.8), (0.5, 0.5), (0.9, 0.1))
    histogram = Histogram("age", (0, 50, 101), ((1, 4), (1, 1), (9, 1)), probability, PRESENCE)
    terms = np.array(cell_terms(histogram, weight))
    missing = missing_terms(histogram, weight)
    assert missing is not None
    for place, (row, (present, absent)) in enumerate(zip(probability, PRESENCE.probability, strict=True)):
        for code, cell in enumerate(row):
            ratio = math.log(cell * present / (probability[0][code] * 0.9))
            assert terms[place, code] == pytest.approx(weight * ratio, abs=1e-12)
        assert missing[place] == pytest.approx(weight * math.log(absent / 0.1), abs=1e-12)
    assert missing_terms(replace(histogram, presence=None), weight) is None
