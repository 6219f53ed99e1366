"""Prune a search for a smooth sensitivity, and bound its rounding error.

A search maximises ``p * log(d) - beta * k`` over candidates: ``k`` is a number of substitutions, an exact integer up
to 2**45, and ``d`` a deviation between values of ranks at most k beyond the ends of the window. For the mean p = 1 and
``d`` is a difference of codes, exact; for the variance p = 2 and ``d`` an exact integer up to 2**77, turned into a
float with a relative error of at most 2**-52.

**Rounding error** (``search_beta``, ``upper_bound``). Errors below are those of these logarithms.

*One candidate.* A result below the floor of ``DEEPEST`` is replaced by the floor, so only candidates above it matter,
and these have beta * k <= 512. Candidates that others are compared with on the way have at most twice 512 + log 2: the
mean's search keeps a row or a column only if it could reach the best of a first look, which is at most log 2 below the
best of all (for every pair, b_j - a_l <= 2 max(b_j - a_0, b_0 - a_l)). So beta * k and the result are below 2**11, and
rounding them once each costs 2**-43 twice. The logarithm is below 54; good to 4 units in the last place and taken
twice, it costs 2**-44, and the rounded ``d`` 2**-51. The error of an evaluated candidate is below 2**-41.

*Near ties, in the mean's search.* A row whose own comparison was decided by rounding passes on a bound on the columns
that may exclude the best column of a later row. By total monotonicity that later row loses at most what the first row
lost, one comparison: 2**-40. There are at most 33 levels, and a row and a column may have been left out by another
comparison each: the error is below 36 * 2**-40 < 2**-34.

*Stationary points, in the variance's search.* On a piece, D = D_0 + s t with D_0 and s exact, and 2 log(D) - beta t is
largest at t = 2/beta - D_0/s, where D = 2 s/beta and the second derivative is -beta^2/2. Both terms of t are at most
2/beta, so six roundings move t by at most 2**-50 * 2/beta, below 1, and cost at most 2**-98; the integers on both
sides of the computed t are evaluated. The k of the widest deviation, beyond which nothing is evaluated, has an error
of at most 2**-40.

*Together.* Exponential, division and the logarithms of w add less than 2**-42. The computed S is within a factor (1 +-
2**-33) of the exact one; (1 +- 2**-32) is what callers rely on. ``upper_bound`` multiplies by (1 + 2**-31), so that the
result is never below the exact smooth bound, and never above it by more than 2**-30 of it. Between neighbours its
logarithm moves by at most beta_searched + 2**-31 + 2**-51, so ``search_beta`` searches at beta - 2**-30. That is
rounded by at most 2**-33 (beta is at most 2**20), and the raised value is beta-smooth for the beta that the noise is
calibrated to. Attacked in tests/core/sensitivity/test_sensitivity_accuracy.py, by exact integers and balls at every
extreme.

**Pruning** (``largest_distance``, ``prune_values``). Where one candidate at k = 0 is known, the values that matter only
from a k on at which even the widest possible deviation cannot beat that candidate may be replaced by any others that
the search does not take for a wider deviation. So the work does not grow with the column.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpnb_columnar.core.sensitivity.columns import (
    Floats,
    Integers,
    RunLengthColumns,
    compact_runs,
    ranges,
    sums_between,
)

DEEPEST = 512.0
"""Largest ``beta * k`` that is looked at. A smooth bound may be replaced by its maximum with any public constant, and
exp(-512) times the global sensitivity is far below every released digit."""

RAISE = 1.0 + 2.0**-31
SLACK = Fraction(1, 2**30)

SMALLEST_BETA = Fraction(1, 2**24)
"""Below this, the slack would be a sizeable part of beta."""

LARGEST_BETA = Fraction(2**20)
"""Above this, rounding beta to a float would use up the slack."""


def search_beta(beta: Fraction) -> float:
    """Return the beta at which to search so that the raised sensitivity is ``beta``-smooth."""
    if not SMALLEST_BETA <= beta <= LARGEST_BETA:
        raise ValueError(f"beta must lie in 2**-24..2**20, found {float(beta):.3g}")
    return float(beta - SLACK)


def upper_bound(sensitivity: float) -> Fraction:
    """Raise a sensitivity above its evaluation error; the exact value of a float."""
    return Fraction(sensitivity * RAISE)


SPARE = 2
"""Added to a reach. One is for rounding: beta, or half of it, is 2**-26 or more, and no logarithm is off by more than
2**-40 (above). The other is for the mean's search, whose candidates with j = -1 are at l = k + 1."""


def largest_distance(
    columns: RunLengthColumns, ranks: tuple[Integers, Integers], part: float, beta: Floats
) -> Integers:
    """Find the largest k that a search has to evaluate in every column, at most the column's size.

    The widest candidate at k = 0 scores at least as ``part`` of the distance of the values of both ranks, squared or
    not, and so does the widest score there is of ``cells``. A score loses ``beta`` with every k, for a distance that is
    not squared.
    """
    low, high = map(columns.value, ranks)
    with np.errstate(divide="ignore"):
        lead = np.log(columns.cells / (part * (high - low)))
    return np.minimum(np.ceil(np.minimum(lead, DEEPEST) / beta).astype(np.int64) + SPARE, columns.size)


def prune_values(columns: RunLengthColumns, trim: Integers, reach: Integers) -> RunLengthColumns:
    """Prune values that cannot affect a search of distances up to ``reach``; the size of every column stays the same.

    All values at most ``reach`` ranks from the ends of the window, and a few more, keep their ranks. Values below and
    above these come to lie at the domain's bounds, values between them at one or two neighbouring codes, as many as
    there were and with the same sum.
    """
    size, before, ends = columns.size, columns.before, columns.ends
    near, far = trim + SPARE + reach + 1, trim - reach - 1
    ranks = (np.clip(rank, 1, size) for rank in (far, near, size + 1 - near, size + 1 - far))
    first, low, high, last = map(columns.run, ranks)
    sparse = high - low <= SPARE  # too few values lie between
    nothing, every = np.zeros_like(size), np.arange(len(columns))
    code, fewer, more = _same_sum(
        columns, np.where(sparse, 0, ends[low] - before), np.where(sparse, 0, ends[high - 1] - before)
    )
    made = (  # codes and counts of runs that are made, one of every column each; those of no values are left out below
        (nothing, ends[first] - columns.counts[first] - before),
        (code, fewer),
        (code + 1, more),
        (columns.cells, before + size - ends[last]),
    )
    lowest, lower, upper, highest = (len(columns.codes) + place * len(columns) + every for place in range(len(made)))
    one, head, tail = nothing + 1, np.where(sparse, last, low) - first + 1, np.where(sparse, 0, last - high + 1)
    starts = np.stack([lowest, first, lower, upper, high, highest], axis=1)
    lengths = np.stack([one, head, one, one, tail, one], axis=1)
    taken = ranges(starts.ravel(), lengths.ravel())
    codes, counts = (np.concatenate(runs)[taken] for runs in zip((columns.codes, columns.counts), *made, strict=True))
    return compact_runs(codes, counts, np.repeat(every, lengths.sum(axis=1)), columns.cells)


def _same_sum(columns: RunLengthColumns, first: Integers, last: Integers) -> tuple[Integers, Integers, Integers]:
    """Make the values of ranks ``first + 1`` to ``last`` of every column one or two neighbouring codes of their sum.

    Return the lower code, how many have it, and how many have the next one; 0 where there are no values.
    """
    counts = last - first
    totals = sums_between(columns, columns.codes, first, last)
    pairs = [divmod(total, count) if count else (0, 0) for total, count in zip(totals, counts.tolist(), strict=True)]
    code, above = np.array(pairs, dtype=np.int64).T
    return code, counts - above, above
