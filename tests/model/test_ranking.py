"""The area under the ROC curve from bins is that of the rows, to within the error that it states."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from dpnb_columnar.evaluation.exact_evaluation import LARGEST_LOG_ODDS, RESOLUTION, Ranking, bin_by_log_odds, ranking
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from dpnb_columnar.model.intervals import QUANTILE


def ranked(odds: Sequence[float], own: Sequence[bool]) -> Ranking | None:
    """The ranking of rows with these log-odds."""
    frame = pl.LazyFrame({"own": own, "odds": odds}, schema={"own": pl.Boolean, "odds": pl.Float64})
    # Of both, the smaller is exact: 1 - probability would lose it.
    larger = 1 / (1 + (-pl.col("odds").abs()).exp())
    smaller = (-pl.col("odds").abs()).exp() * larger
    positive = pl.col("odds") >= 0
    frame = frame.with_columns(
        pl.when(positive).then(larger).otherwise(smaller).alias("p"),
        pl.when(positive).then(smaller).otherwise(larger).alias("q"),
    )
    return ranking(bin_by_log_odds(frame, pl.col("own"), pl.col("p"), [pl.col("q")]).collect())


# Whether probabilities show a difference of 1e-16 depends on which side of 0 it is on; so odds have nine digits.
odds_of_a_row = st.one_of(st.floats(-700, 700), st.floats(-3, 3), st.sampled_from([-1.0, 0.0, 2.5]))
rows = st.lists(st.tuples(odds_of_a_row.map(lambda odds: round(odds, 9)), st.booleans()), max_size=60)


@given(rows)
@example([(0.00001, True), (0.00002, False)])  # one bin
@example([(700.0, True), (699.9, False), (-700.0, False)])
def test_area_is_that_of_scikit_learn_within_the_stated_error(rows: list[tuple[float, bool]]) -> None:
    odds, own = [row[0] for row in rows], [row[1] for row in rows]
    found = ranked(odds, own)
    if len(set(own)) < 2:
        assert found is None
        return
    assert found is not None
    assert abs(found.area - roc_auc_score(own, odds)) <= found.error + 1e-9


def test_variance_of_a_few_rows_is_that_of_delong() -> None:
    """Both kinds of rows add to it, and the more the fewer they are."""
    for own, others in (([3, 1, -2], [2, 0, 0, -1, -4]), ([5, -1], [3, 1, 0, 0, -3, -3, -4])):
        rows = [*((odds, True) for odds in own), *((odds, False) for odds in others)]
        has_the_variance_of_delong(rows)
        has_the_variance_of_delong([(-odds, not kind) for odds, kind in rows])


def has_the_variance_of_delong(rows: list[tuple[int, bool]]) -> None:
    odds, own = np.array([row[0] for row in rows], dtype=float), np.array([row[1] for row in rows])
    found = ranked(list(odds), list(own))
    if min(own.sum(), (~own).sum()) < 2:
        assert found is None or found.interval is None
        return
    assert found is not None
    assert found.error == 0
    # The definition: every row of the class beside every other row.
    wins = np.sign(odds[own][:, None] - odds[~own][None, :]) / 2 + 0.5
    variance = wins.mean(axis=1).var(ddof=1) / own.sum() + wins.mean(axis=0).var(ddof=1) / (~own).sum()
    half = QUANTILE * math.sqrt(variance)
    assert found.area == pytest.approx(wins.mean())
    assert found.interval == pytest.approx((max(wins.mean() - half, 0), min(wins.mean() + half, 1)), abs=1e-9)


def test_there_are_no_more_bins_than_stated() -> None:
    probabilities = np.concatenate([np.geomspace(5e-324, 0.5, 200_000), [0.0]])
    frame = pl.LazyFrame({"p": np.concatenate([probabilities, 1 - probabilities])}).with_columns(q=1 - pl.col("p"))
    bins = bin_by_log_odds(frame, pl.lit(True), pl.col("p"), [pl.col("q")]).collect()
    most = math.asinh(LARGEST_LOG_ODDS) * RESOLUTION
    assert bins["bin"].is_between(-most - 1, most).all()
    assert bins["least"].is_finite().all()
    assert bins["rows"].sum() == 2 * len(probabilities)


def test_a_class_with_all_or_no_rows_has_no_area() -> None:
    assert ranked([0.5, 1.5], [True, True]) is None
    assert ranked([0.5, 1.5], [False, False]) is None
    assert ranked([], []) is None


def test_one_row_of_a_kind_gives_no_interval() -> None:
    assert ranked([0.5, 1.5, 2.5], [True, False, False]) == Ranking(0, 0, None)
