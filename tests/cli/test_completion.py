"""Shell completion: the script that a shell sources, and what it then offers for verbs, options and values."""

from __future__ import annotations

import pytest
from support.running import in_python

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
