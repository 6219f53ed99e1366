"""Every database adds up the weights that a reading row by row does, whatever type their column has."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from support.counted_queries import check
from support.engines import Engine
from support.people import PEOPLE, people, people_domain
from support.weights import RULES, WEIGHTS

ROWS = max(map(len, WEIGHTS))


@pytest.mark.slow
@pytest.mark.parametrize("unit", [None, {"column": "u", "rows": 1}], ids=["rows", "units"])
def test_weights_of_every_type(engine: Engine, tmp_path: Path, unit: dict[str, object] | None) -> None:
    rows = people(ROWS).with_columns(u=pl.Series(range(ROWS)) // 2)
    for place, weights in enumerate(WEIGHTS):
        column = pl.concat([weights, weights.clear(ROWS - len(weights))])
        table = rows.with_columns(column.alias("w")).to_arrow()
        rule = {"column": "w", **RULES[place % len(RULES)]}
        domain = people_domain({**PEOPLE, "weight": rule, **({} if unit is None else {"unit": unit})})
        counted = check(engine, tmp_path, table, domain)
        if engine.dialect != "postgres":  # which casts no boolean to a number unless it knows the column
            assert check(engine, tmp_path, table, domain, {}) == counted, f"{weights.dtype}, columns not known"


def test_the_largest_weights_add_up(engine: Engine, tmp_path: Path) -> None:
    """Sums are whole numbers of 64 bits in every database, whatever type its own sums have."""
    table = people(900).with_columns(w=pl.lit(2**20 - 1)).to_arrow()
    domain = people_domain({**PEOPLE, "weight": {"column": "w", "cap": 2**20}})
    counted = check(engine, tmp_path, table, domain)
    assert counted.weight_sums.sum() == counted.class_counts.sum() * (2**20 - 1)
