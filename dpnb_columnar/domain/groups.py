"""Groups of categories: their members, and the merging of an attribute's codes into groups by a public map.

A member is a value of the data, or a range such as ``10-99`` or ``001-099``. A range stands for every whole number in
it, both ends included, with leading zeros if its ends have them; and for its own text, since a column of age bands may
hold just that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dpnb_columnar.domain.attributes import Attribute, Categorical, Group, missing_texts
from dpnb_columnar.domain.documents import csv_pairs
from dpnb_columnar.domain.field_reader import LARGEST_TABLE
from dpnb_columnar.domain.numbers import identity
from dpnb_columnar.errors import ConfigurationError, excerpt

RANGE = re.compile(r"(\d{1,15})-(\d{1,15})", re.ASCII)


def expand_member(member: str, most: int) -> list[str]:
    """Expand a declared member to the values of the data that it stands for.

    Args:
        member: A value, or a range.
        most: Most values accepted.

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


def read_merge_map(path: Path) -> dict[str, str]:
    """Read a public map that merges codes into groups.

    Args:
        path: CSV file with the columns ``code`` (a value, or a range such as ``10-99``) and ``group``; other columns
            are ignored.

    Returns:
        The group of each code, in the order of the file.

    Raises:
        MissingInputError: If the file cannot be read.
        ConfigurationError: If the file is no such map, or gives a code two groups.
    """
    groups: dict[str, str] = {}
    for place, code, group in csv_pairs(path, "code", "group"):
        try:
            members = expand_member(code, LARGEST_TABLE)
        except ValueError as error:
            raise ConfigurationError(f"{place}: {error}") from None
        for member in members:
            if groups.setdefault(member, group) != group:
                raise ConfigurationError(
                    f"{place}: {excerpt(member)} has the group {excerpt(groups[member])} already; a code has one group"
                )
        if len(groups) > LARGEST_TABLE:
            raise ConfigurationError(f"{place}: more than {LARGEST_TABLE} codes, ranges written out; map fewer")
    if not groups:
        raise ConfigurationError(f"{path}: maps no code; add a line for each, such as: 10-99,Managers")
    return groups


def merge_codes(attribute: Attribute, groups: Mapping[str, str], rest: str | None) -> Categorical:
    """Merge the codes of an attribute: the groups in the order of the map, then the categories that remain.

    Args:
        attribute: A categorical attribute, or a numeric one of whole numbers, each of which is then a code.
        groups: The group of each code.
        rest: Group of the codes that the map does not name; None if they keep their categories.

    Raises:
        ValueError: If a numeric attribute has too many codes, or codes that are no whole numbers.
    """
    present = _categories_by_code(attribute)
    mapped = {identity(code) for code in groups}
    merged = {**groups, **{code: rest or own for code, own in present.items() if identity(code) not in mapped}}
    members: dict[str, list[str]] = {}
    for code, category in merged.items():
        members.setdefault(category, []).append(code)
    merged_groups = tuple(Group(name, in_order(codes)) for name, codes in members.items() if codes != [name])
    texts = missing_texts(attribute)
    return Categorical(attribute.name, tuple(members), attribute.missing, texts, merged_groups, attribute.imputed)


def _categories_by_code(attribute: Attribute) -> dict[str, str]:
    """Category of every code of an attribute."""
    if isinstance(attribute, Categorical):
        return {member: attribute.values[code] for member, code in attribute.members.items()}
    is_whole = attribute.step == 1 and attribute.lower.denominator == 1 and attribute.cells < LARGEST_TABLE
    if not is_whole:
        raise ValueError(
            f"only categories and at most {LARGEST_TABLE} whole numbers can be merged; declare it with step 1"
        )
    missing = {int(value) for value in attribute.missing_values if value.denominator == 1}
    numbers = range(int(attribute.lower), int(attribute.upper) + 1)
    return {str(number): str(number) for number in numbers if number not in missing}
