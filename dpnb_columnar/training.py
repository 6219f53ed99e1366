"""From confidential rows to a release: plan, pay, ask, release, ask given that, keep.

Modules of the ledger and of scores are imported where they are used: other runs need not wait for SQLite and figures.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from dpnb_columnar.core.budget import Budget, Remaining, remaining
from dpnb_columnar.core.mechanisms.mechanism import Mechanism
from dpnb_columnar.core.noise import ExactSampler, ReportedSampler, Sampler, SeededBits, SystemBits
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import BusyError, ConfigurationError, DataError, UsageError, option
from dpnb_columnar.model.document import InvalidPartError, Part, to_document, to_json
from dpnb_columnar.model.document_reader import model_in, read_document
from dpnb_columnar.model.parameters import CALIBRATED, LEARNED, NaiveBayes
from dpnb_columnar.releases.attribute_weights import NONE
from dpnb_columnar.releases.model_plan import Pass, ReleasePlan, release
from dpnb_columnar.runtime.outputs import output_lock
from dpnb_columnar.runtime.row_progress import begin_work

if TYPE_CHECKING:
    from dpnb_columnar.core.queries.query import Answer
    from dpnb_columnar.counting.countable import CheckedRows, Rows
    from dpnb_columnar.evaluation.released_scores import ReleasedScores
    from dpnb_columnar.ledger import Charge, Ledger, Run
    from dpnb_columnar.releases.score_plan import ScorePlan

Plan: TypeAlias = "ReleasePlan | ScorePlan"
"""What is decided before rows are read: the domain, the shares, the questions, how each answer is released. Public."""

Release: TypeAlias = "NaiveBayes | ReleasedScores"
"""What was released. Public."""

Reader: TypeAlias = Callable[[object, str], Release]
"""Reads the document of a release; the second argument says where it comes from, for errors."""


def document_of(released: Release) -> dict[str, Any]:
    """Write what was released as a document of JSON's types."""
    if isinstance(released, NaiveBayes):
        return to_document(released)
    from dpnb_columnar.evaluation.released_scores import scores_document

    return scores_document(released)


class Output:
    """Where a release is kept, and who is told how far it is: here in memory, and nobody."""

    def reserved(self, run: str | None) -> AbstractContextManager[None]:
        """Keep other runs from writing to this output within the block."""
        return nullcontext()

    def check(self) -> None:
        """Refuse an output that cannot be written, before any row is opened."""

    def announce(self, plan: Plan, payment: Payment | None) -> None:
        """Say what is about to be spent: nothing is left that could refuse the release before rows are read."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Show that a stage is under way within the block."""
        return nullcontext()

    def keep(self, released: Release) -> None:
        """Keep what this run has released."""

    def keep_again(self, released: Release, run: str) -> None:
        """Keep what an earlier attempt of this run has released."""


@overload
def carry_out(
    plan: ReleasePlan,
    rows: Rows,
    payment: Payment | None = ...,
    draw: Sampler | None = ...,
    output: Output | None = ...,
) -> NaiveBayes: ...


@overload
def carry_out(
    plan: ScorePlan,
    rows: Rows,
    payment: Payment | None = ...,
    draw: Sampler | None = ...,
    output: Output | None = ...,
) -> ReleasedScores: ...


def carry_out(
    plan: Plan,
    rows: Rows,
    payment: Payment | None = None,
    draw: Sampler | None = None,
    output: Output | None = None,
) -> Release:
    """Carry out a planned release: pay, ask, release, ask given that, keep."""
    # Exact draws from the operating system's generator are the only ones that give a guarantee.
    draw = ExactSampler(SystemBits()) if draw is None else draw
    output = output or Output()
    if isinstance(plan, ReleasePlan) and plan.given is None:
        weights = NONE if plan.attribute_weights is None or plan.public is not None else plan.attribute_weights
        check_complete(plan.mechanism.name, type(plan.mechanism), plan.noise, weights, plan.budget.delta)
    with output.reserved(None if payment is None else payment.charge.run):
        # Pay. The ledger is asked before any row is opened, and a run that has released something releases no other.
        if payment is not None and (released := payment.admit()) is not None:
            output.keep_again(released, payment.charge.run)
            return released
        output.check()
        # Ask. Columns are checked first: whatever is wrong is found before a row is read.
        checked, passes = checked_rows(plan, rows), plan.passes(seeded=not draw.private)
        output.announce(plan, payment)
        first = next(passes)
        with output.stage(first.asking):
            answer = checked.answer(first.query)
        # Release, and ask given that. The spend is durable before noise is drawn, and the ledger has the result before
        # anybody sees it.
        if payment is None:
            released = _release(plan, passes, first, answer, checked, draw, output)
        else:
            with payment.spend(answer.parts) as run:
                released = run.released or run.keep(_release(plan, passes, first, answer, checked, draw, output))
        output.keep(released)
    return released


REHEARSED = {
    "label": {"column": "class", "classes": ["a", "b"]},
    "attributes": {"number": {"lower": 0, "upper": 1, "step": 1, "missing": "skip"}, "category": {"values": ["c"]}},
}
"""A domain in which a mechanism is asked for all that it releases; its numbers do not matter."""


@cache
def check_complete(name: str, mechanism: type[Mechanism], noise: str | None, weights: str, delta: Fraction) -> None:
    """Refuse a mechanism whose models no program could read again: release one of ``REHEARSED``, and read it."""
    from dpnb_columnar.core.queries.statistics import CellQuery
    from dpnb_columnar.releases.plan import plan, reserve_later_pass

    domain = read_domain("rehearsal", REHEARSED, "rehearsal")
    tables = CALIBRATED if weights == LEARNED else weights  # of which the tables are the same
    rehearsed = reserve_later_pass(plan(domain, Budget(Fraction(1), delta=delta), name, noise, tables))
    try:
        released = release(CellQuery(domain).empty(), rehearsed, ExactSampler(SeededBits(0)))
        model_in(Part(json.loads(to_json(to_document(released)))), "rehearsal")
    except (InvalidPartError, KeyError) as error:
        missing = f"a model of it needs what it does not draw, {error}" if isinstance(error, KeyError) else str(error)
        raise ConfigurationError(
            f"mechanism {name!r} is incomplete, its model cannot be read again: {missing}; mend its MechanismRecord"
        ) from None


def checked_rows(plan: Plan, rows: Rows) -> CheckedRows:
    """Check that rows can be counted as a release plans to. Opens no row."""
    checked = rows.check(plan.domain)
    if plan.asks_again is not None and not checked.repeatable:
        raise UsageError(
            f"attribute weights: {plan.asks_again} reads the rows again once the tables are released; give the "
            "rows, or release the tables first and then the weights given them"
        )
    return checked


def _release(
    plan: Plan,
    passes: Generator[Pass, Any, Any],
    asked: Pass,
    first: Answer,
    rows: CheckedRows,
    draw: Sampler,
    output: Output,
) -> Release:
    """Release the first answer, then ask what else the plan asks given what was released, until it has the whole."""
    answer = first
    while True:
        with output.stage(asked.drawing):
            released = asked.draw(answer, _reported(draw, asked.values))
        try:
            asked = passes.send(released)
        except StopIteration as end:
            if isinstance(end.value, NaiveBayes):
                return end.value
            from dpnb_columnar.evaluation.released_scores import ReleasedScores

            return ReleasedScores.of(end.value)
        with output.stage(asked.asking):
            answer = rows.answer(asked.query)
        if answer.class_counts.tolist() != first.class_counts.tolist():
            raise DataError("the rows changed between two passes over them; start again when they are complete")


def _reported(draw: Sampler, values: int) -> Sampler:
    """Report how many values are drawn, where somebody watches. Their number is public, and so is their order."""
    advance = begin_work(values, "values") if values else None
    return draw if advance is None else ReportedSampler(draw, advance)


# Payment: the spend is durable before noise is drawn, and the model before anybody sees it. Proof that a run which is
# cut short and begun again costs what it was charged once: docs/privacy.md, section 8.

PATIENCE = 60.0
"""Seconds to wait for another attempt of the same run."""


@dataclass(frozen=True, slots=True)
class ChargedRun:
    """A run whose spend is durable, so that its noise may be drawn; it has the document that it released, if any."""

    ledger: Ledger
    run: Run
    read: Reader

    @property
    def released(self) -> Release | None:
        """What an earlier attempt of the run released."""
        return None if self.run.document is None else self._read(self.run.document)

    def keep(self, released: Release) -> Release:
        """Write a release to the ledger, and return what the run has released: the first that was written."""
        return self._read(self.ledger.keep(self.run.charge.run, to_json(document_of(released))))

    def _read(self, document: str) -> Release:
        return self.read(json.loads(document), f"{self.ledger.path}: run {self.run.charge.run}")


@dataclass(frozen=True, slots=True)
class Payment:
    """The charge of one run, of public facts, the ledger that it goes to, and what reads the document of a release."""

    ledger: Path
    charge: Charge
    read: Reader
    witness: Path | None = None

    def admit(self) -> Release | None:
        """Ask the ledger whether it admits the release, before any row is opened."""
        from dpnb_columnar.ledger import Ledger

        with Ledger(self.ledger, self.witness) as ledger:
            run = ledger.refuse_if_unaffordable(self.charge)
            if run is None or run.document is None:
                return None
            ledger.note_witness()  # which a run that was killed as it kept the model has not done
        with self._alone():
            pass  # an attempt that was killed after its model was kept has left its lock: it goes with ours
        return ChargedRun(ledger, run, self.read).released

    def remaining(self) -> Remaining:
        """Return what the account has left once this run is paid, by what it has spent so far."""
        from dpnb_columnar.ledger import Ledger

        with Ledger(self.ledger) as ledger:
            account = ledger.account(self.charge.dataset)
            paid = ledger.run(self.charge.run) is not None
        return remaining(account.limit, account.spent if paid else account.spent.plus(self.charge.cost))

    @contextmanager
    def spend(self, parts: Collection[str]) -> Iterator[ChargedRun]:
        """Spend the charge, given confidential digests of the files counted; one attempt of a run enters at a time."""
        from dpnb_columnar.ledger import Ledger

        with self._alone(), Ledger(self.ledger, self.witness) as ledger:
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
            yield ChargedRun(ledger, ledger.spend(self.charge), self.read)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other attempts of this run from drawing meanwhile.

        Were two to draw at once, the one that drew faster would be kept, and how long a draw takes depends on what is
        drawn (docs/privacy.md, Lemma 8.3).
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
    plan: Plan,
    ledger: Path,
    data: Sequence[str],
    account: str | None = None,
    run: str | None = None,
    witness: Path | None = None,
) -> Payment:
    """Make the payment of a planned release: names, cost, and the inputs that a run begun again must share. Public."""
    from dpnb_columnar.domain.names import check_dataset
    from dpnb_columnar.ledger.records import Charge, check_run, fresh_run, unit_named
    from dpnb_columnar.rows.holdout import parts_of

    plan.check_payable()
    unit, inputs = plan.domain.unit, plan.inputs
    charge = Charge(
        dataset=plan.domain.name if account is None else check_dataset(account),
        run=plan.run_id or fresh_run() if run is None else check_run(run),
        cost=plan.total,
        neighbours=plan.budget.neighbours,
        mechanism=inputs["mechanism"],
        noise=inputs.get("noise"),
        inputs={"data": sorted(data), **({"parts": parts} if (parts := parts_of(map(Path, data))) else {}), **inputs},
        unit=() if unit is None else unit_named(unit.columns),
    )
    return Payment(ledger, charge, _reader_of(plan), witness)


def _reader_of(plan: Plan) -> Reader:
    """Return what reads the document of a planned release."""
    if isinstance(plan, ReleasePlan):
        return read_document
    from dpnb_columnar.evaluation.released_scores import read_scores

    return read_scores
