"""Faults of units: what the choice of a unit's rows, or its budget, must not do. The audit has to find each of them."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpnb_columnar.audit import unit_universe
from dpnb_columnar.budget import Budget
from dpnb_columnar.counting.engines import local, polars_units
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.counting.statistics import CellQuery, Statistics, assemble
from dpnb_columnar.domain import Domain
from dpnb_columnar.rows.parquet import ParquetSource
from dpnb_columnar.rows.unit_order import ORDER, PRIME

Patch = pytest.MonkeyPatch

FIRST_ROWS = polars_units._Choice.first_rows
ANSWER = local.answer


def looks_at_other_units(patch: Patch) -> None:
    """Where the number of units is even, the last rows of each are chosen in place of the first."""

    def first_rows(choice: Any, rows: pl.DataFrame, names: Any) -> Any:
        if len(np.unique(names)) % 2 == 0:
            rows = rows.with_columns((PRIME - 1 - pl.col(ORDER)).alias(ORDER))
        return FIRST_ROWS(choice, rows, names)

    patch.setattr(polars_units._Choice, "first_rows", first_rows)


def one_row_too_many(patch: Patch) -> None:
    def first_rows(choice: Any, rows: pl.DataFrame, names: Any) -> Any:
        return FIRST_ROWS(replace(choice, most=choice.most + 1), rows, names)

    patch.setattr(polars_units._Choice, "first_rows", first_rows)


def file_by_file(patch: Patch) -> None:
    """The rows of a unit are chosen in each file by itself, so that twice as many count."""

    def answer(source: Any, query: Any) -> Any:
        if not isinstance(source, ParquetSource):
            return ANSWER(source, query)
        alone = [ANSWER(replace(source, files=(file,)), query) for file in source.files]
        return reduce(lambda one, two: one.joined(two), alone)

    patch.setattr(local, "answer", answer)


def straddling_parts(patch: Patch) -> None:
    """Parts are added up as if they held whole units, and they do not."""

    def count(rows: pl.DataFrame, domain: Domain) -> Statistics:
        one, two = (FrameInput(rows[half::2]).check(domain).answer(CellQuery(domain)) for half in range(2))
        if two.class_counts.any() and one != two:  # parts of equal counts are refused by themselves
            return replace(one, whole_units=True) + replace(two, whole_units=True)
        return assemble(domain, [*one.cells(), *two.cells()])

    patch.setattr(unit_universe, "count_in_two_files", count)


def shares_not_divided(patch: Patch) -> None:
    """Noise is made for one row where a unit has several."""
    patch.setattr(Budget, "rows", property(lambda budget: budget.neighbours.rows))
