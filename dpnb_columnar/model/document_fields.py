"""Readers of single fields of a model's document; the first thing that is wrong is named with its place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpnb_columnar.domain.names import is_printable
from dpnb_columnar.domain.numbers import exact_number
from dpnb_columnar.errors import DataError, shown
from dpnb_columnar.model.parameters import LARGEST_COUNT

PROBABILITY_TOLERANCE = 1e-9
"""How far the sum of a list of probabilities may be from 1."""


LONGEST_TEXT = 1000
"""Characters of a text for people."""


class Fields:
    """Reads the fields of one document.

    Attributes:
        source: Where the document stands (a file), named in every error.
    """

    def __init__(self, source: str) -> None:
        self.source = source

    def wrong(self, place: str, problem: str) -> DataError:
        """The error to raise for a place."""
        return DataError(f"{self.source}: not a valid model: {place}: {problem}")

    def mapping(self, value: object, place: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise self.wrong(place, f"expected an object, found {shown(value)}")
        if not all(isinstance(key, str) for key in value):
            raise self.wrong(place, "expected text keys")
        return value

    def get(self, table: Mapping[str, Any], key: str, place: str) -> Any:
        """An entry of the table that stands at ``place`` (empty for the document itself)."""
        if key not in table:
            raise self.wrong(f"{place}.{key}" if place else key, "missing")
        return table[key]

    def table(self, table: Mapping[str, Any], key: str, place: str = "") -> Mapping[str, Any]:
        return self.mapping(self.get(table, key, place), f"{place}.{key}" if place else key)

    def items(self, table: Mapping[str, Any], key: str, place: str, size: int | None = None) -> list[Any]:
        """An entry that is a list, of a given size if there is one."""
        return self.sized(self.get(table, key, place), f"{place}.{key}", size)

    def sized(self, value: object, place: str, size: int | None) -> list[Any]:
        if not isinstance(value, list) or size not in (None, len(value)):
            raise self.wrong(place, "expected a list" + ("" if size is None else f" of {size}"))
        return value

    def text(self, table: Mapping[str, Any], key: str, place: str) -> str:
        value = self.get(table, key, place)
        if not isinstance(value, str):
            raise self.wrong(f"{place}.{key}", f"expected text, found {shown(value)}")
        if len(value) > LONGEST_TEXT or not is_printable(value):
            raise self.wrong(
                f"{place}.{key}", f"expected one line of at most {LONGEST_TEXT} characters, found {shown(value)}"
            )
        return value

    def optional_text(self, table: Mapping[str, Any], key: str, place: str) -> str | None:
        return None if self.get(table, key, place) is None else self.text(table, key, place)

    def flag(self, table: Mapping[str, Any], key: str, place: str) -> bool:
        value = self.get(table, key, place)
        if not isinstance(value, bool):
            raise self.wrong(f"{place}.{key}", f"expected true or false, found {shown(value)}")
        return value

    def fraction(self, table: Mapping[str, Any], key: str, place: str) -> Fraction | None:
        """An exact number that is not negative, or None."""
        value = self.get(table, key, place)
        if value is None:
            return None
        try:
            number = exact_number(value)
        except ValueError as error:
            raise self.wrong(f"{place}.{key}", str(error)) from None
        if number < 0:
            raise self.wrong(f"{place}.{key}", f"must not be negative, found {shown(value)}")
        return number

    def whole(self, values: list[Any], place: str) -> tuple[int, ...]:
        """Whole numbers that a 64-bit float holds exactly."""
        return tuple(int(value) for value in values if self._checked(value, place, self._is_count))

    def numbers(
        self, values: list[Any], place: str, fits: Callable[[float], bool] = lambda _: True
    ) -> tuple[float, ...]:
        """Finite 64-bit floats that each fit."""
        return tuple(float(value) for value in values if self._checked(value, place, fits))

    def probabilities(self, values: list[Any], place: str) -> tuple[float, ...]:
        """Positive numbers that add up to 1."""
        found = self.numbers(values, place, lambda number: 0 < number <= 1)
        if abs(math.fsum(found) - 1) > PROBABILITY_TOLERANCE:
            raise self.wrong(place, "probabilities do not add up to 1")
        return found

    def _checked(self, value: Any, place: str, fits: Callable[[float], bool]) -> bool:
        """True, or an error: the value is a number (no boolean), a finite 64-bit float, and fits."""
        try:
            if type(value) in (int, float) and math.isfinite(value) and float(value) == value and fits(value):
                return True
        except OverflowError:  # a whole number beyond every float
            pass
        raise self.wrong(place, f"{shown(value)} is not a possible value")

    @staticmethod
    def _is_count(value: float) -> bool:
        return abs(value) <= LARGEST_COUNT and value == int(value)
