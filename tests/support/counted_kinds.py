"""Rows that come in a few kinds, each many times: counted as one of each, so that a census takes no time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import polars as pl
from dpnb_columnar.core.queries.scores import ClassScores, GradientQuery, GradientSums, ScoreCounts
from dpnb_columnar.core.queries.statistics import CellQuery, Cells, Statistics, assemble

from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Domain

Kind = tuple[tuple[str, str | int | None], ...]
"""Values of a row by column: texts, and whole numbers, of which one may be missing."""


@dataclass(frozen=True, eq=False)
class CountedKinds:
    """How many rows there are of each kind, as rows that a release counts."""

    domain: Domain
    rows: Mapping[Kind, int]
    repeatable = True

    def check(self, domain: Domain) -> CountedKinds:
        assert domain == self.domain
        return self

    def answer(self, query: Any) -> Any:
        if isinstance(query, CellQuery):
            return self._statistics()
        one = [(number, _answer(kind, query)) for kind, number in self.rows.items()]
        if isinstance(query, ClassScores):
            return ScoreCounts(query, sum(number * each.counts for number, each in one))
        assert isinstance(query, GradientQuery)
        sums = sum(number * each.sums for number, each in one)
        return GradientSums(query, sums, sum(number * each.rows for number, each in one))

    def _statistics(self) -> Statistics:
        cells = [
            Cells(cell.attribute, cell.classes, cell.codes, cell.counts * number)
            for kind, number in self.rows.items()
            for cell in _cells(kind, self.domain)
        ]
        return assemble(self.domain, cells)


@lru_cache(maxsize=64)
def _cells(kind: Kind, domain: Domain) -> tuple[Cells, ...]:
    return tuple(_frame(kind).check(domain).answer(CellQuery(domain)).cells())


@lru_cache(maxsize=256)
def _answer(kind: Kind, query: Any) -> Any:
    return _frame(kind).check(query.domain).answer(query)


def _frame(kind: Kind) -> FrameInput:
    types = {column: pl.String if isinstance(value, str) else pl.Int64 for column, value in kind}
    return FrameInput(pl.DataFrame({column: [value] for column, value in kind}, schema=types))
