"""What docs/scale.md tells people to run."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.examples import blocks, shell
from support.spark import configured, environment

DOCUMENT = Path(__file__).parents[3] / "docs" / "scale.md"


def test_every_command_of_the_document_runs(
    spark_installed: None, program: None, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(configured(tmp_path / "conf")).items():
        monkeypatch.setenv(name, value)
    commands = blocks("sh", DOCUMENT.read_text())
    assert len(commands) == 2
    shell("".join(commands))
    assert {"census.model.json", "both.model.json"} <= {path.name for path in folder.iterdir()}
