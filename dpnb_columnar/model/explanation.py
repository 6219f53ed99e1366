"""What each attribute of a row said for the predicted class, in bits: exact parts of the odds that it is given.

Of the predicted class p and the class o that it is compared with, the logarithm to base 2 of the odds P(p) / P(o) is

    log_odds = prior + sum over attributes of bits.

*Without a line* o is the class of the second largest score, ``prior`` = log2(P(p) / P(o)) before any attribute is read
(and the intercepts, where weights have some), and ``bits`` = w_i log2(P(x_i | p) / P(x_i | o)), negative where the
attribute is against p. An attribute that the row's score leaves out has 0 bits. So zero is a value that is as
likely in both classes, and no row is needed to know it.

*A line* (``likelihood.LineTerms``) decides between the largest class and the best other one, by h(m), their log-odds at
the margin m of their scores. One of them is p, and the other is o. With m_0 their margin before any attribute is read,
and the sign of p,

    prior = +-h(m_0) / log 2,    bits = f w_i log2(P(x_i | p) / P(x_i | o)),    f = (h(m) - h(m_0)) / (m - m_0),

f the slope of h where m = m_0. The terms add up to +-(m - m_0), so the sum is exact. f is the mean slope between m_0
and m, so that it is at most the steepest one and, as h rises, 0 or more: every attribute speaks for the class that its
term speaks for, or is silent where h is flat. This is the value of Aumann and Shapley (1974, "Values of Non-Atomic
Games"): what an attribute adds to h while the evidence of all grows from nothing in proportion.

So no explanation contradicts its prediction: prior and bits add up to 0 or more, and where the prior is not for p, the
bits together are. The terms are those of ``scoring``: same tables, same formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import polars as pl

from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.polars_terms import SKIPPED
from dpnb_columnar.model.scoring import PREDICTED, PREDICTED_LABEL, checked_batches, class_words

OTHER, LOG_ODDS, PRIOR = "other", "log_odds", "prior"
"""Columns of an explanation: the class that is compared with, and what is not of one attribute."""

REST = "bits_rest"
"""Column of the bits of all attributes that are not among the first."""


def bits_column(name: str) -> str:
    """Return the name of the column with the bits of an attribute."""
    return f"bits_{name}"


def explanation_columns(model: NaiveBayes, top: int | None = None) -> dict[str, pl.DataType]:
    """List the columns of numbers and attributes, with their types; their order is that of the result."""
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
    return {LOG_ODDS: pl.Float64(), PRIOR: pl.Float64(), **said, SKIPPED: pl.UInt16()}


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

    Returns:
        A frame, lazy for a lazy one: the kept columns, ``predicted`` as ``score`` has it, ``other``, ``log_odds``,
        ``prior``, ``bits_ATTRIBUTE`` per attribute, ``skipped``. With ``top``, in place of the columns
        of attributes, ``attribute_1`` and ``bits_1`` (the attribute of the most bits, for or against; of equal ones the
        first in the model) and so on, and ``bits_rest``, the sum of all others.
    """
    kept, numbers, classes = dict.fromkeys(keep), explanation_columns(model, top), [*model.domain.classes]
    words = {PREDICTED: classes} | ({PREDICTED_LABEL: class_words(model, kept)} if labels else {}) | {OTHER: classes}
    results = [*words, *numbers]
    if len(set(results)) < len(results):
        raise UsageError(f"attributes have the names of results; ask for some with {option('top')}")
    batches = checked_batches(model, frame.collect_schema(), kept, results)
    names = [parameters.attribute for parameters in model.attributes]
    return batches.explained(frame, kept, words, numbers, names, top)
