"""``fit(X, y, groups=...)``: a guarantee for whole groups, the same release as ``train`` with a unit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from dpnb_columnar.core.queries.statistics import CellQuery
from support.people import people, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Domain, Unit
from dpnb_columnar.errors import DomainError
from dpnb_columnar.sklearn import SmoothNaiveBayes

ROWS = people(300)
HOUSES = [f"h{number}" for number in np.random.default_rng(2).integers(0, 90, 300)]
X, Y = ROWS.select("age", "hours", "sex"), ROWS["income"]


def fitted(groups: Any, domain: Domain | None = None, **parameters: Any) -> SmoothNaiveBayes:
    estimator = SmoothNaiveBayes(domain=domain or people_domain(), random_state=1, mechanism="histogram", **parameters)
    return estimator.fit(X, Y, groups=groups)


def statistics_of(groups: list[str | None], rows: int) -> dpnb.Statistics:
    frame = ROWS.with_columns(pl.Series("house", groups, dtype=pl.String))
    query = CellQuery(replace(people_domain(), unit=Unit(("house",), rows)))
    return FrameInput(frame).check(query.domain).answer(query)


@pytest.mark.parametrize("rows", [None, 1, 2])
def test_groups_are_the_units_of_train(rows: int | None) -> None:
    """With one seed both draw the same noise, so that models are equal where, and only where, the same rows count."""
    made = fitted(HOUSES, unit_rows=rows).model_
    assert made.domain.unit == Unit(("group",), rows or 1)
    statistics = statistics_of(HOUSES, rows or 1)
    frame = ROWS.with_columns(pl.Series("group", HOUSES))
    same = FrameInput(frame).check(made.domain).answer(CellQuery(made.domain))
    assert same.class_counts.tolist() == statistics.class_counts.tolist()
    assert same.class_counts.sum() < len(ROWS)


def test_any_names_of_the_same_groups_give_the_same_model() -> None:
    numbers = np.unique(HOUSES, return_inverse=True)[1]
    models = [fitted(groups).model_ for groups in (HOUSES, numbers, pl.Series(HOUSES), numbers.astype(object))]
    assert all(model == models[0] for model in models)


def test_a_row_without_a_group_does_not_count() -> None:
    without: list[str | None] = [None if place % 2 else house for place, house in enumerate(HOUSES)]
    assert fitted(without).model_ != fitted(HOUSES).model_
    nobody = fitted([None] * len(HOUSES)).model_
    assert abs(nobody.classes.released[0]) < 100


def test_a_declared_unit_keeps_its_column_and_its_rows() -> None:
    domain = replace(people_domain(), unit=Unit(("SERIAL",), 3))
    assert fitted(HOUSES, domain).model_.domain.unit == Unit(("SERIAL",), 3)
    assert fitted(HOUSES, domain, unit_rows=2).model_.domain.unit == Unit(("SERIAL",), 2)


def test_a_fit_without_groups_is_refused_where_a_unit_is_declared() -> None:
    with pytest.raises(ValueError, match="groups: missing"):
        fitted(None, unit_rows=1)
    with pytest.raises(ValueError, match="groups: missing"):
        fitted(None, replace(people_domain(), unit=Unit(("SERIAL",), 3)))


def test_groups_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="X and groups are not equally long"):
        fitted(HOUSES[:-1])
    with pytest.raises(ValueError, match="groups should be a 1d array"):
        fitted(np.zeros((300, 2)))
    with pytest.raises(ValueError, match="a whole number from 1 to 1000") as error:
        fitted(HOUSES, unit_rows=0)
    assert isinstance(error.value.__cause__, DomainError)
