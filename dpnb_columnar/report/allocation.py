"""The study of budget allocation: accuracy against epsilon for each split between attributes."""

from __future__ import annotations

import polars as pl

from dpnb_columnar.report.averages import accuracies
from dpnb_columnar.report.curves import accuracy_axis, accuracy_points, epsilon_axis, references
from dpnb_columnar.report.figures import Figure, Panel, Series, shared_limits
from dpnb_columnar.report.methods import names, private, rows_of
from dpnb_columnar.report.styles import ORDERED

NOTES = (
    "Allocations are numeric : categorical : class counts, per attribute. Mean over iterations of the mean over folds; "
    "bars are one standard deviation between iterations."
)


def figures(cells: pl.DataFrame) -> list[Figure]:
    """One figure per data set, one panel per method.

    Args:
        cells: Rows of the study ``allocation``.
    """
    averages = accuracies(cells)
    allocations = sorted(private(averages)["weights"].unique(), key=_proportion)
    own = [averages.filter(pl.col("dataset") == name) for name in averages["dataset"].unique().sort()]
    return [_figure(frame, allocations) for frame in own if len(private(frame))]


def _figure(averages: pl.DataFrame, allocations: list[str]) -> Figure:
    dataset, own = averages["dataset"][0], private(averages)
    levels = references(averages)
    panels = [
        (label, _series(pl.DataFrame(rows_of(own, method), schema=own.schema), allocations))
        for method, label in names(own).items()
    ]
    x = epsilon_axis(own["epsilon"])
    y = accuracy_axis(shared_limits([series for _, series in panels], [line.value for line in levels]))
    drawn = tuple(Panel(label, x, y, series, levels) for label, series in panels)
    return Figure(f"allocation-{dataset}", f"{dataset}, budget allocations", _caption(panels), NOTES, drawn)


def _series(frame: pl.DataFrame, allocations: list[str]) -> tuple[Series, ...]:
    """One series per allocation that was run."""
    found = []
    for number, weights in enumerate(allocations):
        rows = frame.filter(pl.col("weights") == weights).to_dicts()
        if rows:
            found.append(Series(weights, ORDERED[number % len(ORDERED)], accuracy_points(rows, "epsilon")))
    return tuple(found)


def _caption(panels: list[tuple[str, tuple[Series, ...]]]) -> str:
    """Where each method's allocations differ most."""
    sentences = []
    for label, series in panels:
        places = sorted({point.x for line in series for point in line.points})
        spreads = []
        for place in places:
            found = [(point.y, line.label) for line in series for point in line.points if point.x == place]
            spreads.append((max(found)[0] - min(found)[0], -place, max(found)[1]))
        spread, place, first = max(spreads)
        sentences.append(f"{label}: allocations differ by at most {spread:.3f}, at ε = {-place:g}, best {first}.")
    return " ".join(sentences)


def _proportion(weights: str) -> tuple[float, str]:
    """Sorts allocations by what numeric attributes get of a categorical one's share; others last."""
    try:
        numeric, categorical = (float(part) for part in weights.split(":")[:2])
        return numeric / categorical, weights
    except (ValueError, ZeroDivisionError):
        return float("inf"), weights
