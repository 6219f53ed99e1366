"""What ``evaluate`` prints of exact figures. CONFIDENTIAL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dpnb_columnar.cli.console import print_line, print_table
from dpnb_columnar.domain import Domain, Weight
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.domain.value_labels import SHORT, class_texts, worded
from dpnb_columnar.errors import excerpt
from dpnb_columnar.model.evaluation import Evaluation, folded, shown_classes
from dpnb_columnar.model.intervals import interval_text
from dpnb_columnar.model.weighted_figures import weighted_rows

if TYPE_CHECKING:
    from dpnb_columnar.model.evaluation import ClassFigures
    from dpnb_columnar.model.intervals import Interval

HALF_OF_LAST_DIGIT = 0.00005
"""Errors below this are not seen in what is printed."""

NAMES = {"auc": "AUC", "brier_score": "Brier score"}
"""Figures whose names have capitals."""


def print_evaluation(evaluation: Evaluation, domain: Domain, *, every: bool) -> None:
    """Print the figures, the confusion, the classes and the calibration.

    Args:
        evaluation: The figures.
        domain: Domain of the model.
        every: Whether every class is printed, however many there are.
    """
    _print_figures(evaluation, domain.class_labels)
    if domain.weight is not None:
        _print_weighted(evaluation, domain.weight)
    print_line()
    shown = shown_classes([each.rows for each in evaluation.classes], every=every)
    others = len(evaluation.classes) - len(shown)
    rest = [f"{others} others"] if others else []
    long, short = class_texts(domain), class_texts(domain, SHORT)
    names = [*(long[code] for code in shown), *rest]
    print_table(
        ["true \\ predicted", *(short[code] for code in shown), *rest],
        [[name, *row] for name, row in zip(names, folded(evaluation.confusion, shown), strict=True)],
    )
    weighted = evaluation.weighted
    if weighted is not None:
        print_line()
        print_table(
            ["true \\ predicted, weighted", *(short[code] for code in shown), *rest],
            [
                [name, *(f"{weight:.0f}" for weight in row)]
                for name, row in zip(names, folded(weighted.confusion, shown), strict=True)
            ],
        )
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


def _print_weighted(evaluation: Evaluation, weight: Weight) -> None:
    """Print the figures by rows and by weight, or that there are none by weight."""
    weighted = evaluation.weighted
    column = excerpt(weight.column)
    if weighted is None:
        print_line(f"not weighted: the rows have no numbers above 0 in a column {column}")
        return
    print_line(f"weight             {weighted.weight:.0f}  ({column}, at most {number_text(weight.cap)} a row)")
    print_line()
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
    print_table(header, rows)


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"
