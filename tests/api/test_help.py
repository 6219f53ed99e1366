"""``help(dpnb.train)`` and the like say what every argument is for, and their examples run and print what they say."""

from __future__ import annotations

import doctest
import inspect
import pydoc
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model
from dpnb_columnar.domain import Domain
from dpnb_columnar.ledger import Ledger

FUNCTIONS: dict[str, Callable[..., Any]] = {name: getattr(dpnb, name) for name in dpnb.__all__}
METHODS = {
    f"Model.{name}": value for name, value in vars(Model).items() if inspect.isfunction(value) and name[0] != "_"
}
ARGUMENT = re.compile(r"^    (\w+(?:, \w+)*): (.+)$", re.MULTILINE)


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_every_argument_is_described(name: str) -> None:
    function = (FUNCTIONS | METHODS)[name]
    text = inspect.getdoc(function) or ""
    body = text.partition("Args:\n")[2].split("\n\n")[0].replace(",\n        ", ", ")
    described = [argument for group, _ in ARGUMENT.findall(body) for argument in group.split(", ")]
    assert sorted(described) == sorted(inspect.signature(function).parameters.keys() - {"self"})
    assert "Raises:\n" in text


def test_help_shows_signature_and_description() -> None:
    text = pydoc.plain(pydoc.render_doc(dpnb.train))
    signature = "".join(text.split()).replace("'", "")  # from 3.13 on over several lines, from 3.14 on without quotes
    assert "train(data:Data,*,table:str|None=None,epsilon:Epsilon" in signature
    assert "run_id: Name of this release in the ledger" in text


def test_the_reference_has_every_function_and_nothing_that_is_not_there() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    page = (Path(__file__).parents[2] / "docs" / "reference" / "api.md").read_text()
    listed: dict[str, set[str]] = {}
    for module, options in re.findall(r"^::: ([\w.]+)\n((?: +.*\n)*)", page, re.MULTILINE):
        members = re.search(r"members: \[(.*)\]", options)
        listed.setdefault(module, set()).update([] if members is None else members[1].split(", "))
    returned = {"Ingested", "Parts"}
    assert listed["dpnb_columnar.api"] == {*dpnb.__all__} | returned
    for module, names in listed.items():
        holder = pydoc.locate(module)
        own = {name for name, value in vars(holder).items() if getattr(value, "__module__", module) == module}
        assert names <= (own if module != "dpnb_columnar.api" else {*dpnb.__all__} | (returned & own)), module


PUBLIC: dict[str, Any] = {**FUNCTIONS, **METHODS, **{each.__name__: each for each in (Model, Domain, Ledger)}}


@pytest.mark.parametrize("name", [*PUBLIC, "SmoothNaiveBayes"])
def test_the_example_of_a_public_name_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if name not in PUBLIC:
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    public = PUBLIC[name] if name in PUBLIC else pydoc.locate(f"dpnb_columnar.sklearn.{name}")
    examples = doctest.DocTestFinder(recurse=False).find(public, name, globs={})
    assert [len(example.examples) > 1 for example in examples] == [True], f"{name} has no example"
    printed: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(examples[0], out=printed.append).failed == 0, "".join(printed)
