"""Columns of weights of every type, with what is no weight among them, and declarations to count them by."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from dpnb_columnar.domain import Domain
from support.people import PEOPLE, people, people_domain

WEIGHTS = [
    pl.Series([0, 1, 7, 399, 400, 401, 10**9, -1, -(10**9), None], dtype=pl.Int64),
    pl.Series([0, 1, 7, 200, 255, None], dtype=pl.UInt8),
    pl.Series([2**64 - 1, 3, 0], dtype=pl.UInt64),
    pl.Series([0.0, -0.0, 0.4999999, 0.5, 1.5, 399.4, 399.5, 1e300, -1e-300, 5e-324], dtype=pl.Float64),
    pl.Series([float("inf"), float("-inf"), float("nan"), None, 12.25], dtype=pl.Float64),
    pl.Series([0.1, 0.7, 2.5], dtype=pl.Float32),
    pl.Series(["12", " 3.5 ", "-1", "", "x", "inf", "NaN", "1e2", "0" * 70, None], dtype=pl.String),
    pl.Series([Decimal("1.25"), Decimal("-0.01"), Decimal("3.75"), None], dtype=pl.Decimal(12, 2)),
    pl.Series([True, False, None], dtype=pl.Boolean),
]
RULES: list[dict[str, Any]] = [
    {"cap": 400},
    {"cap": 2, "step": "0.01", "missing": "0.07"},
    {"cap": 399, "step": 7, "missing": 14},
]


def weighted_domain(cap: int = 400, step: int = 1, **more: Any) -> Domain:
    """The domain of people whose column ``w`` says how many persons a row stands for."""
    return people_domain({**PEOPLE, "weight": {"column": "w", "cap": cap, "step": step}, **more})


def weighted_people(rows: int = 600) -> pl.DataFrame:
    """Rows of the class ``high`` stand for ten times as many persons as the others do; six letters say nothing."""
    letters = {f"a{place}": pl.Series(np.random.default_rng(place).choice(["x", "y"], rows)) for place in range(6)}
    return people(rows).with_columns(w=pl.when(income=pl.lit("high")).then(200).otherwise(20), **letters)
