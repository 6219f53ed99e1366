"""The study of running times: seconds against rows, both on logarithmic scales."""

from __future__ import annotations

import math

import polars as pl

from dpnb_columnar.report.figures import Axis, Figure, Panel, Point, Series
from dpnb_columnar.report.methods import listed
from dpnb_columnar.report.styles import STYLES, Style, place, style

DIRECT = Style("ink", "x", (3, 2), 1.4)
"""The look of a method that is no mechanism: the paper's quadratic search."""

STAGES = {"seconds": "From rows to the model", "release_seconds": "From counts to the model"}
"""Columns of the running times, and what they time."""

NOTES = "Median of the times measured; bars reach from the fastest to the slowest. Both scales are logarithmic."


def figures(times: pl.DataFrame) -> list[Figure]:
    """The figure of running times, where there are any.

    Args:
        times: Columns ``rows``, ``method``, ``seconds``, and ``release_seconds`` where it was measured.
    """
    parts = [(title, _condensed(times, column)) for column, title in STAGES.items() if column in times.columns]
    drawn = [(title, _series(frame)) for title, frame in parts if len(frame)]
    if not drawn:
        return []
    x = Axis("rows", "rows", _decades(times["rows"].cast(pl.Float64).to_list()), logarithmic=True)
    y = Axis("seconds", "seconds", logarithmic=True)
    panels = tuple(Panel(title, x, y, series) for title, series in drawn)
    return [Figure("runtime", "Training time", _caption(*drawn[0]), NOTES, panels)]


def _condensed(times: pl.DataFrame, column: str) -> pl.DataFrame:
    """Middle, fastest and slowest time per method and size, sorted."""
    seconds = pl.col(column).cast(pl.Float64)
    return (
        times.filter(seconds > 0, pl.col("rows") > 0)
        .group_by("method", pl.col("rows").cast(pl.Float64))
        .agg(seconds.median().alias("seconds"), seconds.min().alias("low"), seconds.max().alias("high"))
        .sort("method", "rows")
    )


def _series(condensed: pl.DataFrame) -> tuple[Series, ...]:
    """One series per method."""
    return tuple(
        Series(method, style(method) if method in STYLES else DIRECT, _points(condensed, method))
        for method in sorted(condensed["method"].unique(), key=place)
    )


def _decades(places: list[float]) -> tuple[tuple[float, str], ...]:
    """Powers of ten around these places."""
    ends = math.floor(math.log10(min(places))), math.ceil(math.log10(max(places)))
    return tuple((10.0**power, f"{10**power:,}") for power in range(ends[0], ends[1] + 1))


def _points(condensed: pl.DataFrame, method: str) -> tuple[Point, ...]:
    own = condensed.filter(pl.col("method") == method)
    return tuple(
        Point(row["rows"], row["seconds"], row["low"], row["high"], f"{row['seconds']:.3g}")
        for row in own.iter_rows(named=True)
    )


def _caption(title: str, series: tuple[Series, ...]) -> str:
    """The time of the largest run, and how time grows at the large end."""
    told = []
    for line in series:
        last = line.points[-1]
        growth = ""
        if earlier := [point for point in line.points[:-1] if last.x / point.x <= 10] or line.points[-2:-1]:
            first = earlier[0]
            growth = f", growing as rows to the power {math.log(last.y / first.y) / math.log(last.x / first.x):.1f}"
        told.append(f"{line.label} takes {last.y:.2g} s for {last.x:,.0f} rows{growth}")
    return f"{title}: {listed(told)}."
