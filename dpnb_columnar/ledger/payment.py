"""Payment of a release: the spend is durable before noise is drawn, and the model before anybody sees it.

Proof that a run which is cut short and begun again costs what it was charged once: docs/privacy.md, section 8.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from dpnb_columnar.budget import Remaining, remaining
from dpnb_columnar.errors import BusyError, DataError
from dpnb_columnar.ledger import Charge, Ledger, Run
from dpnb_columnar.runtime.locks import output_lock

if TYPE_CHECKING:
    from dpnb_columnar.model.model import Model
    from dpnb_columnar.model.released_scores import ReleasedScores

PATIENCE = 60.0
"""Seconds to wait for another attempt of the same run."""

ReleasedT = TypeVar("ReleasedT")


class Documents(Protocol[ReleasedT]):
    """How a ledger holds what a kind of run releases."""

    def written(self, released: ReleasedT, /) -> str:
        """Write a document."""

    def read(self, document: object, source: str, /) -> ReleasedT:
        """Read a document.

        Raises:
            DataError: if it is not of this kind, or is damaged.
        """


class ModelDocuments:
    """Documents of models."""

    def written(self, released: Model, /) -> str:
        """Write a model's document."""
        from dpnb_columnar.model.model_document import to_document, to_json

        return to_json(to_document(released))

    def read(self, document: object, source: str, /) -> Model:
        """Read a model's document."""
        from dpnb_columnar.model.model import from_document

        return from_document(document, source)


class ScoreDocuments:
    """Documents of released scores."""

    def written(self, released: ReleasedScores, /) -> str:
        """Write the document of released scores."""
        from dpnb_columnar.model.model_document import to_json
        from dpnb_columnar.model.released_scores import scores_document

        return to_json(scores_document(released))

    def read(self, document: object, source: str, /) -> ReleasedScores:
        """Read the document of released scores."""
        from dpnb_columnar.model.released_scores import read_scores

        return read_scores(document, source)


@dataclass(frozen=True, slots=True)
class ChargedRun(Generic[ReleasedT]):
    """A run whose spend is durable, so that its noise may be drawn.

    Attributes:
        ledger: The open ledger.
        run: The run, with the document that it has released, if any.
        documents: How the ledger holds it.
    """

    ledger: Ledger
    run: Run
    documents: Documents[ReleasedT]

    @property
    def released(self) -> ReleasedT | None:
        """What an earlier attempt of the run released."""
        return None if self.run.document is None else self._read(self.run.document)

    def keep(self, released: ReleasedT) -> ReleasedT:
        """Write a release to the ledger, and return what the run has released: the first that was written."""
        return self._read(self.ledger.keep(self.run.charge.run, self.documents.written(released)))

    def _read(self, document: str) -> ReleasedT:
        return self.documents.read(json.loads(document), f"{self.ledger.path}: run {self.run.charge.run}")


@dataclass(frozen=True, slots=True)
class Payment(Generic[ReleasedT]):
    """The charge of one run, and the ledger that it goes to.

    Attributes:
        ledger: The ledger's file.
        charge: Data set, run id, cost and inputs: public facts.
        documents: How the ledger holds what the run releases.
    """

    ledger: Path
    charge: Charge
    documents: Documents[ReleasedT]

    def admit(self) -> ReleasedT | None:
        """Ask the ledger whether it admits the release, before any row is opened.

        Returns:
            What this run has released, if it has already.

        Raises:
            BudgetError: if the limit does not admit the release; with what is spent and what remains.
            UsageError: if the run id was used with other inputs.
            dpnb_columnar.errors.Error: if the ledger cannot be read, or has no such account.
        """
        with Ledger(self.ledger) as ledger:
            run = ledger.refuse_if_unaffordable(self.charge)
        if run is None or run.document is None:
            return None
        with self._alone():
            pass  # an attempt that was killed after its model was kept has left its lock: it goes with ours
        return ChargedRun(ledger, run, self.documents).released

    def remaining(self) -> Remaining:
        """Return what the account has left once this run is paid, by what it has spent so far.

        Raises:
            dpnb_columnar.errors.Error: if the ledger cannot be read, or has no such account.
        """
        with Ledger(self.ledger) as ledger:
            account = ledger.account(self.charge.dataset)
            paid = ledger.run(self.charge.run) is not None
        return remaining(account.limit, account.spent if paid else account.spent.plus(self.charge.cost))

    @contextmanager
    def spend(self, parts: Collection[str]) -> Iterator[ChargedRun[ReleasedT]]:
        """Spend the charge. Of several attempts of one run only one is inside the block at a time.

        Args:
            parts: Digests of the files that were counted. Confidential.

        Raises:
            BudgetError: if another run has spent meanwhile what this one needs.
            DataError: if the account is bound to other files than these, or another account to one of these.
            BusyError: if another attempt of this run does not come to an end.
        """
        with self._alone(), Ledger(self.ledger) as ledger:
            bound = ledger.account(self.charge.dataset).parts
            if bound is not None and not bound.issuperset(parts):
                raise DataError(
                    f"{self.ledger}: data set {self.charge.dataset} is bound to other files than these; "
                    "name the files it was opened for, or open an account for these"
                )
            for other in ledger.accounts():
                if other.dataset != self.charge.dataset and other.parts and not other.parts.isdisjoint(parts):
                    raise DataError(
                        f"{self.ledger}: data set {self.charge.dataset}: account {other.dataset} is bound to one of "
                        f"these files, whatever it is called; charge that one: --account {shlex.quote(other.dataset)}"
                    )
            yield ChargedRun(ledger, ledger.spend(self.charge), self.documents)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other attempts of this run from drawing meanwhile.

        Were two to draw at once, the one that drew faster would be kept, and how long a draw takes depends on what is
        drawn (docs/privacy.md, Lemma 8.3).

        Raises:
            BusyError: if another attempt does not come to an end in a minute.
        """
        file = self.ledger.resolve()
        name = file.with_name(f"{file.name}.{hashlib.sha256(self.charge.run.encode()).hexdigest()[:16]}")
        deadline = time.monotonic() + PATIENCE
        with ExitStack() as stack:
            while True:
                try:
                    stack.enter_context(output_lock(name, self.charge.run))
                    break
                except BusyError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.05)
            yield
