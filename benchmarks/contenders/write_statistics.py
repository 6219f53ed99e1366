"""Statistics of many numeric attributes and classes, every cell of the grid counted.

Usage: python -m benchmarks.contenders.write_statistics OUTPUT ROWS ATTRIBUTES CLASSES GRID
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.counting.statistics_files import save_statistics
from dpnb_columnar.domain import Domain, read_domain
from dpnb_columnar.sensitivity import RunLengthColumn


def domain_of(attributes: int, classes: int, grid: int) -> Domain:
    """Attributes of ``grid`` cells each."""
    label = {"column": "class", "classes": [str(code) for code in range(classes)]}
    numbers = {f"n{index}": {"lower": 0, "upper": grid, "step": 1} for index in range(attributes)}
    return read_domain("many", {"label": label, "attributes": numbers}, "write_statistics.py")


def column(generator: np.random.Generator, rows: int, grid: int) -> RunLengthColumn:
    """Values in a bell around a centre of its own; no cell is empty as long as there are rows enough."""
    codes = np.arange(grid + 1)
    weights = np.exp(-0.5 * ((codes / grid - generator.uniform(0.3, 0.7)) / 0.25) ** 2)
    spare = max(rows - len(codes), 0)
    counts = generator.multinomial(spare, weights / weights.sum()) + (1 if spare else 0)
    counts[grid // 2] += rows - counts.sum()
    present = counts > 0
    return RunLengthColumn(codes[present].astype(np.int64), counts[present].astype(np.int64))


def main(output: str, rows: int, attributes: int, classes: int, grid: int) -> None:
    """Write them."""
    generator = np.random.default_rng(1940)
    domain, size = domain_of(attributes, classes, grid), rows // classes
    columns = {
        attribute.name: tuple(column(generator, size, grid) for _ in range(classes)) for attribute in domain.numeric
    }
    counts = np.full(classes, size, np.int64)
    save_statistics(Statistics(domain, counts, columns, {}, frozenset()), Path(output))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
