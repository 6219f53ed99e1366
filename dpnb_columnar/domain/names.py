"""Names and texts that come from files, in messages: printable, quoted, on one line, and never too many of them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Sequence
from itertools import islice

from dpnb_columnar.errors import shown

LONGEST_NAME = 256
"""Characters of the name of a column or a data set."""

UNPRINTABLE = {"Cc", "Cs", "Zl", "Zp"}
"""Unicode categories: control characters, surrogates, line and paragraph separators."""

LONGEST_SHOWN = 80
"""Characters of a name in a message."""

MOST_NAMED = 20
"""Names that one message lists."""


def quoted(key: str) -> str:
    """A key as TOML writes it, what cannot be printed escaped, and cut where it is longer than any name."""
    written = key if re.fullmatch(r"[\w-]+", key) else json.dumps(key, ensure_ascii=not key.isprintable())
    return written if len(written) <= LONGEST_SHOWN else f"{written[:LONGEST_SHOWN]}..."


def is_printable(text: str) -> bool:
    """Whether a text stays on one line, and can be written at all."""
    return text.isprintable() or not any(unicodedata.category(letter) in UNPRINTABLE for letter in text)


def named(names: Collection[str]) -> str:
    """Names from a file as a message lists them: without quotes, on one line, and not all where there are many."""
    first = ", ".join(_name(name) for name in islice(names, MOST_NAMED))
    return f"{first} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else first


def _name(name: str) -> str:
    """A name; what cannot be printed escaped, what is longer than any name cut."""
    return name if is_printable(name) and len(name) <= LONGEST_SHOWN else shown(name)


def listed(values: Sequence[str]) -> str:
    """The first few of a list of values, quoted."""
    first = ", ".join(shown(value) for value in values[:5])
    return f"{first} and {len(values) - 5} more" if len(values) > 5 else first
