"""One run at a time for each output; what killed runs left is in nobody's way."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.patience import patience

from dpnb_columnar.errors import BusyError, OutputError
from dpnb_columnar.runtime import outputs
from dpnb_columnar.runtime.outputs import atomic_output, output_lock

HOLDER = """
import sys, time
from pathlib import Path
from typing import Any
from dpnb_columnar.runtime.outputs import atomic_output
from dpnb_columnar.runtime.outputs import output_lock
with output_lock(Path(sys.argv[1]), "night-1"), atomic_output(Path(sys.argv[1])) as partial:
    partial.write_text("begun")
    print("held", flush=True)
    time.sleep(120)
"""

RACER = """
import sys, time
from pathlib import Path
from typing import Any
from dpnb_columnar.errors import BusyError
from dpnb_columnar.runtime.outputs import output_lock
output, inside = Path(sys.argv[1]), Path(sys.argv[2])
held = 0
while held < 40:
    try:
        with output_lock(output):
            inside.mkdir()
            inside.rmdir()
            held += 1
    except BusyError:
        pass
"""


def names_of(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def refuse_to_create(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of others can be read, and none be created."""
    open_file = os.open

    def refused(path: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, "Permission denied")
        return open_file(path, flags, mode)

    monkeypatch.setattr(os, "open", refused)


@contextmanager
def another_run(output: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes an output, and does not come to an end."""
    arguments = [sys.executable, "-c", HOLDER, str(output)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_second_run_is_told_who_writes_the_output(tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    with another_run(output) as other, pytest.raises(BusyError) as caught, output_lock(output):
        pytest.fail("the block must not run")
    text = str(caught.value)
    assert text.startswith(f"{output}: being written by process {other.pid} on {os.uname().nodename} since 20")
    assert text.endswith(" (run night-1); try again when it has ended")
    assert caught.value.exit_code == 75


def test_other_outputs_are_not_locked(tmp_path: Path) -> None:
    with output_lock(tmp_path / "one"), output_lock(tmp_path / "two"), output_lock(tmp_path / "one.json"):
        assert names_of(tmp_path) == {".one.lock", ".two.lock", ".one.json.lock"}
    assert names_of(tmp_path) == set()


def test_the_lock_is_one_by_whatever_name_its_folder_is_reached(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    with output_lock(tmp_path / "folder" / "out"), pytest.raises(BusyError), output_lock(tmp_path / "link" / "out"):
        pytest.fail("the block must not run")


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_the_lock_is_free_however_the_block_ends(tmp_path: Path, failure: type[BaseException]) -> None:
    with pytest.raises(failure), output_lock(tmp_path / "out"):
        raise failure
    assert names_of(tmp_path) == set()
    with output_lock(tmp_path / "out"):
        pass


def test_what_a_killed_run_left_is_taken_over_and_removed(tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    with another_run(output) as other:
        other.send_signal(signal.SIGKILL)
        other.wait()
    assert len(names_of(tmp_path)) == 2
    (tmp_path / ".other.json.0123456789ab.partial").touch()
    (tmp_path / ".out.json.notes.partial").touch()
    with output_lock(output):
        theirs = {".other.json.0123456789ab.partial", ".out.json.notes.partial"}
        assert names_of(tmp_path) == {".out.json.lock"} | theirs
    assert names_of(tmp_path) == theirs


def test_an_output_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    """Also by a block of the same run, which goes on with the lock that it holds."""
    output = tmp_path / "out"
    with output_lock(output), atomic_output(output) as partial:
        partial.write_text("mine")
        with output_lock(output):
            assert partial.exists()
        assert (tmp_path / ".out.lock").exists()
    assert output.read_text() == "mine"
    assert names_of(tmp_path) == {"out"}


def test_whatever_writes_removes_what_was_left_and_refuses_a_second(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with another_run(output) as other:
        with pytest.raises(BusyError, match=f"process {other.pid}"), atomic_output(output):
            pytest.fail("the block must not run")
        other.kill()
        other.wait()
    with atomic_output(output) as partial:
        assert names_of(tmp_path) == {".out.lock", partial.name}
        partial.write_text("mine")
    assert names_of(tmp_path) == {"out"}


def test_another_thread_does_not_hold_the_lock(tmp_path: Path) -> None:
    with output_lock(tmp_path / "out"), ThreadPoolExecutor(1) as pool, pytest.raises(BusyError):
        pool.submit(lambda: output_lock(tmp_path / "out").__enter__()).result()


def test_processes_that_race_are_never_inside_together(tmp_path: Path, ending: Callable[[Any], Any]) -> None:
    """The lock's file comes and goes with each holder: a lock on a removed file is worth nothing."""
    arguments = [sys.executable, "-c", RACER, str(tmp_path / "out"), str(tmp_path / "inside")]
    racers = [ending(subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)) for _ in range(4)]
    assert [(racer.communicate(timeout=patience(120))[1], racer.returncode) for racer in racers] == [("", 0)] * 4
    assert names_of(tmp_path) == set()


def test_a_lock_removed_by_its_holder_is_not_held_by_who_had_it_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, flock, calls = tmp_path / ".out.lock", fcntl.flock, []

    def late(descriptor: int, operation: int) -> None:
        if not calls:
            name.unlink()  # as its holder does, after it was opened here
        calls.append(operation)
        flock(descriptor, operation)

    monkeypatch.setattr(outputs.fcntl, "flock", late)
    with output_lock(tmp_path / "out"):
        assert len(calls) == 2
        assert json.loads(name.read_text())["process"] == os.getpid()


@pytest.mark.parametrize("mask", [0, 0o077])
def test_everybody_may_read_who_holds_a_lock_and_nobody_else_change_it(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with output_lock(tmp_path / "out", "night-1"):
            assert stat.S_IMODE((tmp_path / ".out.lock").stat().st_mode) == 0o644
            assert json.loads((tmp_path / ".out.lock").read_text())["run"] == "night-1"
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    "note",
    [b"", b"\xff\x00", b"[" * 4000, b'"text"', b'{"process": 1}', b"x" * 10_000]
    + [json.dumps({"process": 1, "host": "h", "since": "s", "run": run}).encode() for run in ("\x1b[2J", 7, "r" * 300)],
)
def test_a_lock_that_says_anything_is_a_lock(tmp_path: Path, note: bytes) -> None:
    name = tmp_path / ".out.lock"
    name.write_bytes(note)
    with name.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(BusyError, match="being written by another run; try again"), output_lock(tmp_path / "out"):
            pytest.fail("the block must not run")
    with output_lock(tmp_path / "out"):
        assert json.loads(name.read_text())["process"] == os.getpid()


def test_a_run_that_has_only_just_taken_the_lock_is_named(tmp_path: Path) -> None:
    name = tmp_path / ".out.lock"
    with name.open("w") as held, ThreadPoolExecutor() as pool:
        fcntl.flock(held, fcntl.LOCK_EX)
        refused = pool.submit(outputs._acquire, name, tmp_path / "out")
        with pytest.raises(TimeoutError):
            refused.result(timeout=0.1)
        outputs._write_note(held.fileno(), tmp_path / "out", "night-1")
        with pytest.raises(BusyError, match=rf"being written by process {os.getpid()} on .* \(run night-1\)"):
            refused.result()


@pytest.mark.parametrize("number", [errno.ENOTSUP, errno.ENOLCK, errno.ENOSYS])
def test_a_file_system_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refused(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(outputs.fcntl, "flock", refused)
    with (
        pytest.raises(OutputError, match=r"out: its file system has no locks .*; choose an output on another"),
        output_lock(tmp_path / "out"),
    ):
        pytest.fail("the block must not run")
    assert names_of(tmp_path) == set()


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("theirs")
    (tmp_path / ".out.lock").symlink_to("victim")
    with pytest.raises(OutputError, match="is a link, not a lock; remove it"), output_lock(tmp_path / "out"):
        pytest.fail("the block must not run")
    assert (tmp_path / "victim").read_text() == "theirs"


@pytest.mark.parametrize("of_another_user", [False, True])
def test_a_named_pipe_in_the_place_of_a_lock_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_another_user: bool
) -> None:
    """It is not waited for until somebody writes to it, which may be never."""
    if of_another_user:
        refuse_to_create(monkeypatch)
    os.mkfifo(tmp_path / ".out.lock")
    with pytest.raises(OutputError, match="is not a regular file, hence no lock"), output_lock(tmp_path / "out"):
        pytest.fail("the block must not run")
    assert names_of(tmp_path) == {".out.lock"}


def test_a_named_pipe_called_like_an_unfinished_output_is_left_alone(tmp_path: Path) -> None:
    pipe = ".out.0123456789ab.partial"
    os.mkfifo(tmp_path / pipe)
    with output_lock(tmp_path / "out"):
        assert names_of(tmp_path) == {".out.lock", pipe}
    assert names_of(tmp_path) == {pipe}


@pytest.mark.parametrize(("name", "reason"), [("missing/out", "No such file"), ("n" * 252, "File name too long")])
def test_places_without_room_for_a_lock(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(OutputError, match=f"cannot be written: {reason}"), output_lock(tmp_path / name):
        pytest.fail("the block must not run")


def test_another_users_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot be opened for writing, but it can be seen whether it is held."""
    name = tmp_path / ".out.lock"
    refuse_to_create(monkeypatch)
    with pytest.raises(OutputError, match="cannot be written: Permission denied"), output_lock(tmp_path / "out"):
        pytest.fail("there is no lock: the folder cannot be written to")
    name.write_text("{}")
    with pytest.raises(OutputError, match="left by a killed run of another user"), output_lock(tmp_path / "out"):
        pytest.fail("the block must not run")
    with name.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(BusyError), output_lock(tmp_path / "out"):
            pytest.fail("the block must not run")


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can give files away")
def test_root_leaves_alone_what_another_user_holds_or_has_not_finished(tmp_path: Path) -> None:
    lock, unfinished = tmp_path / ".out.lock", tmp_path / ".out.0123456789ab.partial"
    for name in (lock, unfinished):
        name.write_text("{}")
        os.chown(name, 65534, 65534)
    with pytest.raises(OutputError, match="left by a killed run of another user"), output_lock(tmp_path / "out"):
        pytest.fail("the block must not run")
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(BusyError), output_lock(tmp_path / "out"):
            pytest.fail("the block must not run")
    lock.unlink()
    with output_lock(tmp_path / "out"):
        assert unfinished.exists()
    assert names_of(tmp_path) == {unfinished.name}


def test_who_holds_a_lock_since_when_is_in_utc(tmp_path: Path) -> None:
    with output_lock(tmp_path / "out"):
        since = json.loads((tmp_path / ".out.lock").read_text())["since"]
    assert since.endswith("+00:00")
    assert since[:4] == time.strftime("%Y", time.gmtime())
