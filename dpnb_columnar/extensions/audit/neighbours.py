"""Pairs of neighbouring databases: all pairs of small ones, and pairs in which one row is hard to protect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations_with_replacement

from dpnb_columnar.core.budget import Neighbours
from dpnb_columnar.domain import Domain, Missing
from dpnb_columnar.extensions.audit.universe import SHOPS, TRADES, Database, Universe

Pair = tuple[Database, Database]

_COLUMNS = {Missing.SKIP: 1, Missing.CATEGORY: 2}
"""Numbers per class that a release asks for about the values of a numeric attribute: present, and missing."""

_MISSING = ((7, -3), (-2, 40), (0, 0), (500, 12), (-90, 3))
"""Per scenario and class, the released number of rows without a value; noise makes it negative."""


_WEIGHTS = (40, -7)
"""Released sums of weights, per class, where rows have one."""


@dataclass(frozen=True, slots=True)
class NeighbourGroup:
    """Pairs of neighbours, and the released sizes that are forced upon all of them.

    Attributes:
        pairs: Neighbours.
        sizes: Per scenario, the released class counts, class by class, and after them the released sums of weights, and
            the released numbers of values.
    """

    pairs: Sequence[Pair]
    sizes: Sequence[tuple[int, ...]]


def groups(
    universe: Universe, relation: Neighbours, rows: int, duplicates: Sequence[int], scenarios: int
) -> Iterator[NeighbourGroup]:
    """Yield all pairs of small databases, then each large one with all its neighbours."""
    sizes = forced_sizes(universe.domain, scenarios)
    yield NeighbourGroup(list(small_pairs(len(universe.rows), relation, rows)), sizes)
    for number in duplicates:
        near = [(number, 12), (number // 2, 1), (number + 2, 3), (100_000, number), (20 * number, -1)]
        for base in crowds(universe, number):
            pairs = [(base, other) for other in neighbours(base, relation)]
            yield NeighbourGroup(pairs, _forced(universe.domain, near[:scenarios]))


def forced_sizes(domain: Domain, scenarios: int) -> list[tuple[int, ...]]:
    """Choose released sizes that are forced upon small databases, at most 5.

    Of copies of an attribute all classes but the first are so rare that no score makes them likely: then a row of such
    a class adds all that it may to a gradient, and one of other values takes as much away.
    """
    if domain in (TRADES, SHOPS):
        return [(10**9 - place, *(3,) * (len(domain.classes) - 1)) for place in range(scenarios)]
    return _forced(domain, [(-3, 9), (12, 0), (8, 40), (920, 1), (100_000, 300)][:scenarios])


def _forced(domain: Domain, sizes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Choose the answers to the first queries of a release, which settle the sizes of its samples.

    Where numbers of values are released, these are the sizes, and the class counts differ from them.
    """
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
    """Yield databases of ``number`` rows in which one row stands out most: all alike, or half and half.

    All rows at the lower bound, at the upper bound, half at each, half in each class, and half without a value.
    """
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


def adversarial_pairs(universe: Universe, relation: Neighbours) -> list[AdversarialPair]:
    """List pairs for the statistical attack, the most telling first."""
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
