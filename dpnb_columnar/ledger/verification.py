"""Verify a whole ledger: recompute what its entries claim. Memory grows with the number of accounts only.

A witness of a ledger: a small file on another disk that holds the ledger's newest head, so that a roll-back shows.

Nobody can tell by a ledger alone that it was put back from a backup, with all that was spent since forgotten. The
witness knows its first entry, its number of entries and the digest of the last. A ledger that lacks that entry, or has
another one in its place, was rolled back, or is another ledger.

*What holds.* The witness never knows an entry that is not durable in the ledger, and knows the spend before noise is
drawn, and the model before anybody sees it: first the entry is committed, then the witness is written, and only then do
``Ledger.spend`` and ``Ledger.keep`` return. A run that is killed between the two leaves a witness that is behind, which
the next run brings up to date before it goes on; for what a roll-back could forget then no noise was drawn, and nobody
saw a model. It is written while the ledger is locked, from the last entry that is there then, so that no run puts it
back. Whoever can write both files can roll back both.

*A witness is not forgotten.* An entry of the ledger records it, and from then on nothing is charged or handed out
without it. It is begun with a new ledger, or by the head that its owner has noted elsewhere: a ledger that was rolled
back has another head. The entry is committed before the file is written, so a kill between leaves no ledger that has a
witness and does not say so.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from dpnb_columnar.core.budget import admits
from dpnb_columnar.domain.names import check_dataset
from dpnb_columnar.errors import ConfigurationError, DataError, MissingInputError, UsageError, command, option
from dpnb_columnar.ledger import records
from dpnb_columnar.ledger.records import COLUMNS, ORIGIN, Account, Entry, EntryKind, check_run, link, sha256
from dpnb_columnar.ledger.storage import Entries
from dpnb_columnar.runtime.outputs import atomic_output, check_output

FORMAT = "dpnb_columnar witness"
VERSION = 1
LARGEST_WITNESS = 4096  # bytes; a larger file is none
O_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # does not wait for a named pipe
DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Known:
    """What a witness knows of a ledger: the digests of its first and its last entry, and their number."""

    first: str
    entries: int
    head: str


@dataclass(frozen=True, slots=True)
class Witness:
    """The witness of a ledger, by its file and the ledger's."""

    path: Path
    ledger: Path

    @property
    def file(self) -> Path:
        """The file itself, where the path is a link."""
        return Path(os.path.realpath(self.path))

    def check(self, entries: Entries) -> Known | None:
        """Refuse a ledger that lacks what the witness knows."""
        known = self._read()
        if known is None:
            return None
        last = entries.select_one("last")
        count = 0 if last is None else last.number
        if (self._digest(entries, 1) or known.first) != known.first:
            raise DataError(f"{self.path}: is the witness of another ledger than {self.ledger}; name that one's")
        if self._digest(entries, known.entries) != known.head:
            lacks = f"{count} entries" if count < known.entries else "another one in its place"
            raise DataError(
                f"{self.ledger}: was rolled back: {self.path} has seen entry {known.entries} with the digest "
                f"{known.head}, and the ledger has {lacks}. What was spent since is forgotten there, so nothing is "
                "spent; find the newest copy of the ledger (docs/batch.md, 'If entries were lost')"
            )
        return known

    def require(self, entries: Entries) -> Known | None:
        """Check a ledger as ``check`` does, by a witness that has to be there, unless the ledger is empty."""
        known = self.check(entries)
        if known is None and entries.select_one("last") is None:
            check_output(self.file, overwrite=True)  # before an entry is written that records it
        elif known is None:
            begin = command(
                "ledger verify", str(self.ledger), witness=str(self.path), begin_witness=None, head="DIGEST"
            )
            raise MissingInputError(
                f"{self.path}: no such witness; mount its disk, or, if it is lost or was never begun, begin it by the "
                f"head that was noted after the last run: {begin}"
            )
        return known

    def check_begin(self, entries: Entries, head: str) -> None:
        """Refuse a witness that is there, or an unknown head; entries that record a witness may follow the head."""
        if self.check(entries) is not None:
            raise UsageError(f"{self.path}: this witness is there already; leave {option('begin-witness')} out")
        last = entries.select_one("last_but_witness")
        if last is None:
            raise UsageError(f"{self.ledger}: has no entry that a witness could know; open an account first")
        if head not in {entry.digest for entry in entries.iterate("following", last.number - 1)}:
            raise UsageError(
                f"{self.ledger}: {option('head', head)} is not the digest of the last entry, so entries may be lost "
                "after it; give the head that was noted after the last run"
            )
        check_output(self.file, overwrite=True)

    def note(self, entries: Entries) -> None:
        known, last = self.check(entries), entries.select_one("last")
        if last is None or (known is not None and known.entries == last.number):
            return
        first = self._digest(entries, 1)
        document = {"format": FORMAT, "version": VERSION, "first": first, "entries": last.number, "head": last.digest}
        with atomic_output(self.file, overwrite=True, confidential=True) as partial:
            partial.write_text(json.dumps(document) + "\n", encoding="utf-8")

    def _digest(self, entries: Entries, number: int) -> str | None:
        found: list[Entry] = [entries.entry(row) for row in entries.rows("entry", number=number)]
        return found[0].digest if found else None

    def _read(self) -> Known | None:
        if self.file.parent == self.ledger.resolve().parent:
            raise UsageError(
                f"{self.path}: a witness in the ledger's own folder goes back together with the ledger; keep it in "
                "another folder, better on another disk"
            )
        try:
            with open(self.path, "rb", opener=lambda path, flags: os.open(path, flags | O_NONBLOCK)) as stream:
                status = os.fstat(stream.fileno())
                content = stream.read(LARGEST_WITNESS + 1) if stat.S_ISREG(status.st_mode) else b""
        except FileNotFoundError:
            return None
        except OSError as error:
            raise MissingInputError(f"{self.path}: cannot be opened: {error.strerror}") from None
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ConfigurationError(
                f"{self.path}: others can write to it, so that it proves nothing; "
                f"chmod go-w {shlex.quote(str(self.path))}"
            )
        try:
            document = json.loads(content[: LARGEST_WITNESS + 1])
            known = Known(document["first"], document["entries"], document["head"])
            if (document["format"], document["version"]) != (FORMAT, VERSION) or len(content) > LARGEST_WITNESS:
                raise ValueError
            if not (type(known.entries) is int and known.entries > 0 and known.head != ORIGIN):
                raise ValueError
            if not all(isinstance(each, str) and DIGEST.fullmatch(each) for each in (known.first, known.head)):
                raise ValueError
        except (LookupError, TypeError, ValueError, RecursionError):
            raise DataError(
                f"{self.path}: not a witness of a ledger; name the file that was begun by "
                f"{command('ledger init')} or by {command('ledger verify', begin_witness=None, head='DIGEST')}"
            ) from None
        return known


_HEAD = frozenset({"number", "kind", "time", "version", "digest"})
FIELDS = {
    EntryKind.ACCOUNT.value: _HEAD | {"dataset", "neighbours", "epsilon", "delta", "parts"},
    EntryKind.SPEND.value: frozenset(COLUMNS) - {"parts", "model_digest"},
    EntryKind.MODEL.value: _HEAD | {"run", "model_digest"},
    EntryKind.WITNESS.value: _HEAD | {"inputs"},
}
"""Columns that an entry of a kind may fill."""

PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/[^\"]*:[^\"]*@")
"""An address with a password, in the inputs of an entry. What merely looks like one is told as well."""

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)


@dataclass(frozen=True, slots=True)
class Verified:
    """A ledger in which every entry follows from those before it."""

    entries: int
    head: str
    secret: int | None = None  # number of the first entry that names an address with a password


def verify(entries: Entries, head: str | None = None) -> Verified:
    """Recompute chain, totals and digests, search for exceeded limits and for the noted head.

    Without a noted head a chain that was cut short, or made anew from some entry on, cannot be told from a whole one.
    """
    if head is not None and not re.fullmatch(r"[0-9a-f]{64}", head):
        raise UsageError(f"{option('head')}: expected a digest of 64 hexadecimal digits, as ledger verify prints it")
    walk = _Walk(entries, head)
    problem: DataError | None = None
    try:
        for entry in entries.iterate("following", 0):
            walk.step(entry)
    except DataError as error:
        problem = error
    problem = walk.overspent() or problem or walk.whole_file_fault()
    if problem is not None:
        raise problem
    return Verified(walk.number, walk.digest, walk.secret)


class _Walk:
    """The state of a verification: accounts and the digest so far."""

    def __init__(self, entries: Entries, head: str | None) -> None:
        self.entries = entries
        self.head = head
        self.number = 0
        self.digest = ORIGIN
        self.accounts: dict[str, Account] = {}
        self.head_seen = head in (None, ORIGIN)
        self.secret: int | None = None

    def step(self, entry: Entry) -> None:
        if entry.number != self.number + 1:
            raise DataError(
                f"{self.entries.path}: entry {self.number + 1}: is missing; restore a backup whose head is known"
            )
        if entry.digest != link(self.digest, entry):
            raise self.entries.malformed_error(
                entry, "its digest does not follow from its content and the entry before it"
            )
        account = self.entries.decode(entry, self._after)
        if account is not None:
            self.accounts[account.dataset] = account
        if self.secret is None and entry.inputs and PASSWORD.search(entry.inputs):
            self.secret = entry.number
        self.number, self.digest = entry.number, entry.digest
        self.head_seen = self.head_seen or entry.digest == self.head

    def overspent(self) -> DataError | None:
        """Return the error for the first entry over a limit; as totals only grow, the last ones are looked at first."""
        over = [account for account in self.accounts.values() if not admits(account.limit, account.spent)]
        exceeding = [self._first_exceeding(account) for account in over]
        if not exceeding:
            return None
        (row,) = self.entries.rows("entry", number=min(exceeding))
        return self.entries.malformed_error(Entry(*row), "exceeds the limit of its data set")

    def whole_file_fault(self) -> DataError | None:
        """Return the error for what no single entry shows: the noted head, stray documents, a damaged file."""
        path = self.entries.path
        if not self.head_seen:
            return DataError(
                f"{path}: the noted head is not in the chain: entries were taken away or replaced since it was noted; "
                "restore a backup in which it is"
            )
        if self.entries.rows("unlisted_document"):
            return DataError(f"{path}: holds a model's document that no entry names; restore a backup")
        intact = self.entries.rows("integrity") == [("ok",)]
        return None if intact else DataError(f"{path}: the file is damaged; restore a backup whose head is known")

    def _first_exceeding(self, account: Account) -> int:
        def exceeds(number: int) -> bool:
            rows = self.entries.rows("last_spend_before", dataset=account.dataset, number=number)
            return bool(rows) and not admits(account.limit, records.total_of(Entry(*rows[0])))

        return 1 + bisect_left(range(1, self.number), True, key=exceeds)

    def _after(self, entry: Entry) -> Account | None:
        filled = {name for name, value in zip(COLUMNS, entry, strict=True) if value is not None}
        if not filled <= FIELDS.get(entry.kind, frozenset()):
            raise ValueError("its filled columns fit no kind of entry")
        if not TIME.fullmatch(entry.time):
            raise ValueError("its time is malformed")
        if entry.kind == EntryKind.ACCOUNT:
            return self._opened(entry)
        if entry.kind == EntryKind.SPEND:
            return self._charged(entry)
        if entry.kind == EntryKind.WITNESS:
            records.witness_of(entry)
        else:
            charged = self.entries.rows("number_of_spend", run=entry.run)
            if not charged or charged[0][0] > entry.number:
                raise ValueError("its run was not charged before it")
            self.entries.document(entry)
        return None

    def _opened(self, entry: Entry) -> Account:
        account = records.account_of(entry)
        _check_name(check_dataset, account.dataset)
        if account.dataset in self.accounts:
            raise ValueError("its data set has an account already")
        return account

    def _charged(self, entry: Entry) -> Account:
        charge = records.charge_of(entry)
        _check_name(check_run, charge.run)
        account = self.accounts.get(charge.dataset)
        if account is None:
            raise ValueError("its data set has no account")
        if (charge.neighbours, charge.unit) != (account.neighbours, account.unit):
            raise ValueError("its neighbouring relation is not that of its account")
        if entry.inputs_digest != sha256(entry.inputs or ""):
            raise ValueError("its inputs do not have the digest beside them")
        spent = account.spent.plus(charge.cost)
        if records.total_of(entry) != spent:
            raise ValueError("its totals are not the previous totals plus its cost")
        return replace(account, spent=spent)


def _check_name(check: Callable[[str], str], name: str) -> None:
    try:
        check(name)
    except UsageError as error:
        raise ValueError(str(error)) from None
