"""The file that a release is written to, and the lines on the way to it; what a dry run says instead."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpnb_columnar.advice.plan_text import composition_lines
from dpnb_columnar.budget import Share
from dpnb_columnar.cli.console import add_log_fields, is_json, print_line, print_lines
from dpnb_columnar.cli.progress import stage
from dpnb_columnar.counting.countable import Rows
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import Error, OutputError, UsageError
from dpnb_columnar.noise import ExactSampler, SeededBits
from dpnb_columnar.runtime.locks import output_lock
from dpnb_columnar.runtime.output_checks import check_no_input, check_target
from dpnb_columnar.runtime.outputs import check_output
from dpnb_columnar.training import Output, PlanT, ReleasedT, Task

if TYPE_CHECKING:
    from dpnb_columnar.mechanisms.release_plan import ReleasePlan
    from dpnb_columnar.mechanisms.score_release import ScorePlan
    from dpnb_columnar.model.model import Model
    from dpnb_columnar.model.released_scores import ReleasedScores
    from dpnb_columnar.training import Payment


@dataclass(frozen=True, slots=True)
class FileOutput(Output[PlanT, ReleasedT]):
    """A file that a release is written to, and the lines on the way to it.

    Attributes:
        path: The file.
        overwrite: Whether it may be replaced.
        inputs: Files that it must not replace: the data, the ledger and the file of settings among them.
    """

    path: Path
    overwrite: bool
    inputs: Sequence[Path]

    @abstractmethod
    def read(self) -> ReleasedT:
        """Read what the file holds.

        Raises:
            dpnb_columnar.errors.Error: if it holds something else.
        """

    @abstractmethod
    def write(self, released: ReleasedT) -> None:
        """Write the file.

        Raises:
            OutputError: if the file cannot be written.
        """

    @contextmanager
    def reserved(self, run: str | None) -> Iterator[None]:
        """Hold the lock of the file.

        Raises:
            OutputError: if the file cannot be written, or is an input.
            BusyError: if another run writes it.
        """
        check_output(self.path, overwrite=True)
        check_no_input(self.path, self.inputs)
        with output_lock(self.path, run):
            yield

    def check(self) -> None:
        """Refuse a file that exists.

        Raises:
            OutputError: if the file exists and is not to be replaced, cannot be written, or is an input.
        """
        check_target(self.path, self.overwrite, self.inputs)

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Show on a terminal that a stage is under way."""
        return stage(name)

    def keep_again(self, released: ReleasedT, run: str) -> None:
        """Write what the run has released before, unless the file holds it.

        Raises:
            OutputError: if the file holds something else, or cannot be written.
        """
        if self.holds(released, run):
            self.say(f"{self.path} is what run {run} released; nothing is spent again", "already released")
            return
        self.write(released)
        self.say(f"wrote {self.path}, as run {run} released it; nothing is spent again", "already released")

    def holds(self, released: ReleasedT, run: str) -> bool:
        """Say whether the file holds this release; False where it may be written.

        Raises:
            OutputError: if the file holds something else, and is not to be replaced.
        """
        if self.overwrite or not self.path.exists():
            return False
        try:
            same = self.read() == released
        except Error:
            same = False
        if not same:
            raise OutputError(
                f"{self.path}: exists already, and is not what run {run} released; choose another --output, or replace "
                "it with --overwrite"
            )
        return True

    def say(self, line: str, event: str = "note", **fields: object) -> None:
        """Print a line on the way to the file."""
        print_line(line, event, **fields)

    def say_charge(self, payment: Payment[ReleasedT] | None) -> None:
        """Say who pays, and how a run that is cut short is finished."""
        if payment is None:
            return
        charge, ledger = payment.charge, payment.ledger
        left = {name: number_text(amount) for name, amount in asdict(payment.remaining()).items()} if is_json() else {}
        self.say(
            f"run {charge.run}, charged to {charge.dataset} in {ledger}; should it be cut short, finish it with "
            f"--run-id {charge.run}",
            "charge",
            dataset=charge.dataset,
            ledger=str(ledger),
            remaining=left,
        )


def rehearse(
    task: Task[PlanT, Any, ReleasedT],
    shares: Sequence[Share],
    rows: Rows,
    payment: Payment[ReleasedT] | None,
    output: FileOutput[PlanT, ReleasedT],
) -> None:
    """Say what a run would do, and refuse what it would be refused. Opens no row."""
    task.check(rows)
    output.announce(task.plan, None)  # whoever adds up the charges of a log must not find one here
    print_lines(composition_lines(shares))
    if payment is not None and (released := payment.admit()) is not None:
        check_no_input(output.path, output.inputs)
        there = output.holds(released, payment.charge.run)
        print_line(
            f"dry run: {output.path} {'is' if there else 'would be'} what this run released before; nothing is spent"
        )
        return
    output.check()
    admitted = "the ledger admits this release; " if payment else ""
    print_line(f"dry run: {admitted}no row was opened, nothing is spent, nothing is written")


def payment(
    plan: ReleasePlan, data: Sequence[str], seed: int | None, ledger: Path | None, account: str | None, run: str | None
) -> Payment[Model] | None:
    """Make the payment of a release, by the options that were typed.

    Args:
        plan: The release.
        data: Names of the files or tables that are counted.
        seed: Seed of repeatable noise.
        ledger: The ledger's file; None where nobody accounts.
        account: Data set of the ledger that is charged; None for the domain's name.
        run: Run id; None for a new one.

    Raises:
        UsageError: if options do not go together, or as ``payment_for``.
    """
    if not _pays(seed, ledger, account, run) or ledger is None:
        return None
    from dpnb_columnar.training import payment_for

    made = payment_for(plan, ledger, data, account, run)
    add_log_fields(run=made.charge.run)
    return made


def score_payment(
    plan: ScorePlan, data: Sequence[str], seed: int | None, ledger: Path | None, account: str | None, run: str | None
) -> Payment[ReleasedScores] | None:
    """Make the payment of a release of scores; the arguments are those of ``payment``.

    Raises:
        UsageError: if options do not go together, or as ``payment_for_scores``.
    """
    if not _pays(seed, ledger, account, run) or ledger is None:
        return None
    from dpnb_columnar.training import payment_for_scores

    made = payment_for_scores(plan, ledger, data, account, run)
    add_log_fields(run=made.charge.run)
    return made


def _pays(seed: int | None, ledger: Path | None, account: str | None, run: str | None) -> bool:
    """Say whether a ledger pays.

    Raises:
        UsageError: if options do not go together.
    """
    if ledger is None and (account is not None or run is not None):
        named = "--run-id" if account is None else "--account"
        raise UsageError(f"{named} is for a ledger; name its file with --ledger")
    if ledger is not None and seed is not None:
        raise UsageError("--seed makes a model without a guarantee, which no budget pays for; leave --ledger out")
    return ledger is not None


def sampler(seed: int | None) -> ExactSampler | None:
    """Make the sampler of repeatable noise; None, for the operating system's, where there is no seed."""
    return None if seed is None else ExactSampler(SeededBits(seed))
