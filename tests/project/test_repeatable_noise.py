"""What tests draw is the same in every run, unless they ask for the system's own bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import secrets
from pathlib import Path
import pytest

def note(name):
    with Path("drawn").open("a") as file:
        print(name, secrets.randbits(64), file=file)

@pytest.fixture(scope="module")
def shared():
    note("shared")

def test_one(shared):
    note("one")

def test_two(shared):
    note("two")

@pytest.mark.system_bits
def test_system():
    note("system")
"""


def drawn(folder: Path, *options: str) -> dict[str, str]:
    """Run the tests, and return what each drew."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "support.tiers", "-p", "support.repeatable", *options]
    Path(folder / "drawn").unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return dict(line.split() for line in (folder / "drawn").read_text().splitlines())


@pytest.mark.slow
def test_noise_follows_from_the_names(tmp_path: Path) -> None:
    """Catches: noise of the system's in a test, which fails once in some thousand runs; and a stream that all share."""
    (tmp_path / "test_drawing.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    system_bits\n    slow\n    enumeration\n")
    first, last = drawn(tmp_path), drawn(tmp_path, "-k", "two or system")
    assert len({*first.values(), *last.values()}) == 5
    assert (first["two"], first["shared"]) == (last["two"], last["shared"])
    assert not {*first.values()} & {*drawn(tmp_path, "--fresh").values()}
