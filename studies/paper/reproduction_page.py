"""The page that reports a reproduction: conclusions, figures with their tables, and what was run.

Its summary: conclusions in sentences, the best mechanisms by data set, and missing cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dpnb_columnar.mechanisms import OWN
from dpnb_columnar.releases.attribute_weights import NONE as UNWEIGHTED
from studies.figures import MAJORITY, NONE, legend_order
from studies.paper.averages import (
    METHOD,
    WITHIN,
    WORST,
    accuracies,
    accuracy_figures,
    allocation_figures,
    best,
    bounds_figures,
    error_figures,
    level,
    listed,
    loss_figures,
    losses,
    named,
    names,
    of_method,
    pure,
    reached,
    smooth_method,
    time_figures,
)
from studies.paper.experiments import NO_DELTA
from studies.paper.figure_page import check_page, named_sections, unbroken, write_page
from studies.paper.results import DOMAIN, ITERATIONS, ROWS, Results, read_results

PRINTED = (0.1, 1.0)
"""Epsilons of the printed table."""


def printed_table(cells: pl.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Tabulate accuracies of the evaluation's pure mechanisms, per data set and attribute weights.

    Returns:
        A header, and two lines per data set and attribute weights: per mechanism, the means over iterations and folds
        at the epsilons ``PRINTED`` (one where no epsilon is spent), parted by a slash, and below them the quantiles
        ``WORST`` of single releases; empty where there are none.
    """
    chosen = cells.filter(
        (pl.col("study") == "evaluation")
        & (pl.col("delta") == NO_DELTA)
        & (pl.col("epsilon").is_null() | pl.col("epsilon").is_in(PRINTED))
    )
    measured: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in accuracies(chosen).sort("epsilon").to_dicts():
        measured.setdefault((row["dataset"], row["attribute_weights"], row["mechanism"]), []).append(row)
    mechanisms = [name for name in OWN if any(name == mechanism for *_, mechanism in measured)]
    lines = []
    for dataset, weights in sorted({(dataset, weights) for dataset, weights, _ in measured}, key=_weights_last):
        here = [measured.get((dataset, weights, mechanism), []) for mechanism in mechanisms]
        for measure, name in (("accuracy", "mean"), ("low", f"{WORST:.0%}")):
            texts = (" / ".join(f"{row[measure]:.3f}" for row in rows) for rows in here)
            lines.append([dataset, weights, name, *texts])
    return ["data set", "weights", "", *mechanisms], lines


def _weights_last(place: tuple[str, str]) -> tuple[str, bool]:
    """Sort key of data sets and attribute weights: none first."""
    dataset, weights = place
    return dataset, weights != UNWEIGHTED


@dataclass(frozen=True, slots=True)
class Winner:
    """The most accurate pure mechanism at one epsilon.

    Attributes:
        mechanism: Its name.
        weights: Its attribute weights; empty for none.
        accuracy: Its mean accuracy.
        low: The quantile ``WORST`` of its releases; None for a single one.
        below: Distance below ordinary naive Bayes; None where that was not run.
        useless: Whether the majority class alone is at least as accurate.
    """

    mechanism: str
    weights: str
    accuracy: float
    low: float | None
    below: float | None
    useless: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """Best mechanisms on one data set.

    Attributes:
        dataset: Its name.
        rows: Rows scored in one iteration.
        ceiling: Accuracy of ordinary naive Bayes; None where it was not run.
        floor: Accuracy of the majority class; None where it was not run.
        winners: By epsilon.
    """

    dataset: str
    rows: int
    ceiling: float | None
    floor: float | None
    winners: dict[float, Winner]


def standings(results: Results) -> list[Standing]:
    """Find the best mechanisms on each data set of the study ``evaluation``, in the order of their names."""
    cells = results.study("evaluation")
    averages = accuracies(cells)
    return [
        _standing(cells.filter(pl.col("dataset") == name), averages.filter(pl.col("dataset") == name), name)
        for name in averages["dataset"].unique().sort()
    ]


def _standing(cells: pl.DataFrame, averages: pl.DataFrame, dataset: str) -> Standing:
    ceiling, floor = level(averages, NONE), level(averages, MAJORITY)
    winners = {}
    for epsilon in pure(averages)["epsilon"].unique().sort():
        first = best(averages, epsilon)
        if first is not None:
            accuracy = float(first["accuracy"])  # type: ignore[arg-type]
            below = None if ceiling is None else ceiling - accuracy
            useless = floor is not None and accuracy <= floor
            weights = "" if first["attribute_weights"] == UNWEIGHTED else str(first["attribute_weights"])
            low = None if first["releases"] == 1 else float(first["low"])  # type: ignore[arg-type]
            winners[epsilon] = Winner(str(first["mechanism"]), weights, accuracy, low, below, useless)
    folds = cells.group_by("iteration", "fold").agg(pl.col("rows").max())
    rows = folds.group_by("iteration").agg(pl.col("rows").sum())["rows"].max()
    return Standing(dataset, int(rows or 0), ceiling, floor, winners)  # type: ignore[arg-type]


def conclusions(results: Results, places: list[Standing]) -> list[str]:
    """State in sentences what the run shows, most important first."""
    return [*_wins(places), *_closeness(results, places), *_looseness(results)]


def _wins(places: list[Standing]) -> list[str]:
    """Say how often each mechanism is the best."""
    counts = Counter(
        named(winner.mechanism, winner.weights or UNWEIGHTED)
        for standing in places
        for winner in standing.winners.values()
    )
    if not counts:
        return []
    parts = [f"{mechanism} in {number}" for mechanism, number in counts.most_common()]
    text = [f"Of {counts.total()} combinations of data set and ε, the best mechanism without a δ is {listed(parts)}."]
    useless = sum(winner.useless for standing in places for winner in standing.winners.values())
    if useless:
        text.append(f"In {useless} of them no mechanism beats always naming the largest class.")
    return text


def _closeness(results: Results, places: list[Standing]) -> list[str]:
    """From which epsilon on ``smooth`` costs next to nothing."""
    averages = accuracies(results.study("evaluation"))
    starts: dict[float, list[str]] = {}
    never = []
    for standing in places:
        own = averages.filter(pl.col("dataset") == standing.dataset)
        method = smooth_method(own)
        if method is None or standing.ceiling is None:
            continue
        start = reached(own, method, standing.ceiling)
        if start is None:
            never.append(standing.dataset)
        else:
            starts.setdefault(start, []).append(standing.dataset)
    text = []
    if starts:
        parts = [f"{listed(datasets)} from ε = {start:g}" for start, datasets in sorted(starts.items())]
        text.append(f"smooth stays within {WITHIN:g} of the accuracy without privacy: on {'; on '.join(parts)}.")
    if never and starts:
        text.append(f"It never gets that close on {listed(never)}.")
    elif never:
        text.append(f"smooth never gets within {WITHIN:g} of the accuracy without privacy on {listed(never)}.")
    return text


def _looseness(results: Results) -> list[str]:
    """Say what loose bounds cost, per data set of that study."""
    averages = accuracies(results.study("bounds"))
    text = []
    for dataset in averages["dataset"].unique().sort():
        compared = losses(averages.filter(pl.col("dataset") == dataset))
        if compared is not None:
            epsilon, widest, lost = compared
            ends = list(lost.items())
            first, last = ends[0], ends[-1]
            own = "" if "smooth" in (first[0], last[0]) or "smooth" not in lost else f", smooth {lost['smooth']:.3f}"
            text.append(
                f"Bounds {widest:,.0f} times too wide on {dataset}, ε = {epsilon:g}: {first[0]} loses least, "
                f"{max(first[1], 0):.3f}{own}, and {last[0]} most, {max(last[1], 0):.3f}."
            )
    return text


@dataclass(frozen=True, slots=True)
class Gap:
    """Missing cells of one method on one data set.

    Attributes:
        study: Name of the study.
        dataset: Name of the data set.
        method: The method's label, with its attribute weights and its delta.
        present: Number of cells in the results.
        expected: Number of cells of the plan.
        complete: Iterations of which nothing is missing.
        iterations: Iterations of the plan.
    """

    study: str
    dataset: str
    method: str
    present: int
    expected: int
    complete: int
    iterations: int


def gaps(results: Results) -> list[Gap]:
    """Find all missing cells, by study, data set and method.

    The metadata's ``iterations``, of a data set if it has them, and ``folds`` say how often each setting is repeated;
    where they are absent, the largest numbers of any setting do. A study should have run each of its methods on each of
    its data sets, but those with a delta only where means were released: without numeric attributes they are the pure
    mechanism once more.
    """
    cells = results.cells
    if not len(cells):
        return []
    iterations = _declared(results.metadata, "iterations") or int(cells["iteration"].n_unique())
    folds = _declared(results.metadata, "folds") or int(cells["fold"].n_unique())
    splits = {
        dataset: _declared(results.metadata, f"{ITERATIONS}{dataset}") or iterations
        for dataset in cells["dataset"].unique()
    }
    missing = []
    for study in cells["study"].unique().sort():
        missing += _gaps_of_study(study, results.study(study), splits, folds)
    return missing


def _gaps_of_study(study: str, cells: pl.DataFrame, splits: Mapping[str, int], folds: int) -> list[Gap]:
    settings = cells.select(*METHOD, "epsilon", "weights", "bounds").unique()
    bounds = settings["bounds"].n_unique()
    counts = _counts(cells)
    numeric = set(cells.filter(pl.col("mean_error").is_not_null())["dataset"])
    missing = []
    for dataset in cells["dataset"].unique().sort():
        for method, label in names(cells).items():
            own, delta, iterations = of_method(settings, method), method[2], splits[dataset]
            runs = bounds * own["weights"].n_unique() * own["epsilon"].n_unique()
            expected = runs * iterations * folds
            by_iteration = counts.get((dataset, *method), {})
            present = sum(by_iteration.values())
            if present < expected and (present or delta == NO_DELTA or dataset in numeric):
                complete = sum(number >= runs * folds for number in by_iteration.values())
                name = label if delta == NO_DELTA else f"{label}, δ = {delta}"
                missing.append(Gap(study, dataset, name, present, expected, complete, iterations))
    return sorted(missing, key=lambda gap: (gap.dataset, legend_order(gap.method.split(",")[0]), gap.method))


def _counts(cells: pl.DataFrame) -> dict[tuple[object, ...], dict[int, int]]:
    """Number of cells by data set and method, and by iteration."""
    counts: dict[tuple[object, ...], dict[int, int]] = {}
    for *key, iteration, number in cells.group_by("dataset", *METHOD, "iteration").len().iter_rows():
        counts.setdefault(tuple(key), {})[iteration] = number
    return counts


def _declared(metadata: Mapping[str, str], name: str) -> int:
    """Read a whole number from the metadata; 0 where there is none."""
    text = metadata.get(name, "")
    return int(text) if text.isdecimal() else 0


TITLE = "Differentially private naive Bayes: how accurate it is"

PER_DATASET = (ROWS, ITERATIONS, DOMAIN)
"""Prefixes of metadata that is about one data set."""

SHOWN_GAPS = 6
"""Missing parts named before the rest is folded away."""


def write_report(results: Path, output: Path, runtime: Path | None = None, *, overwrite: bool = False) -> list[Path]:
    """Write the report of a reproduction as one page, and each figure as files beside it, as ``write_page`` does."""
    check_page(output, overwrite)
    measured = read_results(results, runtime)
    evaluation = measured.study("evaluation")
    parts = [
        ("accuracy", "Accuracy", accuracy_figures(evaluation)),
        ("loss", "Log loss", loss_figures(evaluation)),
        ("errors", "Released means and variances", error_figures(evaluation)),
        ("bounds", "Loose bounds", bounds_figures(measured.study("bounds"))),
        ("allocation", "Allocation of the budget", allocation_figures(measured.study("allocation"))),
        ("time", "Training time", time_figures(measured.runtime)),
    ]
    sections = named_sections(parts, reserved=("summary", "run"))
    return write_page(output, sections, _content(measured), overwrite=overwrite)


def _content(results: Results) -> dict[str, object]:
    """Return the variables of the template."""
    places = standings(results)
    epsilons = sorted({epsilon for standing in places for epsilon in standing.winners})
    return {
        "title": TITLE,
        "lead": _lead(results),
        "missing": gaps(results),
        "gaps_shown": SHOWN_GAPS,
        "standings": places,
        "conclusions": conclusions(results, places),
        "epsilons": epsilons,
        "epsilon_titles": [unbroken(f"ε = {epsilon:g}") for epsilon in epsilons],
        "studies": _studies(results.cells),
        "facts": sorted((key, value) for key, value in results.metadata.items() if not key.startswith(PER_DATASET)),
        "origins": _origins(results.metadata),
    }


def _lead(results: Results) -> str:
    """Say how much was run, in a sentence or two."""
    cells = results.cells
    mechanisms, datasets = cells["mechanism"].n_unique(), cells["dataset"].n_unique()
    epsilons = cells["epsilon"].drop_nulls()
    text = f"{len(cells):,} models by {mechanisms} mechanisms, each scored on a fold it has not seen, "
    text += f"on {datasets} public or simulated data sets"
    if len(epsilons):
        text += f", total ε from {min(epsilons):g} to {max(epsilons):g}"
    iterations, folds = cells["iteration"].n_unique(), cells["fold"].n_unique()
    repeated = f"up to {iterations} iterations" if iterations > 1 else "1 iteration"
    text += f"; {repeated} of {folds}-fold cross-validation."
    return f"{text} The releases took {_duration(float(cells['seconds'].sum()))} of computing in all."


def _duration(seconds: float) -> str:
    """Write a time in a unit that suits it."""
    for size, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"


def _studies(cells: pl.DataFrame) -> list[list[str]]:
    """Return per study its name, its models, its data sets, and the time of its releases."""
    counts = (
        cells.group_by("study")
        .agg(pl.len().alias("cells"), pl.col("dataset").n_unique(), pl.col("seconds").sum())
        .sort("study")
    )
    return [
        [study, f"{number:,}", str(datasets), _duration(seconds)]
        for study, number, datasets, seconds in counts.iter_rows()
    ]


def _origins(metadata: Mapping[str, str]) -> list[list[str]]:
    """Return per data set its name, rows, iterations and digest, as far as the metadata holds them."""
    names = sorted({key.partition(".")[2] for key in metadata if key.startswith(PER_DATASET)})
    return [[name, *(metadata.get(f"{prefix}{name}", "–") for prefix in PER_DATASET)] for name in names]
