"""A machine that lacks memory or open files says so (71), whatever its libraries take the failure for."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest
from support.people import write_people
from support.running import in_python

from dpnb_columnar.errors import DataError, MissingInputError, ResourceError
from dpnb_columnar.runtime.resources import FILES, MEMORY, shortage

RUN = """
import resource, sys
resource.setrlimit(getattr(resource, sys.argv[1]), (int(sys.argv[2]), int(sys.argv[2])))
from dpnb_columnar.cli.main import run
run(["train", "people.parquet", "--output", "m.json"])
"""


def reported(cause: BaseException, error: Exception) -> ResourceError | None:
    """What is told of an error that stands for another one."""
    try:
        try:
            raise cause
        except type(cause):
            raise error from None
    except type(error) as raised:
        return shortage(raised)


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (OSError(24, "Too many open files"), FILES),
        (OSError(23, "Too many open files in system"), FILES),
        (OSError(12, "Cannot allocate memory"), MEMORY),
        (OSError("Too many open files (os error 24): x.parquet"), FILES),
        (pl.exceptions.ComputeError("Cannot allocate memory (os error 12)"), MEMORY),
        (MemoryError(), MEMORY),
        (OSError(2, "No such file"), None),
        (pl.exceptions.ComputeError("conversion failed for `x (os error 24)`"), None),
    ],
)
def test_what_is_behind_an_error_decides(cause: BaseException, expected: ResourceError | None) -> None:
    assert reported(cause, DataError("x.parquet: damaged")) is expected
    assert reported(cause, MissingInputError("x.parquet: cannot be opened")) is expected


def test_a_faulty_file_stays_one() -> None:
    assert shortage(DataError("x.parquet: damaged")) is None


def test_a_library_that_does_not_load_lacks_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it fails with may be anything, such as the name of a function that is not there."""
    assert shortage(NameError("_read_parquet_metadata")) is None
    monkeypatch.setattr("dpnb_columnar.runtime.resources._address_space_left", lambda: 2**27)
    assert shortage(NameError("_read_parquet_metadata")) is MEMORY
    assert shortage(DataError("x.parquet: damaged")) is None


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits and libraries of Linux")
@pytest.mark.parametrize(("limit", "amount"), [("RLIMIT_NOFILE", 5), ("RLIMIT_NOFILE", 8)])
def test_a_run_under_a_limit_ends_with_71_and_one_line(folder: Path, limit: str, amount: int) -> None:
    """Where Python itself runs, and nothing aborts: what remains is written down in docs/batch.md."""
    write_people(folder / "people.parquet")
    ended = in_python("-X", "frozen_modules", "-c", RUN, limit, str(amount))
    assert ended.returncode == 71, ended.stderr
    assert ended.stderr.startswith("dpnb-columnar: ")
    assert len(ended.stderr.splitlines()) == 1
    assert not (folder / "m.json").exists()
