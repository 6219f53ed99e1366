"""Naive Bayes of scikit-learn and of diffprivlib over the rows of a simulated census.

Usage:
    python -m benchmarks.contenders.scikit_learn fit CENSUS.parquet
    python -m benchmarks.contenders.scikit_learn partial_fit CENSUS.parquet [MODEL.pickle]
    python -m benchmarks.contenders.scikit_learn predict_proba MODEL.pickle CENSUS.parquet OUTPUT.parquet
    python -m benchmarks.contenders.scikit_learn fit_diffprivlib CENSUS.parquet

``fit`` reads the file whole, ``partial_fit`` in batches; neither is private. ``predict_proba`` writes the columns of
``dpnb-columnar predict``; scikit-learn has no missing values, so no attribute is skipped. ``fit_diffprivlib`` reads the
file whole and spends epsilon 1; it needs an environment with diffprivlib, pyarrow and a scikit-learn that diffprivlib
works with.

scikit-learn loads pandas where it is installed, which takes half as long again as scikit-learn itself and is not used
here. It is measured as in an environment without pandas.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

BATCH = 131_072
MISSING = (999_998, 999_999)
LABEL = "INCWAGE"
THRESHOLD = 1000

BOUNDS = {
    **{"URBAN": (0, 2), "RELATE": (1, 13), "SEX": (1, 2), "AGE": (0, 120), "MARST": (1, 6), "RACE": (1, 9)},
    **{"NATIVITY": (0, 5), "EDUC": (0, 11), "EMPSTAT": (0, 3), "CLASSWKR": (0, 2), "WKSWORK1": (0, 52)},
    **{"HRSWORK1": (0, 98), "SEI": (0, 96)},
}
"""Smallest and largest code of each attribute, from the codebook."""

CLASSES = ("<=1000", ">1000")
SCHEMA = pa.schema(
    [
        ("predicted", pa.dictionary(pa.int8(), pa.string())),
        *((f"probability_{name}", pa.float64()) for name in CLASSES),
        ("skipped", pa.uint16()),
    ]
)

Values = npt.NDArray[np.float64]
Classes = npt.NDArray[np.bool_]


class WithoutPandas(MetaPathFinder):
    """Refuses pandas, and leaves every other module to the other finders."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """Refuse pandas as if it were not installed."""
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not to be loaded", name="pandas")


def values(rows: pa.RecordBatch | pa.Table) -> Values:
    """Select all attributes, shape (rows, attributes), in the order of the file."""
    columns = [rows.column(name).to_numpy() for name in rows.schema.names if name != LABEL]
    return np.column_stack(columns).astype(np.float64)


def usable(rows: pa.RecordBatch | pa.Table) -> tuple[Values, Classes]:
    """Select attributes and classes of the rows whose wage is known."""
    wages = rows.column(LABEL).to_numpy()
    known = ~np.isin(wages, MISSING)
    return values(rows)[known], wages[known] > THRESHOLD


def batches(path: str) -> Iterator[pa.RecordBatch]:
    """Read the file in row groups of a simulated census."""
    yield from pq.ParquetFile(path).iter_batches(batch_size=BATCH)


def fit(census: str) -> None:
    """Fit scikit-learn's Gaussian naive Bayes on the whole file."""
    from sklearn.naive_bayes import GaussianNB

    GaussianNB().fit(*usable(pq.read_table(census)))


def partial_fit(census: str, output: str | None = None) -> None:
    """Fit scikit-learn's Gaussian naive Bayes in batches, and write the model if a file is named."""
    from sklearn.naive_bayes import GaussianNB

    model = GaussianNB()
    for batch in batches(census):
        model.partial_fit(*usable(batch), classes=[False, True])
    if output is not None:
        partial = Path(f"{output}.partial")
        partial.write_bytes(pickle.dumps(model))
        partial.replace(output)


def predict_proba(fitted: str, census: str, output: str) -> None:
    """Score the rows in their order, in batches."""
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


def fit_diffprivlib(census: str) -> None:
    """Fit diffprivlib's Gaussian naive Bayes on the whole file."""
    from diffprivlib.models import GaussianNB

    warnings.simplefilter("ignore")
    table = pq.read_table(census)
    bounds = [BOUNDS[name] for name in table.schema.names if name != LABEL]
    lower, upper = map(list, zip(*bounds, strict=True))
    GaussianNB(epsilon=1.0, bounds=(lower, upper)).fit(*usable(table))


if __name__ == "__main__":
    sys.meta_path.insert(0, WithoutPandas())
    name, *arguments = sys.argv[1:]
    {"fit": fit, "partial_fit": partial_fit, "predict_proba": predict_proba, "fit_diffprivlib": fit_diffprivlib}[name](
        *arguments
    )
