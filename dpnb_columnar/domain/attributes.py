"""Declared attributes: grids, categories, and what a missing value means (docs/privacy.md, section 1).

A member of a group of categories is a value of the data, or a range such as ``10-99`` or ``001-099``. A range stands
for every whole number in it, both ends included, with leading zeros if its ends have them; and for its own text, since
a column of age bands may hold just that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from dpnb_columnar.domain.names import number_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

RANGE = re.compile(r"(\d{1,15})-(\d{1,15})", re.ASCII)


def expand_member(member: str, most: int) -> list[str]:
    """Expand a member; ValueError if its range runs downwards, is uneven, or stands for more values than ``most``."""
    ends = RANGE.fullmatch(member)
    if ends is None:
        return [member]
    low, high = ends.groups()
    padded = any(len(end) > 1 and end.startswith("0") for end in (low, high))
    if padded and len(low) != len(high):
        raise ValueError(f"range {member!r}: with leading zeros, both ends need the same number of digits")
    size = int(high) - int(low) + 1
    if size < 1:
        raise ValueError(f"range {member!r}: runs downwards; write the smaller number first")
    if size > most:
        raise ValueError(f"range {member!r}: more than {most} values")
    width = len(low) if padded else 0
    return [*(str(number).zfill(width) for number in range(int(low), int(high) + 1)), member]


def compress_members(members: Sequence[str]) -> list[str]:
    """Leave out the members that a range among them stands for: the shortest declaration of a group."""
    covered: set[str] = set()
    for member in members:
        covered.update(value for value in expand_member(member, len(members)) if value != member)
    return [member for member in members if member not in covered]


def in_order(members: Iterable[str]) -> tuple[str, ...]:
    """Sort members in canonical order: whole numbers by size, then ranges and other texts."""
    return tuple(sorted(set(members), key=_rank))


def _rank(member: str) -> tuple[bool, int, str]:
    number = re.fullmatch(r"-?\d{1,15}", member, re.ASCII)
    return (number is None, int(member) if number else 0, member)


MAXIMUM_CELLS = 2**32  # widest grid: codes up to here keep differences of codes exact in a 64-bit float
DEFAULT_CELLS = 2**16  # cells of a numeric attribute declared without a step, and of every transformed scale


class Transform(StrEnum):
    """A public, increasing map of a numeric attribute, applied before moments are taken."""

    IDENTITY = "identity"
    LOG1P = "log1p"


class Missing(StrEnum):
    """Declared treatment of a row without a value of an attribute.

    Where none is declared, the row leaves this attribute out, and the sample of a numeric attribute has the public size
    of the class, so that this is for attributes that few rows lack (docs/privacy.md, section 1).
    """

    SKIP = "skip"
    """The row leaves this attribute out, and per class the number of rows that have it is released: the public size of
    a numeric attribute's sample."""
    CATEGORY = "category"
    """To be missing is a category of its own."""
    ROW = "row"
    """The whole row is left out."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The evenly spaced scale of released moments: code ``t`` in ``0..cells`` stands for ``origin + t * step``."""

    origin: float
    step: float
    cells: int

    @property
    def end(self) -> float:
        """Value of the last code."""
        return self.origin + self.step * self.cells


@dataclass(frozen=True)
class Numeric:
    """A numeric attribute on a declared grid.

    A value v becomes the code ``floor((clamp(v, lower, upper) - lower) / step + 1/2)``, an integer in ``0..cells``.
    With ``transform = log1p`` the code is then carried to an even scale of ``log(1 + value)``; the map goes from code
    to code, so every engine counts the same integers and no engine computes a logarithm.
    """

    name: str
    lower: Fraction
    upper: Fraction
    step: Fraction  # ``(upper - lower) / step`` is a whole number of at most 2**32
    transform: Transform = Transform.IDENTITY
    missing_values: tuple[Fraction, ...] = ()
    missing: Missing | None = None

    @cached_property
    def cells(self) -> int:
        """Largest code."""
        return int((self.upper - self.lower) / self.step)

    @cached_property
    def scale(self) -> Scale:
        """The scale on which moments are released: the grid itself, or an even grid of its logarithm."""
        if self.transform is Transform.LOG1P:
            origin, end = math.log1p(self.lower), math.log1p(self.upper)
            return Scale(origin, (end - origin) / DEFAULT_CELLS, DEFAULT_CELLS)
        return Scale(float(self.lower), float(self.step), self.cells)


def default_step(lower: Fraction, upper: Fraction) -> Fraction:
    """Compute the step of a numeric attribute that declares none."""
    return (upper - lower) / DEFAULT_CELLS


def scale_codes(attribute: Numeric, codes: Integers) -> Integers:
    """Map grid codes, of any shape, to int64 codes of the attribute's scale; larger ones get the last code."""
    import numpy as np

    scale = attribute.scale
    if attribute.transform is Transform.IDENTITY:
        return np.clip(codes, 0, scale.cells)
    values = np.log1p(float(attribute.lower) + np.minimum(codes, attribute.cells) * float(attribute.step))
    scaled = np.floor((values - scale.origin) / scale.step + 0.5)
    return np.clip(scaled, 0, scale.cells).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Group:
    """A category that several values of the data are merged into by a public map."""

    name: str  # one of the attribute's ``values``
    members: tuple[str, ...]  # values of the data as text, each once, in the order of ``in_order``; ranges written out


@dataclass(frozen=True)
class Categorical:
    """A categorical attribute: the codebook's list of values, or of groups of them.

    A category's position is its code. One that is a number matches the data by value (``names.declared_number``), any
    other by its text; booleans are ``true`` and ``false``.
    """

    name: str
    values: tuple[str, ...]
    missing: Missing | None = None  # of a row with a value in no category, too; as a category its code is the last
    missing_values: tuple[str, ...] = ()
    groups: tuple[Group, ...] = ()  # categories of other values than their own name, in the order of ``values``

    @cached_property
    def members(self) -> Mapping[str, int]:
        """Category code of every value that may occur in the data and is not missing, by the value's text."""
        grouped = {group.name: group.members for group in self.groups}
        return {member: code for code, value in enumerate(self.values) for member in grouped.get(value, (value,))}

    @property
    def size(self) -> int:
        """Number of categories, the one for missing values included."""
        return len(self.values) + (self.missing is Missing.CATEGORY)


Attribute = Numeric | Categorical


def is_complete(attribute: Attribute) -> bool:
    """Tell whether every row that counts is in a cell of the attribute's table, by its declaration."""
    is_category = isinstance(attribute, Categorical) and attribute.missing is Missing.CATEGORY
    return is_category or attribute.missing is Missing.ROW


def missing_texts(attribute: Attribute) -> tuple[str, ...]:
    """Write the values of an attribute that mean "missing" as text."""
    if isinstance(attribute, Numeric):
        return tuple(number_text(value) for value in attribute.missing_values)
    return attribute.missing_values
