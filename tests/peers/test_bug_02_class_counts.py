"""Bug 2. diffprivlib gives the class counts of its GaussianNB a sensitivity of 1. A changed label moves two of them by
1 each, so their share costs twice what is stated.

Ours would show it as a table of counts whose two moved cells lose more than the share that the model states.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from support.people import PEOPLE, people
from support.recorded_draws import Drawn, Forced, counted, draws, total_loss, worst_loss
from support.releases import plan_and_release

from dpnb_columnar.budget import Budget, Neighbours, Pure, Share


def neighbouring_draws(path: Path, mechanism: str, budget: Budget) -> tuple[list[Drawn], list[Drawn], list[Share]]:
    """Draws for rows that differ in one label, and the shares as the model states them, one for each draw."""
    frame = people(60).with_columns(income=pl.lit("low"))
    other = frame.with_columns(income=pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("high")).otherwise("income"))
    first, second = (counted(path, rows, PEOPLE) for rows in (frame, other))
    told = plan_and_release(first, budget, mechanism, draw=Forced(500)).guarantee.composition
    shares = [share for share in told for _ in range(share.values)]
    return draws(first, budget, mechanism), draws(second, budget, mechanism), shares


@pytest.mark.parametrize("mechanism", ["majority", "histogram"])
def test_bug_02_both_counts_that_a_label_moves_are_paid_for(mechanism: str, tmp_path: Path) -> None:
    budget = Budget(Fraction("0.3"), Neighbours.REPLACE_ONE)
    one, two, shares = neighbouring_draws(tmp_path / "rows.parquet", mechanism, budget)
    assert len(one) == len(two) == len(shares)
    queries = dict.fromkeys((share.query, share.attribute) for share in shares)
    for query in queries:
        own = [place for place, share in enumerate(shares) if (share.query, share.attribute) == query]
        moved = [two[place].location - one[place].location for place in own if one[place] != two[place]]
        assert sorted(moved) == [-1, 1], query
        stated = shares[own[0]].cost
        assert isinstance(stated, Pure)
        spent = sum(worst_loss(one[place], two[place]) for place in own)
        assert spent == pytest.approx(float(stated.epsilon), rel=1e-9), query


def test_bug_02_the_same_judge_finds_noise_for_one_count_only(tmp_path: Path) -> None:
    one, two, _ = neighbouring_draws(tmp_path / "rows.parquet", "majority", Budget(Fraction("0.3")))
    assert total_loss(one, two) == pytest.approx(0.6), "calibrated to one count, the label moves two"
