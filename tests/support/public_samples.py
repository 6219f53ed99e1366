"""Public files to learn attribute weights from, of rows beside the confidential ones."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from support.people import Document, repeated_document, repeated_people, write_people

COPIES = [f"copy {number}" for number in range(3)]
REPEATED = repeated_document()
"""Hours of work tell the class, four times over; age and sex tell nothing."""


def public_rows(path: Path, rows: pl.DataFrame | None = None, document: Document | None = REPEATED) -> Path:
    return write_people(path, repeated_people(3000, seed=2) if rows is None else rows, document)


def by(file: Path, mechanism: str = "histogram") -> tuple[object, ...]:
    return ("--mechanism", mechanism, "--attribute-weights", file)
