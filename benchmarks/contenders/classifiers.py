"""Classifiers of other libraries, each with the bounds that the domain declares.

A class fits codes of a domain (``Rows``) and gives the probability of each class. Libraries are imported as it fits. A
warning of diffprivlib or DP-EBM that privacy leaks is an error.
"""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import numpy as np

from benchmarks.contenders.declared_rows import Matrix, Rows


class Classifier(Protocol):
    """What a contender is asked for."""

    def fit(self, rows: Rows, epsilon: float, seed: int) -> None:
        """Fit the rows, with a budget where there is one."""

    def probabilities(self, rows: Rows) -> Matrix:
        """Compute the probability of each class; shape (rows, classes)."""


class DPEBM:
    """Differentially private explainable boosting of interpret-core."""

    def fit(self, rows: Rows, epsilon: float, seed: int) -> None:
        """Fit with the library's own settings, ``DELTA`` aside."""
        from interpret.privacy import DPExplainableBoostingClassifier

        lower, upper = rows.bounds()
        self.model = DPExplainableBoostingClassifier(
            feature_names=[each.name for each in rows.columns],
            feature_types=["continuous" if each.numeric else "nominal" for each in rows.columns],
            privacy_bounds=np.column_stack([lower, upper]),
            epsilon=epsilon,
            delta=DELTA,
            n_jobs=1,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="Possible privacy violation")
            self.model.fit(self._matrix(rows), rows.classes)

    def probabilities(self, rows: Rows) -> Matrix:
        return self.model.predict_proba(self._matrix(rows))

    def _matrix(self, rows: Rows) -> Any:
        """Numbers on [0, 1], categories as text."""
        matrix = rows.ordinal().astype(object)
        for place, column in enumerate(rows.columns):
            if not column.numeric:
                matrix[:, place] = rows.codes[:, place].astype(str)
        return matrix


class GaussianNaiveBayes:
    """diffprivlib's GaussianNB: numbers on [0, 1], categories as codes."""

    def fit(self, rows: Rows, epsilon: float, seed: int) -> None:
        from diffprivlib.models import GaussianNB

        self.model = GaussianNB(epsilon=epsilon, bounds=rows.bounds(), random_state=seed)
        _fit_without_leaks(self.model, rows.ordinal(), rows.classes)

    def probabilities(self, rows: Rows) -> Matrix:
        return self.model.predict_proba(rows.ordinal())


class PrivateLogisticRegression:
    """diffprivlib's LogisticRegression: a column per bin and category.

    Of some settings the ones with the best accuracy on Adult: C = 1, the default, has .70 and .79 at epsilon 0.1 and 1.
    """

    def fit(self, rows: Rows, epsilon: float, seed: int) -> None:
        from diffprivlib.models import LogisticRegression

        self.model = LogisticRegression(
            epsilon=epsilon, data_norm=rows.norm(), C=0.003, max_iter=1000, random_state=seed
        )
        _fit_without_leaks(self.model, rows.one_hot(), rows.classes)

    def probabilities(self, rows: Rows) -> Matrix:
        return self.model.predict_proba(rows.one_hot())


class PrivateForest:
    """diffprivlib's RandomForestClassifier: numbers on [0, 1], categories as codes.

    Of some settings the ones with the best accuracy on Adult: trees of depth 5, the default, have .75 at every epsilon.
    """

    def fit(self, rows: Rows, epsilon: float, seed: int) -> None:
        from diffprivlib.models import RandomForestClassifier

        classes = list(range(len(rows.class_names)))
        self.model = RandomForestClassifier(
            epsilon=epsilon,
            bounds=rows.bounds(),
            classes=classes,
            max_depth=14,
            shuffle=True,
            random_state=seed,
        )
        _fit_without_leaks(self.model, rows.ordinal(), rows.classes)

    def probabilities(self, rows: Rows) -> Matrix:
        return self.model.predict_proba(rows.ordinal())


class LogisticRegression:
    """scikit-learn's LogisticRegression without privacy: a column per bin and category."""

    def fit(self, rows: Rows, epsilon: float, seed: int) -> None:
        from sklearn.linear_model import LogisticRegression

        self.model = LogisticRegression(max_iter=1000).fit(rows.one_hot(), rows.classes)

    def probabilities(self, rows: Rows) -> Matrix:
        return self.model.predict_proba(rows.one_hot())


class GradientBoosting:
    """scikit-learn's HistGradientBoostingClassifier without privacy."""

    def fit(self, rows: Rows, epsilon: float, seed: int) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        categorical = [not each.numeric and each.codes <= 255 for each in rows.columns]
        self.model = HistGradientBoostingClassifier(categorical_features=categorical, random_state=seed)
        self.model.fit(rows.ordinal(), rows.classes)

    def probabilities(self, rows: Rows) -> Matrix:
        return self.model.predict_proba(rows.ordinal())


def _fit_without_leaks(model: Any, matrix: Matrix, classes: Any) -> None:
    from diffprivlib.utils import PrivacyLeakWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        model.fit(matrix, classes)


DELTA = 1e-6
"""The delta of those that need one: below 1/n for every data set here."""
