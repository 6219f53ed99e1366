"""Rows of a unit that others stand for: dealt out one by one, as cards are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

from dpnb_columnar.domain import read_domain
from dpnb_columnar.rows.unit_order import STANDS_FOR, WEIGHT, deal_out, stood_for, summand


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_rows_are_dealt_out_in_turn(most: int) -> None:
    """Every unit of up to twenty rows: all are stood for, by rows that differ by one at most."""
    for rows in range(1, 21):
        counting = min(rows, most)
        dealt = deal_out(np.full(counting, rows), np.arange(counting), most).tolist()
        cards = Counter(card % counting for card in range(rows))
        assert dealt == [cards[place] for place in range(counting)]


@pytest.mark.parametrize("weighted", [False, True])
def test_what_a_row_adds_is_capped(weighted: bool) -> None:
    document = {
        "label": {"column": "y", "classes": ["a", "b"]},
        "unit": {"column": "u", "rows": 2, "cap": 6},
        "attributes": {"x": {"values": ["p"]}},
    }
    weight = {"weight": {"column": "w", "cap": 10}} if weighted else {}
    domain = read_domain("units", document | weight, "test")
    rows = pl.DataFrame({STANDS_FOR: [1, 3, 4, 2], WEIGHT: [7, 3, 3, 9]})
    assert rows.select(stood_for(domain)).to_series().to_list() == [1, 3, 3, 2]
    assert rows.select(summand(domain)).to_series().to_list() == ([7, 9, 9, 10] if weighted else [1, 3, 3, 2])
