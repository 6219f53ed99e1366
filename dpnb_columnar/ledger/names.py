"""Names of data sets and of runs, as they stand in a ledger."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime

from dpnb_columnar.errors import UsageError, shown

LONGEST_NAME = 200
"""Characters."""


def check_dataset(name: str) -> str:
    """The name of a data set, if a ledger can hold it.

    Raises:
        UsageError: Not 1 to 200 printable characters, or a blank at an end.
    """
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise UsageError(
            f"data set {shown(name)}: give it a name of 1 to {LONGEST_NAME} printable characters, no blanks around it"
        )
    return name


def check_run(run: str) -> str:
    """A run id, if a ledger can hold it; those of Airflow fit.

    Raises:
        UsageError: Not 1 to 200 letters, digits and ``._:+@=-``.
    """
    if not re.fullmatch(rf"[A-Za-z0-9._:+@=-]{{1,{LONGEST_NAME}}}", run):
        raise UsageError(
            f"run id {shown(run)}: give 1 to {LONGEST_NAME} letters, digits and . _ : + @ = -, such as night-2026-11-21"
        )
    return run


def fresh_run() -> str:
    """A run id that no other run has: the time, and chance."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}-{secrets.token_hex(6)}"
