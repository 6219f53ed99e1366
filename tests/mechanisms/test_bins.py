"""Bins of histograms: they cover every code once, whatever was released, and follow what they are placed by."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from dpnb_columnar.core.mechanisms.bins import declared_edges, equal_edges, geometric_edges, placed_edges
from dpnb_columnar.core.mechanisms.histogram import MOST_OUTER_BINS
from dpnb_columnar.core.mechanisms.tuning import MOST_BINS
from hypothesis import given
from hypothesis import strategies as st
from support.model_cases import declared

lasts = st.integers(1, 2**32) | st.integers(1, 100)
numbers = st.integers(1, MOST_BINS)


def covers(edges: list[int], last: int) -> bool:
    return edges[0] == 0 and edges[-1] == last + 1 and all(low < high for low, high in pairwise(edges))


@given(lasts, numbers)
def test_equal_bins_cover_every_code_and_differ_by_one_at_most(last: int, number: int) -> None:
    edges = equal_edges(last, number)
    assert covers(edges, last)
    assert len(edges) - 1 == min(number, last + 1)
    assert max(np.diff(edges)) - min(np.diff(edges)) <= 1


@given(lasts, numbers, st.data())
def test_geometric_bins_cover_every_code_and_grow_away_from_the_origin(
    last: int, number: int, data: st.DataObject
) -> None:
    origin = data.draw(st.integers(0, last))
    edges = geometric_edges(last, origin, number)
    assert covers(edges, last)
    assert len(edges) - 1 <= number + 1
    right = np.diff([edge for edge in edges if edge >= origin])
    assert all(high >= low - 2 for low, high in pairwise(right[:-1]))


@given(lasts, numbers, st.data())
def test_placed_bins_cover_every_code_whatever_was_released(last: int, number: int, data: st.DataObject) -> None:
    mean, deviation = data.draw(st.floats(0, last)), data.draw(st.floats(0.1, 1.5 * last + 1))
    edges = placed_edges(last, number, mean, deviation)
    assert covers(edges, last)
    assert len(edges) - 1 <= number + MOST_OUTER_BINS


def test_placed_bins_are_narrow_where_the_values_are_and_wide_outside() -> None:
    edges = placed_edges(10**6, 20, mean=400.0, deviation=80.0)
    inside = [edge for edge in edges if 200 <= edge <= 600]
    assert len(inside) == 21
    assert set(np.diff(inside)) == {20}
    assert len(edges) < 36


def test_an_amount_gets_growing_bins_and_anything_else_equal_ones() -> None:
    domain = declared(
        {
            "wage": {"lower": 0, "upper": 10**6, "step": 1},
            "balance": {"lower": -5000, "upper": 10**6, "step": 1},
            "age": {"lower": 0, "upper": 120, "step": 1},
            "length": {"lower": 0, "upper": 20, "step": "0.001"},
            "logged": {"lower": 0, "upper": 10**6, "step": 1, "transform": "log1p"},
        }
    )
    widths = {attribute.name: np.diff(declared_edges(attribute, 16)) for attribute in domain.numeric}
    assert widths["wage"][0] <= 2
    assert widths["wage"][-1] > 10**5
    assert np.argmin(widths["balance"]) in range(4, 9)
    for name in ("age", "length", "logged"):
        assert max(widths[name]) - min(widths[name]) <= 1
