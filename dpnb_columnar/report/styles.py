"""Styles of mechanisms: one colour, marker and line in every figure, distinct without colour too."""

from __future__ import annotations

from dataclasses import dataclass

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
    """The look of a mechanism, of its variant where the noise needs a delta."""
    own = STYLES.get(mechanism, OTHER)
    if noise not in NOISE_MARKERS:
        return own
    marker, line = NOISE_MARKERS[noise]
    return Style(own.colour, marker, line, 1.4, hollow=True)
