"""A view that scores rows stays as cheap as its query where its rows are ordered and limited."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.patience import patience

import dpnb_columnar as dpnb

MEMORY = 3 * 2**30
"""Bytes of address space: ten times what the view needs, and far less than one whose steps are merged."""

PROGRAM = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
import duckdb
with duckdb.connect(config={{"threads": 1}}) as connection:
    connection.execute(f"CREATE TABLE person AS FROM '{{sys.argv[1]}}'")
    connection.execute(open(sys.argv[2], encoding="utf-8").read())
    print(connection.sql('SELECT * FROM scored ORDER BY skipped DESC, "probability_>1000" LIMIT 3').fetchall())
"""


@pytest.mark.slow
def test_ordered_and_limited_view_in_duckdb(census: Path, tmp_path: Path) -> None:
    model = dpnb.train(census, epsilon=1)
    query = model.to_sql("duckdb", table="person").partition("WITH")
    (tmp_path / "view.sql").write_text(f"CREATE VIEW scored AS WITH{query[2]}", encoding="utf-8")
    command = [sys.executable, "-c", PROGRAM, str(census), str(tmp_path / "view.sql")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience(120))
    assert ended.returncode == 0, ended.stderr[-500:]
