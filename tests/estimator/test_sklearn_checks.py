"""scikit-learn's own checks of an estimator: every one of them passes, in several configurations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

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
