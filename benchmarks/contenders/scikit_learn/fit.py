"""scikit-learn's ordinary Gaussian naive Bayes over a Parquet file read whole, without privacy.

Usage: python -m benchmarks.contenders.scikit_learn.fit CENSUS
"""

from __future__ import annotations

import sys

import pyarrow.parquet as pq
from sklearn.naive_bayes import GaussianNB

from benchmarks.contenders.scikit_learn.census_rows import usable

if __name__ == "__main__":
    GaussianNB().fit(*usable(pq.read_table(sys.argv[1])))
