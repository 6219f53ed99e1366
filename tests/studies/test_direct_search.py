"""The paper's direct search finds what the product's search finds."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.mechanisms import smooth
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.core.sensitivity import RunLengthColumn, mean_smooth_sensitivity, variance_smooth_bound
from dpnb_columnar.releases.plan import plan
from hypothesis import given, settings
from hypothesis import strategies as st
from support.releases import plan_and_release

from dpnb_columnar.counting.engines import local
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.rows.parquet import open_parquet
from studies.paper.timing import (
    direct_mean_sensitivity,
    direct_sensitivities,
    direct_variance_bound,
    sorted_values,
)


@st.composite
def columns(draw: st.DrawFn) -> tuple[RunLengthColumn, int, int, float]:
    """A column, a trim that leaves two values, the largest code and beta."""
    cells = draw(st.sampled_from([1, 5, 40, 2**20, 2**32]))
    size = draw(st.integers(3, 60))
    values = draw(st.lists(st.integers(0, cells), min_size=size, max_size=size))
    codes, counts = np.unique(np.array(values, dtype=np.int64), return_counts=True)
    trim = draw(st.integers(0, (size - 2) // 2))
    beta = draw(st.sampled_from([0.001, 0.03, 0.3, 2.0]))
    return RunLengthColumn(codes, counts.astype(np.int64)), trim, cells, beta


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(columns())
def test_direct_search_finds_the_products_sensitivities(case: tuple[RunLengthColumn, int, int, float]) -> None:
    column, trim, cells, beta = case
    values = sorted_values(column)
    assert len(values) == column.size
    mean = mean_smooth_sensitivity(column, trim, cells, beta)
    variance = variance_smooth_bound(column, trim, cells, beta)
    assert direct_mean_sensitivity(values, trim, cells, beta) == pytest.approx(mean, rel=1e-8)
    assert direct_variance_bound(values, trim, cells, beta) == pytest.approx(variance, rel=1e-8)


def test_direct_search_of_a_census_finds_what_a_release_uses(census: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sensitivity of ``smooth``, were the class counts released exactly."""
    domain = find_domain([census]).domain
    budget = Budget(Fraction(10))
    small = census.parent / "small.parquet"
    import polars as pl

    pl.read_parquet(census).head(3000).write_parquet(small)
    statistics = local.answer(open_parquet([small], domain), CellQuery(domain))
    found = direct_sensitivities(statistics, plan(domain, budget, "smooth"))
    drawn: list[float] = []

    class Recording(ExactSampler):
        """Exact counts, and a note of every scale that is no count's."""

        def __call__(self, location, scale, noise, grid_bits=0):  # type: ignore[no-untyped-def]
            if noise.name == "laplace":
                return location
            drawn.append(float(scale))
            return super().__call__(location, scale, noise, grid_bits)

    plan_and_release(statistics, budget, smooth.Smooth.name, None, Recording(SeededBits(1)))
    expected = [
        value for name in (a.name for a in domain.numeric) for q in ("mean", "variance") for value in found[q, name]
    ]
    assert drawn == pytest.approx(expected, rel=1e-8)
