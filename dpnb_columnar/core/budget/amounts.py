"""Privacy budgets: exact rationals from the typed text to the last share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from operator import index

from dpnb_columnar.domain.names import exact_number, number_text
from dpnb_columnar.errors import UsageError, excerpt, option

SMALLEST_EPSILON = Fraction(1, 10**4)
LARGEST_EPSILON = Fraction(1000)
SMALLEST_DELTA = Fraction(1, 10**100)
LARGEST_DELTA = Fraction(1, 20)
LARGEST_DIVISION_RATIO = 10**9

DELTA_RULES = {"1/n": 1, "1/n^2": 2}
"""Rules for delta: the power of one over the declared number of rows."""

DEFAULT_EPSILON = "1"
"""Epsilon of a release where neither the user nor a catalogue entry says."""

FEWEST_ROWS = 100
MOST_ROWS = 10**12
"""How many rows may be declared."""


class Neighbours(StrEnum):
    """The neighbouring relation that a model's epsilon refers to."""

    ADD_REMOVE = "add-remove"
    """One row more or one row less."""
    REPLACE_ONE = "replace-one"
    """One row changed, its class included: one row less and one more."""

    @property
    def rows(self) -> int:
        """Number of rows, added or removed, between two neighbours."""
        return 1 if self is Neighbours.ADD_REMOVE else 2


@dataclass(frozen=True, slots=True)
class Division:
    """The division of the budget among a numeric attribute, a categorical attribute and the class counts."""

    numeric: Fraction
    categorical: Fraction
    counts: Fraction

    def __str__(self) -> str:
        return ":".join(number_text(part) for part in (self.numeric, self.categorical, self.counts))


class SharesRule(StrEnum):
    """How the part of the budget that all attributes have together is divided among them."""

    BY_SIZE = "by-size"
    """In proportion to the cube root of the number of their cells."""
    EQUAL = "equal"
    """The same for every attribute of a kind, whatever its size."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The privacy budget of one release.

    Attributes:
        epsilon: Total privacy cost, exact.
        neighbours: The relation that epsilon and delta refer to.
        division: Division among the queries: by typed numbers, the same for every attribute of a kind; or a rule, with
            the mechanism's own numbers; None for the mechanism's own rule as well.
        delta: Total delta, exact; 0 for pure differential privacy.
        unit_rows: The most rows of a unit that count, where the relation is of whole units; 1 where it is of rows.
    """

    epsilon: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    division: Division | SharesRule | None = None
    delta: Fraction = Fraction(0)
    unit_rows: int = 1

    @property
    def rows(self) -> int:
        """Number of rows, added or removed, between two neighbours at most (docs/privacy.md, Lemma 2.10)."""
        return self.neighbours.rows * self.unit_rows

    @property
    def row_epsilon(self) -> Fraction:
        """The part of epsilon that one row of a unit has."""
        return self.epsilon / self.unit_rows


def parse_epsilon(value: object) -> Fraction:
    """Parse epsilon exactly: ``0.1`` means one tenth, also as a Python float."""
    try:
        epsilon = _exact(value)
    except ValueError as error:
        raise UsageError(f"epsilon: {error}; give a number such as 0.1 or 1") from None
    if epsilon <= 0:
        raise UsageError(f"epsilon: must be above 0, found {excerpt(value)}; give a number such as 0.1 or 1")
    if epsilon < SMALLEST_EPSILON:
        raise UsageError(f"epsilon: {excerpt(value)} leaves nothing but noise; the smallest accepted is 0.0001")
    if epsilon > LARGEST_EPSILON:
        raise UsageError(f"epsilon: {excerpt(value)} gives no protection; the largest accepted is {LARGEST_EPSILON}")
    return epsilon


@dataclass(frozen=True, slots=True)
class DeclaredRowCount:
    """A declared number of rows, public, and the option or the entry that declares it."""

    rows: int
    origin: str


def is_rule(delta: object) -> bool:
    """Return whether delta is a rule for the declared number of rows, a key of ``DELTA_RULES``."""
    return isinstance(delta, str) and delta.strip() in DELTA_RULES


def parse_rows(value: object, name: str = "declared rows") -> int:
    """Parse the declared number of rows of a data set, a public fact that a codebook states."""
    try:
        rows = 0 if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{name}: expected a whole number, found {excerpt(value)}") from None
    if not FEWEST_ROWS <= rows <= MOST_ROWS:
        raise UsageError(f"{name}: expected {FEWEST_ROWS} to {MOST_ROWS}, found {excerpt(value)}")
    return rows


def parse_delta(value: object, rows: int | None = None) -> Fraction:
    """Parse delta exactly, or compute it by a rule from the declared rows, which are never counted; 0 for none."""
    if is_rule(value):
        rule = str(value).strip()
        if rows is None:
            raise UsageError(
                f"delta: {rule} is a rule for the number of rows, which is never counted; give the public one, such as "
                f"the codebook's, with {option('declared-rows')}, or a number such as 1e-6"
            )
        return Fraction(1, rows ** DELTA_RULES[rule])
    try:
        delta = _exact(value)
    except ValueError as error:
        raise UsageError(f"delta: {error}; give a number such as 1e-6 or 1/50000, or a rule: 1/n or 1/n^2") from None
    if delta < 0:
        raise UsageError(f"delta: must not be negative, found {excerpt(value)}; give a number such as 1e-6")
    if 0 < delta < SMALLEST_DELTA:
        raise UsageError(f"delta: {excerpt(value)} is too small to be divided; the smallest accepted is 1e-100")
    if delta > LARGEST_DELTA:
        raise UsageError(
            f"delta: {excerpt(value)} lets too many rows go unprotected; the largest accepted is "
            f"{number_text(LARGEST_DELTA)}, and less than one over the number of rows is usual"
        )
    return delta


def _exact(value: object) -> Fraction:
    """Parse a number exactly; a float by the shortest text that gives it."""
    return exact_number(float.__repr__(value) if isinstance(value, float) else value)


def parse_shares(value: str) -> Division | SharesRule:
    """Parse how a budget is divided: the name of a rule, or a division (``parse_division``)."""
    return SharesRule(value.strip()) if value.strip() in list(SharesRule) else parse_division(value)


def parse_division(value: str) -> Division:
    """Parse a division of the budget written as ``numeric:categorical:counts``, such as ``2:1:1``."""
    try:
        parts = [exact_number(part) for part in value.split(":")]
    except ValueError:
        parts = []
    if len(parts) != 3 or min(parts) <= 0:
        raise UsageError(
            f"shares: expected {', '.join(SharesRule)}, or three positive numbers numeric:categorical:counts (2:1:1), "
            f"found {excerpt(value)}"
        )
    if max(parts) > LARGEST_DIVISION_RATIO * min(parts):
        raise UsageError(f"shares: none may be more than 1e9 times another, found {excerpt(value)}")
    return Division(*parts)
