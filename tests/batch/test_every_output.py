"""Every verb that writes: killed when its first unfinished file is there and run again, and two of it at once."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
from pathlib import Path

import pytest
from support.patience import patience
from support.running import Run, parser_of
from support.writing_verbs import NOT_RUN, WRITES, child, names_below, write_inputs

from dpnb_columnar.cli.main import help_lines

KILLED = """
import os, pathlib, signal, sys
from dpnb_columnar.runtime import outputs
def end(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(outputs, sys.argv.pop(1), end)
from dpnb_columnar.cli.main import run
run(sys.argv[1:])
"""
"""A run that ends as soon as it calls that function: ``_new_file`` to write, ``_complete`` when all is written."""

HELD = """
import pathlib, signal, sys
from dpnb_columnar.runtime import outputs
def wait(*arguments):
    print("held", flush=True)
    signal.pause()
outputs._complete = wait
from dpnb_columnar.cli.main import run
run(sys.argv[1:])
"""

ABANDONED = re.compile(r"(.*/)?\.[^/]+\.([0-9a-f]{12}\.partial|lock)")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the verbs read."""
    folder = tmp_path_factory.mktemp("inputs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_inputs(folder)
    return folder


@pytest.fixture
def copied(inputs: Path, folder: Path) -> Path:
    """A copy of the inputs, which is the working directory."""
    shutil.copytree(inputs, folder, dirs_exist_ok=True)
    return folder


def test_every_verb_that_writes_is_here() -> None:
    """A command writes if it may replace an output, or makes a ledger."""
    writing = {"ledger init"}
    for verb in help_lines():
        commands = getattr(parser_of(verb), "commands", None) or {"": parser_of(verb)}
        for name, parser in commands.items():
            if any("--overwrite" in getattr(option, "opts", ()) for option in parser.params):
                writing.add(f"{verb} {name}".strip())
    nested = ("datasets", "domain", "ledger", "sql")
    run = {" ".join(line.split()[: 1 + (line.split()[0] in nested)]) for line in WRITES.values()}
    assert writing == run | set(NOT_RUN)


@pytest.mark.slow
@pytest.mark.parametrize("verb", WRITES)
def test_what_a_kill_leaves_goes_with_the_next_run(verb: str, copied: Path, run: Run) -> None:
    before, arguments = names_below(copied), shlex.split(WRITES[verb])
    with child("-c", KILLED, "_complete", *arguments) as killed:
        _, told = killed.communicate(timeout=patience())
    assert killed.returncode == -signal.SIGKILL, told
    left = {name for name in names_below(copied) - before if not name.endswith("-journal")}
    assert any(name.endswith(".partial") for name in left)
    assert all(ABANDONED.fullmatch(name) for name in left)
    run(*arguments)
    kept = names_below(copied) - before
    assert kept
    assert not [name for name in kept if ABANDONED.fullmatch(name)]


@pytest.mark.slow
@pytest.mark.parametrize("verb", WRITES)
def test_two_at_once_are_refused(verb: str, copied: Path, run: Run) -> None:
    arguments = shlex.split(WRITES[verb])
    with child("-c", HELD, *arguments) as first:
        assert first.stdout is not None
        assert "held\n" in iter(first.stdout.readline, "")
        before = names_below(copied)
        assert f"being written by process {first.pid} on" in run(*arguments, expected=75).err
        assert names_below(copied) == before


@pytest.mark.slow
@pytest.mark.parametrize("verb", sorted({*WRITES} - {"ledger init"}))
def test_what_exists_is_replaced_on_demand_alone(verb: str, copied: Path, run: Run) -> None:
    before, arguments = names_below(copied), shlex.split(WRITES[verb])
    run(*arguments)
    for name in (written := names_below(copied) - before):
        (copied / name).write_text("# precious")
    run(*arguments, expected=73)
    assert {(copied / name).read_text() for name in written} == {"# precious"}
    run(*arguments, "--overwrite")
    assert all((copied / name).read_bytes() != b"precious" for name in written)
