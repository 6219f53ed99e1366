"""How far one row, or one unit, moves all counted numbers: never further than the noise is made for, and some as far.

Every data set of few rows of a tiny domain is counted by the engine, and every neighbour of it.
"""

from __future__ import annotations

from itertools import chain, combinations_with_replacement
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpnb_columnar.core.queries.statistics import CellQuery, Statistics
from dpnb_columnar.counting.engines import local
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain

LABELS = ("a", "b", None)
WEIGHTS = (None, -1.0, 0.0, 0.6, 2.0, 2.5, 100.0, float("inf"))
STEPS = 5
Row = tuple[str | None, float | None]


def declared(**more: Any) -> Domain:
    document = {
        "label": {"column": "label", "classes": ["a", "b"]},
        "attributes": {"x": {"values": ["p", "q"]}},
        "weight": {"column": "w", "cap": "2.5", "step": "0.5", "missing": 1},
        **more,
    }
    return read_domain("tiny", document, "test")


def counted(units: list[tuple[Row, ...]], domain: Domain) -> tuple[list[int], Statistics]:
    """The sums of weights, and all statistics, of rows that stand unit by unit."""
    rows = [row for unit in units for row in unit]
    frame = pl.DataFrame(rows, schema={"label": pl.String, "w": pl.Float64}, orient="row").with_columns(
        u=pl.Series([place for place, unit in enumerate(units) for _ in unit], dtype=pl.Int64),
        x=pl.lit("p"),
    )
    found = local.answer(frame, CellQuery(domain))
    assert found.weight_sums is not None
    return found.weight_sums.tolist(), found


def moved(one: list[int], two: list[int]) -> int:
    return int(np.abs(np.array(one) - np.array(two)).sum())


def test_one_row_moves_the_sums_by_the_cap_at_most_and_a_changed_row_by_twice_that() -> None:
    """The statistics are sums over rows, so single rows on top of none, and of others, show all there is."""
    domain, rows = declared(), [(label, weight) for label in LABELS for weight in WEIGHTS]
    others: list[tuple[Row, ...]] = [(("a", 2.0),), (("b", None),)]
    for base in ([], others):
        none, before = counted(base, domain)
        one_more = {row: counted([*base, (row,)], domain) for row in rows}
        assert max(moved(none, sums) for sums, _ in one_more.values()) == STEPS
        changes = [moved(one, two) for one, _ in one_more.values() for two, _ in one_more.values()]
        assert max(changes) == 2 * STEPS
        within = [moved(one_more["a", first][0], one_more["a", second][0]) for first in WEIGHTS for second in WEIGHTS]
        assert max(within) == STEPS
        for (label, _), (_, after) in one_more.items():
            # All other counts move as those of an unweighted row do.
            assert moved(before.class_counts.tolist(), after.class_counts.tolist()) == (label is not None)
            assert moved(before.tables["x"].tolist(), after.tables["x"].tolist()) == (label is not None)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2])
def test_one_unit_moves_the_sums_by_the_cap_for_each_of_its_rows_that_count(most: int) -> None:
    """All data sets of up to two units of up to three rows, and all with one unit more."""
    domain = declared(unit={"column": "u", "rows": most})
    rows = [("a", 0.0), ("a", 2.5), ("b", 100.0), (None, 1.0)]
    units = [*chain.from_iterable(combinations_with_replacement(rows, size) for size in (1, 2, 3))]
    alone = {unit: counted([unit], domain)[0] for unit in units}
    furthest = 0
    for first, second in combinations_with_replacement(units, 2):
        both, _ = counted([first, second], domain)
        for other, unit in ((alone[first], second), (alone[second], first)):
            difference = np.array(both) - other
            assert difference.tolist() == alone[unit]  # whatever the other unit is
            furthest = max(furthest, moved(both, other))
    assert furthest == most * STEPS
    assert max(moved(one, two) for one in alone.values() for two in alone.values()) == 2 * most * STEPS
