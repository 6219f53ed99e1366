"""Exact numbers in declarations: what the curator typed, never its nearest binary float."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction

LARGEST_EXPONENT = 400
"""Decimal exponents beyond this are refused before they are expanded into a whole number of that many digits."""


def exact(value: object) -> Fraction:
    """The exact value of a declared number: an int, a Decimal, a Fraction, or text such as ``"0.1"`` or ``"1/3"``.

    Raises:
        ValueError: Not a number, not finite, or with an exponent beyond 400.
    """
    if isinstance(value, bool) or not isinstance(value, int | Decimal | Fraction | str):
        raise ValueError(f"expected a number, found {value!r}")
    if isinstance(value, int | Fraction):
        return Fraction(value)
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,40}\s*/\s*\d{1,40}\s*", value, re.ASCII):
        numerator, denominator = value.split("/")
        if int(denominator) == 0:
            raise ValueError(f"expected a number, found {value!r}")
        return Fraction(int(numerator), int(denominator))
    try:
        decimal = Decimal(value)
    except InvalidOperation:
        raise ValueError(f"expected a number, found {value!r}") from None
    if not decimal.is_finite():
        raise ValueError(f"expected a finite number, found {value}")
    if abs(decimal.adjusted()) > LARGEST_EXPONENT or len(decimal.as_tuple().digits) > LARGEST_EXPONENT:
        raise ValueError(f"{value} is out of every sensible range")
    return Fraction(decimal)


def text(value: Fraction) -> str:
    """Shortest exact text of a number: a decimal where it terminates, else ``"numerator/denominator"``."""
    denominator = value.denominator
    twos, fives = (_multiplicity(denominator, prime) for prime in (2, 5))
    if 2**twos * 5**fives != denominator:
        return f"{value.numerator}/{denominator}"
    digits = max(twos, fives)
    scaled = abs(value.numerator) * 10**digits // denominator
    whole, rest = divmod(scaled, 10**digits)
    sign = "-" if value < 0 else ""
    return f"{sign}{whole}.{rest:0{digits}d}" if digits else f"{sign}{whole}"


def _multiplicity(number: int, prime: int) -> int:
    count = 0
    while number % prime == 0:
        number //= prime
        count += 1
    return count
