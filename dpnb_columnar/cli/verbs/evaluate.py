"""``dpnb-columnar evaluate``: how well a model does on labelled rows, exactly for the curator, or with noise."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import (
    LogFormat,
    print_confidential,
    print_line,
    print_table,
    print_text,
    print_warning,
    stage,
)
from dpnb_columnar.core.budget import Budget, Neighbours, parse_epsilon
from dpnb_columnar.domain import Domain, Weight
from dpnb_columnar.domain.domain_text import class_texts, value_with_label
from dpnb_columnar.domain.names import named, number_text
from dpnb_columnar.errors import UsageError, excerpt
from dpnb_columnar.model.query_noise import interval_text
from dpnb_columnar.options import Option, PaymentOptions
from dpnb_columnar.runtime.outputs import check_target, default_name

if TYPE_CHECKING:
    from dpnb_columnar.counting.inputs import LocalInput
    from dpnb_columnar.domain.groupings import Divisions
    from dpnb_columnar.evaluation.evaluation import ClassFigures, Evaluation
    from dpnb_columnar.ledger.records import Charge
    from dpnb_columnar.model.parameters import NaiveBayes
    from dpnb_columnar.model.query_noise import Interval


UNFAIR = "to train this model, and training rows score too well; evaluate rows that it has not seen"


def warn_of_training_rows(path: Path, model: NaiveBayes, rows: LocalInput, *, public: bool = False) -> None:
    """Say if the rows are files, or a table, that a run in the ledger counted for the model, or may have counted."""
    from dpnb_columnar.counting.countable import file_parts
    from dpnb_columnar.counting.inputs import LocalFiles
    from dpnb_columnar.ledger.accounts import Ledger
    from dpnb_columnar.ledger.records import charge_of
    from dpnb_columnar.model.document import document_digest

    digest, parts = document_digest(model), {}
    if isinstance(rows, LocalFiles):
        files = zip(rows.names, rows.files, strict=True)
        parts = {name: None if public else next(iter(file_parts([file])), None) for name, file in files}
    with Ledger(path) as ledger:
        charges = [charge_of(spend) for spend, released in ledger.releases() if released == digest]
        bound = {charge.dataset: ledger.account(charge.dataset).parts or frozenset() for charge in charges}
    warnings = [_warning(rows, parts, charge, bound[charge.dataset]) for charge in charges]
    if not charges and not public:
        warnings = [f"{path}: no run in it released this model, so it cannot tell whether these rows trained it"]
    if warning := next(filter(None, warnings), None):
        print_warning(warning, "training rows")


def _warning(rows: LocalInput, parts: Mapping[str, str | None], charge: Charge, bound: frozenset[str]) -> str | None:
    """Say that a charge counted the rows: files, by name or digest, a table, by its name, a lake table, by its id."""
    from dpnb_columnar.counting.inputs import DatabaseInput, LocalFiles

    counted = set(charge.inputs.get("data", ()))
    if isinstance(rows, LocalFiles):
        if same := parts.keys() & counted:
            return (
                f"{_names(same)}: run {charge.run} counted these rows {UNFAIR}, such as dpnb-columnar split holds out"
            )
        if copies := {name for name, digest in parts.items() if digest in bound}:
            return (
                f"{_names(copies)}: the account of {charge.dataset}, which paid for this model, is bound to these "
                "rows; if they trained it they score too well, so evaluate rows that it has not seen"
            )
        return None
    named_table = rows.names[1]
    if isinstance(rows, DatabaseInput):
        if rows.names[0] in counted and any(_is_same_table(each, named_table) for each in counted - {rows.names[0]}):
            return f"{rows.name}: run {charge.run} counted this table {UNFAIR}, such as those of another table"
    elif named_table in counted:
        snapshot = named(sorted(counted - {named_table}))
        return f"{rows.name}: run {charge.run} counted {snapshot}, a snapshot of this table, {UNFAIR}"
    return None


def _is_same_table(one: str, other: str) -> bool:
    """Test whether two names are of one table: a schema that one of them leaves out is taken for the same."""
    parts = [name.removeprefix("table ").replace('"', "").lower().split(".")[::-1] for name in (one, other)]
    return all(mine == theirs for mine, theirs in zip(*parts, strict=False))


def _names(paths: set[str]) -> str:
    """List files by their names, without their folders."""
    return named(sorted(Path(path).name for path in paths))


RELEASING = ("neighbours", "output", "seed", "account", "run_id", "dry_run", "log_format")
"""Parameters that can only be used with --epsilon."""


@dataclass(frozen=True, kw_only=True)
class ScoredRun(PaymentOptions):
    """Who paid for the model, and pays for released scores."""

    ledger: Annotated[
        str | PathLike[str] | None,
        Option(
            help="Ledger that paid for the model: says if the same files, or the same table, trained it. With "
            "--epsilon, the ledger that pays for the release; its limit is never passed.",
            type=Path,
            metavar="FILE",
        ),
    ] = None


@options.expanded
def command(
    context: typer.Context,
    model: options.ModelFile,
    data: options.DataOrDatabase,
    *,
    table: options.Table = None,
    public: Annotated[
        Path | None,
        typer.Option(
            help="Public file that the model's attribute weights were learned from: the model that it gives by itself, "
            "without noise, is evaluated on the same rows.",
            metavar="FILE",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Figures of each group of rows as well, by the declared values of a column: SEX,RACE each for itself, "
            "SEX:RACE crossed. AGE=18,65 says where the groups of a numeric attribute begin, REGION=1,2,3,4 which "
            "values a column has that the model lacks. May be given several times.",
            metavar="COLUMNS",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Print every class, however many there are.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="Release noisy counts of scores instead, for this privacy budget: figures to publish. Taken exactly "
            "as typed.",
            metavar="NUMBER",
        ),
    ] = None,
    neighbours: options.Relation = Neighbours.ADD_REMOVE,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write a page as well: figures, confusion, ROC curve, calibration, and scores by class.",
            metavar="FILE.html",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="File of the released scores, JSON.", metavar="FILE", show_default="DATA.scores.json"),
    ] = None,
    overwrite: options.Overwrite = False,
    seed: options.Seed = None,
    charged: ScoredRun,
    dry_run: options.DryRun = False,
    log_format: options.Log = LogFormat.TEXT,
) -> None:
    """Measure a model on labelled rows: CONFIDENTIAL except with --epsilon.

    Accuracy, beside that of always predicting the largest class, balanced accuracy,
    area under the ROC curve (AUC), log loss, Brier score, confusion and calibration,
    with 95% confidence intervals: exact, without noise. They are for the curator,
    not for release. The rows are those that training counts, with the attributes
    that they have. Where the model's domain declares a weight, figures by weight
    stand beside them. Rows that trained the model score too well: with --ledger,
    files that its run counted are named.

    With --epsilon no exact figure is printed or written. The rows of each class are
    counted by the model's log-odds, or, of more than two classes, by the predicted
    class; noise is added to every count, and the counts are written with accuracy,
    recall and precision, of two classes also AUC, ROC curve and calibration, in
    intervals that include the noise: a release like a model, for publication, of
    rows and not of weights. It spends budget each time.

    Of more than two classes each is ranked against the rest: the AUC is the mean
    over the classes, the Brier score the sum.

    With --by, for whom it is worse: accuracy, recall, false positives and negatives
    of each group, of two classes also by how much the mean probability is above the
    part of the rows, and how far each is from that of all rows. Groups are those
    that are declared, with or without rows, and one of rows without a declared
    value; the range of a numeric attribute is divided into eight. With --epsilon
    all groups of a column share one part of the budget.

    \b
    Examples:
      dpnb-columnar evaluate census.model.json census.parquet
      dpnb-columnar evaluate census.model.json holdout.parquet --ledger census.ledger
      dpnb-columnar evaluate census.model.json postgresql://curator@db/census --table held_out
      dpnb-columnar evaluate census.model.json census.parquet --public sample.parquet
      dpnb-columnar evaluate census.model.json holdout.parquet --html evaluation.html
      dpnb-columnar evaluate census.model.json holdout.parquet --epsilon 0.1 --ledger census.ledger
      dpnb-columnar evaluate census.model.json holdout.parquet --by SEX,RACE --by AGE=18,65
      dpnb-columnar evaluate census.model.json holdout.parquet --by SEX:RACE --epsilon 1
    """
    from dpnb_columnar.counting.inputs import local_input
    from dpnb_columnar.domain.groupings import divisions_of
    from dpnb_columnar.model.model_files import read_model

    if epsilon is None:
        _refuse_typed(context, pages=html is not None)
    elif public is not None or every:
        raise UsageError(f"{'--all' if public is None else '--public'} is for exact figures; leave it or --epsilon out")
    rows, loaded = local_input(data, table), read_model(model)
    divisions = divisions_of(by, loaded.domain)
    ledger = charged.ledger_file
    inputs = [model, *rows.files, *(file for file in (ledger, public) if file is not None)]
    if html is not None:
        from dpnb_columnar.report.figures import check_single_page

        check_single_page(html, overwrite)
        check_target(html, overwrite, inputs)
    if epsilon is None:
        if ledger is not None:
            warn_of_training_rows(ledger, loaded, rows)
        _evaluate(loaded, model.name, rows, public, html, divisions, as_json=as_json, every=every, overwrite=overwrite)
        return
    from dpnb_columnar.cli.file_output import FileOutput, payment, print_json, print_scores, rehearse, sampler
    from dpnb_columnar.counting.find_domain import ResolvedDomain
    from dpnb_columnar.releases.score_plan import plan_scores
    from dpnb_columnar.training import carry_out

    budget = Budget(parse_epsilon(epsilon), neighbours)
    planned = plan_scores(loaded, budget, seeded=seed is not None, divisions=divisions)
    target = output or default_name(data, loaded.domain.name, ".scores.json")
    paid = payment(planned, rows.names, seed, charged)
    resolved = ResolvedDomain(loaded.domain, "the model")
    scores_output = FileOutput(planned, target, overwrite, inputs, resolved, silent=as_json)
    if ledger is not None:
        warn_of_training_rows(ledger, loaded, rows, public=True)
    if dry_run:
        settled = {"--output": (target, "the data's name"), "--account": (loaded.domain.name, "the model")}
        options.print_settings(context, settled)
        rehearse(rows, paid, scores_output)
        return
    scores = carry_out(planned, rows, paid, sampler(seed), scores_output)
    if html is not None:
        from dpnb_columnar.report.evaluation_page import write_scores_page

        write_scores_page(scores, html, model.name, overwrite=overwrite)
        scores_output.say(f"wrote {html}", "written", output=str(html))
    if as_json:
        print_json(scores)
    else:
        print_scores(scores)


def _refuse_typed(context: typer.Context, *, pages: bool) -> None:
    """Refuse options that only a release, or what is written, has."""
    for name in RELEASING:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} can only be used with --epsilon, which releases scores; add that or leave it out"
            )
    if context.params["overwrite"] and not pages:
        raise UsageError(
            "--overwrite can only be used with --epsilon or --html, which write a file; add one or leave it out"
        )


def _evaluate(
    model: NaiveBayes,
    name: str,
    rows: LocalInput,
    public: Path | None,
    page: Path | None,
    divisions: Divisions | None,
    *,
    as_json: bool,
    every: bool,
    overwrite: bool,
) -> None:
    """Print exact figures, and write their page."""
    from dpnb_columnar.cli.file_output import print_groups
    from dpnb_columnar.evaluation.exact_evaluation import evaluate, open_evaluated

    if public is not None:
        from dpnb_columnar.public_sample import model_beside

        beside = model_beside(model, public)
    with stage("scoring"):
        source = open_evaluated(rows.open, model.domain if divisions is None else divisions.domain)
        evaluation = evaluate(model, source, divisions)
        alone = None if public is None else evaluate(beside, source)
    if page is not None:
        from dpnb_columnar.report.evaluation_page import write_evaluation_page

        write_evaluation_page(evaluation, model.domain, page, name, overwrite=overwrite)
    if as_json:
        compared = {} if alone is None else {"public": _document(alone)}
        print_text(json.dumps({**_document(evaluation), **compared}, indent=2))
        return
    print_confidential()
    print_evaluation(evaluation, model.domain, every=every)
    print_groups(evaluation.groups, model.domain)
    if alone is not None:
        print_line()
        print_compared(evaluation, alone)
    if page is not None:
        print_line()
        print_line(f"wrote {page}", "written", output=str(page))


def _document(evaluation: Evaluation) -> dict[str, Any]:
    """Return the figures as JSON values, without the counts that a page draws; those of groups where there are some."""
    without = {"scores"} if evaluation.groups else {"scores", "groups"}
    figures = {name: value for name, value in asdict(evaluation).items() if name not in without}
    return {"confidential": True, **figures}


MOST_LACKING = 3
"""Attributes that a line names as lacking in rows."""

NAMES = {"auc": "AUC", "brier_score": "Brier score"}
"""Figures whose names have capitals."""


def print_evaluation(evaluation: Evaluation, domain: Domain, *, every: bool) -> None:
    """Print the figures, the confusion, the classes and the calibration."""
    from dpnb_columnar.cli.file_output import print_confusion
    from dpnb_columnar.evaluation.evaluation import shown_classes

    _print_figures(evaluation, domain.class_labels)
    if (weight := domain.row_weight) is not None:
        _print_weighted(evaluation, weight)
    print_line()
    shown = shown_classes([each.rows for each in evaluation.classes], every=every)
    others, long, weighted = len(evaluation.classes) - len(shown), class_texts(domain), evaluation.weighted
    print_confusion(domain, evaluation.confusion, shown)
    if weighted is not None:
        print_line()
        print_confusion(domain, weighted.confusion, shown, ", weighted", ".0f")
    print_line()
    _print_classes([(long[code], evaluation.classes[code]) for code in shown], ranked=len(evaluation.classes) > 2)
    if weighted is not None:
        print_line()
        print_table(
            ["class, weighted", "share", "mean probability", "recall"],
            [
                [
                    long[code],
                    *map(_number, (weighted.shares[code], weighted.mean_probabilities[code], weighted.recalls[code])),
                ]
                for code in shown
            ],
        )
    if others:
        print_line(f"  and {others} classes of fewer rows; all of them with --all")
    print_line()
    by_weight = [] if weighted is None else ["weighted mean", "accuracy"]
    print_table(
        ["probability", "rows", "mean probability", "accuracy", "", *by_weight],
        [
            [
                f"{tenth.lower:.1f} to {tenth.upper:.1f}",
                tenth.rows,
                f"{tenth.mean_probability:.4f}",
                f"{tenth.accuracy:.4f}",
                interval_text(tenth.interval),
                *(() if weighted is None else map(_number, weighted.calibration[place] or (None, None))),
            ]
            for place, tenth in enumerate(evaluation.calibration)
        ],
    )


def _print_figures(evaluation: Evaluation, labels: Mapping[str, str]) -> None:
    """Print the figures over all rows, one a line, with their intervals."""
    from dpnb_columnar.evaluation.evaluation import error_text

    print_line(f"rows               {evaluation.rows}")
    if lacking := evaluation.lacking:
        most = sorted(lacking.items(), key=lambda each: -each[1])[:MOST_LACKING]
        more = (
            f", as many or fewer without {len(lacking) - len(most)} others (--json)" if len(lacking) > len(most) else ""
        )
        (name, first), *rest = most
        without = "".join(f", {rows} without {excerpt(other)}" for other, rows in rest)
        print_line(f"                   {first} of them without {excerpt(name)}{without}{more}")
    largest = excerpt(value_with_label(evaluation.majority_class, labels))
    _print_figure("accuracy", evaluation.accuracy, evaluation.intervals["accuracy"])
    print_line(f"largest class      {evaluation.majority:.4f}  (always predicting {largest})")
    gain = evaluation.intervals["gain"]
    _print_figure("difference", evaluation.gain, gain)
    if evaluation.below_majority:
        chance = "; the difference may be chance" if gain is not None and gain[1] >= 0 else ""
        print_line(f"                   worse than always predicting {largest}{chance}")
    _print_figure("balanced accuracy", evaluation.balanced_accuracy, evaluation.intervals["balanced_accuracy"])
    _print_figure("AUC", evaluation.auc, evaluation.intervals["auc"])
    if error := error_text(evaluation.auc_error):
        print_line(f"                   {error}")
    _print_figure("log loss", evaluation.log_loss, evaluation.intervals["log_loss"])
    _print_figure("Brier score", evaluation.brier_score, evaluation.intervals["brier_score"])
    _print_figure("calibration error", evaluation.calibration_error, None)
    print_line(f"Brackets hold {evaluation.level:.0%} confidence intervals.")


def _print_weighted(evaluation: Evaluation, weight: Weight) -> None:
    """Print the figures by rows and by weight, or that there are none by weight."""
    weighted = evaluation.weighted
    column = excerpt(weight.column)
    if weighted is None:
        print_line(f"not weighted: the rows have no numbers above 0 in a column {column}")
        return
    print_line(f"weight             {weighted.weight:.0f}  ({column}, at most {number_text(weight.cap)} a row)")
    print_line()
    from dpnb_columnar.evaluation.evaluation import weighted_rows

    rows = [[name, *map(_number, values)] for name, *values in weighted_rows(evaluation, weighted)]
    print_table(["figure", "by rows", "by weight"], rows)


def print_compared(released: Evaluation, alone: Evaluation) -> None:
    """Print the figures of the released model beside those of the public model alone."""
    rows = []
    for name in ("accuracy", "balanced_accuracy", "auc", "log_loss", "brier_score", "calibration_error"):
        cells = (
            f"{_number(getattr(each, name))} {interval_text(each.intervals.get(name))}".rstrip()
            for each in (released, alone)
        )
        rows.append([NAMES.get(name, name.replace("_", " ")), *cells])
    print_table(["figure", "released model", "public model alone"], rows)
    if alone.accuracy >= released.accuracy:
        print_line("the public model alone, which costs no budget, is at least as accurate on these rows")


def _print_figure(name: str, value: float | None, interval: Interval | None) -> None:
    print_line(f"{name:<18} {_number(value)}  {interval_text(interval)}".rstrip())


def _print_classes(classes: Sequence[tuple[str, ClassFigures]], *, ranked: bool) -> None:
    """Print the figures of each class against the rest; of two classes, the ranking and the Brier score are above."""
    header = ["class", "rows", "predicted", "mean probability", "recall", "", "precision"]
    if ranked:
        header += ["AUC", "", "Brier score"]
    rows = []
    for name, each in classes:
        cells: list[object] = [name, each.rows, each.predicted, f"{each.mean_probability:.4f}"]
        cells += [_number(each.recall), interval_text(each.recall_interval), _number(each.precision)]
        if ranked:
            cells += [_number(each.auc), interval_text(each.auc_interval), _number(each.brier_score)]
        rows.append(cells)
    print_table(header, rows, folded=True)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"
