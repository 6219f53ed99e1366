"""What every mechanism releases of an attribute, and by which rules: for the release, and for who reads a model."""

from __future__ import annotations

from dataclasses import dataclass

CALIBRATION_RANGES = 24

SPREAD_FIELDS = {
    "variance": "released_variance",
    "deviation": "released_deviation",
    "mean of squares": "released_square",
}
"""Field of ``Normal`` that holds the answers to a query for the spread."""


@dataclass(frozen=True, slots=True)
class MechanismRules:
    """What a mechanism asks about numeric attributes, and how it makes probabilities of counts.

    Attributes:
        moments: Queries for the mean and the spread within every class; none where it releases no normal distributions.
        placing: Queries for the mean and the variance of all classes together, which place bins.
        binned: Whether it counts bins.
        samples: Whether it uses samples of public size, so that where rows skip a missing value it asks how many
            do not.
        smooth: Whether moments have noise for smooth sensitivity, of the family that the model names.
        truncated: Whether counts below zero are truncated and one row is added to each, and nothing else.
        private: Whether its models carry a guarantee.
        attributes: Whether it releases attributes.
    """

    moments: tuple[str, ...] = ()
    placing: tuple[str, ...] = ()
    binned: bool = False
    samples: bool = True
    smooth: bool = False
    truncated: bool = False
    private: bool = True
    attributes: bool = True


RULES = {
    "smooth": MechanismRules(("mean", "variance"), smooth=True),
    "paper": MechanismRules(("mean", "variance"), smooth=True, truncated=True),
    "trimmed-mean": MechanismRules(("mean", "mean of squares"), smooth=True),
    "global": MechanismRules(("mean", "deviation")),
    "global-variance": MechanismRules(("mean", "variance")),
    "adaptive-histogram": MechanismRules(placing=("mean", "variance"), binned=True, smooth=True),
    "histogram": MechanismRules(binned=True, samples=False),
    "majority": MechanismRules(attributes=False),
    "none": MechanismRules(("mean", "variance"), samples=False, truncated=True, private=False),
}
"""By the mechanism's name."""

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
