"""TOML from elsewhere, read exactly: numbers as decimals, and nothing that takes more than its size to read."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal, InvalidOperation
from typing import Any

LARGEST_TOML = 16 * 2**20
"""Characters of one file."""

CHAIN = re.compile(
    r"(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')(?:[ \t]*\.[ \t]*(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')){32}", re.ASCII
)
"""A key of more than 32 parts. The parser's time and memory grow with the square of their number."""

LONGEST_PROBLEM = 200
"""Characters of what the parser says."""


def parsed_toml(text: str) -> dict[str, Any]:
    """The document, its fractions as decimals.

    Raises:
        ValueError: Not TOML, or larger or more deeply nested than any declaration; its text is short.
    """
    if len(text) > LARGEST_TOML:
        raise ValueError(f"larger than {LARGEST_TOML >> 20} MiB")
    if any(CHAIN.match(line.lstrip(" \t[")) for line in text.splitlines() if line.count(".") >= 32):
        raise ValueError("a key of more than 32 parts")
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except InvalidOperation:  # an exponent beyond what even a Decimal holds
        raise ValueError("a number in it is out of every range") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ValueError as error:
        raise ValueError(f"{error!s:.{LONGEST_PROBLEM}}") from None
