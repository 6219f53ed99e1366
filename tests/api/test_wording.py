"""Errors that are raised in Python speak of arguments; those of the command line, of options."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shlex
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.people import PEOPLE, people, people_domain, spoil_rows, write_people
from support.running import Run, parser_of
from support.tables import into_duckdb, into_sqlite

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model
from dpnb_columnar.cli.main import VERBS
from dpnb_columnar.errors import (
    CommandLine,
    DataError,
    Error,
    MissingInputError,
    Python,
    UsageError,
    command,
    front_door,
    option,
)

PACKAGE = Path(dpnb.__file__).parent
OF_THE_SHELL = {
    "aggregate": {"given", "output", "report"},
    "check": set(),
    "ingest": set(),
    "plan": {"no-advice"},
    "simulate": set(),
    "split": set(),
    "train": {"dry-run", "output", "seed"},
}
"""Options of verbs that are no argument of their function: it returns what they write, makes no model without
guarantee."""

EVERYWHERE = {"config", "json", "log-format"}
"""Options of settings and logs."""


def options_of(parser: Any) -> set[str]:
    """Name the options of a verb, or of the commands below it, without their hyphens."""
    commands = getattr(parser, "commands", {"": parser}).values()
    return {name[2:] for command in commands for each in command.params for name in each.opts if name[:2] == "--"}


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield every module that writes texts for both front doors: all but those of the command line itself.

    ``options.py`` has texts of the command line, and so have modules of extensions that print.
    """
    for path in sorted(PACKAGE.rglob("*.py")):
        name, text = path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8")
        prints = name.startswith("cli/") or "\nfrom dpnb_columnar.cli" in text
        if not prints and name not in {"errors.py", "options.py"}:
            yield name, ast.parse(text)


def remedies(function: str) -> Iterator[ast.Call]:
    """Yield every call of ``option`` or of ``command``."""
    for _, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
                yield node


def texts_in(node: ast.AST) -> set[str]:
    """Return the texts that an expression may be: one, or one of two; none where it is a variable."""
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def parameters() -> set[str]:
    methods = [value for value in vars(Model).values() if inspect.isfunction(value)]
    functions = [*(getattr(dpnb, name) for name in dpnb.__all__), *methods]
    return {name for function in functions for name in inspect.signature(function).parameters}


@pytest.mark.parametrize("verb", OF_THE_SHELL)
def test_every_option_of_a_verb_is_an_argument_of_its_function(verb: str) -> None:
    arguments = {*inspect.signature(getattr(dpnb, verb)).parameters, "overwrite=True", "header=False"}
    only_typed = {name for name in options_of(parser_of(verb)) if Python().option(name) not in arguments}
    assert only_typed - EVERYWHERE == OF_THE_SHELL[verb]


def test_every_option_in_a_remedy_is_an_argument_or_an_option_of_a_verb() -> None:
    named = set[str]().union(*(texts_in(call.args[0]) for call in remedies("option")))
    assert {"attribute-weights", "overwrite", "codebook"} <= named
    known = parameters() | {"overwrite=True", "header=False"}
    of_verbs = set[str]().union(*(options_of(parser_of(verb)) for verb in VERBS))
    assert {name for name in named if Python().option(name) not in known} <= of_verbs


def test_every_command_in_a_remedy_is_a_verb_that_has_its_options() -> None:
    for call in remedies("command"):
        (words,) = texts_in(call.args[0])
        verb, *inner = words.split()
        options = {each.arg.replace("_", "-") for each in call.keywords if each.arg is not None}
        parser = parser_of(verb)
        assert options <= options_of(parser), words
        assert {*inner} <= {*getattr(parser, "commands", ["statistics"])}, words  # as of ``sql``: an argument
        if verb in Python.FUNCTIONS and "given" not in options:
            arguments = inspect.signature(getattr(dpnb, verb)).parameters
            assert {Python().option(name) for name in options} <= {*arguments}, words
    assert {*Python.FUNCTIONS} <= {*dpnb.__all__}


def test_no_text_for_both_doors_writes_an_option_out() -> None:
    for name, tree in modules():
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                assert not re.search(r"(?<![\w-])--[a-z]|{(option|command)\(", node.value), (name, node.value)


def test_no_remedy_is_written_where_a_module_is_imported() -> None:
    def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.Lambda):
                yield child
                yield from outside_functions(child)

    for name, tree in modules():
        written = {each.id for each in outside_functions(tree) if isinstance(each, ast.Name)}
        assert not written & {"option", "command"}, name


@pytest.mark.parametrize(
    ("write", "typed", "called"),
    [
        (lambda: option("delta"), "--delta", "delta"),
        (lambda: option("attribute-weights"), "--attribute-weights", "attribute_weights"),
        (lambda: option("unit-rows", 1), "--unit-rows 1", "unit_rows=1"),
        (lambda: option("account", "a b"), "--account 'a b'", 'account="a b"'),
        (lambda: option("declared-rows"), "--declared-rows", "rows"),
        (lambda: option("overwrite"), "--overwrite", "overwrite=True"),
        (lambda: command("check"), "dpnb-columnar check", "dpnb.check"),
        (
            lambda: command("ingest", "my rows.csv", output="NAME.parquet"),
            "dpnb-columnar ingest 'my rows.csv' --output NAME.parquet",
            'dpnb.ingest("my rows.csv", output="NAME.parquet")',
        ),
        (
            lambda: command("ledger init", "a.b", dataset="a", epsilon="NUMBER"),
            "dpnb-columnar ledger init a.b --dataset a --epsilon NUMBER",
            "dpnb-columnar ledger init a.b --dataset a --epsilon NUMBER",
        ),
        (
            lambda: command("aggregate", given="MODEL"),
            "dpnb-columnar aggregate --given MODEL",
            "dpnb-columnar aggregate --given MODEL",
        ),
    ],
)  # fmt: skip
def test_a_remedy_is_written_for_the_door_in_use(write: Callable[[], str], typed: str, called: str) -> None:
    assert write() == called
    with front_door(CommandLine()), ThreadPoolExecutor(1) as pool:
        assert write() == typed == pool.submit(write).result()
    assert write() == called


def test_the_command_line_opens_its_door_and_closes_it(run: Run, folder: Path) -> None:
    refusal = run("simulate", "new.parquet", "--rows", "0", expected=64).err
    assert "--rows 0: a file needs rows; give 1 or more, such as --rows 100000" in refusal
    assert option("noise") == "noise"


@given(st.text(st.characters(exclude_categories=["C"]), min_size=1).map(lambda name: f"{name.strip()}.csv"))
def test_any_name_of_a_file_is_an_argument(name: str) -> None:
    begin, end = "dpnb.ingest(", ', output="NAME.parquet")'
    called = command("ingest", name, output="NAME.parquet")
    assert called.startswith(begin)
    assert called.endswith(end)
    assert json.loads(called[len(begin) : -len(end)]) == name
    with front_door(CommandLine()):
        assert shlex.split(command("ingest", name, output="NAME.parquet"))[2:] == [name, "--output", "NAME.parquet"]


@pytest.mark.parametrize("name", ["wages --label x.parquet", "run dpnb-columnar check now.parquet", "--output"])
def test_what_users_have_named_is_not_rewritten(name: str, folder: Path) -> None:
    with pytest.raises(Error) as raised:
        dpnb.train(name, epsilon=1)
    assert str(raised.value).startswith(f"{name}: no such file")
    domain = {"label": {"column": "sex", "classes": ["m", "f"]}, "attributes": {name: {"lower": 0, "upper": 9}}}
    with pytest.raises(Error) as raised:
        dpnb.train(people(9), epsilon=1, domain=domain)
    assert f"missing column {name!r}" in str(raised.value)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: dpnb.train("people.parquet", epsilon=1, label="sexx"), Error, "label 'sexx'"),
        (lambda: dpnb.train("people.parquet", epsilon=1, noise="gaussian"), Error, "give delta"),
        (lambda: dpnb.train("people.parquet", epsilon=1, delta="1/n", noise="gaussian"), Error, "with rows"),
        (lambda: dpnb.train("people.parquet", epsilon=1, ledger="none.ledger"), Error, "init none.ledger --dataset"),
        (lambda: dpnb.train("bare.parquet", epsilon=1), Error, "name an entry with dataset, or declare one"),
        (lambda: dpnb.train("rows.csv", epsilon=1), Error, 'dpnb.ingest("rows.csv", output="NAME.parquet")'),
        (lambda: dpnb.aggregate("."), Error, "name one with dataset"),
        (lambda: dpnb.simulate("people.parquet"), Error, "choose another output, or replace it with overwrite=True"),
        (lambda: dpnb.simulate("new.parquet", rows=0), Error, "rows 0: a file needs rows; give 1 or more, such as"),
        (lambda: dpnb.ingest("rows.csv", "new.parquet", columns="b"), Error, "columns"),
        (lambda: dpnb.read_domain(), Error, "with dataset"),
        (lambda: model().save("people.parquet"), Error, "overwrite=True"),
        (lambda: model().evaluate("rows.csv"), Error, "dpnb.ingest"),
        (lambda: model().evaluate(people(9).head(0)), Error, "has no row"),
        (lambda: train(epsilon=0), UsageError, "above 0"),
        (lambda: train(epsilon=None), UsageError, "expected a number"),
        (lambda: train(epsilon=True), UsageError, "expected a number"),
        (lambda: train(shares="2:1"), UsageError, "shares: expected by-size, equal, or three positive numbers"),
        (lambda: train(dataset="adult", domain=PEOPLE), UsageError, "give one of them"),
        (lambda: train(run_id="nightly"), UsageError, "ledger"),
        (lambda: train("people.duckdb"), UsageError, "give a relation"),
        (lambda: train("postgresql://me@host/db"), UsageError, "give a relation"),
        (lambda: train("postgresql://me:secret@host/db"), UsageError, "PGPASSWORD"),
        (lambda: train(5, domain=PEOPLE), UsageError, "data: "),
        (lambda: dpnb.aggregate([]), MissingInputError, "no input"),
        (lambda: dpnb.load_model("model.pkl"), UsageError, "model.pkl"),
        (lambda: dpnb.release(dpnb.aggregate("people.parquet"), epsilon=1, account="people"), UsageError, "ledger"),
        (lambda: dpnb.aggregate("people.duckdb", table="person", engine="spark"), UsageError, "table: is of a"),
        *(
            case
            for function in (dpnb.aggregate, dpnb.check, dpnb.split)
            for case in (
                (lambda function=function: function(people(9), table="person"), UsageError, "and data is a frame"),
                (lambda function=function: function("people.parquet", table="t"), UsageError, "table is for a data"),
                (lambda function=function: function("people.duckdb"), UsageError, "name its table with table, or give"),
                (lambda function=function: function("people.sqlite"), UsageError, "name its table with table, or give"),
            )
        ),
        (lambda: dpnb.aggregate(twice(), domain=PEOPLE), DataError, "two columns of one name"),
        pytest.param(
            lambda: dpnb.aggregate(twice().to_pandas(), domain=PEOPLE),
            DataError,
            "two columns of one name",
            marks=pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed"),
        ),
        (lambda: model().evaluate(people(5).with_columns(income=pl.lit("middle"))), DataError, "frame: no row fits"),
        (lambda: model().evaluate(people(5).drop("income")), DataError, "the frame: missing column 'income'"),
        (
            lambda: model().evaluate(people(5).lazy().with_columns(age=pl.col("income").cast(int))),
            DataError,
            "the frame: its query fails",
        ),
        (lambda: dpnb.split(people(9).lazy()), UsageError, "collect it first: .collect() of Polars"),
        (lambda: dpnb.split(duckdb.from_arrow(people(9).to_arrow())), UsageError, "the frame is lazy"),
        (lambda: dpnb.split(people(9), by="home"), DataError, "no column 'home' to split by; its columns are 'age'"),
        (
            lambda: dpnb.split(people(9), train_output="a.parquet", test_output="b.parquet"),
            UsageError,
            "train_output and test_output are for files",
        ),
        (
            lambda: dpnb.split(people(9), test=0.6, validation="0.4"),
            UsageError,
            'test="0.6" and validation="0.4" leave no row to train on',
        ),
        (lambda: dpnb.plan(), Error, "name a domain: give data that carries one, domain or dataset"),
        (lambda: dpnb.plan(people(5)), Error, "name a domain"),
        (lambda: dpnb.plan(domain=PEOPLE, dataset="people"), Error, "domain and dataset both name a domain"),
        (lambda: dpnb.plan(domain=PEOPLE, class_sizes=[]), Error, "class_sizes: give at least one"),
        (lambda: dpnb.plan(domain=PEOPLE, class_sizes=[0]), Error, "class_sizes: expected 100 to"),
        (lambda: dpnb.check(people(5).drop("age"), domain=PEOPLE), Error, "missing column 'age'"),
        (lambda: dpnb.check(people(5)), Error, "a frame carries no domain"),
        (lambda: dpnb.check(people(5), domain=PEOPLE, epsilon=0), Error, "epsilon"),
    ],
)  # fmt: skip
def test_errors_in_python_name_arguments(
    call: Callable[[], object], error: type[Error], said: str, folder: Path
) -> None:
    """And are found before a row of ``spoilt.parquet`` is read."""
    spoil_rows(write_people(folder / "spoilt.parquet"))
    write_people(folder / "people.parquet")
    write_people(folder / "bare.parquet", document=None)
    into_duckdb(folder / "people.duckdb", people(9))
    into_sqlite(folder / "people.sqlite", people(9))
    (folder / "rows.csv").write_text("a\n1\n")
    with pytest.raises(error) as raised:
        call()
    assert said in str(raised.value)
    assert "secret" not in str(raised.value)
    assert "--" not in re.sub(r"dpnb-columnar (ledger init|domain edit)[^;)]*", "", str(raised.value))


def train(data: Any = "spoilt.parquet", **options: Any) -> Model:
    return dpnb.train(data, **{"epsilon": 1, **options})


def twice() -> pa.Table:
    table = people(5).to_arrow()
    return pa.table([*table.columns, table["age"]], names=[*table.column_names, "age"])


def model() -> Model:
    return dpnb.train(people(50), epsilon=1, domain=people_domain(), mechanism="histogram")
