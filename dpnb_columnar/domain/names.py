"""Names and texts from files as messages show them: printable, quoted, on one line, never too many of them."""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from pathlib import Path

from dpnb_columnar.errors import UsageError, excerpt
from dpnb_columnar.errors import printable as printable
from dpnb_columnar.errors import printable_line as printable_line

LONGEST_NAME = 256
"""Characters of the name of a column or of an entry."""

LONGEST_ACCOUNT = 200
"""Characters of the name of a data set that a ledger can charge."""

UNPRINTABLE = {"Cc", "Cs", "Zl", "Zp"}
"""Unicode categories: control characters, surrogates, line and paragraph separators."""

LONGEST_SHOWN = 80
"""Characters of a name in a message."""

MOST_NAMED = 20
"""Names that one message lists."""


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
    """Return the name of a data set, checked.

    Raises:
        UsageError: if the name is not 1 to 200 printable characters without blanks around them.
    """
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
    """Escape what cannot be printed, and cut what is longer than any name."""
    return name if is_printable(name) and len(name) <= LONGEST_SHOWN else excerpt(name)


def entry_and_file(dataset: str) -> tuple[str | None, Path | None]:
    """Return the entry's name and the catalogue's file of ``NAME``, ``FILE.toml`` or ``FILE.toml:NAME``."""
    file, separator, name = dataset.partition(".toml:")
    if separator:
        return name, Path(f"{file}.toml")
    return (None, Path(dataset)) if dataset.endswith(".toml") else (dataset, None)
