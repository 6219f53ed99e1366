"""The estimator among scikit-learn's tools: its own checks, pipelines, transformers, cross-validation, searches."""

from __future__ import annotations

import logging
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.flowers import COLOURS, DECLARED, MEASURES, SPECIES, estimator, flowers, measures

from dpnb_columnar.sklearn import SmoothNaiveBayes

WIDE: dict[str, Any] = {"bounds": (-100, 100), "classes": "public", "epsilon": 1000, "random_state": 1}

CONFIGURATIONS = [
    SmoothNaiveBayes(**WIDE),
    SmoothNaiveBayes(**WIDE, mechanism="adaptive-histogram", neighbours="replace-one"),
    SmoothNaiveBayes(**(WIDE | {"bounds": (-10, 10, 0.25)}), mechanism="histogram"),
    SmoothNaiveBayes(**WIDE, mechanism="none"),
    SmoothNaiveBayes(**(WIDE | {"random_state": None, "bounds": (-5, 5)}), delta=1e-6, noise="gaussian"),
]


@pytest.mark.slow
@parametrize_with_checks(CONFIGURATIONS)
def test_scikit_learns_checks(estimator: SmoothNaiveBayes, check: Callable[[SmoothNaiveBayes], None]) -> None:
    check(estimator)


def test_a_pipeline_of_arrays() -> None:
    rows, species = measures(900)
    pipeline = make_pipeline(
        FunctionTransformer(np.sqrt), SmoothNaiveBayes(bounds=(0, 4), classes=SPECIES, epsilon=100)
    )
    assert pipeline.fit(rows, species).score(rows, species) > 0.9
    assert pipeline[-1].epsilon_spent_ == 100


def test_a_column_transformer_that_returns_polars() -> None:
    X, y = flowers(900)
    transformer = ColumnTransformer(
        [
            ("measures", FunctionTransformer(lambda frame: frame * 10, feature_names_out="one-to-one"), list(MEASURES)),
            ("colour", OrdinalEncoder(categories=[list(COLOURS)]), ["colour"]),
        ],
        verbose_feature_names_out=False,
    ).set_output(transform="polars")
    bounds = dict.fromkeys(MEASURES, (0, 100, 1))
    last = SmoothNaiveBayes(bounds=bounds, categories={"colour": range(3)}, classes=SPECIES, mechanism="none")
    pipeline = make_pipeline(transformer, last)
    assert pipeline.fit(X, y).score(X, y) > 0.9
    assert isinstance(pipeline[0].transform(X), pl.DataFrame)
    assert list(pipeline[-1].feature_names_in_) == [*MEASURES, "colour"]
    by_text = estimator(mechanism="none").fit(X, y)
    assert pipeline[-1].model_.classes == by_text.model_.classes


def test_cross_validation_spends_at_every_fit(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dpnb_columnar.sklearn")
    scores = cross_val_score(estimator(epsilon=50), *flowers(1500), cv=5)
    assert scores.mean() > 0.9
    assert [record.getMessage() for record in caplog.records] == [
        "fit spent epsilon 50, delta 0 of the rows' privacy budget (add-remove neighbours)"
    ] * 5


@pytest.mark.slow
def test_a_search_over_epsilon_spends_at_every_fit(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dpnb_columnar.sklearn")
    grid = {"epsilon": np.array([0.001, 100.0]), "mechanism": ["smooth", "histogram"]}
    search = GridSearchCV(estimator(), grid, cv=3).fit(*flowers(600))
    assert search.best_params_["epsilon"] == 100
    assert search.best_estimator_.epsilon_spent_ == Fraction(100)
    assert len(caplog.records) == 3 * 4 + 1


def test_probabilities_stand_in_the_order_that_scorers_expect() -> None:
    X, y = flowers(900)
    declared = DECLARED | {"classes": SPECIES[::-1]}
    fitted = estimator(**declared).fit(X, y)
    assert log_loss(y, fitted.predict_proba(X)) < 0.3
    assert roc_auc_score(y, fitted.predict_proba(X), multi_class="ovr") > 0.95
    # For probabilities, cross_val_predict numbers the labels before it fits.
    predicted = cross_val_predict(estimator(classes=range(3)), X, y, cv=3, method="predict_proba")
    assert log_loss(y, predicted) < 0.3
