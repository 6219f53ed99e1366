"""Finds the packaged ``sql/`` folder and ``datasets.toml``: inside the package (wheel) or beside it (checkout)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import Any

PACKAGE = Path(__file__).parents[1]


def resource(name: str) -> Path:
    """Path of ``sql`` or ``datasets.toml`` in this installation."""
    inside = PACKAGE / name
    return inside if inside.exists() else PACKAGE.parent / name


# MERGED FROM dpnb_columnar/runtime/resources.py: Named SQL from the ``sql/`` folder: slots take sections and quoted
# identifiers, constants are bound parameters.


class Section(Template):
    """One named piece of SQL with ``@slots``."""

    delimiter = "@"


@lru_cache
def sections(name: str) -> Mapping[str, Section]:
    """The sections of ``sql/NAME.sql`` by their name; comments at the head of a section are left out."""
    text = (resource("sql") / f"{name}.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {
        part: Section(re.sub(r"^--.*\n", "", body, flags=re.MULTILINE).strip())
        for part, body in zip(parts[::2], parts[1::2], strict=True)
    }


def identifier(name: str) -> str:
    """A quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal_pattern(file: Path) -> str:
    """A glob pattern that matches this file only."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(file))


class Parameters:
    """Constants of one query, each bound under a name of its own."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def bind(self, value: Any) -> str:
        """The placeholder that stands for this value in the query."""
        name = f"constant_{len(self.values)}"
        self.values[name] = value
        return f"${name}"
