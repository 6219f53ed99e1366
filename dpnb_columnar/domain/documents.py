"""TOML, JSON and CSV written by others: numbers read as exact decimals, size and nesting bounded, errors short."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from dpnb_columnar.errors import excerpt

LARGEST_DOCUMENT = 16 * 2**20
"""Characters, or bytes, of one document."""

CHAIN = re.compile(
    r"(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')(?:[ \t]*\.[ \t]*(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')){32}", re.ASCII
)
"""A TOML key of more than 32 parts. The parser's time and memory grow with the square of their number."""

OF_PYTHON = "set_int_max_str_digits"
"""What Python advises its programmers where a whole number has thousands of digits."""

LONGEST_PROBLEM = 200
"""Characters of a parser's error message that are passed on."""


def parse_toml(text: str | bytes) -> dict[str, Any]:
    """Parse TOML, a text or the bytes of a file, with its fractions as decimals.

    Raises:
        ValueError: If the text is not TOML, or larger or more deeply nested than any declaration.
    """
    if isinstance(text, bytes):
        try:
            return parse_toml(text.decode("utf-8"))
        except UnicodeDecodeError as error:
            line = text.count(b"\n", 0, error.start) + 1
            raise ValueError(f"line {line} is not text in UTF-8; save the file as such") from None
    _check_text(text)
    if any(CHAIN.match(line.lstrip(" \t[")) for line in text.splitlines() if line.count(".") >= 32):
        raise ValueError("a key of more than 32 parts")
    with _short_errors():
        return tomllib.loads(text, parse_float=Decimal)


def parse_json(text: str) -> Any:
    """Parse JSON with its fractions as decimals; a repeated key and NaN are refused, as TOML refuses the former.

    Raises:
        ValueError: If the text is not JSON, or larger or more deeply nested than any declaration.
    """
    _check_text(text)
    with _short_errors():
        return json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=distinct_keys)


def distinct_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Build the mapping of a JSON object; with a repeated key two readers could see two different documents."""
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise ValueError(f"the key {excerpt(key)} is repeated")
        mapping[key] = value
    return mapping


def _check_text(text: str) -> None:
    if text.startswith("\ufeff"):
        raise ValueError("it begins with a byte order mark; save it as UTF-8 without one")
    if len(text) > LARGEST_DOCUMENT:
        raise ValueError(f"larger than {LARGEST_DOCUMENT >> 20} MiB")


@contextmanager
def _short_errors() -> Iterator[None]:
    """Raise whatever a parser raises as a ValueError of one short text."""
    try:
        yield
    except InvalidOperation:  # an exponent beyond what even a Decimal holds
        raise ValueError("a number in it is out of every range") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ValueError as error:
        problem = "a number in it has too many digits" if OF_PYTHON in str(error) else f"{error!s:.{LONGEST_PROBLEM}}"
        raise ValueError(problem) from None


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number")
