"""Databases of whole units, or of rows that have a weight: of a tiny domain, counted by the real engine.

A database is a histogram over kinds of units, as one of rows is over kinds of rows, so pairs of neighbours and their
comparison are the same. Without a unit each kind is one row. Rows stand in two files, dealt out one by one, in turn.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, combinations_with_replacement
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpnb_columnar.core.budget import Neighbours
from dpnb_columnar.core.queries.query import Query
from dpnb_columnar.core.queries.statistics import CellQuery, Statistics, assemble
from dpnb_columnar.counting.inputs import FrameInput, LocalFiles
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.extensions.audit.neighbours import AdversarialPair
from dpnb_columnar.extensions.audit.outcomes import Finding
from dpnb_columnar.extensions.audit.universe import Database, Universe, frame_of

if TYPE_CHECKING:
    import polars as pl

UNIT, WEIGHT = "unit", "weight"
"""Columns that name the unit of a row, and its weight."""

Member = tuple[str | None, float | None, str | None, float | None]
"""A raw row, and its weight."""

MEMBERS: tuple[Member, ...] = (
    ("a", 0.0, "p", None),
    ("a", 4.0, "p", 100.0),
    ("b", 4.0, None, 5.0),
    (None, 4.0, "p", 3.0),
)
"""Rows of units: of one cell and of others, of both classes, with a value missing, and one that does not count."""

LIGHT: Member = ("a", 4.0, "p", 0.0)
"""A row that differs from another in its weight alone, where rows have weights."""

CAP, LACKING = 3, 1
"""Most that a row weighs, and the weight of a row without one."""

MOST_FINDINGS = 10
"""Faults of the choice that are reported."""

UnitRows = tuple[Member, ...]


def homes(rows: int | None, *, weighted: bool) -> Domain:
    """Return the domain of the audited rows, with a weight or not; at most so many of a unit count, if it has one."""
    unit = {} if rows is None else {"unit": {"column": UNIT, "rows": rows}}
    weight = {"weight": {"column": WEIGHT, "cap": CAP, "missing": LACKING}} if weighted else {}
    return read_domain(
        "homes",
        {
            "label": {"column": "label", "classes": ["a", "b"]},
            **unit,
            **weight,
            "attributes": {
                "number": {"lower": 0, "upper": 4, "step": 4, "missing": "skip"},
                "category": {"values": ["p"], "missing": "category"},
            },
        },
        "audit",
    )


@dataclass(frozen=True, eq=False)
class UnitUniverse:
    """Kinds of units, or of rows that have a weight.

    Attributes:
        domain: Their domain, which counts by unit, or by row.
        rows: The rows of one unit of each kind; a single row where nothing is counted by unit.
        together: Statistics of databases that were counted before.
        period: No answers recur.
    """

    domain: Domain
    rows: tuple[UnitRows, ...]
    together: dict[Database, Statistics] = field(default_factory=dict)
    period: int | None = None

    def counted(self, database: Database) -> AuditedUnits:
        """Return a database as rows that a release counts."""
        return AuditedUnits(self, database)

    def database(self, *units: tuple[int, UnitRows]) -> Database:
        """Make a database of a number of each unit."""
        numbers = [0] * len(self.rows)
        for number, unit in units:
            numbers[self.rows.index(unit)] += number
        return tuple(numbers)

    def units(self, database: Database) -> list[UnitRows]:
        """List the units of a database."""
        return [unit for number, unit in zip(database, self.rows, strict=True) for _ in range(number)]

    def description(self, database: Database) -> str:
        """Describe a database for a finding."""
        return " + ".join(map(_described, self.units(database))) or "no units"


def _described(unit: UnitRows) -> str:
    return f"a unit of {list(unit)}"


AnyUniverse = Universe | UnitUniverse
"""What databases are made of: rows, or units."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AuditedUnits:
    """A database of units as rows that a release counts: the real engine makes every pass, the first over two files."""

    universe: UnitUniverse
    database: Database
    repeatable = True

    def check(self, domain: Domain) -> AuditedUnits:
        """Check nothing: the units are those of the universe."""
        return self

    def answer(self, query: Query[Any]) -> Any:
        """Ask the rows; count their cells again only for a database that was not counted before."""
        if not isinstance(query, CellQuery):
            return FrameInput(_frame(self.universe, self.database)).check(query.domain).answer(query)
        if self.database not in self.universe.together:
            self.universe.together[self.database] = count_in_two_files(
                _frame(self.universe, self.database), self.universe.domain
            )
        return self.universe.together[self.database]

    def count(self) -> Statistics:
        """Count every cell of the universe's domain."""
        statistics: Statistics = self.answer(CellQuery(self.universe.domain))
        return statistics


@lru_cache(maxsize=256)
def _frame(universe: UnitUniverse, database: Database) -> pl.DataFrame:
    """Write down the rows of all units of a database, which is released thousands of times."""
    import polars as pl

    units = universe.units(database)
    names = [name for name, unit in enumerate(units) for _ in unit]
    members = [member for unit in units for member in unit]
    weights = pl.Series(WEIGHT, [weight for *_, weight in members], dtype=pl.Float64)
    rows = frame_of([(label, number, category) for label, number, category, _ in members])
    return rows.with_columns(pl.Series(UNIT, names, dtype=pl.Int64), weights)


def count_in_two_files(rows: pl.DataFrame, domain: Domain) -> Statistics:
    """Count rows that are dealt out to two files one by one, so that units stand in both."""
    import polars as pl

    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{half}.parquet" for half in range(2)]
        for half, file in enumerate(files):
            # Of which none is a copy of the other.
            rows[half::2].with_columns(file=pl.lit(str(file))).write_parquet(file)
        return LocalFiles(files).check(domain).answer(CellQuery(domain))


def build_units(rows: int | None, size: int, *, weighted: bool = False) -> tuple[UnitUniverse, list[Finding]]:
    """Make every unit of few rows, and count each alone and pairs of them together.

    Args:
        rows: The most rows of a unit that count; None for rows without units.
    """
    members = (*MEMBERS, LIGHT) if weighted else MEMBERS
    sizes = range(1, (1 if rows is None else size) + 1)
    kinds = tuple(chain.from_iterable(combinations_with_replacement(members, each) for each in sizes))
    universe = UnitUniverse(homes(rows, weighted=weighted), kinds)
    findings = []
    alone = [universe.counted(universe.database((1, unit))).count() for unit in kinds]
    for unit, counted in zip(kinds, alone, strict=True):
        if (number := int(counted.class_counts.sum())) > (most := rows or 1):
            findings.append(Finding("units", _described(unit), f"{number} of its rows count, of at most {most}"))
        if counted.weight_sums is not None and len(unit) == 1:
            found, declared = int(counted.weight_sums.sum()), _declared_weight(unit[0])
            if found != declared:
                findings.append(Finding("weights", _described(unit), f"it weighs {found}, and {declared} is declared"))
    for (first, one), (second, two) in combinations_with_replacement(zip(kinds, alone, strict=True), 2):
        database = universe.database((1, first), (1, second))
        if universe.counted(database).count() != assemble(universe.domain, [*one.cells(), *two.cells()]):
            seen = "they count otherwise together than each alone"
            findings.append(Finding("units", universe.description(database), seen))
    return universe, findings[:MOST_FINDINGS]


def _declared_weight(member: Member) -> int:
    """Return what a row weighs by the declaration alone."""
    label, *_, weight = member
    if label is None:
        return 0
    return LACKING if weight is None else min(int(weight), CAP)


def unit_pairs(universe: UnitUniverse, relation: Neighbours) -> list[AdversarialPair]:
    """List pairs of neighbours for the statistical attack, the most telling first."""
    low, high, other, _ = MEMBERS
    changes: Sequence[tuple[str, UnitRows, UnitRows]] = [
        ("a unit of two equal rows", (high, high), (other, other)),
        ("a unit of two classes", (high, other), (low, low)),
    ]
    among: UnitRows = (low, high)
    if universe.domain.unit is None:
        changes, among = [("a row of the largest weight", (high,), (other,))], (low,)
    pairs = []
    for name, unit, changed in changes:
        for crowd in (0, 12):
            base = [(crowd, among)]
            more = [] if relation is Neighbours.ADD_REMOVE else [(1, changed)]
            pairs.append(
                AdversarialPair(
                    f"{name}, {crowd} others beside it",
                    universe.database(*base, *more),
                    universe.database(*base, (1, unit)),
                )
            )
    return pairs
