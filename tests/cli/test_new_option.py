"""A new option is a field of a record, which every verb then has, and an argument of the functions that build it."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest
import typer
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar import options as declared_options
from dpnb_columnar.cli import options as configuration
from dpnb_columnar.cli.main import verb_parser
from dpnb_columnar.cli.options import Config, expanded
from dpnb_columnar.options import Charged, Declared, DomainSource, LabelledDomain, Option, PaymentOptions, Terms


@dataclass(frozen=True, kw_only=True)
class PaintedTerms(Terms):
    """Terms with an option that nobody has seen."""

    colour: Annotated[
        str | None, Option(help="Colour, as painters say.", metavar="NAME", shown="that of the paper")
    ] = None


RECEIVED: list[PaintedTerms] = []


@expanded
def command(
    context: typer.Context,
    page: Annotated[str, typer.Argument()],
    *,
    terms: PaintedTerms,
    config: Config = None,
    dry_run: configuration.DryRun = False,
) -> None:
    """Paint a page."""
    RECEIVED.append(terms)
    if dry_run:
        configuration.print_settings(context, {})


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[PaintedTerms]]:
    """The verb ``train`` paints a page; the terms that it was given."""
    module = ModuleType("dpnb_columnar.cli.verbs.train")
    vars(module)["command"] = command
    monkeypatch.setitem(sys.modules, module.__name__, module)
    verb_parser.cache_clear()
    RECEIVED.clear()
    yield RECEIVED
    verb_parser.cache_clear()


def test_a_field_is_an_option_that_is_typed(painted: list[PaintedTerms], run: Run) -> None:
    shown = " ".join(run("train", "--help").out.split())
    assert "--colour NAME Colour, as painters say. [env var: DPNB_COLOUR; default: (that of the paper)]" in shown
    run("train", "first", "--colour", "blue", "--epsilon", "0.5")
    assert painted == [PaintedTerms(colour="blue", epsilon="0.5", delta="0")]
    with pytest.raises(FrozenInstanceError):
        painted[0].colour = "red"  # type: ignore[misc]


def test_a_field_is_set_by_a_file_and_by_a_variable(
    painted: list[PaintedTerms], run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("job.toml").write_text('[train]\ncolour = "green"\n')
    lines = run("train", "first", "--config", "job.toml", "--dry-run").out.splitlines()
    assert ["--colour", "green", "job.toml"] in [line.split() for line in lines]
    monkeypatch.setenv("DPNB_COLOUR", "grey")
    lines = run("train", "first", "--config", "job.toml", "--dry-run").out.splitlines()
    assert ["--colour", "grey", "DPNB_COLOUR"] in [line.split() for line in lines]
    assert [terms.colour for terms in painted] == ["green", "grey"]


def test_a_field_that_is_declared_again_keeps_its_place_and_its_option() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Again(Terms):
        delta: str = "1e-6"

    assert list(declared_options.options_of(Again)) == list(declared_options.options_of(Terms))
    assert declared_options.options_of(Again)["delta"] is declared_options.options_of(Terms)["delta"]


def test_every_option_has_a_help() -> None:
    for record in (declared_options.Declared, Terms, declared_options.PaymentOptions):
        for name, option in declared_options.options_of(record).items():
            assert option.help.endswith((".", ")")), name
            assert option.shown is None or option.metavar is not None, name


BUILDERS: dict[str, tuple[type, ...]] = {
    "aggregate": (Declared,),
    "calibrate": (Charged,),
    "check": (LabelledDomain,),
    "ingest": (DomainSource,),
    "plan": (Terms, Declared),
    "read_domain": (LabelledDomain,),
    "release": (Terms, Charged),
    "release_scores": (PaymentOptions,),
    "train": (Terms, Declared, PaymentOptions),
}
"""By function, the records that it takes the fields of as its arguments."""


def lacks(function: Callable[..., Any], record: type) -> list[str]:
    """Name the fields of a record that a function does not take, with their default, or does not use."""
    parameters = inspect.signature(function).parameters
    body = ast.parse(inspect.getsource(function)).body[0]
    used = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
    defaults = {field.name: field.default for field in fields(record)}
    if function in (dpnb.release, dpnb.train):  # Python has an epsilon typed, even if a catalogue declares one
        defaults["epsilon"] = inspect.Parameter.empty
    taken = {name: each.default for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY}
    return [name for name, default in defaults.items() if name not in used or taken.get(name, taken) != default]


@pytest.mark.parametrize("name", BUILDERS)
def test_a_function_takes_every_field_of_the_records_that_it_builds(name: str) -> None:
    assert [field for record in BUILDERS[name] for field in lacks(getattr(dpnb, name), record)] == []
    assert lacks(getattr(dpnb, name), PaintedTerms)[-1] == "colour"
