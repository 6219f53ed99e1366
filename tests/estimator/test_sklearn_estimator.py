"""The estimator: what it counts, what it predicts, what it spends, and a guarantee for whole groups."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from support.flowers import COLOURS, DECLARED, MEASURES, SPECIES, estimator, flowers, measures
from support.ledger_cases import new_ledger
from support.people import people, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.core.budget import Approximate
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Domain, Unit, Weight
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.domain.editing import labelled
from dpnb_columnar.errors import BudgetError, DomainError, UsageError
from dpnb_columnar.sklearn import SmoothNaiveBayes

FORMS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "Polars": lambda frame: frame,
    "Arrow": lambda frame: frame.to_arrow(),
    "pandas": lambda frame: pd.DataFrame(frame.to_dict(as_series=False)),
    "pandas objects": lambda frame: pd.DataFrame(frame.to_dict(as_series=False), dtype=object),
    "pandas nullable": lambda frame: pd.DataFrame(frame.to_dict(as_series=False)).convert_dtypes(),
    "array": lambda frame: np.array(frame.rows(), dtype=object),
    "lists": lambda frame: [list(row) for row in frame.rows()],
}
BY_POSITION = DECLARED | {"bounds": dict.fromkeys(range(4), (0, 10, 0.1)), "categories": {4: COLOURS}}


def flower_domain() -> Domain:
    bounds = {"lower": 0, "upper": 10, "step": Decimal("0.1")}
    attributes = dict.fromkeys(MEASURES, bounds) | {"colour": {"values": list(COLOURS)}}
    label = {"column": "species", "classes": list(reversed(SPECIES))}
    return read_domain("flowers", {"label": label, "attributes": attributes}, "test")


@pytest.mark.parametrize("mechanism", ["smooth", "histogram", "adaptive-histogram"])
def test_far_better_than_the_largest_class(mechanism: str) -> None:
    fitted = estimator(epsilon=8, mechanism=mechanism).fit(*flowers(6000))
    assert fitted.score(*flowers(2000, seed=2)) > 0.9


def test_predicts_what_its_model_predicts(tmp_path: Path) -> None:
    X, y = flowers(500)
    fitted = estimator(epsilon=1).fit(X, y)
    fitted.model_.save(tmp_path / "flowers.json")
    scored = dpnb.load_model(tmp_path / "flowers.json").predict(X)
    assert fitted.predict(X).tolist() == scored["predicted"].to_list()
    assert np.array_equal(fitted.predict_proba(X), scored.select(f"probability_{name}" for name in SPECIES).to_numpy())
    assert np.array_equal(fitted.predict_log_proba(X), np.log(fitted.predict_proba(X)))
    assert np.allclose(fitted.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_table_gives_the_same_model(form: str) -> None:
    X, y = flowers(300)
    expected = estimator(random_state=3).fit(X, y)
    rows = FORMS[form](X)
    named = form not in ("array", "lists")
    fitted = estimator(random_state=3, **({} if named else BY_POSITION)).fit(rows, y.to_list())
    assert [each.values for each in fitted.model_.measurements] == [
        each.values for each in expected.model_.measurements
    ]
    assert fitted.model_.classes == expected.model_.classes
    assert fitted.predict(rows).tolist() == expected.predict(X).tolist()
    assert np.array_equal(fitted.predict_proba(rows), expected.predict_proba(X))
    assert hasattr(fitted, "feature_names_in_") == named
    assert fitted.n_features_in_ == 5


def test_a_fit_is_training_on_the_same_rows() -> None:
    X, y = flowers(400)
    domain = flower_domain()
    fitted = SmoothNaiveBayes(domain=domain, mechanism="none").fit(X.with_columns(other=pl.lit("left out")), y)
    assert fitted.model_ == dpnb.train(X.with_columns(y), epsilon=1, domain=domain, mechanism="none")
    assert fitted.classes_.tolist() == sorted(SPECIES)
    assert fitted.n_features_in_ == 6


def test_a_domain_whose_label_is_a_condition_takes_its_classes_from_y() -> None:
    X, y = flowers(400)
    domain = labelled(flower_domain(), '"petal width" > 1.7')
    rows = X.with_columns(y).drop("petal width")
    classes = np.array(domain.classes)[(X["petal width"] > 1.7).cast(pl.Int8)]
    fitted = SmoothNaiveBayes(domain=domain, epsilon=1000).fit(rows, classes)
    assert fitted.score(rows, classes) > 0.8
    assert set(fitted.classes_) == set(domain.classes)


def test_a_domain_with_a_weight_is_refused() -> None:
    X, y = flowers(20)
    domain = replace(flower_domain(), weight=Weight("w", Fraction(3)))
    with pytest.raises(ValueError, match="domain: declares the weight w, and fit takes none"):
        SmoothNaiveBayes(domain=domain).fit(X.with_columns(w=1), y)


def test_an_array_takes_the_attributes_of_a_domain_in_order() -> None:
    rows, species = measures(300)
    domain = replace(flower_domain(), attributes=flower_domain().numeric)
    assert SmoothNaiveBayes(domain=domain, epsilon=1000).fit(rows, species).score(rows, species) > 0.9


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (np.array([0, 1, 2]), "i"),
        (np.array([-1.0, 0.0, 7.0]), "f"),
        (np.array(["a", "b", "c"]), "U"),
        (np.array(["a", "b", "c"], dtype=object), "U"),
        (np.array([3, 4, 5], dtype=object), "i"),
        (np.array([False, True, True]), "b"),
    ],
    ids=str,
)
def test_labels_keep_their_type(labels: np.ndarray[Any, Any], dtype: str) -> None:
    rows, _ = measures(90)
    y = labels[np.arange(90) % 3]
    for classes in ("public", np.unique(y), np.unique(y).tolist()):
        fitted = SmoothNaiveBayes(bounds=(0, 10), classes=classes).fit(rows, y)
        assert fitted.classes_.tolist() == sorted(set(labels.tolist()))
        assert fitted.classes_.dtype.kind == fitted.predict(rows).dtype.kind == dtype
        assert set(fitted.predict(rows).tolist()) <= set(labels.tolist())


@pytest.mark.parametrize("form", [pl.Series, pd.Series, pa.array, list, np.array])
@pytest.mark.parametrize("labels", [["a", None, "b"], [1, 2, None], [True, False, True]], ids=str)
def test_public_labels_of_every_form(form: Any, labels: list[Any]) -> None:
    rows, _ = measures(90)
    fitted = SmoothNaiveBayes(bounds=(0, 10), classes="public").fit(rows, form(labels * 30))
    assert fitted.classes_.tolist() == sorted({label for label in labels if label is not None})


def test_a_domain_of_numbered_classes_speaks_numbers_where_y_does() -> None:
    rows, _ = measures(60)
    label = {"column": "y", "classes": [2, 10]}
    body = {"lower": 0, "upper": 10}
    domain = read_domain("numbers", {"label": label, "attributes": {f"x{each}": body for each in range(4)}}, "test")
    y = np.array([2, 10] * 30)
    assert SmoothNaiveBayes(domain=domain).fit(rows, y).classes_.tolist() == [2, 10]
    assert SmoothNaiveBayes(domain=domain).fit(rows, y.astype(str)).classes_.tolist() == ["10", "2"]


def test_values_that_do_not_fit_are_left_out_and_nothing_says_so() -> None:
    X, y = flowers(300)
    odd = X.head(4).with_columns(
        pl.Series(MEASURES[0], [float("nan"), None, 5.0, 5.0]), colour=pl.Series(["blue", "blue", "green", None])
    )
    labels = pl.concat([y, y.head(4), pl.Series("species", ["tulip", None])])
    fitted = estimator(mechanism="none").fit(pl.concat([X, odd, X.head(2)]), labels)
    assert sum(fitted.model_.class_counts) == 304
    present = {MEASURES[0]: (2, 4), "colour": (0, 2)}
    for place, name in enumerate(X.columns):
        first, end = present.get(name, (0, 4))
        alone = estimator(mechanism="none").fit(pl.concat([X, odd[first:end]]), pl.concat([y, y[first:end]]))
        assert fitted.model_.attributes[place] == alone.model_.attributes[place]
    # Numbers beyond the bounds, infinite ones included, count as the nearest bound.
    far, near = (X.with_columns(pl.lit(value).alias(MEASURES[1])) for value in (float("inf"), 10.0))
    assert estimator(mechanism="none").fit(far, y).model_ == estimator(mechanism="none").fit(near, y).model_
    assert np.isfinite(fitted.predict_proba(odd)).all()


def test_declared_classes_need_no_row() -> None:
    X, y = flowers(50)
    fitted = estimator().fit(X.clear(), y.clear())
    assert fitted.classes_.tolist() == sorted(SPECIES)
    one = estimator().fit(X.filter(y == "setosa"), y.filter(y == "setosa"))
    assert one.predict_proba(X).shape == (50, 3)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(-3, 12) | st.floats(width=32) | st.sampled_from(["3", "x", True]),
            st.sampled_from(["blue", "purple", "green", None, 7, 7.0, float("nan")]),
            st.sampled_from(["a", "b", "c", None]),
        ),
        max_size=12,
    )
)
def test_objects_are_read_by_their_text(rows: list[tuple[Any, Any, Any]]) -> None:
    """A table of objects counts as the table of numbers and text that a reader would make of it."""
    declared = {"bounds": {0: (0, 10, 1)}, "categories": {1: ["blue", "purple", 7]}, "classes": ["a", "b"]}
    table = np.array([row[:2] for row in rows] or np.empty((0, 2)), dtype=object)
    numbers = [{"3": 3.0, "x": None}.get(row[0], row[0]) if isinstance(row[0], str) else row[0] for row in rows]
    words = [None if row[1] != row[1] else "7" if row[1] in (7, 7.0) else row[1] for row in rows]
    read = pl.DataFrame(
        {
            "x0": pl.Series([None if each is None else float(each) for each in numbers], dtype=pl.Float64),
            "x1": pl.Series(words, dtype=pl.String),
        }
    )
    y = np.array([row[2] for row in rows], dtype=object)
    found, expected = (SmoothNaiveBayes(**declared, mechanism="none").fit(each, y).model_ for each in (table, read))
    assert found == expected


@pytest.mark.parametrize("epsilon", [0.1, "1/3", Fraction(2, 7), np.float64(0.1), 2])
def test_what_is_spent_is_exact_and_logged(epsilon: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dpnb_columnar.sklearn")
    fitted = estimator(epsilon=epsilon).fit(*flowers(100))
    assert fitted.private_
    assert fitted.epsilon_spent_ == Fraction(str(epsilon))
    assert fitted.delta_spent_ == 0
    (record,) = caplog.records
    assert record.getMessage().startswith("fit spent epsilon")
    assert "add-remove" in record.getMessage()


def test_a_ledger_pays_for_each_fit_until_its_limit(tmp_path: Path) -> None:
    """Clones, as grid searches make them, are charged like any other; what is refused counts no row."""
    ledger = new_ledger(tmp_path / "flowers.ledger", Approximate(Fraction(2), Fraction(0)), "flowers")
    X, y = flowers(100)
    paying = estimator(epsilon=1, ledger=ledger, account="flowers")
    paying.fit(X, y)
    clone(paying).fit(X, y)
    with pytest.raises(ValueError, match="flowers") as error:
        clone(paying).fit(X, y)
    assert isinstance(error.value.__cause__, BudgetError)
    with pytest.raises(ValueError, match="random_state: makes models without guarantee"):
        clone(paying).set_params(random_state=1).fit(X, y)
    with pytest.raises(ValueError, match="are for a ledger; name its file with ledger"):
        clone(paying).set_params(ledger=None).fit(X, y)


def test_delta_is_spent_where_the_noise_needs_one() -> None:
    fitted = estimator(delta="1e-6", noise="gaussian", neighbours="replace-one").fit(*flowers(100))
    assert (fitted.delta_spent_, fitted.model_.guarantee.neighbours) == (Fraction(1, 10**6), "replace-one")


@pytest.mark.parametrize("parameters", [{"random_state": 5}, {"mechanism": "none"}], ids=str)
def test_without_guarantee_nothing_is_said_to_be_spent(
    parameters: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dpnb_columnar.sklearn")
    fitted = estimator(**parameters).fit(*flowers(100))
    assert (fitted.private_, fitted.epsilon_spent_, fitted.delta_spent_) == (False, None, None)
    assert "WITHOUT GUARANTEE" in caplog.text


def test_fits_differ_unless_seeded() -> None:
    X, y = flowers(100)
    one, other = (estimator(mechanism="smooth").fit(X, y).model_ for _ in range(2))
    assert one != other
    for state in (7, lambda: np.random.RandomState(7)):
        once, again = (estimator(random_state=state() if callable(state) else state).fit(X, y) for _ in range(2))
        assert once.model_ == again.model_


def test_cloned_pickled_and_fitted_anew() -> None:
    X, y = flowers(100)
    fitted = estimator(domain=flower_domain(), bounds=None, categories=None, classes=None).fit(X, y)
    assert clone(fitted).get_params() == fitted.get_params()
    restored = pickle.loads(pickle.dumps(fitted))
    assert restored.model_ == fitted.model_
    assert np.array_equal(restored.predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(NotFittedError):
        clone(fitted).predict(X)
    rows, species = measures(100)
    again = fitted.set_params(**(DECLARED | {"bounds": (0, 10), "categories": None, "domain": None}))
    assert again.fit(rows, species).n_features_in_ == 4
    assert not hasattr(again, "feature_names_in_")


def test_errors_of_the_package_are_value_errors_that_name_their_cause() -> None:
    with pytest.raises(ValueError, match="known mechanisms: auto, smooth") as caught:
        estimator(mechanism="smoth").fit(*flowers(9))
    assert isinstance(caught.value.__cause__, UsageError)


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
    assert abs(nobody.class_counts[0]) < 100


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
