"""Content of a figure, before anything is drawn: panels of series on common axes, and the same numbers as a table."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from dpnb_columnar.report.styles import Style

CLOSEST = 0.08
"""Smallest distance of two labelled ticks, as a part of the axis."""


@dataclass(frozen=True, slots=True)
class Point:
    """One value.

    Attributes:
        x: Place on the horizontal axis.
        y: The value.
        low: Lower end of its bar; None where there is no bar.
        high: Upper end.
        text: The value and its bar in a table.
    """

    x: float
    y: float
    low: float | None
    high: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Series:
    """A line through points sorted by x."""

    label: str
    style: Style
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """A horizontal line with its name beside it."""

    label: str
    style: Style
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale.

    Attributes:
        name: Column of the data.
        label: Text along the axis.
        ticks: Places and their labels, which may be empty; without any the drawing chooses.
        logarithmic: Whether equal ratios are equal distances.
        limits: First and last value; None to take them from the points.
    """

    name: str
    label: str
    ticks: tuple[tuple[float, str], ...] = ()
    logarithmic: bool = False
    limits: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes and the lines drawn on it."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    references: tuple[Reference, ...] = ()

    def description(self) -> str:
        """Describe the panel for readers who do not see it."""
        labels = [line.label for line in self.series] + [line.label for line in self.references]
        return f"{self.title}: {self.y.label} against {self.x.label}: {', '.join(labels)}"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Tabulate the panel: a header, and one row per series and horizontal line, with one column per x."""
        places = sorted({point.x for line in self.series for point in line.points})
        header = [self.x.label, *(f"{place:,.10g}" for place in places)]
        texts = [(line.label, {point.x: point.text for point in line.points}) for line in self.series]
        rows = [[label, *(at.get(place, "–") for place in places)] for label, at in texts]
        return header, rows + [[line.label, *([line.text] * len(places))] for line in self.references]


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels under one caption.

    Attributes:
        name: Stem of its files, and its anchor.
        title: Plain text.
        caption: One or two sentences on what the numbers show.
        notes: How to read it: what the bars are.
        panels: At least one.
    """

    name: str
    title: str
    caption: str
    notes: str
    panels: tuple[Panel, ...]

    def lines(self) -> list[tuple[str, Style]]:
        """List labels and styles of all series, each once, in the order of their first appearance."""
        styles = {line.label: line.style for panel in self.panels for line in panel.series}
        return list(styles.items())

    def data(self) -> pl.DataFrame:
        """Collect all numbers of the figure.

        Returns:
            Columns ``panel``, ``series``, the name of the x axis, the name of the y axis, ``low`` and ``high``.
            Horizontal lines have no x.
        """
        x, y = self.panels[0].x.name, self.panels[0].y.name
        rows: list[tuple[object, ...]] = []
        for panel in self.panels:
            rows += [(panel.title, line.label, None, line.value, None, None) for line in panel.references]
            rows += [
                (panel.title, line.label, point.x, point.y, point.low, point.high)
                for line in panel.series
                for point in line.points
            ]
        schema = {"panel": pl.String, "series": pl.String, **dict.fromkeys((x, y, "low", "high"), pl.Float64)}
        return pl.DataFrame(rows, schema=schema, orient="row")


def logarithmic(name: str, label: str, places: Sequence[float]) -> Axis:
    """Make a logarithmic axis with a tick at each place, labelled where there is room."""
    labelled: list[float] = []
    ordered = sorted(set(places))
    room = CLOSEST * _decades(ordered)
    for value in ordered:
        if not labelled or _decades([labelled[-1], value]) >= room:
            labelled.append(value)
    ticks = tuple((value, f"{value:,.10g}" if value in labelled else "") for value in ordered)
    return Axis(name, label, ticks, logarithmic=True)


def _decades(ordered: Sequence[float]) -> float:
    """Decades between the first and the last of some positive numbers."""
    return math.log10(ordered[-1] / ordered[0]) if ordered else 0.0


def shared_limits(
    panels: Sequence[tuple[Series, ...]], levels: Sequence[float] = (), room: float = 0.04
) -> tuple[float, float]:
    """Choose limits that hold all points with their bars, and horizontal lines, with some room."""
    points = [point for series in panels for line in series for point in line.points]
    ends = [end for point in points for end in (point.y, point.low, point.high) if end is not None]
    low, high = min([*ends, *levels]), max([*ends, *levels])
    margin = room * (high - low) or 0.01
    return low - margin, high + margin


def slug(name: str, taken: set[str]) -> str:
    """Make a file name and anchor of a name, different from those taken, and add it to them."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "figure"
    number, unique = 1, plain
    while unique.casefold() in taken:
        number += 1
        unique = f"{plain}-{number}"
    taken.add(unique.casefold())
    return unique
