"""Several processes at one ledger, some killed or ended by a signal: nothing overspent, lost or charged twice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.ledger_cases import charge, new_ledger
from support.patience import patience

from dpnb_columnar.core.budget import Approximate, Pure
from dpnb_columnar.ledger import Ledger

HELPERS = Path(__file__).parents[1]

PROLOGUE = """
import os, signal, sys, time
from fractions import Fraction
from collections.abc import Callable
from pathlib import Path
from typing import Any
from support.ledger_cases import charge
from dpnb_columnar.core.budget import Pure
from dpnb_columnar.errors import BudgetError
from dpnb_columnar.ledger import Ledger, storage
path = Path(sys.argv[1])
"""


def started(program: str, path: Path, *arguments: str) -> subprocess.Popen[str]:
    """A process that runs a program with the helpers of this folder."""
    text = f"import sys; sys.path.insert(0, {str(HELPERS)!r})\n{PROLOGUE}\n{program}"
    return subprocess.Popen(
        [sys.executable, "-c", text, str(path), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


RACER = """
print("ready", flush=True)
while not Path(sys.argv[3]).exists():
    time.sleep(0.001)
with Ledger(path) as ledger:
    try:
        ledger.spend(charge(sys.argv[2], Pure(Fraction(3, 10))))
    except BudgetError:
        sys.exit(77)
"""


@pytest.mark.slow
@pytest.mark.parametrize("runs", ["of their own", "the same"])
def test_ten_processes_race_for_a_budget_that_admits_three(
    runs: str, tmp_path: Path, ending: Callable[[Any], Any]
) -> None:
    path = new_ledger(tmp_path / "x.ledger")
    start = tmp_path / "start"
    names = [f"run-{number}" if runs == "of their own" else "run" for number in range(10)]
    processes = [ending(started(RACER, path, name, str(start))) for name in names]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    start.touch()
    ended = [process.communicate(timeout=patience(120))[1] or process.returncode for process in processes]
    with Ledger(path) as ledger:
        spends = [spend.run for spend, _ in ledger.releases()]
        ledger.verify()
        if runs == "the same":
            assert (Counter(ended), spends) == ({0: 10}, ["run"])
        else:
            assert Counter(ended) == {0: 3, 77: 7}
            assert len(spends) == 3
            assert ledger.account("census").spent.epsilon == Fraction(9, 10)


OPENER = """
from dpnb_columnar.cli.main import exit_code
print("ready", flush=True)
while not Path(sys.argv[3]).exists():
    time.sleep(0.001)
sys.exit(exit_code(["ledger", "init", str(path), "--dataset", sys.argv[2], "--epsilon", "1"]))
"""


@pytest.mark.slow
def test_processes_that_make_one_ledger_all_get_their_account(tmp_path: Path, ending: Callable[[Any], Any]) -> None:
    path, start = tmp_path / "x.ledger", tmp_path / "start"
    processes = [ending(started(OPENER, path, name, str(start))) for name in "abcd"]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    start.touch()
    assert [process.communicate(timeout=patience(120))[1] or process.returncode for process in processes] == [0] * 4
    with Ledger(path) as ledger:
        assert {account.dataset for account in ledger.accounts()} == {*"abcd"}
        ledger.verify()
    assert {*tmp_path.iterdir()} == {path, start}


# "Inside" is after the statement that writes, before it is committed.
MORTAL = """
point = sys.argv[2]
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
def dying(section, original):
    def act(self, name, **parameters):
        found = original(self, name, **parameters)
        if name == section:
            die()
        return found
    return act
if point == "inside spend":
    storage.Entries.rows = dying("append", storage.Entries.rows)
if point == "inside keep":
    storage.Entries.rows = dying("keep", storage.Entries.rows)
with Ledger(path) as ledger:
    ledger.spend(charge("a"))
    if point == "after spend":
        die()
    ledger.keep("a", "first")
    die()
"""


@pytest.mark.parametrize(
    ("point", "charged", "document"),
    [("inside spend", 0, None), ("after spend", 1, None), ("inside keep", 0, None), ("after keep", 1, "first")],
)
def test_a_run_that_was_killed_is_begun_again_and_charged_once(
    point: str, charged: int, document: str | None, tmp_path: Path, ending: Callable[[Any], Any]
) -> None:
    path = new_ledger(tmp_path / "x.ledger")
    if point == "inside keep":
        with Ledger(path) as ledger:
            ledger.spend(charge("a"))
        charged = 1
    process = ending(started(MORTAL, path, point))
    assert (process.communicate(timeout=patience(120)), process.returncode) == (("", ""), -signal.SIGKILL)
    with Ledger(path) as ledger:
        ledger.verify()
        assert len(list(ledger.releases())) == charged
        known = ledger.run("a")
        assert (known.document if known else None) == document
        ledger.spend(charge("a"))
        assert ledger.keep("a", "second") == (document or "second")
        assert ledger.account("census").spent.epsilon == Fraction(1, 10)
        ledger.verify()
    assert list(tmp_path.iterdir()) == [path]


SPENDER = """
with Ledger(path) as ledger:
    for number in range(1000):
        run = f"{sys.argv[2]}-{number}"
        ledger.spend(charge(run, Pure(Fraction(1, 1000))))
        print("spent", run, flush=True)
        ledger.keep(run, run)
        print("kept", run, flush=True)
"""


@pytest.mark.slow
def test_what_a_killed_process_was_told_is_on_disk(tmp_path: Path, ending: Callable[[Any], Any]) -> None:
    path = new_ledger(tmp_path / "x.ledger", Approximate(Fraction(1000), Fraction(0)))
    chance = random.Random(7)
    for attempt in range(12):
        process = ending(started(SPENDER, path, str(attempt)))
        assert process.stdout is not None
        told = [process.stdout.readline()]
        time.sleep(chance.uniform(0, 0.3))
        process.kill()
        told += process.stdout.readlines()  # not communicate(), which leaves out what readline() has read ahead
        process.communicate(timeout=patience(120))
        # A kill within a print leaves a line without its end (an unbuffered Python writes it in pieces).
        lines = [line.split() for line in told if line.endswith("\n")]
        with Ledger(path) as ledger:
            ledger.verify()
            runs = [spend.run for spend, _ in ledger.releases() if str(spend.run).startswith(f"{attempt}-")]
            spent = [run for what, run in lines if what == "spent"]
            assert runs[: len(spent)] == spent
            assert len(runs) <= len(spent) + 1
            for what, run in lines:
                known = ledger.run(run)
                assert known is not None
                assert what == "spent" or known.document == run
    with Ledger(path) as ledger:
        assert ledger.account("census").spent.epsilon == Fraction(len(list(ledger.releases())), 1000)
        assert ledger.spend(charge("last", Pure(Fraction(1)))).document is None


PROGRAM = """
import sys, time
from fractions import Fraction
from pathlib import Path
from dpnb_columnar.core.budget import Approximate, Neighbours
from dpnb_columnar.runtime.unfinished import exit_on_signals
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
