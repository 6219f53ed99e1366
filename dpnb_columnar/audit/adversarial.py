"""Pairs of neighbours in which one row shows most."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from dpnb_columnar.audit.databases import Database, Population
from dpnb_columnar.budget import Neighbours
from dpnb_columnar.mechanisms.smooth_moments import MOMENTS
from dpnb_columnar.sensitivity import RunLengthColumn


@dataclass(frozen=True, slots=True)
class Adversarial:
    """Two neighbours, and why they are hard to protect."""

    name: str
    one: Database
    two: Database


def adversarial_pairs(population: Population, relation: Neighbours) -> list[Adversarial]:
    """Pairs for the statistical attack, the most telling first."""
    (low, high), (other_low, other_high) = population.extremes(0), population.extremes(1)
    if relation is Neighbours.ADD_REMOVE:
        rows = [
            ("a lone row", [], high),
            ("a lone member of a class", [(40, low)], other_high),
            ("an outlier at a bound", [(40, low)], high),
            ("one duplicate more", [(12, high)], high),
            ("half at each bound", [(6, low), (6, high)], low),
            ("a large class", [(300, high)], low),
        ]
        return [
            Adversarial(name, population.database(*base), population.database(*base, (1, row)))
            for name, base, row in rows
        ]
    changes = [
        ("label and value of a lone row", [], low, other_high),
        ("a label", [(40, high), (40, other_high)], high, other_high),
        ("the class of a lone member", [(40, low)], other_high, low),
        ("a value, from bound to bound", [(40, low)], low, high),
        ("label and value among many", [(12, low), (12, other_high)], low, other_high),
        ("a value in a small class", [(3, low), (4, high)], other_low, high),
    ]
    return [
        Adversarial(name, population.database(*base, (1, row)), population.database(*base, (1, changed)))
        for name, base, row, changed in changes
    ]


# MERGED FROM dpnb_columnar/audit/adversarial.py: Searches for smooth sensitivity, remembered: an audit releases the
# same few columns thousands of times.

LARGEST = 100_000
"""Results kept before all are forgotten."""


@contextmanager
def remembered_searches() -> Iterator[None]:
    """Let releases in this block look up moments and sensitivities that they have computed before.

    Both are functions of the sample and of public numbers; no result changes.
    """
    original = dict(MOMENTS)
    MOMENTS.update(
        {
            query: replace(each, statistic=_remembered(each.statistic), search=_remembered(each.search))
            for query, each in original.items()
        }
    )
    try:
        yield
    finally:
        MOMENTS.update(original)


def _remembered(function: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[tuple[Any, ...], Any] = {}

    def call(column: RunLengthColumn, *public: Any) -> Any:
        key = (column.codes.tobytes(), column.counts.tobytes(), *public)
        if key not in known:
            if len(known) >= LARGEST:
                known.clear()
            known[key] = function(column, *public)
        return known[key]

    return call
