"""An update costs no epsilon: a command that an earlier program charged is finished, or its refusal says how."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.museum import COMMITS, unpack, unpack_ledger
from support.people import spoil_rows
from support.running import Run
from write_museum import write_rows

from dpnb_columnar.cli.main import exit_code
from dpnb_columnar.ledger import Charge, Ledger

REPEATED = {
    "finished": ["train", "people.parquet"],
    "night": ["train", "people.parquet"],
    "learning": ["train", "people.parquet", "--attribute-weights", "learned"],
    "divided": ["train", "people.parquet", "--shares", "2:1:1"],
    "public": ["train", "people.parquet", "--attribute-weights", "public.parquet"],
    "released": ["release", "sum.statistics.parquet"],
}
"""The commands of ``write_museum.commands``: ``finished`` has released a model, the others were killed."""

CHANGED = frozenset({"attribute-weights"})
"""Options whose default has changed since the museum was written: by the declared rows, no default."""


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


def repeated(name: str, *options: str) -> list[str]:
    return [*REPEATED[name], "--output", f"{name}.json", "--ledger", "people.ledger", *options, "--run-id", name]


@pytest.mark.slow
@pytest.mark.usefixtures("named_by_file")
@pytest.mark.parametrize("state", ["0.2.0", *COMMITS])
def test_what_an_earlier_program_charged_is_finished_and_not_paid_again(
    state: str, folder: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of release 0.2.0 the ledger is read, and nothing else: a run that has its model is one for that release."""
    witness = []
    if state == "0.2.0":
        unpack_ledger(folder)
        write_rows(folder)
        run("aggregate", "people.parquet", "--output", "sum.statistics.parquet")
    else:
        unpack(state, folder)
        write_rows(folder)
        witness = ["--witness", "seen/people.witness"]
    catalogue = folder / "datasets.toml"  # declares so many rows that ``auto`` chooses what no earlier program did
    catalogue.write_text(catalogue.read_text(encoding="utf-8").replace("rows = 240", "rows = 24000"), encoding="utf-8")
    ledger, named = folder / "people.ledger", set()
    before = charged_runs(ledger)
    assert before.keys() == REPEATED.keys()
    for name in before:
        command = repeated(name, *witness)
        code, refusal = exit_code(command), capsys.readouterr().err
        if code == 0:
            continue
        if " by the program that charged it" in refusal:
            assert name == "public"
            continue
        assert code == 64
        assert "another --run-id pays anew" in refusal
        cure = re.search(r"paid for, with (--.*?); ", refusal)
        assert cure is not None, refusal
        named |= {word[2:] for word in shlex.split(cure[1]) if word.startswith("--")}
        if (state, name) != ("0.2.0", "finished"):
            run(*command, *shlex.split(cure[1]))
    after = charged_runs(ledger)
    assert after.keys() == before.keys()
    assert after["finished"] == before["finished"] is not None
    assert named == CHANGED


@pytest.mark.usefixtures("named_by_file")
def test_the_ledger_of_release_0_2_0_is_read_verified_and_charged_and_its_models_are_for_that_release(
    folder: Path, run: Run
) -> None:
    path = unpack_ledger(folder)
    assert "8 entries, each follows from those before it; every limit was kept" in run("ledger", "verify", path).out
    with Ledger(path) as ledger:
        assert str(ledger.account("people").spent.epsilon) == "6"
        finished = ledger.run("finished")
    assert finished is not None
    assert finished.document is not None
    Path("old.json").write_text(finished.document, encoding="utf-8")
    refused = "a model of version 5; dpnb-columnar 0.2.0 reads it; use it with that version, or train it again\n"
    for command in (["show", "old.json"], ["ledger", "verify", path, "--model", "old.json"]):
        assert run(*command, expected=65).err == f"dpnb-columnar: old.json: {refused}"
    write_rows(folder)
    spoil_rows(folder / "people.parquet")
    spent = Path("people.ledger").read_bytes()
    told = run(*repeated("finished"), "--attribute-weights", "none", expected=65).err
    assert told == f"dpnb-columnar: people.ledger: run finished: {refused}"
    assert not Path("finished.json").exists()
    assert Path("people.ledger").read_bytes() == spent
    write_rows(folder)
    run("train", "people.parquet", "--output", "new.json", "--ledger", path, "--run-id", "new", "--epsilon", "1/2")
    with Ledger(path) as ledger:
        assert ledger.verify().entries == 10
        assert str(ledger.account("people").spent.epsilon) == "13/2"
