"""Type checkers know the names of the package: a misspelt one is an error, not ``Any``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dpnb_columnar as dpnb

ROOT = Path(__file__).parents[2]

api = pytest.importorskip("mypy.api", reason="mypy is of the extra lint")


def errors_in(snippet: str, folder: Path) -> list[str]:
    """Return mypy's errors in a module. What the package imports is not read, so that it answers soon."""
    module = folder / "snippet.py"
    module.write_text(snippet)
    options = ["--config-file=", f"--cache-dir={folder}", "--follow-imports=skip", "--no-error-summary"]
    said, failed, _ = api.run([*options, str(Path(dpnb.__file__)), str(module)])
    assert failed == "", failed
    return [line.partition("error: ")[2] for line in said.splitlines()]


def used_in_docs() -> set[str]:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs" / "examples").rglob("*.py")]
    return {name for page in pages for name in re.findall(r"\bdpnb\.([a-z]\w*)\(", page.read_text(encoding="utf-8"))}


@pytest.mark.slow
def test_a_misspelt_name_is_an_error_and_no_name_of_the_docs_is(tmp_path: Path) -> None:
    names = sorted({*dpnb.__all__} | used_in_docs())
    snippet = "\n".join(["import dpnb_columnar as dpnb", *(f"dpnb.{name}" for name in names), "dpnb.trian\n"])
    misspelt = 'Module has no attribute "trian"; maybe "train"?  [attr-defined]'
    assert errors_in(snippet, tmp_path) == [misspelt]
