"""Goes through a whole ledger and recomputes what its entries claim; memory grows with the accounts only."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace

from dpnb_columnar.budget import admits
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.ledger import codec
from dpnb_columnar.ledger.entries import Entries
from dpnb_columnar.ledger.records import COLUMNS, ORIGIN, Account, Entry, Kind, check_dataset, check_run, link, sha256

_HEAD = frozenset({"number", "kind", "time", "version", "digest"})
FIELDS = {
    Kind.ACCOUNT.value: _HEAD | {"dataset", "neighbours", "epsilon", "delta", "parts"},
    Kind.SPEND.value: frozenset(COLUMNS) - {"parts", "model_digest"},
    Kind.MODEL.value: _HEAD | {"run", "model_digest"},
}
"""Columns that an entry of a kind may fill."""

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)


@dataclass(frozen=True, slots=True)
class Verified:
    """A ledger in which every entry follows from those before it.

    Attributes:
        entries: How many there are.
        head: Digest of the last one.
    """

    entries: int
    head: str


def verify(entries: Entries, head: str | None = None) -> Verified:
    """Recompute the chain, the totals and the digests of all models, and look for a limit that was passed.

    Args:
        head: A digest that was noted when its entry was the last one; it has to be in the chain. Without it a chain
            that was cut short, or made anew from some entry on, cannot be told from a whole one.

    Raises:
        DataError: The first broken entry, and what is wrong with it.
        UsageError: The head is no digest.
    """
    if head is not None and not re.fullmatch(r"[0-9a-f]{64}", head):
        raise UsageError("--head: expected a digest of 64 hexadecimal digits, as ledger verify prints it")
    walk = _Walk(entries, head)
    problem: DataError | None = None
    try:
        for entry in entries.streamed("following", 0):
            walk.step(entry)
    except DataError as error:
        problem = error
    problem = walk.overspent() or problem or walk.left_over()
    if problem is not None:
        raise problem
    return Verified(walk.number, walk.digest)


class _Walk:
    """From entry to entry; keeps what the next one has to follow from."""

    def __init__(self, entries: Entries, head: str | None) -> None:
        self.entries = entries
        self.head = head
        self.number = 0
        self.digest = ORIGIN
        self.accounts: dict[str, Account] = {}
        self.found = head in (None, ORIGIN)

    def step(self, entry: Entry) -> None:
        """Check one entry, and remember it.

        Raises:
            DataError: It is broken.
        """
        if entry.number != self.number + 1:
            raise DataError(
                f"{self.entries.path}: entry {self.number + 1}: is missing; restore a backup whose head is known"
            )
        if entry.digest != link(self.digest, entry):
            raise self.entries.wrong(entry, "its digest does not follow from its content and the entry before it")
        account = self.entries.meant(entry, self._after)
        if account is not None:
            self.accounts[account.dataset] = account
        self.number, self.digest = entry.number, entry.digest
        self.found = self.found or entry.digest == self.head

    def overspent(self) -> DataError | None:
        """The error for the first entry that passes a limit.

        Totals only grow, so it is enough to look at the last ones, and to search where those are too large.
        """
        found = [self._passing(each) for each in self.accounts.values() if not admits(each.limit, each.spent)]
        if not found:
            return None
        (row,) = self.entries.rows("entry", number=min(found))
        return self.entries.wrong(Entry(*row), "passes the limit of its data set")

    def left_over(self) -> DataError | None:
        """The error for what no single entry tells: the noted head, other documents, the structure of the file.

        That no run is charged twice, and none has two models, is the structure of the file: its unique indices.
        """
        path = self.entries.path
        if not self.found:
            return DataError(
                f"{path}: the noted head is not in the chain: entries were taken away or replaced since it was noted; "
                "restore a backup in which it is"
            )
        if self.entries.rows("unlisted_document"):
            return DataError(f"{path}: holds a model's document that no entry speaks of; restore a backup")
        intact = self.entries.rows("integrity") == [("ok",)]
        return None if intact else DataError(f"{path}: the file is damaged; restore a backup whose head is known")

    def _passing(self, account: Account) -> int:
        """The number of the first entry whose total the account's limit does not admit; there is one."""

        def passes(number: int) -> bool:
            rows = self.entries.rows("last_spend_before", dataset=account.dataset, number=number)
            return bool(rows) and not admits(account.limit, codec.total_of(Entry(*rows[0])))

        return 1 + bisect_left(range(1, self.number), True, key=passes)

    def _after(self, entry: Entry) -> Account | None:
        """The account that an entry opens or charges, after it.

        Raises:
            ValueError: The entry cannot be what it says.
            DataError: The document of a model is not there.
        """
        filled = {name for name, value in zip(COLUMNS, entry, strict=True) if value is not None}
        if not filled <= FIELDS.get(entry.kind, frozenset()):
            raise ValueError("it is of no kind of entry")
        if not TIME.fullmatch(entry.time):
            raise ValueError("its time is none")
        if entry.kind == Kind.ACCOUNT:
            return self._opened(entry)
        if entry.kind == Kind.SPEND:
            return self._charged(entry)
        self._check_model(entry)
        return None

    def _opened(self, entry: Entry) -> Account:
        account = codec.account_of(entry)
        _check_name(check_dataset, account.dataset)
        if account.dataset in self.accounts:
            raise ValueError("its data set has an account already")
        return account

    def _charged(self, entry: Entry) -> Account:
        charge = codec.charge_of(entry)
        _check_name(check_run, charge.run)
        account = self.accounts.get(charge.dataset)
        if account is None:
            raise ValueError("its data set has no account")
        if charge.neighbours is not account.neighbours:
            raise ValueError("its relation is not that of its account")
        if entry.inputs_digest != sha256(entry.inputs or ""):
            raise ValueError("its inputs are not those of their digest")
        spent = account.spent.plus(charge.loss)
        if codec.total_of(entry) != spent:
            raise ValueError("its totals are not those before it and its loss")
        return replace(account, spent=spent)

    def _check_model(self, entry: Entry) -> None:
        charged = self.entries.rows("number_of_spend", run=entry.run)
        if not charged or charged[0][0] > entry.number:
            raise ValueError("its run was not charged before it")
        self.entries.document(entry)


def _check_name(check: Callable[[str], str], name: str) -> None:
    try:
        check(name)
    except UsageError as error:
        raise ValueError(str(error)) from None
