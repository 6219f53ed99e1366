"""Figures of studies and benchmarks: markers, horizontal lines and logarithmic axes, their tables and files."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from typing import ClassVar

import polars as pl

from dpnb_columnar.errors import printable
from dpnb_columnar.mechanisms import OWN
from dpnb_columnar.report import figures
from dpnb_columnar.report.figures import (
    BOTTOM,
    COLOURS,
    LEFT,
    MOST_TICKS,
    PLAIN,
    RIGHT,
    ROOM,
    SAMPLE,
    TOP,
    WIDTH,
    Axis,
    Place,
    Series,
    draw_line,
    draw_panel,
    draw_sample,
    drawn_text,
    svg_panel,
    tag,
    with_room,
)

# Styles of mechanisms: one colour, marker and line in every figure, distinct without colour too.

NONE = "none"
MAJORITY = "majority"
BASELINES = (NONE, MAJORITY)
"""Mechanisms drawn as horizontal lines: the accuracy without privacy, and without attributes."""

_PLUS = [(-0.3, -1.2), (0.3, -1.2), (0.3, -0.3), (1.2, -0.3), (1.2, 0.3), (0.3, 0.3)]
_PLUS += [(-x, -y) for x, y in _PLUS]
_STAR = [(turn * math.pi / 5, 0.6 if turn % 2 else 1.4) for turn in range(10)]
MARKERS: Mapping[str, Sequence[Place]] = {
    "s": [(-1, -1), (1, -1), (1, 1), (-1, 1)],
    "^": [(0, -1.1), (1.1, 1), (-1.1, 1)],
    "v": [(0, 1.1), (1.1, -1), (-1.1, -1)],
    "D": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
    "P": _PLUS,
    "X": [((x - y) * 0.75, (x + y) * 0.75) for x, y in _PLUS],
    "x": [(-1, -1), (1, 1), (0, 0), (1, -1), (-1, 1), (0, 0)],
    "*": [(radius * math.sin(angle), -radius * math.cos(angle)) for angle, radius in _STAR],
}
"""Corners of each marker around its place; ``o`` is a circle."""


@dataclass(frozen=True, slots=True)
class Style(figures.Style):
    """Look of one line whose points are marked: by a letter of ``MARKERS``, or ``o``; empty for none."""

    marker: str = ""
    hollow: bool = False

    @property
    def dodge(self) -> float:
        return 1.2 if self.marker else 0.0

    def marks(self, places: Sequence[Place]) -> str:
        size, drawn = (2.5 if self.width < 2 else 3.25), ""
        for x, y in places if self.marker else ():
            if self.marker == "o":
                arc = f"a{size} {size} 0 1 0"
                drawn += f"M{x - size:.1f} {y:.1f}{arc}{2 * size} 0{arc}{-2 * size} 0z"
            else:
                corners = [f"{x + size * dx:.1f} {y + size * dy:.1f}" for dx, dy in MARKERS[self.marker]]
                drawn += f"M{'L'.join(corners)}z"
        inside = "paper-white" if self.hollow else self.colour
        edge = {"stroke": f"var(--{self.colour})", "stroke_width": 1.2, "stroke_linejoin": "round"}
        return tag("path", d=drawn, fill=f"var(--{inside})", **edge) if drawn else ""


INKS = {NONE: "ink", MAJORITY: "muted"}
"""Colours of the baselines."""

STYLES = {
    name: Style(INKS.get(name, name), OWN[name].line, OWN[name].width, OWN[name].marker)
    for name in (*(name for name in OWN if name not in BASELINES), *BASELINES)
}
"""Styles of the mechanisms, in the order of every legend and table."""

OTHER = Style("muted", (4, 1, 1, 1), marker="*")
"""A mechanism this report does not know."""

NOISE_MARKERS = {"gaussian": ("s", (4, 2)), "laplace": ("^", (1.5, 1.5))}
"""Marker and line of the families that need a delta, drawn hollow; the colour stays the mechanism's."""

ORDERED = tuple(Style(look.colour, look.line, marker=marker) for look, marker in zip(PLAIN, "os^Dv", strict=True))
"""Styles of things that are no mechanisms, in their order."""

DISTINCT = (*ORDERED, *(look for name, look in STYLES.items() if name not in BASELINES))
"""Twelve styles of things that are no mechanisms, for the figures of benchmarks."""


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
    return Style(own.colour, line, 1.4, marker, hollow=True)


CLOSEST = 0.08
"""Smallest distance of two labelled ticks, as a part of the axis."""

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
"""Digits of an exponent."""


@dataclass(frozen=True, slots=True)
class LogAxis(Axis):
    """A scale on which equal ratios are equal distances."""

    gridded: ClassVar[bool] = False

    def around(self, values: Sequence[float]) -> tuple[float, float]:
        low, high = min(values), max(values)
        factor = max((high / low) ** ROOM, 1.1)
        return self.limits or (low / factor, high * factor)

    def ticks_between(self, low: float, high: float) -> list[tuple[float, str]]:
        powers = [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
        wide = high / low > 30
        inside = [
            part * power for power in powers for part in ((1,) if wide else (1, 2, 5)) if low <= part * power <= high
        ]
        if self.ticks or len(inside) <= (1 if wide else 2):
            return Axis.ticks_between(self, low, high)
        return [(value, power_text(value)) for value in inside[:: math.ceil(len(inside) / MOST_TICKS)]]

    def even(self, value: float) -> float:
        return math.log(value)


def logarithmic(name: str, label: str, places: Sequence[float]) -> LogAxis:
    """Make a logarithmic axis with a tick at each place, labelled where there is room."""
    labelled: list[float] = []
    ordered = sorted(set(places))
    room = CLOSEST * _decades(ordered)
    for value in ordered:
        if not labelled or _decades([labelled[-1], value]) >= room:
            labelled.append(value)
    return LogAxis(name, label, tuple((value, f"{value:,.10g}" if value in labelled else "") for value in ordered))


def _decades(ordered: Sequence[float]) -> float:
    """Decades between the first and the last of some positive numbers."""
    return math.log10(ordered[-1] / ordered[0]) if ordered else 0.0


def power_text(value: float) -> str:
    """Format a number in few characters: powers of ten far from one as powers."""
    power = round(math.log10(value))
    if -3 < power < 4 or not math.isclose(value, 10.0**power):
        return f"{value:,.4g}"
    return "10" + str(power).translate(RAISED)


@dataclass(frozen=True, slots=True)
class Reference:
    """A horizontal line with its name at its right end."""

    label: str
    style: Style
    value: float
    text: str


NAMED = 58
"""Right margin of a panel where horizontal lines are named."""


@dataclass(frozen=True, slots=True)
class Panel(figures.Panel):
    """One pair of axes, the lines drawn on it, and horizontal lines beneath them."""

    references: tuple[Reference, ...] = ()

    def description(self) -> str:
        labels = [*(label for label, _ in self.legend()), *(line.label for line in self.references)]
        return f"{self.title}: {self.y.label} against {self.x.label}: {', '.join(labels)}"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Tabulate the panel: a header, and one row per series and horizontal line, with one column per x."""
        places = sorted({point.x for line in self.series for point in line.points})
        header = [self.x.label, *(f"{place:,.10g}" for place in places)]
        texts = [(line.label, {point.x: point.text for point in line.points}) for line in self.series]
        rows = [[label, *(at.get(place, "–") for place in places)] for label, at in texts]
        return header, rows + [[line.label, *([line.text] * len(places))] for line in self.references]

    def drawing(self) -> str:
        """Draw the panel below its title."""
        margin, lowest, lines = NAMED if self.references else RIGHT, -math.inf, []
        y, right = self.y.scale(self.limits()[1], self.height - BOTTOM, TOP), WIDTH - margin
        for line in sorted(self.references, key=lambda line: -line.value):
            lowest = max(y(line.value) + 3.6, lowest + 12)  # names are moved apart where they would touch
            lines.append(draw_line([(LEFT, y(line.value)), (right, y(line.value))], line.style))
            lines.append(drawn_text(line.label, right + 4, lowest, "start", 10))
        return drawn_text(self.title, LEFT, TOP - 9, "start", 11.5) + draw_panel(self, margin, "".join(lines))


def embedded_panel(panel: Panel) -> str:
    """Make an element of a page from a panel with its title."""
    return svg_panel(panel, panel.drawing(), 0)


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels under one caption."""

    name: str
    title: str
    caption: str
    notes: str
    panels: tuple[Panel, ...]

    def lines(self) -> list[tuple[str, figures.Style]]:
        """List labels and styles of all series, each once, in the order of their first appearance."""
        styles = dict(entry for panel in self.panels for entry in panel.legend())
        return list(styles.items())

    def data(self) -> pl.DataFrame:
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


def shared_limits(panels: Sequence[tuple[Series, ...]], levels: Sequence[float] = ()) -> tuple[float, float]:
    """Choose limits that hold all points with their bars, and horizontal lines, with some room."""
    points = [point for series in panels for line in series for point in line.points]
    ends = [end for point in points for end in (point.y, point.low, point.high) if end is not None]
    return with_room(min([*ends, *levels]), max([*ends, *levels]))


def slug(name: str, taken: set[str]) -> str:
    """Make a file name and anchor of a name, different from those taken, and add it to them."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "figure"
    number, unique = 1, plain
    while unique.casefold() in taken:
        number += 1
        unique = f"{plain}-{number}"
    taken.add(unique.casefold())
    return unique


ACROSS, HEADING, ENTRY = 3, 36, 20
"""Of a file: panels side by side, heights of its title and of a line of its legend."""
FONTS = "system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, DejaVu Sans, sans-serif"


def figure_file(figure: Figure) -> str:
    """Draw a whole figure with its title and its legend, as a file of its own, on white."""
    across, lines = min(ACROSS, len(figure.panels)), figure.lines()
    rows = [figure.panels[at : at + across] for at in range(0, len(figure.panels), across)]
    tops = [*accumulate((max(panel.height for panel in row) for row in rows), initial=HEADING)]
    width = WIDTH * across
    entry = SAMPLE + 24 + 6 * max((len(label) for label, _ in lines), default=0)
    columns = max(1, (width - LEFT) // entry)
    height = tops[-1] + ENTRY * math.ceil(len(lines) / columns) + 8
    parts = [tag("title", escape(printable(figure.title))), tag("desc", escape(printable(figure.caption)))]
    parts.append(tag("rect", width=width, height=height, fill="white"))
    parts.append(drawn_text(figure.title, LEFT, 24, "start", 13))
    for number, panel in enumerate(figure.panels):
        place = f"translate({WIDTH * (number % across)} {tops[number // across]})"
        parts.append(tag("g", panel.drawing(), transform=place))
    for number, (label, look) in enumerate(lines):
        place = f"translate({LEFT + entry * (number % columns)} {tops[-1] + ENTRY * (number // columns)})"
        parts.append(tag("g", draw_sample(look) + drawn_text(label, SAMPLE + 8, 11, "start"), transform=place))
    space, size = "http://www.w3.org/2000/svg", {"viewBox": f"0 0 {width} {height}", "width": width, "height": height}
    drawn = tag("svg", "\n".join(parts), xmlns=space, role="img", **size, font_family=FONTS) + "\n"
    # A file has no variables; quotes in texts are escaped, so that these are attributes.
    return re.sub(r'"var\(--([\w-]+)\)"', lambda found: f'"{COLOURS[found[1]][0]}"', drawn)
