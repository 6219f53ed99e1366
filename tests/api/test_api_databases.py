"""Functions that read rows take a table of a database as they take a file of its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from support.people import people, people_domain, write_people
from support.tables import into_duckdb, into_sqlite

import dpnb_columnar as dpnb
from dpnb_columnar import errors

ROWS = people(400, seed=5)
FILE = Path("people.parquet")


@pytest.fixture(params=["duckdb", "sqlite"])
def database(request: pytest.FixtureRequest, folder: Path) -> str:
    """A database whose table holds the rows of ``people.parquet``."""
    write_people(FILE, ROWS)
    name = f"census.{request.param}"
    (into_duckdb if request.param == "duckdb" else into_sqlite)(Path(name), ROWS)
    return name


def test_a_table_is_counted_as_a_file(database: str) -> None:
    domain: Any = people_domain()
    assert dpnb.aggregate(database, table="person", domain=domain) == dpnb.aggregate(FILE)
    model = dpnb.train(database, table="person", domain=domain, epsilon=1, attribute_weights="calibrated")
    assert model.guarantee.epsilon == 1
    assert dpnb.evaluate(model, database, table="person").accuracy == dpnb.evaluate(model, FILE).accuracy
    there, here = dpnb.check(database, table="person", domain=domain), dpnb.check(FILE)
    assert (there.diagnosis.columns, there.repeats) == (here.diagnosis.columns, here.repeats)
    assert there.files == 0
    scores = dpnb.release_scores(model, Path(database), table="person", epsilon=1)
    assert scores.figures


def test_a_run_on_a_table_is_charged_once(database: str, run: Any) -> None:
    run("ledger", "init", "l.ledger", "--dataset", "people", "--epsilon", 1)
    given: Any = {"table": "person", "domain": people_domain(), "epsilon": 1, "ledger": "l.ledger", "run_id": "first"}
    assert dpnb.train(database, **given) == dpnb.train(database, **given)
    with pytest.raises(errors.UsageError, match="first"):
        dpnb.train(database, **{**given, "table": "main.person"})


def test_a_table_is_split_as_a_file(database: str) -> None:
    parts = dpnb.split(database, table="person")
    assert [part.name for part in parts] == ["census.train.parquet", "census.test.parquet"]
    for part, expected in zip(parts, dpnb.split(FILE), strict=True):
        made, wanted = pl.read_parquet(part), pl.read_parquet(expected)
        assert_frame_equal(made.cast(pl.String), wanted.cast(pl.String))


def test_a_further_pass_reads_a_table(database: str) -> None:
    domain = people_domain()
    tables = dpnb.release(dpnb.aggregate(FILE), epsilon=1, attribute_weights="calibrated")
    assert dpnb.count_given(database, tables, table="person").counts.sum() == ROWS.height
    assert domain == tables.domain
