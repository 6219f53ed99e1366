"""Content of a figure, before anything is drawn: panels of series on common axes, and the same numbers as a table.

They are drawn with matplotlib: whole figures for files, single panels and line samples for pages.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from dpnb_columnar.domain.names import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


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
        marker: Matplotlib's letter; empty for none.
        line: On and off lengths of the dashes, in points; none for an unbroken line.
        width: Line width in points.
        hollow: Whether markers are drawn as outlines.
    """

    colour: str
    marker: str = ""
    line: tuple[float, ...] = ()
    width: float = 1.4
    hollow: bool = False


COLOURS = {
    "ink": ("#1d232b", "#e4e8ee"),
    "muted": ("#59626f", "#9da7b4"),
    "grid": ("#e3e6ea", "#2b323b"),
    "paper-white": ("#fefefe", "#14181d"),
    "smooth": ("#003a78", "#3a90ff"),
    "paper": ("#8a1a00", "#e0601a"),
    "trimmed-mean": ("#12825a", "#5df2a0"),
    "global": ("#b41cac", "#dca0c0"),
    "global-variance": ("#f93aae", "#d845ad"),
    "adaptive-histogram": ("#2c99ec", "#9beaff"),
    "histogram": ("#b28c16", "#ffa62b"),
    "order-1": ("#440154", "#fde725"),
    "order-2": ("#31688e", "#7ad151"),
    "order-3": ("#26a080", "#2fb8a0"),
    "order-4": ("#6b9c12", "#5b9bd0"),
    "order-5": ("#a88a00", "#a07fd0"),
}
"""Colours by name: on a light page and on a dark one. The mechanisms' keep their distance under colour blindness."""

STYLES = {
    "smooth": Style("smooth", "o", width=2.8),
    "paper": Style("paper", "s", (5, 2)),
    "trimmed-mean": Style("trimmed-mean", "^", (6, 2, 1, 2)),
    "global": Style("global", "v", (2, 1.5)),
    "global-variance": Style("global-variance", "D", (1, 1.5)),
    "adaptive-histogram": Style("adaptive-histogram", "P", (8, 2)),
    "histogram": Style("histogram", "X"),
    NONE: Style("ink", line=(7, 3), width=1.1),
    MAJORITY: Style("muted", line=(1.5, 2.5), width=1.3),
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


def shared_limits(panels: Sequence[tuple[Series, ...]], levels: Sequence[float] = ()) -> tuple[float, float]:
    """Choose limits that hold all points with their bars, and horizontal lines, with some room."""
    points = [point for series in panels for line in series for point in line.points]
    ends = [end for point in points for end in (point.y, point.low, point.high) if end is not None]
    low, high = min([*ends, *levels]), max([*ends, *levels])
    margin = 0.04 * (high - low) or 0.01
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


POINTS = 72
"""Points in an inch; an SVG's units."""

PANEL = (360, 256)
"""Width and height of a panel in points. A phone shows a point at about one pixel, so its text stays legible."""

LEFT, RIGHT, NAMED, BOTTOM, TOP = 56, 12, 54, 44, 26
"""Margins of a panel in points: left, right, right where horizontal lines are named, below and above."""

SAMPLE = (36, 14.4)
"""Width and height of a line sample in points."""

HEADING, ENTRY = 34, 20
"""Height of a file's title and of a line of its legend in points."""

ACROSS = 3
"""Panels side by side in a file."""

ENTRIES = 2
"""Entries of a legend side by side below each panel."""

DODGE = 1.2
"""Points between neighbouring series at one x, so that their bars are distinct."""

ROOM = 0.04
"""Free part of an axis at either end."""

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
"""Digits of an exponent."""

RESOLUTION = 160
"""Dots per inch of a PNG file."""

SETTINGS: Mapping[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.5,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titley": 1.03,
    "axes.labelsize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "axes.formatter.use_mathtext": False,
    "xtick.labelsize": 10.5,
    "ytick.labelsize": 10.5,
}
"""Settings that do not depend on the machine's own."""


def panel_svg(panel: Panel, name: str) -> str:
    """Draw one panel without a legend, in the colours of a light page, on no background.

    Args:
        panel: The panel.
        name: Salt of the names inside, different for each drawing of a page.
    """
    with _canvas(PANEL, salt=name) as canvas:
        _draw(_axes(canvas, panel, 0, 0), panel)
        return _svg(canvas)


def sample_svg(style: Style, name: str) -> str:
    """Draw a piece of a line with one marker, for a legend.

    Args:
        style: Style of the line.
        name: Salt of the names inside, different for each drawing of a page.
    """
    with _canvas(SAMPLE, salt=name) as canvas:
        axes = canvas.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, 1), ylim=(-1, 1))
        axes.axis("off")
        axes.plot([0.04, 0.96], [0, 0], **{**_line(style), "marker": ""})
        axes.plot([0.5], [0], **_line(style))
        return _svg(canvas)


def drawn_files(figure: Figure) -> tuple[str, bytes]:
    """Draw a whole figure with its legend, as SVG and PNG, on white."""
    across = min(ACROSS, len(figure.panels))
    down = math.ceil(len(figure.panels) / across)
    lines = figure.lines()
    legend = ENTRY * math.ceil(len(lines) / (ENTRIES * across)) + 8
    size = (PANEL[0] * across, HEADING + PANEL[1] * down + legend)
    with _canvas(size, background="white") as canvas:
        for number, panel in enumerate(figure.panels):
            row, column = divmod(number, across)
            place = (PANEL[0] * column, legend + PANEL[1] * (down - 1 - row))
            _draw(_axes(canvas, panel, *place), panel)
        height = size[1]
        title: dict[str, Any] = {"weight": "bold", "size": 13, "color": _light("ink")}
        canvas.text(LEFT / size[0], 1 - 12 / height, printable(figure.title), ha="left", va="top", **title)
        canvas.legend(
            handles=[_handle(label, style) for label, style in lines],
            loc="lower left",
            bbox_to_anchor=(LEFT / size[0], 0),
            ncols=ENTRIES * across,
            frameon=False,
            handlelength=3.2,
            borderaxespad=0.4,
            borderpad=0,
            labelcolor=_light("ink"),
        )
        picture = io.BytesIO()
        canvas.savefig(picture, format="png", dpi=RESOLUTION, metadata={"Software": None})
        return _svg(canvas), picture.getvalue()


@contextmanager
def _canvas(size: tuple[float, float], background: str = "none", salt: str = "dpnb_columnar") -> Iterator[Canvas]:
    """Make an empty figure of a size in points, with settings that hold inside the block."""
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        # Names inside an SVG are hashes of their content and this salt, so that equal figures are equal files.
        matplotlib.rcParams.update({**SETTINGS, "svg.hashsalt": salt})
        yield Canvas(figsize=(size[0] / POINTS, size[1] / POINTS), facecolor=background)


def _axes(canvas: Canvas, panel: Panel, x: float, y: float) -> Axes:
    """Axes of a panel whose lower left corner lies at a point; all panels are laid out alike."""
    width, height = canvas.get_size_inches() * POINTS
    right = NAMED if panel.references else RIGHT
    inside = (x + LEFT, y + BOTTOM, PANEL[0] - LEFT - right, PANEL[1] - BOTTOM - TOP)
    return canvas.add_axes((inside[0] / width, inside[1] / height, inside[2] / width, inside[3] / height))


def _svg(canvas: Canvas) -> str:
    written = io.StringIO()
    canvas.savefig(written, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return written.getvalue()


def _light(name: str) -> str:
    return COLOURS[name][0]


def _line(style: Style) -> dict[str, Any]:
    """Matplotlib's arguments for a line."""
    colour = _light(style.colour)
    return {
        "color": colour,
        "linewidth": style.width,
        "linestyle": (0, style.line) if style.line else "-",
        "marker": style.marker,
        "markersize": 5.0 if style.width < 2 else 6.5,
        "markeredgecolor": colour,
        "markeredgewidth": 1.2,
        "markerfacecolor": _light("paper-white") if style.hollow else colour,
    }


def _handle(label: str, style: Style) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], label=printable(label), **_line(style))


def _draw(axes: Axes, panel: Panel) -> None:
    """Put a panel on its axes."""
    axes.set_facecolor("none")
    axes.set_title(printable(panel.title), color=_light("ink"))
    axes.grid(axis="y", color=_light("grid"), linewidth=0.8)
    axes.tick_params(colors=_light("muted"), which="both", labelcolor=_light("ink"))
    for spine in axes.spines.values():
        spine.set_color(_light("muted"))
    _scale(axes, panel)
    for line in panel.references:
        axes.axhline(line.value, **_line(line.style), zorder=1.5)
    for number, series in enumerate(reversed(panel.series)):  # the first series lies on top
        place = (len(panel.series) - 1) / 2 - number if series.style.marker else 0
        _plot(axes, series, place, 2.1 + 0.1 * number)
    _name(axes, panel.references)
    width = axes.get_position().width * axes.figure.get_figwidth() * POINTS
    axes.yaxis.set_label_coords(-(LEFT - 14) / width, 0.5)  # at one place, however wide the numbers are


def _plot(axes: Axes, series: Series, place: float, order: float) -> None:
    """Draw a line and its bars, moved aside by its place among the series."""
    from matplotlib.transforms import ScaledTranslation

    moved = axes.transData + ScaledTranslation(place * DODGE / 72, 0, axes.figure.dpi_scale_trans)
    colour = _light(series.style.colour)
    barred = [point for point in series.points if point.low is not None and point.high is not None]
    if barred:
        # One line with gaps: both ends of each bar, then nothing.
        places = [place for point in barred for place in (point.x, point.x, math.nan)]
        ends = [end for point in barred for end in (point.low, point.high, math.nan)]
        bars: dict[str, Any] = {"color": colour, "linewidth": 0.9, "marker": "_", "markersize": 4}
        axes.plot(places, ends, **bars, transform=moved, zorder=order)
    x, y = [point.x for point in series.points], [point.y for point in series.points]
    axes.plot(x, y, **_line(series.style), transform=moved, zorder=order)


def _scale(axes: Axes, panel: Panel) -> None:
    """Scales, limits and ticks of both axes."""
    points = [point for series in panel.series for point in series.points]
    ends = [end for point in points for end in (point.low, point.y, point.high) if end is not None]
    _axis(axes, "x", panel.x, panel.x.limits or _around([point.x for point in points], panel.x.logarithmic))
    _axis(axes, "y", panel.y, panel.y.limits or _around(ends, panel.y.logarithmic))


def _axis(axes: Axes, which: str, axis: Axis, limits: tuple[float, float]) -> None:
    """Scale, limits, ticks and label of one axis."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

    axes.set(**{f"{which}scale": "log" if axis.logarithmic else "linear", f"{which}lim": limits})
    drawn = axes.xaxis if which == "x" else axes.yaxis
    drawn.set_label_text(printable(axis.label), color=_light("ink"))
    drawn.set_minor_locator(NullLocator())
    if axis.ticks:
        labels = dict(axis.ticks)
        drawn.set_major_locator(FixedLocator(list(labels)))
        drawn.set_major_formatter(FuncFormatter(lambda value, _: labels.get(value, "")))
    elif axis.logarithmic:
        drawn.set_major_locator(LogLocator(subs=(1.0,) if limits[1] / limits[0] > 30 else (1.0, 2.0, 5.0), numticks=7))
        drawn.set_major_formatter(FuncFormatter(lambda value, _: power_text(value)))
    else:
        drawn.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))


def power_text(value: float) -> str:
    """Format a number in few characters: powers of ten far from one as powers."""
    power = round(math.log10(value))
    if -3 < power < 4 or not math.isclose(value, 10.0**power):
        return f"{value:,.4g}"
    return "10" + str(power).translate(RAISED)


def _around(values: Sequence[float], logarithmic: bool) -> tuple[float, float]:
    """Limits around values, with some room."""
    low, high = min(values), max(values)
    if logarithmic:
        factor = max((high / low) ** ROOM, 1.1)
        return low / factor, high * factor
    margin = ROOM * (high - low) or 0.01
    return low - margin, high + margin


def _name(axes: Axes, references: Sequence[Reference]) -> None:
    """Names of horizontal lines in the right margin, moved apart where they would touch."""
    low, high = axes.get_ylim()
    apart = 0.065 * (high - low)
    taken: list[float] = []
    for line in sorted(references, key=lambda line: -line.value):
        place = min(line.value, taken[-1] - apart) if taken else line.value
        taken.append(place)
        axes.annotate(
            printable(line.label),
            (1, place),
            xycoords=axes.get_yaxis_transform(),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            size=10,
            color=_light("ink"),
            annotation_clip=False,
        )
