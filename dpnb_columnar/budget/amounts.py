"""Privacy budgets as the user typed them: exact rationals, from text to the last share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from dpnb_columnar.domain.numbers import exact, text
from dpnb_columnar.errors import UsageError, shown

SMALLEST_EPSILON = Fraction(1, 10**4)
LARGEST_EPSILON = Fraction(1000)
SMALLEST_DELTA = Fraction(1, 10**100)
LARGEST_DELTA = Fraction(1, 20)
LARGEST_WEIGHT_RATIO = 10**9


class Neighbours(StrEnum):
    """The neighbouring relation that a model's epsilon refers to."""

    ADD_REMOVE = "add-remove"
    """One row more or one row less."""
    REPLACE_ONE = "replace-one"
    """One row changed, its class included: one row less and one more."""

    @property
    def rows(self) -> int:
        """How many rows, added or removed, lie between two neighbours."""
        return 1 if self is Neighbours.ADD_REMOVE else 2


@dataclass(frozen=True, slots=True)
class Weights:
    """How the budget is divided among a numeric attribute, a categorical attribute and the class counts."""

    numeric: Fraction
    categorical: Fraction
    counts: Fraction

    def __str__(self) -> str:
        return ":".join(text(weight) for weight in (self.numeric, self.categorical, self.counts))


@dataclass(frozen=True, slots=True)
class Budget:
    """What one release may spend.

    Attributes:
        epsilon: Total privacy loss, exact.
        neighbours: The relation that epsilon and delta refer to.
        weights: Division among the queries; None for the mechanism's own.
        delta: Total delta, exact; 0 for pure differential privacy.
    """

    epsilon: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    weights: Weights | None = None
    delta: Fraction = Fraction(0)


def parse_epsilon(value: object) -> Fraction:
    """The exact epsilon that was typed; ``0.1`` means one tenth, also where Python has made a float of it.

    Raises:
        UsageError: Not a finite number from 0.0001 to 1000.
    """
    try:
        epsilon = _typed(value)
    except ValueError as error:
        raise UsageError(f"epsilon: {error}; give a number such as 0.1 or 1") from None
    if epsilon <= 0:
        raise UsageError(f"epsilon: must be above 0, found {shown(value)}; give a number such as 0.1 or 1")
    if epsilon < SMALLEST_EPSILON:
        raise UsageError(f"epsilon: {shown(value)} leaves nothing but noise; the smallest accepted is 0.0001")
    if epsilon > LARGEST_EPSILON:
        raise UsageError(f"epsilon: {shown(value)} protects nobody; the largest accepted is {LARGEST_EPSILON}")
    return epsilon


def parse_delta(value: object) -> Fraction:
    """The exact delta that was typed; 0 for pure differential privacy.

    Raises:
        UsageError: Neither 0 nor a number from 1e-100 to 1/20.
    """
    try:
        delta = _typed(value)
    except ValueError as error:
        raise UsageError(f"delta: {error}; give a number such as 1e-6 or 1/50000") from None
    if delta < 0:
        raise UsageError(f"delta: must not be negative, found {shown(value)}; give a number such as 1e-6")
    if 0 < delta < SMALLEST_DELTA:
        raise UsageError(f"delta: {shown(value)} is too small to be divided; the smallest accepted is 1e-100")
    if delta > LARGEST_DELTA:
        raise UsageError(
            f"delta: {shown(value)} lets too many rows go unprotected; the largest accepted is {text(LARGEST_DELTA)}, "
            "and less than one over the number of rows is usual"
        )
    return delta


def _typed(value: object) -> Fraction:
    """The exact number that was typed: of a float, the shortest text that gives it."""
    return exact(float.__repr__(value) if isinstance(value, float) else value)


def parse_weights(value: str) -> Weights:
    """Weights typed as ``numeric:categorical:counts``, such as ``2:1:1``.

    Raises:
        UsageError: Not three positive numbers, or one is more than 1e9 times another.
    """
    parts = value.split(":")
    try:
        weights = [exact(part) for part in parts]
    except ValueError:
        weights = []
    if len(weights) != 3 or min(weights) <= 0:
        raise UsageError(
            f"weights: expected three positive numbers numeric:categorical:counts (2:1:1), found {shown(value)}"
        )
    if max(weights) > LARGEST_WEIGHT_RATIO * min(weights):
        raise UsageError(f"weights: no weight may be more than 1e9 times another, found {shown(value)}")
    return Weights(*weights)
