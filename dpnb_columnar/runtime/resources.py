"""Packaged resources: the ``sql/`` folder, with its named sections, and ``datasets.toml``.

They are inside the package in a wheel, and beside it in a checkout. A section of SQL has slots (``@slot``) for quoted
identifiers and for other sections; constants are bound parameters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Any

PACKAGE = Path(__file__).parents[1]


def resource(name: str) -> Path:
    """Return the path of ``sql`` or ``datasets.toml`` in this installation."""
    inside = PACKAGE / name
    return inside if inside.exists() else PACKAGE.parent / name


class Section(Template):
    """One named piece of SQL with ``@slots``."""

    delimiter = "@"


@lru_cache
def sections(name: str) -> Mapping[str, Section]:
    """Return the sections of ``sql/NAME.sql`` by name, without the comments at their head."""
    text = (resource("sql") / f"{name}.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {
        part: Section(re.sub(r"^--.*\n", "", body, flags=re.MULTILINE).strip())
        for part, body in zip(parts[::2], parts[1::2], strict=True)
    }


def identifier(name: str) -> str:
    """Quote a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal_pattern(file: Path) -> str:
    """Return a glob pattern that matches this file only."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(file))


class Parameters:
    """Bound parameters of one query: its constants, each under a name of its own."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def bind(self, value: Any) -> str:
        """Bind a constant; return the placeholder that stands for it in the query."""
        name = f"constant_{len(self.values)}"
        self.values[name] = value
        return f"${name}"
