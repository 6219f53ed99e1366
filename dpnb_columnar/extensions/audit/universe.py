"""The data universe of the audit: kinds of rows that statistics distinguish, counted by the real engine one at a time.

A database is a histogram over the universe, as in Dwork and Roth 2014, section 2.1. Pairs of neighbouring databases are
all pairs of small ones, and pairs in which one row is hard to protect. A database of whole units, or of rows that have
a weight, is a histogram over kinds of units, so pairs of neighbours and their comparison are the same.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations_with_replacement
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpnb_columnar.core.budget import Neighbours
from dpnb_columnar.core.queries.query import AnswerT, Query
from dpnb_columnar.core.queries.statistics import CellQuery, Cells, Statistics, assemble
from dpnb_columnar.counting.inputs import FrameInput, LocalFiles
from dpnb_columnar.domain import Domain, Missing
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import Error
from dpnb_columnar.extensions.audit.outcomes import Finding

if TYPE_CHECKING:
    import polars as pl


Row = tuple[str | None, float | None, str | None]
"""Label, number and category of a raw row."""

Database = tuple[int, ...]
"""Number of rows of each kind."""

NAN, INFINITY = float("nan"), float("inf")


def _domain(
    name: str, attributes: object, classes: Sequence[str] = ("a", "b"), more: Mapping[str, object] | None = None
) -> Domain:
    label = {"column": "label", "classes": [*classes]}
    return read_domain(name, {"label": label, **(more or {}), "attributes": attributes}, "audit")


YEARS = _domain(
    "years",
    {"number": {"lower": 1900, "upper": 1904, "step": 2}, "category": {"values": ["p"], "missing": "category"}},
)
"""Values far from zero over a narrow range: it exposes code that takes the bounds' distance for the change of a sum.

A missing number has no declaration: its sample has the class's public size.
"""

WAGES = _domain(
    "wages",
    {
        "number": {"lower": 0, "upper": 50, "step": 1, "transform": "log1p", "missing": "category"},
        "category": {"values": ["p"], "missing": "skip"},
    },
)
"""A wide grid carried to the logarithmic scale; numbers present and missing are counted."""

HOURS = _domain(
    "hours",
    {
        "number": {"lower": 0, "upper": 4, "step": 4, "missing": "skip"},
        "category": {"values": ["p"], "missing": "row"},
    },
)
"""The fewest kinds of rows: numbers present are counted, and a row without a category is dropped."""

COPIES = tuple(f"copy {number}" for number in range(1, 10))
"""Columns that repeat the category."""

TRADES, SHOPS = (
    _domain(
        name,
        {
            "number": {"lower": 0, "upper": 4, "step": 4},
            **{column: {"values": ["p"], "missing": "category"} for column in ("category", *COPIES)},
        },
        classes,
    )
    for name, classes in (("trades", "abc"), ("shops", "ab"))
)
"""Three classes, and two, of ten copies of a category: a gradient scales rows of so many log-ratios down."""

VALUES = {
    YEARS.name: (1900.0, 1902.0, 1904.0),
    WAGES.name: (0.0, 1.0, 50.0),
    HOURS.name: (0.0, 4.0),
    TRADES.name: (0.0,),
    SHOPS.name: (0.0,),
}

ODD: tuple[Row, ...] = (
    ("a", 1e9, "p"),
    ("a", -1e9, "p"),
    ("b", INFINITY, "p"),
    ("b", -INFINITY, None),
    ("a", NAN, "p"),
    ("b", NAN, "undeclared"),
    ("a", 1e9, "undeclared"),
    ("undeclared", 1902.0, "p"),
    (None, 1902.0, "p"),
)
"""Rows that an adversary may put into the data, whatever the domain declares."""

ENGINES = ("Polars", "DuckDB")
"""Engines that count all rows together; the first counts each row alone as well."""


@dataclass(frozen=True, eq=False)
class Universe:
    """Kinds of rows that the statistics distinguish, and the engine's counts of one such row, if it counts."""

    domain: Domain
    rows: tuple[Row, ...]
    cells: tuple[tuple[Cells, ...], ...]

    def statistics(self, database: Database) -> Statistics:
        """Compute the statistics of a database: sums of the counts of its rows."""
        return assemble(
            self.domain,
            [
                Cells(cell.attribute, cell.classes, cell.codes, cell.counts * number)
                for cells, number in zip(self.cells, database, strict=True)
                if number
                for cell in cells
            ],
        )

    def counted(self, database: Database) -> AuditedRows:
        return AuditedRows(self, database, self.statistics(database))

    @property
    def period(self) -> int | None:
        """Number of cells of each copy of the category, by which forced answers make their tables agree; else None."""
        copies = [each for each in self.domain.categorical if each.name in COPIES]
        return copies[0].size * len(self.domain.classes) if copies else None

    def database(self, *rows: tuple[int, Row]) -> Database:
        """Make a database of a number of each row."""
        numbers = [0] * len(self.rows)
        for number, row in rows:
            numbers[self.rows.index(row)] += number
        return tuple(numbers)

    def extremes(self, klass: int) -> tuple[Row, Row]:
        """Select the rows of a class with the smallest and the largest code of the numeric attribute."""
        attribute = self.domain.numeric[0].name
        codes = {
            int(cell.codes[0]): row
            for row, cells in zip(self.rows, self.cells, strict=True)
            for cell in cells
            if cell.attribute == attribute and list(cell.classes) == [klass]
        }
        return codes[min(codes)], codes[max(codes)]

    def absent(self, klass: int) -> Row:
        """Select a row of a class without a value of the numeric attribute; the last row if the engine counts none."""
        attribute = self.domain.numeric[0].name
        counted = (
            row
            for row, cells in zip(self.rows, self.cells, strict=True)
            if any(cell.attribute is None and list(cell.classes) == [klass] for cell in cells)
            and not any(cell.attribute == attribute and cell.counts.sum() for cell in cells)
        )
        return next(counted, self.rows[-1])

    def description(self, database: Database) -> str:
        parts = [
            f"{number} x ({', '.join('null' if part is None else f'{part}' for part in row)})"
            for number, row in zip(database, self.rows, strict=True)
            if number
        ]
        return " + ".join(parts) or "no rows"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AuditedRows:
    """A database as rows that a release asks: their statistics are known, all else is asked of the real engine."""

    universe: Universe
    database: Database
    statistics: Statistics
    repeatable = True

    def check(self, domain: Domain) -> AuditedRows:
        return self

    def answer(self, query: Any) -> Any:
        """Return the statistics; or add up what one row of each kind answers, as often as there are such rows."""
        if isinstance(query, CellQuery):
            return self.statistics
        total = query.empty()
        for number, row in zip(self.database, self.universe.rows, strict=True):
            if number:
                total = total.joined(_times(number, _answer_of(row, query)))
        return total


def _times(number: int, answer: AnswerT) -> AnswerT:
    if number == 1:
        return answer
    half = _times(number // 2, answer)
    return half.joined(half).joined(answer) if number % 2 else half.joined(half)


def build_universe(domain: Domain = YEARS) -> tuple[Universe, list[Finding]]:
    """Count each row alone, and all together with every engine of this machine."""
    values = VALUES[domain.name]
    usual: list[Row] = [(label, value, "p") for label in domain.classes for value in (*values, None)]
    usual += [(label, value, None) for label in domain.classes for value in (values[0], values[-1], None)]
    rows = [*usual, *ODD]
    findings: list[Finding] = []
    kinds: dict[tuple[bytes, ...], tuple[Row, tuple[Cells, ...]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        for row in rows:
            try:
                statistics = _count(ENGINES[0], [row], domain, file)
            except Error as error:
                seen = f"the engine refuses it: {type(error).__name__}"
                findings.append(Finding("aggregation", f"the row {row}", seen))
                continue
            if statistics != assemble(domain, declared_cells(row, domain)):
                findings.append(Finding("aggregation", f"the row {row}", "it is counted otherwise than declared"))
            cells = tuple(statistics.cells())
            kinds.setdefault(_identity(cells), (row, cells))
        together = assemble(domain, [cell for row in rows for cell in declared_cells(row, domain)])
        for engine in ENGINES if not findings else ():
            if _count(engine, rows, domain, file) != together:
                seen = f"the counts of {engine} are not the sum over rows"
                findings.append(Finding("aggregation", "all kinds of rows together", seen))
    names, cells_of = zip(*kinds.values(), strict=True)
    return Universe(domain, names, cells_of), findings


def declared_cells(row: Row, domain: Domain) -> list[Cells]:
    """Return what a row counts for by its domain's declarations alone (docs/privacy.md, section 1)."""
    label, value, category = row
    (number,) = domain.numeric
    codes: dict[str | None, int] = {None: 0}
    if value is not None and not math.isnan(value):
        clamped = min(max(value, float(number.lower)), float(number.upper))
        codes[number.name] = math.floor((clamped - float(number.lower)) / float(number.step) + 0.5)
    for categories in domain.categorical:
        if category in categories.values:
            codes[categories.name] = categories.values.index(category)
        elif categories.missing is Missing.CATEGORY:
            codes[categories.name] = len(categories.values)
    if label not in domain.classes or any(each.name not in codes for each in domain.row_dropping):
        return []
    one = np.ones(1, dtype=np.int64)
    return [Cells(name, domain.classes.index(label) * one, code * one, one) for name, code in codes.items()]


def _count(engine: str, rows: Sequence[Row], domain: Domain, file: Path) -> Statistics:
    from dpnb_columnar.counting import local
    from dpnb_columnar.rows.parquet import open_parquet

    frame_of(rows).write_parquet(file)
    source = open_parquet([file], domain)
    if engine == "DuckDB":
        return assemble(domain, local.count_by_duckdb(source, domain, domain.attributes))
    return local.answer(source, CellQuery(domain))


@lru_cache(maxsize=8192)
def _answer_of(row: Row, query: Any) -> Any:
    from dpnb_columnar.counting import local

    return local.answer(_alone(row), query)


@lru_cache(maxsize=256)
def _alone(row: Row) -> pl.DataFrame:
    return frame_of([row])


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    """Make a frame of raw rows; the category stands in its copies as well, which some domains declare."""
    import polars as pl

    types = {"label": pl.String, "number": pl.Float64, "category": pl.String}
    frame = pl.DataFrame(list(rows), schema=types, orient="row")
    return frame.with_columns(pl.col("category").alias(name) for name in COPIES)


def _identity(cells: Sequence[Cells]) -> tuple[bytes, ...]:
    return tuple(part.tobytes() for cell in cells for part in (cell.classes, cell.codes, cell.counts))


Pair = tuple[Database, Database]

_COLUMNS = {Missing.SKIP: 1, Missing.CATEGORY: 2}
"""Numbers per class that a release asks for about the values of a numeric attribute: present, and missing."""

_MISSING = ((7, -3), (-2, 40), (0, 0), (500, 12), (-90, 3))
"""Per scenario and class, the released number of rows without a value; noise makes it negative."""

_WEIGHTS = (40, -7)
"""Released sums of weights, per class, where rows have one."""


@dataclass(frozen=True, slots=True)
class NeighbourGroup:
    """Pairs of neighbours, and per scenario the counts, sums of weights and numbers of values forced on them."""

    pairs: Sequence[Pair]
    sizes: Sequence[tuple[int, ...]]


def groups(
    universe: AnyUniverse, relation: Neighbours, rows: int, duplicates: Sequence[int], scenarios: int
) -> Iterator[NeighbourGroup]:
    """Yield all pairs of small databases, then each large one of rows with all its neighbours."""
    sizes = forced_sizes(universe.domain, scenarios)
    yield NeighbourGroup(list(small_pairs(len(universe.rows), relation, rows)), sizes)
    if isinstance(universe, UnitUniverse):
        return
    for number in duplicates:
        near = [(number, 12), (number // 2, 1), (number + 2, 3), (100_000, number), (20 * number, -1)]
        for base in crowds(universe, number):
            pairs = [(base, other) for other in neighbours(base, relation)]
            yield NeighbourGroup(pairs, _forced(universe.domain, near[:scenarios]))


def forced_sizes(domain: Domain, scenarios: int) -> list[tuple[int, ...]]:
    """Choose released sizes that are forced upon small databases, at most 5."""
    if domain in (TRADES, SHOPS):  # classes so rare that a row of one adds all that it may to a gradient
        return [(10**9 - place, *(3,) * (len(domain.classes) - 1)) for place in range(scenarios)]
    return _forced(domain, [(-3, 9), (12, 0), (8, 40), (920, 1), (100_000, 300)][:scenarios])


def _forced(domain: Domain, sizes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Choose the answers to the first queries of a release, which settle the sizes of its samples."""
    columns = [_COLUMNS[each.missing] for each in domain.numeric if each.missing in _COLUMNS]
    if not columns:
        return list(sizes)
    weights = () if domain.weight is None else _WEIGHTS
    return [
        (
            *(values + lacking for values, lacking in zip(present, missing, strict=True)),
            *weights,
            *chain.from_iterable(pair[:width] for width in columns for pair in zip(present, missing, strict=True)),
        )
        for present, missing in zip(sizes, _MISSING, strict=False)
    ]


def small_databases(kinds: int, rows: int) -> Iterator[Database]:
    """Yield every database of at most ``rows`` rows: the multisets of kinds."""
    for size in range(rows + 1):
        for chosen in combinations_with_replacement(range(kinds), size):
            yield tuple(chosen.count(kind) for kind in range(kinds))


def small_pairs(kinds: int, relation: Neighbours, rows: int) -> Iterator[Pair]:
    """Yield every pair of neighbours of at most ``rows`` rows, each once."""
    for database in small_databases(kinds, rows):
        for other in neighbours(database, relation):
            if sum(other) <= rows and (sum(other) > sum(database) or other > database):
                yield database, other


def neighbours(database: Database, relation: Neighbours) -> Iterator[Database]:
    """Yield every neighbour: with one row more and one row less, or with one row changed."""
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


def crowds(universe: Universe, number: int) -> Iterator[Database]:
    """Yield databases of ``number`` rows in which one row stands out most: all alike, or half and half."""
    low, high = universe.extremes(0)
    other = universe.extremes(1)[1]
    half = number // 2
    yield universe.database((number, low))
    yield universe.database((number, high))
    yield universe.database((half, low), (number - half, high))
    yield universe.database((half, low), (number - half, other))
    yield universe.database((half, high), (number - half, universe.absent(0)))


def _moved(database: Database, kind: int, change: int) -> Database:
    return (*database[:kind], database[kind] + change, *database[kind + 1 :])


@dataclass(frozen=True, slots=True)
class AdversarialPair:
    """Two neighbours, and the reason why they are hard to protect."""

    name: str
    one: Database
    two: Database


def adversarial_pairs(universe: AnyUniverse, relation: Neighbours) -> list[AdversarialPair]:
    """List pairs of neighbours for the statistical attack, the most telling first."""
    if isinstance(universe, UnitUniverse):
        return _unit_pairs(universe, relation)
    (low, high), (other_low, other_high) = universe.extremes(0), universe.extremes(1)
    absent = universe.absent(0)
    if relation is Neighbours.ADD_REMOVE:
        rows = [
            ("a lone row", [], high),
            ("a lone member of a class", [(40, low)], other_high),
            ("an outlier at a bound", [(40, low)], high),
            ("one duplicate more", [(12, high)], high),
            ("half at each bound", [(6, low), (6, high)], low),
            ("a large class", [(300, high)], low),
            ("a lone row without a value", [(40, high)], absent),
        ]
        return [
            AdversarialPair(name, universe.database(*base), universe.database(*base, (1, row)))
            for name, base, row in rows
        ]
    changes = [
        ("label and value of a lone row", [], low, other_high),
        ("a label", [(40, high), (40, other_high)], high, other_high),
        ("the class of a lone member", [(40, low)], other_high, low),
        ("a value, from bound to bound", [(40, low)], low, high),
        ("label and value among many", [(12, low), (12, other_high)], low, other_high),
        ("a value in a small class", [(3, low), (4, high)], other_low, high),
        ("a value withheld", [(12, low)], high, absent),
    ]
    return [
        AdversarialPair(name, universe.database(*base, (1, row)), universe.database(*base, (1, changed)))
        for name, base, row, changed in changes
    ]


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
    attributes = {
        "number": {"lower": 0, "upper": 4, "step": 4, "missing": "skip"},
        "category": {"values": ["p"], "missing": "category"},
    }
    return _domain("homes", attributes, more={**unit, **weight})


@dataclass(frozen=True, eq=False)
class UnitUniverse:
    """Kinds of units, or of rows that have a weight."""

    domain: Domain
    rows: tuple[UnitRows, ...]
    period: int | None = None

    def counted(self, database: Database) -> AuditedUnits:
        return AuditedUnits(self, database)

    def database(self, *units: tuple[int, UnitRows]) -> Database:
        """Make a database of a number of each unit."""
        numbers = [0] * len(self.rows)
        for number, unit in units:
            numbers[self.rows.index(unit)] += number
        return tuple(numbers)

    def units(self, database: Database) -> list[UnitRows]:
        return [unit for number, unit in zip(database, self.rows, strict=True) for _ in range(number)]

    def description(self, database: Database) -> str:
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
        return self

    def answer(self, query: Query[Any]) -> Any:
        if isinstance(query, CellQuery):
            return self.count()
        return FrameInput(_frame(self.universe, self.database)).check(query.domain).answer(query)

    def count(self) -> Statistics:
        return _counted_in_two_files(self.universe, self.database)


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


@lru_cache(maxsize=8192)
def _counted_in_two_files(universe: UnitUniverse, database: Database) -> Statistics:
    """Count rows that are dealt out to two files one by one, so that units stand in both."""
    import polars as pl

    rows = _frame(universe, database)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{half}.parquet" for half in range(2)]
        for half, file in enumerate(files):
            rows[half::2].with_columns(file=pl.lit(str(file))).write_parquet(file)  # none is a copy of the other
        return LocalFiles(files).check(universe.domain).answer(CellQuery(universe.domain))


def build_units(rows: int | None, size: int, *, weighted: bool = False) -> tuple[UnitUniverse, list[Finding]]:
    """Make every unit of few rows, and count each alone and pairs of them together."""
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
            ((label, *_, weight),) = unit
            declared = 0 if label is None else LACKING if weight is None else min(int(weight), CAP)
            found = int(counted.weight_sums.sum())
            if found != declared:
                findings.append(Finding("weights", _described(unit), f"it weighs {found}, and {declared} is declared"))
    for (first, one), (second, two) in combinations_with_replacement(zip(kinds, alone, strict=True), 2):
        database = universe.database((1, first), (1, second))
        if universe.counted(database).count() != assemble(universe.domain, [*one.cells(), *two.cells()]):
            seen = "they count otherwise together than each alone"
            findings.append(Finding("units", universe.description(database), seen))
    return universe, findings[:MOST_FINDINGS]


def _unit_pairs(universe: UnitUniverse, relation: Neighbours) -> list[AdversarialPair]:
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
            one, two = universe.database(*base, *more), universe.database(*base, (1, unit))
            pairs.append(AdversarialPair(f"{name}, {crowd} others beside it", one, two))
    return pairs
