"""Drawings of pages (panels of lines on common axes) as SVG, and pages of templates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from dpnb_columnar.errors import UsageError, printable
from dpnb_columnar.mechanisms import OWN
from dpnb_columnar.runtime.outputs import atomic_output, check_output

if TYPE_CHECKING:
    from jinja2 import Environment

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Style:
    """Look of one line; without lengths of dashes and gaps, in widths of the line, it is unbroken."""

    colour: str
    line: tuple[float, ...] = ()
    width: float = 1.4

    @property
    def dodge(self) -> float:
        """Distance of neighbouring series at one x, so that their bars are distinct."""
        return 0.0

    @property
    def dashes(self) -> str:
        """Lengths of the dashes as SVG writes them; empty for an unbroken line."""
        return " ".join(f"{length * self.width:g}" for length in self.line)

    def marks(self, places: Sequence[Place]) -> str:
        """Draw markers at the points of a line: none."""
        return ""


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

DASHES = ((), (5, 2), (6, 2, 1, 2), (2, 1.5), (8, 2))
PLAIN = tuple(Style(f"order-{place}", line, 1.8) for place, line in enumerate(DASHES, 1))
"""Styles of curves, in their order."""

DIAGONAL = Style("muted", (4, 4), 1.0)
"""Style of a line from corner to corner, which has no name."""

MOST_TICKS = 6
"""Ticks of an axis that names none, or one more."""

STEPS = ((1, 0), (2, 0), (2.5, 1), (5, 0), (10, -1), (20, -1))
"""Steps of a linear axis as parts of a power of ten, and the digits that each needs more than the power."""

ROOM = 0.04
"""Free part of an axis at either end."""


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
class Axis:
    """A scale, with places and labels of ticks (the drawing chooses them if there are none) and perhaps its limits."""

    name: str
    label: str
    ticks: tuple[tuple[float, str], ...] = ()
    limits: tuple[float, float] | None = None
    gridded: ClassVar[bool] = True  # whether a line crosses the panel at each tick of a horizontal axis

    def around(self, values: Sequence[float]) -> tuple[float, float]:
        """Return the limits; if none are given, those that hold the values with some room."""
        return self.limits or with_room(min(values), max(values))

    def ticks_between(self, low: float, high: float) -> list[tuple[float, str]]:
        """Return places and labels of the ticks between limits: those given, or a few at even numbers."""
        if self.ticks:
            return [(value, label) for value, label in self.ticks if low <= value <= high]
        least = (high - low) / MOST_TICKS
        power = math.floor(math.log10(least))
        part, more = next((part, more) for part, more in STEPS if part * 10.0**power >= least)
        step, digits = part * 10.0**power, max(0, more - power)
        places = [step * number for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
        form = ".10g" if max(abs(low), abs(high)) < 1e-4 else f",.{digits}f"
        return [(place, format(place, form).replace("-", "−")) for place in places]

    def even(self, value: float) -> float:
        """Return a number that is even along the axis."""
        return value

    def scale(self, limits: tuple[float, float], start: float, end: float) -> Callable[[float], float]:
        """Return the place of a value between the ends of the axis; what lies beyond is put at the end."""
        low, high = map(self.even, limits)

        def place(value: float) -> float:
            part = (self.even(value) - low) / (high - low)
            return start + (part if math.isnan(part) else min(max(part, 0.0), 1.0)) * (end - start)

        return place


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes and the lines drawn on it."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    height: int = 256

    def description(self) -> str:
        return f"{self.title}: {self.y.label} against {self.x.label}: {', '.join(label for label, _ in self.legend())}"

    def legend(self) -> list[tuple[str, Style]]:
        return [(line.label, line.style) for line in self.series if line.label]

    def limits(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the limits of both axes, which hold all points with their bars."""
        points = [point for series in self.series for point in series.points]
        all_ends = (end for point in points for end in (point.low, point.y, point.high))
        ends = [end for end in all_ends if end is not None and not math.isnan(end)]
        return self.x.around([point.x for point in points]), self.y.around(ends)


def with_room(low: float, high: float) -> tuple[float, float]:
    """Widen limits a little; those that rounding alone keeps apart by one in a hundred."""
    size = max(abs(low), abs(high))
    margin = ROOM * (high - low) if high - low > 1e-9 * size else 0.01 * size or 0.01
    return low - margin, high + margin


WIDTH = 360
"""Width of a panel. A phone shows this unit at about one pixel, so that text stays legible."""
LEFT, RIGHT, BOTTOM, TOP = 56, 12, 44, 26
"""Margins of a panel."""
SAMPLE = 36
"""Width of a piece of a line in a legend."""
GAP = (0.0, math.nan)
"""Parts two lines of one path."""


def embedded_panel(panel: Panel) -> str:
    """Make an element of a page from a panel: no title, no legend, no background, read aloud by its description."""
    return svg_panel(panel, draw_panel(panel), TOP - 10)


def svg_panel(panel: Panel, inside: str, above: int) -> str:
    """Make an element of a page from what is drawn of a panel below a height."""
    size, words = f"0 {above} {WIDTH} {panel.height - above}", printable(panel.description())
    return tag("svg", inside, viewBox=size, role="img", aria_label=words)


def embedded_sample(style: Style) -> str:
    """Make an element of a page for a legend: a piece of a line with one marker."""
    return tag("svg", draw_sample(style), class_="sample", viewBox=f"0 0 {SAMPLE} 14", aria_hidden="true")


def draw_sample(style: Style) -> str:
    """Draw a piece of a line with one marker."""
    line = path([(1, 7), (SAMPLE - 1, 7)], style.colour, style.width, style.dashes)
    return line + style.marks([(SAMPLE / 2, 7)])


def draw_line(places: Sequence[Place], style: Style) -> str:
    """Draw a line with its markers."""
    return path(places, style.colour, style.width, style.dashes) + style.marks(places)


def draw_panel(panel: Panel, margin: int = RIGHT, beneath: str = "") -> str:
    """Draw axes, and on them ``beneath`` and the series, the first on top; ``margin`` is the right one."""
    right, bottom = WIDTH - margin, panel.height - BOTTOM
    across, along = panel.limits()
    x, y = panel.x.scale(across, LEFT, right), panel.y.scale(along, bottom, TOP)
    grid: list[Place] = []
    axes: list[Place] = [(LEFT, TOP), (LEFT, bottom), (right, bottom)]
    texts = [drawn_text(panel.x.label, (LEFT + right) / 2, bottom + 31)]
    turned = f"translate(14 {(TOP + bottom) / 2}) rotate(-90)"
    texts.append(tag("g", drawn_text(panel.y.label, 0, 0), transform=turned))
    for value, label in panel.y.ticks_between(*along):
        grid += [(LEFT, y(value)), (right, y(value)), GAP]
        axes += [GAP, (LEFT - 3.5, y(value)), (LEFT, y(value))]
        texts.append(drawn_text(label, LEFT - 6, y(value) + 3.8, "end"))
    for value, label in panel.x.ticks_between(*across):
        grid += [(x(value), TOP), (x(value), bottom), GAP] if panel.x.gridded else []
        axes += [GAP, (x(value), bottom), (x(value), bottom + 3.5)]
        texts.append(drawn_text(label, x(value), bottom + 15.5))
    parts = [path(grid, "grid", 0.8), path(axes, "muted", 0.8), *texts, beneath]
    for number, series in reversed([*enumerate(panel.series)]):
        aside = series.style.dodge * (number - (len(panel.series) - 1) / 2)
        bars: list[Place] = []
        places = [(x(point.x) + aside, y(point.y)) for point in series.points]
        for (at, _), point in zip(places, series.points, strict=True):
            if point.low is not None and point.high is not None:
                low, high = y(point.low), y(point.high)
                bars += [(at - 2, low), (at + 2, low), (at, low), (at, high), (at + 2, high), (at - 2, high), GAP]
        parts += [path(bars, series.style.colour, 0.9), draw_line(places, series.style)]
    return "".join(parts)


def path(places: Sequence[Place], colour: str, width: float, dashes: str = "") -> str:
    """Join places by lines of a colour's name; a place that is not a number parts them."""
    drawn, command = "", "M"
    for x, y in places:
        drawn, command = (drawn, "M") if math.isnan(y) else (f"{drawn}{command}{x:.1f} {y:.1f}", "L")
    look = {"stroke": f"var(--{colour})", "stroke_width": width, "stroke_dasharray": dashes, "stroke_linejoin": "round"}
    return tag("path", d=drawn, fill="none", **look) if drawn else ""


INK = "ink"
"""The colour of texts."""


def drawn_text(text: str, x: float, y: float, anchor: str = "middle", size: float = 10.5) -> str:
    """Write a text at a place; larger ones, which are titles, are bold."""
    weight = "bold" if size > 11 else ""
    look: dict[str, object] = {"text_anchor": anchor, "font_size": size, "font_weight": weight, "fill": f"var(--{INK})"}
    return tag("text", escape(printable(text)), x=round(x, 1), y=round(y, 1), **look) if text else ""


def tag(name: str, inside: str = "", /, **attributes: object) -> str:
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
    environment.globals["colours"] = COLOURS
    return environment
