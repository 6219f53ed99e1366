"""Make single faults of ``tests/mutants/faults`` in this process, for tests that have to find them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from mutants.mutant_files import Mutant, mutated, package_sources, read_mutants

ROOT = Path(__file__).parents[2]

Code = dict[str, tuple[str, CodeType]]
"""Functions by the place of their names, as what they do is written, and as it is compiled."""


def plant(patch: pytest.MonkeyPatch, *names: str) -> None:
    """Give the functions that faults change the code that these make of them, wherever they have been imported.

    Nothing is done in a copy of the project in which a fault has been made: then others have to notice it.
    """
    for mutant in (_mutants()[name] for name in names):
        if not any(mutant.was in source for source in _sources().values()):
            assert any(mutant.becomes in source for source in _sources().values()), mutant.name
            continue
        path, text = mutated(mutant, _sources())
        module, before = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts)), _code(_sources()[path])
        changed = [(name, code) for name, (written, code) in _code(text).items() if before[name][0] != written]
        assert changed, f"{mutant.name}: it changes no function"
        for name, code in changed:
            patch.setattr(_function(module, name), "__code__", code)


def _code(source: str) -> Code:
    """Return the functions and methods of a module."""
    tree = ast.parse(source)
    compiled = {code.co_qualname: code for code in _codes(compile(tree, "planted", "exec"))}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    named = [("", node) for node in tree.body] + [(f"{each.name}.", node) for each in classes for node in each.body]
    return {
        place + node.name: (ast.dump(node), compiled[place + node.name])
        for place, node in named
        if isinstance(node, ast.FunctionDef)
    }


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


def _function(module: Any, name: str) -> Any:
    """Return the function of a name, without its decorators."""
    found = module
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    return inspect.unwrap(getattr(found, "fget", None) or getattr(found, "__func__", found))


@cache
def _mutants() -> dict[str, Mutant]:
    return {mutant.name: mutant for mutant in read_mutants()}


@cache
def _sources() -> dict[Path, str]:
    return package_sources(ROOT)
