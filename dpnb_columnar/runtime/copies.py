"""Find items that are alike, looking no closer than it takes to tell them apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def find_copies(items: Iterable[Item], *properties: Callable[[Item], Hashable]) -> Iterator[list[Item]]:
    """Find the groups of two or more items that have every property in common.

    Args:
        items: Items, such as files.
        properties: At least one, the quickest first: each is asked only of items that agree in those before it.

    Yields:
        The items of a group in their order.
    """
    groups: dict[Hashable, list[Item]] = defaultdict(list)
    first, *others = properties
    for item in items:
        groups[first(item)].append(item)
    for group in groups.values():
        if len(group) > 1:
            yield from find_copies(group, *others) if others else [group]
