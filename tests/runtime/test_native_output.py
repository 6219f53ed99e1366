"""What native code writes to standard error is discarded while it has rows to read, and nothing else is lost."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import redirect_stderr, suppress
from io import StringIO
from pathlib import Path

import pytest
from support.patience import patience
from support.people import write_people

from dpnb_columnar.runtime.confinement import confined

PROGRAM = """
import sys
from pathlib import Path
import polars as pl
import dpnb_columnar as dpnb
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import DataError
from support.people import PEOPLE
door = sys.argv[1]
domain = read_domain("people", PEOPLE, "test")
frame = pl.read_parquet("people.parquet")
import os
os.environ["POLARS_PANIC_ON_ERR"] = "1"  # from here on Polars panics where it would return an error
pl.Config.load("{}")
print("before", file=sys.stderr)
try:
    if door == "train":
        dpnb.train("people.parquet", epsilon=1, domain=domain)
    elif door == "aggregate":
        dpnb.aggregate(frame.lazy(), domain=domain)
    elif door == "estimator":
        from dpnb_columnar.sklearn import SmoothNaiveBayes
        SmoothNaiveBayes(domain=domain).fit(frame.drop("income"), frame["income"])
    raise SystemExit("nothing went wrong")
except (DataError, ValueError, pl.exceptions.PanicException) as error:
    print(type(error).__name__)
print("after", file=sys.stderr)
"""


def panic(door: str, folder: Path, **environment: str) -> str:
    """Return what a call of the Python interface in which Polars panics leaves on standard error."""
    write_people(folder / "people.parquet")
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, door],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "RUST_BACKTRACE": "0", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(120),
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("door", ["train", "aggregate", "estimator"])
def test_a_panic_of_polars_prints_nothing(door: str, tmp_path: Path) -> None:
    assert panic(door, tmp_path) == "before\nafter\n"


@pytest.mark.slow
def test_a_curator_can_ask_for_what_polars_prints(tmp_path: Path) -> None:
    assert "panicked at" in panic("aggregate", tmp_path, DPNB_TRACEBACK="confidential")


def native(text: str) -> None:
    """Write to descriptor 2 as native code does."""
    ctypes.CDLL(None).write(2, text.encode(), len(text))


@pytest.fixture
def errors(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.CaptureFixture[str]]:
    """Descriptor 2, and a ``sys.stderr`` that writes to it, as in a program."""
    with open(2, "w", buffering=1, closefd=False) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        yield capfd


def test_native_output_is_discarded_within_a_block_alone(errors: pytest.CaptureFixture[str]) -> None:
    native("1 ")
    with confined():
        native("secret 42")
    native("2 ")
    with suppress(ValueError), confined():
        native("secret 42")
        raise ValueError
    native("3")
    assert errors.readouterr().err == "1 2 3"


def test_python_can_write_within_a_block(errors: pytest.CaptureFixture[str]) -> None:
    print("before", file=sys.stderr)
    with confined():
        print("within", file=sys.stderr)
        native("secret 42")
        thread = threading.Thread(target=lambda: print("in a thread", file=sys.stderr))
        thread.start()
        thread.join()
        kept = sys.stderr
    print("after", file=sys.stderr)
    print("from a stream that was kept", file=kept, flush=True)
    assert errors.readouterr().err.split("\n")[:-1] == [
        "before",
        "within",
        "in a thread",
        "after",
        "from a stream that was kept",
    ]


def test_blocks_of_several_threads_end_with_the_last(errors: pytest.CaptureFixture[str]) -> None:
    begun, ended = threading.Event(), threading.Event()

    def other() -> None:
        with confined():
            begun.set()
            ended.wait()

    thread = threading.Thread(target=other)
    with confined(), confined():
        thread.start()
        begun.wait()
    native("secret 42")
    ended.set()
    thread.join()
    native("after")
    assert errors.readouterr().err == "after"


def test_a_stream_that_another_thread_has_put_in_place_stays(errors: pytest.CaptureFixture[str]) -> None:
    other = StringIO()
    redirected = redirect_stderr(other)
    with confined():
        redirected.__enter__()
    print("caught", file=sys.stderr)
    redirected.__exit__(None, None, None)
    print("after", file=sys.stderr, flush=True)
    assert other.getvalue() == "caught\n"
    assert errors.readouterr().err == "after\n"


def test_a_stream_of_a_notebook_is_left_alone(errors: pytest.CaptureFixture[str]) -> None:
    with redirect_stderr(StringIO()) as cell, confined():
        print("within", file=sys.stderr)
        native("secret 42")
    assert cell.getvalue() == "within\n"
    assert errors.readouterr().err == ""


def test_closed_standard_error_stays_closed(errors: pytest.CaptureFixture[str]) -> None:
    copy = os.dup(2)
    os.close(2)
    former, sys.stderr = sys.stderr, None
    try:
        with confined():
            native("secret 42")
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(2)
    finally:
        os.dup2(copy, 2)
        os.close(copy)
        sys.stderr = former
    assert errors.readouterr().err == ""


def test_descriptors_do_not_pile_up(errors: pytest.CaptureFixture[str]) -> None:
    with confined():
        pass
    before = len([*Path("/dev/fd").iterdir()])
    for _ in range(50):
        with confined():
            pass
    assert len([*Path("/dev/fd").iterdir()]) == before
