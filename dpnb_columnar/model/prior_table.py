"""The classes of a released model as a table: noisy counts, noisy sums of weights, and the prior of the score."""

from __future__ import annotations

from collections.abc import Iterator

from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.domain.value_labels import class_texts
from dpnb_columnar.model.parameters import NaiveBayes


def prior_header(model: NaiveBayes) -> list[str]:
    """Name the columns of ``prior_rows``."""
    sums = [] if model.domain.weight is None else [f"noisy sum of {model.domain.weight.column}"]
    return ["class", "noisy count", *sums, "probability"]


def prior_rows(model: NaiveBayes) -> Iterator[list[str | int]]:
    """Yield the cells of each class: its text, whole numbers, and its prior to four digits."""
    weight, weighted = model.domain.weight, model.weighted_classes
    for place, name in enumerate(class_texts(model.domain)):
        row: list[str | int] = [name, model.classes.released[place]]
        if weight is not None and weighted is not None:
            total = weighted.released[place] * weight.step
            row.append(int(total) if total.denominator == 1 else number_text(total))
        yield [*row, f"{model.priors[place]:.4f}"]
