"""Scoring with Polars expressions: every row of any frame, streamed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, overload

import polars as pl

from dpnb_columnar.domain import Attribute, Numeric
from dpnb_columnar.domain.column_kinds import NUMERIC_KINDS, Kind, category_keys, kind_of, type_name
from dpnb_columnar.domain.names import listed, named
from dpnb_columnar.errors import DataError, excerpt
from dpnb_columnar.model.likelihood import (
    BELOW_BEST,
    LEAST_EXPONENT,
    LineTerms,
    Pieces,
    class_terms,
    line_terms,
)
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.polars_terms import LIKELIEST, SKIPPED, Terms, attribute_terms
from dpnb_columnar.rows.row_rules import column

if TYPE_CHECKING:
    from dpnb_columnar.model.score_batches import ScoreBatches


PREDICTED = "predicted"
PREDICTED_LABEL = "predicted_label"

MOST_SCHEMAS = 8
"""Schemas for which a model keeps tables and expressions; more are rare, and each takes up to some megabytes."""

MOST_COLUMNS = 64
"""Classes and attributes together that are scored by expressions of Polars, which hold columns for all of them."""

FEW_ROWS = 2**14
"""Rows of a frame in memory that are scored by numpy: expressions of Polars take milliseconds whatever their rows."""

BATCH_NUMBERS = 2**21
"""Numbers that a batch of rows holds where columns are many: 16 MiB."""


def probability_column(name: str) -> str:
    """Return the name of the column with the probability of a class."""
    return f"probability_{name}"


@overload
def score(
    model: NaiveBayes, frame: pl.LazyFrame, keep: Sequence[str] = (), *, labels: bool = False
) -> pl.LazyFrame: ...


@overload
def score(
    model: NaiveBayes, frame: pl.DataFrame | pl.LazyFrame, keep: Sequence[str] = (), *, labels: bool = False
) -> pl.DataFrame | pl.LazyFrame: ...


def score(
    model: NaiveBayes, frame: pl.DataFrame | pl.LazyFrame, keep: Sequence[str] = (), *, labels: bool = False
) -> pl.DataFrame | pl.LazyFrame:
    """Predict the class and the class probabilities of every row, in the order of the rows.

    A null or NaN attribute, and a category outside the domain, is left out of that row's likelihood and counted, unless
    to be missing is a category of the attribute.
    Numbers outside the declared bounds count as the nearest bound.

    Args:
        model: A released model.
        frame: Rows with a column for each attribute of the model.
        keep: Columns to carry over, placed first.
        labels: Whether to add ``predicted_label`` (string: the value label of ``predicted``, or the class itself where
            it has none), placed behind ``predicted``.

    Returns:
        A frame, lazy but for few rows in memory: the kept columns, ``predicted`` (string: the first class of the
        largest probability), ``probability_CLASS`` (float64) per class adding up to 1, and ``skipped`` (uint16): how
        many attributes were left out.

    Raises:
        DataError: if a column is missing, has a type the attribute cannot be read from, or a kept column has the name
            of a result; or if ``labels`` is asked for, and no class has a value label.
    """
    is_few = isinstance(frame, pl.DataFrame) and frame.height <= FEW_ROWS and bool(model.attributes)
    rows, kept = frame if is_few else frame.lazy(), dict.fromkeys(keep)
    steps = checked_steps(model, rows.collect_schema(), list(kept))
    worded = {PREDICTED_LABEL: class_words(model, kept)} if labels else {}
    # Kept columns wait under names of ours, so that no name of theirs stands in the way of a step.
    waiting = {name: f"__kept_{index}" for index, name in enumerate(kept)}
    read = [*(column(name).alias(alias) for name, alias in waiting.items()), *steps.read]
    if is_few or is_wide(model):
        scored = steps.batches.scored(rows.select(read))
    else:
        # Columns are added, not selected: a model without attributes selects none, and would lose the rows.
        scored = rows.with_columns(read)
        for added in steps.probabilities:
            scored = scored.with_columns(added)
    return scored.select(
        *(pl.col(alias).alias(name) for name, alias in waiting.items()),
        pl.lit(pl.Series(model.domain.classes)).gather(pl.col(LIKELIEST)).alias(PREDICTED),
        *(pl.lit(pl.Series(words)).gather(pl.col(LIKELIEST)).alias(name) for name, words in worded.items()),
        *steps.results,
        SKIPPED,
    )


@dataclass(frozen=True)
class Steps:
    """Expressions that score rows of some types. A model keeps them: to make them takes longer than to score ten rows.

    Attributes:
        priors: Per class, the part of the score that no attribute changes.
        results: Name of each class's column of probabilities.
        values: The terms of each attribute, by the column that holds its value.
        read: The columns of these values.
        line: What turns scores into weights of the classes; None where their exponentials are.
    """

    priors: Sequence[float]
    results: Sequence[str]
    values: Mapping[str, Terms]
    read: Sequence[pl.Expr]
    line: LineTerms | None

    @cached_property
    def batches(self) -> ScoreBatches:
        """What makes ``LIKELIEST``, the probabilities and ``SKIPPED`` of the values of few rows, or of a wide model."""
        from dpnb_columnar.model.score_batches import ScoreBatches  # loads numpy

        return ScoreBatches(self.priors, self.values, self.results, self.line)

    @cached_property
    def probabilities(self) -> Sequence[Sequence[pl.Expr]]:
        """The columns that are these for other rows, step by step."""
        return tuple(_probabilities(self))


def _steps(model: NaiveBayes, attributes: Sequence[Terms]) -> Steps:
    """Make the expressions from the terms of each attribute."""
    results = [probability_column(name) for name in model.domain.classes]
    values = {f"__value_{index}": terms for index, terms in enumerate(attributes)}
    read = [terms.value.alias(name) for name, terms in values.items()]
    return Steps(class_terms(model), results, values, read, line_terms(model))


def is_wide(model: NaiveBayes) -> bool:
    """Tell whether classes and attributes are too many for an expression for each of one and each of the other."""
    return bool(model.attributes) and _columns(model) > MOST_COLUMNS


@contextmanager
def small_batches(model: NaiveBayes) -> Iterator[None]:
    """Let Polars take so few rows at a time within this block that many columns do not take much memory."""
    if not is_wide(model):
        yield
        return
    with pl.Config(streaming_chunk_size=max(BATCH_NUMBERS // _columns(model), 1)):
        yield


def _columns(model: NaiveBayes) -> int:
    return len(model.domain.classes) + len(model.attributes)


def class_words(model: NaiveBayes, keep: Collection[str]) -> list[str]:
    """Return the value label of each class, or the class itself.

    Raises:
        DataError: if no class has one, or a kept column has the name of their column.
    """
    if not (labels := model.domain.class_labels):
        raise DataError(
            f"no class of the model has a value label; train with a domain that declares value_labels of "
            f"{named(model.domain.label.columns)}, or leave labels out"
        )
    if PREDICTED_LABEL in keep:
        raise DataError(f"column {PREDICTED_LABEL} would stand beside a result of that name; rename it first")
    return [labels.get(klass, klass) for klass in model.domain.classes]


def _probabilities(steps: Steps) -> Iterator[Sequence[pl.Expr]]:
    """Yield the steps from values to probabilities, to ``LIKELIEST`` and to ``SKIPPED``.

    A class's score is its prior's term, and the terms of the attributes not left out. The largest of a row is taken out
    first, so that no exponential overflows; under a line none can.
    """
    joint, largest, total = [f"__joint_{klass}" for klass in range(len(steps.priors))], "__largest", "__total"
    terms = [attribute.terms(pl.col(name)) for name, attribute in steps.values.items()]
    # Added from the left, so that a row's sum does not depend on how many threads there are, as sum_horizontal's does.
    summands = zip(map(pl.lit, steps.priors), *terms, strict=True)
    sums = [reduce(add, [term for term in klass if term is not None]) for klass in summands]
    left_out = [attribute.left_out(pl.col(name)) for name, attribute in steps.values.items()]
    skipped = pl.sum_horizontal(pl.lit(0, dtype=pl.UInt16), *left_out).cast(pl.UInt16)
    yield [*(each.alias(name) for name, each in zip(joint, sums, strict=True)), skipped.alias(SKIPPED)]
    if steps.line is None:
        yield [pl.max_horizontal(*joint).alias(largest)]
        yield [(pl.col(name) - pl.col(largest)).exp().alias(name) for name in joint]
    else:
        yield from _weights_by_line(steps.line, joint)
    yield [reduce(add, map(pl.col, joint)).alias(total)]
    yield [(pl.col(name) / pl.col(total)).alias(result) for name, result in zip(joint, steps.results, strict=True)]
    yield [pl.max_horizontal(*steps.results).alias(largest)]
    yield [_first_of_largest(steps.results, largest).alias(LIKELIEST)]


def _weights_by_line(line: LineTerms, joint: Sequence[str]) -> Iterator[Sequence[pl.Expr]]:
    """Yield the steps that replace the scores of the classes by their weights (``LineTerms``)."""
    largest, others = joint[line.largest], [joint[klass] for klass in line.others]
    margin, place, odds, chosen = map(pl.col, ("__margin", "__place", "__odds", "__chosen"))
    yield [pl.max_horizontal(*others).alias("__best")]
    yield [(pl.col("__best") - pl.col(largest)).alias("__margin")]
    yield [pl.sum_horizontal((margin >= start).cast(pl.UInt32) for start in line.odds.starts).alias("__place")]
    yield [_at(line.odds, place, margin).exp().alias("__odds"), pl.lit(1.0).alias(largest)]
    if line.rest is None:
        yield [odds.alias(*others)]
        return
    names = [f"__likely_{klass}" for klass in line.others]
    likely = [line.evidence * pl.col(each) + constant for each, constant in zip(others, line.constants, strict=True)]
    yield [
        _first_of_largest(others, "__best").alias("__chosen"),
        *(each.alias(name) for each, name in zip(likely, names, strict=True)),
    ]
    yield [pl.max_horizontal(*names).alias("__top")]
    exponents = [(pl.col(name) - pl.col("__top")).clip(LEAST_EXPONENT, 0) for name in names]
    yield [
        pl.when(chosen == index).then(0.0).otherwise(exponent.exp()).alias(name)
        for index, (name, exponent) in enumerate(zip(names, exponents, strict=True))
    ]
    shared = _at(line.rest, place, margin).exp() * (1.0 / reduce(add, map(pl.col, names)))
    yield [shared.alias("__shared"), (BELOW_BEST * odds).alias("__most")]
    yield [
        pl.when(chosen == index)
        .then(odds)
        .otherwise(pl.min_horizontal("__most", pl.col("__shared") * pl.col(name)))
        .alias(other)
        for index, (other, name) in enumerate(zip(others, names, strict=True))
    ]


def _at(pieces: Pieces, place: pl.Expr, margin: pl.Expr) -> pl.Expr:
    """Compute a function of a margin that lies in the piece of a place."""
    value, slope, origin = (
        pl.lit(pl.Series(column)).gather(place) for column in (pieces.values, pieces.slopes, pieces.origins)
    )
    return value + slope * (margin - origin)


def _first_of_largest(results: Sequence[str], largest: str) -> pl.Expr:
    """Choose the place of the first column of the largest number."""
    return pl.coalesce(
        pl.when(pl.col(result) == pl.col(largest)).then(pl.lit(index, dtype=pl.UInt32))
        for index, result in enumerate(results)
    )


def checked_steps(model: NaiveBayes, schema: Mapping[str, pl.DataType], keep: Sequence[str]) -> Steps:
    """Return how rows of these types are scored, their columns checked. It is kept with the model for the next frame.

    Raises:
        DataError: if a column is missing or does not fit, or a kept column has the name of a result.
    """
    names = [parameters.attribute for parameters in model.attributes]
    missing = [name for name in dict.fromkeys([*keep, *names]) if name not in schema]
    if missing:
        raise DataError(f"missing column {listed(missing)}; the columns are {named([*schema])}")
    results = {PREDICTED, SKIPPED, *(probability_column(name) for name in model.domain.classes)}
    if clash := results.intersection(keep):
        raise DataError(f"column {named(sorted(clash))} would stand beside a result of that name; rename it first")
    types = tuple(schema[name] for name in names)
    steps: Steps | None = model.steps_by_types.get(types)
    if steps is None:
        attributes = [
            attribute_terms(model.domain[name], parameters, weight, _kind(model.domain[name], type_), type_)
            for parameters, weight, name, type_ in zip(model.attributes, model.weights, names, types, strict=True)
        ]
        if len(model.steps_by_types) >= MOST_SCHEMAS:
            model.steps_by_types.clear()
        steps = model.steps_by_types[types] = _steps(model, attributes)
    return steps


def _kind(attribute: Attribute, type_: pl.DataType) -> Kind:
    """Return the kind of a column.

    Raises:
        DataError: if the attribute cannot be read from it.
    """
    kind = kind_of(type_)
    if kind is None or not (
        kind in NUMERIC_KINDS if isinstance(attribute, Numeric) else category_keys(attribute, kind)
    ):
        raise DataError(
            f"column {excerpt(attribute.name)} has type {type_name(type_)}, which does not fit the model's attribute; "
            "cast it first"
        )
    return kind
