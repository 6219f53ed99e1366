"""A small declared data set, and Parquet files of it, for tests that come through the front door."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dpnb_columnar.domain import Domain, read_declaration, read_domain
from dpnb_columnar.domain.declaration import domain_metadata

Document = Mapping[str, Any]

PEOPLE: Document = {
    "label": {"column": "income", "classes": ["low", "high"]},
    "attributes": {
        "age": {"lower": 0, "upper": 100, "step": 1},
        "hours": {"lower": 0, "upper": 98, "step": 1},
        "sex": {"values": ["f", "m"]},
    },
}

FEW_VALUES: Document = {
    "label": PEOPLE["label"],
    "attributes": {
        "age": {"lower": 0, "upper": 4, "step": 1, "missing": "row"},
        "hours": {"lower": 0, "upper": 3, "step": 1, "missing": "category"},
        "sex": {"values": ["f", "m"]},
    },
}
"""So few values that every row can be listed, with the three ways to miss one."""

TYPES = pl.Schema({"age": pl.Int64, "hours": pl.Int64, "sex": pl.String, "income": pl.String})

DECLARATION = """
[people]
files = ["people*.parquet"]

[people.label]
column = "income"
classes = ["low", "high"]

[people.attributes]
age = { lower = 0, upper = 100, step = 1 }
hours = { lower = 0, upper = 98, step = 1 }
sex = { values = ["f", "m"] }
"""
"""``PEOPLE`` as an entry of a catalogue."""


def people_domain(document: Document = PEOPLE) -> Domain:
    return read_domain("people", document, "test")


def people(rows: int, seed: int = 1) -> pl.DataFrame:
    """Rows that fit ``PEOPLE``; in the class ``high`` more hours are worked."""
    generator = np.random.default_rng(seed)
    high = generator.random(rows) < 0.3
    return pl.DataFrame(
        {
            "age": generator.integers(15, 90, rows),
            "hours": np.where(high, generator.integers(35, 60, rows), generator.integers(5, 45, rows)),
            "sex": np.where(generator.random(rows) < 0.5, "f", "m"),
            "income": np.where(high, "high", "low"),
        },
        schema=TYPES,
    )


def write_people(path: Path, frame: pl.DataFrame | None = None, document: Document | None = PEOPLE) -> Path:
    """Write rows (1,000 by default) with a domain in the file's metadata, or without one."""
    metadata = None if document is None else domain_metadata(read_declaration("people", document, "test"))
    (people(1000) if frame is None else frame).write_parquet(path, metadata=metadata)
    return path


def spoil_rows(path: Path) -> Path:
    """Overwrite every page: who reads a row, fails."""
    content = path.read_bytes()
    footer = content[-8 - int.from_bytes(content[-8:-4], "little") :]
    path.write_bytes(content[:4] + b"\xff" * (len(content) - 4 - len(footer)) + footer)
    return path


def repeated_document(copies: int = 3) -> Document:
    """The declaration of people whose hours of work stand in further columns, as recodes do."""
    names = {f"copy {number}": PEOPLE["attributes"]["hours"] for number in range(copies)}
    return {**PEOPLE, "attributes": PEOPLE["attributes"] | names}


def repeated_people(rows: int, seed: int = 1, copies: int = 3) -> pl.DataFrame:
    """Rows of ``repeated_document``: hours tell the class, again and again; age and sex tell nothing."""
    return people(rows, seed).with_columns(pl.col("hours").alias(f"copy {number}") for number in range(copies))
