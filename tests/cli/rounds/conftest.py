"""Rows, and models that wait for rounds over them: made once for each module, and copied for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.people import write_people
from support.rounds import FIRST, TWO, at_a_round, released, repeated
from support.running import completed


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A folder with all files, the model with every further pass to come, and the one whose next pass is a round."""
    folder = tmp_path_factory.mktemp("rounds")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        data = write_people(Path("people.parquet"), repeated(1500), TWO)
        completed("aggregate", data, "--output", FIRST)
        tables = released(completed, "state-0.json")
        return folder, tables, at_a_round(data, tables, completed)


@pytest.fixture
def data(folder: Path, made: tuple[Path, Path, Path]) -> Path:
    return Path(shutil.copy(made[0] / "people.parquet", folder))


@pytest.fixture
def tables(data: Path, made: tuple[Path, Path, Path]) -> Path:
    """A model with every further pass to come."""
    source, model, _ = made
    for file in (FIRST, model):
        shutil.copy(source / file, file)
    return model


@pytest.fixture
def state(tables: Path, made: tuple[Path, Path, Path]) -> Path:
    """A model whose next pass is its first round."""
    source, _, model = made
    for file in source.iterdir():
        shutil.copy(file, file.name)
    return model
