"""What a model predicts, against scores by the definition in fifty digits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import mpmath
import polars as pl
import pytest
from hypothesis import given, settings
from support.model_cases import declared, model_of, normal_of, table_of
from support.random_models import held, models_and_rows
from support.reference_scorer import log_density, reference
from support.scored_rows import AGE, MIXED, SEX, probabilities_of, scored, types

from dpnb_columnar.api.model import Model
from dpnb_columnar.model.likelihood import log_normalisation
from dpnb_columnar.model.parameters import AttributeWeights
from dpnb_columnar.model.polars_terms import SKIPPED
from dpnb_columnar.model.scoring import PREDICTED


def check_against_reference(model: Model, rows: Sequence[Mapping[str, Any]]) -> float:
    """Compare every row with the reference; returns the largest deviation."""
    if not model.attributes:
        frame = model.predict(pl.DataFrame({"other": range(len(rows))}).lazy()).collect()
    else:
        frame = scored(model, [{name: held(model, name, row[name]) for name in types(model)} for row in rows])
    assert frame.height == len(rows)
    worst = 0.0
    for row, found, skipped, predicted in zip(
        rows, probabilities_of(model, frame), frame[SKIPPED], frame[PREDICTED], strict=True
    ):
        expected = reference(model, row)
        assert skipped == expected.skipped
        assert sum(found) == pytest.approx(1, abs=1e-12)
        assert all(0 <= probability <= 1 for probability in found)
        assert predicted == model.domain.classes[found.index(max(found))]
        deviation = max(abs(one - other) for one, other in zip(found, expected.probabilities, strict=True))
        assert deviation <= expected.tolerance, (row, found, expected)
        worst = max(worst, deviation)
    return worst


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(models_and_rows())
def test_random_models_agree_with_the_definition(case: tuple[Model, list[dict[str, Any]]]) -> None:
    check_against_reference(*case)


def test_ordinary_rows_agree_with_the_definition_to_twelve_digits() -> None:
    rows = [
        {"age": age, "money": money, "hours": hours, "sex": sex, "job": job}
        for age in (0, 0.5, 33, 100, 250, -3, None)
        for money in (0, -0.0, 1, 999.5, 1e6, math.inf, math.nan)
        for hours, sex, job in ((0, "f", 1), (9.5, "m", None), (40, "x", 2), (math.inf, None, 3), (-math.inf, "f", 2))
    ]
    assert check_against_reference(MIXED, rows) <= 1e-12


@pytest.mark.parametrize("priors", [[1e-300, 1.0], [1.0, 1e-300], [0.5, 0.5]])
@pytest.mark.parametrize(
    ("means", "deviations"),
    [
        ([0.0, 100.0], [0.25, 0.25]),  # both at a bound, as narrow as can be
        ([0.0, 100.0], [100.0, 100.0]),  # as wide as can be
        ([50.0, 50.0], [0.25, 100.0]),
        ([0.0, 0.0], [0.25, 0.25]),  # nothing to tell apart, infinitely far out
        ([99.9, 100.0], [0.3, 0.3]),
    ],
)
def test_extreme_parameters(means: list[float], deviations: list[float], priors: list[float]) -> None:
    model = model_of(declared({"age": AGE}), [normal_of("age", means, deviations)], priors)
    rows = [{"age": age} for age in (0, 1e-9, 49.75, 50, 50.25, 99.95, 100, math.inf, -math.inf)]
    assert check_against_reference(model, rows) <= 1e-12


def test_far_outliers_of_a_pooled_variance_keep_twelve_digits() -> None:
    wide = {"lower": 0, "upper": 2**32, "step": 1}
    domain = declared({"age": wide, "hours": wide, "sex": SEX}, ["a", "b", "c"])
    model = model_of(
        domain,
        [
            normal_of("age", [10, 10.000001, 9.999999], [1, 1, 1]),  # log-likelihoods of -1e19
            normal_of("hours", [7, 7, 7], [0.25, 0.25, 0.25]),
            table_of("sex", [0.5, 0.5], [0.25, 0.75], [0.125, 0.875]),
        ],
    )
    rows = [{"age": age, "hours": hours, "sex": "f"} for age in (0, 10, 1e3, 1e6) for hours in (0, 1e6, 2**32)]
    assert check_against_reference(model, rows) <= 1e-12


def test_weights_are_powers_of_likelihoods_and_intercepts_are_factors_of_priors() -> None:
    domain = declared({"sex": SEX, "job": {"values": [1, 2], "missing": "category"}})
    tables = [table_of("sex", [0.8, 0.2], [0.4, 0.6]), table_of("job", [0.5, 0.1, 0.4], [0.2, 0.5, 0.3])]
    model = replace(
        model_of(domain, tables, [0.75, 0.25]),
        attribute_weights=AttributeWeights("fitted", (0.5, 2.0), (0.0, math.log(3))),
    )
    factors = {"f": math.sqrt(0.8 / 0.4), "m": math.sqrt(0.2 / 0.6), None: 1.0}  # without a value, no weight counts
    squares = {"1": (0.5 / 0.2) ** 2, "2": (0.1 / 0.5) ** 2, None: (0.4 / 0.3) ** 2}
    rows = [{"sex": sex, "job": job} for sex in factors for job in squares]
    for row, (no, yes) in zip(rows, probabilities_of(model, scored(model, rows)), strict=True):
        assert no / yes == pytest.approx(factors[row["sex"]] * squares[row["job"]], rel=1e-12)
    assert scored(model, rows)[SKIPPED].to_list() == [0] * 6 + [1] * 3


def test_ties_go_to_the_first_class() -> None:
    model = model_of(declared({"sex": SEX}, ["z", "a", "m"]), [table_of("sex", *[[0.5, 0.5]] * 3)])
    assert scored(model, [{"sex": "f"}])[PREDICTED].to_list() == ["z"]


# The normalisation of a truncated normal distribution.


def test_the_normalisation_agrees_with_fifty_digits() -> None:
    worst = 0.0
    for width in (1e-300, 1e-3, 1.0, 100.0, 4.3e9, 1e300):
        for part in (0.0, 1e-9, 0.1, 0.5, 0.9, 1.0):
            for narrowness in (1.0, 1.5, 3.0, 10.0, 1e3, 1e9):
                lower, upper = -width / 3, width - width / 3
                mean = min(max(lower + part * width, lower), upper)
                deviation = min(width / narrowness, upper - lower)
                found = log_normalisation(mean, deviation, lower, upper)
                with mpmath.workdps(50):
                    numbers = [mpmath.mpf(number) for number in (mean, mean, deviation, lower, upper)]
                    exact = float(log_density(*numbers))
                assert found == pytest.approx(exact, rel=1e-13, abs=1e-15)
                worst = max(worst, abs(found - exact) / max(abs(exact), 1))
    assert worst < 1e-15


@pytest.mark.parametrize("weight", [0.5, 1.0, 2.0])
def test_a_bound_caps_what_one_value_says(weight: float) -> None:
    """Beyond it a value far out says no more than the bound times the weight; a row without a value says nothing."""
    domain = declared({"age": AGE})
    parameters = replace(normal_of("age", (20.0, 60.0), (4.0, 5.0)), bound=3.0)
    weights = AttributeWeights("by hand", (weight,), (0.0, 0.0))
    model = replace(model_of(domain, [parameters]), attribute_weights=weights)
    rows = [{"age": age} for age in (0, 20, 30, 38, 39, 45, 60, 100, None)]
    check_against_reference(model, rows)
    odds = [math.log(yes / no) for no, yes in probabilities_of(model, scored(model, rows))]
    assert odds[0] == odds[1] == pytest.approx(-3 * weight)
    assert odds[6] == odds[7] == pytest.approx(3 * weight)
    assert -3 * weight < odds[3] < odds[4] < 3 * weight
    assert odds[8] == 0
