"""``dpnb-columnar evaluate``: how well a model does on labelled rows, for the curator, or with noise for everybody."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpnb_columnar.budget import Budget, Neighbours, parse_epsilon
from dpnb_columnar.cli import batch, options
from dpnb_columnar.cli.console import CONFIDENTIAL, LogFormat, print_line, print_warning
from dpnb_columnar.cli.progress import stage
from dpnb_columnar.cli.training_rows import warn_of_training_rows
from dpnb_columnar.errors import UsageError
from dpnb_columnar.runtime.output_checks import check_target, default_name

if TYPE_CHECKING:
    from dpnb_columnar.counting.inputs import LocalInput
    from dpnb_columnar.model.evaluation import Evaluation
    from dpnb_columnar.model.model import Model

RELEASING = {
    **{"neighbours": "--neighbours", "output": "--output", "seed": "--seed"},
    **{"account": "--account", "run_id": "--run-id", "dry_run": "--dry-run"},
    "log_format": "--log-format",
}
"""Parameters that can only be used with --epsilon."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page to write: its file, the name of the model's, and whether an existing page is replaced."""

    path: Path
    model: str
    overwrite: bool


def command(
    context: typer.Context,
    model: options.ModelFile,
    data: options.DataOrDatabase,
    table: options.Table = None,
    public: Annotated[
        Path | None,
        typer.Option(
            help="Public file that the model's attribute weights were learned from: the model that it gives by itself, "
            "without noise, is evaluated on the same rows.",
            metavar="FILE",
            show_default=False,
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
            show_default=False,
        ),
    ] = None,
    neighbours: options.Relation = Neighbours.ADD_REMOVE,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write a page as well: figures, confusion, ROC curve, calibration, and scores by class.",
            metavar="FILE.html",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="File of the released scores, JSON.", metavar="FILE", show_default="DATA.scores.json"),
    ] = None,
    overwrite: options.Overwrite = False,
    seed: options.Seed = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Ledger that paid for the model: says if the same files, or the same table, trained it. With "
            "--epsilon, the ledger that pays for the release; its limit is never passed.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    account: batch.Account = None,
    run_id: batch.RunId = None,
    dry_run: batch.DryRun = False,
    log_format: batch.Log = LogFormat.TEXT,
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

    \b
    Examples:
      dpnb-columnar evaluate census.model.json census.parquet
      dpnb-columnar evaluate census.model.json holdout.parquet --ledger census.ledger
      dpnb-columnar evaluate census.model.json postgresql://curator@db/census --table held_out
      dpnb-columnar evaluate census.model.json census.parquet --public sample.parquet
      dpnb-columnar evaluate census.model.json holdout.parquet --html evaluation.html
      dpnb-columnar evaluate census.model.json holdout.parquet --epsilon 0.1 --ledger census.ledger
    """
    from dpnb_columnar.counting.inputs import local_input
    from dpnb_columnar.model.model import load_model

    if epsilon is None:
        _refuse_typed(context, pages=html is not None)
    elif public is not None or every:
        raise UsageError(f"{'--all' if public is None else '--public'} is for exact figures; leave it or --epsilon out")
    rows, loaded = local_input(data, table), load_model(model)
    inputs = [model, *rows.files, *(file for file in (ledger, public) if file is not None)]
    if html is not None:
        from dpnb_columnar.report.page import check_single_page

        check_single_page(html, overwrite)
        check_target(html, overwrite, inputs)
    page = None if html is None else Page(html, model.name, overwrite)
    if epsilon is None:
        if ledger is not None:
            warn_of_training_rows(ledger, loaded, rows)
        _evaluate(loaded, rows, public, page, as_json=as_json, every=every)
        return
    from dpnb_columnar.cli.file_output import rehearse, sampler, score_payment
    from dpnb_columnar.cli.score_output import ScoreOutput, print_json, print_scores
    from dpnb_columnar.mechanisms.score_release import plan_scores
    from dpnb_columnar.training import ScoringTask, carry_out

    planned = plan_scores(loaded, Budget(parse_epsilon(epsilon), neighbours), seeded=seed is not None)
    target = output or default_name(data, loaded.domain.name, ".scores.json")
    paid = score_payment(planned, rows.names, seed, ledger, account, run_id)
    scores_output = ScoreOutput(target, overwrite, inputs, as_json)
    task = ScoringTask(planned)
    if ledger is not None:
        warn_of_training_rows(ledger, loaded, rows, public=True)
    if dry_run:
        settled = {"--output": (target, "the data's name"), "--account": (loaded.domain.name, "the model")}
        batch.print_settings(context, settled)
        rehearse(task, planned.shares, rows, paid, scores_output)
        return
    scores = carry_out(task, rows, paid, sampler(seed), scores_output)
    if page is not None:
        from dpnb_columnar.report.evaluation_page import write_scores_page

        write_scores_page(scores, page.path, page.model, overwrite=page.overwrite)
        scores_output.say(f"wrote {page.path}", "written", output=str(page.path))
    if as_json:
        print_json(scores)
    else:
        print_scores(scores)


def _refuse_typed(context: typer.Context, *, pages: bool) -> None:
    """Refuse options that only a release, or what is written, has.

    Args:
        context: What was typed.
        pages: Whether a page is written.

    Raises:
        UsageError: if one is typed.
    """
    for name, option in RELEASING.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(
                f"{option} can only be used with --epsilon, which releases scores; add that or leave it out"
            )
    if context.params["overwrite"] and not pages:
        raise UsageError(
            "--overwrite can only be used with --epsilon or --html, which write a file; add one or leave it out"
        )


def _evaluate(
    model: Model, rows: LocalInput, public: Path | None, page: Page | None, *, as_json: bool, every: bool
) -> None:
    """Print exact figures, and write their page."""
    from dpnb_columnar.cli.evaluation_tables import print_compared, print_evaluation
    from dpnb_columnar.model.exact_evaluation import evaluate, open_evaluated

    if public is not None:
        from dpnb_columnar.public_sample import model_beside

        beside = model_beside(model, public)
    with stage("scoring"):
        source = open_evaluated(rows.open, model.domain)
        evaluation = evaluate(model, source)
        alone = None if public is None else evaluate(beside, source)
    print_warning(CONFIDENTIAL)
    if page is not None:
        from dpnb_columnar.report.evaluation_page import write_evaluation_page

        write_evaluation_page(evaluation, model.domain, page.path, page.model, overwrite=page.overwrite)
    if as_json:
        compared = {} if alone is None else {"public": _document(alone)}
        print_line(json.dumps({**_document(evaluation), **compared}, indent=2))
        return
    print_evaluation(evaluation, model.domain, every=every)
    if alone is not None:
        print_line()
        print_compared(evaluation, alone)
    if page is not None:
        print_line()
        print_line(f"wrote {page.path}", "written", output=str(page.path))


def _document(evaluation: Evaluation) -> dict[str, Any]:
    """Return the figures as JSON values, without the counts that a page draws."""
    return {name: value for name, value in asdict(evaluation).items() if name != "scores"}
