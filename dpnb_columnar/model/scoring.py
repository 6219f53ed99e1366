"""Scoring every row of any frame, streamed: Polars reads values, and NumPy adds up their terms (``score_batches``)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, overload

import polars as pl

from dpnb_columnar.domain import Attribute, Numeric
from dpnb_columnar.domain.column_kinds import NUMERIC_KINDS, Kind, category_keys, kind_of, type_name
from dpnb_columnar.domain.names import listed, named
from dpnb_columnar.errors import DataError, excerpt
from dpnb_columnar.model.likelihood import class_terms, line_terms
from dpnb_columnar.model.parameters import NaiveBayes
from dpnb_columnar.model.polars_terms import SKIPPED, attribute_terms

if TYPE_CHECKING:
    from dpnb_columnar.model.score_batches import ScoreBatches


PREDICTED = "predicted"
PREDICTED_LABEL = "predicted_label"

MOST_SCHEMAS = 8
"""Schemas for which a model keeps tables and expressions; more are rare, and each takes up to some megabytes."""

FEW_ROWS = 2**14
"""Rows of a frame in memory that are scored at once: a query of Polars takes milliseconds whatever its rows."""

BATCH_ROWS, BATCH_NUMBERS = 2**17, 2**20
"""Most rows that Polars hands on at a time, and most numbers of their classes and attributes together: 8 MiB."""


def probability_column(name: str) -> str:
    """Return the name of the column with the probability of a class."""
    return f"probability_{name}"


def interval_columns(name: str) -> tuple[str, str]:
    """Return the names of the columns with the ends of the interval of a class's probability."""
    return f"lower_{name}", f"upper_{name}"


@overload
def score(
    model: NaiveBayes, frame: pl.LazyFrame, keep: Sequence[str] = (), *, labels: bool = False, intervals: bool = False
) -> pl.LazyFrame: ...


@overload
def score(
    model: NaiveBayes,
    frame: pl.DataFrame | pl.LazyFrame,
    keep: Sequence[str] = (),
    *,
    labels: bool = False,
    intervals: bool = False,
) -> pl.DataFrame | pl.LazyFrame: ...


def score(
    model: NaiveBayes,
    frame: pl.DataFrame | pl.LazyFrame,
    keep: Sequence[str] = (),
    *,
    labels: bool = False,
    intervals: bool = False,
) -> pl.DataFrame | pl.LazyFrame:
    """Predict the class and the class probabilities of every row, in the order of the rows.

    A null or NaN attribute, and a category outside the domain, is left out of that row's likelihood and counted, unless
    to be missing is a category of the attribute.
    Numbers outside the declared bounds count as the nearest bound.

    Args:
        labels: Whether to add ``predicted_label`` (string: the value label of ``predicted``, or the class itself where
            it has none), placed behind ``predicted``.
        intervals: Whether to add what the model's noise leaves known of each probability, behind them: ``lower_CLASS``
            and ``upper_CLASS`` (float64), between which 95 of 100 probabilities are that exact counts would give
            (``probability_intervals``).

    Raises:
        DataError: if a column is missing, has a type the attribute cannot be read from, or a kept column has the name
            of a result; or if ``labels`` is asked for, and no class has a value label.
    """
    rows = frame if isinstance(frame, pl.DataFrame) and frame.height <= FEW_ROWS else frame.lazy()
    batches, kept = checked_batches(model, rows.collect_schema(), keep, intervals=intervals), dict.fromkeys(keep)
    words = {PREDICTED: [*model.domain.classes]} | ({PREDICTED_LABEL: class_words(model, kept)} if labels else {})
    return batches.scored(rows, kept, words)


@contextmanager
def small_batches(model: NaiveBayes) -> Iterator[None]:
    """Let Polars take so few rows at a time within this block that many columns do not take much memory."""
    columns = len(model.domain.classes) + len(model.attributes)
    with pl.Config(streaming_chunk_size=min(BATCH_ROWS, max(BATCH_NUMBERS // columns, 1))):
        yield


def class_words(model: NaiveBayes, keep: Collection[str]) -> list[str]:
    """Return the value label of each class, or the class itself."""
    if not (labels := model.domain.class_labels):
        raise DataError(
            f"no class of the model has a value label; train with a domain that declares value_labels of "
            f"{named(model.domain.label.columns)}, or leave labels out"
        )
    if PREDICTED_LABEL in keep:
        raise DataError(f"column {PREDICTED_LABEL} would stand beside a result of that name; rename it first")
    return [labels.get(klass, klass) for klass in model.domain.classes]


def checked_batches(
    model: NaiveBayes,
    schema: Mapping[str, pl.DataType],
    keep: Collection[str],
    results: Collection[str] | None = None,
    *,
    intervals: bool = False,
) -> ScoreBatches:
    """Return how rows of these types are scored, their columns checked; kept with the model for the next frame."""
    names = [parameters.attribute for parameters in model.attributes]
    missing = [name for name in dict.fromkeys([*keep, *names]) if name not in schema]
    if missing:
        raise DataError(f"missing column {listed(missing)}; the columns are {named([*schema])}")
    if results is None:
        classes = model.domain.classes
        ends = [end for name in classes for end in interval_columns(name)] if intervals else []
        results = [PREDICTED, SKIPPED, *map(probability_column, classes), *ends]
    if clash := set(results).intersection(keep):
        raise DataError(f"column {named(sorted(clash))} would stand beside a result of that name; rename it first")
    types = tuple(schema[name] for name in names)
    batches: ScoreBatches | None = model.batches_by_types.get((types, intervals))
    if batches is None:
        from dpnb_columnar.model.score_batches import ScoreBatches  # loads numpy

        terms = [
            attribute_terms(model.domain[name], parameters, weight, _kind(model.domain[name], type_), type_)
            for parameters, weight, name, type_ in zip(model.attributes, model.weights, names, types, strict=True)
        ]
        results, noise = [probability_column(name) for name in model.domain.classes], None
        if intervals:
            from dpnb_columnar.model.probability_intervals import score_noise

            noise = score_noise(model)
            for ends_of_classes in zip(*map(interval_columns, model.domain.classes), strict=True):
                results += ends_of_classes
        if len(model.batches_by_types) >= MOST_SCHEMAS:
            model.batches_by_types.clear()
        batches = ScoreBatches(class_terms(model), terms, results, line_terms(model), noise)
        model.batches_by_types[types, intervals] = batches
    return batches


def _kind(attribute: Attribute, type_: pl.DataType) -> Kind:
    """Return the kind of a column."""
    kind = kind_of(type_)
    if kind is None or not (
        kind in NUMERIC_KINDS if isinstance(attribute, Numeric) else category_keys(attribute, kind)
    ):
        raise DataError(
            f"column {excerpt(attribute.name)} has type {type_name(type_)}, which does not fit the model's attribute; "
            "cast it first"
        )
    return kind
