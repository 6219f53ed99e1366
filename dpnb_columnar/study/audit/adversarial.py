"""Pairs of neighbours in which one row shows most."""

from __future__ import annotations

from dataclasses import dataclass

from dpnb_columnar.budget import Neighbours
from dpnb_columnar.study.audit.population import Database, Population


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
