"""The ledger: open accounts, charge releases, keep released models. No written entry is ever changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from dpnb_columnar.core.budget import Approximate, Neighbours, Spent, admits
from dpnb_columnar.core.budget.costs import cost_parameters
from dpnb_columnar.domain.names import check_dataset, did_you_mean, named
from dpnb_columnar.errors import ConfigurationError, MissingInputError, UsageError, option
from dpnb_columnar.ledger import records, refusals, storage
from dpnb_columnar.ledger.records import ORIGIN, Account, Charge, Entry, Run, check_run, sha256
from dpnb_columnar.ledger.storage import Entries
from dpnb_columnar.ledger.verification import Verified, Witness, verify

MOST_NAMES = 1000  # data sets among which the nearest name is looked up for an error


class Ledger:
    """A ledger that is open; close it, or use it as a context manager.

    Every method may raise, beside what it says: ``BusyError`` where other runs hold the ledger for 30 seconds,
    ``OutputError`` where it cannot be written, ``DataError`` where an entry that is read is damaged, or does not follow
    from the one before it.

    Examples:
        >>> from fractions import Fraction
        >>> from pathlib import Path
        >>> import dpnb_columnar as dpnb
        >>> from dpnb_columnar.core.budget import Approximate, Neighbours
        >>> from dpnb_columnar.ledger import Ledger
        >>> census, path = dpnb.simulate("census.parquet", rows=500, overwrite=True), Path("census.ledger")
        >>> with Ledger.create(path) as ledger:
        ...     limit = Approximate(Fraction(1), Fraction(0))
        ...     account = ledger.open_account("census_simulated", limit, Neighbours.ADD_REMOVE)
        >>> model = dpnb.train(census, epsilon="0.4", ledger=path)
        >>> with Ledger(path) as ledger:
        ...     str(ledger.account("census_simulated").remaining.epsilon)
        '3/5'
    """

    def __init__(self, path: Path, witness: Path | None = None) -> None:
        """Open an existing ledger; one that has a witness takes no charge without it."""
        self.path = path
        self._stack = ExitStack()
        self._connection = self._stack.enter_context(storage.open_connection(path))
        self._entries = Entries(path, self._connection)
        self._witness = None if witness is None else Witness(witness, path)

    @classmethod
    def create(cls, path: Path, witness: Path | None = None) -> Self:
        """Make a ledger without accounts, readable by its owner alone, and open it."""
        storage.create(path)
        return cls(path, witness)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. What was written is durable before."""
        self._stack.close()

    def open_account(
        self,
        dataset: str,
        limit: Approximate,
        neighbours: Neighbours,
        parts: frozenset[str] | None = None,
        unit: Iterable[str] = (),
    ) -> Account:
        """Give a data set a budget for good, bound perhaps to files by their digests, which are confidential."""
        account = Account(check_dataset(dataset), limit, neighbours, parts, Spent(), records.unit_named(unit))
        records.check_limit(limit)
        with storage.write_transaction(self.path, self._connection):
            if self._entries.select_one("account", dataset=dataset) is not None:
                raise UsageError(
                    f"{self.path}: data set {dataset} has an account, and its limit never changes; "
                    f"choose another {option('dataset')}"
                )
            for other in self.accounts():
                if parts and other.parts and other.parts & parts:
                    raise UsageError(
                        f"{self.path}: data set {dataset}: account {other.dataset} is bound to one of these files "
                        "already, and two limits for the same persons would add up; charge that one "
                        f"({option('account', other.dataset)}), or bind this one to other files"
                    )
            self.witnessed()
            self._record_witness()
            self._entries.append(lambda number: records.account_entry(account, number))
        self._write_witness()
        return account

    def account(self, dataset: str) -> Account:
        """Return the account of a data set, with what has been spent."""
        opened = self._entries.select_one("account", dataset=dataset)
        if opened is None:
            known = self._datasets(MOST_NAMES)
            hint = did_you_mean(dataset, known, f"its accounts: {named(known)}" if known else "it has no account yet")
            raise ConfigurationError(f"{self.path}: the ledger has no account for data set {dataset}; {hint}")
        account = self._entries.decode(opened, records.account_of)
        spend = self._entries.select_one("last_spend", dataset=dataset)
        if spend is None:
            return account
        return replace(account, spent=self._entries.decode(spend, records.total_of))

    def accounts(self) -> Iterator[Account]:
        """Iterate over the accounts in the order in which they were opened."""
        return map(self.account, self._datasets(-1))

    def run(self, run: str) -> Run | None:
        """Return the charge and the released model of a run id; None if nothing was charged under it."""
        spend = self._entries.select_one("spend", run=check_run(run))
        if spend is None:
            return None
        charge = self._entries.decode(spend, records.charge_of)
        model = self._entries.select_one("model", run=run)
        return Run(charge) if model is None else Run(charge, self._entries.document(model), model.model_digest)

    def refuse_if_unaffordable(self, charge: Charge) -> Run | None:
        """Check what ``spend`` would check, before any row is opened; return the run if it has been charged already."""
        known = self._known(charge)
        self.witnessed()
        if known is None:
            self._total_with(charge)
            records.inputs_text(charge)
        return known

    def spend(self, charge: Charge) -> Run:
        """Charge a release; when this returns the entry is on disk, and noise may be drawn.

        A run id that has been charged for the same release is not charged again.
        """
        with storage.write_transaction(self.path, self._connection):
            self.witnessed()
            known = self._known(charge)
            if known is None:
                total = self._total_with(charge)
                self._record_witness()
                self._entries.append(lambda number: records.spend_entry(charge, total, number))
        self.note_witness()
        return known or Run(charge)

    def keep(self, run: str, document: str) -> str:
        """Keep the released model of a run, and return the one to hand out: the first document of a run counts."""
        if len(document.encode()) > storage.LARGEST_DOCUMENT:
            raise UsageError(
                f"{self.path}: run {run}: a model of more than {storage.LARGEST_DOCUMENT} bytes is not kept"
            )
        with storage.write_transaction(self.path, self._connection):
            known = self.run(run)
            if known is None:
                raise UsageError(f"{self.path}: run id {run}: nothing was charged under it; spend first")
            if known.document is None:
                self._entries.append(lambda number: records.model_entry(run, sha256(document), number))
                self._entries.keep(run, document)
        self.note_witness()
        return known.document or document

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Iterate over the entries after a number as they are stored; the chain is not checked."""
        return self._entries.iterate("following", after)

    def releases(self) -> Iterator[tuple[Entry, str | None]]:
        """Iterate over the spends with the digest of the released model, None while the run is unfinished."""
        for spend in self._entries.iterate("spends_following", 0):
            model = self._entries.select_one("model", run=spend.run)
            yield spend, None if model is None else model.model_digest

    def spend_of(self, digest: str) -> Entry | None:
        """Return the spend of the run that released the document of a digest; None if no run did."""
        model = self._entries.select_one("model_of_digest", digest=digest)
        if model is None:
            return None
        self._entries.document(model)
        return self._entries.select_one("spend", run=model.run)

    def head(self) -> str:
        """Return the digest of the last entry: noted elsewhere, it proves later that no entry was removed."""
        last = self._entries.select_one("last")
        return ORIGIN if last is None else last.digest

    def verify(self, head: str | None = None) -> Verified:
        """Recompute everything that the entries claim; see ``verification.verify``."""
        return verify(self._entries, head)

    def begin_witness(self, head: str) -> None:
        """Begin a witness at the head noted after the last run: a ledger that was rolled back has another one."""
        if self._witness is not None:
            path = self._witness.path
            with storage.write_transaction(self.path, self._connection):
                self._witness.check_begin(self._entries, head)
                self._entries.append(lambda number: records.witness_entry(path, number))
            self._write_witness()

    def recorded_witness(self) -> Path | None:
        """Return the path of the witness that the ledger records; None if it never had one."""
        entry = self._entries.select_one("witness")
        return None if entry is None else self._entries.decode(entry, records.witness_of)

    def witnessed(self) -> int | None:
        """Return the number of entries that the witness knows; None if the ledger never had one, or is empty."""
        if self._witness is not None:
            known = self._witness.require(self._entries)
            return None if known is None else known.entries
        if (path := self.recorded_witness()) is not None:
            raise MissingInputError(
                f"{self.path}: this ledger has a witness, without which a roll-back is not noticed; name it: "
                f"{option('witness', str(path))}"
            )
        return None

    def note_witness(self) -> None:
        """Have the witness know the last entry, before noise is drawn or a model is handed out."""
        self.witnessed()
        self._write_witness()

    def _record_witness(self) -> None:
        if self._witness is not None and self.recorded_witness() is None:
            path = self._witness.path
            self._entries.append(lambda number: records.witness_entry(path, number))

    def _write_witness(self) -> None:
        if self._witness is not None:
            with storage.write_transaction(self.path, self._connection):  # so that no later entry is put back by it
                self._witness.note(self._entries)

    def _datasets(self, most: int) -> list[str]:
        return [str(name) for (name,) in self._entries.rows("datasets", most=most)]

    def _known(self, charge: Charge) -> Run | None:
        known = self.run(charge.run)
        spend = self._entries.select_one("spend", run=charge.run)
        if known and spend and (error := refusals.other_inputs(self.path, known.charge, charge, spend.version)):
            raise error
        return known

    def _total_with(self, charge: Charge) -> Spent:
        if not all(cost_parameters(charge.cost).values()):
            raise ValueError("a charge must be above 0")
        if self._entries.select_one("account", dataset=charge.dataset) is None:
            raise refusals.no_account(self.path, charge.dataset, self._datasets(MOST_NAMES))
        account = self.account(charge.dataset)
        if (charge.neighbours, charge.unit) != (account.neighbours, account.unit):
            raise refusals.other_relation(self.path, account, charge)
        try:
            total = account.spent.plus(charge.cost)
        except ValueError:
            raise refusals.not_composable(self.path, account, charge.cost) from None
        if not admits(account.limit, total):
            raise refusals.over_budget(self.path, account, charge.cost)
        return total
