"""What the audit attacks, and the losses that it finds: units and rows with weights are counted once for all tests."""

from __future__ import annotations

from functools import cache

from dpnb_columnar.extensions.audit import exhaustive
from dpnb_columnar.extensions.audit.attacks import Effort
from dpnb_columnar.extensions.audit.neighbours import NeighbourGroup
from dpnb_columnar.extensions.audit.outcomes import Configuration
from dpnb_columnar.extensions.audit.recording import remembered_searches
from dpnb_columnar.extensions.audit.unit_universe import AnyUniverse, UnitUniverse, build_units
from dpnb_columnar.extensions.audit.universe import YEARS

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


def compared(configuration: Configuration, universe: AnyUniverse, *groups: NeighbourGroup) -> exhaustive.Compared:
    """Compare all pairs of neighbours of some groups, as the audit does."""
    with remembered_searches():
        return exhaustive.compare(configuration, universe, groups, exhaustive.claim_of(configuration, universe))
