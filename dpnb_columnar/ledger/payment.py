"""A release that a ledger pays for: the spend is durable before noise is drawn, and the model before anybody sees it.

Proof that a run which is cut short and begun again costs what it was charged once: docs/privacy.md, section 8.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpnb_columnar.budget import Budget, total
from dpnb_columnar.domain import Domain, digest
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import BusyError, DataError, UsageError
from dpnb_columnar.ledger import Charge, Ledger, check_dataset, check_run, fresh_run
from dpnb_columnar.runtime.locks import output_lock

if TYPE_CHECKING:
    from dpnb_columnar.counting.statistics import Statistics
    from dpnb_columnar.model.model import Model

PATIENCE = 60.0
"""Seconds to wait for another attempt of the same run."""


@dataclass(frozen=True, slots=True)
class Payment:
    """What one run is charged for, and where.

    Attributes:
        ledger: The ledger's file.
        charge: Data set, run id, loss and inputs: public facts.
    """

    ledger: Path
    charge: Charge

    def admitted(self) -> Model | None:
        """Ask the ledger whether it admits the release, before any row is opened.

        Returns:
            The model, if this run has released it already.

        Raises:
            BudgetError: It does not; with the limit, what is spent and what remains.
            UsageError: The run id was used with other inputs.
            dpnb_columnar.errors.Error: The ledger cannot be read, or has no such account.
        """
        with Ledger(self.ledger) as ledger:
            known = ledger.refuse_if_unaffordable(self.charge)
        if known is None or known.document is None:
            return None
        with self._alone():
            pass  # an attempt that was killed after its model was kept has left its lock: it goes with ours
        return self._model(known.document)

    def release(self, statistics: Statistics, budget: Budget, mechanism: str, noise: str | None) -> Model:
        """Spend, then release, then keep. Of several attempts of one run only one does this at a time.

        Args:
            statistics: Exact counts. Confidential.

        Raises:
            BudgetError: Another run has spent meanwhile what this one needs.
            DataError: The account is bound to other files than these.
            BusyError: Another attempt of this run does not come to an end.
        """
        from dpnb_columnar.mechanisms.release import release
        from dpnb_columnar.model.model_document import to_document, to_json

        with self._alone(), Ledger(self.ledger) as ledger:
            bound = ledger.account(self.charge.dataset).parts
            if bound is not None and not statistics.parts <= bound:
                raise DataError(
                    f"{self.ledger}: data set {self.charge.dataset} is bound to other files than these; "
                    "name the files it was opened for, or open an account for these"
                )
            document = ledger.spend(self.charge).document
            if document is None:
                model = release(statistics, budget, mechanism, noise)
                document = ledger.keep(self.charge.run, to_json(to_document(model)))
        return self._model(document)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other attempts of this run from drawing meanwhile.

        Were two to draw at once, the one that drew faster would be kept, and how long a draw takes depends on what is
        drawn (docs/privacy.md, Lemma 8.3).

        Raises:
            BusyError: Another one has not come to an end in a minute.
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

    def _model(self, document: str) -> Model:
        from dpnb_columnar.model.model import from_document

        return from_document(json.loads(document), f"{self.ledger}: run {self.charge.run}")


def payment_for(
    ledger: Path,
    domain: Domain,
    data: Sequence[str],
    budget: Budget,
    mechanism: str,
    noise: str | None,
    account: str | None = None,
    run: str | None = None,
) -> Payment:
    """What a release costs, and who pays: public facts.

    Args:
        data: Names of the files or tables that are counted.
        account: Data set of the ledger that is charged; None for the domain's name.
        run: Run id; None for a new one.

    Raises:
        UsageError: The mechanism protects nobody, so that no budget pays for it; or as ``plan``.
    """
    from dpnb_columnar.mechanisms.release import mechanism_named, noise_named, plan

    chosen = mechanism_named(mechanism)
    if not chosen.private:
        raise UsageError(f"mechanism: {mechanism} protects nobody, so no budget pays for it; leave the ledger out")
    loss = total(plan(domain, budget, mechanism, noise))
    family = noise_named(chosen, noise) if chosen.smooth else None
    inputs = _inputs(domain, data, budget, mechanism, family)
    charge = Charge(
        domain.name if account is None else check_dataset(account),
        fresh_run() if run is None else check_run(run),
        loss,
        budget.neighbours,
        mechanism,
        family,
        inputs,
    )
    return Payment(ledger, charge)


def _inputs(domain: Domain, data: Sequence[str], budget: Budget, mechanism: str, noise: str | None) -> dict[str, Any]:
    """What must be the same when a run is begun again: names and declared facts, never anything computed from rows."""
    return {
        "data": sorted(data),
        "domain": digest(domain),
        "epsilon": number_text(budget.epsilon),
        "delta": number_text(budget.delta),
        "neighbours": str(budget.neighbours),
        "weights": None if budget.weights is None else str(budget.weights),
        "mechanism": mechanism,
        "noise": noise,
    }
