"""Mechanisms can be told apart: by colour under every kind of colour vision, and without colour."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from support.fake_results import PRIVATE

from dpnb_columnar.report.figures import COLOURS, STYLES

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
