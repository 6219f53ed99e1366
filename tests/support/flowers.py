"""Synthetic rows for the estimator's tests: four measures, a colour, and three species that differ in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpnb_columnar.sklearn import SmoothNaiveBayes

MEASURES = ("sepal length", "sepal width", "petal length", "petal width")
SPECIES = ("setosa", "versicolor", "virginica")
COLOURS = ("blue", "purple", "white")
MEANS = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])

DECLARED: dict[str, Any] = {
    "bounds": dict.fromkeys(MEASURES, (0, 10, 0.1)),
    "categories": {"colour": COLOURS},
    "classes": SPECIES,
}


def flowers(rows: int, seed: int = 1) -> tuple[pl.DataFrame, pl.Series]:
    generator = np.random.default_rng(seed)
    species = generator.integers(0, 3, rows)
    measures = np.round(np.abs(MEANS[species] + generator.normal(0, 0.3, (rows, 4))), 1)
    colour = np.where(generator.random(rows) < 0.7, species, generator.integers(0, 3, rows))
    frame = pl.DataFrame(measures, schema=list(MEASURES))
    return frame.with_columns(colour=np.array(COLOURS)[colour]), pl.Series("species", np.array(SPECIES)[species])


def measures(rows: int, seed: int = 1) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """The measures alone, as an array, and the species."""
    frame, species = flowers(rows, seed)
    return frame.select(MEASURES).to_numpy(), species.to_numpy()


def estimator(**parameters: Any) -> SmoothNaiveBayes:
    """An estimator for ``flowers``, at an epsilon that leaves hardly any noise."""
    return SmoothNaiveBayes(**{"epsilon": 1000, **DECLARED, **parameters})
