"""Verify a whole ledger: recompute what its entries claim. Memory grows with the number of accounts only."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace

from dpnb_columnar.core.budget import admits
from dpnb_columnar.domain.names import check_dataset
from dpnb_columnar.errors import DataError, UsageError, option
from dpnb_columnar.ledger import records
from dpnb_columnar.ledger.records import COLUMNS, ORIGIN, Account, Entry, EntryKind, check_run, link, sha256
from dpnb_columnar.ledger.storage import Entries

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
    """A ledger in which every entry follows from those before it.

    Attributes:
        entries: How many there are.
        head: Digest of the last one.
        secret: Number of the first entry that names an address with a password; None for none.
    """

    entries: int
    head: str
    secret: int | None = None


def verify(entries: Entries, head: str | None = None) -> Verified:
    """Recompute the chain, the totals and the digests of all models, and search for exceeded limits.

    Args:
        head: A digest that was noted when its entry was the last one; it has to be in the chain. Without it a chain
            that was cut short, or made anew from some entry on, cannot be told from a whole one.
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
        """Check one entry and update the state.

        Raises:
            DataError: if the entry is broken.
        """
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
        """Return the error for the first entry that exceeds a limit, if one does.

        Totals only grow, so the last ones suffice; a search follows where one is too large.
        """
        over = [account for account in self.accounts.values() if not admits(account.limit, account.spent)]
        exceeding = [self._first_exceeding(account) for account in over]
        if not exceeding:
            return None
        (row,) = self.entries.rows("entry", number=min(exceeding))
        return self.entries.malformed_error(Entry(*row), "exceeds the limit of its data set")

    def whole_file_fault(self) -> DataError | None:
        """Return the error for what no single entry shows: the noted head, stray documents, a damaged file.

        That no run is charged twice, and none has two models, is the structure of the file: its unique indices.
        """
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
        """Return the number of the first entry whose total exceeds the account's limit; one does."""

        def exceeds(number: int) -> bool:
            rows = self.entries.rows("last_spend_before", dataset=account.dataset, number=number)
            return bool(rows) and not admits(account.limit, records.total_of(Entry(*rows[0])))

        return 1 + bisect_left(range(1, self.number), True, key=exceeds)

    def _after(self, entry: Entry) -> Account | None:
        """Return the account that an entry opens or charges, as it is after the entry."""
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
            self._check_model(entry)
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
