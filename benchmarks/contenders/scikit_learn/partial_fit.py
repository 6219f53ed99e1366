"""scikit-learn's ordinary Gaussian naive Bayes over a Parquet file in batches: the yardstick, without privacy.

Usage: python -m benchmarks.contenders.scikit_learn.partial_fit CENSUS [MODEL.pickle]
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from sklearn.naive_bayes import GaussianNB

from benchmarks.contenders.scikit_learn.census_rows import batches, usable


def main(census: str, output: str | None = None) -> None:
    """Fit on the usable rows of a simulated census, and keep the model where a file is named."""
    model = GaussianNB()
    for batch in batches(census):
        model.partial_fit(*usable(batch), classes=[False, True])
    if output is not None:
        partial = Path(f"{output}.partial")
        partial.write_bytes(pickle.dumps(model))
        partial.replace(output)


if __name__ == "__main__":
    main(*sys.argv[1:])
