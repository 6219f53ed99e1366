"""A name means one thing: a class of the package is found by its name, and every function has one."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "dpnb_columnar"

DEFINITIONS = [
    node
    for path in PACKAGE.rglob("*.py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
]


def test_no_two_classes_have_one_name() -> None:
    classes = Counter(node.name for node in DEFINITIONS if isinstance(node, ast.ClassDef))
    assert classes["Model"] == 1
    assert not [name for name, number in classes.items() if number > 1]


def test_no_function_is_without_a_name() -> None:
    assert not [ast.unparse(node.args) for node in DEFINITIONS if not node.name.strip("_")]
