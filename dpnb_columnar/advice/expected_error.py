"""What a planned release asks of the rows, its expected error, and attributes of which it says nothing. Public."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpnb_columnar.core.budget import Share, total
from dpnb_columnar.core.budget.composition import GRADIENT, budget_part
from dpnb_columnar.core.code_limits import squares_shift
from dpnb_columnar.core.measurement import CALIBRATION, COUNTS, WEIGHTED_COUNTS
from dpnb_columnar.core.mechanisms.baselines import CONSTANT_MOMENTS
from dpnb_columnar.core.mechanisms.smooth import MOMENTS, moment_noise
from dpnb_columnar.core.mechanisms.tuning import sample_size, trim
from dpnb_columnar.core.queries.query import Answer, Query
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.core.sensitivity import RunLengthColumn, end_to_end, search_beta
from dpnb_columnar.domain import Domain, Numeric, Transform
from dpnb_columnar.domain.names import named
from dpnb_columnar.model.query_noise import LEVEL, moments_noise, query_noise
from dpnb_columnar.model.score_calibration import planned_margins
from dpnb_columnar.model.weight_rounds import planned_gradient
from dpnb_columnar.releases.model_plan import ReleasePlan


@dataclass(frozen=True, slots=True)
class Asked:
    """A query to the rows, as a release plans it: a later one lacks its scores, which released values tell. Public."""

    query: Query[Answer]
    passes: int
    part: float

    @property
    def words(self) -> str:
        return self.query.words if self.passes == 1 else f"in {self.passes} passes, {self.query.words}"


def rows_asked(domain: Domain, shares: Sequence[Share]) -> list[Asked]:
    """List what a release asks of the rows, in order."""
    by_query: dict[Query[Answer], list[Share]] = {}
    for share in shares:
        by_query.setdefault(_asked(domain, share), []).append(share)
    whole = total(shares)
    return [
        Asked(query, len(own) if query.later else 1, sum(budget_part(share.cost, whole) for share in own))
        for query, own in by_query.items()
    ]


def _asked(domain: Domain, share: Share) -> Query[Answer]:
    """Return the query whose answer a share draws noise on."""
    if share.query == CALIBRATION:
        return planned_margins(domain)
    if share.query.startswith(GRADIENT):
        return planned_gradient(domain, share.values - 1)
    return CellQuery(domain)


def asked_table(domain: Domain, shares: Sequence[Share]) -> tuple[list[str], list[list[object]]]:
    """Write what is asked of the rows as a header and rows."""
    header = ["asked of the rows", "numbers", "what one row changes", "of the budget"]
    return header, [
        [asked.words, asked.query.cells, asked.query.parallel.reason, f"{asked.part:.1%}"]
        for asked in rows_asked(domain, shares)
    ]


def unit_remark(domain: Domain) -> str:
    """Say what a whole unit changes; nothing where the guarantee is for one row."""
    unit = domain.unit
    return "" if unit is None else f"one unit ({named(unit.columns)}) changes as much as {unit.rows} of its rows"


REFERENCE_RUNS = 1000
"""Most distinct values of the reference column."""

USUAL_SIZE = 10_000
"""Rows of a class, where none are declared, to expect errors for. Public."""

USUAL_SIZES = (USUAL_SIZE, 1_000_000)


def expected_error(domain: Domain, share: Share, size: int) -> float:
    """Compute the bound below which 95 % of the noise of one query stays.

    Where noise follows the smooth sensitivity of the data, it is that of a public reference column, whose values fill
    the middle tenth of the declared range evenly.
    """
    noise = query_noise(domain, share, [size])
    if noise is not None:
        in_unit = float(domain.weight.step) if share.query == WEIGHTED_COUNTS and domain.weight is not None else 1.0
        return noise.quantile() * in_unit
    attribute = domain[share.attribute or ""]
    assert isinstance(attribute, Numeric)
    cells = attribute.scale.cells
    pooled = share.values == 1  # one number for all classes together
    return moment_error(
        attribute, share, size * len(domain.classes) if pooled else size, (cells * 9 // 20, cells * 11 // 20)
    )


@dataclass(frozen=True, slots=True)
class SmallCells:
    """A table whose noise (95 % stays below ``error`` rows) is larger than its counts are on average. Public."""

    attribute: str
    categories: int
    rows: float
    error: float


def small_cells(domain: Domain, shares: Sequence[Share], size: int) -> tuple[SmallCells, ...]:
    """Find the tables whose noise hides what a category has on average."""
    tables = {each.name: each.size for each in domain.categorical}
    found = (
        SmallCells(name, tables[name], size / tables[name], expected_error(domain, share, size))
        for share in shares
        if share.query == COUNTS and (name := share.attribute or "") in tables
    )
    return tuple(each for each in found if each.rows < each.error)


def moment_error(attribute: Numeric, share: Share, size: int, filled: tuple[int, int]) -> float:
    """Compute the bound below which 95 % of the noise of a moment stays."""
    if (constant := moments_noise(attribute, share, [size])) is not None:
        return constant.quantile()
    cells, size = attribute.scale.cells, sample_size(size)
    moment, noise, step = MOMENTS[share.query], moment_noise(share), attribute.scale.step
    columns = moment.columns_of(end_to_end([_reference_column(size, *filled)], [cells]))
    smooth = moment.search(columns, np.array([trim(size, noise)]), np.array([search_beta(noise.beta)]))[0]
    unit = step if share.query == "mean" else step**2 * (2 ** squares_shift(cells) if moment.squares else 1)
    return smooth * unit * noise.quantile(1 - LEVEL)


def _reference_column(size: int, low: int, high: int) -> RunLengthColumn:
    """Spread ``size`` values evenly over the codes from ``low`` to ``high``."""
    codes = np.unique(np.linspace(low, high, min(high - low + 1, REFERENCE_RUNS, size)).astype(np.int64))
    counts = np.full(len(codes), size // len(codes), dtype=np.int64)
    counts[: size % len(codes)] += 1
    return RunLengthColumn(codes, counts)


# Attributes declared so widely that noise hides whatever their values say. A codebook states the width of a column, not
# how large its amounts are: nines in nine digits are no income. Noise that grows with the declared range then hides
# what amounts differ by, and the attribute's share of the budget is lost.

DIFFERENCE = 50_000
"""Whole units that amounts differ by: about the standard deviation of persons' incomes in dollars, one of the largest
amounts that censuses and surveys ask for."""

FILLED = 4
"""Values are assumed to fill this many times as many units from zero on: evenly filled, they deviate by 1.15 times
``DIFFERENCE``."""

NARROWEST = 200_000
"""Upper bound of the narrowest range that is suggested: where published tables of incomes end (ACS table B19001)."""

LOSSES = 10
"""The lower bound suggested is at most this part of the upper one below zero."""

NARROW = NARROWEST + NARROWEST // LOSSES
"""Ranges of no more units are not too wide, however few the rows are."""


@dataclass(frozen=True, slots=True)
class WideRange:
    """An attribute in which noise hides differences of up to so many units, and the widest round bounds that help."""

    attribute: Numeric
    hidden: float
    suggested: tuple[Fraction, Fraction]


def wide_ranges(plan: ReleasePlan, size: int) -> tuple[WideRange, ...]:
    """Find the attributes whose moments are released with noise that hides what amounts differ by."""
    found = []
    for attribute in plan.domain.numeric:
        shares = [
            share
            for share in plan.shares
            if share.attribute == attribute.name and share.query in {*MOMENTS, *CONSTANT_MOMENTS} and share.values > 1
        ]
        hidden = _hidden(attribute, shares, size)
        if hidden > DIFFERENCE:
            fitting = (narrow for narrow in _narrower(attribute) if 2 * _hidden(narrow, shares, size) <= DIFFERENCE)
            suggested = next(fitting, _bounded(attribute, NARROWEST))
            found.append(WideRange(attribute, hidden, (suggested.lower, suggested.upper)))
    return tuple(found)


def _hidden(attribute: Numeric, shares: Sequence[Share], size: int) -> float:
    """Compute the difference between two classes, in units of the column, that the noise of a moment hides."""
    if (
        attribute.transform is not Transform.IDENTITY
        or attribute.step < 1
        or attribute.upper - attribute.lower <= NARROW
    ):
        return 0
    zero = int(min(max(-attribute.lower / attribute.step, Fraction(0)), Fraction(attribute.cells)))
    filled = zero, min(zero + int(FILLED * DIFFERENCE / attribute.step), attribute.cells)
    errors = {share.query: moment_error(attribute, share, size, filled) for share in shares}
    linear = ("mean", "deviation")
    return max((error if query in linear else math.sqrt(error) for query, error in errors.items()), default=0)


def _narrower(attribute: Numeric) -> Iterator[Numeric]:
    """Yield the attribute with ever narrower bounds: 5, 2 and 1 times powers of ten, down to ``NARROWEST``."""
    for digits in range(len(str(int(attribute.upper - attribute.lower))), len(str(NARROWEST)) - 2, -1):
        for first in (5, 2, 1):
            if first * 10**digits >= NARROWEST:
                yield _bounded(attribute, first * 10**digits)


def _bounded(attribute: Numeric, bound: int) -> Numeric:
    """Narrow an attribute's range to a bound above zero, or above its bound next to zero, in whole steps from below."""
    step, zero = attribute.step, min(max(Fraction(0), attribute.lower), attribute.upper)
    lower = max(attribute.lower, zero - bound // LOSSES)
    lower = attribute.lower + (lower - attribute.lower) // step * step
    upper = lower + (min(attribute.upper, zero + bound) - lower) // step * step
    return replace(attribute, lower=lower, upper=upper)
