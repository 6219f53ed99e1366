"""Classes and probabilities of every row by scikit-learn, Parquet to Parquet in batches.

Usage: python -m benchmarks.contenders.scikit_learn.predict_proba MODEL.pickle CENSUS OUTPUT

The columns are those of ``dpnb-columnar predict``. scikit-learn knows no missing values, so none is skipped.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.contenders.scikit_learn.census_rows import batches, values

CLASSES = ("<=1000", ">1000")
SCHEMA = pa.schema(
    [
        ("predicted", pa.dictionary(pa.int8(), pa.string())),
        *((f"probability_{name}", pa.float64()) for name in CLASSES),
        ("skipped", pa.uint16()),
    ]
)


def main(fitted: str, census: str, output: str) -> None:
    """Score the rows in their order."""
    model = pickle.loads(Path(fitted).read_bytes())
    with pq.ParquetWriter(output, SCHEMA) as writer:
        for batch in batches(census):
            probabilities = model.predict_proba(values(batch))
            likeliest = pa.array(probabilities.argmax(axis=1), pa.int8())
            columns = [
                pa.DictionaryArray.from_arrays(likeliest, list(CLASSES)),
                *(pa.array(column) for column in probabilities.T),
                pa.array(np.zeros(batch.num_rows, np.uint16)),
            ]
            writer.write_batch(pa.record_batch(columns, schema=SCHEMA))


if __name__ == "__main__":
    main(*sys.argv[1:])
