"""Attributes whose declared range is so wide that a release says nothing about them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from dpnb_columnar.advice.expected_error import DIFFERENCE, wide_ranges
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.releases.model_plan import ReleasePlan
from dpnb_columnar.releases.plan import plan

from dpnb_columnar.domain import Categorical, Domain, Label, Numeric, Transform
from dpnb_columnar.domain.declaration import grid_fault

NINES = Numeric("INCTOT", Fraction(-99_999_999), Fraction(999_999_999), Fraction(1))
AGE = Numeric("AGE", Fraction(0), Fraction(120), Fraction(1))
SEX = Categorical("SEX", ("1", "2"))


def planned(amount: Numeric, mechanism: str = "smooth", epsilon: str = "1") -> ReleasePlan:
    domain = Domain("town", Label(("no", "yes"), "X"), (AGE, amount, SEX))
    return plan(domain, Budget(Fraction(epsilon)), mechanism)


def narrowed(amount: Numeric, bounds: tuple[Fraction, Fraction]) -> Numeric:
    return replace(amount, lower=bounds[0], upper=bounds[1])


@pytest.mark.parametrize("mechanism", ["smooth", "paper", "trimmed-mean", "global", "global-variance"])
def test_nines_of_a_codebook_are_too_wide_for_few_rows(mechanism: str) -> None:
    (wide,) = wide_ranges(planned(NINES, mechanism), 1000)
    assert wide.attribute == NINES
    assert wide.hidden > 100 * DIFFERENCE
    narrow = narrowed(NINES, wide.suggested)
    assert NINES.lower <= narrow.lower < narrow.upper <= NINES.upper
    assert grid_fault(narrow, "INCTOT") is None
    assert not wide_ranges(planned(narrow, mechanism), 1000)


@pytest.mark.parametrize("mechanism", ["histogram", "adaptive-histogram", "majority"])
def test_histograms_do_not_mind(mechanism: str) -> None:
    assert not wide_ranges(planned(NINES, mechanism), 1000)


def test_what_hides_nothing_is_not_named() -> None:
    """Many rows; the bounds of the curated list; logarithms; numbers that are no amounts."""
    assert wide_ranges(planned(NINES), 10_000)
    assert not wide_ranges(planned(NINES), 1_000_000)
    assert not wide_ranges(planned(replace(NINES, lower=Fraction(-19_998), upper=Fraction(200_000))), 10)
    assert not wide_ranges(planned(replace(NINES, lower=Fraction(0), transform=Transform.LOG1P)), 10)
    assert not wide_ranges(planned(replace(NINES, lower=Fraction(0), upper=Fraction(9), step=Fraction(1, 1000))), 10)


def test_a_smaller_budget_hides_more() -> None:
    much, little = (wide_ranges(planned(NINES, epsilon=epsilon), 10_000)[0] for epsilon in ("0.1", "1"))
    assert much.hidden > little.hidden
    assert much.suggested[1] <= little.suggested[1]
