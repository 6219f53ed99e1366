"""Merging the detailed codes of an attribute into groups, by a public map in a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from dpnb_columnar.domain.attributes import Attribute, Categorical, Group, Missing, Numeric
from dpnb_columnar.domain.fields import LARGEST_DECLARATION
from dpnb_columnar.domain.groups import expanded, in_order
from dpnb_columnar.domain.numbers import text
from dpnb_columnar.errors import ConfigurationError, MissingInputError, shown

HEADER = ("code", "group")


def read_map(path: Path) -> dict[str, str]:
    """The group of each code, in the order of the file.

    Args:
        path: CSV file with the columns ``code`` (a value, or a range such as ``10-99``) and ``group``; others are not
            looked at.

    Raises:
        MissingInputError: It cannot be read.
        ConfigurationError: It is no such file, or gives a code two groups.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _groups(path, csv.DictReader(file, strict=True))
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}; check the path") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: not a CSV file in UTF-8 ({error}); save it as one") from None


def _groups(path: Path, rows: csv.DictReader[str]) -> dict[str, str]:
    if not set(HEADER) <= set(rows.fieldnames or ()):
        raise ConfigurationError(f"{path}: its first line needs the columns code and group, such as: code,group")
    found: dict[str, str] = {}
    for row in rows:
        place, code, group = f"{path}, line {rows.line_num}", row["code"], row["group"]
        if not code or not group:
            raise ConfigurationError(f"{place}: expected a code and its group; fill both columns in")
        try:
            members = expanded(code, LARGEST_DECLARATION)
        except ValueError as error:
            raise ConfigurationError(f"{place}: {error}") from None
        for member in members:
            if found.setdefault(member, group) != group:
                raise ConfigurationError(
                    f"{place}: {shown(member)} has the group {shown(found[member])} already; a code has one group"
                )
        if len(found) > LARGEST_DECLARATION:
            raise ConfigurationError(f"{place}: more than {LARGEST_DECLARATION} codes, ranges written out; map fewer")
    if not found:
        raise ConfigurationError(f"{path}: maps no code; add a line for each, such as: 10-99,Managers")
    return found


def merged(attribute: Attribute, groups: Mapping[str, str], rest: str | None) -> Categorical:
    """The attribute with its codes merged: the groups in the order of the map, then the categories that are left.

    Args:
        attribute: A categorical attribute; or a numeric one of whole numbers, each of which is then a code.
        groups: The group of each code.
        rest: Group of the codes that the map does not name; None if they stay in the categories they have.

    Raises:
        ValueError: A numeric attribute has too many codes, or such as are no whole numbers.
    """
    present = _codes(attribute)
    found = {**groups, **{code: rest or own for code, own in present.items() if code not in groups}}
    members: dict[str, list[str]] = {}
    for code, category in found.items():
        members.setdefault(category, []).append(code)
    merging = [(name, in_order(codes)) for name, codes in members.items() if codes != [name]]
    missing = attribute.missing if isinstance(attribute, Categorical) else Missing.DROP
    missing_values = tuple(str(value) if isinstance(value, str) else text(value) for value in attribute.missing_values)
    return Categorical(
        attribute.name, tuple(members), missing, missing_values, tuple(Group(name, codes) for name, codes in merging)
    )


def _codes(attribute: Attribute) -> dict[str, str]:
    """Every code the attribute has now, and its category."""
    if isinstance(attribute, Categorical):
        return {member: attribute.values[code] for member, code in attribute.members.items()}
    if not _is_whole(attribute):
        raise ValueError(
            f"only categories and at most {LARGEST_DECLARATION} whole numbers can be merged; declare it with step 1"
        )
    missing = {int(value) for value in attribute.missing_values if value.denominator == 1}
    numbers = range(int(attribute.lower), int(attribute.upper) + 1)
    return {str(number): str(number) for number in numbers if number not in missing}


def _is_whole(attribute: Numeric) -> bool:
    return attribute.step == 1 and attribute.lower.denominator == 1 and attribute.cells < LARGEST_DECLARATION
