"""Payment of a release: the spend is durable before noise is drawn, and the model before anybody sees it.

Proof that a run which is cut short and begun again costs what it was charged once: docs/privacy.md, section 8.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from dpnb_columnar.budget import Remaining, remaining
from dpnb_columnar.domain import Domain, digest
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import BusyError, DataError, UsageError
from dpnb_columnar.ledger import Charge, Ledger, Run, check_dataset, check_run, fresh_run
from dpnb_columnar.ledger.codec import unit_named
from dpnb_columnar.ledger.kept_documents import Documents, ModelDocuments, ReleasedT, ScoreDocuments
from dpnb_columnar.model.model_document import document_digest
from dpnb_columnar.runtime.locks import output_lock

if TYPE_CHECKING:
    from dpnb_columnar.mechanisms.release_plan import ReleasePlan
    from dpnb_columnar.mechanisms.score_release import ScorePlan
    from dpnb_columnar.model.model import Model
    from dpnb_columnar.model.released_scores import ReleasedScores

PATIENCE = 60.0
"""Seconds to wait for another attempt of the same run."""


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


def payment_for(
    plan: ReleasePlan, ledger: Path, data: Sequence[str], account: str | None = None, run: str | None = None
) -> Payment[Model]:
    """Make the payment of a planned release. All of it is public.

    Args:
        plan: The release.
        ledger: The ledger's file.
        data: Names of the files or tables that are counted.
        account: Data set of the ledger that is charged; None for the domain's name.
        run: Run id; None for a new one, or for the one of the model that is given.

    Raises:
        UsageError: if the mechanism protects nobody, or the model that is given has no guarantee, so that no budget
            pays for it, or if a name cannot be one.
    """
    mechanism = plan.mechanism
    if plan.given is not None and not plan.given.guarantee.private:
        raise UsageError(
            "given: this model carries no guarantee, so no budget pays for its weights; leave the ledger out"
        )
    if not mechanism.private:
        raise UsageError(f"mechanism: {mechanism.name} protects nobody, so no budget pays for it; leave the ledger out")
    charge = Charge(
        plan.domain.name if account is None else check_dataset(account),
        _default_run(plan) if run is None else check_run(run),
        plan.total,
        plan.budget.neighbours,
        mechanism.name,
        plan.noise,
        _inputs(plan, data),
        _unit(plan.domain),
    )
    return Payment(ledger, charge, ModelDocuments())


def payment_for_scores(
    plan: ScorePlan, ledger: Path, data: Sequence[str], account: str | None = None, run: str | None = None
) -> Payment[ReleasedScores]:
    """Make the payment of a planned release of scores; the arguments are those of ``payment_for``.

    Raises:
        UsageError: if a name cannot be one.
    """
    budget = plan.budget
    (share,) = plan.shares
    charge = Charge(
        plan.domain.name if account is None else check_dataset(account),
        fresh_run() if run is None else check_run(run),
        plan.total,
        budget.neighbours,
        share.query,
        None,
        {
            "data": sorted(data),
            "domain": digest(plan.domain),
            "epsilon": number_text(budget.epsilon),
            "delta": number_text(budget.delta),
            "neighbours": str(budget.neighbours),
            "mechanism": share.query,
            "evaluated": document_digest(plan.model),
        },
        _unit(plan.domain),
    )
    return Payment(ledger, charge, ScoreDocuments())


def _default_run(plan: ReleasePlan) -> str:
    """Make a new run id; for the weights of a model the one of that model, so that they are released once."""
    return fresh_run() if plan.given is None else f"weights-of-{document_digest(plan.given)[:32]}"


def _unit(domain: Domain) -> tuple[str, ...]:
    """Name the unit of a domain; empty where it is one row."""
    return () if domain.unit is None else unit_named(domain.unit.columns)


def _inputs(plan: ReleasePlan, data: Sequence[str]) -> dict[str, Any]:
    """List what must be the same when a run is begun again: names and declared facts, nothing computed from rows."""
    budget = plan.budget
    # Left out where there are none, as programs did that knew none: this one finishes a run that one of them began.
    weights: dict[str, Any] = {} if plan.attribute_weights is None else {"attribute_weights": plan.attribute_weights}
    if plan.public is not None:
        weights["public"] = {"name": plan.public.source.name, "sha256": plan.public.source.digest}
    if plan.reserved:
        weights["reserved"] = ", ".join(share.query for share in plan.reserved)
    if plan.given is not None:
        weights["given"] = document_digest(plan.given)
    return {
        "data": sorted(data),
        "domain": digest(plan.domain),
        "epsilon": number_text(budget.epsilon),
        "delta": number_text(budget.delta),
        "neighbours": str(budget.neighbours),
        "shares": None if budget.division is None else str(budget.division),
        "mechanism": plan.mechanism.name,
        "noise": plan.noise,
        **weights,
    }
