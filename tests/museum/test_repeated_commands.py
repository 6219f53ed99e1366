"""An update costs no epsilon: a command that an earlier program charged is finished by what its refusal says."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.museum import COMMITS, unpack
from support.running import Run
from write_museum import write_rows

from dpnb_columnar.cli.main import exit_code
from dpnb_columnar.ledger import Charge, Ledger

pytestmark = pytest.mark.slow

REPEATED = {
    "finished": ["train", "people.parquet"],
    "night": ["train", "people.parquet"],
    "learning": ["train", "people.parquet", "--attribute-weights", "learned"],
    "divided": ["train", "people.parquet", "--weights", "2:1:1"],
    "public": ["train", "people.parquet", "--attribute-weights", "public.parquet"],
    "released": ["release", "sum.statistics.parquet"],
}
"""The commands of ``write_museum.commands``: ``finished`` has released a model, the others were killed."""

EARLY = frozenset({"mechanism", "shares", "attribute-weights"})
DEFAULTS = {
    **dict.fromkeys(("0ba269a", "f8a0128", "4e01ebc"), EARLY),
    **dict.fromkeys(("6a83e04", "0449e25"), EARLY),
    **dict.fromkeys(
        ("793fce2", "267c154", "48586ed", "b966898"), frozenset({"attribute-weights"})
    ),  # by the declared rows, no default
}
"""Options whose default has changed since a state of the program."""


@pytest.fixture
def named_by_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charges name files without their folder, as those of the museum do."""
    for name in ("spend", "refuse_if_unaffordable"):
        method = getattr(Ledger, name)

        def relative(ledger: Ledger, charge: Charge, method: Any = method) -> Any:
            data = [os.path.basename(each) for each in charge.inputs["data"]]  # noqa: PTH119 - names, not paths
            return method(ledger, replace(charge, inputs={**charge.inputs, "data": data}))

        monkeypatch.setattr(Ledger, name, relative)


def charged_runs(path: Path) -> dict[str, str | None]:
    with Ledger(path) as ledger:
        return {str(spend.run): digest for spend, digest in ledger.releases()}


@pytest.mark.usefixtures("named_by_file")
@pytest.mark.parametrize("commit", COMMITS)
def test_what_an_earlier_program_charged_is_finished_and_not_paid_again(
    commit: str, folder: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    unpack(commit, folder)
    write_rows(folder)
    catalogue = folder / "datasets.toml"  # declares so many rows that ``auto`` chooses what no earlier program did
    catalogue.write_text(catalogue.read_text(encoding="utf-8").replace("rows = 240", "rows = 24000"), encoding="utf-8")
    ledger, named = folder / "people.ledger", set()
    before = charged_runs(ledger)
    assert {"finished", "night", "divided", "released"} <= before.keys() <= REPEATED.keys()
    for name in before:
        command = [*REPEATED[name], "--output", f"{name}.json", "--ledger", ledger.name, "--run-id", name]
        code, refusal = exit_code(command), capsys.readouterr().err
        if code == 0:
            continue
        assert code == 64
        assert "another --run-id pays anew" in refusal
        if " by the program that charged it" in refusal:
            assert name == "public"
            assert "with shares as it was then" in refusal
            continue
        cure = re.search(r"paid for, with (--.*?); ", refusal)
        assert cure is not None, refusal
        named |= {word[2:] for word in shlex.split(cure[1]) if word.startswith("--")}
        run(*command, *shlex.split(cure[1]))
    after = charged_runs(ledger)
    assert after.keys() == before.keys()
    assert after["finished"] == before["finished"] is not None
    assert DEFAULTS[commit] <= named <= DEFAULTS[commit] | {"noise"}
