"""One block of the simulated census: synthetic persons, in columns coded like the IPUMS 1940 full count."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.simulate.lookup import Draws
from dpnb_columnar.simulate.people import draw_people
from dpnb_columnar.simulate.wages import draw_wages
from dpnb_columnar.simulate.work import draw_work

COLUMN_TYPES: Mapping[str, type[np.signedinteger]] = MappingProxyType(
    {
        "URBAN": np.int8,
        "RELATE": np.int8,
        "SEX": np.int8,
        "AGE": np.int16,
        "MARST": np.int8,
        "RACE": np.int8,
        "NATIVITY": np.int8,
        "EDUC": np.int8,
        "EMPSTAT": np.int8,
        "CLASSWKR": np.int8,
        "WKSWORK1": np.int8,
        "HRSWORK1": np.int8,
        "SEI": np.int8,
        "INCWAGE": np.int32,
    }
)
"""Columns in the codebook's order, with types as narrow as their codes."""


def census_block(seed: int, block: int, rows: int) -> dict[str, NDArray[np.signedinteger]]:
    """The rows of one block. They depend on nothing but the three arguments.

    Args:
        seed: Seed of the whole file, not negative.
        block: Index of the block.
        rows: Rows of a full block, a multiple of four.

    Returns:
        Column name to codes of shape (rows,), in the order and types of ``COLUMN_TYPES``.
    """
    draws = Draws(seed, block, rows)
    people = draw_people(draws)
    work = draw_work(draws, people)
    columns: dict[str, NDArray[np.signedinteger]] = {**people, **work, "INCWAGE": draw_wages(draws, people, work)}
    return {name: columns[name].astype(kind, copy=False) for name, kind in COLUMN_TYPES.items()}
