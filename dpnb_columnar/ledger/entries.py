"""Reads and appends single entries; what is read must follow from what stands before it."""

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

Meaning = TypeVar("Meaning")

AT_ONCE = 100
"""Entries that are read under one lock: a long reader must not keep a nightly run from spending."""


class Entries:
    """The rows of an open ledger.

    Every method may raise ``BusyError``, ``OutputError`` or ``DataError``, as ``storage.reported`` tells.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection

    def one(self, section: str, **parameters: object) -> Entry | None:
        """The entry that a query finds, if it finds one.

        Raises:
            DataError: It does not follow from the entry before it.
        """
        rows = self.rows(section, **parameters)
        if not rows:
            return None
        entry = self._entry(rows[0])
        before = self.rows("entry", number=entry.number - 1)
        if entry.digest != link(self._entry(before[0]).digest if before else ORIGIN, entry):
            raise self.wrong(entry, "its digest does not follow from its content and the entry before it")
        return entry

    def append(self, make: Callable[[int], Entry]) -> Entry:
        """Add the entry that is made for the next number.

        Raises:
            DataError: The last entry does not follow from the one before it.
        """
        last = self.one("last")
        entry = linked(last.digest, make(last.number + 1)) if last else linked(ORIGIN, make(1))
        self.rows("append", **entry._asdict())
        return entry

    def streamed(self, section: str, after: int) -> Iterator[Entry]:
        """The entries that a query finds after a number, whether they follow from each other or not.

        Raises:
            DataError: One is no entry, or they are out of order, or one stands before number 1.
        """
        for row in self.rows("first"):
            self._entry(row)
        while rows := self.rows(section, number=after, most=AT_ONCE):
            for row in rows:
                entry = self._entry(row)
                if entry.number <= after:
                    raise self.wrong(entry, "stands in a wrong place")
                after = entry.number
                yield entry

    def rows(self, section: str, **parameters: object) -> list[Any]:
        """What a query returns: few rows."""
        with reported(self.path):
            return self.connection.execute(_query(section), parameters).fetchall()

    def document(self, model: Entry) -> str:
        """What a run has released, by its model entry.

        Raises:
            DataError: It is not there, or not the one that was released.
        """
        with with_room(self.connection):
            rows = self.rows("document", run=model.run)
        ((document,),) = rows or [(None,)]
        if not isinstance(document, str) or sha256(document) != model.model_digest:
            raise self.wrong(model, "the model's document is not there, or is another one")
        return document

    def keep(self, run: str, document: str) -> None:
        """Store what a run has released."""
        with with_room(self.connection):
            self.rows("keep", run=run, document=document)

    def meant(self, entry: Entry, meaning: Callable[[Entry], Meaning]) -> Meaning:
        """What an entry means.

        Raises:
            DataError: Nothing.
        """
        try:
            return meaning(entry)
        except ValueError as error:
            raise self.wrong(entry, str(error)) from None

    def wrong(self, entry: Entry, problem: str) -> DataError:
        """The error to raise for an entry."""
        what = ", ".join([entry.kind, *(f"run {run}" for run in [entry.run] if run)])
        return DataError(
            f"{self.path}: entry {entry.number} ({what:.240}): {problem}; restore a backup whose head is known"
        )

    def _entry(self, row: tuple[Any, ...]) -> Entry:
        entry = Entry(*row)
        if entry.number < 1:
            raise DataError(
                f"{self.path}: entry {entry.number}: stands before entry 1; restore a backup whose head is known"
            )
        head = (entry.kind, entry.time, entry.version, entry.digest)
        if not ({*map(type, head)} == {str} and {*map(type, row[1:])} <= {str, type(None)}):
            raise DataError(f"{self.path}: entry {entry.number}: is damaged; restore a backup whose head is known")
        return entry


@cache
def _query(section: str) -> str:
    named = sections("ledger")
    return named[section].substitute(columns=named["columns"].template)
