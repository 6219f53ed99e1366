"""From confidential rows to a released model: plan, pay, count, release, keep.

The one story of a release. The Python interface, the scikit-learn estimator and the command line plan a release
(``mechanisms.plan``), of tables or of the weights of a model, and ``train`` carries it out; they differ in where the
model is kept, which an ``Output`` says.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from dpnb_columnar.counting.scores import ScoreCounts
from dpnb_columnar.counting.statistics import Integers, Statistics
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.mechanisms.release import first_round, release, release_round, release_weights
from dpnb_columnar.mechanisms.score_calibration import scores_given

if TYPE_CHECKING:
    from dpnb_columnar.counting.countable import CheckedRows, Rows
    from dpnb_columnar.ledger.payment import Payment
    from dpnb_columnar.mechanisms.plan import ReleasePlan
    from dpnb_columnar.model.model import Model
    from dpnb_columnar.noise import Sampler


class Output:
    """Where a model is kept, and who is told how far its release is: here in memory, and nobody."""

    def reserved(self, run: str | None) -> AbstractContextManager[None]:
        """Keep other runs from writing to this output within the block.

        Args:
            run: Run id, if a ledger pays.
        """
        return nullcontext()

    def check(self) -> None:
        """Refuse an output that cannot be written, before any row is opened."""

    def announce(self, plan: ReleasePlan, payment: Payment | None) -> None:
        """Say what is about to be spent: nothing is left that could refuse the release before rows are read."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Show that a stage is under way within the block."""
        return nullcontext()

    def keep(self, model: Model) -> None:
        """Keep a model that this run has released."""

    def keep_again(self, model: Model, run: str) -> None:
        """Keep a model that an earlier attempt of this run has released."""


def train(
    plan: ReleasePlan,
    rows: Rows,
    payment: Payment | None = None,
    draw: Sampler | None = None,
    output: Output | None = None,
) -> Model:
    """Carry out a planned release: pay, count, release, keep.

    Args:
        plan: The release.
        rows: Rows that can be counted in the plan's domain. Confidential.
        payment: Charge to a ledger; None where nobody accounts.
        draw: Sampler of all noise; None for exact draws from the operating system's generator, the only ones that give
            a guarantee.
        output: Where the model is kept; None for memory alone.

    Returns:
        The model; where a ledger pays, the one that it keeps for the run.

    Raises:
        dpnb_columnar.errors.Error: if the ledger does not admit the release, if the rows cannot be counted in the
            domain, or if the output cannot be written.
    """
    output = output or Output()
    with output.reserved(None if payment is None else payment.charge.run):
        # Pay. The ledger is asked before any row is opened, and a run that has released a model releases no other.
        if payment is not None and (released := payment.admit()) is not None:
            output.keep_again(released, payment.charge.run)
            return released
        output.check()
        # Count. Columns are checked first: whatever is wrong is found before a row is read.
        checked = checked_rows(plan, rows)
        output.announce(plan, payment)
        with output.stage("counting"):
            counted = checked.count() if plan.given is None else checked.count_scores(scores_given(plan.given))
        # Release, which may read the rows again. The spend is durable before noise is drawn, and the ledger has the
        # model before anybody sees it.
        if payment is None:
            model = _release(plan, checked, counted, draw, output)
        else:
            with payment.spend(counted.parts) as run:
                model = run.released or run.keep(_release(plan, checked, counted, draw, output))
        # Keep.
        output.keep(model)
    return model


def checked_rows(plan: ReleasePlan, rows: Rows) -> CheckedRows:
    """Check that rows can be counted as a release plans to. Opens no row.

    Raises:
        UsageError: if the plan has further passes, and the rows can be counted only once.
        dpnb_columnar.errors.Error: if the rows do not fit the domain.
    """
    checked = rows.check(plan.domain)
    method = f"attribute weights: {plan.attribute_weights} reads the rows again once the tables are released"
    if plan.rounds and not checked.can_differentiate:
        raise UsageError(
            f"{method}, in {len(plan.rounds)} rounds; give the rows, or choose "
            + ("calibrated" if len(plan.domain.classes) == 2 else "none")
        )
    if plan.calibration is not None and plan.given is None and not checked.can_score:
        raise UsageError(f"{method}; give the rows, or release the tables first and then the weights given them")
    return checked


def _release(
    plan: ReleasePlan, rows: CheckedRows, counted: Statistics | ScoreCounts, draw: Sampler | None, output: Output
) -> Model:
    """Draw the tables; then, where it is planned, ask the rows again given these, and draw the weights.

    Raises:
        DataError: if two passes did not read the same rows.
    """
    if plan.given is not None:
        assert isinstance(counted, ScoreCounts)
        with output.stage("releasing weights"):
            return release_weights(plan.given, counted, plan, draw)
    assert isinstance(counted, Statistics)
    with output.stage("releasing"):
        model = release(counted, plan, draw)
    if plan.calibration is not None:
        with output.stage("counting scores"):
            counts = rows.count_scores(scores_given(model))
        _check_same_rows(counts.counts.sum(axis=0), counted)
        with output.stage("releasing weights"):
            model = release_weights(model, counts, plan, draw)
    if not plan.rounds:
        return model
    weights = first_round(model, plan)
    for share in plan.rounds:
        with output.stage(f"summing up {share.query}"):
            sums = rows.sum_gradients(weights.query)
        _check_same_rows(sums.rows, counted)
        with output.stage(f"releasing {share.query}"):
            weights = release_round(weights, sums, share, draw)
    return replace(model, attribute_weights=weights.weights)


def _check_same_rows(counted: Integers, statistics: Statistics) -> None:
    """Check that a further pass has read as many rows of each class as the first.

    Raises:
        DataError: if it has not.
    """
    if counted.tolist() != statistics.class_counts.tolist():
        raise DataError("the rows changed between two passes over them; start again when they are complete")
