"""What is missing from results that are not finished."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from dpnb_columnar.report.averages import METHOD
from dpnb_columnar.report.methods import PURE, names
from dpnb_columnar.report.results import Results
from dpnb_columnar.report.styles import place


@dataclass(frozen=True, slots=True)
class Gap:
    """Cells of one method on one data set that are missing.

    Attributes:
        study: Name of the study.
        dataset: Name of the data set.
        method: The method's label, with its delta.
        present: Cells that are there.
        expected: Cells that there should be.
        complete: Iterations of which nothing is missing.
        iterations: Iterations that there should be.
    """

    study: str
    dataset: str
    method: str
    present: int
    expected: int
    complete: int
    iterations: int


def gaps(results: Results) -> list[Gap]:
    """Everything that is missing, by study, data set and method.

    The metadata's ``iterations`` and ``folds`` say how often each setting is repeated; where it says nothing, the
    largest numbers of any setting do. A study should have run each of its methods on each of its data sets, but those
    with a delta only where means were released: without numeric attributes they are the pure mechanism once more.
    """
    cells = results.cells
    if not len(cells):
        return []
    iterations = _declared(results.metadata, "iterations") or int(cells["iteration"].n_unique())
    folds = _declared(results.metadata, "folds") or int(cells["fold"].n_unique())
    found = []
    for study in cells["study"].unique().sort():
        found += _of_study(study, results.study(study), iterations, folds)
    return found


def _of_study(study: str, cells: pl.DataFrame, iterations: int, folds: int) -> list[Gap]:
    labels = names(cells)
    settings = cells.select(*METHOD, "epsilon", "weights", "bounds").unique()
    epsilons = settings["epsilon"].drop_nulls().n_unique()
    bounds = settings["bounds"].n_unique()
    counted = _counted(cells)
    numeric = set(cells.filter(pl.col("mean_error").is_not_null())["dataset"])
    found = []
    for dataset in cells["dataset"].unique().sort():
        for method, label in labels.items():
            mechanism, noise, delta = method
            own = settings.filter(
                pl.col("mechanism") == mechanism, pl.col("noise").eq_missing(pl.lit(noise)), pl.col("delta") == delta
            )
            runs = bounds * own["weights"].n_unique() * (epsilons if own["epsilon"].null_count() < len(own) else 1)
            expected = runs * iterations * folds
            present, complete = counted.get((dataset, *method), (0, {}))
            if present < expected and (present or delta == PURE or dataset in numeric):
                whole = sum(number >= runs * folds for number in complete.values())
                name = label if delta == PURE else f"{label}, δ = {delta}"
                found.append(Gap(study, dataset, name, present, expected, whole, iterations))
    return sorted(found, key=lambda gap: (gap.dataset, place(gap.method.split(",")[0]), gap.method))


def _counted(cells: pl.DataFrame) -> dict[tuple[object, ...], tuple[int, dict[int, int]]]:
    """Cells by data set and method, and by iteration too."""
    found: dict[tuple[object, ...], tuple[int, dict[int, int]]] = {}
    for *key, iteration, number in cells.group_by("dataset", *METHOD, "iteration").len().iter_rows():
        present, by_iteration = found.get(tuple(key), (0, {}))
        found[tuple(key)] = (present + number, {**by_iteration, iteration: number})
    return found


def _declared(metadata: Mapping[str, str], name: str) -> int:
    """A whole number from the metadata; 0 where there is none."""
    text = metadata.get(name, "")
    return int(text) if text.isdecimal() else 0
