"""Figures (panels of series on common axes, and the same numbers as a table), their SVG, and pages of templates."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from dpnb_columnar.errors import UsageError, printable
from dpnb_columnar.mechanisms import OWN
from dpnb_columnar.runtime.outputs import atomic_output, check_output

if TYPE_CHECKING:
    from jinja2 import Environment


# Styles of mechanisms: one colour, marker and line in every figure, distinct without colour too.

NONE = "none"
MAJORITY = "majority"
BASELINES = (NONE, MAJORITY)
"""Mechanisms drawn as horizontal lines: the accuracy without privacy, and without attributes."""


@dataclass(frozen=True, slots=True)
class Style:
    """Look of one line.

    Attributes:
        marker: Its letter in ``MARKERS``, or ``o``; empty for none.
        line: On and off lengths of the dashes, in widths of the line; none for an unbroken line.
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
    """One value, with a bar from ``low`` to ``high`` if it has one."""

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
    """One pair of axes and the lines drawn on it."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    references: tuple[Reference, ...] = ()
    height: int = 256

    def description(self) -> str:
        labels = [*(label for label, _ in self.legend()), *(line.label for line in self.references)]
        return f"{self.title}: {self.y.label} against {self.x.label}: {', '.join(labels)}"

    def legend(self) -> list[tuple[str, Style]]:
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
    """Panels under one caption."""

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


WIDTH = 360
"""Width of a panel. A phone shows this unit at about one pixel, so that text stays legible."""
LEFT, RIGHT, NAMED, BOTTOM, TOP = 56, 12, 58, 44, 26
"""Margins of a panel: left, right, right where horizontal lines are named, below and above."""
ACROSS, HEADING, ENTRY, SAMPLE = 3, 36, 20, 36
"""Of a file: panels side by side, heights of its title and of a line of its legend, width of a piece of a line."""
DODGE = 1.2
"""Distance of neighbouring series at one x, so that their bars are distinct."""
FONTS = "system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, DejaVu Sans, sans-serif"

Colour = Callable[[str], str]
Place = tuple[float, float]
GAP = (0.0, math.nan)
"""Parts two lines of one path."""

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


def embedded_panel(panel: Panel, titled: bool = True) -> str:
    """Make an element of a page from a panel: no legend, no background, read aloud by its description."""
    above, words = (0 if titled else TOP - 10), printable(panel.description())
    size, title = f"0 {above} {WIDTH} {panel.height - above}", _title(panel, _variable) if titled else ""
    return _tag("svg", title + _panel(panel, _variable), viewBox=size, role="img", aria_label=words)


def embedded_sample(style: Style) -> str:
    """Make an element of a page for a legend: a piece of a line with one marker."""
    size = f"0 0 {SAMPLE} 14"
    return _tag("svg", _sample(style, _variable), class_="sample", viewBox=size, aria_hidden="true")


def figure_file(figure: Figure) -> str:
    """Draw a whole figure with its title and its legend, as a file of its own, on white."""
    across, lines = min(ACROSS, len(figure.panels)), figure.lines()
    rows = [figure.panels[at : at + across] for at in range(0, len(figure.panels), across)]
    tops = [*accumulate((max(panel.height for panel in row) for row in rows), initial=HEADING)]
    width = WIDTH * across
    entry = SAMPLE + 24 + 6 * max((len(label) for label, _ in lines), default=0)
    columns = max(1, (width - LEFT) // entry)
    height = tops[-1] + ENTRY * math.ceil(len(lines) / columns) + 8
    parts = [_tag("title", escape(printable(figure.title))), _tag("desc", escape(printable(figure.caption)))]
    parts.append(_tag("rect", width=width, height=height, fill="white"))
    parts.append(_text(figure.title, LEFT, 24, _light, "start", 13))
    for number, panel in enumerate(figure.panels):
        place = f"translate({WIDTH * (number % across)} {tops[number // across]})"
        parts.append(_tag("g", _title(panel, _light) + _panel(panel, _light), transform=place))
    for number, (label, style) in enumerate(lines):
        place = f"translate({LEFT + entry * (number % columns)} {tops[-1] + ENTRY * (number // columns)})"
        parts.append(_tag("g", _sample(style, _light) + _text(label, SAMPLE + 8, 11, _light, "start"), transform=place))
    space, size = "http://www.w3.org/2000/svg", {"viewBox": f"0 0 {width} {height}", "width": width, "height": height}
    return _tag("svg", "\n".join(parts), xmlns=space, role="img", **size, font_family=FONTS) + "\n"


def _variable(name: str) -> str:
    """Name a colour as the CSS variable that a page defines for light and dark."""
    return f"var(--{name})"


def _light(name: str) -> str:
    return COLOURS[name][0]


def _title(panel: Panel, colour: Colour) -> str:
    return _text(panel.title, LEFT, TOP - 9, colour, "start", 11.5)


def _panel(panel: Panel, colour: Colour) -> str:
    """Draw axes, and on them horizontal lines and series, of which the first lies on top."""
    right, bottom = WIDTH - (NAMED if panel.references else RIGHT), panel.height - BOTTOM
    across, along = panel.limits()
    x, y = _scale(panel.x, across, LEFT, right), _scale(panel.y, along, bottom, TOP)
    grid: list[Place] = []
    axes: list[Place] = [(LEFT, TOP), (LEFT, bottom), (right, bottom)]
    texts = [_text(panel.x.label, (LEFT + right) / 2, bottom + 31, colour)]
    turned = f"translate(14 {(TOP + bottom) / 2}) rotate(-90)"
    texts.append(_tag("g", _text(panel.y.label, 0, 0, colour), transform=turned))
    for value, label in panel.y.ticks_between(*along):
        grid += [(LEFT, y(value)), (right, y(value)), GAP]
        axes += [GAP, (LEFT - 3.5, y(value)), (LEFT, y(value))]
        texts.append(_text(label, LEFT - 6, y(value) + 3.8, colour, "end"))
    for value, label in panel.x.ticks_between(*across):
        grid += [] if panel.x.logarithmic else [(x(value), TOP), (x(value), bottom), GAP]
        axes += [GAP, (x(value), bottom), (x(value), bottom + 3.5)]
        texts.append(_text(label, x(value), bottom + 15.5, colour))
    parts, lowest = [_path(grid, colour("grid"), 0.8), _path(axes, colour("muted"), 0.8), *texts], -math.inf
    for line in sorted(panel.references, key=lambda line: -line.value):
        lowest = max(y(line.value) + 3.6, lowest + 12)  # names are moved apart where they would touch
        parts.append(_line([(LEFT, y(line.value)), (right, y(line.value))], line.style, colour))
        parts.append(_text(line.label, right + 4, lowest, colour, "start", 10))
    for number, series in reversed([*enumerate(panel.series)]):
        aside = DODGE * (number - (len(panel.series) - 1) / 2) if series.style.marker else 0.0
        bars: list[Place] = []
        places = [(x(point.x) + aside, y(point.y)) for point in series.points]
        for (at, _), point in zip(places, series.points, strict=True):
            if point.low is not None and point.high is not None:
                low, high = y(point.low), y(point.high)
                bars += [(at - 2, low), (at + 2, low), (at, low), (at, high), (at + 2, high), (at - 2, high), GAP]
        parts += [_path(bars, colour(series.style.colour), 0.9), _line(places, series.style, colour)]
    return "".join(parts)


def _scale(axis: Axis, limits: tuple[float, float], start: float, end: float) -> Callable[[float], float]:
    """Return the place of a value between the ends of an axis; what lies beyond is put at the end."""
    low, high = (math.log(limit) if axis.logarithmic else limit for limit in limits)

    def place(value: float) -> float:
        part = ((math.log(value) if axis.logarithmic else value) - low) / (high - low)
        return start + (part if math.isnan(part) else min(max(part, 0.0), 1.0)) * (end - start)

    return place


def _sample(style: Style, colour: Colour) -> str:
    line = _line([(1, 7), (SAMPLE - 1, 7)], replace(style, marker=""), colour)
    return line + _markers([(SAMPLE / 2, 7)], style, colour)


def _line(places: Sequence[Place], style: Style, colour: Colour) -> str:
    return _path(places, colour(style.colour), style.width, style.dashes) + _markers(places, style, colour)


def _markers(places: Sequence[Place], style: Style, colour: Colour) -> str:
    size, drawn = (2.5 if style.width < 2 else 3.25), ""
    for x, y in places if style.marker else ():
        if style.marker == "o":
            arc = f"a{size} {size} 0 1 0"
            drawn += f"M{x - size:.1f} {y:.1f}{arc}{2 * size} 0{arc}{-2 * size} 0z"
        else:
            corners = [f"{x + size * dx:.1f} {y + size * dy:.1f}" for dx, dy in MARKERS[style.marker]]
            drawn += f"M{'L'.join(corners)}z"
    inside = colour("paper-white" if style.hollow else style.colour)
    edge = {"stroke": colour(style.colour), "stroke_width": 1.2, "stroke_linejoin": "round"}
    return _tag("path", d=drawn, fill=inside, **edge) if drawn else ""


def _path(places: Sequence[Place], colour: str, width: float, dashes: str = "") -> str:
    """Join places by lines; one that is not a number parts them."""
    drawn, command = "", "M"
    for x, y in places:
        drawn, command = (drawn, "M") if math.isnan(y) else (f"{drawn}{command}{x:.1f} {y:.1f}", "L")
    look = {"stroke": colour, "stroke_width": width, "stroke_dasharray": dashes, "stroke_linejoin": "round"}
    return _tag("path", d=drawn, fill="none", **look) if drawn else ""


def _text(text: str, x: float, y: float, colour: Colour, anchor: str = "middle", size: float = 10.5) -> str:
    """Write a text at a place; larger ones, which are titles, are bold."""
    weight = "bold" if size > 11 else ""
    look: dict[str, object] = {"text_anchor": anchor, "font_size": size, "font_weight": weight, "fill": colour("ink")}
    return _tag("text", escape(printable(text)), x=round(x, 1), y=round(y, 1), **look) if text else ""


def _tag(name: str, inside: str = "", /, **attributes: object) -> str:
    """Write an element around markup; an empty attribute is left out."""
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value != ""}
    return (
        f"<{name}" + "".join(f' {key}="{escape(str(value))}"' for key, value in given.items()) + f">{inside}</{name}>"
    )


PAGE_SUFFIX = ".html"


class Page(str):
    """The text of a page; a notebook shows it in a frame of its own, whose styles are not the notebook's."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f'<iframe style="width: 100%; height: 48rem; border: 0" srcdoc="{escape(self)}"></iframe>'


def check_single_page(output: Path, overwrite: bool) -> None:
    """Refuse a page without figures' files that could not be written, before any long work."""
    if output.suffix != PAGE_SUFFIX:
        raise UsageError(f"{output}: a report is a page; choose a name that ends in {PAGE_SUFFIX}")
    check_output(output, overwrite)


def write_single_page(
    output: Path, package: str, template: str, content: Mapping[str, object], *, overwrite: bool, confidential: bool
) -> None:
    """Write a page without figures' files, of a template of a package; ``check_single_page`` has accepted it."""
    with atomic_output(output, overwrite=overwrite, confidential=confidential) as partial:
        partial.write_text(single_page(package, template, content), encoding="utf-8")


def single_page(package: str, template: str, content: Mapping[str, object]) -> Page:
    """Make a page without figures' files, of a template of a package."""
    return Page(templates(package).get_template(template).render(content))


def templates(package: str) -> Environment:
    """Open the templates of a package and, for those that they extend, of this one; every text is escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name) for name in dict.fromkeys((package, __package__))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value,
    )
    environment.filters |= {"panel": embedded_panel, "sample": embedded_sample}
    environment.globals |= {"colours": COLOURS, "style": style}
    return environment
