"""Probabilities of many classes, or from many attributes, in batches of rows whose size bounds the memory.

``scoring`` has one expression per class and attribute, whose results Polars holds for all rows of a batch of its own.
Here a batch is one array, and the tables of an attribute are another: a row costs the same look-ups and additions,
in the same order, so every number is the very number that the expressions give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dpnb_columnar.model.polars_terms import TabulatedTerms, Terms
from dpnb_columnar.model.scoring import LIKELIEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

BATCH = 2**18
"""Numbers of a batch, rows times classes: 2 MiB, which a processor keeps at hand."""


@dataclass(frozen=True, slots=True)
class ScoreBatches:
    """Computes probabilities of frames that hold the attributes' values.

    Attributes:
        priors: Per class, the part of the score that no attribute changes.
        attributes: The terms of each attribute, by the column that holds its values.
        results: Name of each class's column of probabilities.
    """

    priors: Sequence[float]
    attributes: Mapping[str, Terms]
    results: Sequence[str]

    def scored(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Replace the attributes' values of every row by ``LIKELIEST`` and the probabilities."""
        results = {LIKELIEST: pl.UInt32(), **dict.fromkeys(self.results, pl.Float64())}
        schema = {name: type_ for name, type_ in rows.collect_schema().items() if name not in self.attributes}
        tables = {
            name: np.stack([table.to_numpy() for table in terms.tables])
            for name, terms in self.attributes.items()
            if isinstance(terms, TabulatedTerms)
        }

        def score(frame: pl.DataFrame) -> pl.DataFrame:
            return frame.drop(self.attributes).hstack(self._results(frame, tables))

        return rows.map_batches(
            score, predicate_pushdown=False, projection_pushdown=False, streamable=True, schema={**schema, **results}
        )

    def _results(self, frame: pl.DataFrame, tables: Mapping[str, NDArray[np.float64]]) -> list[pl.Series]:
        """Compute the columns of results, batch by batch."""
        likeliest = np.zeros(frame.height, dtype=np.uint32)
        shares = np.empty((len(self.results), frame.height))
        batches = -(-frame.height * len(self.results) // BATCH)
        ends = [frame.height * batch // max(batches, 1) for batch in range(batches + 1)]
        for start, end in pairwise(ends):
            joint = self._joint(frame[start:end], tables)
            joint -= joint.max(axis=0)
            # By Polars, since numpy's exponential rounds otherwise.
            weights = pl.Series(joint.ravel()).exp().to_numpy().reshape(joint.shape)
            part = shares[:, start:end]
            np.divide(weights, _from_first_to_last(weights), out=part)
            classes, rows = np.nonzero(part == part.max(axis=0))
            likeliest[start + rows[::-1]] = classes[::-1]  # of several, the first is written last
        columns = [pl.Series(name, share) for name, share in zip(self.results, shares, strict=True)]
        return [pl.Series(LIKELIEST, likeliest), *columns]

    def _joint(self, frame: pl.DataFrame, tables: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Add up the scores, shape (classes, rows)."""
        joint = np.repeat(np.array(self.priors)[:, None], frame.height, axis=1)
        looked_up = np.empty_like(joint)
        for name, terms in self.attributes.items():
            if name in tables:
                # No place is beyond the table; without a mode numpy would look for one before it writes.
                joint += np.take(tables[name], frame[name].to_numpy(), axis=1, out=looked_up, mode="clip")
            else:
                computed = enumerate(terms.terms(pl.col(name)))
                for term in frame.select(each.alias(str(klass)) for klass, each in computed if each is not None):
                    joint[int(term.name)] += term.to_numpy()
        return joint


def _from_first_to_last(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up the classes of every row, shape (classes, rows), in their order."""
    # Of several rows numpy adds up class after class, but the classes of a single row by pairs, which rounds otherwise.
    total: NDArray[np.float64] = weights.cumsum(axis=0)[-1] if weights.shape[1] == 1 else weights.sum(axis=0)
    return total
