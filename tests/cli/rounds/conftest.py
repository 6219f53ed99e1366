"""Rows, and models that wait for rounds over them: made once for each module, and copied for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.people import write_people
from support.rounds import FIRST, TWO, released, repeated
from support.running import completed


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder with all files, and the model with every further pass to come."""
    folder = tmp_path_factory.mktemp("rounds")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        data = write_people(Path("people.parquet"), repeated(1500), TWO)
        completed("aggregate", data, "--output", FIRST)
        return folder, released(completed, "state-0.json")


@pytest.fixture
def data(folder: Path, made: tuple[Path, Path]) -> Path:
    return Path(shutil.copy(made[0] / "people.parquet", folder))


@pytest.fixture
def state(data: Path, made: tuple[Path, Path]) -> Path:
    """A model with every further pass to come, a round first."""
    source, model = made
    for file in (FIRST, model):
        shutil.copy(source / file, file)
    return model
