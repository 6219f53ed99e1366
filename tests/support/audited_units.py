"""Units and weighted rows that the audit attacks, counted once for all tests that plant no fault into counting."""

from __future__ import annotations

from functools import cache

from dpnb_columnar.audit.attacks import Effort
from dpnb_columnar.audit.unit_universe import UnitUniverse, build_units
from dpnb_columnar.audit.universe import YEARS

REDUCED = Effort(
    rows=1, duplicates=(), scenarios=1, domains=(YEARS,), scouted=0, pairs=1, releases=40, processes=1, members=2
)
"""Few releases of few rows."""


@cache
def counted_units(rows: int | None, size: int = REDUCED.members, *, weighted: bool = False) -> UnitUniverse:
    """Kinds of units, or of rows that have a weight, in which nothing is at fault; see ``build_units``."""
    universe, findings = build_units(rows, size, weighted=weighted)
    assert not findings
    return universe
