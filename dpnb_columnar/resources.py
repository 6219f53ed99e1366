"""Finds the packaged ``sql/`` folder and ``datasets.toml``: inside the package (wheel) or beside it (checkout)."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parent


def resource(name: str) -> Path:
    """Path of ``sql`` or ``datasets.toml`` in this installation."""
    inside = PACKAGE / name
    return inside if inside.exists() else PACKAGE.parent / name
