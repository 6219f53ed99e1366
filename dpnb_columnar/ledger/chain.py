"""The chain of digests, and the canonical texts that it is made of."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from dpnb_columnar.ledger.records import Entry

ORIGIN = "0" * 64
"""Stands for the digest before the first entry."""

COLUMNS = Entry._fields


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no blanks, ASCII.

    Raises:
        ValueError, TypeError: It is not JSON.
    """
    return _ENCODER.encode(value)


def sha256(text: str) -> str:
    """SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def link(previous: str, entry: Entry) -> str:
    """The digest of an entry: of the digest before it, 64 characters, and of all its other fields."""
    fields = entry._asdict()
    del fields["digest"]
    return sha256(previous + canonical(fields))


def linked(previous: str, entry: Entry) -> Entry:
    """The entry with its digest."""
    return entry._replace(digest=link(previous, entry))
