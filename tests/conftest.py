"""Files that many tests need, and the command line in this process."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from support.people import write_people
from support.running import Ended, Run
from support.servers import PASSWORD, PostgresServer, postgres_server
from support.spark import local_session

from dpnb_columnar.cli.main import app, exit_code
from dpnb_columnar.model import document_reader
from dpnb_columnar.simulation import simulate_census

# The same examples and the same noise in every run, however busy the machine: what a change did not cause is not held
# against it. New examples are looked for with --hypothesis-profile=default, new noise with --fresh, and new files with
# tests/fuzz.
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")

pytest_plugins = ["support.tiers", "support.repeatable", "support.scheduling", "support.patience"]


@pytest.fixture(autouse=True, scope="session")
def _no_settings_from_outside() -> None:
    """The program refuses variables of its prefix that it does not know, such as the one that names the tests' data."""
    for name in [name for name in os.environ if name.startswith("DPNB_")]:
        del os.environ[name]


@pytest.fixture(autouse=True, scope="session")
def _no_ignored_interrupts() -> None:
    """A shell starts what it runs in the background with SIGINT ignored, and so would every process of a test be."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated census extract of 20,000 persons that carries its domain. Read it, do not change it."""
    path = tmp_path_factory.mktemp("census") / "census.parquet"
    simulate_census(path, rows=20_000, seed=1940)
    return path


@pytest.fixture(scope="session")
def postgres_process() -> Iterator[PostgresServer]:
    """A PostgreSQL server that runs as long as the tests; mark those that use it xdist_group("postgres")."""
    pytest.importorskip("adbc_driver_postgresql", reason="adbc-driver-postgresql is not installed")
    with postgres_server() as server:
        yield server


@pytest.fixture
def postgres(postgres_process: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> PostgresServer:
    """The server, with its password in the environment."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return postgres_process


@pytest.fixture(scope="session")
def spark_installed() -> None:
    """Pyspark, with Java to run it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the version of pandas, which is not used
        pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("no Java, which Spark needs")


@pytest.fixture(scope="session")
def spark_session(spark_installed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Spark of two threads with unusual settings; mark the tests that use it slow and xdist_group("spark")."""
    with local_session(tmp_path_factory.mktemp("warehouse")) as session:
        yield session


@pytest.fixture(scope="class")  # of a function that is in no class: its own; Hypothesis takes none of functions
def invented_models() -> Iterator[None]:
    """Models are read whose parameters are invented: that they follow from measurements is not checked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document_reader, "check_made_again", lambda model, document: None)
        yield


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run ``dpnb-columnar`` with these arguments; it must end with the expected code, and never with a traceback."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("DPNB_TRACEBACK", raising=False)

    def command(*arguments: object, expected: int = 0, program: Any = app) -> Ended:
        code = exit_code([str(argument) for argument in arguments], program)
        printed = capsys.readouterr()
        assert code == expected, printed.err or printed.out
        assert "Traceback" not in printed.out + printed.err
        return Ended(code, printed.out, printed.err)

    return command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def program(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """``dpnb-columnar`` is the one under test, whatever else is installed."""
    binaries = tmp_path_factory.mktemp("bin")
    launcher = binaries / "dpnb-columnar"
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dpnb_columnar "$@"\n')
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", f"{binaries}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def people_file(folder: Path) -> Path:
    """``people.parquet`` in the working directory: 1,000 rows that fit the domain they carry."""
    write_people(folder / "people.parquet")
    return Path("people.parquet")


@pytest.fixture
def model_file(people_file: Path, run: Run) -> Path:
    """``people.model.json`` in the working directory, trained on ``people.parquet`` with a seed."""
    run("train", people_file, "--seed", 7)
    return Path("people.model.json")
