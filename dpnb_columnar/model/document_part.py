"""Parts of a model's document, of JSON's types, read strictly: nothing is converted but exact numbers from their text.

Own code, since the libraries that were tried made it longer and less exact. The same reading by msgspec's types took
309 lines of code, this module and the readers take 247: most checks are of numbers against the domain that the
document declares, which no library's types state. msgspec reads a whole number that no 64-bit float holds as another
number, and quotes texts of the document in its errors at any length and with their line breaks; cattrs converts texts
to numbers unless told otherwise for every type. Their imports take 8 ms and 90 ms of every ``predict`` and ``show``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpnb_columnar.core.measurement import LARGEST_COUNT
from dpnb_columnar.domain.names import exact_number, is_printable, quoted
from dpnb_columnar.errors import excerpt

LONGEST_TEXT = 1000
"""Characters of a text for people."""

PROBABILITY_TOLERANCE = 1e-9
"""How far the sum of a list of probabilities may be from 1."""

LARGEST_FLOAT = sys.float_info.max


class InvalidPartError(ValueError):
    """A part of a document is missing, of another type, or impossible; the text begins with its place."""


@dataclass(frozen=True, slots=True)
class Part:
    """A value within a document.

    Every reader below raises ``InvalidPartError`` if the value is not what it reads.

    Attributes:
        value: The value, of JSON's types.
        place: Dotted path from the document to the value, such as ``guarantee.composition.0.epsilon``; empty for the
            document.
    """

    value: Any
    place: str = ""

    def invalid(self, problem: str) -> InvalidPartError:
        """Make the error to raise about this part."""
        return InvalidPartError(f"{self.place or 'document'}: {problem}")

    def mapping(self) -> Mapping[str, Any]:
        """Read an object."""
        if not isinstance(self.value, Mapping):
            raise self.invalid(f"expected an object, found {excerpt(self.value)}")
        if not all(isinstance(key, str) for key in self.value):
            raise self.invalid("expected text keys")
        return self.value

    def entries(self) -> dict[str, Part]:
        """Read an object and its entries."""
        return {key: self.entry(key) for key in self.mapping()}

    def entry(self, key: str) -> Part:
        """Read an entry of an object; null where there is none."""
        return Part(self.mapping().get(key), f"{self.place}.{quoted(key)}".removeprefix("."))

    def __getitem__(self, key: str) -> Part:
        """Read an entry that an object must have."""
        entry = self.entry(key)
        if key not in self.value:
            raise entry.invalid("missing")
        return entry

    def values(self, size: int | None = None) -> list[Any]:
        """Read a list, of a given size if there is one."""
        if not isinstance(self.value, list) or size not in (None, len(self.value)):
            raise self.invalid("expected a list" + ("" if size is None else f" of {size}"))
        return self.value

    def items(self, size: int | None = None) -> list[Part]:
        """Read a list, of a given size if there is one, and its items."""
        return [Part(value, f"{self.place}.{index}") for index, value in enumerate(self.values(size))]

    def text(self) -> str:
        """Read one line of text."""
        if not isinstance(self.value, str):
            raise self.invalid(f"expected text, found {excerpt(self.value)}")
        if len(self.value) > LONGEST_TEXT or not is_printable(self.value):
            raise self.invalid(f"expected one line of at most {LONGEST_TEXT} characters, found {excerpt(self.value)}")
        return self.value

    def text_or_none(self) -> str | None:
        """Read one line of text, or null."""
        return None if self.value is None else self.text()

    def flag(self) -> bool:
        """Read true or false."""
        if not isinstance(self.value, bool):
            raise self.invalid(f"expected true or false, found {excerpt(self.value)}")
        return self.value

    def amount_or_none(self) -> Fraction | None:
        """Read an exact number that is not negative, or null."""
        if self.value is None:
            return None
        try:
            number = exact_number(self.value)
        except ValueError as error:
            raise self.invalid(str(error)) from None
        if number < 0:
            raise self.invalid(f"must not be negative, found {excerpt(self.value)}")
        return number

    def numbers(
        self, size: int | None = None, least: float = -LARGEST_FLOAT, most: float = LARGEST_FLOAT
    ) -> tuple[float, ...]:
        """Read a list of numbers between bounds that 64-bit floats hold exactly."""
        for value in self.values(size):
            if type(value) not in (int, float) or not least <= value <= most or float(value) != value:
                raise self.invalid(f"{excerpt(value)} is not a possible value")
        return tuple(map(float, self.value))

    def number(self, largest: float, least: float | None = None) -> float:
        """Read a number of at most this absolute size, or between bounds."""
        return Part([self.value], self.place).numbers(1, -largest if least is None else least, largest)[0]

    def counts(self, size: int | None = None) -> tuple[int, ...]:
        """Read a list of whole numbers that both file formats hold exactly."""
        for value in self.numbers(size, -LARGEST_COUNT, LARGEST_COUNT):
            if value != int(value):
                raise self.invalid(f"{excerpt(value)} is not a possible value")
        return tuple(map(int, self.value))

    def count(self) -> int:
        """Read a whole number that both file formats hold exactly."""
        return Part([self.value], self.place).counts()[0]

    def probabilities(self, size: int) -> tuple[float, ...]:
        """Read a list of positive numbers that add up to 1."""
        numbers = self.numbers(size, math.ulp(0.0), 1)
        if abs(math.fsum(numbers) - 1) > PROBABILITY_TOLERANCE:
            raise self.invalid("probabilities do not add up to 1")
        return numbers
