"""Made-up results of a reproduction, shaped like real ones: accuracies rise with epsilon towards a ceiling."""

from __future__ import annotations

import itertools
import json
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from studies.paper.reproduction_page import write_report
from studies.paper.results import SCHEMA
from support.report_pages import AWKWARD, Page, read
from support.report_pages import EPSILONS as PAGE_EPSILONS

EPSILONS = (0.01, 0.03, 0.05, 0.1, 0.3, 1.0, 3.0, 10.0)

ROWS = {
    **{"acs2018": 900_000, "acs_income_2018": 1_600_000, "adult": 45_222, "glass": 214, "mushroom": 5_644},
    **{"nevada": 110_000, "oregon": 1_000_000, "seeds": 210, "skin": 245_057, "washington": 1_700_000},
    "wyoming": 250_000,
}

NOISE = {"smooth": "polyplace", "paper": "cauchy", "trimmed-mean": "polyplace"}

FACTOR = {
    **{"smooth": 1.0, "paper": 6.0, "trimmed-mean": 2.5, "global": 9.0, "global-variance": 3.5},
    **{"histogram": 0.9, "adaptive-histogram": 1.1},
}
"""How much epsilon a mechanism wants, as against ``smooth``."""

PRIVATE = tuple(FACTOR)

Method = tuple[str, str | None, str]

PURE_METHODS: tuple[Method, ...] = tuple((name, NOISE.get(name), "0") for name in PRIVATE)

APPROXIMATE_METHODS: tuple[Method, ...] = tuple(
    (name, noise, delta)
    for delta in ("1/n", "1/n^2")
    for name, noise in (("smooth", "gaussian"), ("smooth", "laplace"), ("paper", "gaussian"))
)

BASELINES: tuple[Method, ...] = (("none", None, "0"), ("majority", None, "0"))

METADATA = {
    "mode": "full",
    "software": json.dumps({"dpnb_columnar": "0.1.0", "polars": "2.1.0", "python-flint": "0.8.0"}),
}


def cell(**values: Any) -> dict[str, Any]:
    """One row of results; what is not given is made up."""
    plain: dict[str, Any] = {
        **{"study": "evaluation", "dataset": "adult", "mechanism": "smooth", "noise": None, "epsilon": 1.0},
        **{"delta": "0", "delta_value": 0.0, "weights": "own", "attribute_weights": "none", "chosen": "none"},
        **{"bounds": 1, "iteration": 0, "fold": 0, "rows": 100, "correct": 80, "accuracy": 0.8, "log_loss": 0.4},
        **{"mean_error": None, "variance_error": None, "flattened": None, "released_means": [], "seconds": 0.25},
    }
    assert values.keys() <= plain.keys()
    return plain | values


def evaluation(
    datasets: Iterable[str],
    iterations: int = 5,
    folds: int = 10,
    epsilons: Sequence[float] = EPSILONS,
    methods: Sequence[Method] = (*PURE_METHODS, *APPROXIMATE_METHODS, *BASELINES),
) -> list[dict[str, Any]]:
    return [
        made
        for dataset, method in itertools.product(datasets, methods)
        for epsilon in ((None,) if method[0] == "none" else epsilons)
        for made in _repeated("evaluation", dataset, method, epsilon, iterations, folds)
    ]


def bounds(datasets: Iterable[str], iterations: int = 5, folds: int = 10) -> list[dict[str, Any]]:
    return [
        made
        for dataset, method, factor in itertools.product(
            datasets, (*PURE_METHODS, ("none", None, "0")), (1, 10, 100, 1000)
        )
        for epsilon in ((None,) if method[0] == "none" else (0.1, 1.0, 3.0))
        for made in _repeated("bounds", dataset, method, epsilon, iterations, folds, factor)
    ]


def allocation(datasets: Iterable[str], iterations: int = 5, folds: int = 10) -> list[dict[str, Any]]:
    return [
        made
        for dataset, method, weights in itertools.product(
            datasets, PURE_METHODS[:2], ("1:2:1", "1:1:1", "2:1:1", "3:1:1")
        )
        for epsilon in EPSILONS
        for made in _repeated("allocation", dataset, method, epsilon, iterations, folds, weights=weights)
    ]


def _repeated(
    study: str,
    dataset: str,
    method: Method,
    epsilon: float | None,
    iterations: int,
    folds: int,
    factor: int = 1,
    weights: str = "own",
) -> Iterable[dict[str, Any]]:
    mechanism, noise, delta = method
    key = f"{study} {dataset} {method} {epsilon} {factor} {weights}"
    random = np.random.default_rng(zlib.crc32(key.encode()))
    n = ROWS.get(dataset, 5_000)
    own = np.random.default_rng(zlib.crc32(dataset.encode()))
    ceiling, floor = own.uniform(0.78, 0.96), own.uniform(0.45, 0.7)
    loose = {"histogram": 40.0, "smooth": 0.02, "adaptive-histogram": 0.01}.get(mechanism, 8.0)
    demand = FACTOR.get(mechanism, 1.0) * (1 + loose * (factor - 1)) * (0.7 if delta != "0" else 1.0)
    if weights != "own":
        demand *= 1 + abs(math.log(float(weights[0]) / float(weights[2]) / 2))
    reached = 0.0 if epsilon is None else 1 / (1 + (demand * 3_000 / (epsilon * n)) ** 0.9)
    level = {"none": ceiling, "majority": floor}.get(mechanism, floor - 0.1 + (ceiling - floor + 0.095) * reached)
    wobble = 0.002 if mechanism in ("none", "majority") else 0.05 * (1 - reached) + 0.002
    for iteration, fold in itertools.product(range(iterations), range(folds)):
        rows = n // folds
        accuracy = float(np.clip(random.normal(level, wobble), 0, 1))
        errors = [None, None]
        if epsilon is not None and mechanism not in ("majority", "histogram", "adaptive-histogram"):
            errors = [demand * 300 / (epsilon * n) * float(np.exp(random.normal(0, 0.4))) * part for part in (1, 7)]
        yield cell(
            study=study,
            dataset=dataset,
            mechanism=mechanism,
            noise=noise,
            epsilon=epsilon,
            delta=delta,
            delta_value={"0": 0.0, "1/n": 1 / n, "1/n^2": 1 / n**2}[delta],
            weights=weights,
            bounds=factor,
            iteration=iteration,
            fold=fold,
            rows=rows,
            correct=round(accuracy * rows),
            accuracy=accuracy,
            mean_error=errors[0],
            variance_error=errors[1],
            seconds=float(random.uniform(0.005, 0.05)),
        )


def write_results(path: Path, rows: Sequence[Mapping[str, Any]], metadata: Mapping[str, str] = METADATA) -> Path:
    """The rows as a file of results, in a shuffled order."""
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row").sample(fraction=1, shuffle=True, seed=3)
    frame.write_parquet(path, metadata=dict(metadata))
    return path


def write_runtime(path: Path) -> Path:
    sizes = (1_000, 5_000, 20_000, 100_000, 400_000, 1_700_000)
    rows = [(n, "smooth", 0.02 + n / 1.2e6) for n in sizes]
    rows += [(n, "global", 0.01 + n / 2.1e6) for n in sizes]
    rows += [(n, "direct search", (n / 9_000) ** 2) for n in sizes[:3]]
    pl.DataFrame(
        rows, schema={"rows": pl.Int64, "method": pl.String, "seconds": pl.Float64}, orient="row"
    ).write_parquet(path)
    return path


def report(
    folder: Path, rows: Sequence[dict[str, Any]], runtime: bool = False, metadata: dict[str, str] | None = None
) -> Page:
    results = write_results(folder / "results.parquet", rows, METADATA if metadata is None else metadata)
    times = write_runtime(folder / "runtime.parquet") if runtime else None
    written = write_report(results, folder / "report.html", times)
    return read(written[0], written)


def everything() -> list[dict[str, Any]]:
    rows = evaluation(("adult",), iterations=3, folds=2, epsilons=PAGE_EPSILONS)
    rows += evaluation(
        (AWKWARD,), iterations=3, folds=2, epsilons=PAGE_EPSILONS, methods=(*PURE_METHODS[:2], *BASELINES)
    )
    return [*rows, *bounds(("adult",), iterations=2, folds=2), *allocation(("adult",), iterations=2, folds=2)]
