"""Somebody changes a ledger: ``verify`` names the first entry that is broken, and spending does not build on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.ledger_cases import change, charge, forge, full_ledger, relink, without_triggers

from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.ledger import Ledger
from dpnb_columnar.ledger.records import COLUMNS, ORIGIN, with_digest

NUMBERS = range(1, 11)


def verified(path: Path, head: str | None = None) -> str:
    with Ledger(path) as ledger:
        return ledger.verify(head).head


def refused(path: Path, told: str, head: str | None = None) -> None:
    with pytest.raises(DataError, match=told), Ledger(path) as ledger:
        ledger.verify(head)


def test_a_ledger_that_nobody_changed_is_sound(path: Path) -> None:
    with Ledger(path) as ledger:
        found = ledger.verify()
        assert (found.entries, found.head) == (10, ledger.head())
        assert ledger.verify(found.head) == found
        for entry in ledger.entries():
            assert ledger.verify(entry.digest) == found


def test_an_empty_ledger_is_sound(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "x.ledger") as ledger:
        assert (ledger.verify().entries, ledger.verify(ORIGIN).head) == (0, ORIGIN)


@pytest.mark.slow
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_change_of_any_column_of_any_entry_is_found_where_it_was_made(number: int, column: str, path: Path) -> None:
    with Ledger(path) as ledger:
        (entry,) = (entry for entry in ledger.entries() if entry.number == number)
    value = getattr(entry, column)
    change(path, number, **{column: 99 if column == "number" else f"{value or ''}1"})
    refused(path, rf"x\.ledger: entry {number}\b")


@pytest.mark.parametrize("number", [1, 5, 9])
def test_an_entry_made_anew_alone_is_missed_by_the_next(number: int, path: Path) -> None:
    """Its digest follows from what it says now; that of the next one from what it said."""
    with Ledger(path) as ledger:
        entries = list(ledger.entries())
    before = entries[number - 2].digest if number > 1 else ORIGIN
    changed = with_digest(before, entries[number - 1]._replace(time="2026-01-01T00:00:00+00:00"))
    change(path, number, time=changed.time, digest=changed.digest)
    refused(path, rf"entry {number + 1}\b.*: its digest does not follow from its content and the entry before it")


OPTIONAL = sorted({*COLUMNS} - {"number", "kind", "time", "version", "digest", "noise"})


@pytest.mark.parametrize("column", OPTIONAL)
def test_a_value_taken_away_is_found(column: str, path: Path) -> None:
    with Ledger(path) as ledger:
        number = next(entry.number for entry in ledger.entries() if getattr(entry, column) is not None)
    change(path, number, **{column: None})
    refused(path, rf"entry {number}\b")


FORGERIES: dict[str, tuple[int, dict[str, object], int, str]] = {
    # Case: entry and columns that were changed, the chain made anew; entry that is named, and why.
    "less was spent": (5, {"total_epsilon": "0.1"}, 5, "totals are not the previous totals plus its cost"),
    "a release cost less": (5, {"epsilon": "0.1"}, 5, "totals are not the previous totals plus its cost"),
    "a rho was left out": (6, {"total_rho": "0"}, 6, "totals are not the previous totals plus its cost"),
    "the limit was lower": (1, {"epsilon": "0.25"}, 5, "exceeds the limit of its data set"),
    "the limit was far lower": (1, {"epsilon": "0.05"}, 3, "exceeds the limit of its data set"),
    "the limit had less delta": (1, {"delta": "0.00000001"}, 6, "exceeds the limit of its data set"),
    "the limit had no delta": (1, {"delta": "0"}, 5, "exceeds the limit of its data set"),
    "no limit at all": (1, {"epsilon": "1001"}, 1, "limit is out of range"),
    "another relation": (3, {"neighbours": "replace-one"}, 3, "relation is not that of its account"),
    "the account's relation": (2, {"neighbours": "replace-one"}, 8, "relation is not that of its account"),
    "an unknown relation": (1, {"neighbours": "friends"}, 1, "relation is unknown"),
    "another data set": (8, {"dataset": "california"}, 8, "its data set has no account"),
    "another name of the account": (2, {"dataset": "california"}, 8, "its data set has no account"),
    "other inputs": (3, {"inputs": "{}"}, 3, "inputs do not have the digest beside them"),
    "another digest of inputs": (3, {"inputs_digest": "0" * 64}, 3, "inputs do not have the digest beside them"),
    "no inputs": (3, {"inputs": None}, 3, "not JSON"),
    "no mechanism": (3, {"mechanism": None}, 3, "not a spend"),
    "a loss of no kind": (3, {"epsilon": None}, 3, "state no cost"),
    "a loss of two kinds": (3, {"rho": "1"}, 3, "state no cost"),
    "a loss of nothing": (3, {"epsilon": "0"}, 3, "state no cost"),
    "an unknown kind": (7, {"kind": "refund"}, 7, "no kind of entry"),
    "a model with a cost": (7, {"epsilon": "1"}, 7, "no kind of entry"),
    "another time": (7, {"time": "yesterday"}, 7, "its time is malformed"),
    "another model": (7, {"model_digest": "0" * 64}, 7, "document is missing, or is another one"),
    "a model of no run": (7, {"run": "x"}, 7, "was not charged before it"),
    "a model of a later run": (4, {"run": "e"}, 4, "was not charged before it"),
    "a run id of no kind": (10, {"run": "a b"}, 10, "give 1 to 200 letters"),
    "a concentrated release made approximate": (6, {"epsilon": "1", "delta": "0.1", "rho": None}, 6, "totals"),
    "parts that are no list": (2, {"parts": "{}"}, 2, "not a list of digests"),
}


@pytest.mark.parametrize("case", FORGERIES)
def test_a_chain_made_anew_cannot_hide_what_contradicts_itself(case: str, path: Path) -> None:
    number, values, named, told = FORGERIES[case]
    forge(path, number, **values)
    refused(path, rf"entry {named} \(.*{told}")


def test_an_approximate_release_after_a_concentrated_one_is_found(path: Path) -> None:
    forge(path, 10, delta="0.0000001", total_epsilon="0.4", total_delta="0.00000011")
    refused(path, r"entry 10 \(.*cannot follow a concentrated one")


def test_the_first_of_two_broken_entries_is_named(path: Path) -> None:
    forge(path, 1, epsilon="0.25")
    change(path, 7, time="yesterday")
    refused(path, r"entry 5 \(spend, run b\): exceeds the limit")
    change(path, 4, time="yesterday")
    refused(path, r"entry 4 \(model, run a\): its digest does not follow")


def take_out(path: Path, number: int) -> None:
    with without_triggers(path) as connection:
        connection.execute("DELETE FROM entry WHERE number = ?", (number,))


@pytest.mark.parametrize("number", range(1, 10))
def test_an_entry_taken_out_is_missed(number: int, path: Path) -> None:
    take_out(path, number)
    refused(path, rf"entry {number}: is missing")


@pytest.mark.parametrize("number", [0, -1, -(2**63)])
def test_an_entry_before_the_first_one_is_found(number: int, path: Path) -> None:
    with Ledger(path) as ledger:
        forged = next(ledger.entries(after=9))._replace(number=number, run="forged")
    with without_triggers(path) as connection:
        connection.execute(f"INSERT INTO entry VALUES ({', '.join('?' * len(COLUMNS))})", with_digest(ORIGIN, forged))
    refused(path, rf"entry {number}: its number is below 1")
    for act in (lambda ledger: list(ledger.releases()), lambda ledger: ledger.spend(charge("forged"))):
        with Ledger(path) as ledger, pytest.raises(DataError, match=f"entry {number}: its number is below 1"):
            act(ledger)


def test_a_tail_that_was_taken_away_is_found_by_a_noted_head_and_only_so(path: Path) -> None:
    noted = verified(path)
    take_out(path, 10)
    shorter = verified(path)
    assert shorter != noted
    refused(path, "the noted head is not in the chain", noted)
    with Ledger(path) as ledger:
        ledger.spend(charge("e"))
        ledger.spend(charge("f"))
    verified(path, shorter)
    with without_triggers(path) as connection:
        connection.execute("UPDATE entry SET version = '9' WHERE number = 10")
    relink(path)
    verified(path, shorter)
    refused(path, "the noted head is not in the chain", noted)


@pytest.mark.parametrize("head", ["", "abc", "0" * 63, "g" * 64, "A" * 64])
def test_a_head_that_is_no_digest_is_refused(head: str, tmp_path: Path) -> None:
    with (
        Ledger(full_ledger(tmp_path / "x.ledger")) as ledger,
        pytest.raises(UsageError, match="head: expected a digest"),
    ):
        ledger.verify(head)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE document SET document = '{}' WHERE run = 'b'", r"entry 7 \(model, run b\): the model's document"),
        ("DELETE FROM document WHERE run = 'd'", r"entry 9 \(model, run d\): the model's document"),
        ("INSERT INTO document VALUES ('c', '{}')", "a model's document that no entry names"),
    ],
)
def test_documents_are_those_that_were_released(statement: str, told: str, path: Path) -> None:
    with without_triggers(path) as connection:
        connection.execute(statement)
    refused(path, told)


@pytest.mark.parametrize(
    ("index", "kind", "number", "twin"), [("spend_of_run", "spend", 3, 10), ("model_of_run", "model", 4, 7)]
)
def test_a_run_that_stands_there_twice_is_found(index: str, kind: str, number: int, twin: int, path: Path) -> None:
    """The index that forbids it is made anew without doing so; the file says that nothing has changed."""
    with without_triggers(path) as connection:
        (text,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (index,)).fetchone()
        connection.execute(f"DROP INDEX {index}")
        connection.execute(text.replace("UNIQUE ", ""))
        connection.execute(
            "UPDATE entry SET run = (SELECT run FROM entry WHERE number = ?) WHERE number = ?", (number, twin)
        )
        if kind == "model":
            connection.execute("UPDATE entry SET model_digest = (SELECT model_digest FROM entry WHERE number = 4)")
            connection.execute("UPDATE entry SET model_digest = NULL WHERE kind <> 'model'")
            connection.execute("DELETE FROM document WHERE run = 'b'")
            connection.execute("UPDATE document SET document = (SELECT document FROM document WHERE run = 'a')")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (text, index))
        connection.execute("PRAGMA writable_schema = OFF")
    relink(path)
    refused(path, "the file is damaged")


def test_nothing_is_handed_out_or_spent_on_what_was_changed(path: Path) -> None:
    with without_triggers(path) as connection:
        connection.execute("UPDATE document SET document = '{}' WHERE run = 'a'")
    with Ledger(path) as ledger, pytest.raises(DataError, match="entry 4"):
        ledger.spend(charge("a"))
    change(path, 10, total_epsilon="0")
    with Ledger(path) as ledger:
        before = len(list(ledger.entries()))
        for run in ("e", "f"):
            with pytest.raises(DataError, match="entry 10"):
                ledger.spend(charge(run))
        assert len(list(ledger.entries())) == before
