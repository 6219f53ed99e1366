"""Probabilities in batches of rows, whose size bounds the memory however many classes and attributes there are.

Polars reads the values of the attributes, each by its own expression: places in tables, or numbers. Here a batch of
scores is one array, to which each attribute adds a look-up per row and class, or a formula, in the model's order.

The terms of an attribute: tables, and the formula of one that a table would not fit.

Polars reads a row's place in the tables, or its number, by an expression that looks at one row only. Where a column can
hold only few values that differ in their terms, the terms of each value are computed once, by the expressions below,
and stand in tables: a row then costs one look-up per class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dpnb_columnar.domain import Attribute, Categorical, Numeric, Transform
from dpnb_columnar.domain.column_kinds import Kind, kind_of
from dpnb_columnar.model.likelihood import (
    BELOW_BEST,
    LEAST_EXPONENT,
    LineTerms,
    NormalTerms,
    Pieces,
    Values,
    bin_starts,
    cell_terms,
    missing_terms,
    normal_terms,
)
from dpnb_columnar.model.parameters import AttributeParameters, Histogram, Normal
from dpnb_columnar.model.query_noise import QUANTILE
from dpnb_columnar.rows.row_rules import (
    MOST_STEPPED,
    category_code,
    column,
    grid_code,
    number,
    numbered_values,
    once_per_entry,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpnb_columnar.model.probability_intervals import ScoreNoise


MOST_CELLS = 2**17
"""Most numbers in the tables of an attribute, values times classes: 1 MiB, which a processor keeps at hand."""

VALUE = "value"

SKIPPED = "skipped"
"""Column of scored rows: how many attributes a row's score leaves out."""


def prepared_value(attribute: Attribute, parameters: AttributeParameters, kind: Kind) -> pl.Expr:
    """Read the number on the attribute's scale, the category's code or the bin; null where it is to be left out."""
    if isinstance(attribute, Categorical):
        return category_code(attribute, kind)
    if isinstance(parameters, Histogram):
        code, starts = grid_code(attribute, kind), bin_starts(attribute, parameters.edges)
        if attribute.cells < MOST_STEPPED:
            bins = np.searchsorted(starts, np.arange(attribute.cells + 1), side="right")
            return pl.lit(pl.Series(bins)).gather(code)
        reached = [(code >= start).cast(pl.Int64) for start in starts]
        return pl.sum_horizontal(code * 0, *reached, ignore_nulls=False)
    value = number(attribute.name, kind, attribute.missing_values).clip(float(attribute.lower), float(attribute.upper))
    return value.log1p() if attribute.transform is Transform.LOG1P else value


def terms(attribute: Attribute, parameters: AttributeParameters, value: pl.Expr, weight: float = 1.0) -> list[pl.Expr]:
    """Compute the prepared value's weighted log-likelihood within each class, up to a number common to all.

    Where the value is null, the terms are those of a missing value, or null if it leaves the attribute out.
    """
    if isinstance(parameters, Normal):
        assert isinstance(attribute, Numeric)
        present = normal_terms(attribute, parameters, weight).of(value)
    else:
        present = [pl.lit(pl.Series(row)).gather(value) for row in cell_terms(parameters, weight)]
    missing = missing_terms(parameters, weight)
    if missing is None:
        return present
    return [term.fill_null(without) for term, without in zip(present, missing, strict=True)]


@dataclass(frozen=True, slots=True)
class ComputedTerms:
    """Terms of a normal attribute, computed for every row.

    Attributes:
        value: The number on the attribute's scale, as read from the row.
        formula: The terms of a number.
        missing: Per class, the term where there is none; None where the attribute is then left out.
    """

    value: pl.Expr
    formula: NormalTerms
    missing: Sequence[float] | None

    def present(self, value: Values) -> Iterator[tuple[int, Values, float]]:
        """Yield each class but that of no terms, its term of a value, and its term where there is none."""
        absent = [0.0] * len(self.formula.mean) if self.missing is None else self.missing
        for klass, (term, without) in enumerate(zip(self.formula.of(value), absent, strict=True)):
            if klass != self.formula.reference:
                yield klass, term, without


@dataclass(frozen=True, slots=True)
class TabulatedTerms:
    """Terms that are looked up.

    Attributes:
        value: The place in the tables, as read from the row; at most the last, which holds 0.0.
        tables: Per class, the term of every place.
        first, last: The places between which no attribute is left out; all others are left out.
        prepared: Of every place, the value that the terms are of: a category's code or a bin, say; null for none.
    """

    value: pl.Expr
    tables: list[pl.Series]
    first: int
    last: int
    prepared: pl.Series

    def left_out(self, place: NDArray[Any]) -> Any:
        """Say whether the attribute is left out of rows with these places, which are unsigned: shape (rows,)."""
        return place - self.first > self.last - self.first  # what is before the first is far behind the last


Terms = ComputedTerms | TabulatedTerms


def attribute_terms(
    attribute: Attribute, parameters: AttributeParameters, weight: float, kind: Kind, type_: pl.DataType
) -> Terms:
    """Choose how an attribute's terms are obtained from a column."""
    classes = len(parameters.mean if isinstance(parameters, Normal) else parameters.probability)
    if (numbered := numbered_values(attribute, type_, MOST_CELLS // classes)) is not None:
        return _tabulated_by_value(attribute, parameters, weight, *numbered)
    value = once_per_entry(attribute, type_, prepared_value(attribute, parameters, kind))
    if isinstance(parameters, Normal):
        assert isinstance(attribute, Numeric)
        formula = normal_terms(attribute, parameters, weight)
        return ComputedTerms(value, formula, missing_terms(parameters, weight))
    size = len(parameters.probability[0])
    codes = pl.DataFrame({VALUE: [*range(size), None]})
    tables = codes.select(_numbered(terms(attribute, parameters, pl.col(VALUE), weight)))
    last = size - 1 if missing_terms(parameters) is None else size
    return _tabulated(value.fill_null(size), tables, 0, last, codes[VALUE])


def _tabulated_by_value(
    attribute: Attribute, parameters: AttributeParameters, weight: float, number: pl.Expr, values: pl.Series
) -> TabulatedTerms:
    """Tabulate values themselves, by their numbers (``value_codes.numbered_values``)."""
    kind, size = kind_of(values.dtype), len(values) - 1
    assert kind is not None
    known = values.to_frame().select(prepared_value(attribute, parameters, kind).alias(VALUE))
    tables = known.select(_numbered(terms(attribute, parameters, pl.col(VALUE), weight)))
    place, fits = number.cast(pl.UInt32, wrap_numerical=True).fill_null(size), tables.to_series().is_not_null()
    if fits.any() and fits.arg_true()[-1] - fits.arg_true()[0] < fits.sum():
        return _tabulated(place, tables, fits.arg_true()[0], fits.arg_true()[-1], known[VALUE])
    # What is left out has places between the others: it is sent to a place of its own, behind them all.
    places = known.select(pl.when(fits).then(pl.int_range(pl.len(), dtype=pl.UInt32)).otherwise(size + 1)).to_series()
    return _tabulated(pl.lit(places).gather(place), tables, 0, size, known[VALUE])


def _tabulated(place: pl.Expr, tables: pl.DataFrame, first: int, last: int, prepared: pl.Series) -> TabulatedTerms:
    """Close tables of terms, one column per class, with a place for what is left out."""
    left_out = pl.DataFrame({name: [0.0] for name in tables.columns})
    closed = tables.fill_null(0.0).vstack(left_out).rechunk().get_columns()
    place, prepared = place.cast(pl.UInt32, wrap_numerical=True), prepared.extend_constant(None, 1)
    return TabulatedTerms(place, closed, first, last, prepared)


def _numbered(classes: list[pl.Expr]) -> list[pl.Expr]:
    return [term.alias(str(klass)) for klass, term in enumerate(classes)]


BATCH = 2**18
"""Numbers of a batch, rows times classes: 2 MiB, which a processor keeps at hand."""


@dataclass(frozen=True)
class ScoreBatches:
    """Computes probabilities of rows of some types. A model keeps it: to make one takes longer than to score ten rows.

    Attributes:
        priors: Per class, the part of the score that no attribute changes.
        attributes: The terms of each attribute.
        results: Name of each class's column of probabilities; with ``noise`` then of the lower ends of their intervals,
            then of the upper ends.
        line: What turns scores into weights of the classes; None where their exponentials are.
        noise: What the noise leaves known of the scores; None where no intervals are asked for.
    """

    priors: Sequence[float]
    attributes: Sequence[Terms]
    results: Sequence[str]
    line: LineTerms | None
    noise: ScoreNoise | None = None

    @cached_property
    def _tables(self) -> list[tuple[slice, NDArray[np.float64]]]:
        """The tables of each attribute, shape (classes, places), and between which classes some number is not 0."""
        tables = []
        for terms in self.attributes:
            table = np.stack([each.to_numpy() for each in terms.tables] if isinstance(terms, TabulatedTerms) else [()])
            classes = np.flatnonzero(table.any(axis=1))
            tables.append((slice(classes[0], classes[-1] + 1) if len(classes) else slice(0), table))
        return tables

    @cached_property
    def _read(self) -> list[pl.Expr]:
        """The values of each attribute; of none, as many as there are rows, which would be lost otherwise."""
        values = [terms.value for terms in self.attributes] or [pl.int_range(pl.len())]
        return [value.alias(_value(place)) for place, value in enumerate(values)]

    def scored(
        self, rows: pl.DataFrame | pl.LazyFrame, keep: Collection[str], words: Mapping[str, Sequence[str]]
    ) -> pl.DataFrame | pl.LazyFrame:
        """Compute the probabilities of every row, and ``SKIPPED``."""
        types = {**dict.fromkeys(words, pl.String()), **dict.fromkeys(self.results, pl.Float64()), SKIPPED: pl.UInt16()}
        texts = list(map(pl.Series, words.values()))

        def compute(values: pl.DataFrame) -> Sequence[NDArray[Any] | pl.Series]:
            shares = np.empty((len(self.results), values.height))
            likeliest, skipped = self._scores(values, shares)
            return [*(each.gather(likeliest) for each in texts), *shares, skipped]

        return self._computed_columns(rows, keep, compute, types)

    def explained(
        self,
        rows: pl.DataFrame | pl.LazyFrame,
        keep: Collection[str],
        words: Mapping[str, Sequence[str]],
        numbers: Mapping[str, pl.DataType],
        names: Sequence[str],
        top: int | None,
    ) -> pl.DataFrame | pl.LazyFrame:
        """Compute what ``explanation`` says of every row."""
        texts, said = list(map(pl.Series, words.values())), pl.Series(names, dtype=pl.String)

        def compute(values: pl.DataFrame) -> Sequence[NDArray[Any] | pl.Series]:
            predicted, other, *computed = self._explanations(values, said, top)
            return [*(each.gather(predicted) for each in texts[:-1]), texts[-1].gather(other), *computed]

        return self._computed_columns(rows, keep, compute, {**dict.fromkeys(words, pl.String()), **numbers})

    def _computed_columns(
        self,
        rows: pl.DataFrame | pl.LazyFrame,
        keep: Collection[str],
        compute: Callable[[pl.DataFrame], Sequence[NDArray[Any] | pl.Series]],
        results: Mapping[str, pl.DataType],
    ) -> pl.DataFrame | pl.LazyFrame:
        """Return the kept columns, and columns that are computed of the attributes' values."""
        # Kept columns wait under names of ours, so that no name of theirs is that of a value.
        waiting = {name: f"__kept_{index}" for index, name in enumerate(keep)}

        def computed(part: pl.DataFrame) -> pl.DataFrame:
            columns = zip(results.items(), compute(part), strict=True)
            # By a dictionary: a column without a name would be given one.
            return pl.DataFrame(
                {name: part[alias] for name, alias in waiting.items()}
                | {name: pl.Series(values, dtype=type_) for (name, type_), values in columns}
            )

        values = rows.select(*(column(name).alias(alias) for name, alias in waiting.items()), *self._read)
        if isinstance(values, pl.DataFrame):
            return computed(values)
        types = values.collect_schema()
        return values.map_batches(
            computed,
            predicate_pushdown=False,
            projection_pushdown=False,
            streamable=True,
            schema={**{name: types[alias] for name, alias in waiting.items()}, **results},
        )

    def _explanations(
        self, rows: pl.DataFrame, words: pl.Series, top: int | None
    ) -> Sequence[NDArray[Any] | pl.Series]:
        """Compute the classes p and o of every row, and the parts of the logarithm of their odds (``explanation``)."""
        predicted, other = np.zeros((2, rows.height), dtype=np.uint32)
        log_odds, skipped = np.empty(rows.height), np.zeros(rows.height, dtype=np.uint16)
        for start, end in self._batches(rows.height):
            joint = self._joint(rows.slice(start, end - start), skipped[start:end])
            weights, places = self._weights(joint), np.arange(end - start)
            first = (weights / _from_first_to_last(weights)).argmax(axis=0)
            rivals = joint.copy()
            rivals[first if self.line is None else self.line.largest, places] = -np.inf
            second = rivals.argmax(axis=0)
            if self.line is not None:
                second = np.where(first == self.line.largest, second, self.line.largest)
            predicted[start:end], other[start:end] = first, second
            log_odds[start:end] = joint[first, places] - joint[second, places]
        priors = np.array(self.priors)
        prior = priors[predicted] - priors[other]
        bits = np.empty((len(words), rows.height))
        for place in range(len(words)):
            bits[place] = self._difference(place, rows[_value(place)].to_numpy(), predicted, other)
        if self.line is not None:
            sign = np.where(predicted == self.line.largest, -1.0, 1.0)
            log_odds, prior, factor = _calibrated(self.line.odds, sign, log_odds, prior, bits.sum(axis=0))
            bits *= factor
        for part in (log_odds, prior, bits):
            part *= 1 / math.log(2)
        return [predicted, other, log_odds, prior, *_said(bits, words, top), skipped]

    def _difference(
        self, place: int, values: NDArray[Any], one: NDArray[np.uint32], other: NDArray[np.uint32]
    ) -> NDArray[np.float64]:
        """Subtract an attribute's terms within two classes of every row."""
        terms = self.attributes[place]
        if isinstance(terms, TabulatedTerms):
            _, table = self._tables[place]
            looked_up: NDArray[np.float64] = table[one, values] - table[other, values]
            return looked_up
        difference = np.zeros(len(values))
        for klass, term in _computed(terms, values):
            difference += np.where(one == klass, term, 0) - np.where(other == klass, term, 0)
        return difference

    def _scores(self, rows: pl.DataFrame, shares: NDArray[np.float64]) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """Compute the likeliest class and ``SKIPPED`` of rows; write probabilities, and their ends, to ``shares``."""
        likeliest, skipped = np.zeros(rows.height, dtype=np.uint32), np.zeros(rows.height, dtype=np.uint16)
        for start, end in self._batches(rows.height):
            batch = rows.slice(start, end - start)
            weights = self._weights(self._joint(batch, skipped[start:end]))
            part = shares[: len(self.priors), start:end]
            np.divide(weights, _from_first_to_last(weights), out=part)
            largest = part.max(axis=0)
            for klass in reversed(range(len(part))):  # of several, the first is written last; argmax takes longer
                np.copyto(likeliest[start:end], klass, where=part[klass] == largest)
            if self.noise is not None:
                mean, variance = self._noisy_scores(batch, self.noise)
                shares[len(self.priors) :, start:end] = np.vstack(interval_ends(mean, variance, self.line))
        return likeliest, skipped

    def _weights(self, joint: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn scores into weights of the classes, shape (classes, rows)."""
        return exponential(joint - joint.max(axis=0)) if self.line is None else weights_by_line(self.line, joint)

    def _batches(self, height: int) -> Iterator[tuple[int, int]]:
        """Divide rows into batches, each of them its first row and the one behind its last."""
        batches = -(-height * len(self.results) // BATCH)
        return pairwise(height * batch // max(batches, 1) for batch in range(batches + 1))

    def _joint(self, rows: pl.DataFrame, skipped: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Add up the scores, shape (classes, rows), and how many attributes are left out of each row."""
        joint = np.repeat(np.array(self.priors)[:, None], rows.height, axis=1)
        looked_up = np.empty_like(joint)
        for place, terms in enumerate(self.attributes):
            values = rows[_value(place)].to_numpy()
            if isinstance(terms, TabulatedTerms):
                skipped += terms.left_out(values)
                classes, table = self._tables[place]
                # No place is beyond the table; without a mode numpy would look for one before it writes.
                joint[classes] += np.take(table[classes], values, axis=1, out=looked_up[classes], mode="clip")
                continue
            if terms.missing is None:
                skipped += np.isnan(values)
            for klass, term in _computed(terms, values):
                joint[klass] += term
        return joint

    @cached_property
    def _noisy_tables(self) -> list[NDArray[np.float64]]:
        """Mean and variance of each attribute's terms, class after class, of every place."""
        assert self.noise is not None
        tables = []
        for terms, noisy in zip(self.attributes, self.noise.attributes, strict=True):
            assert isinstance(terms, TabulatedTerms)
            cells = terms.prepared.fill_null(noisy.mean.shape[1] - 1).to_numpy()
            left_out = terms.left_out(np.arange(len(cells), dtype=np.uint32))
            tables.append(np.where(left_out, 0.0, np.vstack([noisy.mean, noisy.variance])[:, cells]))
        return tables

    def _noisy_scores(self, rows: pl.DataFrame, noise: ScoreNoise) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Add up the means of the scores and their variances, each of shape (classes, rows)."""
        both = np.repeat(np.concatenate([noise.mean, noise.variance])[:, None], rows.height, axis=1)
        looked_up = np.empty_like(both)
        for place, table in enumerate(self._noisy_tables):
            both += np.take(table, rows[_value(place)].to_numpy(), axis=1, out=looked_up, mode="clip")
        return both[: len(noise.mean)], both[len(noise.mean) :]


def _value(place: int) -> str:
    """Return the name of the column with the values of an attribute."""
    return f"__value_{place}"


def _computed(terms: ComputedTerms, values: NDArray[np.float64]) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield each class but that of no terms, and its term in every row."""
    absent = np.isnan(values)  # or null, which numpy does not know
    with np.errstate(over="ignore", invalid="ignore"):  # as Polars does
        for klass, term, without in terms.present(values):
            yield klass, np.where(absent, without, term)


def _calibrated(
    odds: Pieces,
    sign: NDArray[np.float64],
    score: NDArray[np.float64],
    prior: NDArray[np.float64],
    evidence: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Carry odds of two classes and their prior through the line; compute what multiplies the evidence."""
    margins = sign * np.stack([score, prior])
    place = np.searchsorted(odds.starts, margins, side="right")
    log_odds, base = sign * _at(odds, place, margins)
    slopes = np.array(odds.slopes)
    with np.errstate(over="ignore"):
        mean = np.divide(log_odds - base, evidence, out=np.zeros_like(base), where=evidence != 0)
    # A mean of slopes, as far as rounding lets the quotient be one; within a piece the slope itself.
    return log_odds, base, np.where(place[0] == place[1], slopes[place[0]], mean.clip(0, slopes.max()))


def _said(bits: NDArray[np.float64], words: pl.Series, top: int | None) -> Iterator[NDArray[np.float64] | pl.Series]:
    """Yield the bits of all attributes, or the names and bits of those that said most and the sum of the others."""
    if top is None:
        yield from bits
        return
    order = np.argsort(-np.abs(bits), axis=0, kind="stable")
    most = np.take_along_axis(bits, order[:top], axis=0)
    for places, each in zip(order, most, strict=False):
        yield words.gather(places)
        yield each
    yield np.take_along_axis(bits, order[top:], axis=0).sum(axis=0)


WIDER = 1.05
"""Of an interval of two classes: what scores have of skewness that a normal distribution leaves out. Simulated
(docs/journal/accuracy.md)."""


def interval_ends(
    mean: NDArray[np.float64], variance: NDArray[np.float64], line: LineTerms | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the ends of each probability's interval from nearly normal scores, shape (classes, rows).

    Of two classes the margin has an interval, and what the line makes of its ends are those of the probability; of more
    probabilities are no function of one number: they have those of draws of the scores, the same for all rows.
    """
    if len(mean) == 2:
        half = WIDER * QUANTILE * np.sqrt(variance.sum(axis=0))
        moved = np.zeros_like(mean)
        ends = []
        for sign in (-1, 1):
            moved[1] = mean[1] - mean[0] + sign * half
            ends.append(_probability(moved, line)[1])
        return np.stack([1 - ends[1], ends[0]]), np.stack([1 - ends[0], ends[1]])
    deviation = np.sqrt(variance)
    parts: list[NDArray[np.float64]] = [np.empty((len(mean), 2, 0))]
    for start in range(0, mean.shape[1], DRAWN_ROWS):
        rows = slice(start, start + DRAWN_ROWS)
        drawn = mean[:, None, rows] + _draws(len(mean))[:, :, None] * deviation[:, None, rows]
        shares = _probability(drawn.reshape(len(mean), -1), line).reshape(drawn.shape)
        shares.sort(axis=1)
        parts.append(shares[:, [OUTSIDE, DRAWS - 1 - OUTSIDE]])
    both = np.concatenate(parts, axis=2)
    return both[:, 0], both[:, 1]


DRAWS, OUTSIDE = 80, 1
"""Of the scores of a row of more than two classes, and how many lie beyond each end of an interval."""

DRAWN_ROWS = 2**11
"""Rows whose draws are held at once."""


@lru_cache(maxsize=16)
def _draws(classes: int) -> NDArray[np.float64]:
    """Draw standard normal numbers, shape (classes, DRAWS), with their opposites: the same for all rows."""
    from scipy import special

    bits = np.random.Generator(np.random.PCG64(0))
    uniform = (bits.permuted(np.tile(np.arange(DRAWS // 2), (classes, 1)), axis=1) + 0.5) / (DRAWS // 2)
    half = special.ndtri(uniform)
    drawn: NDArray[np.float64] = np.hstack([half, -half])
    return drawn


def _probability(scores: NDArray[np.float64], line: LineTerms | None) -> NDArray[np.float64]:
    weights = np.exp(scores - scores.max(axis=0)) if line is None else weights_by_line(line, scores)
    probability: NDArray[np.float64] = weights / weights.sum(axis=0)
    return probability


def exponential(exponents: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute exponentials by Polars, since numpy rounds otherwise."""
    return pl.Series(exponents.ravel()).exp().to_numpy().reshape(exponents.shape)


def weights_by_line(line: LineTerms, joint: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn scores into weights of the classes (``LineTerms``), shape (classes, rows)."""
    others = list(line.others)
    scores = joint[others]
    margin = scores.max(axis=0) - joint[line.largest]
    place = np.searchsorted(line.odds.starts, margin, side="right")
    odds = exponential(_at(line.odds, place, margin))
    weights = np.ones_like(joint)
    if line.rest is None:
        weights[others] = odds
        return weights
    likely = line.evidence * scores + np.array(line.constants)[:, None]
    likely = exponential(np.maximum(likely - likely.max(axis=0), LEAST_EXPONENT))
    is_best = np.arange(len(others))[:, None] == scores.argmax(axis=0)  # the first of equal ones
    likely = np.where(is_best, 0, likely)
    shared = exponential(_at(line.rest, place, margin)) * (1 / _from_first_to_last(likely))
    weights[others] = np.where(is_best, odds, np.minimum(BELOW_BEST * odds, shared * likely))
    return weights


def _at(pieces: Pieces, place: NDArray[np.int64], margin: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute a function of margins that lie in the pieces of some places."""
    value, slope, origin = (np.array(column)[place] for column in (pieces.values, pieces.slopes, pieces.origins))
    result: NDArray[np.float64] = value + slope * (margin - origin)
    return result


def _from_first_to_last(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up the classes of every row, shape (classes, rows), in their order."""
    # Of several rows numpy adds up class after class, but the classes of a single row by pairs, which rounds otherwise.
    total: NDArray[np.float64] = weights.cumsum(axis=0)[-1] if weights.shape[1] == 1 else weights.sum(axis=0)
    return total
