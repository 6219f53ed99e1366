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
ARGUMENT = re.compile(r"^    (\w+): (.+)$", re.MULTILINE)


REFERENCE = re.compile(r"Arguments (?:that are not\s+listed )?are\s+those of (.+?)\.(?:\s|$)", re.DOTALL)
"""A sentence for arguments that mean the same as those of another function, which is named once with its texts."""


def described(function: Callable[..., Any]) -> list[str]:
    """List the arguments that the text of a function describes."""
    body = (inspect.getdoc(function) or "").partition("Args:\n")[2].split("\n\n")[0]
    return [argument for argument, _ in ARGUMENT.findall(body)]


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_every_argument_is_described(name: str) -> None:
    function = (FUNCTIONS | METHODS)[name]
    text = inspect.getdoc(function) or ""
    own, reference = described(function), REFERENCE.search(text)
    others = [] if reference is None else re.findall(r"``(?:dpnb_columnar\.)?(\w+)``", reference[1])
    shared = {argument for other in others for argument in described(FUNCTIONS[other])}
    arguments = [argument for argument in inspect.signature(function).parameters if argument != "self"]
    assert [argument for argument in arguments if argument in own or argument not in shared] == own
    assert "Raises:\n" in text or others


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
    assert [len(example.examples) > 0 for example in examples] == [True], f"{name} has no example"
    printed: list[str] = []
    if name in METHODS:  # their examples go on from that of the class
        (setting,) = doctest.DocTestFinder(recurse=False).find(Model, "Model", globs={})
        doctest.DocTestRunner(verbose=False).run(setting, out=printed.append, clear_globs=False)
        examples[0].globs.update(setting.globs)
    assert doctest.DocTestRunner(verbose=False).run(examples[0], out=printed.append).failed == 0, "".join(printed)
