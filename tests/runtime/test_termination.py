"""A run that is told to end does so at once, leaves no unfinished output, and says so by its exit code.

Each case is a process of its own, inside a call of an engine that would last for minutes.
"""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.patience import patience, wait_for

from dpnb_columnar.cli import main
from dpnb_columnar.runtime.unfinished import GRACE_SECONDS

PROGRAM = """
import signal, sys, threading, time
from pathlib import Path
import dpnb_columnar.simulation
from dpnb_columnar.cli.main import run
from dpnb_columnar.runtime.outputs import atomic_output

def ready():
    Path("ready").touch()

def polars():
    import polars as pl
    numbers = pl.int_range(60_000_000, eager=True).to_frame("a").lazy()
    value = (pl.col("a") * 7919 % 1000003).cast(pl.Float64)
    query = numbers.select(value.sin().cos().tan().exp().log().sqrt().sort().sum())
    ready()
    pl.collect_all([query] * 100, engine="streaming")

def duckdb():
    import duckdb
    with duckdb.connect() as connection:
        ready()
        connection.execute("SELECT sum(sin(a.range * b.range)) FROM range(200000) a, range(200000) b").fetchall()

def python():
    ready()
    while True:
        time.sleep(0.01)

def swallowed():
    try:
        python()
    except SystemExit:
        raise ValueError("an engine's own words") from None

def deaf():
    ready()
    while True:
        try:
            time.sleep(0.01)
        except SystemExit:
            pass

def write(output, **_):
    with atomic_output(output) as partial:
        partial.write_text("begun")
        WORK()

dpnb_columnar.simulation.simulate_census = write
WORK = globals()[sys.argv[1]]
run(["simulate", "census.parquet"])
"""

WORKS = ("polars", "duckdb", "python", "swallowed", "deaf")


@contextmanager
def started(folder: Path, work: str, program: str = PROGRAM, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A run inside that work, its output begun."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    with subprocess.Popen([sys.executable, "-c", program, work], cwd=folder, **options) as process:
        try:
            wait_for(lambda: (folder / "ready").exists() or process.poll() is not None)
            time.sleep(0.3)  # into the engine's call
            (folder / "ready").unlink()
            yield process
        finally:
            process.kill()


def names_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "work"),
    [
        *product((signal.SIGTERM, signal.SIGINT, signal.SIGHUP), WORKS),
        (signal.SIGXCPU, "polars"),
        (signal.SIGXCPU, "duckdb"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_signal_ends_a_run_in_whatever_it_is_doing(number: signal.Signals, work: str, tmp_path: Path) -> None:
    # A run of the tests under nohup hands on that SIGHUP is ignored.
    with started(tmp_path, work, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)) as process:
        assert len(names_of(tmp_path)) == 2
        process.send_signal(number)
        out, err = process.communicate(timeout=patience(60))
    said = f"dpnb-columnar: ended by {number.name}; no unfinished output is left\n"
    assert (process.returncode, out, err.decode()) == (128 + number, b"", said)
    assert names_of(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("work", ["polars", "duckdb", "deaf"])
def test_a_second_signal_ends_it_without_waiting(work: str, tmp_path: Path) -> None:
    with started(tmp_path, work) as process:
        process.send_signal(signal.SIGTERM)
        time.sleep(GRACE_SECONDS / 10)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=patience(60))
    assert process.returncode == 143
    assert names_of(tmp_path) == []


@pytest.mark.slow
def test_an_interrupt_that_was_ignored_stays_ignored(tmp_path: Path) -> None:
    """As in what cron and a shell's background start."""

    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with started(tmp_path, "python", preexec_fn=ignore) as process:
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS + 1)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=patience(60))
    assert process.returncode == 143
    assert names_of(tmp_path) == []


@pytest.mark.slow
def test_the_cursor_of_a_terminal_is_shown_again(tmp_path: Path) -> None:
    """Progress is drawn in the meantime, and hides it."""
    controller, terminal = pty.openpty()
    os.set_blocking(controller, False)
    shown = b""
    try:
        with started(tmp_path, "deaf", stderr=terminal) as process:
            process.send_signal(signal.SIGTERM)
            end = time.monotonic() + patience(60)
            while process.poll() is None and time.monotonic() < end:
                with suppress(BlockingIOError):
                    shown += os.read(controller, 2**16)
                time.sleep(0.01)
        with suppress(BlockingIOError):
            shown += os.read(controller, 2**16)
    finally:
        os.close(controller)
        os.close(terminal)
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")


def test_a_command_in_this_process_leaves_signals_alone(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU)
    before = [signal.getsignal(number) for number in numbers]
    assert main.exit_code(["--version"]) == 0
    assert capsys.readouterr().out
    assert [signal.getsignal(number) for number in numbers] == before
    assert signal.set_wakeup_fd(-1) == -1


@pytest.mark.slow
@pytest.mark.parametrize("work", ["duckdb", "deaf"])
def test_a_run_that_ends_at_once_writes_its_final_output(work: str, tmp_path: Path) -> None:
    program = PROGRAM.replace(
        "def write(",
        "from dpnb_columnar.cli import main\n"
        "final = lambda code: (f'ended with {code}\\n', 'said\\n')\n"
        "main.exit_on_signals = lambda *_: termination.exit_on_signals(final)\n"
        "from dpnb_columnar.runtime import unfinished as termination\n"
        "def write(",
    )
    with started(tmp_path, work, program) as process:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=patience(60))
    assert (process.returncode, out, err) == (143, b"ended with 143\n", b"said\n")


def test_an_output_in_place_stays_there(tmp_path: Path) -> None:
    with started(tmp_path, "deaf", PROGRAM.replace("        WORK()\n", "    WORK()\n")) as process:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=patience(60))
    assert process.returncode == 143
    assert names_of(tmp_path) == ["census.parquet"]
