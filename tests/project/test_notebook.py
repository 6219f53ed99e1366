"""The notebook of the documentation runs as it stands, and shows what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOK = DOCS / "first_model.ipynb"


def code_cells(path: Path) -> list[dict[str, Any]]:
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    return [cell for cell in document["cells"] if cell["cell_type"] == "code"]


def outputs_of(cell: dict[str, Any]) -> list[dict[str, list[str]]]:
    """Outputs of a cell by their types."""
    return [output.get("data") or {"text/plain": output["text"]} for output in cell["outputs"]]


@pytest.mark.slow
def test_the_notebook_runs_and_shows_what_it_says(tmp_path: Path) -> None:
    copy = tmp_path / NOTEBOOK.name
    copy.write_bytes(NOTEBOOK.read_bytes())
    program = [sys.executable, "-W", "error", DOCS / "notebook.py", copy]
    ended = subprocess.run(program, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    for shown, found in zip(code_cells(NOTEBOOK), code_cells(copy), strict=True):
        if "noisy" in shown["metadata"].get("tags", []):
            assert [each.keys() for each in outputs_of(shown)] == [each.keys() for each in outputs_of(found)]
        else:
            assert outputs_of(shown) == outputs_of(found), shown["source"]


def test_the_notebook_has_been_run_and_shows_a_model_as_a_page() -> None:
    cells = code_cells(NOTEBOOK)
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
    assert any(
        "differentially private" in "".join(each.get("text/html", "")) for cell in cells for each in outputs_of(cell)
    )
