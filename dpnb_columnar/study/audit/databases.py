"""Databases and their neighbours: every small one, and those with many rows that are hard to protect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from dpnb_columnar.budget import Neighbours
from dpnb_columnar.study.audit.population import Database, Population

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
