"""What ``train`` and ``release`` have in common: from a job to a model file, paid for by a ledger if one is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.budget import Budget, Share
from dpnb_columnar.cli.console import about, check_no_input, check_target, say, stage, warn
from dpnb_columnar.cli.options import released_under
from dpnb_columnar.cli.tables import composition_table
from dpnb_columnar.counting.find_domain import FoundDomain
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import Error, OutputError, UsageError
from dpnb_columnar.mechanisms.release import plan, release
from dpnb_columnar.model.model import Model, load_model
from dpnb_columnar.model.model_files import save_model
from dpnb_columnar.noise import ExactSampler, SeededBits, SystemBits
from dpnb_columnar.runtime.locks import output_lock
from dpnb_columnar.runtime.outputs import check_output

if TYPE_CHECKING:
    from dpnb_columnar.ledger.payment import Payment


@dataclass(frozen=True, slots=True)
class Planned:
    """A release as it was asked for: public facts alone.

    Attributes:
        found: The domain, and where it comes from.
        budget, mechanism, noise: What is released.
        shares: Its composition table.
    """

    found: FoundDomain
    budget: Budget
    mechanism: str
    noise: str | None
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """What a run is to do.

    Attributes:
        planned: The release.
        files: Inputs, the ledger and the file of settings among them, which the output must not replace.
        target: The model file.
        overwrite: Replace it.
        seed: For repeatable noise, which protects nobody.
        payment: Who pays; None where nobody accounts.
    """

    planned: Planned
    files: Sequence[Path]
    target: Path
    overwrite: bool
    seed: int | None
    payment: Payment | None


def planned(found: FoundDomain, budget: Budget, mechanism: str, noise: str | None) -> Planned:
    """A release, with everything about it checked.

    Raises:
        UsageError: As ``plan``.
    """
    return Planned(found, budget, mechanism, noise, plan(found.domain, budget, mechanism, noise))


def payer(
    planned: Planned, data: Sequence[str], seed: int | None, ledger: Path | None, account: str | None, run: str | None
) -> Payment | None:
    """What pays for a release, by the options that were typed.

    Args:
        data: Names of the inputs.

    Raises:
        UsageError: Options that do not go together, or as ``payment_for``.
    """
    if ledger is None:
        if account is not None or run is not None:
            named = "--run-id" if account is None else "--account"
            raise UsageError(f"{named} is for a ledger; name its file with --ledger")
        return None
    if seed is not None:
        raise UsageError("--seed makes a model without a guarantee, which no budget pays for; leave --ledger out")
    from dpnb_columnar.ledger.payment import payment_for

    domain, budget = planned.found.domain, planned.budget
    payment = payment_for(ledger, domain, data, budget, planned.mechanism, planned.noise, account, run)
    about(run=payment.charge.run)
    return payment


def carry_out(job: Job, prepare: Callable[[], Callable[[], Statistics]]) -> None:
    """Count, release and write; only what was released before if this run has been here.

    Args:
        prepare: Checks the data without opening a row, and gives what counts it.
    """
    check_output(job.target, overwrite=True)
    check_no_input(job.target, job.files)
    with output_lock(job.target, job.payment.charge.run if job.payment else None):
        if job.payment and (kept := job.payment.admitted()):
            _write_kept(kept, job, job.payment.charge.run)
            return
        check_target(job.target, job.overwrite, job.files)
        count = prepare()
        announce(job)
        with stage("counting"):
            statistics = count()
        with stage("releasing"):
            model = _released(job, statistics)
        save_model(model, job.target, overwrite=job.overwrite)
    if not model.guarantee.private:
        warn("this model carries NO GUARANTEE; it is as confidential as the rows")
    say(f"wrote {job.target}", "written", output=str(job.target))


def rehearse(job: Job) -> None:
    """Say what a run would do, and refuse what it would be refused. Opens no row."""
    announce(job)
    composition_table(job.planned.shares, [], [() for _ in job.planned.shares])
    if job.payment and (kept := job.payment.admitted()):
        check_no_input(job.target, job.files)
        there = _is_there(kept, job, job.payment.charge.run)
        say(f"dry run: {job.target} {'is' if there else 'would be'} what this run released before; nothing is spent")
        return
    check_target(job.target, job.overwrite, job.files)
    admitted = "the ledger admits this release; " if job.payment else ""
    say(f"dry run: {admitted}no row was opened, nothing is spent, nothing is written")


def announce(job: Job) -> None:
    """Say what is about to be spent, before any row is opened."""
    spent, mechanism = job.planned.budget, job.planned.mechanism
    facts: dict[str, object] = {"mechanism": mechanism, "queries": len(job.planned.shares)}
    if mechanism == "none":
        say("mechanism none: NOT PRIVATE, nothing is protected", "budget", **facts)
    else:
        facts |= {
            "epsilon": number_text(spent.epsilon),
            "delta": number_text(spent.delta),
            "neighbours": str(spent.neighbours),
        }
        say(f"{released_under(spent, mechanism)}, {len(job.planned.shares)} queries", "budget", **facts)
    if job.payment:
        charge, ledger = job.payment.charge, job.payment.ledger
        say(
            f"run {charge.run}, charged to {charge.dataset} in {ledger}; should it be cut short, finish it with "
            f"--run-id {charge.run}",
            "charge",
            dataset=charge.dataset,
            ledger=str(ledger),
        )


def _released(job: Job, statistics: Statistics) -> Model:
    asked = job.planned
    if job.payment:
        return job.payment.release(statistics, asked.budget, asked.mechanism, asked.noise)
    draw = ExactSampler(SystemBits() if job.seed is None else SeededBits(job.seed))
    return release(statistics, asked.budget, asked.mechanism, asked.noise, draw)


def _write_kept(kept: Model, job: Job, run: str) -> None:
    """Put in place what this run has released, unless it is there.

    Raises:
        OutputError: Something else is there.
    """
    if _is_there(kept, job, run):
        say(f"{job.target} is what run {run} released; nothing is spent again", "already released")
        return
    save_model(kept, job.target, overwrite=job.overwrite)
    say(f"wrote {job.target}, as run {run} released it; nothing is spent again", "already released")


def _is_there(kept: Model, job: Job, run: str) -> bool:
    """Whether the output is what this run has released; False where it may be written.

    Raises:
        OutputError: Something else is there, and is not to be replaced.
    """
    if job.overwrite or not job.target.exists():
        return False
    try:
        same = load_model(job.target) == kept
    except Error:
        same = False
    if not same:
        raise OutputError(
            f"{job.target}: exists already, and is not what run {run} released; choose another --output, or replace it "
            "with --overwrite"
        )
    return True
