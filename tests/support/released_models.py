"""A model of each mechanism, released from statistics whose exact counts can be told from any other number."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Neighbours
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.core.queries.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import Domain
from support.mechanisms import MECHANISMS
from support.model_cases import declared
from support.releases import plan_and_release

DOMAIN = declared(
    {
        "age": {"lower": 0, "upper": 90, "step": 1, "missing_values": [999]},
        "wage": {"lower": 0, "upper": 100_000, "step": 1, "transform": "log1p"},
        'job "x" d\'été': {"values": ["clerk", "none, 'yet'", "中"], "missing": "category"},
    },
    ["up to 50K", 'over "50K"'],
)

# Exact numbers that cannot come about by chance: if one of them stands in a file, it was copied there.
CLASS_COUNTS = (987_654, 123_457)
AGE_COUNTS = {20: (500_003, 20_011), 41: (400_009, 90_001), 88: (87_642, 13_445)}
WAGE_COUNTS = {7: (900_007, 23_456), 54_321: (87_647, 100_001)}
JOB_COUNTS = {0: (700_001, 23_456), 1: (200_017, 50_021), 2: (80_021, 40_013), 3: (7_615, 9_967)}


def exact_statistics(domain: Domain = DOMAIN) -> Statistics:
    """Statistics whose counts can be told from any others."""
    cells = [_cells(None, {0: CLASS_COUNTS})]
    tables = (AGE_COUNTS, WAGE_COUNTS, JOB_COUNTS)
    cells += [_cells(attribute.name, table) for attribute, table in zip(domain.attributes, tables, strict=True)]
    return assemble(domain, cells)


def _cells(attribute: str | None, table: Mapping[int, tuple[int, int]]) -> Cells:
    rows = [(klass, code, counts[klass]) for code, counts in table.items() for klass in (0, 1)]
    return Cells(attribute, *(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


SEED = 8_675_309_424_242


def released(mechanism: str, **options: Any) -> Model:
    """A model of the exact statistics, with a seed unless one is given."""
    budget = Budget(options.pop("epsilon", Fraction(1, 2)), options.pop("neighbours", Neighbours.ADD_REMOVE))
    return plan_and_release(exact_statistics(), budget, mechanism, **options)


MODELS = {
    **{name: released(name) for name in MECHANISMS},
    "replace-one": released("smooth", neighbours=Neighbours.REPLACE_ONE, epsilon=Fraction(1, 3)),
    "cauchy": released("smooth", noise="cauchy"),
    "seeded": released("smooth", draw=ExactSampler(SeededBits(SEED))),
    "seeded histogram": released("histogram", draw=ExactSampler(SeededBits(SEED)), epsilon=Fraction(1, 100)),
}
