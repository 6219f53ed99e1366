"""Ledgers that most tests here begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.ledger_cases import full_ledger, new_ledger

from dpnb_columnar.ledger import Ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a ledger of ten entries."""
    return full_ledger(tmp_path / "x.ledger")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger of one account, opened."""
    with Ledger(new_ledger(tmp_path / "x.ledger")) as opened:
        yield opened
