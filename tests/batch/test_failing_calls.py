"""Every verb that writes, with each kind of call failing: of an output it is 73 and the path, of an input the input."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from support import failing_runs
from support.patience import patience
from support.writing_verbs import WRITES, child, write_inputs

SOURCE = Path(failing_runs.__file__).with_name("failing_calls.c")

READING_FAILED = {0, 65, 66}
"""Exit codes where an input cannot be read; 0 where the call did not matter, such as one that guesses a format."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The preloaded library, compiled."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or os.uname().sysname != "Linux":
        pytest.skip("calls fail by a library that needs a C compiler, and Linux")
    made = tmp_path_factory.mktemp("library") / "failing_calls.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", made, SOURCE, "-ldl"], check=True)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("verb", WRITES)
def test_a_failing_call_is_told_of_the_file_that_it_is_of(verb: str, library: Path, folder: Path) -> None:
    write_inputs(folder)
    (folder / "kept").mkdir()
    for ledger in folder.glob("*.ledger"):
        shutil.copy(ledger, folder / "kept")
    path = os.pathsep.join([str(SOURCE.parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    for _ in range(2):
        with child(failing_runs.__file__, verb, str(library), LD_PRELOAD=str(library), PYTHONPATH=path) as process:
            out, err = process.communicate(timeout=patience(200))
        if process.returncode != -signal.SIGABRT:
            break  # else a library aborted, seen once in some hundred processes of 50 runs: docs/batch.md, 134
    assert process.returncode == 0, err
    runs = [json.loads(line) for line in out.splitlines()]
    failed = [run for run in runs if run["at"]]
    assert {run["kind"] for run in failed if run["place"] == "OUT"} >= {"open", "write", "fsync", "close"}
    assert any(run["code"] == 73 for run in failed)
    for run in runs:
        assert_told(run)


def assert_told(run: dict[str, object]) -> None:
    """Compare what a run said with the call that failed."""
    code, said, left = run["code"], str(run["told"]), run["left"]
    assert isinstance(left, list)
    stated = run["kind"] == "stat"  # of a lock before it is held; only who holds it may remove it
    unfinished = [name for name in left if Path(name).name.startswith(".") and not (stated and name.endswith(".lock"))]
    if not run["at"]:
        assert code == 0, run
    elif run["place"] == "OUT":
        assert code in (0, 66, 73) if stated else code in (0, 73), run
        assert code == 0 or ("OUT/" in said and (stated or "cannot be" in said)), run
    else:
        assert code in (READING_FAILED | {73} if str(run["place"]).endswith(".ledger") else READING_FAILED), run
        assert "OUT" not in said, run
    assert code == 0 or not unfinished, run
