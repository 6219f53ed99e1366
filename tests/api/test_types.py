"""Type checkers know the names of the package: a misspelt one is an error, not ``Any``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np
import polars as pl
import pytest
from support.mechanisms import MECHANISMS

import dpnb_columnar as dpnb
from dpnb_columnar import options
from dpnb_columnar.api import arguments
from dpnb_columnar.counting.inputs import Engine
from dpnb_columnar.rows import sources

ROOT = Path(__file__).parents[2]


def errors_in(snippet: str, folder: Path) -> list[str]:
    """Return mypy's errors in a module. What the package imports is not read, so that it answers soon."""
    api = pytest.importorskip("mypy.api", reason="mypy is of the extra lint")
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


NAMES = {
    "mechanism": (options.MechanismName, {"auto", *MECHANISMS}),
    "attribute_weights": (options.AttributeWeights, {"auto", "none", "tempered", "calibrated", "learned"}),
    "neighbours": (options.NeighboursName, {*options.Neighbours}),
    "engine": (arguments.EngineName, {*Engine}),
    "dialect": (sources.DialectName, {"postgresql", *sources.Dialect}),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_names_that_an_editor_offers_are_those_that_there_are(name: str) -> None:
    offered, known = NAMES[name]
    members = [offered, *get_args(offered)] if get_origin(offered) is Literal else get_args(offered)
    (literal,) = (member for member in members if get_origin(member) is Literal)
    assert {*get_args(literal)} == known


def test_noise_that_an_editor_offers_is_known() -> None:
    literal = next(member for member in get_args(options.NoiseName) if get_origin(member) is Literal)
    for name in get_args(literal):
        delta = 0 if name in ("polyplace", "student-3", "cauchy", "nissim-cauchy") else "1e-6"
        works = {"column": "works", "classes": ["no", "yes"]}
        domain = {"label": works, "attributes": {"age": {"lower": 0, "upper": 99, "step": 1}}}
        plan = dpnb.plan(domain=domain, epsilon=1, mechanism="smooth", noise=name, delta=delta, rehearse=False)
        assert name in repr(plan)


@pytest.mark.slow
def test_a_checker_refuses_a_name_that_there_is_not(tmp_path: Path) -> None:
    """And knows the classes, to annotate with them."""
    api = pytest.importorskip("mypy.api", reason="mypy is of the extra lint")
    lines = [
        "import dpnb_columnar as dpnb",
        "def kept(model: dpnb.Model, counts: dpnb.Statistics, domain: dpnb.Domain) -> dpnb.Error | None: ...",
        'dpnb.train("x.parquet", epsilon=1, mechanism="histogram", noise="student-7", neighbours="replace-one")',
        'dpnb.train("x.parquet", epsilon=1, mechanism="histogramm")',
        'dpnb.train("x.parquet", epsilon=1, neighbours="both")',
        'dpnb.load_model("x.json").to_sql("oracle")',
    ]
    (tmp_path / "snippet.py").write_text("\n".join(lines) + "\n")
    said, failed, _ = api.run(
        ["--config-file=", f"--cache-dir={tmp_path}", "--ignore-missing-imports", str(tmp_path / "snippet.py")]
    )
    assert failed == ""
    assert [int(number) for number in re.findall(r"snippet\.py:(\d+): error: Argument", said)] == [4, 5, 6]


def test_classes_are_found_at_the_top() -> None:
    works = {"column": "works", "classes": ["no", "yes"]}
    domain = dpnb.read_domain({"label": works, "attributes": {"age": {"lower": 0, "upper": 99}}})
    assert isinstance(domain, dpnb.Domain)
    with pytest.raises(dpnb.Error):
        dpnb.read_domain({"label": works})
    rows = pl.DataFrame({"age": [20, 30, 40], "works": ["no", "yes", "yes"]})
    counts = dpnb.aggregate(rows, domain=domain)
    assert isinstance(counts, dpnb.Statistics)
    assert isinstance(dpnb.release(counts, epsilon=1), dpnb.Model)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("x.parquet", "found str; open files with polars.scan_parquet"),
        (Path("x.parquet"), "open files with polars.scan_parquet"),
        (["x.parquet", "y.parquet"], "found list; open files with polars.scan_parquet"),
        ({"age": [3]}, "found dict; make a frame of it: polars.DataFrame(rows)"),
        ([{"age": 3}], "found list; make a frame of it: polars.DataFrame(rows)"),
        (np.array([[3]]), "found ndarray; name the columns of an array: polars.DataFrame(rows, schema=names)"),
        (None, "found NoneType"),
    ],
)
def test_what_is_no_frame_is_told_what_to_give(rows: Any, told: str) -> None:
    works = {"column": "works", "classes": ["no", "yes"]}
    domain = {"label": works, "attributes": {"age": {"lower": 0, "upper": 99}}}
    known = pl.DataFrame({"age": [20, 30, 40], "works": ["no", "yes", "yes"]})
    model = dpnb.train(known, epsilon=1, domain=domain)
    for use in (model.predict, model.explain):
        with pytest.raises(dpnb.Error) as error:
            use(rows)
        assert str(error.value).startswith("rows: give a frame of a known library")
        assert told in str(error.value)
    if "scan_parquet" in told:
        with pytest.raises(dpnb.Error, match="no such file"):
            model.evaluate(rows)
        return
    for read in (model.evaluate, lambda rows: dpnb.train(rows, epsilon=1, domain=domain), dpnb.check, dpnb.split):
        with pytest.raises(dpnb.Error) as error:
            read(rows)
        assert str(error.value).startswith("data: give names of files or a frame of a known library")
        assert told in str(error.value)
