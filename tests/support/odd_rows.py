"""Rows of ``people`` as different as they come: whatever is public must be the same for all of them."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from support.people import TYPES, people

ROWS: Mapping[str, pl.DataFrame] = {
    "none": pl.DataFrame(schema=TYPES),
    "one": people(1),
    "many": people(10_000),
    "all null": pl.DataFrame({name: [None] * 100 for name in TYPES}, schema=TYPES),
    "one class only": people(1000).with_columns(income=pl.lit("low")),
    "one value only": people(1000).with_columns(age=pl.lit(40), hours=pl.lit(40), sex=pl.lit("f")),
    "no declared class": people(1000).with_columns(income=pl.lit("middling")),
    "no declared category": people(1000).with_columns(sex=pl.lit("x")),
    "far outside the bounds": people(1000).with_columns(age=pl.lit(2**62), hours=pl.lit(-(2**62))),
}
