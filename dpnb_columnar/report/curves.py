"""From averages to the series, axes and horizontal lines of accuracy figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from dpnb_columnar.report.figures import Axis, Point, Reference, Series, logarithmic
from dpnb_columnar.report.methods import Method, rows_of
from dpnb_columnar.report.styles import BASELINES, style


def epsilon_axis(values: Iterable[float | None]) -> Axis:
    """Total epsilon, on a logarithmic scale."""
    return logarithmic("epsilon", "total ε", [value for value in values if value is not None])


def accuracy_axis(limits: tuple[float, float]) -> Axis:
    """Accuracy between these limits, cut to what an accuracy can be."""
    return Axis("accuracy", "accuracy", limits=(max(limits[0], -0.02), min(limits[1], 1.02)))


def lines(averages: pl.DataFrame, x: str, names: Mapping[Method, str]) -> tuple[Series, ...]:
    """One series per method, accuracy against a column.

    Args:
        averages: Result of ``accuracies``, with one row per method and x.
        x: Column of the horizontal axis.
        names: Methods and their labels.
    """
    return tuple(
        Series(label, style(method[0], method[1]), accuracy_points(rows_of(averages, method), x))
        for method, label in names.items()
    )


def accuracy_points(rows: Iterable[Mapping[str, Any]], x: str) -> tuple[Point, ...]:
    """Points of accuracy with bars of one deviation to either side, sorted."""
    return tuple(
        Point(
            float(row[x]),
            row["accuracy"],
            None if row["deviation"] is None else row["accuracy"] - row["deviation"],
            None if row["deviation"] is None else row["accuracy"] + row["deviation"],
            accuracy_text(row),
        )
        for row in sorted(rows, key=lambda row: row[x])
    )


def accuracy_text(row: Mapping[str, Any]) -> str:
    """An accuracy and its deviation, where there is one."""
    return f"{row['accuracy']:.3f}" + ("" if row["deviation"] is None else f" ± {row['deviation']:.3f}")


def level(averages: pl.DataFrame, baseline: str) -> float | None:
    """Mean accuracy of a baseline over all its settings; none where it was not run."""
    found = averages.filter(pl.col("mechanism") == baseline)["accuracy"].mean()
    return None if found is None else float(found)  # type: ignore[arg-type]


def references(averages: pl.DataFrame) -> tuple[Reference, ...]:
    """The baselines that were run, as horizontal lines."""
    found = ((name, level(averages, name)) for name in BASELINES)
    return tuple(Reference(name, style(name), value, f"{value:.3f}") for name, value in found if value is not None)
