"""Which labels there are, and which class each of them is."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpnb_columnar.domain import Domain
from dpnb_columnar.estimator.columns import text_of
from dpnb_columnar.rows.kinds import Kind, keys, kind_of

NUMBERED = (Kind.INTEGER, Kind.UNSIGNED, Kind.FLOAT, Kind.BOOLEAN)
"""Kinds of columns whose labels are numbers."""


def distinct(labels: pl.Series | NDArray[Any]) -> list[Any]:
    """The labels that occur, sorted, without those that are missing. Called where they are public.

    Raises:
        ValueError: There are fewer than two, or they are no labels.
    """
    values = labels.to_list() if isinstance(labels, pl.Series) else labels.tolist()
    try:
        found = sorted({value for value in values if text_of(value) is not None})
    except TypeError:
        raise ValueError("Unknown label type: labels in y are of several types; make them text") from None
    if any(isinstance(label, float) and not label.is_integer() for label in found):
        raise ValueError("Unknown label type: continuous. Labels are text or whole numbers")
    if len(found) < 2:
        raise ValueError('classes="public": y holds one class or none, and a classifier needs two')
    return found


def labels_of(domain: Domain, labels: pl.Series) -> NDArray[Any]:
    """What the classes of a domain are called in y: numbers where it holds numbers and all of them name one."""
    kind = kind_of(labels.dtype)
    if kind in NUMBERED and len(numbers := keys(domain.classes, kind)) == len(domain.classes):
        return np.array(list(numbers))
    return np.array(domain.classes)
