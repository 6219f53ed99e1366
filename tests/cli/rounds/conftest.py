"""Rows, and models that wait for rounds over them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.people import write_people
from support.rounds import FIRST, METHODS, at_a_round, released, rows_of
from support.running import Run


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def data(folder: Path, method: str) -> Path:
    document = METHODS[method]
    return write_people(folder / "people.parquet", rows_of(document, 1500), document)


@pytest.fixture
def tables(data: Path, method: str, run: Run) -> Path:
    """A model with every further pass to come."""
    run("aggregate", data, "--output", FIRST)
    return released(method, run, "state-0.json")


@pytest.fixture
def state(data: Path, tables: Path, run: Run) -> Path:
    """A model whose next pass is its first round."""
    return at_a_round(data, tables, run)
