"""Figures of an evaluation: accuracy, ranking, probabilities and calibration, with confidence intervals.

CONFIDENTIAL: every figure is computed from the rows without noise.

Where the domain declares a weight, figures in which every row counts with it stand beside these. Weights are those that
training adds up: whole steps up to the cap of the model's domain. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dpnb_columnar.domain.domain_text import html_fragment
from dpnb_columnar.errors import excerpt
from dpnb_columnar.model.query_noise import Interval

if TYPE_CHECKING:
    from dpnb_columnar.evaluation.group_figures import DivisionFigures

Number = TypeVar("Number", int, float)

MOST_CLASSES = 8
"""Classes that are printed one by one where there are more: the largest. All others are taken together."""

FIGURES = {
    "balanced_accuracy": "balanced accuracy",
    "auc": "AUC",
    "log_loss": "log loss",
    "brier_score": "Brier score",
}
"""Figures that stand below the accuracy, and their names."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The rows whose predicted class had a probability in one tenth of [0, 1]. Confidential.

    Attributes:
        lower: Lower end of the tenth.
        upper: Upper end of the tenth.
        rows: Number of rows.
        mean_probability: Mean probability of the predicted class.
        accuracy: Part of the rows whose class is predicted correctly.
        interval: Confidence interval of the accuracy (Wilson's).
    """

    lower: float
    upper: float
    rows: int
    mean_probability: float
    accuracy: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """Figures of one class against the rest. Confidential.

    Attributes:
        name: The class.
        rows: Number of its rows.
        predicted: Number of rows that it is predicted for.
        recall: Part of its rows that it is predicted for; None without rows.
        recall_interval: Confidence interval of the recall (Wilson's).
        precision: Part of the rows it is predicted for that are its own; None if it is never predicted.
        mean_probability: Mean of its probability over all rows; that of a calibrated model is its part of the rows.
        auc: Area under the ROC curve of its probability, as ``ranking.Ranking`` defines it; None if all rows are its
            own, or none.
        auc_error: Bound on the error of the area because rows are ranked in bins.
        auc_interval: Confidence interval of the area (DeLong's).
        brier_score: Mean square of its probability's distance from 1 on its own rows, and from 0 on others.
    """

    name: str
    rows: int
    predicted: int
    recall: float | None
    recall_interval: Interval | None
    precision: float | None
    mean_probability: float
    auc: float | None
    auc_error: float | None
    auc_interval: Interval | None
    brier_score: float


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """Figures over the rows that count (``rows.row_rules.row_fits``). Confidential.

    Attributes:
        rows: Number of rows evaluated.
        lacking: Number of these rows without a value of an attribute, by each attribute that some of them lack.
        accuracy: Part of the rows whose class is predicted correctly.
        majority: Part of the rows in their largest class: the accuracy of always predicting it.
        majority_class: The largest class; the first, if there are several.
        gain: Accuracy less ``majority``.
        below_majority: Whether always predicting the largest class is right more often than the model.
        balanced_accuracy: Mean of the classes' recalls, over the classes that have rows.
        auc: Area under the ROC curve; of more than two classes, the mean over the classes that have one.
        auc_error: Bound on the error of ``auc`` because rows are ranked in bins; 0 where they are not.
        log_loss: Mean of minus the logarithm of the true class's probability, in nats.
        brier_score: Mean square of the distance of a class's probability from 1 on its own rows and from 0 on others.
            Of more than two classes it is the sum over the classes, between 0 and 2.
        calibration_error: Mean over the rows of the distance, within their tenth, of the predicted class's mean
            probability from the accuracy ("expected calibration error", Naeini, Cooper and Hauskrecht 2015).
        level: Level of all confidence intervals.
        intervals: Confidence intervals by the figure's name; None where there is none. Of ``accuracy``, Wilson's; of
            ``auc`` of two classes, DeLong's; of the others, as ``intervals`` says at its functions.
        confusion: Rows by true class (outer) and predicted class (inner), in declared order.
        classes: Figures of each class, in declared order.
        calibration: Tenths of [0, 1] with rows in them, in order.
        scores: Rows of others, and of the class's own, by bin of its log-odds (``released_scores.EDGES``): of the
            second class alone, or of each of more than two.
        weighted: The figures by weight; None where the domain declares none, the rows have no such column of numbers,
            or no weight above 0.
        groups: Figures of groups, one for each division of the rows that was asked for.
    """

    rows: int
    lacking: Mapping[str, int]
    accuracy: float
    majority: float
    majority_class: str
    gain: float
    below_majority: bool
    balanced_accuracy: float
    auc: float | None
    auc_error: float | None
    log_loss: float
    brier_score: float
    calibration_error: float
    level: float
    intervals: Mapping[str, Interval | None]
    confusion: tuple[tuple[int, ...], ...]
    classes: tuple[ClassFigures, ...]
    calibration: tuple[Calibration, ...]
    scores: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]
    weighted: WeightedFigures | None = None
    groups: tuple[DivisionFigures, ...] = ()

    def __repr__(self) -> str:
        largest = f"{self.majority:.4f} by always predicting {excerpt(self.majority_class)}"
        return "\n".join(
            [
                f"Evaluation, CONFIDENTIAL: exact figures of {self.rows} rows ({self.level:.0%} confidence intervals)",
                f"{self._figure('accuracy')}; {largest}",
                ", ".join(map(self._figure, FIGURES)),
            ]
        )

    def _repr_html_(self) -> str:
        """Show the figures in a notebook."""
        lines = [
            f"Evaluation, CONFIDENTIAL: exact figures of {self.rows:,} rows",
            f"{self.majority:.4f} by always predicting {excerpt(self.majority_class)}",
        ]
        header = ["figure", "value", f"{self.level:.0%} confidence interval"]
        return html_fragment(lines, header, [self._cells(name) for name in ("accuracy", *FIGURES)])

    def _cells(self, name: str) -> list[str]:
        value, interval = getattr(self, name), self.intervals[name]
        ends = "" if interval is None else f"{interval[0]:.4f} to {interval[1]:.4f}"
        return [FIGURES.get(name, name), "none" if value is None else f"{value:.4f}", ends]

    def _figure(self, name: str) -> str:
        words, value, interval = self._cells(name)
        return f"{words} {value}" + (f" ({interval})" if interval else "")


def shown_classes(sizes: Sequence[int], *, every: bool) -> list[int]:
    """Return the codes of the classes to show one by one, in declared order: all, or the largest of many.

    One class more than ``MOST_CLASSES`` is shown as well: to take a single one together saves nothing.

    Args:
        sizes: Rows of each class.
    """
    codes = range(len(sizes))
    if every or len(codes) <= MOST_CLASSES + 1:
        return list(codes)
    return sorted(sorted(codes, key=lambda code: -sizes[code])[:MOST_CLASSES])


def fold_classes(matrix: Sequence[Sequence[Number]], shown: Sequence[int]) -> list[list[Number]]:
    """Add up the rows and the columns of a square matrix that are not shown, as the last row and column."""
    rest = [code for code in range(len(matrix)) if code not in set(shown)]
    parts = [[code] for code in shown] + ([rest] if rest else [])
    return [[sum(matrix[row][column] for row in rows for column in columns) for columns in parts] for rows in parts]


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


def weighted_rows(evaluation: Evaluation, weighted: WeightedFigures) -> list[tuple[str, float | None, float | None]]:
    """Return the name, the value by rows and the value by weight of each figure over all rows."""
    names = {"majority": "largest class", **FIGURES, "calibration_error": "calibration error"}
    return [
        (words, getattr(evaluation, name), getattr(weighted, name))
        for name, words in {"accuracy": "accuracy", **names}.items()
    ]
