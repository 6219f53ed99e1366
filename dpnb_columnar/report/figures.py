"""Content of a figure, before anything is drawn: panels of series on common axes, and the same numbers as a table."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from dpnb_columnar.mechanisms import OWN

# Styles of mechanisms: one colour, marker and line in every figure, distinct without colour too.

NONE = "none"
MAJORITY = "majority"
BASELINES = (NONE, MAJORITY)
"""Mechanisms drawn as horizontal lines: the accuracy without privacy, and without attributes."""


@dataclass(frozen=True, slots=True)
class Style:
    """Look of one line.

    Attributes:
        colour: Name of a colour in ``COLOURS``.
        marker: Its letter in ``drawing.MARKERS``, or ``o``; empty for none.
        line: On and off lengths of the dashes, in widths of the line; none for an unbroken line.
        width: Width of the line.
        hollow: Whether markers are drawn as outlines.
    """

    colour: str
    marker: str = ""
    line: tuple[float, ...] = ()
    width: float = 1.4
    hollow: bool = False

    @property
    def dashes(self) -> str:
        """Lengths of the dashes as SVG writes them; empty for an unbroken line."""
        return " ".join(f"{length * self.width:g}" for length in self.line)


COLOURS = {
    "ink": ("#1d232b", "#e4e8ee"),
    "muted": ("#59626f", "#9da7b4"),
    "grid": ("#e3e6ea", "#2b323b"),
    "paper-white": ("#fefefe", "#14181d"),
    **{name: each.colours for name, each in OWN.items() if each.colours is not None},
    "order-1": ("#440154", "#fde725"),
    "order-2": ("#31688e", "#7ad151"),
    "order-3": ("#26a080", "#2fb8a0"),
    "order-4": ("#6b9c12", "#5b9bd0"),
    "order-5": ("#a88a00", "#a07fd0"),
}
"""Colours by name: on a light page and on a dark one. The mechanisms' keep their distance under colour blindness."""

INKS = {NONE: "ink", MAJORITY: "muted"}
"""Colours of the baselines."""

STYLES = {
    name: Style(INKS.get(name, name), OWN[name].marker, OWN[name].line, OWN[name].width)
    for name in (*(name for name in OWN if name not in BASELINES), *BASELINES)
}
"""Styles of the mechanisms, in the order of every legend and table."""

OTHER = Style("muted", "*", (4, 1, 1, 1))
"""A mechanism this report does not know."""

NOISE_MARKERS = {"gaussian": ("s", (4, 2)), "laplace": ("^", (1.5, 1.5))}
"""Marker and line of the families that need a delta, drawn hollow; the colour stays the mechanism's."""

ORDERED = (
    Style("order-1", "o"),
    Style("order-2", "s", (5, 2)),
    Style("order-3", "^", (6, 2, 1, 2)),
    Style("order-4", "D", (2, 1.5)),
    Style("order-5", "v", (8, 2)),
)
"""Styles of things that are no mechanisms, in their order."""

PLAIN = tuple(replace(style, marker="", width=1.8) for style in ORDERED)
"""The same of curves, without markers."""

DISTINCT = (*ORDERED, *(look for name, look in STYLES.items() if name not in BASELINES))
"""Twelve styles of things that are no mechanisms, for the figures of benchmarks."""

DIAGONAL = Style("muted", line=(4, 4), width=1.0)
"""Style of a line from corner to corner, which has no name."""


def legend_order(mechanism: str) -> tuple[int, str]:
    """Sort key of mechanisms: the order of ``STYLES``, unknown ones last."""
    known = list(STYLES)
    return (known.index(mechanism) if mechanism in known else len(known), mechanism)


def style(mechanism: str, noise: str | None = None) -> Style:
    """Return the look of a mechanism, of its variant where the noise needs a delta."""
    own = STYLES.get(mechanism, OTHER)
    if noise not in NOISE_MARKERS:
        return own
    marker, line = NOISE_MARKERS[noise]
    return Style(own.colour, marker, line, 1.4, hollow=True)


CLOSEST = 0.08
"""Smallest distance of two labelled ticks, as a part of the axis."""

MOST_TICKS = 6
"""Ticks of an axis that names none, or one more."""

STEPS = ((1, 0), (2, 0), (2.5, 1), (5, 0), (10, -1), (20, -1))
"""Steps of a linear axis as parts of a power of ten, and the digits that each needs more than the power."""

ROOM = 0.04
"""Free part of an axis at either end."""

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
"""Digits of an exponent."""


@dataclass(frozen=True, slots=True)
class Point:
    """One value.

    Attributes:
        x: Place on the horizontal axis.
        y: The value; where it is not a number, the line is parted.
        low: Lower end of its bar; None where there is no bar.
        high: Upper end.
        text: The value and its bar in a table.
    """

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    text: str = ""


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

    def around(self, values: Sequence[float]) -> tuple[float, float]:
        """Return the limits; if none are given, those that hold the values with some room."""
        if self.limits:
            return self.limits
        low, high = min(values), max(values)
        if self.logarithmic:
            factor = max((high / low) ** ROOM, 1.1)
            return low / factor, high * factor
        return _with_room(low, high)

    def ticks_between(self, low: float, high: float) -> list[tuple[float, str]]:
        """Return places and labels of the ticks between limits: those given, or a few at even numbers."""
        if self.ticks:
            return [(value, label) for value, label in self.ticks if low <= value <= high]
        if self.logarithmic:
            powers = [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
            wide = high / low > 30
            inside = [
                part * power
                for power in powers
                for part in ((1,) if wide else (1, 2, 5))
                if low <= part * power <= high
            ]
            if len(inside) > (1 if wide else 2):
                inside = inside[:: math.ceil(len(inside) / MOST_TICKS)]
                return [(value, power_text(value)) for value in inside]
        least = (high - low) / MOST_TICKS
        power = math.floor(math.log10(least))
        part, more = next((part, more) for part, more in STEPS if part * 10.0**power >= least)
        step, digits = part * 10.0**power, max(0, more - power)
        places = [step * number for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
        form = ".10g" if max(abs(low), abs(high)) < 1e-4 else f",.{digits}f"
        return [(place, format(place, form).replace("-", "−")) for place in places]


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes and the lines drawn on it.

    Attributes:
        title: What stands above it.
        x: The horizontal axis.
        y: The vertical axis.
        series: Lines through points; one without a label is in no legend.
        references: Horizontal lines.
        height: Height of the drawing, which is 360 wide.
    """

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    references: tuple[Reference, ...] = ()
    height: int = 256

    def description(self) -> str:
        """Describe the panel for readers who do not see it."""
        labels = [*(label for label, _ in self.legend()), *(line.label for line in self.references)]
        return f"{self.title}: {self.y.label} against {self.x.label}: {', '.join(labels)}"

    def legend(self) -> list[tuple[str, Style]]:
        """List labels and styles of the series that have a label."""
        return [(line.label, line.style) for line in self.series if line.label]

    def limits(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the limits of both axes, which hold all points with their bars."""
        points = [point for series in self.series for point in series.points]
        all_ends = (end for point in points for end in (point.low, point.y, point.high))
        ends = [end for end in all_ends if end is not None and not math.isnan(end)]
        return self.x.around([point.x for point in points]), self.y.around(ends)

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
        styles = dict(entry for panel in self.panels for entry in panel.legend())
        return list(styles.items())

    def data(self) -> pl.DataFrame:
        """Collect all numbers of the figure."""
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


def shared_limits(panels: Sequence[tuple[Series, ...]], levels: Sequence[float] = ()) -> tuple[float, float]:
    """Choose limits that hold all points with their bars, and horizontal lines, with some room."""
    points = [point for series in panels for line in series for point in line.points]
    ends = [end for point in points for end in (point.y, point.low, point.high) if end is not None]
    return _with_room(min([*ends, *levels]), max([*ends, *levels]))


def _with_room(low: float, high: float) -> tuple[float, float]:
    """Widen limits a little; those that rounding alone keeps apart by one in a hundred."""
    size = max(abs(low), abs(high))
    margin = ROOM * (high - low) if high - low > 1e-9 * size else 0.01 * size or 0.01
    return low - margin, high + margin


def power_text(value: float) -> str:
    """Format a number in few characters: powers of ten far from one as powers."""
    power = round(math.log10(value))
    if -3 < power < 4 or not math.isclose(value, 10.0**power):
        return f"{value:,.4g}"
    return "10" + str(power).translate(RAISED)


def slug(name: str, taken: set[str]) -> str:
    """Make a file name and anchor of a name, different from those taken, and add it to them."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "figure"
    number, unique = 1, plain
    while unique.casefold() in taken:
        number += 1
        unique = f"{plain}-{number}"
    taken.add(unique.casefold())
    return unique
