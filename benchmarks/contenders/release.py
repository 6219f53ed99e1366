"""From statistics in memory to the text of a model: sensitivities, noise, and what is made of them.

Usage: python -m benchmarks.contenders.release STATISTICS

A release of three rows comes first, so that every library is loaded. Its shares of epsilon are others, so nothing that
depends on them is known beforehand.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.contenders.timed import print_seconds
from dpnb_columnar.budget import Budget
from dpnb_columnar.counting.statistics import Cells, Statistics, assemble
from dpnb_columnar.counting.statistics_files import load_statistics
from dpnb_columnar.domain import read_domain
from dpnb_columnar.mechanisms.plan import plan
from dpnb_columnar.mechanisms.release import release
from dpnb_columnar.model.model_document import to_document, to_json

LOADING = {
    "label": {"column": "class", "classes": ["0", "1"]},
    "attributes": {"number": {"lower": 0, "upper": 1, "step": 1}, "kind": {"values": ["0", "1"]}},
}


def released(statistics: Statistics, epsilon: Fraction) -> str:
    """The text of a model."""
    return to_json(to_document(release(statistics, plan(statistics.domain, Budget(epsilon)))))


def three_rows() -> Statistics:
    """One row of the first class, two of the second."""
    classes, codes, counts = (np.array(values, np.int64) for values in ([0, 1], [0, 1], [1, 2]))
    cells = [Cells(None, classes, np.zeros_like(codes), counts)]
    cells += [Cells(name, classes, codes, counts) for name in ("number", "kind")]
    return assemble(read_domain("loading", LOADING, "release.py"), cells)


if __name__ == "__main__":
    statistics = load_statistics(Path(sys.argv[1]))
    released(three_rows(), Fraction(7, 3))
    print_seconds(lambda: released(statistics, Fraction(1)))
