"""Which splits made the rows of a file, as its metadata and a ledger tell: public facts, computed from no row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypedDict

PART_KEY = b"dpnb_columnar.part"
"""Key, in the metadata of a file, of the splits that made its rows: a JSON list, the latest last."""

TRAIN, VALIDATION, TEST = "train", "validation", "test"
PARTS = (TRAIN, VALIDATION, TEST)


class SplitPart(TypedDict):
    """A part of a split.

    Attributes:
        split: Digest of all that divides rows: seed, share, columns, and the splits before.
        part: One of ``PARTS``.
        by: Columns that name the units which were kept together; none for rows by themselves.
    """

    split: str
    part: str
    by: list[str]


def read_parts(text: str | bytes) -> list[SplitPart]:
    """Read a list of parts that somebody may have written; empty where it is something else."""
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        return []
    valid = isinstance(parts, list) and all(
        isinstance(each, dict)
        and {*each} == {*SplitPart.__annotations__}
        and isinstance(each["split"], str)
        and each["part"] in PARTS
        and isinstance(each["by"], list)
        and all(isinstance(name, str) for name in each["by"])
        for each in parts
    )
    return parts if valid else []


def parts_in(metadata: Mapping[bytes, bytes]) -> list[SplitPart]:
    """Read the parts that a file's metadata name."""
    return read_parts(metadata.get(PART_KEY, b"[]"))


def kept_apart(first: Sequence[SplitPart], second: Sequence[SplitPart]) -> tuple[str, ...] | None:
    """Return by which units a split kept two files apart; empty for rows by themselves, None if none did.

    A split puts a row, or a unit, into the same part of every file, by its own values alone (``rows.holdout``). So what
    is in one part of it is in no file of another part.
    """
    for part in first:
        for other in second:
            if part["split"] == other["split"] and part["part"] != other["part"]:
                return tuple(part["by"])
    return None
