"""Groups of categories: their members, written out and compressed.

A member is a value of the data, or a range such as ``10-99`` or ``001-099``. A range stands for every whole number in
it, both ends included, with leading zeros if its ends have them; and for its own text, since a column of age bands may
hold just that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

RANGE = re.compile(r"(\d{1,15})-(\d{1,15})", re.ASCII)


def expand_member(member: str, most: int) -> list[str]:
    """Expand a declared member to the values of the data that it stands for.

    Raises:
        ValueError: If a range runs downwards, has ends of uneven width, or stands for more values.
    """
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
