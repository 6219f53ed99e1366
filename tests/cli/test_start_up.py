"""What a command loads and builds before it begins: no more than it uses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from dpnb_columnar.cli import main

VERBS = [*typer.main.get_command(main.app).commands]  # type: ignore[attr-defined]
UNUSED = "pyarrow scipy sqlglot sqlite3 rich sklearn pyspark matplotlib dpnb_columnar.ledger dpnb_columnar.study"

PROBE = """
import sys
from dpnb_columnar.cli.main import exit_code
code = exit_code(sys.argv[2:])
found = set(sys.argv[1].split()).intersection(sys.modules)
sys.exit(f"{code} {sorted(found)}" if code or found else 0)
"""


def built(word: str) -> dict[str, Any]:
    """The commands that are built where this word is typed first."""
    return dict(typer.main.get_command(main.asked_for([word])).commands)  # type: ignore[attr-defined]


def shape(command: Any) -> list[Any]:
    """What a command takes, those below it as well."""
    options = [(option.name, option.opts, option.required, repr(option.default)) for option in command.params]
    return [command.help, options, {name: shape(each) for name, each in getattr(command, "commands", {}).items()}]


def test_train_loads_no_library_that_it_does_not_use(people_file: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROBE, UNUSED, "train", str(people_file), "--epsilon", "1"],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_the_parser_of_one_verb_is_that_of_the_whole_command_line(verb: str) -> None:
    whole = typer.main.get_command(main.app).commands[verb]  # type: ignore[attr-defined]
    assert shape(built(verb)[verb]) == shape(whole)


def test_few_parsers_are_built_for_a_verb() -> None:
    jobs = {"ingest", "train", "aggregate", "release", "predict"}  # a configuration may hold a table for each
    assert {verb: set(built(verb)) for verb in VERBS} == {verb: jobs if verb in jobs else {verb} for verb in VERBS}


@pytest.mark.parametrize("word", ["--help", "-h", "--version", "tran", ""])
def test_other_words_are_answered_by_the_whole_command_line(word: str) -> None:
    assert set(built(word)) == set(VERBS)
