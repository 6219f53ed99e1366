"""Runs of verbs in which one call of the operating system fails: ``python failing_runs.py VERB LIBRARY``, preloaded.

Prints one line of JSON per run: kind and number of the call, exit code, what was said, and what is below OUT.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from dpnb_columnar.cli.main import exit_code
from support.writing_verbs import WRITES, names_below

WRITING = ("open", "write", "truncate", "fsync", "close", "rename", "link", "stat")
READING = ("open", "read")
ERRORS = (errno.EIO, errno.ESTALE)
NO_ROOM = (errno.EDQUOT, errno.ENOSPC)
"""What only a call that changes a file fails with."""


def some_of(kind: str, calls: int) -> Sequence[int]:
    """Choose among calls: the first ones, the middle and the last; of those that ask for a file's state, all."""
    if kind == "stat":
        return range(1, calls + 1)
    return sorted({number for number in (1, 2, 3, 4, calls // 2, calls - 1, calls) if 0 < number <= calls})


def runs(verb: str, library: ctypes.CDLL) -> Iterator[dict[str, object]]:
    """Run a verb with each of some calls failing: of its outputs, and of its inputs."""
    arguments = shlex.split(WRITES[verb])
    here = Path.cwd()
    inputs = [here / word for word in arguments if "/" not in word and (here / word).is_file()]

    def run(place: Path, kind: str, at: int, number: int) -> dict[str, object]:
        shutil.rmtree("OUT")
        Path("OUT").mkdir()
        for ledger in Path("kept").glob("*.ledger"):
            shutil.copy(ledger, here)
        library.fault_arm(os.fsencode(place), kind.encode(), at, number)
        with redirect_stderr(StringIO()) as told, redirect_stdout(StringIO()):
            code = exit_code(arguments)
        calls = library.fault_calls()
        library.fault_arm(b"", b"", 0, 0)
        return {
            "kind": kind,
            "at": at,
            "calls": calls,
            "code": code,
            "told": told.getvalue(),
            "left": sorted(names_below(Path("OUT"))),
        }

    for place, kinds in ((here / "OUT", WRITING), *((file, READING) for file in inputs)):
        for kind in kinds:
            errors = ERRORS if kinds is READING or kind == "stat" else (*ERRORS, *NO_ROOM)
            usual = run(place, kind, 0, 0)
            yield {"place": place.name, **usual}
            for at in some_of(kind, int(str(usual["calls"]))):
                yield {"place": place.name, **run(place, kind, at, errors[at % len(errors)])}


if __name__ == "__main__":
    for made in runs(sys.argv[1], ctypes.CDLL(sys.argv[2])):
        print(json.dumps(made), flush=True)
