"""Whole ``train --ledger`` runs that race, all of them about to spend at one moment: ``python -m benchmarks.races``."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import races


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["for_budget", "of_one_run", "for_output"])
def test_of_ten_runs_those_succeed_that_may(kind: str, tmp_path: Path) -> None:
    races.simulate_census(tmp_path / races.DATA, rows=races.ROWS, seed=1940)
    ended, well = getattr(races, kind)(tmp_path, 10)
    assert well, ended
