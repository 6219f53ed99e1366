"""Figures of an evaluation in which every row counts with its weight: for the population that the rows stand for.

Weights are those that training adds up: whole steps up to the cap of the model's domain. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean

import polars as pl

from dpnb_columnar.model.evaluation import FIGURES, Evaluation

WEIGHT = "weight"
"""Column of the steps of weight: of a row, or of the rows of a cell together."""

WEIGHED = "weighed "
"""What begins the names of sums of which each row's summand is multiplied by its weight."""


@dataclass(frozen=True, slots=True)
class WeightedFigures:
    """Figures over the rows by their weights, without intervals. Confidential.

    Attributes:
        weight: Sum of the weights of all rows.
        accuracy, majority, balanced_accuracy, auc, log_loss, brier_score, calibration_error: As of an ``Evaluation``.
        confusion: Weights by true class (outer) and predicted class (inner), in declared order.
        shares: Part of the weight that is each class's: the population's prior.
        mean_probabilities: Mean of each class's probability; of a model that is calibrated for the population, its
            share.
        recalls: Part of each class's weight that it is predicted for; None without weight.
        calibration: Per tenth of ``Evaluation.calibration`` the mean probability of the predicted class and the
            accuracy; None without weight.
    """

    weight: float
    accuracy: float
    majority: float
    balanced_accuracy: float
    auc: float | None
    log_loss: float
    brier_score: float
    calibration_error: float
    confusion: tuple[tuple[float, ...], ...]
    shares: tuple[float, ...]
    mean_probabilities: tuple[float, ...]
    recalls: tuple[float | None, ...]
    calibration: tuple[tuple[float, float] | None, ...]


def weighed_sums(values: Sequence[pl.Expr], names: Sequence[str]) -> list[pl.Expr]:
    """Return the sums of some values of the rows, each times the row's weight, and the sum of the weights."""
    weight = pl.col(WEIGHT)
    products = zip(values, names, strict=True)
    return [weight.sum(), *((value * weight).sum().alias(WEIGHED + name) for value, name in products)]


def weighted_area(bins: pl.DataFrame) -> float | None:
    """Compute the area under the ROC curve of weighted rows, those of one bin tied; None where all are of one kind.

    Args:
        bins: The frame that ``ranking.binned`` describes, with the steps of weight of its rows.
    """
    own, weight = pl.col("own"), pl.col(WEIGHT).cast(pl.Float64)
    both = bins.group_by("bin").agg(weight.filter(own).sum().alias("p"), weight.filter(~own).sum().alias("n"))
    p, n = (both.sort("bin")[name] for name in ("p", "n"))
    pairs = float(p.sum()) * float(n.sum())
    return float((p * (n.cum_sum() - n / 2)).sum()) / pairs if pairs else None


def weighted_figures(
    cells: pl.DataFrame, classes: int, step: Fraction, areas: Sequence[float | None]
) -> WeightedFigures | None:
    """Compute the figures from sums over cells; None where no row has a weight above 0.

    Args:
        cells: Sums over the cells of (true class, predicted class, tenth), with ``true`` and ``predicted code``, and
            the sums that ``weighed_sums`` returns.
        classes: Number of classes.
        step: Width of a step of weight.
        areas: The weighted area of each class that is ranked.
    """
    total = int(cells[WEIGHT].sum())
    if not total:
        return None
    summed = cells.group_by("true", "predicted code").agg(pl.col(WEIGHT).sum())
    steps = {(true, code): int(weight) for true, code, weight in summed.rows()}
    confusion = [[steps.get((true, code), 0) for code in range(classes)] for true in range(classes)]
    sizes, hits = [sum(row) for row in confusion], [confusion[code][code] for code in range(classes)]
    recalls = [hit / size if size else None for hit, size in zip(hits, sizes, strict=True)]
    tenths = [cells.filter(pl.col("tenth") == tenth) for tenth in cells["tenth"].unique().sort()]
    weights = [int(tenth[WEIGHT].sum()) for tenth in tenths]
    calibration = [
        (_sum(tenth, "top") / weight, int(tenth.filter("right")[WEIGHT].sum()) / weight) if weight else None
        for tenth, weight in zip(tenths, weights, strict=True)
    ]
    distances = [0 if each is None else abs(each[0] - each[1]) for each in calibration]
    ranked = [area for area in areas if area is not None]
    return WeightedFigures(
        weight=float(total * step),
        accuracy=sum(hits) / total,
        majority=max(sizes) / total,
        balanced_accuracy=fmean(recall for recall in recalls if recall is not None),
        auc=fmean(ranked) if ranked else None,
        log_loss=_sum(cells, "loss") / total,
        brier_score=_sum(cells, "distance") / total,
        calibration_error=sum(weight * distance for weight, distance in zip(weights, distances, strict=True)) / total,
        confusion=tuple(tuple(float(count * step) for count in row) for row in confusion),
        shares=tuple(size / total for size in sizes),
        mean_probabilities=tuple(_sum(cells, f"probability_{code}") / total for code in range(classes)),
        recalls=tuple(recalls),
        calibration=tuple(calibration),
    )


def weighted_rows(evaluation: Evaluation, weighted: WeightedFigures) -> list[tuple[str, float | None, float | None]]:
    """Return the name, the value by rows and the value by weight of each figure over all rows."""
    names = {"majority": "largest class", **FIGURES, "calibration_error": "calibration error"}
    return [
        (words, getattr(evaluation, name), getattr(weighted, name))
        for name, words in {"accuracy": "accuracy", **names}.items()
    ]


def _sum(cells: pl.DataFrame, name: str) -> float:
    return float(cells[WEIGHED + name].sum())
