"""The findings of the whole run in sentences, and who wins where."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import polars as pl

from dpnb_columnar.report import bounds
from dpnb_columnar.report.averages import accuracies
from dpnb_columnar.report.curves import level
from dpnb_columnar.report.evaluation import best, reached, smooth_method
from dpnb_columnar.report.methods import WITHIN, listed, pure
from dpnb_columnar.report.results import Results
from dpnb_columnar.report.styles import MAJORITY, NONE


@dataclass(frozen=True, slots=True)
class Winner:
    """The most accurate pure mechanism at one epsilon.

    Attributes:
        mechanism: Its name.
        accuracy: Its mean accuracy.
        below: How far it is below ordinary naive Bayes; none where that was not run.
        useless: Whether the majority class alone is at least as accurate.
    """

    mechanism: str
    accuracy: float
    below: float | None
    useless: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """How one data set went.

    Attributes:
        dataset: Its name.
        rows: Rows scored in one iteration.
        ceiling: Accuracy of ordinary naive Bayes; none where it was not run.
        floor: Accuracy of the majority class; none where it was not run.
        winners: By epsilon.
    """

    dataset: str
    rows: int
    ceiling: float | None
    floor: float | None
    winners: dict[float, Winner]


def standings(results: Results) -> list[Standing]:
    """One standing per data set of the study ``evaluation``, by name."""
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
            winners[epsilon] = Winner(str(first["mechanism"]), accuracy, below, useless)
    folds = cells.group_by("iteration", "fold").agg(pl.col("rows").max())
    rows = folds.group_by("iteration").agg(pl.col("rows").sum())["rows"].max()
    return Standing(dataset, int(rows or 0), ceiling, floor, winners)  # type: ignore[arg-type]


def sentences(results: Results, found: list[Standing]) -> list[str]:
    """What the run shows, most important first."""
    told = [*_wins(found), *_ceiling(results, found), *_loose(results)]
    return told


def _wins(found: list[Standing]) -> list[str]:
    """How often each mechanism is the best."""
    counted = Counter(winner.mechanism for standing in found for winner in standing.winners.values())
    if not counted:
        return []
    parts = [f"{mechanism} in {number}" for mechanism, number in counted.most_common()]
    told = [f"Of {counted.total()} combinations of data set and ε, the best mechanism without a δ is {listed(parts)}."]
    useless = sum(winner.useless for standing in found for winner in standing.winners.values())
    if useless:
        told.append(f"In {useless} of them no mechanism beats always naming the largest class.")
    return told


def _ceiling(results: Results, found: list[Standing]) -> list[str]:
    """From which epsilon on ``smooth`` costs next to nothing."""
    averages = accuracies(results.study("evaluation"))
    starts: dict[float, list[str]] = {}
    never = []
    for standing in found:
        own = averages.filter(pl.col("dataset") == standing.dataset)
        method = smooth_method(own)
        if method is None or standing.ceiling is None:
            continue
        start = reached(own, method, standing.ceiling)
        if start is None:
            never.append(standing.dataset)
        else:
            starts.setdefault(start, []).append(standing.dataset)
    told = []
    if starts:
        parts = [f"{listed(names)} from ε = {start:g}" for start, names in sorted(starts.items())]
        told.append(f"smooth stays within {WITHIN:g} of the accuracy without privacy: on {'; on '.join(parts)}.")
    if never:
        told.append(
            f"It never gets that close on {listed(never)}."
            if starts
            else (f"smooth never gets within {WITHIN:g} of the accuracy without privacy on {listed(never)}.")
        )
    return told


def _loose(results: Results) -> list[str]:
    """What loose bounds cost, per data set of that study."""
    averages = accuracies(results.study("bounds"))
    told = []
    for dataset in averages["dataset"].unique().sort():
        found = bounds.losses(averages.filter(pl.col("dataset") == dataset))
        if found is not None:
            epsilon, widest, lost = found
            ends = list(lost.items())
            first, last = ends[0], ends[-1]
            own = "" if "smooth" in (first[0], last[0]) or "smooth" not in lost else f", smooth {lost['smooth']:.3f}"
            told.append(
                f"Bounds {widest:,.0f} times too wide on {dataset}, ε = {epsilon:g}: {first[0]} loses least, "
                f"{max(first[1], 0):.3f}{own}, and {last[0]} most, {max(last[1], 0):.3f}."
            )
    return told
