"""Errors that are raised in Python speak of arguments; those of the command line, of options."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.people import people, people_domain, write_people
from support.running import parser_of

import dpnb_columnar as dpnb
from dpnb_columnar.cli.program import VERBS
from dpnb_columnar.errors import FUNCTIONS, DomainError, Error, argument_of, in_python, speaking_python
from dpnb_columnar.model.model import Model

PACKAGE = Path(dpnb.__file__).parent
COMMAND_LINE = ("cli", "audit", "study", "report", "datasets", "dialects")
"""Rooms whose texts no function of the Python interface raises."""

OF_THE_SHELL = {
    "aggregate": {"checkpoint", "given", "output", "report"},
    "check": set(),
    "ingest": set(),
    "plan": {"no-advice"},
    "simulate": set(),
    "split": set(),
    "train": {"dry-run", "output", "seed"},
}
"""Options of verbs that are no argument of their function: it returns what they write, and makes no model without
guarantee."""

EVERYWHERE = {"config", "json", "log-format", "master", "weights"}
"""Options of settings, logs and Spark's session, and a former name."""


def options_of(parser: Any) -> set[str]:
    """Name the options of a verb, or of the commands below it, without their hyphens."""
    commands = getattr(parser, "commands", {"": parser}).values()
    return {name[2:] for command in commands for each in command.params for name in each.opts if name[:2] == "--"}


def texts() -> Iterator[str]:
    """Yield every text of the modules that the interface runs, with a word in the place of what is filled in."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] in COMMAND_LINE:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def parameters() -> set[str]:
    methods = [value for value in vars(Model).values() if inspect.isfunction(value)]
    functions = [*(getattr(dpnb, name) for name in dpnb.__all__), *methods]
    return {name for function in functions for name in inspect.signature(function).parameters}


@pytest.mark.parametrize("verb", OF_THE_SHELL)
def test_every_option_of_a_verb_is_an_argument_of_its_function(verb: str) -> None:
    arguments = {*inspect.signature(getattr(dpnb, verb)).parameters, "overwrite=True"}
    beside = {option for option in options_of(parser_of(verb)) if argument_of(option) not in arguments}
    assert beside - EVERYWHERE == OF_THE_SHELL[verb]


def test_every_option_in_a_text_is_an_argument_or_an_option_of_a_verb() -> None:
    named = {option for text in texts() for option in re.findall(r"(?:^|[\s(`])--([a-z][a-z-]+)", text)}
    assert {"attribute-weights", "overwrite", "codebook"} <= named
    known = parameters() | {"overwrite=True", "Spark's master"}
    of_verbs = set[str]().union(*(options_of(parser_of(verb)) for verb in VERBS))
    assert {option for option in named if argument_of(option) not in known} <= of_verbs


@pytest.mark.slow
def test_no_text_keeps_an_option_in_python() -> None:
    assert [text for text in map(in_python, texts()) if re.search(r"(?:^|[\s(`])--[a-z]", text)] == []


def test_commands_that_become_calls_are_functions() -> None:
    assert {*FUNCTIONS} <= {*dpnb.__all__}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("noise: spends a delta; give --delta, such as 1e-6", "noise: spends a delta; give delta, such as 1e-6"),
        ("leave --attribute-weights out", "leave attribute_weights out"),
        ("with --declared-rows, or a number", "with rows, or a number"),
        ("exists already; replace it with --overwrite", "exists already; replace it with overwrite=True"),
        ("run dpnb-columnar check on it", "run dpnb.check on it"),
        (
            "make Parquet of it: dpnb-columnar ingest 'my rows.csv' --output NAME.parquet",
            'make Parquet of it: dpnb.ingest("my rows.csv", output="NAME.parquet")',
        ),
        ("one: dpnb-columnar ledger init a.b --dataset a --epsilon NUMBER", "one: dpnb-columnar ledger init a.b"),
        ("dpnb-columnar domain edit a.parquet --codebook b.xml --output c", "dpnb-columnar domain edit a.parquet"),
        ("my--file.parquet: no column a--b, or -- c", "my--file.parquet: no column a--b, or -- c"),
        ("install it with: pip install 'dpnb-columnar[spark]'", "install it with: pip install 'dpnb-columnar[spark]'"),
    ],
)  # fmt: skip
def test_a_text_in_python(typed: str, said: str) -> None:
    assert in_python(typed) == said


@given(st.text(st.characters(exclude_categories=["C"]), min_size=1).map(lambda name: f"{name.strip()}.csv"))
def test_any_name_of_a_file_is_an_argument(name: str) -> None:
    typed = f"make Parquet of it: dpnb-columnar ingest {shlex.quote(name)} --output NAME.parquet"
    arguments = f'{json.dumps(name, ensure_ascii=False)}, output="NAME.parquet"'
    assert in_python(typed) == f"make Parquet of it: dpnb.ingest({arguments})"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: dpnb.train("people.parquet", epsilon=1, label="sexx"), "label 'sexx'"),
        (lambda: dpnb.train("people.parquet", epsilon=1, noise="gaussian"), "give delta"),
        (lambda: dpnb.train("people.parquet", epsilon=1, delta="1/n", noise="gaussian"), "with rows"),
        (lambda: dpnb.train("people.parquet", epsilon=1, delta=1e-6), "leave delta out"),
        (lambda: dpnb.train("people.parquet", epsilon=1, mechanism="histogram", noise="laplace"), "leave noise out"),
        (lambda: dpnb.train("people.parquet", epsilon=1, ledger="none.ledger"), "ledger init none.ledger"),
        (lambda: dpnb.train("bare.parquet", epsilon=1), "with dataset, its file with catalogue"),
        (lambda: dpnb.train("rows.csv", epsilon=1), 'dpnb.ingest("rows.csv", output="NAME.parquet")'),
        (lambda: dpnb.aggregate("."), "name one with dataset"),
        (lambda: dpnb.simulate("people.parquet"), "choose another output, or replace it with overwrite=True"),
        (lambda: dpnb.simulate("new.parquet", rows=0), "rows 0: a file needs rows; give 1 or more, such as rows 1"),
        (lambda: dpnb.split("people.parquet", test=2), "test: 2 is no part"),
        (lambda: dpnb.ingest("rows.csv", "new.parquet", columns="b"), "columns"),
        (lambda: dpnb.read_domain(), "with dataset"),
        (lambda: model().save("people.parquet"), "overwrite=True"),
        (lambda: model().evaluate("rows.csv"), "dpnb.ingest"),
        (lambda: model().evaluate(people(9).head(0)), "no row fits"),
    ],
)  # fmt: skip
def test_errors_in_python_name_arguments(call: Callable[[], object], said: str, folder: Path) -> None:
    write_people(folder / "people.parquet")
    write_people(folder / "bare.parquet", document=None)
    (folder / "rows.csv").write_text("a\n1\n")
    with pytest.raises(Error) as raised:
        call()
    assert said in str(raised.value)
    assert "--" not in str(raised.value)


def model() -> Model:
    return dpnb.train(people(50), epsilon=1, domain=people_domain(), mechanism="histogram")


def test_the_source_of_faults_is_an_argument_as_well() -> None:
    @speaking_python()
    def refuse() -> None:
        raise DomainError("--label AGE", [])

    with pytest.raises(DomainError) as raised:
        refuse()
    assert raised.value.source == "label AGE"
    assert str(raised.value).startswith("label AGE: ")
