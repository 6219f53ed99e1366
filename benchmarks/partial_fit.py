"""scikit-learn's ordinary Gaussian naive Bayes over a Parquet file in batches: the yardstick, without privacy."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow.parquet as pq
from sklearn.naive_bayes import GaussianNB

BATCH = 131_072
MISSING = (999_998, 999_999)
LABEL = "INCWAGE"


def main(path: str) -> None:
    """Fit on the usable rows of a simulated census."""
    file = pq.ParquetFile(path)
    columns = [name for name in file.schema_arrow.names if name != LABEL]
    model = GaussianNB()
    for batch in file.iter_batches(batch_size=BATCH):
        wages = batch.column(LABEL).to_numpy()
        usable = ~np.isin(wages, MISSING)
        values = np.column_stack([batch.column(name).to_numpy() for name in columns]).astype(np.float64)
        model.partial_fit(values[usable], wages[usable] > 1000, classes=[False, True])


if __name__ == "__main__":
    main(sys.argv[1])
