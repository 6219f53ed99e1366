"""Read and append single entries of a ledger; an entry that is read must continue the chain of digests."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from dpnb_columnar.errors import DataError
from dpnb_columnar.ledger.records import ORIGIN, Entry, link, linked, sha256
from dpnb_columnar.ledger.storage import reported, with_room
from dpnb_columnar.runtime.resources import sections

Decoded = TypeVar("Decoded")

AT_ONCE = 100
"""Entries that are read under one lock: a long reader must not keep a nightly run from spending."""


class Entries:
    """The rows of an open ledger.

    Every method may raise ``BusyError``, ``OutputError`` or ``DataError``; see ``storage.reported``.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection

    def one(self, section: str, **parameters: object) -> Entry | None:
        """Return the entry that a named query selects, or None.

        Raises:
            DataError: if the entry does not continue the chain.
        """
        rows = self.rows(section, **parameters)
        if not rows:
            return None
        entry = self.entry(rows[0])
        before = self.rows("entry", number=entry.number - 1)
        if entry.digest != link(self.entry(before[0]).digest if before else ORIGIN, entry):
            raise self.malformed(entry, "its digest does not follow from its content and the entry before it")
        return entry

    def append(self, make: Callable[[int], Entry]) -> Entry:
        """Append the entry that ``make`` returns for the next number.

        Raises:
            DataError: if the last entry does not continue the chain.
        """
        last = self.one("last")
        entry = linked(last.digest, make(last.number + 1)) if last else linked(ORIGIN, make(1))
        self.rows("append", **entry._asdict())
        return entry

    def streamed(self, section: str, after: int) -> Iterator[Entry]:
        """Iterate over the entries after a number; the chain is not checked.

        Raises:
            DataError: if a row is not an entry, is out of order, or has a number below 1.
        """
        for row in self.rows("first"):
            self.entry(row)
        while rows := self.rows(section, number=after, most=AT_ONCE):
            for row in rows:
                entry = self.entry(row)
                if entry.number <= after:
                    raise self.malformed(entry, "is out of order")
                after = entry.number
                yield entry

    def rows(self, section: str, **parameters: object) -> list[Any]:
        """Run a named query that returns few rows."""
        with reported(self.path):
            return self.connection.execute(_query(section), parameters).fetchall()

    def document(self, model: Entry) -> str:
        """Return the released model's document.

        Args:
            model: The model entry of its run.

        Raises:
            DataError: if the document is absent, or its digest is not that of the entry.
        """
        with with_room(self.connection):
            rows = self.rows("document", run=model.run)
        ((document,),) = rows or [(None,)]
        if not isinstance(document, str) or sha256(document) != model.model_digest:
            raise self.malformed(model, "the model's document is missing, or is another one")
        return document

    def keep(self, run: str, document: str) -> None:
        """Store the released model's document."""
        with with_room(self.connection):
            self.rows("keep", run=run, document=document)

    def decoded(self, entry: Entry, decode: Callable[[Entry], Decoded]) -> Decoded:
        """Decode a ledger entry.

        Raises:
            DataError: if the entry is malformed.
        """
        try:
            return decode(entry)
        except ValueError as error:
            raise self.malformed(entry, str(error)) from None

    def malformed(self, entry: Entry, problem: str) -> DataError:
        """Make the error for a malformed entry: its number, its run and the remedy."""
        what = ", ".join([entry.kind, *(f"run {run}" for run in [entry.run] if run)])
        return DataError(
            f"{self.path}: entry {entry.number} ({what:.240}): {problem}; restore a backup whose head is known"
        )

    def entry(self, row: tuple[Any, ...]) -> Entry:
        """Return a stored row as an entry.

        Raises:
            DataError: if its number is below 1, or it holds other types than an entry.
        """
        entry = Entry(*row)
        if entry.number < 1:
            raise DataError(
                f"{self.path}: entry {entry.number}: its number is below 1; restore a backup whose head is known"
            )
        head = (entry.kind, entry.time, entry.version, entry.digest)
        if not ({*map(type, head)} == {str} and {*map(type, row[1:])} <= {str, type(None)}):
            raise DataError(f"{self.path}: entry {entry.number}: is damaged; restore a backup whose head is known")
        return entry


@cache
def _query(section: str) -> str:
    named = sections("ledger")
    return named[section].replace("@columns", named["columns"])
