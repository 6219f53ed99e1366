"""Weights of rows are added up in steps, by a rule of one row alone; one row moves the sums by the cap at most."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.people import PEOPLE, people, people_domain, write_people
from support.releases import train
from support.rows_in_python import counts_of, expected_counts
from support.weights import RULES, WEIGHTS

from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.queries.statistics import CellQuery, Cells, Statistics, assemble
from dpnb_columnar.counting import local
from dpnb_columnar.counting.answer_files import load_statistics, save_answer
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.domain.declared_domain import WEIGHT_CODE
from dpnb_columnar.errors import DataError
from dpnb_columnar.releases.plan import plan
from dpnb_columnar.rows.parquet import open_parquet


def weighted(rule: dict[str, Any] | None = None, **more: Any) -> Domain:
    return people_domain({**PEOPLE, "weight": {"column": "w", **(rule or RULES[0])}, **more})


def some_people(rows: int = 500) -> pl.DataFrame:
    weights = np.random.default_rng(3).integers(0, 500, rows)
    return people(rows).with_columns(w=pl.Series(weights), u=pl.Series(np.arange(rows) // 3))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("weights", WEIGHTS, ids=lambda weights: str(weights.dtype))
@pytest.mark.parametrize("unit", [None, {"column": "u", "rows": 1}])
def test_any_weight_counts_as_a_reading_row_by_row(
    tmp_path: Path, rule: dict[str, Any], weights: pl.Series, unit: dict[str, Any] | None
) -> None:
    rows = people(len(weights)).with_columns(weights.alias("w"), u=pl.Series(np.arange(len(weights)) // 2))
    rows = pl.concat([rows, rows.with_columns(income=pl.lit(None, pl.String))])  # these do not count
    domain = weighted(rule, **({} if unit is None else {"unit": unit}))
    expected = expected_counts(rows.to_dicts(), domain)
    assert counts_of(local.answer(rows, CellQuery(domain))) == expected
    path = write_people(tmp_path / "rows.parquet", rows, None)
    assert counts_of(local.answer(open_parquet([path], domain), CellQuery(domain))) == expected


def test_weights_change_no_other_count() -> None:
    rows = some_people()
    with_weights, without = (local.answer(rows, CellQuery(domain)) for domain in (weighted(), people_domain()))
    counted = {cell: count for cell, count in counts_of(with_weights).items() if cell[::2] != (None, WEIGHT_CODE)}
    assert counted == counts_of(without)
    assert without.weight_sums is None
    assert with_weights.weight_sums.sum() == rows["w"].clip(0, 400).sum()


def test_rows_of_a_unit_that_differ_in_weight_alone_are_chosen_by_it() -> None:
    """Wherever they stand, so that the choice is a function of the unit's rows."""
    one = people(1).with_columns(u=pl.lit(1))
    rows = pl.concat([one] * 6).with_columns(w=pl.Series([5, 900, 3, 77, None, 4]))
    domain = weighted(unit={"column": "u", "rows": 2})
    counted = [local.answer(rows[order], CellQuery(domain)) for order in ([*range(6)], [5, 2, 0, 4, 1, 3])]
    assert counted[0] == counted[1]
    assert counts_of(counted[0]) == expected_counts(rows.to_dicts(), domain)


def test_weights_of_units_out_of_order_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a unit comes after a larger one, all rows come once more, and what was added up before is forgotten."""
    monkeypatch.setattr(local, "PART_ROWS", 8)
    rows = some_people(90)
    domain = weighted(unit={"column": "u", "rows": 1})
    disordered = pl.concat([rows, rows[:1]])
    assert counts_of(local.answer(disordered, CellQuery(domain))) == expected_counts(disordered.to_dicts(), domain)


def test_files_that_duckdb_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB counts the categories, and Polars the rest: weights once."""
    path = write_people(tmp_path / "rows.parquet", some_people(), None)
    source = open_parquet([path], weighted())
    alone = local.answer(source, CellQuery(weighted()))
    monkeypatch.setattr(local, "SMALL", 0)
    assert local.answer(source, CellQuery(weighted())) == alone


def test_files_and_sums_hold_the_weights(tmp_path: Path) -> None:
    rows = some_people()
    whole = local.answer(rows, CellQuery(weighted()))
    files = [write_people(tmp_path / f"{place}.parquet", rows[place::2], None) for place in range(2)]
    parts = [local.answer(open_parquet([file], weighted()), CellQuery(weighted())) for file in files]
    for place, part in enumerate(parts):
        save_answer(part, tmp_path / f"part{place}")
    first, second = (load_statistics(tmp_path / f"part{place}") for place in range(2))
    assert first + second == whole
    assert whole - parts[0] == parts[1]
    assert first != second


def test_statistics_of_another_weight_are_refused(tmp_path: Path) -> None:
    rows = some_people()
    for counted_in, wanted, words in (
        (
            people_domain(),
            weighted(),
            "with no weight, not with w, at most 400 each, 0 for a row without one; aggregate",
        ),
        (
            weighted(),
            people_domain(),
            "with w, at most 400 each, 0 for a row without one, not with no weight; aggregate",
        ),
    ):
        path = tmp_path / f"{counted_in.weight is None}"
        save_answer(local.answer(rows, CellQuery(counted_in)), path)
        with pytest.raises(DataError, match=f"another domain than 'people', the one asked for: {words}"):
            load_statistics(path, wanted)


def sums(*counts: tuple[int, int, int]) -> list[Cells]:
    classes, codes, numbers = (np.array(column, dtype=np.int64) for column in zip(*counts, strict=True))
    return [Cells(None, classes, codes, numbers)]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (sums((0, 0, 2), (0, 1, 801)), "weights add up to more than the cap for every row"),
        (sums((1, 0, 2), (0, 1, 1)), "weights add up to more than the cap for every row"),
        (sums((0, 0, 2), (0, 1, -1)), "a count of the classes is below zero"),
        (sums((0, 0, 2), (0, 2, 1)), "a cell of the classes lies outside the domain"),
        (sums((0, 0, 2**45), (0, 1, 1)), "do not add up to|more rows than"),
        (sums((0, 0, 2), (0, 1, 2**62), (0, 1, 2**62)), "more than"),
    ],
)
def test_sums_that_no_rows_have_are_refused(cells: list[Cells], words: str) -> None:
    domain = weighted({"cap": 400} if cells[0].counts.max() < 2**40 else {"cap": 2**20})
    with pytest.raises(ValueError, match=words):
        assemble(domain, cells)


@pytest.mark.parametrize("weights", ["calibrated", "learned"])
def test_further_passes_choose_the_rows_of_the_first(weights: str) -> None:
    """Of a unit's two rows, alike but for class and weight, either may be first; a pass of others is refused."""
    one = some_people(300).with_columns(u=pl.Series(np.arange(300)))
    other = one.with_columns(w=pl.col("w") + 1, income=pl.lit("high"))
    rows = pl.concat([one, other])
    attributes = {**PEOPLE["attributes"], **{f"a{place}": {"values": ["x"]} for place in range(5)}}
    rows = rows.with_columns(**{f"a{place}": pl.lit("x") for place in range(5)})
    domain = weighted(unit={"column": "u", "rows": 1}, attributes=attributes)
    model = train(plan(domain, Budget(Fraction(8)), "histogram", None, weights), FrameInput(rows))
    assert model.attribute_weights is not None
    assert model.weighted_classes is not None
    assert counts_of(local.answer(rows, CellQuery(domain))) == expected_counts(rows.to_dicts(), domain)


LABELS = ("a", "b", None)
OF_A_ROW = (None, -1.0, 0.0, 0.6, 2.0, 2.5, 100.0, float("inf"))
STEPS = 5
Row = tuple[str | None, float | None]


def tiny(**more: Any) -> Domain:
    document = {
        "label": {"column": "label", "classes": ["a", "b"]},
        "attributes": {"x": {"values": ["p", "q"]}},
        "weight": {"column": "w", "cap": "2.5", "step": "0.5", "missing": 1},
        **more,
    }
    return read_domain("tiny", document, "test")


def counted_units(units: list[tuple[Row, ...]], domain: Domain) -> tuple[list[int], Statistics]:
    """The sums of weights, and all statistics, of rows that stand unit by unit."""
    rows = [row for unit in units for row in unit]
    frame = pl.DataFrame(rows, schema={"label": pl.String, "w": pl.Float64}, orient="row").with_columns(
        u=pl.Series([place for place, unit in enumerate(units) for _ in unit], dtype=pl.Int64), x=pl.lit("p")
    )
    found = local.answer(frame, CellQuery(domain))
    return found.weight_sums.tolist(), found


def moved(one: list[int], two: list[int]) -> int:
    return int(np.abs(np.array(one) - np.array(two)).sum())


def test_one_row_moves_the_sums_by_the_cap_at_most_and_a_changed_row_by_twice_that() -> None:
    """The statistics are sums over rows, so single rows on top of none, and of others, show all there is."""
    domain, rows = tiny(), [(label, weight) for label in LABELS for weight in OF_A_ROW]
    others: list[tuple[Row, ...]] = [(("a", 2.0),), (("b", None),)]
    for base in ([], others):
        none, before = counted_units(base, domain)
        one_more = {row: counted_units([*base, (row,)], domain) for row in rows}
        assert max(moved(none, sums) for sums, _ in one_more.values()) == STEPS
        changes = [moved(one, two) for one, _ in one_more.values() for two, _ in one_more.values()]
        assert max(changes) == 2 * STEPS
        within = [moved(one_more["a", first][0], one_more["a", second][0]) for first in OF_A_ROW for second in OF_A_ROW]
        assert max(within) == STEPS
        for (label, _), (_, after) in one_more.items():
            # All other counts move as those of an unweighted row do.
            assert moved(before.class_counts.tolist(), after.class_counts.tolist()) == (label is not None)
            assert moved(before.tables["x"].tolist(), after.tables["x"].tolist()) == (label is not None)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2])
def test_one_unit_moves_the_sums_by_the_cap_for_each_of_its_rows_that_count(most: int) -> None:
    """All data sets of up to two units of up to three rows, and all with one unit more."""
    domain = tiny(unit={"column": "u", "rows": most})
    rows = [("a", 0.0), ("a", 2.5), ("b", 100.0), (None, 1.0)]
    units = [*chain.from_iterable(combinations_with_replacement(rows, size) for size in (1, 2, 3))]
    alone = {unit: counted_units([unit], domain)[0] for unit in units}
    furthest = 0
    for first, second in combinations_with_replacement(units, 2):
        both, _ = counted_units([first, second], domain)
        for other, unit in ((alone[first], second), (alone[second], first)):
            difference = np.array(both) - other
            assert difference.tolist() == alone[unit]  # whatever the other unit is
            furthest = max(furthest, moved(both, other))
    assert furthest == most * STEPS
    assert max(moved(one, two) for one in alone.values() for two in alone.values()) == 2 * most * STEPS
