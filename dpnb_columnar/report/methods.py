"""How methods are told apart and named: a mechanism, its noise, and what its delta is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from dpnb_columnar.report.averages import METHOD
from dpnb_columnar.report.styles import BASELINES, place

PURE = "0"
"""Delta of pure differential privacy."""

WITHIN = 0.01
"""Accuracies closer than this count as the same in sentences."""

Method = tuple[str, str | None, str]
"""Mechanism, noise and delta."""


def private(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of mechanisms that are no baselines and have an epsilon."""
    return frame.filter(~pl.col("mechanism").is_in(BASELINES), pl.col("epsilon").is_not_null())


def pure(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of private mechanisms without a delta."""
    return private(frame).filter(pl.col("delta") == PURE)


def names(frame: pl.DataFrame) -> Mapping[Method, str]:
    """What the methods of these rows are called, in the order of legends.

    The noise is named where a delta needs it, or where the mechanism takes several.
    """
    found: list[Method] = [tuple(row) for row in frame.select(METHOD).unique().iter_rows()]
    found.sort(key=lambda method: (place(method[0]), method[2] != PURE, method[2], method[1] or ""))
    alone = [mechanism for mechanism, _, delta in found if delta == PURE]
    return {
        (mechanism, noise, delta): f"{mechanism}, {noise}"
        if noise and (delta != PURE or alone.count(mechanism) > 1)
        else mechanism
        for mechanism, noise, delta in found
    }


def rows_of(frame: pl.DataFrame, method: Method) -> list[dict[str, Any]]:
    """The rows of one method."""
    mechanism, noise, delta = method
    return frame.filter(
        pl.col("mechanism") == mechanism, pl.col("noise").eq_missing(pl.lit(noise)), pl.col("delta") == delta
    ).to_dicts()


def listed(names: list[str]) -> str:
    """Words as a sentence lists them."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
