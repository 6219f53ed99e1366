"""The whole queries in ``sql/queries`` are those that the program writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.golden_queries import golden_queries

FOLDER = Path(__file__).parents[2] / "sql" / "queries"
QUERIES = dict(golden_queries())


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_is_what_stands_in_its_file(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == QUERIES[name], "run python tests/golden/write_queries.py"


def test_there_is_no_other_file() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*QUERIES, "README.md"}
