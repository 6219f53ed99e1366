"""LightGBM's gradient boosting, with the library's own settings, over the rows of a simulated census, without privacy.

Usage: python -m benchmarks.contenders.gradient_boosting CENSUS.parquet
"""

from __future__ import annotations

import sys

import pyarrow.parquet as pq

from benchmarks.contenders.scikit_learn import WithoutPandas, usable


def fit(census: str) -> None:
    """Fit a hundred trees to the whole file."""
    import lightgbm

    lightgbm.train({"objective": "binary", "verbosity": -1}, lightgbm.Dataset(*usable(pq.read_table(census))))


if __name__ == "__main__":
    sys.meta_path.insert(0, WithoutPandas())
    fit(*sys.argv[1:])
