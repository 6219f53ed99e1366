"""What is typed: shell completion, and plain values of options and arguments as validators of Typer give them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from support.running import in_python, parser_of
from typer.core import TyperOption

from dpnb_columnar.cli.main import PlainParameters, PlainValues, help_lines
from dpnb_columnar.errors import UsageError

SCRIPTS = {"bash": "complete -o default", "zsh": "#compdef dpnb-columnar", "fish": "complete --command dpnb-columnar"}


def completions(line: str) -> set[str]:
    """What bash would offer for the last word of a line."""
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    ended = in_python("-m", "dpnb_columnar", env={"_DPNB_COLUMNAR_COMPLETE": "complete_bash", **asked}, check=True)
    assert ended.stderr == ""
    return set(ended.stdout.split())


@pytest.mark.parametrize("shell", SCRIPTS)
def test_script_for_a_shell(shell: str) -> None:
    ended = in_python(
        "-m", "dpnb_columnar", env={"_DPNB_COLUMNAR_COMPLETE": f"source_{shell}", "PATH": "/usr/bin:/bin"}, check=True
    )
    assert SCRIPTS[shell] in ended.stdout
    assert "_DPNB_COLUMNAR_COMPLETE=complete_" in ended.stdout


def test_show_completion_prints_a_script() -> None:
    ended = in_python(
        "-m", "dpnb_columnar", "--show-completion", "bash", env={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "true"}
    )
    assert ended.returncode == 0, ended.stderr
    assert SCRIPTS["bash"] in ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("dpnb-columnar tra", {"train"}),
        ("dpnb-columnar s", {"simulate", "split", "suggest-domain", "show", "sql"}),
        ("dpnb-columnar d", {"demo", "domain", "datasets"}),
        ("dpnb-columnar ledger ", {"init", "show", "verify"}),
        ("dpnb-columnar train --epsi", {"--epsilon"}),
        ("dpnb-columnar train census.parquet --neighbours ", {"add-remove", "replace-one"}),
        ("dpnb-columnar sql census.model.json --dialect post", {"postgres"}),
        ("dpnb-columnar train --config no-such-file.toml --neigh", {"--neighbours"}),
        ("dpnb-columnar no-such-verb --x", set()),
    ],
    ids=range(9),
)
def test_words_that_are_offered(line: str, offered: set[str]) -> None:
    assert completions(line) == offered


typers_validators = pytest.mark.skipif(
    not hasattr(TyperOption, "get_runtime_param"), reason="this version of Typer has no validators of pydantic"
)

TEXTS = ("", " ", "a", "0", "7", "-1", "+5", "007", "1_0", "1.0", "٣", "9" * 18, "9" * 30, "1e3", "true")
CHOICES = ("local", "LOCAL", "Local", "spark", "add-remove", "add_remove", "substitution", "json", "text", "duckdb")
PATHS = ("file.parquet", ".", "missing/file.parquet", "a b", "~", "x/../y", "x//y/", "*.parquet")


def parameters(parser: Any) -> Iterator[Any]:
    """Every option and argument of a verb and of its commands."""
    yield from parser.params
    for command in getattr(parser, "commands", {}).values():
        yield from parameters(command)


def read(validator: Any, parameter: Any, value: object) -> object:
    """What a validator makes of a value, or that it refuses it."""
    try:
        return validator.coerce(value, param=parameter, ctx=None)
    except (typer.BadParameter, UsageError):
        return "refused"


@typers_validators
@pytest.mark.parametrize("verb", help_lines())
def test_a_plain_value_is_what_typer_makes_of_it(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file.parquet").touch()
    for parameter in parameters(parser_of(verb)):
        own, typers = PlainValues(parameter), type(parameter).get_runtime_param(parameter)
        several = parameter.nargs == -1 or parameter.multiple
        for text in (*TEXTS, *CHOICES, *PATHS):
            value = (text, "7") if several else text
            found, expected = read(own, parameter, value), read(typers, parameter, value)
            assert (found, type(found)) == (expected, type(expected)), (parameter.name, text)
        default = parameter.default
        assert read(own, parameter, default) == read(typers, parameter, default), parameter.name


@typers_validators
def test_an_unreadable_path_is_refused_as_typer_refuses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.json").touch()
    (model,) = (each for each in parser_of("predict").params if each.name == "model")
    monkeypatch.setattr("os.access", lambda path, mode: mode == 0)
    with pytest.raises(typer.BadParameter, match="not readable"):
        PlainValues(model).coerce(str(tmp_path / "model.json"), param=model, ctx=None)


def test_versions_of_typer_without_such_validators_are_left_alone() -> None:
    class Option:
        pass

    class Parser:
        def get_params(self, ctx: object) -> list[Option]:
            return [option]

    class PlainParser(PlainParameters, Parser):
        pass

    option = Option()
    assert PlainParser().get_params(None) == [option]
    assert not vars(option)
