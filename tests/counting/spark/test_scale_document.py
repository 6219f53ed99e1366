"""What docs/scale.md tells people to run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support.cluster import configured
from support.examples import blocks, shell

DOCUMENT = Path(__file__).parents[3] / "docs" / "scale.md"


def test_every_command_of_the_document_runs(
    spark_installed: Any, folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path_factory.mktemp("programs")
    launcher = programs / "dpnb-columnar"
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dpnb_columnar "$@"\n')
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("SPARK_CONF_DIR", str(configured(programs / "conf")))
    commands = blocks("sh", DOCUMENT.read_text())
    assert len(commands) == 2
    shell("".join(commands))
    assert {"census.model.json", "both.model.json"} <= {path.name for path in folder.iterdir()}
