"""Thirteen attributes like those of the Adult data set, by name (``facts/adult_like.toml``)."""

from __future__ import annotations

from collections.abc import Iterable

from dpnb_columnar.codebooks.facts import adult_roles


def adult_like(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose an extract's Adult-like variables, by the lists of the collection that fill most roles.

    Args:
        names: Variables or attributes that there are.

    Returns:
        The names chosen, at most one for each role, in the order of the roles; and the roles for which there is none.
    """
    there = set(names)
    roles = adult_roles()
    by_collection = [
        {role: _first(lists.get(collection, ()), there) for role, lists in roles.items()}
        for collection in dict.fromkeys(collection for lists in roles.values() for collection in lists)
    ]
    chosen = max(by_collection, key=lambda choice: sum(name is not None for name in choice.values()))
    taken = tuple(name for name in chosen.values() if name is not None)
    return taken, tuple(role for role, name in chosen.items() if name is None)


def _first(candidates: Iterable[str], there: set[str]) -> str | None:
    return next((name for name in candidates if name in there), None)
