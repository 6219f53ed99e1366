"""Training beside scikit-learn, diffprivlib, and the least that any training must do: read and count."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.points import Contender, Point
from benchmarks.processes import contender
from benchmarks.series.scale import Places, Scale, train_command

TRAIN = "dpnb-columnar train"
PARTIAL_FIT = "GaussianNB.partial_fit"
FIT = "GaussianNB.fit"
DIFFPRIVLIB = "diffprivlib GaussianNB.fit"
SCAN = "bare scan, Polars"
COUNTS_POLARS = "bare grouped counts, Polars"
COUNTS_DUCKDB = "bare grouped counts, DuckDB"


def train(scale: Scale, places: Places) -> Iterator[Point]:
    """Whole processes over one simulated census, for every number of rows."""
    for rows in scale.train:
        census = places.census(rows)
        path = census.path
        contenders = [
            Contender(TRAIN, train_command(path, places.work / "trained.model.json")),
            Contender(PARTIAL_FIT, contender("scikit_learn.partial_fit", path)),
            Contender(SCAN, contender("scan", path)),
            Contender(COUNTS_POLARS, contender("grouped_counts_polars", path)),
            Contender(COUNTS_DUCKDB, contender("grouped_counts_duckdb", path)),
        ]
        if rows <= scale.fit:
            contenders.append(Contender(FIT, contender("scikit_learn.fit", path)))
        if places.diffprivlib and rows <= scale.diffprivlib:
            command = contender("scikit_learn.fit_diffprivlib", path, python=places.diffprivlib)
            contenders.append(Contender(DIFFPRIVLIB, command))
        yield Point("train", tuple(contenders), scale.turns_of(rows), (census,), rows, attributes=13, classes=2)
