"""The examples in the docstrings of the public names run, and print what they say."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path
from typing import Any

import pytest

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model
from dpnb_columnar.domain import Domain
from dpnb_columnar.ledger import Ledger

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from dpnb_columnar.sklearn import SmoothNaiveBayes

METHODS = {
    f"Model.{name}": value
    for name, value in vars(Model).items()
    if inspect.isfunction(value) and not name.startswith("_")
}
PUBLIC: dict[str, Any] = {
    **{name: getattr(dpnb, name) for name in dpnb.__all__},
    **{each.__name__: each for each in (Model, Domain, Ledger, SmoothNaiveBayes)},
    **METHODS,
}


@pytest.mark.parametrize("name", PUBLIC)
def test_the_example_of_a_public_name_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestFinder(recurse=False).find(PUBLIC[name], name, globs={})
    assert [len(example.examples) > 1 for example in examples] == [True], f"{name} has no example"
    printed: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(examples[0], out=printed.append).failed == 0, "".join(printed)
