"""The tests mirror the package: a folder for each of its rooms, and in each some that answer at once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "dpnb_columnar"

ROOMS = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
DOORS = {"api", "estimator"}
"""Modules on the package's top level with tests of their own. ``estimator`` tests ``sklearn``: a folder of that name
would stand before the library's."""

ACROSS = {
    "batch": "unattended runs, by every room that one passes through",
    "fuzz": "hostile files, for every reader",
    "museum": "files that earlier states of the program wrote, for every reader",
    "peers": "published faults of other programs, looked for in this one",
    "project": "the project itself: packaging, contracts, documents, benchmarks",
    "studies": "the paper's evaluation, which is no part of the program",
}
"""Folders whose tests belong to no single room, and what they are for."""

NOT_QUICK = ("slow", "xdist_group")
"""Markers without which a test runs with ``-m "not slow"``; all tests of a group are slow."""


def test_every_room_has_a_folder_of_tests_and_every_folder_a_room() -> None:
    folders = {path.name for path in TESTS.iterdir() if any(path.rglob("test_*.py"))}
    assert folders == ROOMS | DOORS | set(ACROSS)


@pytest.mark.parametrize("folder", sorted(ROOMS | DOORS | set(ACROSS)))
def test_every_room_has_tests_that_answer_at_once(folder: str) -> None:
    assert any(quick_tests(path) for path in (TESTS / folder).glob("test_*.py"))


def quick_tests(path: Path) -> list[str]:
    """Return the names of a file's tests that no marker makes slow."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    assigned = [node for node in body if isinstance(node, ast.Assign)]
    if any(is_slow(node.value) for node in assigned if "pytestmark" in map(ast.unparse, node.targets)):
        return []
    functions = [node for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    return [node.name for node in functions if not any(map(is_slow, node.decorator_list))]


def is_slow(marker: ast.expr) -> bool:
    """Test whether a marker, or one of a list, makes tests slow."""
    return any(f"mark.{name}" in ast.unparse(marker) for name in NOT_QUICK)


def test_tests_import_nothing_from_other_tests() -> None:
    """Two folders have a ``conftest`` each, and one of which shadows the other: helpers are in support."""
    looks_like_one = re.compile(r"^ *from (conftest|test_)", re.MULTILINE)  # many times faster than to parse all
    texts = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    imported = {
        (path.relative_to(TESTS).as_posix(), node.module)
        for path, text in texts.items()
        if looks_like_one.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module is not None
    }
    assert not [pair for pair in imported if pair[1] == "conftest" or pair[1].startswith("test_")]
