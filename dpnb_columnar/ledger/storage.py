"""Open a ledger's file: an SQLite database that only its owner can write, and that holds nothing but a ledger.

Entries of a file that others can change, or that has a second name, prove nothing. An entry that is read must continue
the chain of digests.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import shlex
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from dpnb_columnar.errors import (
    BusyError,
    ConfigurationError,
    DataError,
    Error,
    MissingInputError,
    OutputError,
    command,
    option,
)
from dpnb_columnar.ledger.records import ORIGIN, Entry, link, sha256, with_digest
from dpnb_columnar.runtime.outputs import atomic_output, refuse_address
from dpnb_columnar.runtime.resources import sections
from dpnb_columnar.runtime.unfinished import defer_signals, remove_abandoned

COMPANIONS = ("-journal", "-wal", "-shm")
"""What SQLite appends to a database's name for the files that it reads together with it, and believes."""

NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
"""Errors by which there is no ledger; whoever made one in place of a ledger whose disk fails would spend twice."""


def check_file(path: Path) -> Path:
    """Refuse what is no file of ours to trust."""
    refuse_address(path)
    try:
        real = path.resolve(strict=True)
        status = real.stat()
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        if isinstance(error, OSError) and error.errno not in NOT_THERE:
            raise MissingInputError(f"{path}: {error.strerror}; check the path, its permissions and its disk") from None
        init = command("ledger init", str(path), dataset="NAME", epsilon="NUMBER")
        raise MissingInputError(f"{path}: no such ledger; make one: {init}") from None
    if not stat.S_ISREG(status.st_mode):
        raise ConfigurationError(f"{path}: is not a regular file; name a ledger")
    if status.st_mode & stat.S_IWOTH:
        raise ConfigurationError(
            f"{path}: every user of this machine can write to it, so that its entries prove nothing; "
            f"chmod o-w {shlex.quote(str(path))}"
        )
    if status.st_mode & stat.S_IWGRP:
        raise ConfigurationError(
            f"{path}: everybody in its group can write to it, so that its entries prove nothing; "
            f"chmod g-w {shlex.quote(str(path))}, and let one user run all releases"
        )
    for folder in sorted({path.absolute().parent, real.parent}):
        check_folder(path, folder)
    if status.st_nlink > 1:
        _check_single_name(path, real)
    for companion in COMPANIONS:
        _check_companion(path, real.with_name(real.name + companion), status.st_uid)
    return real


def check_folder(path: Path, folder: Path) -> None:
    """Refuse a folder in which others can make files: a journal that is put there undoes entries."""
    try:
        status = folder.stat()
    except OSError:
        return  # whoever uses it will hear what is wrong with it
    mode = status.st_mode
    if mode & stat.S_IWOTH:
        shared = mode & stat.S_ISVTX  # such as /tmp, which has to stay open
        remedy = "keep it in a folder of your own" if shared else f"chmod o-w {shlex.quote(str(folder))}"
        raise ConfigurationError(
            f"{path}: its folder is open to all, so that every user of this machine can undo its entries; {remedy}"
        )
    if mode & stat.S_IWGRP and not _is_private_group(status):
        place = shlex.quote(str(folder))
        raise ConfigurationError(
            f"{path}: its folder is open to a group, so that each of its members can undo its entries; chmod g-w "
            f"{place}, or, where the group has to share that folder, keep it in one of your own: mkdir -m 700 "
            f"{place}/ledger"
        )


def _is_private_group(status: os.stat_result) -> bool:
    """Whether a folder's group is its owner's first one, is called as the owner, and has nobody else (umask 002)."""
    try:
        owner, group = pwd.getpwuid(status.st_uid), grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    if (owner.pw_gid, owner.pw_name) != (group.gr_gid, group.gr_name) or {*group.gr_mem} - {owner.pw_name}:
        return False
    return all(each.pw_uid == owner.pw_uid for each in pwd.getpwall() if each.pw_gid == group.gr_gid)


def _check_single_name(path: Path, real: Path) -> None:
    """Refuse a second name: what a killed run has left in the journal of one is not found under the other."""
    remove_abandoned(real.parent, real.name)  # a new ledger has two until its maker, perhaps killed, takes one away
    try:
        names = real.stat().st_nlink
    except OSError:
        return  # whoever opens it will hear what is wrong with it
    if names > 1:
        raise ConfigurationError(
            f"{path}: has other names (hard links), under which a spend could be lost; find them with "
            "find FOLDER -samefile FILE, and remove all names but one"
        )


def _check_companion(path: Path, companion: Path, owner: int) -> None:
    try:
        status = companion.lstat()
    except OSError:
        return  # usually there is none
    if not stat.S_ISREG(status.st_mode) or status.st_uid != owner:
        raise ConfigurationError(
            f"{path}: {companion} is a link, or not a file of the ledger's owner, and could undo entries; "
            "find out who put it there, then remove it"
        )


BUSY_SECONDS = 30  # how long another run may hold the ledger before this one gives up
IDENTITY = (0x64706E62, 1)
"""The ASCII codes of dpnb, and the version of the ledger, which is raised whenever its meaning changes."""

LARGEST_ENTRY = 2**20  # bytes of an entry; a larger one is not read
LARGEST_DOCUMENT = 2**28  # bytes of a model's document


def create(path: Path) -> None:
    """Make a ledger without entries; it takes its name when it is complete."""
    if os.path.lexists(path):
        raise OutputError(f"{path}: exists already; name another ledger")
    for companion in (path.with_name(path.name + suffix) for suffix in COMPANIONS):
        if os.path.lexists(companion):  # SQLite would undo what is written here by what is noted there
            raise OutputError(
                f"{path}: {companion} is left of an earlier ledger of this name; restore that ledger and open it, or "
                "name another one"
            )
    check_folder(path, path.absolute().parent)
    with (
        atomic_output(path, confidential=True) as partial,
        translate_sqlite_errors(path),
        closing(_connect(partial, "&nolock=1")) as connection,  # nobody else knows the file, and it is locked already
    ):
        connection.executescript(_query("schema"))


@contextmanager
def open_connection(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a connection to a ledger, after checking that it is one."""
    real = check_file(path)
    with translate_sqlite_errors(path), closing(_connect(real)) as connection:
        connection.executescript(_query("session"))
        _check_identity(path, connection)
        yield connection


def _check_identity(path: Path, connection: sqlite3.Connection) -> None:
    application, version = (connection.execute(_query(name)).fetchone()[0] for name in ("application", "version"))
    if application != IDENTITY[0]:
        raise _not_a_ledger(path)
    if version != IDENTITY[1]:
        raise ConfigurationError(f"{path}: a ledger of version {version}, which this program does not know; update it")
    if connection.execute(_query("objects")).fetchmany(len(_objects()) + 1) != _objects():
        raise DataError(f"{path}: not a ledger: its tables are not those of one; restore it from a backup")
    if connection.execute(_query("journal")).fetchone() != ("delete",):
        raise BusyError(f"{path}: another program keeps it open in another mode; close that, then try again")


@cache
def _query(name: str) -> str:
    named = sections("ledger")
    return named[name].replace("@columns", named["columns"])


@contextmanager
def write_transaction(path: Path, connection: sqlite3.Connection) -> Iterator[None]:
    """Begin a transaction that no other process can interleave with; it is durable when the block has ended."""
    with translate_sqlite_errors(path):
        connection.execute("BEGIN IMMEDIATE")
        with defer_signals():  # a signal that came within would leave its journal behind
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # whatever went wrong before is what the user must hear of
                    connection.execute("ROLLBACK")
                raise


@contextmanager
def with_room(connection: sqlite3.Connection) -> Iterator[None]:
    """Let values be as large as documents of models."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_DOCUMENT + LARGEST_ENTRY)
    try:
        yield
    finally:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_ENTRY)


@contextmanager
def translate_sqlite_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite refuses into one line about the ledger."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        # The texts of SQLite quote what a damaged schema holds; after its largest number there is no next one.
        raise _failure(path, error) from None


def _failure(path: Path, error: Exception) -> Error:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        return _not_a_ledger(path)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL):
        return BusyError(f"{path}: other runs have held this ledger for {BUSY_SECONDS} seconds; try again")
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        return OutputError(
            f"{path}: cannot be written ({error}); check the disk's free space and the permissions of the file and its "
            f"folder, then run again with the same {option('run-id')}"
        )
    return DataError(f"{path}: the ledger is damaged; restore it from a backup, and verify it against a noted head")


def _not_a_ledger(path: Path) -> DataError:
    return DataError(f"{path}: not a ledger; name one that {command('ledger init')} has made")


def _connect(path: Path, options: str = "") -> sqlite3.Connection:
    """Open a connection that never makes a file; transactions begin and end where the code says so."""
    address = f"{path.absolute().as_uri()}?mode=rw{options}"
    connection = sqlite3.connect(address, timeout=BUSY_SECONDS, isolation_level=None, uri=True)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_ENTRY)
    return connection


@lru_cache
def _objects() -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(_query("schema"))
        return connection.execute(_query("objects")).fetchall()


Decoded = TypeVar("Decoded")
AT_ONCE = 100  # entries that are read under one lock: a long reader must not keep a nightly run from spending


class Entries:
    """The rows of an open ledger; every method translates SQLite's errors (``translate_sqlite_errors``)."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection

    def select_one(self, section: str, **parameters: object) -> Entry | None:
        """Return the entry that a named query selects, or None."""
        rows = self.rows(section, **parameters)
        if not rows:
            return None
        entry = self.entry(rows[0])
        before = self.rows("entry", number=entry.number - 1)
        if entry.digest != link(self.entry(before[0]).digest if before else ORIGIN, entry):
            raise self.malformed_error(entry, "its digest does not follow from its content and the entry before it")
        return entry

    def append(self, make: Callable[[int], Entry]) -> Entry:
        last = self.select_one("last")
        entry = with_digest(last.digest, make(last.number + 1)) if last else with_digest(ORIGIN, make(1))
        self.rows("append", **entry._asdict())
        return entry

    def iterate(self, section: str, after: int) -> Iterator[Entry]:
        for row in self.rows("first"):
            self.entry(row)
        while rows := self.rows(section, number=after, most=AT_ONCE):
            for row in rows:
                entry = self.entry(row)
                if entry.number <= after:
                    raise self.malformed_error(entry, "is out of order")
                after = entry.number
                yield entry

    def rows(self, section: str, **parameters: object) -> list[Any]:
        with translate_sqlite_errors(self.path):
            return self.connection.execute(_query(section), parameters).fetchall()

    def document(self, model: Entry) -> str:
        with with_room(self.connection):
            rows = self.rows("document", run=model.run)
        ((document,),) = rows or [(None,)]
        if not isinstance(document, str) or sha256(document) != model.model_digest:
            raise self.malformed_error(model, "the model's document is missing, or is another one")
        return document

    def keep(self, run: str, document: str) -> None:
        with with_room(self.connection):
            self.rows("keep", run=run, document=document)

    def decode(self, entry: Entry, decode: Callable[[Entry], Decoded]) -> Decoded:
        try:
            return decode(entry)
        except ValueError as error:
            raise self.malformed_error(entry, str(error)) from None

    def malformed_error(self, entry: Entry, problem: str) -> DataError:
        """Make the error for a malformed entry: its number, its run and the remedy."""
        what = ", ".join([entry.kind, *(f"run {run}" for run in [entry.run] if run)])
        return DataError(
            f"{self.path}: entry {entry.number} ({what:.240}): {problem}; restore a backup whose head is known"
        )

    def entry(self, row: tuple[Any, ...]) -> Entry:
        entry = Entry(*row)
        if entry.number < 1:
            raise DataError(
                f"{self.path}: entry {entry.number}: its number is below 1; restore a backup whose head is known"
            )
        head = (entry.kind, entry.time, entry.version, entry.digest)
        if not ({*map(type, head)} == {str} and {*map(type, row[1:])} <= {str, type(None)}):
            raise DataError(f"{self.path}: entry {entry.number}: is damaged; restore a backup whose head is known")
        return entry
