"""Reads the fields of a declaration; every fault is noted with its place, none stops the reading."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeVar

from dpnb_columnar.domain.names import LONGEST_NAME, is_printable, listed, quoted
from dpnb_columnar.domain.numbers import exact_number
from dpnb_columnar.errors import Fault, shown

LARGEST_DECLARATION = 10_000
"""Most attributes, and most values of one attribute: bounds what a file from elsewhere can ask for."""

LONGEST_VALUE = 8192
"""Characters of a category or a class, which may be named after a condition."""

MOST_FAULTS = 20
"""Faults that are reported together."""

Choice = TypeVar("Choice", bound=StrEnum)


class Fields:
    """Readers of single fields, and the faults found so far."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def fault(self, place: str, problem: str) -> None:
        self.faults.append(Fault(place, problem))

    def table(self, document: object, place: str, keys: Sequence[str]) -> Mapping[str, Any] | None:
        """The document as a mapping without unknown keys."""
        if not isinstance(document, Mapping):
            self.fault(place, f"expected a table, found {shown(document)}")
            return None
        for key in document:
            if key not in keys:
                close = difflib.get_close_matches(str(key), keys, n=1)
                hint = f"did you mean {close[0]}?" if close else f"known keys: {', '.join(keys)}"
                self.fault(f"{place}.{quoted(str(key))}", f"unknown key; {hint}")
        return document

    def number(self, table: Mapping[str, Any], key: str, place: str) -> Fraction | None:
        if key not in table:
            self.fault(f"{place}.{key}", "missing: bounds are declared, never taken from the rows")
            return None
        try:
            return exact_number(table[key])
        except ValueError as error:
            self.fault(f"{place}.{key}", str(error))
            return None

    def numbers(self, table: Mapping[str, Any], key: str, place: str) -> tuple[Fraction, ...]:
        values = table.get(key, [])
        if not isinstance(values, list) or len(values) > LARGEST_DECLARATION:
            self.fault(f"{place}.{key}", f"expected a list of at most {LARGEST_DECLARATION} numbers")
            return ()
        found = []
        for value in values:
            try:
                found.append(exact_number(value))
            except ValueError as error:
                self.fault(f"{place}.{key}", str(error))
        return tuple(found)

    def texts(self, values: object, place: str, what: str, least: int = 0) -> tuple[str, ...]:
        """Distinct texts; whole numbers and booleans are taken by their text."""
        if not isinstance(values, list) or len(values) < least:
            self.fault(place, f"expected {what}, found {shown(values)}")
            return ()
        if len(values) > LARGEST_DECLARATION:
            self.fault(place, f"{len(values)} values; at most {LARGEST_DECLARATION} are accepted")
            return ()
        found: list[str] = []
        for value in values:
            if isinstance(value, bool):
                found.append("true" if value else "false")
            elif isinstance(value, str) or (isinstance(value, int) and abs(value) < 2**64):
                found.append(str(value))
            else:
                self.fault(place, f"expected text or a whole number, found {shown(value)}; quote it if it is a name")
        for value in found:
            self.printable(value, place)
        repeated = [value for value, times in Counter(found).items() if times > 1]
        if repeated:
            self.fault(place, f"{listed(repeated)} appear more than once")
        return tuple(found)

    def name(self, value: str, place: str) -> None:
        """Note a name of a column or a data set that cannot be printed, or is longer than any is."""
        self.printable(value, place)
        if len(value) > LONGEST_NAME:
            self.fault(place, f"a name of {len(value)} characters; at most {LONGEST_NAME} are accepted")

    def printable(self, value: str, place: str) -> None:
        """Note control characters and lone surrogates: they could forge lines of output, or not be written at all."""
        if len(value) > LONGEST_VALUE:
            self.fault(place, f"a text of {len(value)} characters; at most {LONGEST_VALUE} are accepted")
        if not is_printable(value):
            self.fault(place, f"{shown(value)} holds a control character or is not valid Unicode")

    def choice(self, table: Mapping[str, Any], key: str, kind: type[Choice], default: Choice, place: str) -> Choice:
        value = table.get(key, default.value)
        for member in kind:
            if member.value == value:
                return member
        known = ", ".join(member.value for member in kind)
        self.fault(f"{place}.{key}", f"expected one of {known}, found {shown(value)}")
        return default


def reported(faults: Sequence[Fault]) -> list[Fault]:
    """The first faults, and how many more there are: a file from elsewhere may have a fault at every key."""
    more = len(faults) - MOST_FAULTS
    return [*faults[:MOST_FAULTS], *([Fault("...", f"and {more} more")] if more > 0 else [])]
