"""CONFIDENTIAL. Rows of a data set in dictionary form: per column its distinct values, and the position of each row's.

Everything a cross-validation needs follows from this: counts of any rows under any bounds, and scores of any rows.

*Cross-validation* of releases with additive statistics. Each fold is counted once, and the statistics of its training
rows are a subtraction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.core.queries.query import Query
from dpnb_columnar.core.queries.scores import (
    ClassScores,
    GradientQuery,
    GradientSums,
    LaterAnswer,
    ScoreCounts,
    ScoreTable,
)
from dpnb_columnar.core.queries.statistics import CellQuery, Cells, Statistics, assemble
from dpnb_columnar.domain import Attribute, Domain, Numeric
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.model.likelihood import bin_starts, class_terms, line_terms
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, NaiveBayes
from dpnb_columnar.model.score_batches import prepared_value, terms, weights_by_line
from dpnb_columnar.releases.model_plan import ReleasePlan
from dpnb_columnar.rows.input_files import DataFile
from dpnb_columnar.rows.parquet import ParquetSource, open_parquet
from dpnb_columnar.rows.row_rules import category_code, class_code, column, grid_code, row_fits
from dpnb_columnar.rows.streaming import stream
from dpnb_columnar.training import carry_out

Integers = NDArray[np.int64]
Places = NDArray[np.unsignedinteger]

PLACE = "__place"
VALUE = "__value"
LABEL = "__class"
NO_CODE = -1
"""In place of the code of a missing number."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CodedColumn:
    """One column in dictionary form. Confidential.

    Attributes:
        values: The distinct values of some rows, as their file holds them; a series of the column's name.
        places: Shape (rows,), the narrowest unsigned type that holds them: position of each row's value.
    """

    values: pl.Series
    places: Places

    def of(self, rows: Integers) -> CodedColumn:
        """Select rows by their positions, with the values that occur in them."""
        places = self.places[rows]
        present = np.flatnonzero(np.bincount(places, minlength=len(self.values)))
        renumbered = np.zeros(len(self.values), dtype=places.dtype)
        renumbered[present] = np.arange(len(present))
        return CodedColumn(self.values.gather(present), renumbered[places])


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CodedRows:
    """The rows of a data set that fit its domain. Confidential.

    Attributes:
        kinds: Per column of the data set, the kind of its values.
        classes: Shape (rows,), int64: class codes.
        columns: Per attribute, its column.
    """

    kinds: Mapping[str, Kind]
    classes: Integers
    columns: Mapping[str, CodedColumn]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.classes)

    def codes(self, attribute: Attribute) -> Integers:
        """Code each distinct value of an attribute, by the rule that every engine follows; shape (values,)."""
        return codes(attribute, self.columns[attribute.name].values, self.kinds[attribute.name])


def code_rows(files: Sequence[DataFile], domain: Domain) -> CodedRows:
    """Read the rows that fit a domain.

    Args:
        domain: Their domain, of complete rows (``data_sets.complete_rows``). Bounds and steps of its numeric attributes
            do not matter.
    """
    source = open_parquet(files, domain)
    return stream(source, partial(_coded_rows, source=source, domain=domain))


def _coded_rows(rows: pl.LazyFrame, source: ParquetSource, domain: Domain) -> CodedRows:
    fitting = rows.filter(row_fits(domain, source.kinds))
    labels = fitting.select(class_code(domain, source.kinds).alias(LABEL)).collect()[LABEL]
    columns = {each.name: _coded(fitting.select(column(each.name)).collect().to_series()) for each in domain.attributes}
    return CodedRows(source.kinds, labels.to_numpy().astype(np.int64), columns)


def codes(attribute: Attribute, values: pl.Series, kind: Kind) -> Integers:
    """Code values that fit the domain, a missing number as ``NO_CODE``; shape (values,), int64."""
    rule = grid_code if isinstance(attribute, Numeric) else category_code
    found = values.to_frame().select(rule(attribute, kind)).to_series()  # type: ignore[arg-type]
    return found.fill_null(NO_CODE).to_numpy().astype(np.int64)


def _coded(values: pl.Series) -> CodedColumn:
    frame = values.alias(VALUE).to_frame()
    distinct = frame.unique(maintain_order=True)
    numbered = distinct.with_row_index(PLACE)
    joined = frame.join(numbered, on=VALUE, how="left", nulls_equal=True, maintain_order="left")
    narrow = np.min_scalar_type(max(len(distinct) - 1, 0))
    return CodedColumn(distinct[VALUE].alias(values.name), joined[PLACE].to_numpy().astype(narrow))


# Rows that are held out of a training, to score models on and to count again. Many models are scored on the same rows:
# the terms of a model are evaluated once per distinct value of a column, not once per row. The mathematics is that of
# ``dpnb_columnar.model.scoring``: its terms, by the same expressions. Only the order of a sum may differ, so the
# predicted classes are the same, but for ties that rounding decides.

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Score:
    """How well a model predicts held-out rows. Confidential.

    Attributes:
        correct: Number of rows whose class it predicts.
        log_loss: Mean of -log of the probability that it gives a row's true class.
    """

    correct: int
    log_loss: float


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class HeldOut:
    """Rows to score models on. Confidential.

    Attributes:
        classes: Shape (rows,), int64: true class codes.
        columns: Per attribute, its column of these rows.
        kinds: Per column of the data set, the kind of its values.
    """

    classes: Integers
    columns: Mapping[str, CodedColumn]
    kinds: Mapping[str, Kind]
    _prepared: dict[Attribute, pl.Series] = field(default_factory=dict)
    _coded: dict[Attribute, Integers] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: CodedRows, chosen: Integers) -> HeldOut:
        """Select rows by their positions."""
        columns = {name: column.of(chosen) for name, column in rows.columns.items()}
        return cls(rows.classes[chosen], columns, rows.kinds)

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.classes)

    def correct(self, model: NaiveBayes) -> int:
        """Count the rows whose class the model predicts correctly."""
        return int(np.count_nonzero(self.predicted(model) == self.classes))

    def predicted(self, model: NaiveBayes) -> Integers:
        """Predict the class of each row: the first class of the largest likelihood.

        Returns:
            Shape (rows,), int64: class codes.
        """
        classes: Integers = self.joint(model).argmax(axis=0)
        return classes

    def log_loss(self, model: NaiveBayes) -> float:
        """Compute the mean of -log of the probability that the model gives a row's true class."""
        return self.score(model).log_loss

    def score(self, model: NaiveBayes) -> Score:
        """Score a model on the rows."""
        joint = self.joint(model)
        true = np.take_along_axis(joint, self.classes[None, :], axis=0)[0]
        correct = int(np.count_nonzero(joint.argmax(axis=0) == self.classes))
        return Score(correct, float(np.mean(np.logaddexp.reduce(joint, axis=0) - true)))

    def answer(self, query: Query[Any]) -> LaterAnswer:
        """Answer the query of a later pass."""
        if isinstance(query, ClassScores):
            return self.score_counts(query)
        assert isinstance(query, GradientQuery)
        return self.sum_gradients(query)

    def score_counts(self, scores: ClassScores) -> ScoreCounts:
        """Count the rows of each bin and class."""
        by_class = np.empty((len(scores.offsets), self.size), dtype=np.int64)
        for row, offset, tables in zip(by_class, scores.offsets, scores.by_class, strict=True):
            row[:] = offset
            for table in tables:
                row += self._steps(table, scores.domain)
        classes = len(by_class)
        cell = scores.bins_of(by_class, self.classes) * classes + self.classes
        return ScoreCounts(scores, np.bincount(cell, minlength=scores.bins * classes).reshape(-1, classes))

    def sum_gradients(self, query: GradientQuery) -> GradientSums:
        """Sum up a round's gradient, as ``counting.local`` does."""
        scores = np.array([self._steps(table, query.domain) for table in query.tables])
        factors = query.factors_of(scores, self.classes)
        sums = np.append(scores @ factors, UNITS * factors.sum())
        return GradientSums(query, sums, np.bincount(self.classes, minlength=2))

    def _steps(self, table: ScoreTable, domain: Domain) -> Integers:
        """Return the score of each row in one table."""
        step = np.searchsorted(table.starts, self._codes(domain[table.attribute]), side="right") - 1
        by_step = np.array([*table.scores, table.missing], dtype=np.int64)  # the last one is that of no code
        scores: Integers = by_step[step][self.columns[table.attribute].places]
        return scores

    def joint(self, model: NaiveBayes) -> Floats:
        """Joint log-likelihoods, or logarithms of the weights that a line gives; shape (classes, rows)."""
        joint = np.empty((len(model.classes.probability), self.size))
        joint[:] = [[term] for term in class_terms(model)]
        for parameters, weight in zip(model.attributes, model.weights, strict=True):
            attribute = model.domain[parameters.attribute]
            places = self.columns[attribute.name].places
            for row, table in zip(joint, self._terms(attribute, parameters, weight), strict=True):
                row += table[places]
        line = line_terms(model)
        return joint if line is None else np.log(weights_by_line(line, joint))

    def _terms(self, attribute: Attribute, parameters: AttributeParameters, weight: float) -> list[Floats]:
        """Return, per class, the term of each distinct value of an attribute."""
        value = self._value(attribute, parameters)
        weighted = terms(attribute, parameters, pl.col(value.name), weight)
        by_class = value.to_frame().select(term.alias(str(place)) for place, term in enumerate(weighted))
        return [column.to_numpy() for column in by_class]

    def _value(self, attribute: Attribute, parameters: AttributeParameters) -> pl.Series:
        """Return the prepared form of each distinct value."""
        if isinstance(parameters, Histogram):
            assert isinstance(attribute, Numeric)
            coded = self._codes(attribute)
            reached = np.searchsorted(bin_starts(attribute, parameters.edges), coded, side="right")
            return pl.Series("value", reached).set(pl.Series(coded == NO_CODE), None)
        if attribute not in self._prepared:
            column = self.columns[attribute.name].values
            value = prepared_value(attribute, parameters, self.kinds[attribute.name]).alias("value")
            self._prepared[attribute] = column.to_frame().select(value).to_series()
        return self._prepared[attribute]

    def _codes(self, attribute: Attribute) -> Integers:
        """Return the grid code or category code of each distinct value."""
        if attribute not in self._coded:
            column = self.columns[attribute.name].values
            self._coded[attribute] = codes(attribute, column, self.kinds[attribute.name])
        return self._coded[attribute]


@dataclass(frozen=True, slots=True, repr=False)
class TrainingRows:
    """Rows of several folds as rows that a release counts. Confidential.

    Attributes:
        statistics: Their statistics.
        parts: The rows, fold by fold.
    """

    statistics: Statistics
    parts: tuple[HeldOut, ...]

    repeatable = True

    def check(self, domain: Domain) -> TrainingRows:
        """Leave out the counts of attributes that the domain has not; the rows were read in theirs."""
        return TrainingRows(self.statistics.only(domain), self.parts)

    def answer(self, query: Query[Any]) -> Any:
        """Ask the rows. Confidential."""
        if isinstance(query, CellQuery):
            return self.statistics
        return reduce(add, (part.answer(query) for part in self.parts))


@dataclass(frozen=True, slots=True, repr=False)
class Fold:
    """One fold: all other rows, and this fold's rows. Confidential."""

    training: TrainingRows
    held_out: HeldOut


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Folds:
    """Rows split at random into folds. Confidential.

    Attributes:
        rows: The rows.
        held_out: Per fold, the rows held out.
        counts: Per attribute, shape (folds, classes, distinct values); under None the classes alone, with one value.
            Whatever bounds a domain declares, its cells are sums of these.
    """

    rows: CodedRows
    held_out: tuple[HeldOut, ...]
    counts: dict[str | None, Integers]

    def training(self, fold: int, domain: Domain) -> Statistics:
        """Compute the statistics of all rows but those of one fold."""
        cells = [self._cells(None, fold, np.zeros(1, dtype=np.int64))]
        cells += [self._cells(each.name, fold, self.rows.codes(each)) for each in domain.attributes]
        return assemble(domain, cells)

    def under(self, domain: Domain) -> list[Fold]:
        """Pair the rows of every fold with all others, whose statistics are computed in a domain as by ``training``."""
        return [Fold(self.training_rows(number, domain), held_out) for number, held_out in enumerate(self.held_out)]

    def training_rows(self, fold: int, domain: Domain) -> TrainingRows:
        """Collect all rows but those of one fold, and their statistics as by ``training``."""
        return TrainingRows(self.training(fold, domain), self.held_out[:fold] + self.held_out[fold + 1 :])

    def _cells(self, name: str | None, fold: int, codes: Integers) -> Cells:
        """Counts of one attribute over the training rows, distinct values of one code side by side."""
        counted = self.counts[name]
        counts = (counted.sum(axis=0) - counted[fold]) * (codes != NO_CODE)
        classes, values = np.nonzero(counts)
        return Cells(name, classes, codes[values], counts[classes, values])


def fold_numbers(rows: int, folds: int, seed: int) -> Integers:
    """Number the fold of each row, at random and nearly equal in size; shape (rows,)."""
    order = np.random.default_rng(seed).permutation(rows)
    fold = np.zeros(rows, dtype=np.int64)
    for number in range(folds):
        fold[order[number::folds]] = number
    return fold


def split(rows: CodedRows, domain: Domain, folds: int, seed: int) -> Folds:
    """Split rows at random into folds of nearly equal size."""
    fold = fold_numbers(rows.size, folds, seed)
    classes = len(domain.classes)
    group = fold * classes + rows.classes
    counts: dict[str | None, Integers] = {
        None: np.bincount(group, minlength=folds * classes).reshape(folds, classes, 1)
    }
    for name, coded in rows.columns.items():
        width = len(coded.values)
        cell = group * width + coded.places
        counts[name] = np.bincount(cell, minlength=folds * classes * width).reshape(folds, classes, width)
    held_out = tuple(HeldOut.of(rows, np.flatnonzero(fold == number)) for number in range(folds))
    return Folds(rows, held_out, counts)


def models(folds: Sequence[Fold], plan: ReleasePlan, seed: int = 0) -> Iterator[NaiveBayes]:
    """Release a model for each fold from the rows of all others, its noise drawn from a seed."""
    for number, fold in enumerate(folds):
        yield carry_out(plan, fold.training, draw=ExactSampler(SeededBits(seed * len(folds) + number)))


def accuracies(folds: Sequence[Fold], plan: ReleasePlan, seed: int = 0) -> list[float]:
    """Compute the accuracy on each fold of a model released from the others, its noise drawn from a seed."""
    pairs = zip(folds, models(folds, plan, seed), strict=True)
    return [fold.held_out.correct(model) / fold.held_out.size for fold, model in pairs]
