"""Errors that are raised in Python speak of arguments; those of the command line, of options."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.people import people, people_domain, write_people

import dpnb_columnar as dpnb
from dpnb_columnar.errors import DomainError, Error
from dpnb_columnar.model.model import Model
from dpnb_columnar.wording import FUNCTIONS, argument_of, in_python, speaking_python

PACKAGE = Path(dpnb.__file__).parent
COMMAND_LINE = ("cli", "audit", "study", "report", "datasets", "dialects")
"""Rooms whose texts no function of the Python interface raises."""

OF_COMMANDS = {
    "table": "databases",
    "checkpoint": "aggregate on the command line alone",
    "given": "files of statistics and counts",
    "domain": "release of a query's result; train has an argument of this name",
    "public": "evaluate beside the public file",
    "head": "ledger verify",
    "most-values": "suggest-domain",
    "output": "outputs in general; save calls it path",
    "account": "a ledger's account",
    "values": "domain edit",
    "bounds": "domain edit",
    "attributes": "domain edit",
    "drop": "domain edit",
    "merge": "domain edit",
    "value-labels": "domain edit",
}
"""Options that texts name and that are no argument of a function, and the verb that they belong to."""


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


def test_every_option_in_a_text_is_an_argument_in_python() -> None:
    named = {option for text in texts() for option in re.findall(r"(?:^|[\s(`])--([a-z][a-z-]+)", text)}
    assert {"attribute-weights", "overwrite", "codebook"} <= named
    known = parameters() | {"overwrite=True", "Spark's master"}
    assert {option for option in named if argument_of(option) not in known} <= {*OF_COMMANDS}


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
        ("my--file.parquet: no column a--b, or -- c", "my--file.parquet: no column a--b, or -- c"),
        ("install it with: pip install 'dpnb-columnar[spark]'", "install it with: pip install 'dpnb-columnar[spark]'"),
    ],
)  # fmt: skip
def test_a_text_in_python(typed: str, said: str) -> None:
    assert in_python(typed) == said


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
