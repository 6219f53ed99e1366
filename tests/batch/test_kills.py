"""Whole runs that are killed at random moments, or race for one budget: benchmarks of the same names, in small."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from benchmarks import killed_verbs, kills, races


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows cannot kill like that")
@pytest.mark.parametrize(("number", "count"), [("SIGKILL", 12), ("SIGTERM", 4)])
def test_killed_runs_are_charged_once_and_leave_nothing_half_done(number: str, count: int, tmp_path: Path) -> None:
    figures = kills.kill_runs(tmp_path, count, signal.Signals[number], seed=None)
    assert figures.kills.total() == count
    assert figures.faults == [], figures.report()
    assert set(figures.ended) <= {0, 77}


@pytest.mark.slow
def test_killed_verbs_end_well_when_they_are_begun_again(tmp_path: Path) -> None:
    verbs = {name: killed_verbs.WRITES[name] for name in ("split", "ledger init")}
    figures = killed_verbs.kill_verbs(tmp_path, 4, None, verbs)
    assert figures.kills.total() >= 4
    assert figures.faults == [], figures.report()
    assert figures.ended.keys() == {0}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["for_budget", "of_one_run", "for_output"])
def test_of_ten_runs_those_succeed_that_may(kind: str, tmp_path: Path) -> None:
    races.simulate_census(tmp_path / races.DATA, rows=races.ROWS, seed=1940)
    ended, well = getattr(races, kind)(tmp_path, 10)
    assert well, ended
