"""Draw figures as SVG: panels in a page's colour variables, whole files in the colours of a light page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import accumulate

from dpnb_columnar.errors import printable
from dpnb_columnar.report.figures import COLOURS, Axis, Figure, Panel, Style

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
    look: dict[str, object] = {
        "viewBox": f"0 0 {width} {height}",
        "width": width,
        "height": height,
        "font_family": FONTS,
    }
    return _tag("svg", "\n".join(parts), xmlns="http://www.w3.org/2000/svg", role="img", **look) + "\n"


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
    """Draw a piece of a line with one marker."""
    line = _line([(1, 7), (SAMPLE - 1, 7)], replace(style, marker=""), colour)
    return line + _markers([(SAMPLE / 2, 7)], style, colour)


def _line(places: Sequence[Place], style: Style, colour: Colour) -> str:
    """Draw a line with its markers."""
    return _path(places, colour(style.colour), style.width, style.dashes) + _markers(places, style, colour)


def _markers(places: Sequence[Place], style: Style, colour: Colour) -> str:
    """Draw a marker at each place, as one path."""
    size, drawn = (2.5 if style.width < 2 else 3.25), ""
    for x, y in places if style.marker else ():
        if style.marker == "o":
            arc = f"a{size} {size} 0 1 0"
            drawn += f"M{x - size:.1f} {y:.1f}{arc}{2 * size} 0{arc}{-2 * size} 0z"
        else:
            corners = [f"{x + size * dx:.1f} {y + size * dy:.1f}" for dx, dy in MARKERS[style.marker]]
            drawn += f"M{'L'.join(corners)}z"
    inside = colour("paper-white" if style.hollow else style.colour)
    look: dict[str, object] = {
        "fill": inside,
        "stroke": colour(style.colour),
        "stroke_width": 1.2,
        "stroke_linejoin": "round",
    }
    return _tag("path", d=drawn, **look) if drawn else ""


def _path(places: Sequence[Place], colour: str, width: float, dashes: str = "") -> str:
    """Join places by lines; one that is not a number parts them."""
    drawn, command = "", "M"
    for x, y in places:
        drawn, command = (drawn, "M") if math.isnan(y) else (f"{drawn}{command}{x:.1f} {y:.1f}", "L")
    look: dict[str, object] = {
        "stroke": colour,
        "stroke_width": width,
        "stroke_dasharray": dashes,
        "stroke_linejoin": "round",
    }
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
