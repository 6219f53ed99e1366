"""Packaged resources: the ``sql/`` folder, with its named sections, and ``datasets.toml``.

They are inside the package in a wheel, and beside it in a checkout.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def resource(name: str) -> Path:
    """Return the path of ``sql`` or ``datasets.toml`` in this installation."""
    inside = PACKAGE / name
    return inside if inside.exists() else PACKAGE.parent / name


@lru_cache
def sections(name: str) -> Mapping[str, str]:
    """Return the sections of ``sql/NAME.sql`` by name, without the comments at their head."""
    text = (resource("sql") / f"{name}.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {
        part: re.sub(r"^--.*\n", "", body, flags=re.MULTILINE).strip()
        for part, body in zip(parts[::2], parts[1::2], strict=True)
    }


def literal_pattern(file: Path) -> str:
    """Return a glob pattern that matches this file only."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(file))
