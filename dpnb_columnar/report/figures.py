"""What a figure shows, before anything is drawn: panels of series over one axis, and the same numbers as a table."""

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
        x: Where.
        y: The value.
        low: Lower end of its bar; none where there is no bar.
        high: Upper end.
        text: The value and its bar as a table shows them.
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
        label: What is written along it.
        ticks: Places and their labels, which may be empty; chosen by the drawing where there are none.
        logarithmic: Whether ratios are distances.
        limits: First and last value; from the points where there are none.
    """

    name: str
    label: str
    ticks: tuple[tuple[float, str], ...] = ()
    logarithmic: bool = False
    limits: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes with what is drawn on it."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels under one caption.

    Attributes:
        name: Stem of its files, and its anchor.
        title: Plain text.
        caption: What there is to see, in a sentence or two made from the numbers.
        notes: How to read it: what the bars are.
        panels: At least one.
    """

    name: str
    title: str
    caption: str
    notes: str
    panels: tuple[Panel, ...]

    def lines(self) -> list[tuple[str, Style]]:
        """Labels and styles of all series, each once, in the order of their first appearance."""
        found = {line.label: line.style for panel in self.panels for line in panel.series}
        return list(found.items())


def data(figure: Figure) -> pl.DataFrame:
    """All numbers of a figure.

    Returns:
        Columns ``panel``, ``series``, the name of the x axis, the name of the y axis, ``low`` and ``high``. Horizontal
        lines have no x.
    """
    x, y = figure.panels[0].x.name, figure.panels[0].y.name
    rows: list[tuple[object, ...]] = []
    for panel in figure.panels:
        rows += [(panel.title, line.label, None, line.value, None, None) for line in panel.references]
        rows += [
            (panel.title, line.label, point.x, point.y, point.low, point.high)
            for line in panel.series
            for point in line.points
        ]
    schema = {"panel": pl.String, "series": pl.String, **dict.fromkeys((x, y, "low", "high"), pl.Float64)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def logarithmic(name: str, label: str, places: Sequence[float]) -> Axis:
    """A logarithmic axis with a tick at each place, labelled where there is room."""
    shown: list[float] = []
    ordered = sorted(set(places))
    room = CLOSEST * decades(ordered)
    for value in ordered:
        if not shown or decades([shown[-1], value]) >= room:
            shown.append(value)
    ticks = tuple((value, f"{value:,.10g}" if value in shown else "") for value in ordered)
    return Axis(name, label, ticks, logarithmic=True)


def decades(ordered: Sequence[float]) -> float:
    """Decades between the first and the last of some positive numbers."""
    return math.log10(ordered[-1] / ordered[0]) if ordered else 0.0


def shared_limits(
    panels: Sequence[tuple[Series, ...]], levels: Sequence[float] = (), room: float = 0.04
) -> tuple[float, float]:
    """Limits that hold all points with their bars, and horizontal lines, with some room."""
    points = [point for series in panels for line in series for point in line.points]
    ends = [end for point in points for end in (point.y, point.low, point.high) if end is not None]
    low, high = min([*ends, *levels]), max([*ends, *levels])
    margin = room * (high - low) or 0.01
    return low - margin, high + margin


def slug(name: str, taken: set[str]) -> str:
    """A file name and anchor for a name, other than those taken, among which it is put."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "figure"
    number, found = 1, plain
    while found.casefold() in taken:
        number += 1
        found = f"{plain}-{number}"
    taken.add(found.casefold())
    return found
