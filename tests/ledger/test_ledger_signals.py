"""A signal that comes within a transaction ends the process after it: no journal is left, and no entry is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.patience import patience

from dpnb_columnar.ledger import Ledger

PROGRAM = """
import sys, time
from fractions import Fraction
from pathlib import Path
from dpnb_columnar.core.budget import Approximate, Neighbours
from dpnb_columnar.runtime.signals import exit_on_signals
from dpnb_columnar.ledger import Ledger
from dpnb_columnar.ledger.storage import Entries

append = Entries.append

def slowly(*arguments):
    append(*arguments)
    Path("ready").touch()
    time.sleep(0.5)

if "engine" in sys.argv:
    import duckdb
Entries.append = slowly
exit_on_signals()
with Ledger.create(Path("x.ledger")) as ledger:
    ledger.open_account("people", Approximate(Fraction(1), Fraction(0)), Neighbours.ADD_REMOVE)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("engine", ["engine", "no engine"])
def test_a_transaction_is_finished_before_the_process_ends(engine: str, number: signal.Signals, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM, engine], cwd=tmp_path, stderr=subprocess.PIPE) as process:
        while not (tmp_path / "ready").exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(number)
        process.communicate(timeout=patience(60))
    assert process.returncode == 128 + number
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ready", "x.ledger"]
    with Ledger(tmp_path / "x.ledger") as ledger:
        assert ledger.account("people").limit.epsilon == 1
