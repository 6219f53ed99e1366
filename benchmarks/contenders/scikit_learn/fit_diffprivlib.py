"""diffprivlib's Gaussian naive Bayes over a Parquet file read whole, epsilon 1.

Usage: python -m benchmarks.contenders.scikit_learn.fit_diffprivlib CENSUS

Needs an environment with diffprivlib, pyarrow and a scikit-learn that diffprivlib works with.
"""

from __future__ import annotations

import sys
import warnings

import pyarrow.parquet as pq
from diffprivlib.models import GaussianNB

from benchmarks.contenders.scikit_learn.census_rows import BOUNDS, LABEL, usable

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    table = pq.read_table(sys.argv[1])
    bounds = [BOUNDS[name] for name in table.schema.names if name != LABEL]
    lower, upper = map(list, zip(*bounds, strict=True))
    GaussianNB(epsilon=1.0, bounds=(lower, upper)).fit(*usable(table))
