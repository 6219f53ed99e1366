"""``dpnb-columnar ledger``: what its verbs print and write."""

from __future__ import annotations

import json
import re
import stat
from fractions import Fraction
from pathlib import Path

import pytest
from support.ledger_cases import change, charge, forge, full_ledger, new_ledger
from support.people import people
from support.running import Run

from dpnb_columnar.core.budget import Approximate, Neighbours
from dpnb_columnar.counting.countable import file_parts
from dpnb_columnar.ledger import Ledger, storage
from dpnb_columnar.runtime import outputs

FILE = Path("x.ledger")


def test_a_ledger_is_opened_with_an_account_and_takes_more(folder: Path, run: Run) -> None:
    ended = run("ledger", "init", FILE, "--dataset", "census", "--epsilon", "1/3")
    assert ended.out == "x.ledger: data set census, limit epsilon 1/3 (add-remove neighbours)\n"
    assert stat.S_IMODE(FILE.stat().st_mode) == 0o600
    options = ["--dataset", "oregon", "--epsilon", "2", "--delta", "1e-6", "--neighbours", "replace-one"]
    assert "limit epsilon 2, delta 0.000001 (replace-one neighbours)" in run("ledger", "init", FILE, *options).out
    with Ledger(FILE) as ledger:
        first, second = ledger.accounts()
        assert first.limit == Approximate(Fraction(1, 3), Fraction(0))
        assert (second.limit, second.neighbours) == (
            Approximate(Fraction(2), Fraction(1, 10**6)),
            Neighbours.REPLACE_ONE,
        )


def test_an_account_may_be_bound_to_the_contents_of_files(people_file: Path, run: Run) -> None:
    people(0).write_parquet("empty.parquet")
    people(7).write_parquet("more.parquet")
    bind = ["--bind", people_file, "--bind", "[em]*.parquet"]
    ended = run("ledger", "init", FILE, "--dataset", "people", "--epsilon", "1", *bind)
    assert "bound to files" in ended.out
    assert "keep it as confidential as the rows" in ended.err
    with Ledger(FILE) as ledger:
        assert ledger.account("people").parts == file_parts([people_file, Path("more.parquet")])


@pytest.mark.parametrize("moment", ["before it is looked at again", "while it is made"])
def test_a_ledger_that_another_process_makes_meanwhile_is_opened(
    moment: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = (storage, "create") if moment == "before it is looked at again" else (outputs, "_rename_without_replacing")
    create = getattr(*place)

    def late(*paths: Path) -> None:
        monkeypatch.undo()
        monkeypatch.chdir(folder)
        new_ledger(FILE, dataset="oregon")
        create(*paths)

    monkeypatch.setattr(*place, late)
    run("ledger", "init", FILE, "--dataset", "census", "--epsilon", "1")
    with Ledger(FILE) as ledger:
        assert [account.dataset for account in ledger.accounts()] == ["oregon", "census"]
    assert list(folder.iterdir()) == [folder / FILE]


# --- show ---------------------------------------------------------------------------------------------------------


def test_show_tells_limits_and_releases(folder: Path, run: Run) -> None:
    full_ledger(FILE)
    text = run("ledger", "show", FILE).out
    rows = [line.split() for line in text.splitlines()]
    assert ["oregon", "add-remove", "1", "0", "0.1", "0", "0", "0.9", "0", "0"] in rows
    (census,) = (row for row in rows if row[:1] == ["census"])
    assert census[2:7] == ["2", "0.000001", "0.3", "0.00000001", "0.006"]
    (unfinished,) = (row for row in rows if row[2:4] == ["c", "census"])
    assert (unfinished[4:7], unfinished[-2]) == (["-", "-", "0.001"], "-")
    (finished,) = (row for row in rows if row[2:4] == ["a", "census"])
    assert re.fullmatch("[0-9a-f]{12}", finished[-2])
    with Ledger(FILE) as ledger:
        assert rows[-1] == ["head", ledger.head()]
    assert '{"model": 1}' not in text
    only = run("ledger", "show", FILE, "--dataset", "oregon").out
    assert "census" not in only
    assert " d " in only


def test_show_as_json_is_exact_and_holds_no_digest_of_data(folder: Path, run: Run) -> None:
    full_ledger(FILE)
    text = run("ledger", "show", FILE, "--json").out
    document = json.loads(text)
    assert document["accounts"][1] == {
        "dataset": "oregon",
        "neighbours": "add-remove",
        "bound": True,
        "limit": {"epsilon": "1", "delta": "0"},
        "spent": {"epsilon": "0.1", "delta": "0", "rho": "0"},
        "remaining": {"epsilon": "0.9", "delta": "0", "rho": "0"},
    }
    assert [(release["number"], release["run"]) for release in document["releases"]] == [
        *((3, "a"), (5, "b"), (6, "c"), (8, "d"), (10, "e"))
    ]
    assert "parquet:" not in text


# --- verify -------------------------------------------------------------------------------------------------------


def test_verify_prints_a_head_that_later_finds_what_was_taken_away(folder: Path, run: Run) -> None:
    new_ledger(FILE)
    backup = FILE.read_bytes()
    with Ledger(FILE) as ledger:
        ledger.spend(charge("a"))
    text = run("ledger", "verify", FILE).out
    assert "2 entries" in text
    head = text.splitlines()[-1].removeprefix("head ")
    assert run("ledger", "verify", FILE, "--head", head).out.splitlines()[-1] == f"head {head}"
    FILE.write_bytes(backup)
    run("ledger", "verify", FILE)
    ended = run("ledger", "verify", FILE, "--head", head, expected=65)
    assert "the noted head is not in the chain" in ended.err
    assert "--head" in run("ledger", "verify", FILE, "--head", "1234", expected=64).err


def test_verify_names_the_first_broken_entry(folder: Path, run: Run) -> None:
    full_ledger(FILE)
    for number in (8, 5):
        change(FILE, number, mechanism="paper")
    ended = run("ledger", "verify", FILE, expected=65)
    assert "x.ledger: entry 5 (spend, run b): its digest does not follow" in ended.err
    assert not ended.out


@pytest.mark.parametrize("number", [-(2**63), 0, 2**63 - 1])
def test_a_sole_entry_of_an_absurd_number_is_damage(number: int, people_file: Path, run: Run) -> None:
    new_ledger(FILE, dataset="people")
    forge(FILE, 1, number=number)
    assert f"entry {number if number < 1 else 1}: " in run("ledger", "verify", FILE, expected=65).err
    assert "restore" in run("train", people_file, "--ledger", FILE, "--epsilon", "0.1", expected=65).err
    assert not list(Path().glob("*.json"))
    if number < 1:
        assert "its number is below 1" in run("ledger", "show", FILE, expected=65).err


@pytest.mark.parametrize(
    ("address", "secret"), [("postgresql://cur:s3cr#t@host/db", True), ("postgresql://host:1/db", False)]
)
def test_verify_names_an_entry_that_holds_a_password(folder: Path, run: Run, address: str, secret: bool) -> None:
    """As an early version recorded it: entries cannot be changed."""
    with Ledger(new_ledger(FILE)) as ledger:
        ledger.spend(charge("first"))
        ledger.spend(charge("second", data=[address, "table person"]))
    told = run("ledger", "verify", FILE).err
    assert ("entry 3 names an address that seems to hold a password" in told) is secret
    assert "s3cr" not in told
