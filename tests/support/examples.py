"""docs/batch.md and the examples beside it, to be run by tests."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from dpnb_columnar.ledger import Ledger

DOCUMENT = Path(__file__).parents[2] / "docs" / "batch.md"
EXAMPLES = DOCUMENT.parent / "examples"


def section(name: str) -> str:
    return re.split(rf"^## {name}$", DOCUMENT.read_text(), flags=re.MULTILINE)[1].split("\n## ")[0]


def blocks(kind: str, text: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


def exit_codes() -> dict[int, bool]:
    """Exit codes of the table, and whether to begin again without doing anything else."""
    rows = re.findall(r"^\| (\d+) \|[^|]*\| (yes|no|-) \|", section("Exit codes"), re.MULTILINE)
    return {int(code): again == "yes" for code, again in rows}


def shell(command: str) -> str:
    """Run a command; it must end well. What it printed."""
    ended = subprocess.run(["/bin/sh", "-e", "-c", command], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"
    return ended.stdout


def charged() -> list[str]:
    """Run ids that the ledger of the working directory was charged for."""
    with Ledger(Path("census.ledger")) as ledger:
        ledger.verify()
        return [spend.run for spend, _ in ledger.releases()]
