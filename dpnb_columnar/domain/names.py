"""Names and texts from files as messages show them, printable and short; and exact numbers, never as floats."""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import islice
from pathlib import Path

from dpnb_columnar.errors import UsageError, excerpt
from dpnb_columnar.errors import printable as printable
from dpnb_columnar.errors import printable_line as printable_line

LARGEST_EXPONENT = 300
"""Numerator and denominator are at most ten to this power: so every number has a finite, nonzero nearest float, and
arithmetic on numbers from elsewhere stays cheap."""

LONGEST_TEXT = 2000
"""Characters of a number written out; room for every decimal that ``number_text`` makes of a number in range."""

SPELLED_NUMBER = "^ *[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?0*[0-9]?[0-9])? *$"
"""The texts of the data that are numbers, in the syntax that the regular expressions of all engines share: blanks, a
sign, ASCII digits with at most one point, perhaps an exponent below 100 in size, blanks."""

SPELLED = re.compile(SPELLED_NUMBER)
LONGEST_SPELLING = 64
"""Characters of the longest text that is a number, blanks included: no such number is beyond a 64-bit float."""

TRUTHS: Mapping[str, bool] = {
    spelled: word == "true" for word in ("true", "false") for spelled in (word, word.title(), word.upper())
}
"""The texts of the data that are truth values: those that programs write, and read, a column of truth values from."""

NUMBER_WORDS: Mapping[str, float] = {
    **{word: float(truth) for word, truth in TRUTHS.items()},
    **{sign + word: float(sign + word) for word in ("inf", "Inf", "Infinity") for sign in ("", "-")},
}
"""The words that a column which is read as numbers has for numbers: what the same columns hold where they have a type
of their own. Categories do not match a word by its number: 1 is not ``true``."""

LARGEST_MATCHED = 2**53 - 1
"""The largest number that a category may be: beyond, a float could not tell neighbouring whole numbers apart."""


def spelled_number(text: str) -> float | None:
    """Read a text of the data as a number: the nearest 64-bit float, never minus zero."""
    if len(text) > LONGEST_SPELLING or SPELLED.fullmatch(text) is None:
        return None
    return float(text.strip(" ")) + 0.0


def number_of_text(text: str) -> float | None:
    """Read a text of a column of numbers: a number, or one of ``NUMBER_WORDS``; None where it is neither."""
    return NUMBER_WORDS.get(text, spelled_number(text))


def declared_number(value: str) -> float | None:
    """Read a category as the number that it matches by; None for a text, such as ``1E2``, which may be a code."""
    number = None if "e" in value.lower() else spelled_number(value)
    return None if number is None or abs(number) > LARGEST_MATCHED else number


def identity(value: str) -> float | str:
    """Return what a declared value is recognised by: its number, its truth as ``true`` or ``false``, else its text."""
    number = declared_number(value)
    if number is None:
        return value.lower() if value in TRUTHS else value
    return number


def exact_number(value: object) -> Fraction:
    """Parse a number or a text such as ``"0.1"`` or ``"1/3"``; ValueError if it is not finite or beyond 1e300."""
    if isinstance(value, float):
        raise ValueError(f'expected an exact number, found the binary float {value!r}; write it as text, such as "0.1"')
    if isinstance(value, bool) or not isinstance(value, int | Decimal | Fraction | str):
        raise ValueError(f"expected a number, found {excerpt(value)}")
    if isinstance(value, int | Fraction):
        return _in_range(Fraction(value))
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise ValueError(f"expected a number, found {len(value)} characters")
    if isinstance(value, str) and (ratio := re.fullmatch(r"\s*([-+]?\d+)\s*/\s*(\d+)\s*", value, re.ASCII)):
        numerator, denominator = int(ratio[1]), int(ratio[2])
        if denominator == 0:
            raise ValueError(f"expected a number, found {excerpt(value)}")
        return _in_range(Fraction(numerator, denominator))
    return _of_decimal(value)


def _of_decimal(value: Decimal | str) -> Fraction:
    try:
        decimal = Decimal(value)
    except InvalidOperation:
        raise ValueError(f"expected a number, found {excerpt(value)}") from None
    if not decimal.is_finite():
        raise ValueError(f"expected a finite number, found {excerpt(value)}")
    # Checked before the exponent is expanded into that many digits.
    if abs(decimal.adjusted()) > LARGEST_EXPONENT or len(decimal.as_tuple().digits) > LONGEST_TEXT:
        raise ValueError(f"{excerpt(value)} is out of every sensible range")
    return _in_range(Fraction(decimal))


def _in_range(number: Fraction) -> Fraction:
    if max(abs(number.numerator), number.denominator) > 10**LARGEST_EXPONENT:
        raise ValueError(f"a number of more than {LARGEST_EXPONENT} digits is out of every sensible range")
    return number


def number_text(value: Fraction) -> str:
    """Format a number as its shortest exact text: a decimal where it terminates, else ``"numerator/denominator"``."""
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


LONGEST_NAME = 256  # characters of the name of a column or of an entry
LONGEST_ACCOUNT = 200  # characters of the name of a data set that a ledger can charge
UNPRINTABLE = {"Cc", "Cs", "Zl", "Zp"}
"""Unicode categories: control characters, surrogates, line and paragraph separators."""

LONGEST_SHOWN = 80  # characters of a name in a message
MOST_NAMED = 20  # names that one message lists


def is_printable(text: str) -> bool:
    """Return whether a text stays on one line and is valid Unicode: others could forge lines of output."""
    return text.isprintable() or not any(unicodedata.category(letter) in UNPRINTABLE for letter in text)


def quoted(key: str) -> str:
    """Format a key as TOML writes it; escape what cannot be printed, and cut what is longer than any name."""
    written = key if re.fullmatch(r"[\w-]+", key) else json.dumps(key, ensure_ascii=not key.isprintable())
    return written if len(written) <= LONGEST_SHOWN else f"{written[:LONGEST_SHOWN]}..."


def listed(values: Sequence[str]) -> str:
    """Format the first few of a list of values, in quotes."""
    first = ", ".join(excerpt(value) for value in values[:5])
    return f"{first} and {len(values) - 5} more" if len(values) > 5 else first


def named(names: Collection[str]) -> str:
    """Format the first names of a file, without quotes and on one line."""
    first = ", ".join(_name(name) for name in islice(names, MOST_NAMED))
    return f"{first} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else first


def check_dataset(name: str) -> str:
    """Return the name of a data set, checked."""
    if not 1 <= len(name) <= LONGEST_ACCOUNT or not name.isprintable() or name != name.strip():
        raise UsageError(
            f"data set {excerpt(name)}: give it a name of 1 to {LONGEST_ACCOUNT} printable characters, without blanks "
            "around it"
        )
    return name


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Suggest the known name closest to a mistyped one, whatever their case."""
    by_case: dict[str, str] = {}
    for candidate in known:
        by_case.setdefault(candidate.casefold(), candidate)
    close = difflib.get_close_matches(name.casefold(), by_case, n=1)
    return f"did you mean {_name(by_case[close[0]])}?" if close else otherwise


def _name(name: str) -> str:
    return name if is_printable(name) and len(name) <= LONGEST_SHOWN else excerpt(name)


def entry_and_file(dataset: str) -> tuple[str | None, Path | None]:
    """Return the entry's name and the catalogue's file of ``NAME``, ``FILE.toml`` or ``FILE.toml:NAME``."""
    file, separator, name = dataset.partition(".toml:")
    if separator:
        return name, Path(f"{file}.toml")
    return (None, Path(dataset)) if dataset.endswith(".toml") else (dataset, None)
