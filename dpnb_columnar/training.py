"""From confidential rows to a release: plan, pay, count, release, keep.

The one story of a release. The Python interface, the scikit-learn estimator and the command line plan a release: of
tables or of the weights of a model (``mechanisms.release_plan``), or of the scores that it gives
(``mechanisms.score_release``). ``carry_out`` carries it out; they differ in where the result is kept, which an
``Output`` says.

The ledger's modules are imported where a ledger pays: SQLite is nothing that other runs should wait for.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from dpnb_columnar.budget import Remaining, remaining
from dpnb_columnar.counting.statistics import CellQuery, Integers, Statistics
from dpnb_columnar.domain import Domain, digest
from dpnb_columnar.domain.declaration import weight_document
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import BusyError, DataError, UsageError, option
from dpnb_columnar.mechanisms.model_release import (
    first_round,
    query_given,
    release,
    release_given,
    release_round,
    release_weights,
)
from dpnb_columnar.mechanisms.score_calibration import scores_given
from dpnb_columnar.mechanisms.score_release import ScorePlan, release_scores
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.model_document import document_digest
from dpnb_columnar.model.released_scores import ReleasedScores
from dpnb_columnar.noise import ExactSampler, ReportedSampler, SystemBits
from dpnb_columnar.runtime.locks import output_lock
from dpnb_columnar.runtime.row_progress import begin_work

if TYPE_CHECKING:
    from dpnb_columnar.counting.countable import CheckedRows, Rows
    from dpnb_columnar.counting.scores import LaterAnswer, ScoreCounts
    from dpnb_columnar.ledger import Charge, Ledger, Run
    from dpnb_columnar.mechanisms.release_plan import ReleasePlan
    from dpnb_columnar.model.parameters import NaiveBayes
    from dpnb_columnar.noise import Sampler

PlanT = TypeVar("PlanT")
ReleasedT = TypeVar("ReleasedT")
CountsT = TypeVar("CountsT", bound="Statistics | LaterAnswer")


class Output(Generic[PlanT, ReleasedT]):
    """Where a release is kept, and who is told how far it is: here in memory, and nobody."""

    def reserved(self, run: str | None) -> AbstractContextManager[None]:
        """Keep other runs from writing to this output within the block.

        Args:
            run: Run id, if a ledger pays.
        """
        return nullcontext()

    def check(self) -> None:
        """Refuse an output that cannot be written, before any row is opened."""

    def announce(self, plan: PlanT, payment: Payment[ReleasedT] | None) -> None:
        """Say what is about to be spent: nothing is left that could refuse the release before rows are read."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Show that a stage is under way within the block."""
        return nullcontext()

    def keep(self, released: ReleasedT) -> None:
        """Keep what this run has released."""

    def keep_again(self, released: ReleasedT, run: str) -> None:
        """Keep what an earlier attempt of this run has released."""


class Task(Protocol[PlanT, CountsT, ReleasedT]):
    """A planned release: how rows are checked and counted for it, and what is drawn of the counts."""

    @property
    def plan(self) -> PlanT:
        """What is decided before rows are read."""

    def check(self, rows: Rows) -> CheckedRows:
        """Check that rows can be counted as planned. Opens no row."""

    def count(self, rows: CheckedRows) -> CountsT:
        """Count the rows. Confidential."""

    def release(
        self, rows: CheckedRows, counted: CountsT, draw: Sampler | None, output: Output[PlanT, ReleasedT]
    ) -> ReleasedT:
        """Draw what is released, perhaps asking the rows again."""


@dataclass(frozen=True, slots=True)
class TrainingTask:
    """The release of a model, or of the weights of one."""

    plan: ReleasePlan

    def check(self, rows: Rows) -> CheckedRows:
        """Check the rows; see ``checked_rows``."""
        return checked_rows(self.plan, rows)

    def count(self, rows: CheckedRows) -> Statistics | LaterAnswer:
        """Count every cell of the domain, or what a model waits for."""
        if self.plan.given is None:
            return rows.answer(CellQuery(self.plan.domain))
        return rows.answer(query_given(self.plan.given))

    def release(
        self,
        rows: CheckedRows,
        counted: Statistics | LaterAnswer,
        draw: Sampler | None,
        output: Output[ReleasePlan, Model],
    ) -> Model:
        """Draw a model."""
        return _release(self.plan, rows, counted, draw, output)


@dataclass(frozen=True, slots=True)
class ScoringTask:
    """The release of the scores that a model gives to labelled rows."""

    plan: ScorePlan

    def check(self, rows: Rows) -> CheckedRows:
        """Check the rows in the model's domain."""
        return rows.check(self.plan.domain)

    def count(self, rows: CheckedRows) -> ScoreCounts:
        """Count the scores."""
        return rows.answer(self.plan.scores)

    def release(
        self,
        rows: CheckedRows,
        counted: ScoreCounts,
        draw: Sampler | None,
        output: Output[ScorePlan, ReleasedScores],
    ) -> ReleasedScores:
        """Draw the counts."""
        with output.stage("releasing"):
            return ReleasedScores.of(release_scores(self.plan, counted, draw))


def train(
    plan: ReleasePlan,
    rows: Rows,
    payment: Payment[Model] | None = None,
    draw: Sampler | None = None,
    output: Output[ReleasePlan, Model] | None = None,
) -> Model:
    """Carry out the planned release of a model; see ``carry_out``."""
    return carry_out(TrainingTask(plan), rows, payment, draw, output)


def carry_out(
    task: Task[PlanT, CountsT, ReleasedT],
    rows: Rows,
    payment: Payment[ReleasedT] | None = None,
    draw: Sampler | None = None,
    output: Output[PlanT, ReleasedT] | None = None,
) -> ReleasedT:
    """Carry out a planned release: pay, count, release, keep.

    Args:
        task: The release.
        rows: Rows that can be counted in the plan's domain. Confidential.
        payment: Charge to a ledger; None where nobody accounts.
        draw: Sampler of all noise; None for exact draws from the operating system's generator, the only ones that give
            a guarantee.
        output: Where the result is kept; None for memory alone.

    Returns:
        What is released; where a ledger pays, what it keeps for the run.

    Raises:
        dpnb_columnar.errors.Error: if the ledger does not admit the release, if the rows cannot be counted in the
            domain, or if the output cannot be written.
    """
    output = output or Output()
    with output.reserved(None if payment is None else payment.charge.run):
        # Pay. The ledger is asked before any row is opened, and a run that has released something releases no other.
        if payment is not None and (released := payment.admit()) is not None:
            output.keep_again(released, payment.charge.run)
            return released
        output.check()
        # Count. Columns are checked first: whatever is wrong is found before a row is read.
        checked = task.check(rows)
        output.announce(task.plan, payment)
        with output.stage("counting"):
            counted = task.count(checked)
        # Release, which may read the rows again. The spend is durable before noise is drawn, and the ledger has the
        # result before anybody sees it.
        if payment is None:
            drawn = task.release(checked, counted, draw, output)
        else:
            with payment.spend(counted.parts) as run:
                drawn = run.released or run.keep(task.release(checked, counted, draw, output))
        # Keep.
        output.keep(drawn)
    return drawn


def checked_rows(plan: ReleasePlan, rows: Rows) -> CheckedRows:
    """Check that rows can be counted as a release plans to. Opens no row.

    Raises:
        UsageError: if the plan has further passes, and the rows can be counted only once.
        dpnb_columnar.errors.Error: if the rows do not fit the domain.
    """
    checked = rows.check(plan.domain)
    if plan.given is None and (plan.calibration or plan.rounds) and not checked.repeatable:
        raise UsageError(
            f"attribute weights: {plan.attribute_weights} reads the rows again once the tables are released; give the "
            "rows, or release the tables first and then the weights given them"
        )
    return checked


def _release(
    plan: ReleasePlan,
    rows: CheckedRows,
    counted: Statistics | LaterAnswer,
    draw: Sampler | None,
    output: Output[ReleasePlan, Model],
) -> Model:
    """Draw the tables; then, where it is planned, ask the rows again given these, and draw the weights.

    Raises:
        DataError: if two passes did not read the same rows.
    """
    if not isinstance(counted, Statistics):
        with output.stage("releasing weights"):
            return Model.of(release_given(plan, counted, draw))
    with output.stage("releasing"):
        model: NaiveBayes = release(counted, plan, _reported(plan, draw))
    if plan.calibration is not None:
        with output.stage("counting scores"):
            counts = rows.answer(scores_given(model))
        _check_same_rows(counts.counts.sum(axis=0), counted)
        with output.stage("releasing weights"):
            model = release_weights(model, counts, plan, draw)
    if not plan.rounds:
        return Model.of(model)
    weights = first_round(model, plan)
    for share in plan.rounds:
        with output.stage(f"summing up {share.query}"):
            sums = rows.answer(weights.query)
        _check_same_rows(sums.rows, counted)
        with output.stage(f"releasing {share.query}"):
            weights = release_round(weights, sums, share, draw)
    return Model.of(replace(model, attribute_weights=weights.weights))


def _reported(plan: ReleasePlan, draw: Sampler | None) -> Sampler | None:
    """Report how many of the values that a plan names are drawn, where somebody watches.

    Their number is public, and so is their order. Bins that are placed by released numbers may be fewer than planned.
    """
    further = {plan.calibration, *plan.rounds}
    values = sum(share.values for share in plan.shares if share not in further)
    advance = begin_work(values, "values") if values else None
    return draw if advance is None else ReportedSampler(draw or ExactSampler(SystemBits()), advance)


def _check_same_rows(counted: Integers, statistics: Statistics) -> None:
    """Check that a further pass has read as many rows of each class as the first.

    Raises:
        DataError: if it has not.
    """
    if counted.tolist() != statistics.class_counts.tolist():
        raise DataError("the rows changed between two passes over them; start again when they are complete")


# Payment: the spend is durable before noise is drawn, and the model before anybody sees it. Proof that a run which is
# cut short and begun again costs what it was charged once: docs/privacy.md, section 8.

PATIENCE = 60.0
"""Seconds to wait for another attempt of the same run."""


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
        from dpnb_columnar.ledger import Ledger

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
        from dpnb_columnar.ledger import Ledger

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
        from dpnb_columnar.ledger import Ledger

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
                        f"these files, whatever it is called; charge that one: {option('account', other.dataset)}"
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


# Charges: names, cost, and the inputs that a run begun again must share.


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
    from dpnb_columnar.ledger import Charge, check_dataset, check_run

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
    from dpnb_columnar.ledger import Charge, check_dataset, check_run, fresh_run

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
    from dpnb_columnar.ledger import fresh_run

    return fresh_run() if plan.given is None else f"weights-of-{document_digest(plan.given)[:32]}"


def _unit(domain: Domain) -> tuple[str, ...]:
    """Name the unit of a domain; empty where it is one row."""
    from dpnb_columnar.ledger.records import unit_named

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
    if plan.domain.weight is not None:
        weights["weight"] = weight_document(plan.domain.weight)
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
