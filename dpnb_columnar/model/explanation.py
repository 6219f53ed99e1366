"""What each attribute of a row said for the predicted class, in bits: the terms of the score, exactly as added.

Of the predicted class p and the class o that comes next, the logarithm to base 2 of the odds P(p) / P(o) is

    log_odds = prior + sum over attributes of bits + calibration

with ``prior`` = log2(P(p) / P(o)) before any attribute is read (and the intercepts, where weights have some); ``bits``
= w_i log2(P(x_i | p) / P(x_i | o)), negative where the attribute speaks against p; and ``calibration`` what the line
makes of their sum (``likelihood.LineTerms``), 0 without one. An attribute that the row's score leaves out has 0 bits.
So zero is a value that is as likely in both classes, and no row is needed to know it.

The class o is, of all but p, the first of the largest weight under a line, and of the largest score without one: by
either it has the second largest probability. The terms are those of ``scoring``: same tables, same formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import polars as pl

from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.polars_terms import SKIPPED
from dpnb_columnar.model.scoring import PREDICTED, PREDICTED_LABEL, checked_batches, class_words

OTHER, LOG_ODDS, PRIOR, CALIBRATION = "other", "log_odds", "prior", "calibration"
"""Columns of an explanation: the class that comes next, and what is not of one attribute."""

REST = "bits_rest"
"""Column of the bits of all attributes that are not among the first."""


def bits_column(name: str) -> str:
    """Return the name of the column with the bits of an attribute."""
    return f"bits_{name}"


def explanation_columns(model: NaiveBayes, top: int | None = None) -> dict[str, pl.DataType]:
    """List the columns of numbers and attributes, with their types; their order is that of the result.

    Args:
        model: A released model.
        top: How many attributes are named; None for a column of each.

    Raises:
        UsageError: if it is not 1 or more, or the model has fewer attributes.
    """
    names = [parameters.attribute for parameters in model.attributes]
    if top is None:
        said: dict[str, pl.DataType] = {bits_column(name): pl.Float64() for name in names}
    elif 1 <= top <= len(names):
        said = {}
        for place in range(1, top + 1):
            said |= {f"attribute_{place}": pl.String(), f"bits_{place}": pl.Float64()}
        said[REST] = pl.Float64()
    else:
        raise UsageError(f"{option('top')}: the model has {len(names)} attributes; name 1 to {len(names)} of them")
    return {LOG_ODDS: pl.Float64(), PRIOR: pl.Float64(), **said, CALIBRATION: pl.Float64(), SKIPPED: pl.UInt16()}


@overload
def explain(
    model: NaiveBayes, frame: pl.LazyFrame, keep: Sequence[str] = (), *, labels: bool = False, top: int | None = None
) -> pl.LazyFrame: ...


@overload
def explain(
    model: NaiveBayes,
    frame: pl.DataFrame | pl.LazyFrame,
    keep: Sequence[str] = (),
    *,
    labels: bool = False,
    top: int | None = None,
) -> pl.DataFrame | pl.LazyFrame: ...


def explain(
    model: NaiveBayes,
    frame: pl.DataFrame | pl.LazyFrame,
    keep: Sequence[str] = (),
    *,
    labels: bool = False,
    top: int | None = None,
) -> pl.DataFrame | pl.LazyFrame:
    """Say for every row, in the order of the rows, what each attribute said for the predicted class.

    Args:
        model: A released model.
        frame: Rows with a column for each attribute of the model.
        keep: Columns to carry over, placed first.
        labels: Whether to add ``predicted_label``, as ``scoring.score`` does.
        top: Name the attributes that said most instead, so many of them; None for a column of each.

    Returns:
        A frame, lazy for a lazy one: the kept columns, ``predicted`` as ``score`` has it, ``other``, ``log_odds``,
        ``prior``, ``bits_ATTRIBUTE`` per attribute, ``calibration``, ``skipped``. With ``top``, in place of the columns
        of attributes, ``attribute_1`` and ``bits_1`` (the attribute of the most bits, for or against; of equal ones the
        first in the model) and so on, and ``bits_rest``, the sum of all others.

    Raises:
        DataError: as for ``score``.
        UsageError: if ``top`` is not 1 to the number of attributes.
    """
    kept, numbers, classes = dict.fromkeys(keep), explanation_columns(model, top), [*model.domain.classes]
    words = {PREDICTED: classes} | ({PREDICTED_LABEL: class_words(model, kept)} if labels else {}) | {OTHER: classes}
    results = [*words, *numbers]
    if len(set(results)) < len(results):
        raise UsageError(f"attributes have the names of results; ask for some with {option('top')}")
    batches = checked_batches(model, frame.collect_schema(), kept, results)
    names = [parameters.attribute for parameters in model.attributes]
    return batches.explained(frame, kept, words, numbers, names, top)
