"""Texts of others within Markdown, and its tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dpnb_columnar.domain.names import printable

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&$])")
"""Characters that may mean something in Markdown, or in the HTML and the LaTeX that stand in it."""


def escaped(text: str) -> str:
    """Write a text so that Markdown prints it as it is, in one line."""
    return SPECIAL.sub(r"\\\1", " ".join(printable(text).split()))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table, its cells escaped."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        f"| {' | '.join(str(cell) if place == 1 else escaped(str(cell)) for cell in line)} |"
        for place, line in enumerate(lines)
    )
