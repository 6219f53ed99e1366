"""What is drawn: every value at its place, even ticks, colours told apart, and nothing that a name could break."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from itertools import combinations, pairwise
from xml.etree.ElementTree import Element

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fake_results import PRIVATE

from dpnb_columnar.report.figures import BOTTOM, COLOURS, LEFT, RIGHT, TOP, WIDTH, Axis, Point, Series, embedded_sample
from studies.figures import (
    MARKERS,
    NAMED,
    NOISE_MARKERS,
    ORDERED,
    OTHER,
    STYLES,
    Figure,
    LogAxis,
    Panel,
    Reference,
    Style,
    embedded_panel,
    figure_file,
    style,
)
from studies.paper.averages import DIRECT

PLAIN = Style("smooth")
UNIT = Axis("x", "x", limits=(0.0, 1.0))
SVG = "{http://www.w3.org/2000/svg}"


def panel_of(*points: Point, x: Axis = UNIT, y: Axis = UNIT, look: Style = PLAIN, **more: object) -> Panel:
    return Panel("t", x, y, (Series("a", look, points),), **more)  # type: ignore[arg-type]


def drawn(panel: Panel) -> Element:
    return ElementTree.fromstring(embedded_panel(panel))


def path_of(panel: Panel, width: str = "1.4") -> list[list[tuple[float, float]]]:
    """The only line of this width, as its parts."""
    (found,) = (part for part in drawn(panel).iter("path") if part.get("stroke-width") == width)
    parts = found.attrib["d"].lstrip("M").split("M")
    return [[(float(x), float(y)) for x, y in (place.split() for place in part.split("L"))] for part in parts]


def test_values_are_at_their_places_and_the_vertical_axis_points_upwards() -> None:
    right, bottom = WIDTH - RIGHT, 256 - BOTTOM
    assert path_of(panel_of(Point(0, 0), Point(0.5, 0.25), Point(1, 1))) == [
        [(LEFT, bottom), ((LEFT + right) / 2, bottom + 0.25 * (TOP - bottom)), (right, TOP)]
    ]
    decades = LogAxis("x", "x", limits=(0.01, 100.0))
    ((*_, last),) = path_of(panel_of(Point(0.01, 0), Point(1, 1), x=decades))
    assert last == ((LEFT + right) / 2, TOP)
    named = panel_of(Point(0, 0), Point(1, 1), references=(Reference("none", style("none"), 0.5, ""),))
    assert path_of(named)[0][-1] == (WIDTH - NAMED, TOP)


def test_what_lies_beyond_the_limits_stays_within_the_axes() -> None:
    ((first, last),) = path_of(panel_of(Point(-3, -1), Point(7, 2)))
    assert (first, last) == ((LEFT, 256 - BOTTOM), (WIDTH - RIGHT, TOP))


def test_a_value_that_is_no_number_parts_the_line() -> None:
    points = [Point(0, 0), Point(0.25, 0), Point(0.5, math.nan), Point(0.5, 1), Point(1, 1)]
    assert [len(part) for part in path_of(panel_of(*points))] == [2, 2]
    assert "nan" not in embedded_panel(panel_of(*points, y=Axis("y", "y")))


def test_bars_reach_from_the_lower_to_the_upper_end() -> None:
    bottom = 256 - BOTTOM
    (bar,) = path_of(panel_of(Point(0, 0.5), Point(0.5, 0.5, 0.25, 0.75)), width="0.9")
    heights = {y for _, y in bar}
    assert heights == {bottom + 0.25 * (TOP - bottom), bottom + 0.75 * (TOP - bottom)}
    assert {round(x) for x, _ in bar} == {200, 202, 204}


def test_bars_of_several_series_stand_side_by_side_and_lines_without_markers_do_not_move() -> None:
    both = tuple(Series(name, style(name), (Point(0.5, 0.5), Point(1, 1))) for name in ("smooth", "paper"))
    found = [
        part.attrib["d"] for part in drawn(Panel("t", UNIT, UNIT, both)).iter("path") if part.get("fill") == "none"
    ]
    starts = [float(re.findall(r"M([\d.]+)", path)[0]) for path in found[-2:]]
    assert starts[0] - starts[1] == pytest.approx(1.2, abs=0.11)
    bare = tuple(Series(name, PLAIN, (Point(0.5, 0.5), Point(1, 1))) for name in "ab")
    found = [part.attrib["d"] for part in drawn(Panel("t", UNIT, UNIT, bare)).iter("path")]
    assert found[-1] == found[-2]


def test_the_first_series_lies_on_top() -> None:
    both = tuple(Series(name, style(name), (Point(0.5, 0.5), Point(1, 1))) for name in ("smooth", "paper"))
    strokes = [part.get("stroke") for part in drawn(Panel("t", UNIT, UNIT, both)).iter("path")]
    assert strokes.index("var(--paper)") < strokes.index("var(--smooth)")


def test_names_of_horizontal_lines_do_not_touch() -> None:
    lines = tuple(Reference(f"line {number}", style("none"), 0.5 + number / 1000, "") for number in range(4))
    texts = [
        part for part in drawn(panel_of(Point(0, 0), references=lines)).iter("text") if "line" in (part.text or "")
    ]
    heights = [float(part.attrib["y"]) for part in texts]
    assert all(later - earlier >= 12 for earlier, later in pairwise(heights))
    assert texts[0].text == "line 3"


@pytest.mark.parametrize(
    "look", [*STYLES.values(), *ORDERED, OTHER, DIRECT, *(style("smooth", n) for n in NOISE_MARKERS)]
)
def test_every_style_is_drawn(look: Style) -> None:
    assert look.marker in {"", "o", *MARKERS}
    sample = ElementTree.fromstring(embedded_sample(look))
    line, *marker = sample.iter("path")
    assert line.attrib["stroke"] == f"var(--{look.colour})"
    assert line.get("stroke-dasharray", "") == look.dashes
    assert len(marker) == bool(look.marker)
    assert [part.get("fill") == "var(--paper-white)" for part in marker] == [look.hollow] * len(marker)
    assert look.colour in COLOURS


def test_markers_differ_and_are_of_like_size() -> None:
    for one, other in combinations(MARKERS.values(), 2):
        assert one != other
    for corners in MARKERS.values():
        assert all(1 <= max(map(abs, places)) <= 1.5 for places in zip(*corners, strict=True))


limits = st.tuples(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(limits)
def test_ticks_of_a_linear_axis_are_few_even_and_say_where_they_are(ends: tuple[float, float]) -> None:
    low, high = ends
    if high - low < 1e-9 * max(abs(low), abs(high)):
        return
    ticks = Axis("y", "y").ticks_between(low, high)
    assert 2 <= len(ticks) <= 7
    room = 1e-6 * (high - low) + 1e-12 * max(abs(low), abs(high))
    assert all(low - room <= value <= high + room for value, _ in ticks)
    steps = [later - earlier for (earlier, _), (later, _) in pairwise(ticks)]
    assert max(steps) - min(steps) <= room
    for value, label in ticks:
        assert float(label.replace("−", "-").replace(",", "")) == pytest.approx(value, abs=room + 1e-6 * abs(value))


@given(st.floats(-12, 12), st.floats(0.05, 12))
def test_ticks_of_a_logarithmic_axis_are_within_it_and_say_where_they_are(start: float, decades: float) -> None:
    low, high = 10**start, 10 ** (start + decades)
    ticks = LogAxis("y", "y").ticks_between(low, high)
    assert 2 <= len(ticks) <= 9
    assert all(low * 0.999 <= value <= high * 1.001 for value, _ in ticks)
    assert len({label for _, label in ticks}) == len(ticks)
    if high / low >= 1000:
        assert all(math.isclose(math.log10(value), round(math.log10(value)), abs_tol=1e-9) for value, _ in ticks)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.43, 0.91, ["0.5", "0.6", "0.7", "0.8", "0.9"]),
        (0.8, 0.9, ["0.80", "0.82", "0.84", "0.86", "0.88", "0.90"]),
        (-1, 1.5, ["−1.0", "−0.5", "0.0", "0.5", "1.0", "1.5"]),
        (0, 12, ["0", "2", "4", "6", "8", "10", "12"]),
        (0, 14_000, ["0", "2,500", "5,000", "7,500", "10,000", "12,500"]),
        (0, 0.15, ["0.000", "0.025", "0.050", "0.075", "0.100", "0.125", "0.150"]),
    ],
)
def test_labels_of_a_linear_axis(low: float, high: float, labels: list[str]) -> None:
    assert [label for _, label in Axis("y", "y").ticks_between(low, high)] == labels


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.004, 7, ["0.01", "0.1", "1"]),
        (0.3, 4, ["0.5", "1", "2"]),
        (1e-5, 1e5, ["10⁻⁵", "10⁻³", "0.1", "10", "1,000", "10⁵"]),
        (1.1, 1.4, ["1.10", "1.15", "1.20", "1.25", "1.30", "1.35", "1.40"]),
    ],
)
def test_labels_of_a_logarithmic_axis(low: float, high: float, labels: list[str]) -> None:
    assert [label for _, label in LogAxis("y", "y").ticks_between(low, high)] == labels


def test_equal_values_get_an_axis_around_them() -> None:
    for values in ([0.8, 0.8000000000000002], [0.0], [-5.0, -5.0], [1e12, 1e12]):
        low, high = Axis("y", "y").around(values)
        assert low < min(values)
        assert high > max(values)
        assert len(Axis("y", "y").ticks_between(low, high)) > 1


LOOKS = (*ORDERED, *STYLES.values())


def test_a_file_holds_its_title_caption_panels_and_legend_within_its_size() -> None:
    title, name = '<b>&"]]>\x01', "a name that is rather long for a legend, <i>"
    panels = tuple(
        Panel(
            title,
            UNIT,
            UNIT,
            tuple(Series(f"{name} {n}", look, (Point(0, 0), Point(1, 1))) for n, look in enumerate(LOOKS)),
        )
        for _ in range(5)
    )
    text = figure_file(Figure("n", title, name, "", panels))
    root = ElementTree.fromstring(text)
    assert [root[0].text, root[1].text] == [title.replace("\x01", "\\u0001"), name]
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert (width, root.attrib["viewBox"]) == (3 * WIDTH, f"0 0 {width:.0f} {height:.0f}")
    places = [re.fullmatch(r"translate\((\d+) (\d+)\)", part.attrib["transform"]) for part in root.iterfind(f"{SVG}g")]
    corners = [(int(place[1]), int(place[2])) for place in places if place]
    assert len(corners) == len(set(corners)) == 5 + len(LOOKS)
    assert all(x + WIDTH <= width and y + 256 <= height for x, y in corners[:5])
    assert all(x + 50 < width and y + 14 <= height and y >= corners[4][1] + 256 for x, y in corners[5:])
    assert text == figure_file(Figure("n", title, name, "", panels))


def test_series_without_a_label_are_in_no_legend_and_not_read_aloud() -> None:
    panel = Panel("t", UNIT, UNIT, (Series("", PLAIN, (Point(0, 0),)), Series("a", PLAIN, (Point(1, 1),))))
    assert [label for label, _ in panel.legend()] == ["a"]
    assert panel.description() == "t: x against x: a"
    assert [label for label, _ in Figure("n", "t", "", "", (panel,)).lines()] == ["a"]


# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
VISION = {
    "usual": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
}

# Ottosson (2020), Oklab: distances in it are as people see them.
CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
LAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]

TOLD_APART = 0.08
"""Distance at which two colours side by side are clearly different; blue and its neighbour violet are at 0.15."""


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def seen(colour: str, vision: str) -> np.ndarray:
    light = np.clip(np.asarray(VISION[vision]) @ linear(colour), 0, 1)
    return np.asarray(LAB) @ np.cbrt(np.asarray(CONES) @ light)


def contrast(one: str, other: str) -> float:
    low, high = sorted(float(np.dot([0.2126, 0.7152, 0.0722], linear(colour))) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1])
@pytest.mark.parametrize("vision", VISION)
def test_colours_keep_their_distance(vision: str, scheme: int) -> None:
    for one, other in combinations(PRIVATE, 2):
        colours = [COLOURS[STYLES[name].colour][scheme] for name in (one, other)]
        distance = np.linalg.norm(seen(colours[0], vision) - seen(colours[1], vision))
        assert distance > TOLD_APART, f"{one} and {other}"


@pytest.mark.parametrize("scheme", [0, 1])
def test_contrast_with_the_page(scheme: int) -> None:
    page = COLOURS["paper-white"][scheme]
    for name in PRIVATE:
        assert contrast(COLOURS[STYLES[name].colour][scheme], page) >= 3, name
    assert contrast(COLOURS["ink"][scheme], page) >= 7
    assert contrast(COLOURS["muted"][scheme], page) >= 4.5


def test_mechanisms_differ_without_colour() -> None:
    assert set(PRIVATE) < set(STYLES)
    assert len({STYLES[name].marker for name in PRIVATE}) == len(PRIVATE)
    assert len({(STYLES[name].line, STYLES[name].width) for name in PRIVATE}) == len(PRIVATE)
    assert all(STYLES["smooth"].width > STYLES[name].width for name in PRIVATE if name != "smooth")


def test_no_two_names_share_a_light_colour() -> None:
    # The light colours of a drawing are replaced by names.
    assert len({light for light, _ in COLOURS.values()}) == len(COLOURS)
