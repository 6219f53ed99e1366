"""A call that predicts ten rows, from the second on: seconds inside a process that has predicted them before.

Usage:
    python -m benchmarks.contenders.calls model MODEL.json DATA.parquet
    python -m benchmarks.contenders.calls estimator|gaussian

The last two fit thirteen columns of random floats.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks.contenders.inside import print_seconds

ROWS, CALLS, COLUMNS, FITTED = 10, 100, 13, 2_000


def time_model(model: str, data: str) -> None:
    """Time ``predict`` of a model."""
    import polars as pl

    from dpnb_columnar.api import load_model

    loaded, rows = load_model(Path(model)), pl.read_parquet(data, n_rows=ROWS)
    loaded.predict(rows)
    print_seconds(lambda: loaded.predict(rows), CALLS)


def time_estimator() -> None:
    """Time ``predict`` of this program's estimator."""
    from dpnb_columnar.sklearn import SmoothNaiveBayes

    time_fitted(SmoothNaiveBayes(bounds=(-3, 3), classes=[0, 1], random_state=1))


def time_gaussian() -> None:
    """Time ``predict`` of scikit-learn's naive Bayes."""
    from sklearn.naive_bayes import GaussianNB

    time_fitted(GaussianNB())


def time_fitted(estimator: Any) -> None:
    """Fit an estimator, and time its ``predict``."""
    import numpy as np

    generator = np.random.default_rng(1)
    columns = generator.normal(size=(FITTED, COLUMNS)).clip(-3, 3)
    estimator.fit(columns, (columns[:, 0] + generator.normal(size=FITTED) > 0).astype(int))
    rows = columns[:ROWS]
    estimator.predict(rows)
    print_seconds(lambda: estimator.predict(rows), CALLS)


if __name__ == "__main__":
    part, *arguments = sys.argv[1:]
    {"model": time_model, "estimator": time_estimator, "gaussian": time_gaussian}[part](*arguments)
