"""What tests of several verbs share."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from dpnb_columnar.core.budget import Approximate
from support.ledger_cases import new_ledger


@pytest.fixture
def ledger(folder: Path) -> Path:
    """A ledger that admits epsilon 2 for the people."""
    return new_ledger(folder / "people.ledger", Approximate(Fraction(2), Fraction(0)), "people")
