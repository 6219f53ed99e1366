"""Privacy budgets as the user typed them: exact rationals, from text to the last share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from dpnb_columnar.domain.numbers import exact, text
from dpnb_columnar.errors import UsageError, shown

SMALLEST_EPSILON = Fraction(1, 10**4)
LARGEST_EPSILON = Fraction(1000)


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
        neighbours: The relation that epsilon refers to.
        weights: Division among the queries; None for the mechanism's own.
    """

    epsilon: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    weights: Weights | None = None


def parse_epsilon(value: object) -> Fraction:
    """The exact epsilon that was typed; ``0.1`` means one tenth, also where Python has made a float of it.

    Raises:
        UsageError: Not a finite number from 0.0001 to 1000.
    """
    try:
        # The shortest text that gives this float is what was typed.
        epsilon = exact(float.__repr__(value) if isinstance(value, float) else value)
    except ValueError as error:
        raise UsageError(f"epsilon: {error}; give a number such as 0.1 or 1") from None
    if epsilon <= 0:
        raise UsageError(f"epsilon: must be above 0, found {shown(value)}; give a number such as 0.1 or 1")
    if epsilon < SMALLEST_EPSILON:
        raise UsageError(f"epsilon: {shown(value)} leaves nothing but noise; the smallest accepted is 0.0001")
    if epsilon > LARGEST_EPSILON:
        raise UsageError(f"epsilon: {shown(value)} protects nobody; the largest accepted is {LARGEST_EPSILON}")
    return epsilon


def parse_weights(value: str) -> Weights:
    """Weights typed as ``numeric:categorical:counts``, such as ``2:1:1``.

    Raises:
        UsageError: Not three positive numbers.
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
    return Weights(*weights)
