"""The examples of docs/python.md run as they stand, and print what they say."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def _loggers_as_before() -> Iterator[None]:
    log = logging.getLogger("dpnb_columnar.sklearn")
    handlers, level = list(log.handlers), log.level
    yield
    for handler in log.handlers:
        if handler not in handlers:
            handler.close()
    log.handlers[:] = handlers
    log.setLevel(level)


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_the_examples_of_this_page_run(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    page = PAGE.read_text()
    names: dict[str, object] = {}
    blocks = list(BLOCK.finditer(page))
    assert len(blocks) == page.count("```python")
    for block in blocks:
        line = page.count("\n", 0, block.start(1))
        # Lines are numbered as in the page, so that a traceback points into it.
        exec(compile("\n" * line + block[1], str(PAGE), "exec"), names)
        assert capsys.readouterr().out == (block[2] or ""), f"{PAGE.name}, line {line + 1}"


CHECKERS = {
    "mypy": ["mypy", "--ignore-missing-imports"],
    "basedpyright": ["basedpyright", "--level", "error", "--pythonpath", sys.executable],
}


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_a_type_checker_accepts_the_python_of_all_pages(checker: str, tmp_path: Path) -> None:
    """Each page is a module of its blocks, in order."""
    pytest.importorskip(checker, reason=f"{checker} is of the extra lint")
    pages = {page.relative_to(ROOT): page.read_text() for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]}
    modules = {"_".join(page.with_suffix("").parts): BLOCK.findall(text) for page, text in pages.items()}
    written = [f"{name}.py" for name, blocks in modules.items() if blocks]
    assert {"README.py", "docs_python.py", "docs_batch.py"} <= {*written}
    for name in written:
        blocks = modules[name.removesuffix(".py")]
        (tmp_path / name).write_text("".join(code for code, _ in blocks))
    (tmp_path / "dpnb_airflow.py").write_text("from typing import Any\n\nDpnbOperator: Any\n")  # needs Airflow itself
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"typeCheckingMode": "standard", "extraPaths": [str(ROOT)]})
    )
    command = [sys.executable, "-m", *CHECKERS[checker], *written]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.slow
def test_the_example_of_the_readme_runs(folder: Path) -> None:
    (block,) = BLOCK.finditer((PAGE.parents[1] / "README.md").read_text())
    dpnb.simulate("census.parquet", rows=3000)
    names: dict[str, object] = {}
    exec(compile(block[1], "README.md", "exec"), names)
    assert dpnb.load_model("python.model.json") == names["model"]
    assert "SELECT" in str(names["query"])


def test_the_page_shows_every_public_function() -> None:
    page = PAGE.read_text()
    own = {name: value for name, value in vars(Model).items() if not name.startswith("_")}
    methods = [
        name for name, value in own.items() if callable(value)
    ]  # a class method makes models: that is no use of one
    for call in [*(f"dpnb.{name}(" for name in dpnb.__all__), *(f"model.{name}(" for name in methods)]:
        assert call in page, call
