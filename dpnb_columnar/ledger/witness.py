"""A witness of a ledger: a small file on another disk that holds the ledger's newest head, so that a roll-back shows.

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
from dataclasses import dataclass
from pathlib import Path

from dpnb_columnar.errors import ConfigurationError, DataError, MissingInputError, UsageError, command, option
from dpnb_columnar.ledger.records import ORIGIN, Entry
from dpnb_columnar.ledger.storage import Entries
from dpnb_columnar.runtime.outputs import atomic_output, check_output

FORMAT = "dpnb_columnar witness"
VERSION = 1

LARGEST_WITNESS = 4096
"""Bytes; a larger file is none."""

DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Known:
    """What a witness knows of a ledger.

    Attributes:
        first: Digest of its first entry.
        entries: Number of its entries.
        head: Digest of the last one.
    """

    first: str
    entries: int
    head: str


@dataclass(frozen=True, slots=True)
class Witness:
    """The witness of a ledger.

    Attributes:
        path: Its file.
        ledger: The ledger's file.
    """

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
        """Refuse to begin a witness that is there, or one of a ledger whose newest head is not known.

        Entries that record a witness may follow the head: an attempt that was killed has left one.
        """
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
        """Write the last entry of a ledger, which is locked meanwhile, if the witness does not know it yet."""
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
        """Read the file; None if there is none."""
        if self.file.parent == self.ledger.resolve().parent:
            raise UsageError(
                f"{self.path}: a witness in the ledger's own folder goes back together with the ledger; keep it in "
                "another folder, better on another disk"
            )
        try:
            with open(self.path, "rb", opener=_no_waiting) as stream:
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


def _no_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
