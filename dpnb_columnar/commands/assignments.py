"""Options of the form ``COLUMN=SOMETHING``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpnb_columnar.errors import UsageError


def assigned(option: str, texts: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """Column and what it is given, of each occurrence of an option.

    Raises:
        UsageError: One is not of that form, or a column is given two things.
    """
    seen: set[str] = set()
    for text in texts or ():
        column, equals, value = text.partition("=")
        if not column or not equals:
            raise UsageError(f"--{option} {text}: expected COLUMN=..., such as --{option} AGE=...")
        if column in seen:
            raise UsageError(f"--{option} {text}: {column} is given twice; leave one out")
        seen.add(column)
        yield column, value


def listed(text: str) -> list[str]:
    """The parts of a text between its commas, without space around them; none of an empty text."""
    return [part.strip() for part in text.split(",")] if text.strip() else []


def bounds_of(column: str, text: str) -> tuple[str, str]:
    """Lower and upper bound, from ``LOWER:UPPER``.

    Raises:
        UsageError: It is not of that form.
    """
    lower, colon, upper = text.partition(":")
    if not colon:
        raise UsageError(f"--bounds {column}={text}: expected COLUMN=LOWER:UPPER, such as --bounds AGE=0:90")
    return lower, upper
