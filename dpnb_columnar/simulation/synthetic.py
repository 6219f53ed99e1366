"""The two synthetic data sets of the paper's appendix: only the numeric, or only the categorical attributes tell.

An attribute tells if its distribution depends on the class.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.domain import Domain, read_domain
from dpnb_columnar.runtime.outputs import atomic_output

if TYPE_CHECKING:
    import polars as pl

NUMBERS = tuple(f"number_{place}" for place in range(1, 6))
CATEGORIES = tuple(f"category_{place}" for place in range(1, 6))
VALUES = ("a", "b", "c", "d")
LABEL = "label"

SHIFT = 0.5
"""Distance between the classes' means of a telling number, in deviations: five of them separate 71 % of the rows."""

SPREAD = 10.0
MIDDLE = 50.0

TELLING = ((0.34, 0.28, 0.22, 0.16), (0.16, 0.22, 0.28, 0.34))
"""Per class, the distribution of a telling category."""


def synthetic_domain(name: str) -> Domain:
    """Declare five numbers in 0..100 to one decimal, five categories of four values, and two classes."""
    numbers = {number: {"lower": 0, "upper": 100, "step": "0.1"} for number in NUMBERS}
    categories = {category: {"values": list(VALUES)} for category in CATEGORIES}
    document = {"label": {"column": LABEL, "classes": ["no", "yes"]}, "attributes": {**numbers, **categories}}
    return read_domain(name, document, "the appendix's synthetic data sets")


def synthetic_rows(rows: int, seed: int, *, numeric: bool) -> pl.DataFrame:
    """Draw independent rows, both classes equally likely.

    Args:
        rows: Number of rows.
        seed: The same seed gives the same rows.
        numeric: Whether the numbers depend on the class; otherwise the categories do.

    Returns:
        Columns ``NUMBERS`` (float64), ``CATEGORIES`` and ``LABEL`` (string).
    """
    import numpy as np
    import polars as pl

    generator = np.random.default_rng(seed)
    yes = generator.random(rows) < 0.5
    columns = {}
    for name in NUMBERS:
        centre = MIDDLE + (SHIFT * SPREAD * (yes - 0.5) if numeric else 0)
        columns[name] = np.round(np.clip(generator.normal(centre, SPREAD, rows), 0, 100), 1)
    ends = np.cumsum(TELLING, axis=1)
    flat = np.arange(1, len(VALUES) + 1) / len(VALUES)
    for name in CATEGORIES:
        place = (generator.random(rows)[:, None] >= (flat if numeric else ends[yes.astype(int)])[..., :-1]).sum(axis=1)
        columns[name] = np.array(VALUES)[place]
    columns[LABEL] = np.where(yes, "yes", "no")
    return pl.DataFrame(columns)


def write_synthetic(output: Path, rows: int, seed: int, *, numeric: bool) -> None:
    """Draw rows as ``synthetic_rows`` does, and write them as Parquet.

    Raises:
        OutputError: if the output exists, or cannot be written.
    """
    with atomic_output(output) as partial:
        synthetic_rows(rows, seed, numeric=numeric).write_parquet(partial)
