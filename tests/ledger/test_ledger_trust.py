"""Who may change a ledger, and the files beside it that SQLite believes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.ledger_cases import charge, full_ledger, new_ledger

from dpnb_columnar.errors import ConfigurationError, OutputError
from dpnb_columnar.ledger import Ledger, storage


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
