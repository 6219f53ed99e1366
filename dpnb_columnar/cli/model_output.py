"""The model file that ``train`` and ``release`` write, what they say about it, and what a dry run says instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.cli import budget_options
from dpnb_columnar.cli.console import add_log_fields, print_line, print_warning, stage
from dpnb_columnar.cli.tables import awaits, print_composition, public_facts, public_line, unit_facts
from dpnb_columnar.counting.countable import Rows
from dpnb_columnar.counting.find_domain import ResolvedDomain
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import Error, OutputError, UsageError
from dpnb_columnar.mechanisms.attribute_weights import NONE, UNCALIBRATED
from dpnb_columnar.mechanisms.plan import ReleasePlan
from dpnb_columnar.model.model import Model, load_model
from dpnb_columnar.model.model_files import save_model
from dpnb_columnar.noise import ExactSampler, SeededBits
from dpnb_columnar.runtime.locks import output_lock
from dpnb_columnar.runtime.output_checks import check_no_input, check_target
from dpnb_columnar.runtime.outputs import check_output
from dpnb_columnar.training import Output, checked_rows

if TYPE_CHECKING:
    from dpnb_columnar.ledger.payment import Payment


@dataclass(frozen=True, slots=True)
class ModelOutput(Output):
    """A model file, and the lines on the way to it.

    Attributes:
        path: The model file.
        overwrite: Whether it may be replaced.
        inputs: Files that it must not replace: the data, the ledger and the file of settings among them.
        resolved: The domain, and its origin.
        delta: Delta as typed, perhaps a rule.
        rows: The n of the rule, if there is one.
    """

    path: Path
    overwrite: bool
    inputs: Sequence[Path]
    resolved: ResolvedDomain
    delta: str
    rows: budget_options.DeclaredRowCount | None

    @contextmanager
    def reserved(self, run: str | None) -> Iterator[None]:
        """Hold the lock of the model file.

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

    def announce(self, plan: ReleasePlan, payment: Payment | None) -> None:
        """Say in which domain rows are counted, what the release spends, and who pays."""
        budget_options.print_domain(self.resolved)
        budget_options.print_rule(self.delta, self.rows)
        mechanism, queries = plan.mechanism.name, len(plan.shares)
        facts: dict[str, object] = {"mechanism": mechanism, "queries": queries}
        if plan.automatic or plan.attribute_weights is not None:
            facts["attribute_weights"] = plan.attribute_weights or NONE
        if plan.mechanism.private:
            budget = plan.budget
            facts |= {
                "epsilon": number_text(budget.epsilon),
                "delta": number_text(budget.delta),
                "neighbours": str(budget.neighbours),
            }
            if plan.domain.unit is not None:
                facts["unit"] = unit_facts(plan.domain.unit)
            noun = "query" if queries == 1 else "queries"
            print_line(f"{budget_options.budget_line(plan)}, {queries} {noun}", "budget", **facts)
            if plan.uncalibrated:
                print_line(UNCALIBRATED, "uncalibrated")
        else:
            print_line(f"mechanism {mechanism}: NOT PRIVATE, nothing is protected", "budget", **facts)
        if plan.public is not None:
            print_line(public_line(plan.public), "public file", **public_facts(plan.public))
        if payment is not None:
            charge, ledger = payment.charge, payment.ledger
            print_line(
                f"run {charge.run}, charged to {charge.dataset} in {ledger}; should it be cut short, finish it with "
                f"--run-id {charge.run}",
                "charge",
                dataset=charge.dataset,
                ledger=str(ledger),
            )

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Show on a terminal that a stage is under way."""
        return stage(name)

    def keep(self, model: Model) -> None:
        """Write the model file.

        Raises:
            OutputError: if the file cannot be written.
        """
        save_model(model, self.path, overwrite=self.overwrite)
        if not model.guarantee.private:
            print_warning("this model carries NO GUARANTEE; it is as confidential as the rows")
        print_line(f"wrote {self.path}", "written", output=str(self.path))
        if model.guarantee.reserved is not None:
            print_line(awaits(model.guarantee.reserved, self.path))

    def keep_again(self, model: Model, run: str) -> None:
        """Write the model that the run has released before, unless the file holds it.

        Raises:
            OutputError: if the file holds something else, or cannot be written.
        """
        if self.holds(model, run):
            print_line(f"{self.path} is what run {run} released; nothing is spent again", "already released")
            return
        save_model(model, self.path, overwrite=self.overwrite)
        print_line(f"wrote {self.path}, as run {run} released it; nothing is spent again", "already released")

    def holds(self, model: Model, run: str) -> bool:
        """Say whether the file holds this model; False where it may be written.

        Raises:
            OutputError: if the file holds something else, and is not to be replaced.
        """
        if self.overwrite or not self.path.exists():
            return False
        try:
            same = load_model(self.path) == model
        except Error:
            same = False
        if not same:
            raise OutputError(
                f"{self.path}: exists already, and is not what run {run} released; choose another --output, or replace "
                "it with --overwrite"
            )
        return True


def rehearse(plan: ReleasePlan, rows: Rows, payment: Payment | None, output: ModelOutput) -> None:
    """Say what a run would do, and refuse what it would be refused. Opens no row."""
    checked_rows(plan, rows)
    output.announce(plan, None)  # whoever adds up the charges of a log must not find one here
    print_composition(plan.shares, [], [() for _ in plan.shares])
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
) -> Payment | None:
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
    if ledger is None:
        if account is not None or run is not None:
            named = "--run-id" if account is None else "--account"
            raise UsageError(f"{named} is for a ledger; name its file with --ledger")
        return None
    if seed is not None:
        raise UsageError("--seed makes a model without a guarantee, which no budget pays for; leave --ledger out")
    from dpnb_columnar.ledger.payment import payment_for

    made = payment_for(plan, ledger, data, account, run)
    add_log_fields(run=made.charge.run)
    return made


def sampler(seed: int | None) -> ExactSampler | None:
    """Make the sampler of repeatable noise; None, for the operating system's, where there is no seed."""
    return None if seed is None else ExactSampler(SeededBits(seed))
