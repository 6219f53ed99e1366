"""``dpnb-columnar evaluate``: how well a model does on labelled rows, for the curator."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import CONFIDENTIAL, print_line, print_table, print_warning, stage
from dpnb_columnar.domain.value_labels import SHORT, class_texts, worded
from dpnb_columnar.errors import excerpt

if TYPE_CHECKING:
    from dpnb_columnar.model.evaluation import Evaluation
    from dpnb_columnar.model.intervals import Interval

HALF_OF_LAST_DIGIT = 0.00005
"""Errors below this are not seen in what is printed."""


NAMES = {"auc": "AUC", "brier_score": "Brier score"}
"""Figures whose names have capitals."""


def command(
    model: options.ModelFile,
    data: options.Data,
    public: Annotated[
        Path | None,
        typer.Option(
            help="Public file that the model's attribute weights were learned from: the model that it gives by itself, "
            "without noise, is evaluated on the same rows.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """CONFIDENTIAL: how well a model does on labelled rows.

    Accuracy, beside that of always predicting the largest class, balanced accuracy,
    area under the ROC curve (AUC), log loss, Brier score, confusion and calibration,
    with 95% confidence intervals: exact, without noise. They are for the curator,
    not for release. The rows are those that training counts, with the attributes
    that they have.

    \b
    Of more than two classes each is ranked against the rest: the AUC is the mean of
    theirs, and the Brier score the sum.

    \b
    Examples:
      dpnb-columnar evaluate census.model.json census.parquet
      dpnb-columnar evaluate census.model.json holdout.parquet --json
      dpnb-columnar evaluate census.model.json census.parquet --public sample.parquet
    """
    from dpnb_columnar.model.evaluate import evaluate
    from dpnb_columnar.model.model import load_model
    from dpnb_columnar.rows.parquet import resolve_files

    files = resolve_files(data)
    loaded = load_model(model)
    if public is not None:
        from dpnb_columnar.mechanisms.public_sample import model_beside

        beside = model_beside(loaded, public)
    with stage("scoring"):
        evaluation = evaluate(loaded, files)
        alone = None if public is None else evaluate(beside, files)
    print_warning(CONFIDENTIAL)
    if as_json:
        compared = {} if alone is None else {"public": asdict(alone)}
        print_line(json.dumps({**asdict(evaluation), **compared}, indent=2))
        return
    _print_figures(evaluation, loaded.domain.class_labels)
    print_line()
    names = class_texts(loaded.domain)
    print_table(
        ["true \\ predicted", *class_texts(loaded.domain, SHORT)],
        [[name, *row] for name, row in zip(names, evaluation.confusion, strict=True)],
    )
    print_line()
    _print_classes(evaluation, names)
    print_line()
    print_table(
        ["probability", "rows", "mean probability", "accuracy", ""],
        [
            [
                f"{tenth.lower:.1f} to {tenth.upper:.1f}",
                tenth.rows,
                f"{tenth.mean_probability:.4f}",
                f"{tenth.accuracy:.4f}",
                _ends(tenth.interval),
            ]
            for tenth in evaluation.calibration
        ],
    )
    if alone is not None:
        print_line()
        _print_public(evaluation, alone)


def _print_figures(evaluation: Evaluation, labels: Mapping[str, str]) -> None:
    """Print the figures over all rows, one a line, with their intervals."""
    print_line(f"rows               {evaluation.rows}")
    for name, rows in evaluation.lacking.items():
        print_line(f"                   {rows} of them without {excerpt(name)}")
    largest = excerpt(worded(evaluation.majority_class, labels))
    _print_figure("accuracy", evaluation.accuracy, evaluation.intervals["accuracy"])
    print_line(f"largest class      {evaluation.majority:.4f}  (always predicting {largest})")
    gain = evaluation.intervals["gain"]
    _print_figure("difference", evaluation.gain, gain)
    if evaluation.below_majority:
        chance = "; the difference may be chance" if gain is not None and gain[1] >= 0 else ""
        print_line(f"                   worse than always predicting {largest}{chance}")
    _print_figure("balanced accuracy", evaluation.balanced_accuracy, evaluation.intervals["balanced_accuracy"])
    _print_figure("AUC", evaluation.auc, evaluation.intervals["auc"])
    if evaluation.auc_error is not None and evaluation.auc_error >= HALF_OF_LAST_DIGIT:
        print_line(f"                   give or take {evaluation.auc_error:.4f}: rows are ranked in bins")
    _print_figure("log loss", evaluation.log_loss, evaluation.intervals["log_loss"])
    _print_figure("Brier score", evaluation.brier_score, evaluation.intervals["brier_score"])
    _print_figure("calibration error", evaluation.calibration_error, None)
    print_line(f"Brackets hold {evaluation.level:.0%} confidence intervals.")


def _print_public(released: Evaluation, alone: Evaluation) -> None:
    """Print the figures of the released model beside those of the public model alone."""
    rows = []
    for name in ("accuracy", "balanced_accuracy", "auc", "log_loss", "brier_score", "calibration_error"):
        cells = (
            f"{_number(getattr(each, name))} {_ends(each.intervals.get(name))}".rstrip() for each in (released, alone)
        )
        rows.append([NAMES.get(name, name.replace("_", " ")), *cells])
    print_table(["figure", "released model", "public model alone"], rows)
    if alone.accuracy >= released.accuracy:
        print_line("the public model alone, which costs no budget, is at least as accurate on these rows")


def _print_figure(name: str, value: float | None, interval: Interval | None) -> None:
    print_line(f"{name:<18} {_number(value)}  {_ends(interval)}".rstrip())


def _print_classes(evaluation: Evaluation, names: Sequence[str]) -> None:
    """Print the figures of each class against the rest; of two classes, the ranking and the Brier score are above."""
    header = ["class", "rows", "predicted", "mean probability", "recall", "", "precision"]
    if several := len(evaluation.classes) > 2:
        header += ["AUC", "", "Brier score"]
    rows = []
    for name, each in zip(names, evaluation.classes, strict=True):
        cells: list[object] = [name, each.rows, each.predicted, f"{each.mean_probability:.4f}"]
        cells += [_number(each.recall), _ends(each.recall_interval), _number(each.precision)]
        if several:
            cells += [_number(each.auc), _ends(each.auc_interval), _number(each.brier_score)]
        rows.append(cells)
    print_table(header, rows)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


def _ends(interval: Interval | None) -> str:
    return "" if interval is None else f"({interval[0]:.4f} to {interval[1]:.4f})"
