"""Probabilities of many classes, or from many attributes, in batches of rows whose size bounds the memory.

Of few rows as well: Polars takes some microseconds to plan and run each expression, numpy one to run it.

``scoring`` has one expression per class and attribute, whose results Polars holds for all rows of a batch of its own.
Here a batch is one array, and the tables of an attribute are another: a row costs the same look-ups and additions,
in the same order, so every number is the very number that the expressions give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dpnb_columnar.model.likelihood import BELOW_BEST, LEAST_EXPONENT, LineTerms, Pieces
from dpnb_columnar.model.polars_terms import LIKELIEST, SKIPPED, TabulatedTerms, Terms

if TYPE_CHECKING:
    from numpy.typing import NDArray


BATCH = 2**18
"""Numbers of a batch, rows times classes: 2 MiB, which a processor keeps at hand."""


@dataclass(frozen=True)
class ScoreBatches:
    """Computes probabilities of frames that hold the attributes' values.

    Attributes:
        priors: Per class, the part of the score that no attribute changes.
        attributes: The terms of each attribute, by the column that holds its values.
        results: Name of each class's column of probabilities.
        line: What turns scores into weights of the classes; None where their exponentials are.
    """

    priors: Sequence[float]
    attributes: Mapping[str, Terms]
    results: Sequence[str]
    line: LineTerms | None

    @cached_property
    def _tables(self) -> dict[str, NDArray[np.float64]]:
        """The tables of each attribute that has some, shape (classes, places)."""
        return {
            name: np.stack([table.to_numpy() for table in terms.tables])
            for name, terms in self.attributes.items()
            if isinstance(terms, TabulatedTerms)
        }

    def scored(self, rows: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame | pl.LazyFrame:
        """Replace the attributes' values of every row by ``LIKELIEST``, the probabilities, and ``SKIPPED``."""
        if isinstance(rows, pl.DataFrame):
            return self._scored(rows)
        results = {LIKELIEST: pl.UInt32(), **dict.fromkeys(self.results, pl.Float64()), SKIPPED: pl.UInt16()}
        schema = {name: type_ for name, type_ in rows.collect_schema().items() if name not in self.attributes}
        return rows.map_batches(
            self._scored,
            predicate_pushdown=False,
            projection_pushdown=False,
            streamable=True,
            schema={**schema, **results},
        )

    def _scored(self, rows: pl.DataFrame) -> pl.DataFrame:
        shares = np.empty((len(self.results), rows.height))
        likeliest, skipped = self.compute(rows, shares)
        columns = [pl.Series(name, share) for name, share in zip(self.results, shares, strict=True)]
        scored = rows.hstack([pl.Series(LIKELIEST, likeliest), *columns, pl.Series(SKIPPED, skipped)])
        return scored[[name for name in scored.columns if name not in self.attributes]]

    def compute(self, rows: pl.DataFrame, shares: NDArray[np.float64]) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """Compute ``LIKELIEST`` and ``SKIPPED`` of rows, and write their probabilities.

        Args:
            rows: The attributes' values.
            shares: Shape (classes, rows): where the probabilities are written.
        """
        likeliest, skipped = np.zeros(rows.height, dtype=np.uint32), np.zeros(rows.height, dtype=np.uint16)
        batches = -(-rows.height * len(self.results) // BATCH)
        ends = [rows.height * batch // max(batches, 1) for batch in range(batches + 1)]
        for start, end in pairwise(ends):
            joint = self._joint(rows.slice(start, end - start), skipped[start:end])
            weights = exponential(joint - joint.max(axis=0)) if self.line is None else weights_by_line(self.line, joint)
            part = shares[:, start:end]
            np.divide(weights, _from_first_to_last(weights), out=part)
            classes, places = np.nonzero(part == part.max(axis=0))
            likeliest[start + places[::-1]] = classes[::-1]  # of several, the first is written last
        return likeliest, skipped

    def _joint(self, rows: pl.DataFrame, skipped: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Add up the scores, shape (classes, rows), and how many attributes are left out of each row."""
        joint = np.repeat(np.array(self.priors)[:, None], rows.height, axis=1)
        looked_up = np.empty_like(joint)
        for name, terms in self.attributes.items():
            values = rows[name].to_numpy()
            if isinstance(terms, TabulatedTerms):
                skipped += terms.left_out(values)
                # No place is beyond the table; without a mode numpy would look for one before it writes.
                joint += np.take(self._tables[name], values, axis=1, out=looked_up, mode="clip")
                continue
            absent = np.isnan(values)  # or null, which numpy does not know
            if terms.missing is None:
                skipped += absent
            with np.errstate(over="ignore", invalid="ignore"):  # as Polars does
                for klass, term, without in terms.present(values):
                    joint[klass] += np.where(absent, without, term)
        return joint


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
