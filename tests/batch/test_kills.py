"""Whole ``train --ledger`` runs, killed at random moments: ``python -m benchmarks.kills`` in small."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from benchmarks import kills


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows cannot kill like that")
@pytest.mark.parametrize(("number", "count"), [("SIGKILL", 12), ("SIGTERM", 4)])
def test_killed_runs_are_charged_once_and_leave_nothing_half_done(number: str, count: int, tmp_path: Path) -> None:
    figures = kills.kill_runs(tmp_path, count, signal.Signals[number], seed=None)
    assert figures.kills.total() == count
    assert figures.faults == [], figures.report()
    assert set(figures.ended) <= {0, 77}
