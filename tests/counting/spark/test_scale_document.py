"""What docs/scale.md tells people to run."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.examples import blocks, shell
from support.spark import configured, environment

DOCUMENT = Path(__file__).parents[3] / "docs" / "scale.md"


ON_SPARK = 2
"""Blocks of commands that need Spark: the first ones. ``tests/batch/test_examples.py`` runs the others."""


def test_every_command_on_spark_runs(
    spark_installed: None, program: None, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(configured(tmp_path / "conf")).items():
        monkeypatch.setenv(name, value)
    commands = blocks("sh", DOCUMENT.read_text())
    shell("".join(commands[:ON_SPARK]))
    assert {"census.model.json", "both.model.json"} <= {path.name for path in folder.iterdir()}
