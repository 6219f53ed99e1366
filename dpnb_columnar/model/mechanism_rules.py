"""Names and bounds of what a model holds: ways to weight attributes."""

from __future__ import annotations

CALIBRATION_RANGES = 24

# Ways to weight attributes (``releases.attribute_weights`` says what each does).

TEMPERED = "tempered"
CALIBRATED = "calibrated"
LEARNED = "learned"

PUBLIC = "public"
"""Name, in a model, of the way to weight attributes by a public file."""

FEWEST_TEMPERED = 8
"""Fewer attributes are taken for independent."""

POWER = -0.25

LARGEST_LOG_RATIO = 3.0
"""In nats: twenty to one is the most that a normal distribution of two classes, weighted, says of one value."""

ROUND_WEIGHTS = (-0.5, 2.0)
ROUND_LOG_ODDS = 5.0
"""Least and largest weight after a round; largest change of the log-odds."""


def tempered_weight(attributes: int) -> float:
    """Choose the one weight of all attributes from their number."""
    return attributes**POWER if attributes >= FEWEST_TEMPERED else 1.0
