"""The file that a release is written to, and the lines on the way to it; what a dry run says instead. Public."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING, TypeAlias

from dpnb_columnar.advice.outlook import (
    budget_line,
    composition_facts,
    composition_lines,
    hidden_ranges,
    mechanism_line,
    narrower_ranges,
    prior_line,
    public_facts,
    public_line,
    unit_facts,
)
from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import (
    add_log_fields,
    is_json,
    log_event,
    print_line,
    print_lines,
    print_table,
    print_text,
    print_warning,
    stage,
)
from dpnb_columnar.core.budget import Share
from dpnb_columnar.core.budget.costs import cost_parameters
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.counting.countable import Rows
from dpnb_columnar.domain.catalogue import CATALOGUE_NAME, domain_file
from dpnb_columnar.domain.declared_domain import Declaration, Domain, weight_document
from dpnb_columnar.domain.domain_text import SHORT, class_texts, value_with_label, weighs_by
from dpnb_columnar.domain.names import named, number_text
from dpnb_columnar.errors import Error, OutputError, UsageError, excerpt
from dpnb_columnar.model.document import to_json
from dpnb_columnar.model.guarantee_text import drawn_from, relation_text, statement
from dpnb_columnar.model.model_files import read_model, save_model
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.releases.attribute_weights import NONE, uncalibrated_line
from dpnb_columnar.releases.model_plan import ReleasePlan
from dpnb_columnar.runtime.outputs import check_no_input, check_output, check_target, output_lock
from dpnb_columnar.runtime.resources import resource
from dpnb_columnar.runtime.unfinished import exists
from dpnb_columnar.training import Output, Plan, Release, checked_rows, payment_for

if TYPE_CHECKING:
    from dpnb_columnar.advice.expected_error import WideRange
    from dpnb_columnar.counting.find_domain import ResolvedDeclaration, ResolvedDomain
    from dpnb_columnar.evaluation.evaluation import DivisionFigures, Estimate
    from dpnb_columnar.evaluation.released_scores import ReleasedScores
    from dpnb_columnar.options import PaymentOptions
    from dpnb_columnar.releases.score_plan import ScorePlan
    from dpnb_columnar.rows.input_files import DataFile
    from dpnb_columnar.training import Payment


def print_groups(divisions: Sequence[DivisionFigures], domain: Domain) -> None:
    """Print two tables of each division, and the groups for which the model is worse by the whole interval."""
    from dpnb_columnar.domain.groupings import group_text
    from dpnb_columnar.evaluation.evaluation import BY_CHANCE, figure_tables

    for division in divisions:
        names = [group_text(domain, division.columns, each.values, SHORT) for each in division.known]
        columns = named(division.columns)
        for table in figure_tables(division, class_texts(domain, SHORT)):
            print_line()
            header = [columns, "rows", *(cell for name in table.header for cell in (name, ""))]
            rows = zip(names, division.known, table.figures, strict=True)
            print_table(
                header,
                [
                    [name, group.rows, *(cell for figure in figures for cell in _group_cells(figure))]
                    for name, group, figures in rows
                ],
            )
        if division.remark:
            print_line(f"  {division.remark}")
        worse = [group_text(domain, division.columns, each.values, SHORT) for each in division.worse]
        print_line(f"Accuracy below that of all rows by the whole interval: {'; '.join(worse) or 'no group'}.")
    if divisions:
        print_line(BY_CHANCE)


def _group_cells(estimate: Estimate | None) -> tuple[str, str]:
    """Write a figure and its interval."""
    from dpnb_columnar.evaluation.evaluation import is_known

    if estimate is None or not is_known(estimate):
        return "none", ""
    return f"{estimate.value:.4f}", f"({estimate.interval[0]:.4f} to {estimate.interval[1]:.4f})"


def training_command(domain: Declaration, source: object, catalogue: Path) -> str:
    """Return the command that trains by an entry, wherever it was written."""
    named = ["--dataset", domain.name]
    if isinstance(source, Path) and catalogue.resolve() == domain_file(source).resolve():
        named = []
    elif catalogue.resolve() != Path(CATALOGUE_NAME).resolve():
        named = ["--dataset", f"{catalogue}:{domain.name}"]
    label = "" if isinstance(domain, Domain) else ' --label "..."'
    return f"dpnb-columnar train {join([str(source or 'DATA.parquet'), *named])}{label}"


def declared_in(source: object, found: ResolvedDeclaration | ResolvedDomain, dataset: str | None) -> str:
    """Say where a domain is declared, or how to write a declaration of it, for what is to be changed in it."""
    entry = found.entry
    if entry is not None and found.origin == str(entry) and entry.catalogue != resource(CATALOGUE_NAME):
        return f"in {CATALOGUE_NAME if entry.catalogue == Path.cwd() / CATALOGUE_NAME else entry.catalogue}"
    if not isinstance(source, Path):
        return f"in an entry of {CATALOGUE_NAME}"
    target = domain_file(source)
    if dataset is None:
        return f"in {target}, which is written by: dpnb-columnar domain edit {quote(str(source))}"
    show = join(["domain", "show", str(source), "--dataset", dataset, "--toml"])
    return f"in {target}, which is written by: dpnb-columnar {show} > {quote(str(target))}"


def print_wide_ranges(wide: Sequence[WideRange], circumstances: str, source: Path) -> None:
    """Print the attributes that a release would say nothing about, and what mends it; nothing for none."""
    if not wide:
        return
    command = f"dpnb-columnar domain edit {quote(str(source))}"
    change = f"declare {narrower_ranges(wide)} in {domain_file(source)}, which is written by: {command}"
    names = [one.attribute.name for one in wide]
    print_line(f"{hidden_ranges(wide, circumstances)}: {change}", "wide ranges", attributes=names, command=command)


def awaits(share: Share, path: Path) -> str:
    """Say what a model that left a share of its budget needs next, in one line."""
    costs = ", ".join(f"{name} {number_text(number)}" for name, number in cost_parameters(share.cost).items())
    return (
        f"its attribute weights wait for one more pass ({share.query}), which costs {costs}: count the rows with "
        f"dpnb-columnar aggregate DATA --given {path}, or sql statistics --given {path}, and release the result with "
        f"--given {path}"
    )


@dataclass(frozen=True, slots=True)
class FileOutput(Output):
    """A file that a release is written to, which is none of its inputs, and lines on the way, unless ``silent``."""

    plan: Plan
    path: Path
    overwrite: bool
    inputs: Sequence[DataFile]
    resolved: ResolvedDomain
    rule: str | None = None
    silent: bool = False
    rows: int | None = None

    @contextmanager
    def reserved(self, run: str | None) -> Iterator[None]:
        """Hold the lock of the file."""
        check_output(self.path, overwrite=True)
        check_no_input(self.path, self.inputs)
        with output_lock(self.path, run):
            yield

    def check(self) -> None:
        """Refuse a file that exists."""
        check_target(self.path, self.overwrite, self.inputs)

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Show on a terminal that a stage is under way."""
        return stage(name)

    def keep_again(self, released: Release, run: str) -> None:
        """Write what the run has released before, unless the file holds it."""
        if self.holds(released, run):
            self.say(f"{self.path} is what run {run} released; nothing is spent again", "already released")
            return
        self._write(released)
        self.say(f"wrote {self.path}, as run {run} released it; nothing is spent again", "already released")

    def holds(self, released: Release, run: str) -> bool:
        """Say whether the file holds this release; False where it may be written."""
        if self.overwrite or not exists(self.path):
            return False
        try:
            same = _read_as(released, self.path) == released
        except Error:
            same = False
        if not same:
            raise OutputError(
                f"{self.path}: exists already, and is not what run {run} released; choose another --output, or replace "
                "it with --overwrite"
            )
        return True

    def _write(self, released: Release) -> None:
        if isinstance(released, NaiveBayes):
            save_model(released, self.path, overwrite=self.overwrite)
        else:
            released.save(self.path, overwrite=self.overwrite)

    def say(self, line: str, event: str = "note", **fields: object) -> None:
        """Print a line on the way to the file, unless the release itself is printed."""
        if not self.silent:
            print_line(line, event, **fields)

    def announce(self, plan: Plan, payment: Payment | None) -> None:
        """Say in which domain rows are counted, what the release spends, and who pays."""
        if not self.silent:
            options.print_domain(self.resolved)
        if self.rule is not None:
            self.say(self.rule)
        lines = _model_lines(plan, self.rows) if isinstance(plan, ReleasePlan) else _score_lines(plan)
        for line, event, fields in lines:
            self.say(line, event, **fields)
        self.say_charge(payment)

    def keep(self, released: Release) -> None:
        """Write the file."""
        self._write(released)
        if not released.guarantee.private:
            scores = not isinstance(released, NaiveBayes)
            print_warning(
                f"{'these scores carry' if scores else 'this model carries'} NO GUARANTEE; "
                f"{'they are' if scores else 'it is'} as confidential as the rows"
            )
        self.say(f"wrote {self.path}", "written", output=str(self.path))
        if released.guarantee.reserved is not None:
            self.say(awaits(released.guarantee.reserved, self.path))

    def say_charge(self, payment: Payment | None) -> None:
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


def _read_as(released: Release, path: Path) -> Release:
    """Read a file of the kind of what was released."""
    if isinstance(released, NaiveBayes):
        return read_model(path)
    from dpnb_columnar.evaluation.released_scores import load_scores

    return load_scores(path)


Line: TypeAlias = tuple[str, str, dict[str, object]]
"""A line, and the event that is logged in its place with its fields."""


def _model_lines(plan: ReleasePlan, rows: int | None) -> Iterator[Line]:
    """Say what the release of a model spends, and where a model is expected to be worse than none."""
    mechanism, queries = plan.mechanism.name, len(plan.shares)
    facts: dict[str, object] = {"mechanism": mechanism, "queries": queries}
    if plan.mechanism_reason is not None:
        facts["mechanism_reason"] = plan.mechanism_reason
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
        if plan.domain.weight is not None:
            facts["weight"] = weight_document(plan.domain.weight)
        facts["composition"] = composition_facts(plan.shares)
        yield f"{budget_line(plan)}, {queries} {'query' if queries == 1 else 'queries'}", "budget", facts
        if plan.mechanism_reason is not None:
            yield mechanism_line(plan), "note", {}
        if plan.domain.weight is not None:
            yield prior_line(plan.domain), "note", {}
        if plan.uncalibrated:
            yield uncalibrated_line(), "uncalibrated", {}
    else:
        yield f"mechanism {mechanism}: NOT PRIVATE, nothing is protected", "budget", facts
    if plan.public is not None:
        yield public_line(plan.public), "public file", public_facts(plan.public)
    if rows is not None and plan.calibration is None and plan.given is None:
        from dpnb_columnar.advice.outlook import below_line
        from dpnb_columnar.advice.rehearsal import expected_below  # loads numpy and scipy

        if (below := expected_below(plan, rows)) is not None:
            yield below_line(below), "expected below the largest class", {}


def _score_lines(plan: ScorePlan) -> Iterator[Line]:
    """Say what the release of scores spends."""
    from dpnb_columnar.releases.score_plan import SCORES

    epsilon, relation, unit = number_text(plan.budget.epsilon), plan.budget.neighbours, plan.domain.unit
    facts: dict[str, object] = {"mechanism": SCORES, "queries": len(plan.shares)}
    facts |= {"epsilon": epsilon, "delta": "0", "neighbours": str(relation)}
    facts["composition"] = composition_facts(plan.shares)
    if unit is not None:
        facts["unit"] = unit_facts(unit)
    of = f"{relation} neighbours" if unit is None else f"for {relation_text(relation, unit)}"
    groups = "" if plan.divisions is None else f", and {len(plan.shares) - 1} queries of groups"
    yield f"epsilon {epsilon} ({of}), {SCORES} in {plan.shares[0].values} cells{groups}", "budget", facts
    if plan.domain.weight is not None:
        weight = named([plan.domain.weight.column])
        yield f"released scores are of rows: the weight {weight} does not enter them", "note", {}


def rehearse(rows: Rows, payment: Payment | None, output: FileOutput) -> None:
    """Say what a run would do, and refuse what it would be refused. Opens no row."""
    checked_rows(output.plan, rows)
    output.announce(output.plan, None)  # whoever adds up the charges of a log must not find one here
    print_lines(composition_lines(output.plan.shares))
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


def payment(plan: Plan, data: Sequence[str], seed: int | None, charged: PaymentOptions) -> Payment | None:
    """Make the payment of a release, by the options that were typed."""
    if charged.ledger_file is None:
        named = {"--account": charged.account, "--run-id": charged.run_id, "--witness": charged.witness}
        for name in (name for name, value in named.items() if value is not None):
            raise UsageError(f"{name} is for a ledger; name its file with --ledger")
        return None
    if seed is not None:
        raise UsageError("--seed makes a model without a guarantee, which no budget pays for; leave --ledger out")

    made = payment_for(plan, charged.ledger_file, data, charged.account, charged.run_id, charged.witness_file)
    add_log_fields(run=made.charge.run)
    return made


def sampler(seed: int | None) -> ExactSampler | None:
    """Make the sampler of repeatable noise; None, for the operating system's, where there is no seed."""
    return None if seed is None else ExactSampler(SeededBits(seed))


def print_json(scores: ReleasedScores) -> None:
    """Print the document of released scores."""
    from dpnb_columnar.evaluation.released_scores import scores_document

    print_text(to_json(scores_document(scores)).rstrip())


def print_scores(scores: ReleasedScores) -> None:
    """Print the figures of released scores; as one event where events are printed."""
    from dpnb_columnar.evaluation.evaluation import shown_classes
    from dpnb_columnar.evaluation.released_scores import UNRANKED, figures_document

    figures = scores.figures
    if is_json():
        log_event("scores", statement(scores.guarantee), figures=figures_document(scores))
        return
    print_line()
    print_line(statement(scores.guarantee))
    print_line()
    low, high = figures.rows_interval
    weighted = "" if (weight := scores.domain.weight) is None else f"; {weighs_by(weight)}"
    print_line(f"{'weight' if weighted else 'rows':<18} {figures.rows}  ({low:.0f} to {high:.0f}{weighted})")
    _print_figure("accuracy", figures.accuracy)
    domain, names = scores.domain, class_texts(scores.domain)
    largest = excerpt(value_with_label(figures.majority_class, domain.class_labels))
    _print_figure("largest class", figures.majority, f"always predicting {largest}")
    _print_figure("difference", figures.gain)
    _print_figure("balanced accuracy", figures.balanced_accuracy)
    if figures.auc is not None:
        _print_figure("AUC", figures.auc)
    print_line(f"Brackets hold {figures.level:.0%} confidence intervals, noise and sampling of rows included.")
    if domain.unit is not None:
        print_line(f"They are for {drawn_from(domain)}.")
    if figures.auc is None:
        print_line(UNRANKED)
    print_line()
    shown = shown_classes([sum(row) for row in figures.confusion], every=False)
    others = len(names) - len(shown)
    print_confusion(domain, figures.confusion, shown)
    print_line()
    rows = [[names[code], *_cells(figures.recall[code]), *_cells(figures.precision[code])] for code in shown]
    print_table(["class", "recall", "", "precision", ""], rows)
    if others:
        print_line(f"  and {others} classes of fewer rows; all of them in the file")
    if figures.calibration:
        print_line()
        print_table(
            [f"probability of {domain.classes[1]}", "rows", f"part that is {domain.classes[1]}", ""],
            [
                [f"{band.lower:.4f} to {band.upper:.4f}", band.rows, *_cells(band.share)]
                for band in reversed(figures.calibration)
            ],
        )
    print_groups(figures.groups, domain)


def print_confusion(
    domain: Domain, confusion: Sequence[Sequence[float]], shown: Sequence[int], of: str = "", form: str = ""
) -> None:
    """Print rows, or weights, by true and predicted class, those of classes that are not shown together."""
    from dpnb_columnar.evaluation.evaluation import fold_classes

    long, short, others = class_texts(domain), class_texts(domain, SHORT), len(confusion) - len(shown)
    rest = [f"{others} others"] if others else []
    rows = zip([*(long[code] for code in shown), *rest], fold_classes(confusion, shown), strict=True)
    print_table(
        [f"true \\ predicted{of}", *(short[code] for code in shown), *rest],
        [[name, *(format(cell, form) if form else cell for cell in row)] for name, row in rows],
        folded=True,
    )


def _print_figure(name: str, estimate: Estimate, remark: str = "") -> None:
    value, ends = _cells(estimate)
    print_line(f"{name:<18} {value}  {ends}" + (f"  {remark}" if remark else ""))


def _cells(estimate: Estimate) -> tuple[str, str]:
    """Write a figure and its interval."""
    value = "none  " if estimate.value is None else f"{estimate.value:.4f}"
    return value, f"({estimate.interval[0]:.4f} to {estimate.interval[1]:.4f})"
