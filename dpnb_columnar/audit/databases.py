"""Databases and their neighbours: every small one, and those with many rows that are hard to protect."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.audit.findings import Finding
from dpnb_columnar.budget import Neighbours
from dpnb_columnar.counting.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import Domain, read_domain
from dpnb_columnar.errors import Error

if TYPE_CHECKING:
    import polars as pl

# MERGED FROM dpnb_columnar/audit/databases.py: The rows that the audit's databases are made of, counted by the real
# engine one row at a time.

Row = tuple[str | None, float | None, str | None]
"""Label, number and category of a raw row."""

Database = tuple[int, ...]
"""How many rows of each kind."""

NAN, INFINITY = float("nan"), float("inf")

YEARS = read_domain(
    "years",
    {
        "label": {"column": "label", "classes": ["a", "b"]},
        "attributes": {
            "number": {"lower": 1900, "upper": 1904, "step": 2},
            "category": {"values": ["p"], "missing": "category"},
        },
    },
    "audit",
)
"""Values far from zero over a narrow range: what takes the bounds' distance for the change of a sum is seen."""

WAGES = read_domain(
    "wages",
    {
        "label": {"column": "label", "classes": ["a", "b"]},
        "attributes": {
            "number": {"lower": 0, "upper": 50, "step": 1, "transform": "log1p"},
            "category": {"values": ["p"], "missing": "category"},
        },
    },
    "audit",
)
"""A wide grid carried to the logarithmic scale."""

VALUES = {YEARS.name: (1900.0, 1902.0, 1904.0), WAGES.name: (0.0, 1.0, 50.0)}

ODD: tuple[Row, ...] = (
    ("a", 1e9, "p"),
    ("a", -1e9, "p"),
    ("b", INFINITY, "p"),
    ("b", -INFINITY, None),
    ("a", NAN, "p"),
    ("b", None, "p"),
    ("a", 1902.0, "undeclared"),
    ("undeclared", 1902.0, "p"),
    (None, 1902.0, "p"),
)
"""Rows that somebody may put into the data, whatever the domain says."""


@dataclass(frozen=True, eq=False)
class Population:
    """Kinds of rows that the statistics tell apart.

    Attributes:
        domain: Their domain.
        rows: One raw row of each kind.
        cells: Per kind, what the engine counts for one such row; nothing where the row does not count.
    """

    domain: Domain
    rows: tuple[Row, ...]
    cells: tuple[tuple[Cells, ...], ...]

    def statistics(self, database: Database) -> Statistics:
        """Statistics of so many rows of each kind: sums of what was counted for one."""
        return assemble(
            self.domain,
            [
                Cells(cell.attribute, cell.classes, cell.codes, cell.counts * number)
                for cells, number in zip(self.cells, database, strict=True)
                if number
                for cell in cells
            ],
        )

    def database(self, *rows: tuple[int, Row]) -> Database:
        """So many of each row."""
        numbers = [0] * len(self.rows)
        for number, row in rows:
            numbers[self.rows.index(row)] += number
        return tuple(numbers)

    def extremes(self, klass: int) -> tuple[Row, Row]:
        """Rows of a class with the smallest and the largest code of the numeric attribute."""
        attribute = self.domain.numeric[0].name
        codes = {
            int(cell.codes[0]): row
            for row, cells in zip(self.rows, self.cells, strict=True)
            for cell in cells
            if cell.attribute == attribute and list(cell.classes) == [klass]
        }
        return codes[min(codes)], codes[max(codes)]

    def told(self, database: Database) -> str:
        """A database as a finding names it."""
        parts = [
            f"{number} x ({', '.join('null' if part is None else f'{part}' for part in row)})"
            for number, row in zip(database, self.rows, strict=True)
            if number
        ]
        return " + ".join(parts) or "no rows"


def populate(domain: Domain = YEARS) -> tuple[Population, list[Finding]]:
    """Count each row alone and all together, with the engine.

    Returns:
        The kinds of rows, and what is broken on the way from rows to statistics: a row that makes the engine refuse, or
        counts that are not the sum over rows.
    """
    usual: list[Row] = list(product(domain.classes, VALUES[domain.name], ("p", None)))
    rows = [*usual, *ODD]
    findings: list[Finding] = []
    kinds: dict[tuple[bytes, ...], tuple[Row, tuple[Cells, ...]]] = {}
    counted: list[Cells] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        for row in rows:
            try:
                cells = tuple(_count([row], domain, file).cells())
            except Error as error:
                seen = f"the engine refuses it: {type(error).__name__}"
                findings.append(Finding("aggregation", f"the row {row}", seen))
                continue
            counted += cells
            kinds.setdefault(_identity(cells), (row, cells))
        if not findings and _count(rows, domain, file) != assemble(domain, counted):
            findings.append(Finding("aggregation", "all kinds of rows together", "counts are no sum over rows"))
    names, cells_of = zip(*kinds.values(), strict=True)
    return Population(domain, names, cells_of), findings


def _count(rows: Sequence[Row], domain: Domain, file: Path) -> Statistics:
    from dpnb_columnar.counting.engines.local import aggregate
    from dpnb_columnar.rows.parquet import open_parquet

    _frame(rows).write_parquet(file)
    return aggregate(open_parquet([file], domain), domain)


def _frame(rows: Sequence[Row]) -> pl.DataFrame:
    import polars as pl

    types = {"label": pl.String, "number": pl.Float64, "category": pl.String}
    return pl.DataFrame(list(rows), schema=types, orient="row")


def _identity(cells: Sequence[Cells]) -> tuple[bytes, ...]:
    """What tells the statistics of one row from those of another."""
    return tuple(part.tobytes() for cell in cells for part in (cell.classes, cell.codes, cell.counts))


Pair = tuple[Database, Database]


@dataclass(frozen=True, slots=True)
class Group:
    """Pairs of neighbours, and the class counts that are forced upon all of them.

    Attributes:
        pairs: Neighbours.
        sizes: Per scenario, what the class counts come out as, class by class.
    """

    pairs: Sequence[Pair]
    sizes: Sequence[tuple[int, ...]]


def groups(
    population: Population, relation: Neighbours, rows: int, duplicates: Sequence[int], scenarios: int
) -> Iterator[Group]:
    """All pairs of small databases, then each large one with all its neighbours.

    Args:
        population: Kinds of rows.
        relation: What neighbours are.
        rows: Most rows of a small database.
        duplicates: Sizes of the large ones.
        scenarios: How many forced class counts per group, at most 5.
    """
    sizes = [(-3, 9), (12, 0), (8, 40), (920, 1), (100_000, 300)]
    yield Group(list(small_pairs(len(population.rows), relation, rows)), sizes[:scenarios])
    for number in duplicates:
        near = [(number, 12), (number // 2, 1), (number + 2, 3), (100_000, number), (20 * number, -1)]
        for base in crowds(population, number):
            yield Group([(base, other) for other in neighbours(base, relation)], near[:scenarios])


def small_databases(kinds: int, rows: int) -> Iterator[Database]:
    """Every database of at most so many rows: multisets of kinds."""
    for size in range(rows + 1):
        for chosen in combinations_with_replacement(range(kinds), size):
            yield tuple(chosen.count(kind) for kind in range(kinds))


def small_pairs(kinds: int, relation: Neighbours, rows: int) -> Iterator[Pair]:
    """Every pair of neighbours of at most so many rows, each once."""
    for database in small_databases(kinds, rows):
        for other in neighbours(database, relation):
            if sum(other) <= rows and (sum(other) > sum(database) or other > database):
                yield database, other


def neighbours(database: Database, relation: Neighbours) -> Iterator[Database]:
    """Every neighbour: with one row more and one row less, or with one row changed."""
    kinds = range(len(database))
    for removed in kinds:
        if not database[removed]:
            continue
        less = _moved(database, removed, -1)
        if relation is Neighbours.ADD_REMOVE:
            yield less
        else:
            yield from (_moved(less, added, 1) for added in kinds if added != removed)
    if relation is Neighbours.ADD_REMOVE:
        yield from (_moved(database, added, 1) for added in kinds)


def crowds(population: Population, number: int) -> Iterator[Database]:
    """Databases of ``number`` rows in which one row stands out most: all alike, or half and half.

    All rows at the lower bound, at the upper bound, half at each, and half in each class.
    """
    low, high = population.extremes(0)
    other = population.extremes(1)[1]
    half = number // 2
    yield population.database((number, low))
    yield population.database((number, high))
    yield population.database((half, low), (number - half, high))
    yield population.database((half, low), (number - half, other))


def _moved(database: Database, kind: int, change: int) -> Database:
    return (*database[:kind], database[kind] + change, *database[kind + 1 :])
