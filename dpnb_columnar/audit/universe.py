"""The data universe of the audit: kinds of rows that statistics distinguish, counted by the real engine one at a time.

A database is a histogram over the universe, as in Dwork and Roth 2014, section 2.1.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from dpnb_columnar.audit.findings import Finding
from dpnb_columnar.counting.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import Domain, read_domain
from dpnb_columnar.errors import Error

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
"""Values far from zero over a narrow range: it exposes code that takes the bounds' distance for the change of a sum."""

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
"""Rows that an adversary may put into the data, whatever the domain declares."""


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

    def description(self, database: Database) -> str:
        """Describe a database for a finding."""
        parts = [
            f"{number} x ({', '.join('null' if part is None else f'{part}' for part in row)})"
            for number, row in zip(database, self.rows, strict=True)
            if number
        ]
        return " + ".join(parts) or "no rows"


def build_universe(domain: Domain = YEARS) -> tuple[Universe, list[Finding]]:
    """Count each row alone and all together, with the engine.

    Returns:
        The kinds of rows, and the faults between rows and statistics: a row that makes the engine refuse, or counts
        that are not the sum over rows.
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
            findings.append(Finding("aggregation", "all kinds of rows together", "counts are not the sum over rows"))
    names, cells_of = zip(*kinds.values(), strict=True)
    return Universe(domain, names, cells_of), findings


def _count(rows: Sequence[Row], domain: Domain, file: Path) -> Statistics:
    import polars as pl

    from dpnb_columnar.counting.engines.local import aggregate
    from dpnb_columnar.rows.parquet import open_parquet

    types = {"label": pl.String, "number": pl.Float64, "category": pl.String}
    pl.DataFrame(list(rows), schema=types, orient="row").write_parquet(file)
    return aggregate(open_parquet([file], domain), domain)


def _identity(cells: Sequence[Cells]) -> tuple[bytes, ...]:
    """A key that is equal for rows with equal statistics."""
    return tuple(part.tobytes() for cell in cells for part in (cell.classes, cell.codes, cell.counts))
