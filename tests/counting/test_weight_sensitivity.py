"""How far one row, or one unit, moves all counted numbers: never further than the noise is made for, and some as far.

Every data set of few rows of a tiny domain is counted by the engine, and every neighbour of it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations_with_replacement
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpnb_columnar.counting.engines import local
from dpnb_columnar.counting.statistics import CellQuery, Statistics
from dpnb_columnar.domain import Domain, read_domain

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


MEMBERS: tuple[Row, ...] = (("a", 1.0), ("b", 2.0), (None, 1.0))
"""Rows of a unit; one has no class, and so counts for nothing."""


def stood_for(most: int, cap: int) -> Domain:
    """A domain of units whose rows that count stand for all of them, at most the cap."""
    domain = declared(unit={"column": "u", "rows": most, "cap": cap})
    return replace(domain, weight=None)


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


@pytest.mark.parametrize(("most", "each"), [(1, 2), (1, 3), (2, 1), (2, 2)])
def test_one_unit_moves_the_sums_of_rows_by_its_size_up_to_the_cap(most: int, each: int) -> None:
    """All units of up to five rows of two classes: the rows that count stand for all of a unit, none for too many."""
    cap = most * each
    domain = stood_for(most, cap)
    units = [tuple(unit) for size in range(1, 6) for unit in combinations_with_replacement(MEMBERS, size)]
    alone = {unit: counted([unit], domain) for unit in units}
    for unit, (sums, found) in alone.items():
        size = sum(label is not None for label, _ in unit)
        assert sum(sums) == min(size, cap)
        assert found.class_counts.sum() == min(size, most)
        # Noise is made for so much of each row that counts.
        assert all(total <= each * rows for total, rows in zip(sums, found.class_counts, strict=True))
    assert domain.sums is not None
    assert max(sum(sums) for sums, _ in alone.values()) == most * domain.sums.steps
    assert max(moved(one, two) for one, _ in alone.values() for two, _ in alone.values()) == 2 * cap


@pytest.mark.slow
@pytest.mark.parametrize(("most", "each"), [(1, 3), (2, 2), (3, 1), (3, 2)])
def test_one_row_of_a_unit_moves_the_sums_of_rows_by_two_rows_that_count_at_most(most: int, each: int) -> None:
    """Every unit of few rows, and every row more: in between the order has each place for the row that comes."""
    domain = stood_for(most, most * each)
    furthest = 0
    for size in range(9):
        for unit in combinations_with_replacement(MEMBERS, size):
            before, _ = counted([unit], domain)
            for row in MEMBERS:
                after, _ = counted([(*unit, row)], domain)
                furthest = max(furthest, moved(before, after))
    assert most * each > 1
    assert 1 < furthest <= 2 * each


def test_a_unit_is_counted_whatever_the_others_are() -> None:
    domain = stood_for(2, 4)
    units = [tuple(unit) for size in (1, 4) for unit in combinations_with_replacement(MEMBERS[:2], size)]
    alone = {unit: np.array(counted([unit], domain)[0]) for unit in units}
    for first, second in combinations_with_replacement(units, 2):
        both, _ = counted([first, second], domain)
        assert both == (alone[first] + alone[second]).tolist()


def test_a_weight_counts_for_the_rows_that_its_row_stands_for_up_to_its_own_cap() -> None:
    domain = declared(unit={"column": "u", "rows": 1, "cap": 4})
    assert counted([(("a", 0.5),) * 3], domain)[0] == [3, 0]
    assert counted([(("a", 0.5),) * 9], domain)[0] == [4, 0]  # of at most four rows
    assert counted([(("a", 1.0),) * 9], domain)[0] == [STEPS, 0]  # at most the cap of a weight
    assert counted([(("b", None),) * 2, (("b", 0.0),) * 4], domain)[0] == [0, 4]
