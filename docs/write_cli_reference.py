"""Write docs/reference/cli.md from the help of every command.

Usage: python docs/write_cli_reference.py
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib.metadata import version
from pathlib import Path

from dpnb_columnar.cli.main import exit_code

PROGRAM = "dpnb-columnar"
PAGE = Path(__file__).parent / "reference" / "cli.md"
WIDTH = 100
"""Columns of the terminal for which the help is written."""

INTRODUCTION = f"""# Command line

What `{PROGRAM} COMMAND --help` prints, for every command. This page is written by `python docs/write_cli_reference.py`.
[Exit codes](../batch.md#exit-codes) and [settings from files and the environment](../batch.md#configuration) are
described with scheduled runs.

<!-- typer {version("typer")} -->
"""


def help_of(command: list[str]) -> str:
    """Return the help of one command, such as ``["ledger", "init"]``."""
    os.environ["COLUMNS"] = str(WIDTH)
    with redirect_stdout(io.StringIO()) as printed:
        code = exit_code([*command, "--help"])
    if code:
        raise SystemExit(f"{PROGRAM} {' '.join(command)} --help ends with {code}")
    return printed.getvalue().strip()


def walk(command: list[str]) -> Iterator[tuple[list[str], str]]:
    """Yield a command and everything below it, each with its help."""
    text = help_of(command)
    yield command, text
    if listed := re.search(r"^Commands:\n(.*?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL):
        for name in re.findall(r"^  ([a-z][a-z-]*)(?:  |$)", listed[1], re.MULTILINE):
            yield from walk([*command, name])


def reference() -> str:
    """Return the page."""
    sections = [INTRODUCTION]
    for command, text in walk([]):
        level = "##" if len(command) < 2 else "###"
        sections.append(f"{level} {' '.join([PROGRAM, *command])}\n\n```text\n{text}\n```\n")
    return "\n".join(sections)


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(reference(), encoding="utf-8")
