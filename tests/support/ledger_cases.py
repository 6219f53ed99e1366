"""Ledgers for tests, and what somebody with a pen could do to them."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from dpnb_columnar.budget import Approximate, Concentrated, Neighbours, PrivacyCost, Pure
from dpnb_columnar.ledger import Charge, Entry, Ledger
from dpnb_columnar.ledger.records import ORIGIN, with_digest

PURE_LIMIT = Approximate(Fraction(1), Fraction(0))
LIMIT = Approximate(Fraction(2), Fraction(1, 10**6))

TENTH = Pure(Fraction(1, 10))
APPROXIMATE = Approximate(Fraction(1, 5), Fraction(1, 10**8))
CONCENTRATED = Concentrated(Fraction(1, 1000))


def charge(run: str, loss: PrivacyCost = TENTH, dataset: str = "census", **inputs: Any) -> Charge:
    return Charge(dataset, run, loss, Neighbours.ADD_REMOVE, "smooth", None, {"data": ["census.parquet"], **inputs})


def new_ledger(path: Path, limit: Approximate = PURE_LIMIT, dataset: str = "census") -> Path:
    with Ledger.create(path) as ledger:
        ledger.open_account(dataset, limit, Neighbours.ADD_REMOVE)
    return path


def spent_epsilon(path: Path, dataset: str) -> Fraction:
    """Epsilon that all releases of a data set have cost."""
    with Ledger(path) as ledger:
        return ledger.account(dataset).spent.epsilon


def full_ledger(path: Path) -> Path:
    """A ledger with entries of every kind: accounts 1 and 2, spends 3, 5, 6, 8 and 10, models 4, 7 and 9."""
    path.write_bytes(full_content())
    return path


@cache
def full_content() -> bytes:
    """What is in the file of ``full_ledger``."""
    with tempfile.TemporaryDirectory() as folder:
        return make_full_ledger(Path(folder) / "x.ledger").read_bytes()


def make_full_ledger(path: Path) -> Path:
    """The same, entry by entry."""
    with Ledger.create(path) as ledger:
        ledger.open_account("census", LIMIT, Neighbours.ADD_REMOVE)
        ledger.open_account("oregon", PURE_LIMIT, Neighbours.ADD_REMOVE, frozenset(["parquet:1", "parquet:2"]))
        ledger.spend(charge("a"))
        ledger.keep("a", '{"model": 1}')
        ledger.spend(charge("b", APPROXIMATE))
        ledger.spend(charge("c", CONCENTRATED))
        ledger.keep("b", '{"model": 2}')
        ledger.spend(charge("d", dataset="oregon"))
        ledger.keep("d", '{"model": 3}')
        ledger.spend(charge("e"))
    return path


@contextmanager
def without_triggers(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of somebody who can write to the file; its triggers are there again afterwards."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        yield connection
        for _, text in triggers:
            connection.execute(text)


def change(path: Path, place: int, **values: object) -> None:
    with without_triggers(path) as connection:
        for name, value in values.items():
            connection.execute(f"UPDATE entry SET {name} = ? WHERE number = ?", (value, place))


def forge(path: Path, place: int, **values: object) -> None:
    """Change columns of one entry, and make the chain anew, as its owner could."""
    change(path, place, **values)
    relink(path)


def relink(path: Path) -> None:
    with without_triggers(path) as connection:
        digest = ORIGIN
        for row in connection.execute("SELECT * FROM entry ORDER BY number").fetchall():
            digest = with_digest(digest, Entry(*row)).digest
            connection.execute("UPDATE entry SET digest = ? WHERE number = ?", (digest, row[0]))
