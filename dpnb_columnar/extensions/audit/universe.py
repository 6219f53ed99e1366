"""The data universe of the audit: kinds of rows that statistics distinguish, counted by the real engine one at a time.

A database is a histogram over the universe, as in Dwork and Roth 2014, section 2.1.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpnb_columnar.core.queries.query import AnswerT
from dpnb_columnar.core.queries.statistics import CellQuery, Cells, Statistics, assemble
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
"""Values far from zero over a narrow range: it exposes code that takes the bounds' distance for the change of a sum.

A missing number has no declaration: its sample has the class's public size.
"""

WAGES = read_domain(
    "wages",
    {
        "label": {"column": "label", "classes": ["a", "b"]},
        "attributes": {
            "number": {"lower": 0, "upper": 50, "step": 1, "transform": "log1p", "missing": "category"},
            "category": {"values": ["p"], "missing": "skip"},
        },
    },
    "audit",
)
"""A wide grid carried to the logarithmic scale; numbers present and missing are counted."""

HOURS = read_domain(
    "hours",
    {
        "label": {"column": "label", "classes": ["a", "b"]},
        "attributes": {
            "number": {"lower": 0, "upper": 4, "step": 4, "missing": "skip"},
            "category": {"values": ["p"], "missing": "row"},
        },
    },
    "audit",
)
"""The fewest kinds of rows: numbers present are counted, and a row without a category is dropped."""

COPIES = tuple(f"copy {number}" for number in range(1, 10))
"""Columns that repeat the category."""

TRADES, SHOPS = (
    read_domain(
        name,
        {
            "label": {"column": "label", "classes": classes},
            "attributes": {
                "number": {"lower": 0, "upper": 4, "step": 4},
                **{column: {"values": ["p"], "missing": "category"} for column in ("category", *COPIES)},
            },
        },
        "audit",
    )
    for name, classes in (("trades", ["a", "b", "c"]), ("shops", ["a", "b"]))
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
    """Kinds of rows that the statistics distinguish.

    Attributes:
        domain: Their domain.
        rows: One raw row of each kind.
        cells: Per kind, the engine's counts of one such row; nothing where the row does not count.
    """

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
        """Return a database as rows that a release counts."""
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
        """Describe a database for a finding."""
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
        """Check nothing: the rows are those of the universe."""
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
    """Return the answer of so many rows that each give this one."""
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
    """Return a key that is equal for rows with equal statistics."""
    return tuple(part.tobytes() for cell in cells for part in (cell.classes, cell.codes, cell.counts))
