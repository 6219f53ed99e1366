"""Attributes that are counted together are counted as if each were alone."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from aggregation_cases import LABEL, by_polars, check, declared, labelled
from hypothesis import given, settings
from hypothesis import strategies as st
from people import PEOPLE, people

from dpnb_columnar.aggregation import counters, joint_tables, polars_engine
from dpnb_columnar.aggregation.counters import DenseCounter, SparseCounter
from dpnb_columnar.domain import Attribute, Categorical, Numeric
from dpnb_columnar.rows.source import open_source

sizes = st.lists(st.sampled_from([1, 2, 3, 9, 250, 65_536, 2**32]), max_size=60)


def attribute(number: int, codes: int) -> Attribute:
    if codes < 10:
        return Categorical(f"x{number}", tuple(map(str, range(codes))))
    return Numeric(f"x{number}", Fraction(0), Fraction(codes - 1), Fraction(1))


@given(st.integers(2, 400), sizes)
def test_every_attribute_is_in_one_table_of_bounded_size(classes: int, codes: list[int]) -> None:
    attributes = [attribute(number, size) for number, size in enumerate(codes)]
    tables = joint_tables.joint_tables(classes, attributes)
    assert Counter(each.name for table in tables for each in table.attributes) == Counter(
        each.name for each in attributes
    )
    for table in tables:
        assert table.shape[0] == classes
        assert len(table.attributes) <= joint_tables.MOST_ATTRIBUTES
        assert len(table.attributes) <= 1 or table.cells <= joint_tables.MOST_CELLS


def test_many_small_attributes_share_a_table() -> None:
    tables = joint_tables.joint_tables(2, [attribute(number, 2) for number in range(15)])
    assert [table.cells for table in tables] == [2**16]


@given(st.integers(2, 4), st.lists(st.integers(1, 5), max_size=4), st.randoms(use_true_random=False))
def test_margins(classes: int, codes: list[int], chance: object) -> None:
    table = joint_tables.JointTable(classes, tuple(attribute(number, size) for number, size in enumerate(codes)))
    generator = np.random.default_rng(chance.getrandbits(32))  # type: ignore[attr-defined]
    counts = generator.integers(0, 5, table.shape)
    places = np.flatnonzero(counts)
    margins = table.margins(places, counts.ravel()[places])
    assert [cells.attribute for cells in margins] == [None, *(f"x{number}" for number in range(len(codes)))]
    for axis, cells in enumerate(margins):
        others = tuple(other for other in range(1, counts.ndim) if other != axis)
        expected = counts.sum(axis=others).reshape(classes, -1)
        found = np.zeros_like(expected)
        np.add.at(found, (cells.classes, cells.codes), cells.counts)
        assert np.array_equal(found, expected)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 40), max_size=30), max_size=8), st.integers(0, 60))
def test_both_counters_count(parts: list[list[int]], waiting: int) -> None:
    expected = sorted(Counter(place for part in parts for place in part).items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counters, "MOST_WAITING", waiting)
        for counter in (DenseCounter(41), SparseCounter()):
            for part in parts:
                counter.add(pl.Series(part, dtype=pl.UInt16))
            places, counts = counter.counted()
            assert sorted(zip(places.tolist(), counts.tolist(), strict=True)) == expected


@pytest.mark.parametrize("most", [0, 500, 2**24])
def test_tables_without_a_counter_for_every_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """None of the tables, some, or all have one."""
    monkeypatch.setattr(polars_engine, "MOST_COUNTERS", most)
    check(tmp_path, people(500).to_arrow(), PEOPLE, group=100)


def test_a_grid_of_billions_of_cells(tmp_path: Path) -> None:
    values = pa.array([0.0, 1e9, 2**32 - 1.0, 3.0, -5.0, 1e300, None, 3.2])
    bounds = {"lower": 0, "upper": 2**32 - 1, "step": 1}
    check(tmp_path, labelled(x=values), {"label": LABEL, "attributes": {"x": bounds}})


def test_more_attributes_of_one_category_than_an_expression_is_deep(tmp_path: Path) -> None:
    names = [f"x{number}" for number in range(1000)]
    pq.write_table(labelled(**{name: pa.array([1] * 8, pa.int8()) for name in names}), tmp_path / "x.parquet")
    domain = declared({"label": LABEL, "attributes": {name: {"values": ["1"]} for name in names}})
    found = by_polars(open_source([tmp_path / "x.parquet"], domain), domain)
    assert all(np.array_equal(table[:, 0], found.class_counts) for table in found.tables.values())
    assert found.class_counts.sum() == 8
