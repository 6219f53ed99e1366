"""Define the sufficient statistics of a data set: one exact count per (attribute, class, code). CONFIDENTIAL.

They answer the query of the first pass, ``CellQuery``. Statistics are additive: those of two disjoint sets of rows
together are the sum of their counts. So shards, files and engines combine by adding.

So that no row is counted twice when statistics are added, they carry digests of the files or counts that they were made
from, called parts. A digest discloses nothing beyond the statistics beside it; both are confidential.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.core.budget import Parallel, RowEffect
from dpnb_columnar.core.code_limits import LARGEST_SIZE
from dpnb_columnar.core.queries.query import check_whole_units, digest_blocks
from dpnb_columnar.core.sensitivity import RunLengthColumn
from dpnb_columnar.domain import Categorical, Domain, Numeric
from dpnb_columnar.domain.attributes import is_complete
from dpnb_columnar.domain.declared_domain import WEIGHT_CODE as WEIGHT_CODE
from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.domain.words import united
from dpnb_columnar.errors import command, excerpt

Integers = NDArray[np.int64]
Whole = NDArray[Any]
"""Whole numbers of any integer type."""

LARGEST_SUM = 2**62
"""Most steps of all weights together."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Cells:
    """Exact counts of one attribute, or of the classes alone. Confidential.

    Attributes:
        attribute: Attribute name; None for the class counts, whose codes are all 0, and the sums of weights per class,
            whose codes are ``WEIGHT_CODE``.
        classes: Shape (cells,): class codes.
        codes: Shape (cells,): grid codes or category codes.
        counts: Shape (cells,): numbers of rows; steps of weight.
    """

    attribute: str | None
    classes: Whole
    codes: Whole
    counts: Whole


@dataclass(frozen=True, slots=True)
class CellQuery:
    """The first pass: how many rows are in each cell of a domain. Public."""

    domain: Domain
    later: ClassVar[bool] = False

    @property
    def words(self) -> str:
        """What is counted."""
        weights = "" if self.domain.weight is None else ", and the sum of their weights"
        return f"rows of each class{weights}, and of each class and value of {len(self.domain.attributes)} attributes"

    @property
    def cells(self) -> int:
        """How many counts there are, those of classes and the sums of weights included."""
        sizes = (each.size if isinstance(each, Categorical) else each.cells + 1 for each in self.domain.attributes)
        return len(self.domain.classes) * ((1 if self.domain.weight is None else 2) + sum(sizes))

    @property
    def parallel(self) -> Parallel:
        """One row is in one cell of the class counts, and in at most one of each table (Lemmas 2.1, 2.7 and 2.12)."""
        weight = "" if self.domain.weight is None else ", and one sum of weights by at most the cap"
        reason = f"one row changes one count of the classes, and one of each attribute, by 1{weight}"
        return Parallel(reason, RowEffect.ONE_DRAW)

    @property
    def sensitivity(self) -> int:
        """How far one row moves all counts, and sums of weights in steps, together (Lemmas 2.1, 2.7 and 2.12)."""
        return 1 + len(self.domain.attributes) + (0 if self.domain.weight is None else self.domain.weight.steps)

    @property
    def digest(self) -> str:
        """The digest of the domain."""
        return digest(self.domain)

    def empty(self) -> Statistics:
        """Return the statistics of no row."""
        return assemble(self.domain, ())


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Statistics:
    """Exact counts of every attribute within every class. Confidential: its repr shows the shape only.

    Attributes:
        domain: The domain whose cells are counted.
        class_counts: Shape (classes,), int64.
        columns: Per numeric attribute, one sorted run-length column per class, in grid codes: the values of those rows
            that have one.
        tables: Per categorical attribute, shape (classes, categories), int64: those rows that are in a category.
        parts: Digests of the files or counts that these were made from; empty where these are not known.
            Not compared: equal counts are equal statistics.
        summands: Digests of the counts of the statistics that were added up to these; empty if none were.
        whole_units: Whether no unit with rows here is declared to have rows in what these are added to. Not compared,
            and not saved: it is declared where statistics are added up.
        weight_sums: Shape (classes,), int64: sum of the weights of the rows of each class, in steps; None where rows
            have none.
    """

    domain: Domain
    class_counts: Integers
    columns: Mapping[str, tuple[RunLengthColumn, ...]]
    tables: Mapping[str, Integers]
    parts: frozenset[str] = frozenset()
    summands: frozenset[str] = frozenset()
    whole_units: bool = False
    weight_sums: Integers | None = None

    def __repr__(self) -> str:
        return (
            f"Statistics(CONFIDENTIAL, domain {self.domain.name!r}: {len(self.domain.classes)} classes, "
            f"{len(self.columns)} numeric and {len(self.tables)} categorical attributes)"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Statistics) and digest(self.domain) == digest(other.domain) and _equal(self, other)

    @property
    def query(self) -> CellQuery:
        """What was counted."""
        return CellQuery(self.domain)

    @property
    def own_part(self) -> frozenset[str]:
        """The digest of the counts themselves; empty if all are zero."""
        blocks, empty = [], True
        for cell in self.cells():
            blocks.append(repr(cell.attribute).encode())
            blocks += [array.tobytes() for array in (cell.classes, cell.codes, cell.counts)]
            empty = empty and not cell.counts.any()
        return frozenset([] if empty else [digest_blocks("cells", blocks)])

    def __add__(self, other: Statistics) -> Statistics:
        """Return the statistics of both sets of rows together."""
        if digest(self.domain) != digest(other.domain):
            raise ValueError("statistics of different domains cannot be added")
        check_whole_units(self.domain, self.whole_units and other.whole_units)
        first, second = self.summands | self.own_part, other.summands | other.own_part
        if (self.parts | first) & (other.parts | second):
            raise ValueError(
                "the same rows are in both and would count twice; drop one (if these are different people with equal "
                f"records, count all of them in one run of {command('aggregate')}, in one query, or in one frame)"
            )
        return replace(self.joined(other), summands=first | second, whole_units=self.whole_units)

    def joined(self, other: Statistics) -> Statistics:
        """Return the statistics of both sets of rows, of which no row is in both, whatever their counts."""
        domain = united([self.domain, other.domain])
        return assemble(domain, chain(self.cells(), other.cells()), self.parts | other.parts)

    def __sub__(self, other: Statistics) -> Statistics:
        """Return the statistics of those rows of the first that are not in the second, a subset of the first's rows."""
        check_whole_units(self.domain, self.whole_units and other.whole_units)
        removed = [Cells(cell.attribute, cell.classes, cell.codes, -cell.counts) for cell in other.cells()]
        if digest(self.domain) != digest(other.domain):
            raise ValueError("statistics of different domains cannot be subtracted")
        # Rows that were subtracted are no longer counted, and may be added again.
        parts, summands = self.parts - other.parts, self.summands - other.summands - other.own_part
        return replace(assemble(self.domain, chain(self.cells(), removed), parts), summands=summands)

    def only(self, domain: Domain) -> Statistics:
        """Return the statistics in a domain that lacks some of the attributes; as they are in any other domain."""
        if {each.name for each in domain.attributes} >= {each.name for each in self.domain.attributes}:
            return self
        columns = {each.name: self.columns[each.name] for each in domain.numeric if each.name in self.columns}
        tables = {each.name: self.tables[each.name] for each in domain.categorical if each.name in self.tables}
        kept = tuple(each for each in self.domain.attributes if each.name in {*columns, *tables})
        return replace(self, domain=replace(self.domain, attributes=kept), columns=columns, tables=tables)

    def lacking(self) -> dict[str, int]:
        """Count the rows that lack each attribute. Confidential."""
        rows = int(self.class_counts.sum())
        present = {name: sum(column.size for column in columns) for name, columns in self.columns.items()}
        present |= {
            each.name: int(self.tables[each.name][:, : len(each.values)].sum()) for each in self.domain.categorical
        }
        return {attribute.name: rows - present[attribute.name] for attribute in self.domain.attributes}

    def cells(self) -> Iterator[Cells]:
        """Yield the long form: classes first, then the attributes in declared order, zero counts left out."""
        classes = [self.class_counts] if self.weight_sums is None else [self.class_counts, self.weight_sums]
        yield _cells(None, [([*range(len(classes))], counts) for counts in zip(*classes, strict=True)])
        for attribute in self.domain.attributes:
            name = attribute.name
            if isinstance(attribute, Numeric):
                yield _cells(name, [(column.codes, column.counts) for column in self.columns[name]])
            else:
                codes = np.arange(attribute.size)
                yield _cells(name, [(codes, counts) for counts in self.tables[name]])


def assemble(domain: Domain, cells: Iterable[Cells], parts: frozenset[str] = frozenset()) -> Statistics:
    """Add up cells into statistics; ValueError, with no count in its text, where no rows have such cells."""
    by_attribute: dict[str | None, list[Cells]] = {None: []} | {attribute.name: [] for attribute in domain.attributes}
    for cell in cells:
        if cell.attribute not in by_attribute:
            raise ValueError(f"attribute {excerpt(cell.attribute)} is not in the domain {domain.name!r}")
        by_attribute[cell.attribute].append(cell)
    size = len(domain.classes)
    class_counts, weight_sums = _class_counts(domain, by_attribute[None])
    columns: dict[str, tuple[RunLengthColumn, ...]] = {}
    tables: dict[str, Integers] = {}
    for attribute in domain.attributes:
        name = attribute.name
        own = by_attribute.pop(name)  # large tables are not held twice, where nobody else holds the cells
        if isinstance(attribute, Categorical):
            tables[name] = _dense(name, own, size, attribute.size)
            totals = tables[name].sum(axis=1)
        else:
            columns[name] = _columns(name, own, size, attribute.cells)
            totals = np.array([column.size for column in columns[name]])
        if np.any(totals > class_counts) or (is_complete(attribute) and np.any(totals < class_counts)):
            raise ValueError(f"counts of attribute {name!r} do not add up to the class counts")
    return Statistics(domain, class_counts, columns, tables, parts, weight_sums=weight_sums)


def _class_counts(domain: Domain, parts: list[Cells]) -> tuple[Integers, Integers | None]:
    """Add up the class counts, and what the domain adds up over the rows of each class. Raises as ``assemble``."""
    if domain.weight is None:
        return _dense(None, parts, len(domain.classes), 1)[:, 0], None
    rows, sums = _dense(None, parts, len(domain.classes), WEIGHT_CODE + 1, LARGEST_SUM).T.copy()
    if rows.sum() > min(LARGEST_SIZE, LARGEST_SUM // domain.weight.steps):
        raise ValueError("more rows than weights add up of")
    if np.any(sums > rows * domain.weight.steps):
        raise ValueError("weights add up to more than the cap for every row")
    return rows, sums


def _cells(attribute: str | None, per_class: list[tuple[object, object]]) -> Cells:
    """Return the long form of one attribute from (codes, counts) per class, without zero counts."""
    pairs = [(np.atleast_1d(np.asarray(codes)), np.atleast_1d(np.asarray(counts))) for codes, counts in per_class]
    classes = np.repeat(np.arange(len(pairs)), [len(codes) for codes, _ in pairs])
    codes = np.concatenate([codes for codes, _ in pairs])
    counts = np.concatenate([counts for _, counts in pairs])
    present = counts != 0
    return Cells(attribute, classes[present], codes[present].astype(np.int64), counts[present].astype(np.int64))


def _joined(
    name: str | None, parts: list[Cells], classes: int, last: int, most: int = LARGEST_SIZE
) -> tuple[Integers, Integers, Integers]:
    """Return the distinct (class, code) pairs in order with their summed counts."""
    empty = np.zeros(0, dtype=np.int64)
    klass, code, count = (
        np.concatenate([empty, *(getattr(part, field) for part in parts)], dtype=np.int64)
        for field in ("classes", "codes", "counts")
    )
    if np.abs(count.astype(np.float64)).sum() > most:
        raise ValueError(f"{_named(name)}: more than {most} rows")
    if np.any((klass < 0) | (klass >= classes) | (code < 0) | (code > last)):
        raise ValueError(f"a cell of {_named(name)} lies outside the domain")
    place = klass * (last + 1) + code  # one number to sort by takes half the time of two
    if not np.all(place[1:] > place[:-1]):  # cells of the largest tables come in order, each once
        order = np.argsort(place)
        starts = np.flatnonzero(np.append(True, np.diff(place[order]) != 0))
        first = order[starts]
        klass, code, count = klass[first], code[first], np.add.reduceat(count[order], starts)
    if len(count) and count.min() < 0:
        raise ValueError(f"a count of {_named(name)} is below zero")
    kept = count > 0
    return klass[kept], code[kept], count[kept]


def _dense(name: str | None, parts: list[Cells], classes: int, size: int, most: int = LARGEST_SIZE) -> Integers:
    klass, code, count = _joined(name, parts, classes, size - 1, most)
    table = np.zeros((classes, size), dtype=np.int64)
    table[klass, code] = count
    return table


def _columns(name: str, parts: list[Cells], classes: int, cells: int) -> tuple[RunLengthColumn, ...]:
    klass, code, count = _joined(name, parts, classes, cells)
    edges = np.searchsorted(klass, np.arange(classes + 1))
    return tuple(RunLengthColumn(code[low:high], count[low:high]) for low, high in pairwise(edges))


def _named(name: str | None) -> str:
    return "the classes" if name is None else f"attribute {name!r}"


def _equal(first: Statistics, second: Statistics) -> bool:
    pairs, fields = zip(first.cells(), second.cells(), strict=True), ("classes", "codes", "counts")
    return all(np.array_equal(getattr(one, field), getattr(two, field)) for one, two in pairs for field in fields)
