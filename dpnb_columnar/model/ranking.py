"""Area under the ROC curve of one class against the rest, in memory that does not grow with the rows.

Rows are counted in bins of the class's log-odds; rows of one bin count as tied. CONFIDENTIAL.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import polars as pl

from dpnb_columnar.model.intervals import QUANTILE, Interval

RESOLUTION = 8192
"""Bins for each unit of the inverse hyperbolic sine of the log-odds: next to zero a bin is 1/8192 wide, at log-odds x
about x/8192."""

LARGEST_LOG_ODDS = 746.0
"""Above the logarithm of every ratio of positive floats of which the larger is at most 1: with ``RESOLUTION`` there are
at most 2 asinh(746) 8192, or 120,000, bins."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """How well a class's probability ranks its own rows before all others. Confidential.

    Attributes:
        area: Area under the ROC curve: the probability that a row of the class has a larger probability of it than
            another row has, where a tie counts as one half.
        error: Bound on the part of the area's error that binning causes; 0 where no bin holds rows of both kinds with
            different log-odds.
        interval: Confidence interval of the area, None where either kind has fewer than two rows.
    """

    area: float
    error: float
    interval: Interval | None


def binned(
    scored: pl.LazyFrame, own: pl.Expr, probability: pl.Expr, others: Sequence[pl.Expr], sums: Sequence[pl.Expr] = ()
) -> pl.LazyFrame:
    """Count rows in bins of a class's log-odds.

    The log-odds rank as the class's probability does, but where it rounds to 1, and they keep rows apart.

    Args:
        scored: Scored rows.
        own: Whether a row is of the class.
        probability: The class's probability.
        others: The probabilities of all other classes.
        sums: More sums over columns of the scored rows.

    Returns:
        Per bin and kind of row: ``bin``, ``own``, ``rows``, the ``least`` and ``largest`` log-odds, and ``sums``.
    """
    odds = (probability.log() - reduce(add, others).log()).clip(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
    place = (pl.col("odds").arcsinh() * RESOLUTION).floor().cast(pl.Int32)
    counts = pl.len().cast(pl.Int64).alias("rows"), pl.col("odds").min().alias("least")
    return (
        scored.select(own.alias("own"), odds.alias("odds"), *{name for each in sums for name in each.meta.root_names()})
        .group_by("own", place.alias("bin"))
        .agg(*counts, pl.col("odds").max().alias("largest"), *sums)
    )


def score_counts(bins: pl.DataFrame, edges: Sequence[float]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Count rows between public edges of the log-odds: those of other classes, then the class's own.

    Args:
        bins: The frame that ``binned`` describes; its bins are far narrower.
        edges: Rising; the first bin ends at the first, the last begins above the last.
    """
    place = pl.sum_horizontal((pl.col("least") > edge).cast(pl.Int64) for edge in edges)
    counts = bins.group_by("own", place.alias("place")).agg(pl.col("rows").sum())
    known = {(own, bin_): rows for own, bin_, rows in counts.rows()}
    return (
        tuple(known.get((False, bin_), 0) for bin_ in range(len(edges) + 1)),
        tuple(known.get((True, bin_), 0) for bin_ in range(len(edges) + 1)),
    )


def ranking(bins: pl.DataFrame) -> Ranking | None:
    """Compute the area under the ROC curve and its interval from ``binned`` rows.

    With the bins in order, P and N rows of the class and of all others, p and n of them in a bin and P' and N' in all
    bins before it: the area is the mean over the class's rows of v = (N' + n/2) / N, which is that over the other rows
    of w = (P - P' - p/2) / P. Its variance is estimated by var(v) / P + var(w) / N (DeLong, DeLong and Clarke-Pearson
    1988, Biometrics 44; in one pass over sorted scores, Sun and Xu 2014, IEEE Signal Processing Letters 21), and the
    interval is the normal one, cut at 0 and 1. It has no width where all rows are ranked without a fault.

    Args:
        bins: The frame that ``binned`` describes.

    Returns:
        The area; None where all rows are of one kind.
    """
    own, rows = pl.col("own"), pl.col("rows")
    both = bins.group_by("bin").agg(
        rows.filter(own).sum().alias("p"),
        rows.filter(~own).sum().alias("n"),
        (pl.col("least").min() < pl.col("largest").max()).alias("mixed"),
    )
    p, n = pl.col("p"), pl.col("n")
    # Whole numbers, 2 N v and 2 P w, so that the area is one division of exact sums.
    ranks = both.sort("bin").with_columns(
        (2 * n.cum_sum() - n).alias("v"), (2 * (p.sum() - p.cum_sum()) + p).alias("w")
    )
    positive, negative = int(ranks["p"].sum()), int(ranks["n"].sum())
    if not positive or not negative:
        return None
    area = int((ranks["p"] * ranks["v"]).sum()) / (2 * positive * negative)
    tied = int(ranks.select((p * n).filter("mixed").sum()).item())
    interval = None
    if positive > 1 and negative > 1:
        spread = ranks.select(
            (p * (pl.col("v") / (2 * negative) - area) ** 2).sum() / (positive - 1) / positive,
            (n * (pl.col("w") / (2 * positive) - area) ** 2).sum() / (negative - 1) / negative,
        )
        half = QUANTILE * math.sqrt(sum(spread.row(0)))
        interval = max(area - half, 0.0), min(area + half, 1.0)
    return Ranking(area, tied / (2 * positive * negative), interval)
