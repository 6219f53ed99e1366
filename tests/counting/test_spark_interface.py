"""The engine uses pyspark's public interface, but for two functions whose docstrings say why they cannot."""

from __future__ import annotations

import ast
from pathlib import Path

import dpnb_columnar

ENGINES = Path(dpnb_columnar.__file__).parent / "extensions" / "spark"

PRIVATE = {
    ("spark_session", "hadoop", "_jvm"),
    ("spark_session", "end_java", "_gateway"),
    ("spark_session", "end_java", "_jvm"),
    ("spark_session", "end_java", "_gateway_client"),
}
"""Module, function and attribute."""


def private_attributes(path: Path) -> set[tuple[str, str, str]]:
    """Attributes of other objects than ``self`` whose names begin with an underscore."""
    return {
        (path.stem, function.name, node.attr)
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
        if not (isinstance(node.value, ast.Name) and node.value.id == "self")
    }


def test_private_attributes_stand_in_few_functions() -> None:
    modules = sorted(ENGINES.glob("spark*.py"))
    assert len(modules) == 2
    assert set().union(*map(private_attributes, modules)) == PRIVATE
