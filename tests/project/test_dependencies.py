"""Every library that the package imports is declared, and every declared one is imported."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TOOLS = {"test", "lint", "benchmark", "docs"}
"""Extras for those who work on the package; its own code must not need them."""
OPTIONAL_DISTRIBUTIONS = {"pyspark": "pyspark", "py4j": "pyspark", "deltalake": "deltalake", "pyiceberg": "pyiceberg"}
"""Of libraries that may not be installed where the tests run: py4j comes with pyspark."""
NOT_IMPORTED = {"apache-airflow"}
"""Declared for others: it runs the commands."""


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield top-level names of modules that are imported when the code runs, not for type checkers alone."""
    if isinstance(tree, ast.If) and "TYPE_CHECKING" in ast.unparse(tree.test):
        return
    if isinstance(tree, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in tree.names)
    elif isinstance(tree, ast.ImportFrom) and tree.module and not tree.level:
        yield tree.module.partition(".")[0]
    for child in ast.iter_child_nodes(tree):
        yield from imported(child)


def distributions_imported() -> set[str]:
    """Return names of the distributions that the package imports."""
    files = [*(ROOT / "dpnb_columnar").rglob("*.py"), ROOT / "cli.py"]
    names = {name for file in files for name in imported(ast.parse(file.read_text()))}
    installed = packages_distributions()
    foreign = names - sys.stdlib_module_names - {"dpnb_columnar"}
    return {normalised(OPTIONAL_DISTRIBUTIONS.get(name) or installed.get(name, [name])[0]) for name in foreign}


def declared(requirements: list[str]) -> set[str]:
    return {normalised(re.split(r"[ \[<>=!~;]", requirement)[0]) for requirement in requirements}


def normalised(name: str) -> str:
    """Return the name of a distribution as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.slow
def test_imports_are_the_declared_dependencies() -> None:
    extras = PROJECT["optional-dependencies"]
    optional = [requirement for name in extras.keys() - TOOLS for requirement in extras[name]]
    assert distributions_imported() == declared([*PROJECT["dependencies"], *optional]) - NOT_IMPORTED


def test_a_planted_import_is_seen() -> None:
    code = "import a.b\nif TYPE_CHECKING:\n    import c\ndef f():\n    from d.e import f\n    from . import g\n"
    assert set(imported(ast.parse(code))) == {"a", "d"}


def test_remedies_name_what_can_be_installed() -> None:
    """Messages, help and pages offer extras that there are, of the name that the package has."""
    places = [*(ROOT / "dpnb_columnar").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    places += [ROOT / "CONTRIBUTING.md", *(ROOT / "docs" / "examples").rglob("*.*")]
    offered = re.compile(r"install[^\n]{0,30}?'(\S*?)\[([\w,]+)\]'")
    found = [match for place in places for match in offered.findall(place.read_text(encoding="utf-8"))]
    assert {name for name, _ in found} == {".", PROJECT["name"]}
    assert {extra for _, extras in found for extra in extras.split(",")} <= PROJECT["optional-dependencies"].keys()
    texts = "".join(place.read_text() for place in places if place.suffix == ".py" and "tests" not in place.parts)
    assert not re.search(r"pip install (?!'dpnb-columnar\[)\S", texts.replace("pip install --", ""))
