"""Files that many tests need, and the command line in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.people import write_people
from support.running import Ended, Run
from support.servers import PASSWORD, PostgresServer, postgres_server

from dpnb_columnar.cli.main import exit_code
from dpnb_columnar.simulate import simulate_census


@pytest.fixture(autouse=True, scope="session")
def _no_settings_from_outside() -> None:
    """The program refuses variables of its prefix that it does not know, such as the one that names the tests' data."""
    for name in [name for name in os.environ if name.startswith("DPNB_")]:
        del os.environ[name]


@pytest.fixture(scope="session")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated census extract of 20,000 persons that carries its domain. Read it, do not change it."""
    path = tmp_path_factory.mktemp("census") / "census.parquet"
    simulate_census(path, rows=20_000, seed=1940)
    return path


@pytest.fixture(scope="session")
def postgres_process() -> Iterator[PostgresServer]:
    """A PostgreSQL server that runs as long as the tests; mark those that use it xdist_group("postgres")."""
    with postgres_server() as server:
        yield server


@pytest.fixture
def postgres(postgres_process: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> PostgresServer:
    """The server, with its password in the environment."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return postgres_process


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run ``dpnb-columnar`` with these arguments; it must end with the expected code, and never with a traceback."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("DPNB_TRACEBACK", raising=False)

    def command(*arguments: object, expected: int = 0) -> Ended:
        code = exit_code([str(argument) for argument in arguments])
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
def people_file(folder: Path) -> Path:
    """``people.parquet`` in the working directory: 1,000 rows that fit the domain they carry."""
    write_people(folder / "people.parquet")
    return Path("people.parquet")


@pytest.fixture
def model_file(people_file: Path, run: Run) -> Path:
    """``people.model.json`` in the working directory, trained on ``people.parquet`` with a seed."""
    run("train", people_file, "--seed", 7)
    return Path("people.model.json")
