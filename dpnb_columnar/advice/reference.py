"""What a rehearsal works on: expected counts of a made-up population, and a sample of it to score models on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.advice.population import Population, whole
from dpnb_columnar.aggregation.statistics import Cells, Statistics, assemble

Integers = NDArray[np.int64]

SAMPLE_ROWS = 10_000
SEED = 2021


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Rows of a made-up population. Nobody's: they are as public as the domain.

    Attributes:
        classes: Shape (rows,), int64: class codes.
        places: Per attribute, shape (rows,), int64: position of each row's code among the distribution's.
    """

    classes: Integers
    places: Mapping[str, Integers]

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.classes)


def expected_statistics(population: Population, rows: int) -> Statistics:
    """The expected counts of exactly ``rows`` rows, whole numbers."""
    class_counts = whole(population.class_shares, rows)
    classes = np.arange(len(class_counts))
    cells = [Cells(None, classes, np.zeros_like(classes), class_counts)]
    for name, distribution in population.distributions.items():
        for number, (cumulative, size) in enumerate(zip(distribution.cumulative, class_counts, strict=True)):
            counts = whole(cumulative, int(size))
            present = counts > 0
            codes = distribution.codes[present]
            cells.append(Cells(name, np.full_like(codes, number), codes, counts[present]))
    return assemble(population.domain, cells)


def sample(population: Population) -> Sample:
    """Rows of the population: the expected counts of every attribute, put together at random, always alike."""
    generator = np.random.default_rng(SEED)
    class_counts = whole(population.class_shares, SAMPLE_ROWS)
    places = {
        name: np.concatenate(
            [
                generator.permutation(np.repeat(np.arange(len(distribution.codes)), whole(cumulative, int(size))))
                for cumulative, size in zip(distribution.cumulative, class_counts, strict=True)
            ]
        )
        for name, distribution in population.distributions.items()
    }
    return Sample(np.repeat(np.arange(len(class_counts)), class_counts), places)
