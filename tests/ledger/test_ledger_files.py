"""Who may change a ledger, its file, the files beside it that SQLite believes, and what damage does to a reader."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.ledger_cases import (
    LIMIT,
    charge,
    full_content,
    full_ledger,
    make_full_ledger,
    new_ledger,
    without_triggers,
)

from dpnb_columnar.core.budget import Neighbours
from dpnb_columnar.errors import BusyError, ConfigurationError, DataError, Error, MissingInputError, OutputError
from dpnb_columnar.ledger import Ledger, storage


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- who may write it ---------------------------------------------------------------------------------------------


def test_a_new_ledger_is_its_owners_alone_and_nothing_lies_beside_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = make_full_ledger(tmp_path / "x.ledger")
    finally:
        os.umask(before)
    assert mode_of(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_run_that_is_killed_while_it_makes_a_ledger_leaves_the_unfinished_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[str] = set()
    connect = storage._connect

    def watched(*arguments: Any) -> sqlite3.Connection:
        connection = connect(*arguments)
        connection.set_progress_handler(lambda: seen.update(path.suffix for path in tmp_path.iterdir()), 1)
        return connection

    monkeypatch.setattr(storage, "_connect", watched)
    Ledger.create(tmp_path / "x.ledger").close()
    assert ".partial" in seen
    assert seen <= {".partial", ".lock", ".ledger"}  # no journal, which nobody would remove


def test_a_ledger_that_cannot_be_looked_up_is_not_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="File name too long; check the path, its permissions and its disk"):
        Ledger(tmp_path / ("x" * 300))
    with pytest.raises(MissingInputError, match="no such ledger; make one"):
        Ledger(tmp_path / "x.ledger")


def test_a_ledger_is_made_once(tmp_path: Path) -> None:
    path = new_ledger(tmp_path / "x.ledger")
    content = path.read_bytes()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere")
    for taken in (path, link, tmp_path):
        with pytest.raises(OutputError, match="exists already"):
            Ledger.create(taken)
    with pytest.raises(OutputError, match="its folder does not exist"):
        Ledger.create(tmp_path / "no" / "x.ledger")
    assert path.read_bytes() == content


def test_odd_names_of_files_are_only_names(tmp_path: Path) -> None:
    for name in ("a?mode=memory", "b#c", "d%41", ":memory:", "e&nolock=1", "é ü"):
        new_ledger(tmp_path / name)
        with Ledger(tmp_path / name) as ledger:
            assert ledger.account("census").dataset == "census"
    assert len(list(tmp_path.iterdir())) == 6


# --- what is none -------------------------------------------------------------------------------------------------


def other_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE entry (number INTEGER)")


def altered(*statements: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        new_ledger(path)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    return make


def garbled(path: Path) -> None:
    """Its schema is malformed, and no text; what SQLite says of it quotes it."""
    path.write_bytes(full_content().replace(b"CREATE TABLE entry", b"CREATE T\xff\xfe\xf7E entry"))


NO_LEDGERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda path: path.write_bytes(b""), "not a ledger"),
    "text": (lambda path: path.write_text("epsilon" * 1000), "not a ledger"),
    "zeros": (lambda path: path.write_bytes(bytes(100_000)), "not a ledger"),
    "other database": (other_database, "not a ledger"),
    "garbled": (garbled, "damaged"),
    "more tables": (altered("CREATE TABLE more (x)"), "its tables are not those of one"),
    "a view": (altered("CREATE VIEW more AS SELECT 1"), "its tables are not those of one"),
    "no trigger": (altered("DROP TRIGGER entries_never_change"), "its tables are not those of one"),
    "other trigger": (
        altered("CREATE TRIGGER mine AFTER INSERT ON entry BEGIN DELETE FROM document; END"),
        "its tables are not those of one",
    ),
    "view as table": (
        altered("DROP TABLE document", "CREATE VIEW document AS SELECT 'a' AS run, 'b' AS document"),
        "its tables are not those of one",
    ),
    "no index": (altered("DROP INDEX spend_of_run"), "its tables are not those of one"),
}


@pytest.mark.parametrize("case", NO_LEDGERS)
def test_another_file_is_refused_and_left_as_it_is(case: str, tmp_path: Path) -> None:
    make, told = NO_LEDGERS[case]
    path = tmp_path / "x.ledger"
    make(path)
    content = path.read_bytes()
    with pytest.raises(DataError, match=told):
        Ledger(path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    altered("PRAGMA user_version = 2")(tmp_path / "x.ledger")
    with pytest.raises(ConfigurationError, match="a ledger of version 2, which this program does not know"):
        Ledger(tmp_path / "x.ledger")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match=r"make one: dpnb-columnar ledger init .* --dataset"):
        Ledger(tmp_path / "x.ledger")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for odd in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(ConfigurationError, match="not a regular file"):
            Ledger(odd)
    with pytest.raises(MissingInputError):
        Ledger(tmp_path / "loop")


# --- what SQLite reports ------------------------------------------------------------------------------------------


def test_commits_synchronise_the_folder_as_well(tmp_path: Path) -> None:
    """Level 3 is EXTRA: with less, a journal that was taken away could be back after a power cut, and undo a spend."""
    with storage.open_connection(new_ledger(tmp_path / "x.ledger")) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_ledger_that_is_held_for_long_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "BUSY_SECONDS", 0.05)
    path = new_ledger(tmp_path / "x.ledger")
    with Ledger(path) as ledger, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(BusyError, match="other runs have held this ledger"):
            ledger.spend(charge("a"))
        other.execute("ROLLBACK")
        ledger.spend(charge("a"))


def test_a_reader_does_not_keep_others_from_spending(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "BUSY_SECONDS", 0.05)
    with Ledger(path) as reader, Ledger(path) as writer:
        entries = reader.entries()
        first = next(entries)
        writer.spend(charge("f"))
        assert first.number == 1
        assert [entry.number for entry in entries][:9] == [*range(2, 11)]


def test_a_failed_write_changes_nothing(tmp_path: Path) -> None:
    with (
        Ledger(new_ledger(tmp_path / "x.ledger")) as ledger,
        storage.open_connection(tmp_path / "x.ledger") as connection,
    ):
        connection.execute("PRAGMA query_only = ON")
        with pytest.raises(OutputError, match="cannot be written"), storage.write_transaction(ledger.path, connection):
            connection.execute("INSERT INTO document VALUES ('a', 'b')")
        assert ledger.spend(charge("a")).document is None


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET epsilon = '9' WHERE number = 1",
        "DELETE FROM entry WHERE number = 10",
        "INSERT INTO entry (number, kind, time, version, digest) VALUES (20, 'model', '', '', '')",
        "INSERT OR REPLACE INTO entry (number, kind, time, version, digest) VALUES (3, 'model', '', '', '')",
        "UPDATE document SET document = '{}'",
        "DELETE FROM document",
        "INSERT OR REPLACE INTO document VALUES ('a', '{}')",
    ],
)
def test_the_file_itself_refuses_changes(statement: str, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    with Ledger(path) as ledger:
        ledger.verify()


# --- damage -------------------------------------------------------------------------------------------------------


def use(path: Path) -> None:
    """Everything that a ledger is used for; only errors of our own come out."""
    for act in (
        lambda ledger: ledger.verify(),
        lambda ledger: list(ledger.releases()),
        lambda ledger: list(ledger.accounts()),
        lambda ledger: ledger.spend(charge("new")),
        lambda ledger: ledger.run("a"),
        lambda ledger: ledger.keep("c", "{}"),
        lambda ledger: ledger.open_account("new", LIMIT, Neighbours.ADD_REMOVE),
    ):
        with suppress(Error), Ledger(path) as ledger:
            act(ledger)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, len(full_content()) - 1), st.integers(0, 255)), min_size=1, max_size=20))
def test_flipped_bytes_end_in_a_clear_error_or_in_none(flips: list[tuple[int, int]]) -> None:
    content = bytearray(full_content())
    for place, value in flips:
        content[place] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.ledger"
        path.write_bytes(content)
        use(path)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, len(full_content()) - 1))
def test_a_file_that_was_cut_short_is_damaged(size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.ledger"
        path.write_bytes(full_content()[:size])
        with pytest.raises(DataError), Ledger(path) as ledger:
            ledger.verify()
        use(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "value",
    [b"x" * 10, 3.5, "9" * 5000, "1e999999999", "1/0", "-1", "nan", "[" * 100_000, "x" * 2**20, "\0", None],
    ids=lambda value: f"{value!s:.12}",
)
@pytest.mark.parametrize(("column", "number"), [("epsilon", 10), ("total_rho", 10), ("inputs", 10), ("kind", 10)])
def test_absurd_values_end_in_a_clear_error(value: object, column: str, number: int, path: Path) -> None:
    with without_triggers(path) as connection, suppress(sqlite3.IntegrityError):
        connection.execute(f"UPDATE entry SET {column} = ? WHERE number = ?", (value, number))
    if column != "kind" or value is not None:
        with pytest.raises(DataError), Ledger(path) as ledger:
            ledger.verify()
    use(path)


@pytest.mark.parametrize(("mode", "remedy"), [(0o602, "chmod o-w"), (0o660, "chmod g-w"), (0o620, "chmod g-w")])
def test_a_ledger_that_others_can_write_is_refused(mode: int, remedy: str, tmp_path: Path) -> None:
    path = new_ledger(tmp_path / "x.ledger")
    path.chmod(mode)
    with pytest.raises(ConfigurationError, match=remedy):
        Ledger(path)
    path.chmod(0o644)
    Ledger(path).close()


@pytest.mark.parametrize(
    ("mode", "remedy"),
    [
        (0o777, "all.*chmod o-w"),
        (0o1777, "all.*in a folder of your own"),
        (0o775, "a group.*chmod g-w"),
        (0o2770, "a group.*mkdir -m 700"),
    ],
)
def test_a_folder_in_which_everybody_can_put_a_journal_is_refused(
    mode: int, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_group(monkeypatch, members=["other"])
    folder = tmp_path / "open"
    folder.mkdir()
    path = new_ledger(folder / "x.ledger")
    link = tmp_path / "link"
    link.symlink_to(path)
    folder.chmod(mode)
    for refused in (path, link):
        with pytest.raises(ConfigurationError, match=f"its folder is open to {remedy}"):
            Ledger(refused)
    with pytest.raises(ConfigurationError, match=f"its folder is open to {remedy}"):
        Ledger.create(folder / "y.ledger")
    folder.chmod(0o2755)
    Ledger(link).close()


def in_a_group(
    monkeypatch: pytest.MonkeyPatch, name: str = "curator", members: list[str] | None = None, first: int | None = None
) -> None:
    """Files of this process belong to a user ``curator`` and a group, and another user has a first group."""
    group = os.getegid()
    curator = SimpleNamespace(pw_name="curator", pw_uid=os.geteuid(), pw_gid=group)
    other = SimpleNamespace(pw_name="other", pw_uid=os.geteuid() + 1, pw_gid=group + 1 if first is None else first)
    monkeypatch.setattr(storage.pwd, "getpwuid", lambda _: curator)
    monkeypatch.setattr(storage.pwd, "getpwall", lambda: [curator, other])
    monkeypatch.setattr(
        storage.grp, "getgrgid", lambda number: SimpleNamespace(gr_gid=number, gr_name=name, gr_mem=members or [])
    )


def test_a_group_of_its_owner_alone_may_write_to_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where each user has a group and a umask of 002; a group that has, or may have, others is refused."""
    path = new_ledger(tmp_path / "x.ledger")
    os.chown(tmp_path, -1, os.getegid())
    tmp_path.chmod(0o775)
    for members in ([], ["curator"]):
        in_a_group(monkeypatch, members=members)
        Ledger(path).close()
    for shared in ({"members": ["curator", "other"]}, {"name": "staff"}, {"first": os.getegid()}):
        in_a_group(monkeypatch, **shared)  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match=r"open to a group.*chmod g-w"):
            Ledger(path)
    in_a_group(monkeypatch)
    monkeypatch.setattr(storage.grp, "getgrgid", {}.__getitem__)
    with pytest.raises(ConfigurationError, match="open to a group"):
        Ledger(path)


# --- files that SQLite reads with it ------------------------------------------------------------------------------


def hot_journal(path: Path, copy: Path) -> Path:
    """A copy of a ledger in the middle of a transaction, as a killed run leaves it; returns its journal."""
    with storage.open_connection(path) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO document VALUES ('x', ?)", ("x" * 100_000,))
        shutil.copy(path, copy)
        journal = shutil.copy(path.with_name(path.name + "-journal"), copy.with_name(copy.name + "-journal"))
        connection.execute("ROLLBACK")
    return Path(journal)


def test_the_journal_of_a_killed_run_of_its_owner_is_rolled_back(tmp_path: Path) -> None:
    path = full_ledger(tmp_path / "x.ledger")
    journal = hot_journal(path, tmp_path / "y.ledger")
    assert (tmp_path / "y.ledger").stat().st_size > path.stat().st_size
    with Ledger(tmp_path / "y.ledger") as ledger:
        ledger.verify()
    assert not journal.exists()


def test_a_ledger_is_not_made_again_beside_the_journal_of_one_that_was_deleted(tmp_path: Path) -> None:
    """It would be rolled back to pieces of the former one."""
    path = full_ledger(tmp_path / "x.ledger")
    again = tmp_path / "y.ledger"
    journal = hot_journal(path, again)
    saved = again.read_bytes()
    again.unlink()
    with pytest.raises(OutputError, match=r"y\.ledger-journal is left of an earlier ledger of this name; restore"):
        Ledger.create(again)
    assert sorted(tmp_path.iterdir()) == [path, journal]
    again.write_bytes(saved)
    with Ledger(again) as ledger:
        ledger.verify()


@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
def test_a_link_beside_the_ledger_is_not_believed(suffix: str, tmp_path: Path) -> None:
    path = full_ledger(tmp_path / "x.ledger")
    content = path.read_bytes()
    companion = tmp_path / f"x.ledger{suffix}"
    companion.symlink_to(hot_journal(path, tmp_path / "y.ledger"))
    link = tmp_path / "link"
    link.symlink_to(path)
    for name in (path, link):
        with pytest.raises(ConfigurationError, match=rf"x\.ledger{suffix} is a link"):
            Ledger(name)
    assert path.read_bytes() == content
    assert companion.is_symlink()


@pytest.mark.parametrize("suffix", storage.COMPANIONS)
def test_a_file_of_another_user_beside_the_ledger_is_not_believed(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = full_ledger(tmp_path / "x.ledger")
    companion = tmp_path / f"x.ledger{suffix}"
    companion.touch()
    Ledger(path).close()
    companion.touch()
    genuine = Path.lstat

    def foreign(self: Path) -> os.stat_result:
        status = genuine(self)
        return os.stat_result((*status[:4], status.st_uid + 1, *status[5:])) if self == companion else status

    monkeypatch.setattr(Path, "lstat", foreign)
    with pytest.raises(ConfigurationError, match=rf"x\.ledger{suffix} is .* not a file of the ledger's owner"):
        Ledger(path)


# --- names --------------------------------------------------------------------------------------------------------


def test_a_ledger_with_two_names_is_refused_until_one_is_gone(tmp_path: Path) -> None:
    path, other = new_ledger(tmp_path / "x.ledger"), tmp_path / "other.ledger"
    other.hardlink_to(path)
    for name in (path, other):
        with pytest.raises(ConfigurationError, match="has other names"):
            Ledger(name)
    other.unlink()
    Ledger(path).close()


def test_the_name_that_a_new_ledger_had_before_is_taken_away(tmp_path: Path) -> None:
    """A run that makes a ledger may be killed between giving it its name and taking the first one away."""
    path = new_ledger(tmp_path / "x.ledger")
    (tmp_path / ".x.ledger.0123456789ab.partial").hardlink_to(path)
    Ledger(path).close()
    assert list(tmp_path.iterdir()) == [path]


def test_the_journal_of_a_ledger_opened_by_a_link_lies_beside_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "real"
    folder.mkdir()
    path, link = new_ledger(folder / "x.ledger"), tmp_path / "link"
    link.symlink_to(path)
    with storage.open_connection(link) as connection, storage.write_transaction(link, connection):
        connection.execute("INSERT INTO document VALUES ('a', 'b')")
        assert {file.name for file in folder.iterdir()} == {"x.ledger", "x.ledger-journal"}
        assert {file.name for file in tmp_path.iterdir()} == {"real", "link"}
    with Ledger(link) as by_link, Ledger(path) as by_name:
        by_link.spend(charge("a"))
        assert by_name.run("a") is not None
