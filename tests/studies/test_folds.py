"""Rows as codes: counts by subtraction and under looser bounds are those that the engine counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support import mini_plan
from support.mini_plan import fitting, tiny_domain

from dpnb_columnar.core.queries.statistics import CellQuery, Statistics
from dpnb_columnar.counting.engines import local
from dpnb_columnar.domain import Domain, Missing, Numeric
from dpnb_columnar.domain.attributes import MAXIMUM_CELLS
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.rows.parquet import open_parquet
from studies.paper.coded_rows import code_rows, split
from studies.paper.data_sets import widened

FOLDS = 3


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    mini_plan.tiny_rows().write_parquet(tmp_path / "tiny.parquet")
    return tmp_path / "tiny.parquet"


def counted(rows: pl.DataFrame, domain: Domain, folder: Path) -> Statistics:
    """Statistics of rows, by the engine."""
    file = folder / "rows.parquet"
    rows.write_parquet(file)
    return local.answer(open_parquet([file], domain), CellQuery(domain))


def test_complete_rows_alone_are_kept_but_for_declared_categories(tiny: Path) -> None:
    domain = tiny_domain()
    assert {name for name in domain.columns if name != "income" and domain[name].missing is not Missing.ROW} == {
        "region"
    }
    rows = fitting(tiny, domain)
    assert not rows.drop("region").null_count().sum_horizontal().item()
    assert rows["region"].null_count()


@pytest.mark.parametrize("factor", [1, 10, 10**6])
def test_training_by_subtraction_is_what_the_engine_counts(factor: int, tiny: Path) -> None:
    """Also under looser bounds, where the engine reads the rows anew."""
    domain = tiny_domain()
    wide = domain if factor == 1 else widened(domain, factor)
    rows = fitting(tiny, domain)
    assert 0 < len(rows) < 400
    fold = np.zeros(len(rows), dtype=int)
    order = np.random.default_rng(7).permutation(len(rows))
    for number in range(FOLDS):
        fold[order[number::FOLDS]] = number
    found = split(code_rows([tiny], domain), domain, FOLDS, seed=7)
    for number in range(FOLDS):
        training = rows.filter(pl.Series(fold != number))
        assert found.training(number, wide) == counted(training, wide, tiny.parent)
        assert found.held_out[number].size == int((fold == number).sum())
    assert found.training(0, domain) != found.training(1, domain)


def test_every_row_is_held_out_once(tiny: Path) -> None:
    domain = tiny_domain()
    found = split(code_rows([tiny], domain), domain, 7, seed=1)
    sizes = [held_out.size for held_out in found.held_out]
    assert max(sizes) - min(sizes) <= 1
    assert sum(sizes) == found.rows.size == len(fitting(tiny, domain))
    for name in ("age", "region"):
        held = pl.concat([part.columns[name].values.gather(part.columns[name].places) for part in found.held_out])
        assert held.sort().to_list() == fitting(tiny, domain)[name].sort().to_list()


def test_widened_bounds_keep_the_codes_of_every_row(tiny: Path) -> None:
    """As long as lower bound and step stay: on a logarithmic scale too, since statistics hold grid codes."""
    domain = tiny_domain()
    wide = widened(domain, 100)
    assert (wide["age"].upper, wide["wage"].upper) == (10_000, 10_000_000)  # type: ignore[union-attr]
    found = split(code_rows([tiny], domain), domain, FOLDS, seed=7)
    narrow, loose = found.training(0, domain), found.training(0, wide)
    for name in ("age", "wage"):
        for one, two in zip(narrow.columns[name], loose.columns[name], strict=True):
            assert one.codes.tolist() == two.codes.tolist()
            assert one.counts.tolist() == two.counts.tolist()
    change = wide["change"]
    assert isinstance(change, Numeric)
    assert (change.lower, change.upper) == (-9950, 9950)
    for one, two in zip(narrow.columns["change"], loose.columns["change"], strict=True):
        assert (one.codes + int((-50 + 9950) / change.step)).tolist() == two.codes.tolist()


@pytest.mark.parametrize(
    ("cells", "factor", "coarser"),
    [
        (10**8, 1, 1),
        (2**32, 1, 1),
        (2**32, 2, 2),
        (2**32, 9, 10),
        (2**32, 11, 16),
        (2**32, 999, 1000),
        (99_999_998, 1000, 32),
    ],
)
def test_a_grid_too_fine_is_made_coarser_by_the_smallest_power(cells: int, factor: int, coarser: int) -> None:
    document = {
        "label": {"column": "y", "classes": ["a", "b"]},
        "attributes": {"x": {"lower": 1, "upper": 1 + cells, "step": 1}},
    }
    domain = read_domain("wide", document, "test")
    attribute = widened(domain, factor)["x"]
    assert isinstance(attribute, Numeric)
    assert attribute.step == coarser
    assert attribute.cells <= MAXIMUM_CELLS
    assert attribute.lower == 1
    assert 0 <= attribute.upper - (1 + cells * factor) < coarser
