"""From confidential rows to a release: plan, pay, count, release, keep.

The one story of a release. The Python interface, the scikit-learn estimator and the command line plan a release: of
tables or of the weights of a model (``mechanisms.release_plan``), or of the scores that it gives
(``mechanisms.score_release``). ``carry_out`` carries it out; they differ in where the result is kept, which an
``Output`` says.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from dpnb_columnar.counting.further_passes import count_given
from dpnb_columnar.counting.statistics import Integers, Statistics
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.mechanisms.further_releases import query_given
from dpnb_columnar.mechanisms.model_release import first_round, release, release_given, release_round, release_weights
from dpnb_columnar.mechanisms.score_calibration import scores_given
from dpnb_columnar.mechanisms.score_release import ScorePlan, release_scores
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.released_scores import ReleasedScores
from dpnb_columnar.noise import ExactSampler, ReportedSampler, SystemBits
from dpnb_columnar.runtime.row_progress import begin_work

if TYPE_CHECKING:
    from dpnb_columnar.counting.countable import CheckedRows, Rows
    from dpnb_columnar.counting.gradients import FurtherStatistics
    from dpnb_columnar.counting.scores import ScoreCounts
    from dpnb_columnar.ledger.payment import Payment
    from dpnb_columnar.mechanisms.release_plan import ReleasePlan
    from dpnb_columnar.model.parameters import NaiveBayes
    from dpnb_columnar.noise import Sampler

PlanT = TypeVar("PlanT")
ReleasedT = TypeVar("ReleasedT")
CountsT = TypeVar("CountsT", bound="Statistics | FurtherStatistics")


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

    def count(self, rows: CheckedRows) -> Statistics | FurtherStatistics:
        """Count every cell of the domain, or what a model waits for."""
        return rows.count() if self.plan.given is None else count_given(rows, query_given(self.plan.given))

    def release(
        self,
        rows: CheckedRows,
        counted: Statistics | FurtherStatistics,
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
        return rows.count_scores(self.plan.scores)

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
    if plan.given is None and (plan.calibration or plan.rounds) and not checked.can_score:
        raise UsageError(
            f"attribute weights: {plan.attribute_weights} reads the rows again once the tables are released; give the "
            "rows, or release the tables first and then the weights given them"
        )
    return checked


def _release(
    plan: ReleasePlan,
    rows: CheckedRows,
    counted: Statistics | FurtherStatistics,
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
            counts = rows.count_scores(scores_given(model))
        _check_same_rows(counts.counts.sum(axis=0), counted)
        with output.stage("releasing weights"):
            model = release_weights(model, counts, plan, draw)
    if not plan.rounds:
        return Model.of(model)
    weights = first_round(model, plan)
    for share in plan.rounds:
        with output.stage(f"summing up {share.query}"):
            sums = rows.sum_gradients(weights.query)
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
