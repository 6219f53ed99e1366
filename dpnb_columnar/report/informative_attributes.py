"""Rank the attributes of a released model by what they tell about the class, beyond the noise of their counts. Public.

Released counts are N = n + e: n rows of a class have a value, e is noise of a public scale. Plain figures of them show
noise as fact: information is 0 or more, so noise alone has some; and of many values the one that seems to tell most is
the one whose noise was largest. All here is computed from released numbers and public scales, by formulas and by
simulation with a fixed seed: post-processing, and the same in every run. Intervals hold the noise of the release alone:
they are about the rows that were counted, not about others that could have been drawn from a population.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.core.measurement import CLASS_COUNTS, COUNTS, LAPLACE, PRESENCE, WEIGHTED_COUNTS, Key
from dpnb_columnar.core.mechanisms.tuning import positive_sum, sample_size
from dpnb_columnar.domain import Attribute, Numeric, Transform
from dpnb_columnar.domain.attributes import is_complete
from dpnb_columnar.domain.domain_text import class_texts, value_with_label
from dpnb_columnar.domain.names import number_text
from dpnb_columnar.mechanisms import record_named
from dpnb_columnar.model.likelihood import LogRatios, bin_starts, margin_above, model_log_ratios, population_line
from dpnb_columnar.model.parameters import LARGEST_MARGIN, AttributeParameters, NaiveBayes, Normal, Table
from dpnb_columnar.model.postprocessing import ClassSizes, class_sizes
from dpnb_columnar.model.query_noise import LEVEL, QueryNoise, count_variance, in_unit, model_noise

SMOOTH = 6.0
"""Probabilities below this many scales of their noise count by a parabola (``information``). The larger, the less noise
and the more bias for rare values."""

DRAWN = 10_000
"""Simulated counts of an attribute, in 200 to 1000 tables."""

HIDDEN = 5.0
"""Noise hides a class whose rows are fewer than this many deviations of the noise in their number."""

BISECTIONS = 24

LARGEST_RATIO = 1e6
"""Of a class that may have no row."""

TINY = float(np.finfo(np.float64).tiny)
"""Stands for a probability that is too small for a float: its inverse and its logarithm are finite."""


@dataclass(frozen=True, slots=True)
class NoisyTable:
    """Released counts of an attribute's values within each class. Public."""

    counts: Floats  # (classes, values)
    scale: Floats  # (values,): of the Laplace noise in the counts of each value; all 0 where they are exact
    prior: Floats  # (classes,): probability of each class
    prior_scale: float = 0.0  # of the Laplace noise in each prior
    sizes: Floats | None = None  # (classes,): rows that have a value, if known better than by the sum of the counts
    sizes_deviation: float = 0.0

    @property
    def rows(self) -> Floats:
        """Rows of each class that have a value, with noise."""
        return self.counts.sum(axis=1) if self.sizes is None else self.sizes

    @property
    def rows_deviation(self) -> float:
        """Standard deviation of the noise in the rows of each class."""
        return math.sqrt(2 * float((self.scale**2).sum())) if self.sizes is None else self.sizes_deviation

    @property
    def totals(self) -> Floats:
        """The rows of each class, at least the deviation of their noise, or 1."""
        return np.maximum(self.rows, max(self.rows_deviation, 1.0))

    @property
    def variance(self) -> Floats:
        """Half of the variance of the noise, which is rounded to whole numbers: the square of the scale, about."""
        scales, places = np.unique(self.scale, return_inverse=True)
        return np.array([count_variance(1 / scale) / 2 if scale else 0.0 for scale in scales.tolist()])[places]

    @property
    def clear(self) -> NDArray[np.bool_]:
        """Per class, whether its rows are so many that noise does not hide them."""
        return np.greater(self.rows, HIDDEN * self.rows_deviation)

    def of_classes(self, chosen: NDArray[np.bool_]) -> NoisyTable:
        sizes = None if self.sizes is None else self.sizes[chosen]
        return replace(self, counts=self.counts[chosen], prior=self.prior[chosen], sizes=sizes)


@dataclass(frozen=True, slots=True)
class Bits:
    """Information about the class in bits, less what noise adds on average, with its 95 % interval."""

    estimate: float
    low: float
    high: float

    def plus(self, other: Bits, part: float) -> Bits:
        """Add the information of something else, in a part of the rows, whose errors are independent."""
        estimate = self.estimate + part * other.estimate
        low = math.hypot(self.estimate - self.low, part * (other.estimate - other.low))
        high = math.hypot(self.high - self.estimate, part * (other.high - other.estimate))
        return Bits(estimate, max(estimate - low, 0.0), estimate + high)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A value that speaks for a class: how many times as likely it is there as in all rows, at least and at most."""

    value: int
    low: float
    high: float


# Bits. With a_c = P(c)/total_c the joint probabilities are j_cv = a_c n_cv, and with phi(x) = x log x the information
# is
#
#     I = sum_cv phi(j_cv) - sum_v phi(j_.v) - sum_c phi(j_c.) + phi(j_..),
#
# where a point is a sum over an index. Laplace noise of scale s has the density p with p - s^2 p'' = a point mass at 0.
# So for every f with a continuous first derivative that grows less than exponentially, integration by parts gives
#
#     E[f(x + e) - s^2 f''(x + e)] = f(x),
#
# an unbiased estimate of f(x) for every x, however small. For a sum of independent e of scales s_i, the operators
# 1 - s_i^2 d^2/dx^2 follow one another; with f'' sum s_i^2 alone what is left out is of the order s^4 f''''. phi has no
# derivative at 0. It is therefore replaced by f: phi from h on, and below h the parabola
#
#     f(x) = x (log h - 1) + x^2/h,    f(0) = 0, f(h) = phi(h), f'(h) = phi'(h).
#
# With h_c = P(c) h for class c's probabilities and h for those of all classes together, the linear parts cancel for a
# value that tells nothing, and a value whose probabilities are all below h adds (1/h) sum_c P(c) (P(v|c) - P(v))^2 nats
# in place of its information: never less than 0, and 0 if and only if that is. h is ``SMOOTH`` times the scale of the
# noise in these squares, s sqrt(sum_c P(c)/total_c^2).


def information(table: NoisyTable) -> Bits:
    """Estimate the information of a class and a value without the bias of noise, with an interval.

    The interval is that of a parametric bootstrap: noise is added to the released table, moved so far towards
    independence that it tells as many bits as are estimated. Where more than noise is left, the upper end is reckoned
    again from tables of as many bits as it says, since what tells more has larger errors. Classes that noise hides are
    left out: they add at most the entropy of a hidden class, or of which one it is.
    """
    hidden = table.prior[~table.clear]
    if len(hidden) and table.scale.any():
        if table.clear.sum() < 2:
            return Bits(0.0, 0.0, _entropy(table.prior))
        known = information(table.of_classes(table.clear))
        return replace(known, high=known.high + _entropy(np.append(hidden, table.prior[table.clear].sum())))
    if not table.scale.any():
        bits = max(_bits(table, table.counts, smooth=0.0).item(), 0.0)
        return Bits(bits, bits, bits)
    plain, estimate = (_bits(table, table.counts, corrected=each).item() for each in (False, True))
    independent = table.totals[:, None] * (table.prior / table.totals @ table.counts)
    draws = min(max(DRAWN // table.counts.size, 200), 1000)
    generator = np.random.default_rng(table.counts.size)
    noise = np.rint(generator.laplace(size=(draws, *table.counts.shape)) * table.scale)

    def errors(bits: float, smooth: float) -> tuple[float, float]:
        part = math.sqrt(max(bits, 0.0) / plain) if plain > 0 else 0.0
        truth = np.maximum(independent + part * (table.counts - independent), 0.0)
        estimates = _bits(table, truth + noise, corrected=True)
        low, high = np.quantile(estimates, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) - _bits(table, truth, smooth=smooth)
        return float(low), float(high)

    least, most = errors(estimate, SMOOTH)
    low, high = estimate - most, max(estimate - least, TINY)
    for _ in range(2 if low > 0 else 0):
        high = max(high, estimate - errors(high, 0.0)[0])
    if not math.isfinite(estimate + low + high):
        return Bits(0.0, 0.0, _entropy(table.prior))
    return Bits(max(estimate, 0.0), max(low, 0.0), high)


def _entropy(probability: Floats) -> float:
    positive = probability[probability > 0]
    return float(-(positive * np.log2(positive)).sum())


def _bits(table: NoisyTable, counts: Floats, *, corrected: bool = False, smooth: float = SMOOTH) -> Floats:
    prior, totals = table.prior, table.totals
    factors = (prior / totals)[:, None]
    joint, variance_of_counts = factors * counts, table.variance
    variances = factors**2 * variance_of_counts
    least = smooth * np.sqrt(variance_of_counts) * math.sqrt((prior / totals**2).sum())
    zeros, one = np.zeros(1), np.ones(1)
    parts = [
        (joint, variances, prior[:, None] * least, factors, 1),
        (joint.sum(axis=-2), variances.sum(axis=0), least, factors.max(), -1),
        (joint.sum(axis=-1), variances.sum(axis=1), zeros, one, -1),
        (joint.sum(axis=(-2, -1))[..., None], variances.sum()[None], zeros, one, 1),
    ]
    whole = np.zeros(joint.shape[:-2])
    for probability, variance, below, row, sign in parts:
        above = probability > below
        kept = np.maximum(np.where(above, probability, below), TINY)
        parabola = probability * (np.log(kept) - 1) + np.maximum(probability, 0) ** 2 / kept
        function = np.where(above, probability * np.log(kept), parabola)
        if corrected:
            curved = np.where(above, 1, np.clip(1 + probability / row, 0, 2))
            function = function - variance * curved / np.maximum(kept, np.sqrt(variance))
        whole = whole + sign * function.sum(axis=tuple(range(whole.ndim, function.ndim)))
    return whole / math.log(2)


# Values that speak for a class. Value v is more than r times as likely within class c as in all rows where
#
#     L(r) = P(v|c) - r sum_c' P(c') P(v|c') > 0,    P(v|c') = n_c'v / sum of n_c'.
#
# In the released numbers L has an error that is, but for products of two errors, a sum of the independent noises of all
# counts and priors, each times its derivative: with k_c' = 1[c' = c] - r P(c'),
#
#     k_c' (1 - P(v|c'))/total_c'   of the count of v in class c',
#     -k_c' P(v|c')/total_c'        of every other count of class c',
#     -r (P(v|c') - P(v))           of the prior of class c'.
#
# Where totals are known better than by the sum of the counts, the first has the derivative k_c'/total_c', and the
# second is that of the total, whose noise counts as one Laplace variable of its deviation.
#
# ``tail`` is the probability of such a sum. The interval of a ratio holds the r at which L(r) may be noise: those where
# the probability that noise is so large is above a level, on either side. It ends at 1/P(c), as ratios do. A value must
# besides have rows: its own count must be beyond its noise at the same level, or noise below zero in other classes
# would let it speak.
#
# Which level? Of a table with V values and C classes, 2 V C one-sided claims may be read: with a level of q/(2 V C) all
# its intervals hold together with probability 1 - q, whichever of them is then looked at. Of m tables those are
# chosen of which some value is named; let them be R. With q = 0.05 R/m intervals of chosen parameters hold but for 5 %
# on average (false coverage rate; Benjamini and Yekutieli 2005, Theorem 1, whose parameters are whole tables here), and
# the R are found as Benjamini and Hochberg (1995) do: the largest number of tables that name a value at their level.


def speaking_values(tables: Sequence[NoisyTable]) -> list[list[Evidence | None]]:
    """Find, per table and class, the value whose whole interval is above 1 that adds most to the expected log-ratio."""
    claims = [_claims(table) for table in tables]
    chances = [_chances(claim) for claim in claims]
    sizes = np.array([2 * table.counts.size for table in tables])
    smallest = np.sort(np.minimum([chance.min(initial=1.0) for chance in chances] * sizes, 1.0))
    allowed = (1 - LEVEL) * np.arange(1, len(tables) + 1) / max(len(tables), 1)
    chosen = np.flatnonzero(smallest <= allowed)
    part = float(allowed[chosen[-1]]) if len(chosen) else 0.0
    found: list[list[Evidence | None]] = [[None] * len(table.prior) for table in tables]
    named = []
    for place, (claim, chance, size) in enumerate(zip(claims, chances, sizes, strict=True)):
        gain = np.where(chance <= part / size, claim.within * np.log(np.maximum(claim.ratio, 1.0)), -1.0)
        for klass in range(len(tables[place].prior)):
            of_class = np.flatnonzero(claim.klass == klass)
            best = of_class[gain[of_class].argmax()]
            if gain[best] >= 0:
                named.append((place, klass, claim.take(np.array([best])), part / size))
    if named:
        ratios = _intervals(_joined([claim for *_, claim, _ in named]), np.array([level for *_, level in named]))
        for (place, klass, claim, _), low, high in zip(named, *ratios, strict=True):
            found[place][klass] = Evidence(int(claim.value[0]), float(low), float(high))
    return found


@dataclass(frozen=True, slots=True)
class _Claims:
    """That values are more likely within a class than in all rows. Shapes: (claims,), or (claims, ...)."""

    value: Integers
    klass: Integers
    count: Floats
    shares: Floats  # (claims, classes): P(v|c') of the value
    totals: Floats  # (claims, classes): the rows of each class
    prior: Floats  # (claims, classes)
    own: Floats  # scale of the noise in the value's counts
    others: Floats  # (claims, 2): scales of the noise in what else the totals are made of
    copies: Floats  # (claims, 2): how many numbers have each of these scales
    summed: Floats  # 1 where the totals are sums of the counts, else 0
    prior_scale: Floats  # of the noise in each prior
    clear: NDArray[np.bool_]  # whether the class's total is not hidden by its noise

    def take(self, places: Integers) -> _Claims:
        return _Claims(*(getattr(self, field.name)[places] for field in fields(self)))

    @property
    def within(self) -> Floats:
        """P(v|c)."""
        return self.shares[np.arange(len(self.klass)), self.klass]

    @property
    def overall(self) -> Floats:
        """P(v)."""
        overall: Floats = (self.shares * self.prior).sum(axis=1)
        return overall

    @property
    def most(self) -> Floats:
        """The largest ratio that there is: 1/P(c)."""
        return 1 / np.maximum(self.prior[np.arange(len(self.klass)), self.klass], TINY)

    @property
    def ratio(self) -> Floats:
        """P(v|c)/P(v) in the released numbers, at most ``most``; that too where noise leaves no row of the value."""
        overall = np.maximum(self.overall, TINY)
        return np.clip(np.maximum(self.within, 0.0) / overall, 0.0, self.most)

    def error(self, ratio: Floats, sign: int = 1) -> Floats:
        """Return how far L(ratio) is above 0, or below, at least: counts were rounded by half a row at most."""
        rounded = np.abs(self._factors(ratio)).sum(axis=1) / 2 * (self.own > 0)
        error: Floats = sign * (self.within - ratio * self.overall) - rounded
        return error

    def _factors(self, ratio: Floats) -> Floats:
        """Return the derivatives of L(ratio) by the value's counts, totals apart."""
        own_class = np.arange(self.shares.shape[1]) == self.klass[:, None]
        factors: Floats = (own_class - ratio[:, None] * self.prior) / self.totals
        return factors

    def noise(self, ratio: Floats) -> tuple[Floats, Floats]:
        """Return the weights of independent Laplace variables of scale 1 in L(ratio), and how many have each."""
        inside, factors = np.clip(self.shares, 0.0, 1.0), self._factors(ratio)
        offs = inside - np.clip(self.overall, 0.0, 1.0)[:, None]
        weights = [
            factors * (1 - self.summed[:, None] * inside) * self.own[:, None],
            *(factors * inside * scale[:, None] for scale in self.others.T),
            ratio[:, None] * offs * self.prior_scale[:, None],
        ]
        one = np.ones_like(inside)
        return np.hstack(weights), np.hstack([one, *(one * copies[:, None] for copies in self.copies.T), one])


def _claims(table: NoisyTable) -> _Claims:
    classes, values = table.counts.shape
    value, klass = np.tile(np.arange(values), classes), np.repeat(np.arange(classes), values)
    if table.sizes is None:
        scales = np.array([table.scale[0], table.scale[-1]])  # missing values, the last ones, may have their own
        equal = table.scale[:, None] == scales
        equal[:, 1] &= scales[0] != scales[1]
        copies = (equal.sum(axis=0) - equal)[value].astype(np.float64)
    else:
        scales = np.array([table.sizes_deviation / math.sqrt(2), 0.0])
        copies = np.ones((len(value), 2))
    shape = (classes * values, classes)
    return _Claims(
        value,
        klass,
        table.counts[klass, value],
        (table.counts / table.totals[:, None])[:, value].T,
        np.broadcast_to(table.totals, shape),
        np.broadcast_to(table.prior, shape),
        table.scale[value],
        np.broadcast_to(scales, (len(value), 2)),
        copies,
        np.full(len(value), float(table.sizes is None)),
        np.full(len(value), table.prior_scale),
        table.clear[klass],
    )


def _joined(claims: Sequence[_Claims]) -> _Claims:
    return _Claims(*(np.concatenate([getattr(each, field.name) for each in claims]) for field in fields(_Claims)))


def _chances(claims: _Claims) -> Floats:
    """Compute the probability that noise alone makes a value seem to speak for a class; 1 where it does not seem so."""
    one = np.ones(len(claims.value))
    error, (weights, copies) = claims.error(one), claims.noise(one)
    deviation = np.sqrt(2 * (copies * weights**2).sum(axis=1))
    # Below two deviations no level is reached.
    far = claims.clear & (claims.count > 0) & (error > 2 * deviation)
    chances, noisy = np.where(far, 0.0, 1.0), far & (deviation > 0)
    if noisy.any():
        empty = np.exp((0.5 - claims.count[noisy]) / claims.own[noisy]) / 2
        chances[noisy] = np.maximum(tail(error[noisy], weights[noisy], copies[noisy]), empty)
    return chances


def _intervals(claims: _Claims, levels: Floats) -> tuple[Floats, Floats]:
    """Compute the ends of the ratios of claims that hold at some levels, by bisection."""
    low, high = claims.ratio.copy(), claims.ratio.copy()
    weights, _ = claims.noise(np.ones(len(levels)))
    noisy = weights.any(axis=1)
    if not noisy.any():
        return low, high
    claims, levels, ratio = claims.take(np.flatnonzero(noisy)), levels[noisy], claims.ratio[noisy]
    prior = 1 / claims.most - claims.prior_scale * np.log(1 / levels)
    most = np.where(prior > 0, np.maximum(1 / np.maximum(prior, TINY), ratio), LARGEST_RATIO)
    low[noisy] = _end(claims, levels, np.ones_like(ratio), ratio, 1)
    high[noisy] = _end(claims, levels, most, ratio, -1)
    return low, high


def _end(claims: _Claims, levels: Floats, outside: Floats, inside: Floats, sign: int) -> Floats:
    """Find the end of an interval between a ratio that is excluded, if any is, and one that is not."""

    def excluded(ratio: Floats) -> NDArray[np.bool_]:
        error = claims.error(ratio, sign)
        found, above = np.zeros(len(ratio), bool), error > 0
        if above.any():
            weights, copies = claims.noise(ratio)
            found[above] = tail(error[above], weights[above], copies[above]) <= levels[above]
        return found

    whole = ~excluded(outside)
    ends = outside.copy()
    for _ in range(BISECTIONS):
        middle = np.sqrt(outside * inside)
        beyond = excluded(middle)
        outside, inside = np.where(beyond, middle, outside), np.where(beyond, inside, middle)
    return np.where(whole, ends, outside)


def tail(sizes: Floats, weights: Floats, copies: Floats) -> Floats:
    """Compute the probability that sums of weighted Laplace variables of scale 1 are at least as large as some sizes.

    By the saddlepoint approximation of Lugannani and Rice (1980), from K(s) = -sum m log(1 - s^2 w^2): with the s at
    which K'(s) is the size, and z^2/2 = s K'(s) - K(s), it is 1 - Phi(z) + phi(z) (1/(s sqrt(K''(s))) - 1/z). It is
    within 6 % of the exact one, and above it where one variable or two decide.
    """
    squares = weights**2
    largest = squares.max(axis=1)
    squares, sizes = squares / largest[:, None], sizes / np.sqrt(largest)
    low, high = np.zeros_like(sizes), np.ones_like(sizes)
    for _ in range(BISECTIONS):  # K' rises from 0 to infinity
        point = (low + high) / 2
        slope = 2 * point * (copies * squares / (1 - squares * (point**2)[:, None])).sum(axis=1)
        low, high = np.where(slope > sizes, low, point), np.where(slope > sizes, point, high)
    point = (low + high) / 2
    x = squares * (point**2)[:, None]
    slope = 2 * point * (copies * squares / (1 - x)).sum(axis=1)
    curvature = (2 * copies * squares * (1 + x) / (1 - x) ** 2).sum(axis=1)
    # At the point that is found K' is not quite the size: the exponent of the size itself, to second order.
    exponent = point * sizes + (copies * np.log1p(-x)).sum(axis=1) + (sizes - slope) ** 2 / (2 * curvature)
    z = np.sqrt(2 * np.maximum(exponent, TINY))
    normal = np.array([math.erfc(each / math.sqrt(2)) / 2 for each in z.tolist()])
    correction = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (1 / (point * np.sqrt(curvature)) - 1 / z)
    probability: Floats = np.clip(normal + correction, 0.0, 0.5)
    return probability


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

Noises = Mapping[Key, QueryNoise | None]
"""Of the queries of a model; without an entry where there is no noise, and None where it is not told."""

NOISE_NOT_TOLD = "noise not told"  # the size of the noise follows the rows, and is confidential
LONG_TAILS = "noise not subtracted"  # its mean cannot be estimated from one release
NOTHING = "-"
"""In place of a value: none speaks for the class beyond the noise."""

SIMULATED = 200
"""Simulated releases of the moments of an attribute."""

PLACES = np.linspace(0, 1, 513)
"""Places on an attribute's scale at which simulated normal distributions are compared."""


@dataclass(frozen=True, slots=True)
class InformativeAttribute:
    """What an attribute tells about the class, beyond the noise of the release."""

    name: str
    bits: float  # mutual information with the class, less what noise adds on average if that is known
    interval: tuple[float, float] | None  # 95 %, of the bits of the exact numbers; None if noise was not subtracted
    weight: float
    telling: tuple[str, ...]  # per class, the value that speaks for it most often and its ratio, or ``mean_texts``
    values: tuple[int | None, ...]  # per class, the place of the value that ``telling`` names, a missing one last
    remark: str = ""  # ``NOISE_NOT_TOLD`` or ``LONG_TAILS`` if noise was not subtracted

    @property
    def bits_text(self) -> str:
        """The bits with their interval, or that they are within the noise, or that its size is not told."""
        if self.interval is None:
            return f"{self.bits:.3f}, {self.remark}"
        low, high = self.interval
        if low == high:
            return f"{self.bits:.3f}"
        return f"{self.bits:.3f} ({low:.3f} to {high:.3f})" if low > 0 else "within the noise"

    @property
    def moves(self) -> float:
        """How far the attribute moves the score, by bits beyond the noise times size of the weight."""
        return 0.0 if self.interval is not None and self.interval[0] <= 0 else self.bits * abs(self.weight)


def informative_attributes(model: NaiveBayes) -> list[InformativeAttribute]:
    """List the attributes of a model, those that move its score most first: by bits times size of the weight."""
    noises = model_noise(model)
    noisy = noises.get((CLASS_COUNTS, None)) is not None
    sizes = class_sizes(model.domain, model.measured) if noisy else None
    tables = [_noisy_table(model, part, noises, sizes) for part in model.attributes]
    with np.errstate(all="ignore"):  # a file may hold counts and moments beyond all that rows give
        evidence = iter(speaking_values([table for table in tables if table is not None]))
        nothing = [None] * len(model.priors)
        ranked = [
            _described(model, noises, part, steps, weight, table, nothing if table is None else next(evidence))
            for part, steps, weight, table in zip(
                model.attributes, model_log_ratios(model), model.weights, tables, strict=True
            )
        ]
    return sorted(ranked, key=lambda each: -each.moves)


def beyond_noise(ranked: Sequence[InformativeAttribute]) -> str:
    """Say what the intervals of some attributes are of."""
    text = (
        "intervals: what the noise of this release allows, 95 %, of the rows that were counted; "
        f"{NOTHING!r}: no value speaks for the class beyond the noise"
    )
    remarks = {
        NOISE_NOT_TOLD: "its size follows the rows and is confidential, so that these figures may be noise",
        LONG_TAILS: "it has such long tails that nothing can be said about them, so that these figures may be noise",
    }
    found = {each.remark for each in ranked}
    return "; ".join([text, *(f"{remark}: {why}" for remark, why in remarks.items() if remark in found)])


def line_text(model: NaiveBayes) -> str:
    """Say how a model's probabilities follow from its scores; empty where they are those of the scores."""
    line = population_line(model)
    if line is None:
        return ""
    name, crossing = class_texts(model.domain)[line.largest], margin_above(line, 0.0, reached=line.largest > 0)
    rows = "every row" if crossing == LARGEST_MARGIN else f"rows of a margin up to {crossing:.2f}"
    predicted = f"it is predicted for {rows}" if crossing > -LARGEST_MARGIN else "it is predicted for no row"
    other = "the other class" if len(model.domain.classes) == 2 else "the best other class"
    return (
        f"the odds of {other} to {name} follow a line through {len(line.margins)} points from the margin, by how "
        f"much its score is the larger; {predicted}"
    )


def mutual_information(prior: Floats, probability: Floats) -> float:
    """Compute the mutual information of a class and a discrete value, in bits."""
    joint = prior[:, None] * probability
    positive = joint > 0
    # Logarithms are subtracted: the product of two tiny probabilities would be 0.
    overall = np.broadcast_to(joint.sum(axis=0), joint.shape)[positive]
    return float((joint[positive] * (np.log2(probability[positive]) - np.log2(overall))).sum())


def _noisy_table(
    model: NaiveBayes, part: AttributeParameters, noises: Noises, sizes: ClassSizes | None
) -> NoisyTable | None:
    """Return the released counts of an attribute's values, missing ones last, with their noise."""
    released = [] if isinstance(part, Normal) else [(COUNTS, np.array(model.counts(COUNTS, part.attribute)))]
    asked = not isinstance(part, Table) and part.presence is not None
    presence = np.array(model.counts(PRESENCE, part.attribute)) if asked else None
    if presence is not None and presence.shape[1] == 2:
        released.append((PRESENCE, presence if isinstance(part, Normal) else presence[:, 1:]))
    scales = [_scale(noises, query, part.attribute) for query, _ in released]
    sums, query = model.class_counts, CLASS_COUNTS
    if model.weighted_classes is not None:
        sums, query = model.weighted_counts, WEIGHTED_COUNTS
    prior_scale = _scale(noises, query)
    if not released or prior_scale is None or None in scales:
        return None
    # Every row of a class is in the table of a complete attribute: all counts say how many there are.
    complete = is_complete(model.domain[part.attribute]) or released[-1][0] == PRESENCE
    return NoisyTable(
        np.hstack([counts for _, counts in released]).astype(np.float64),
        np.repeat(np.array(scales, dtype=np.float64), [counts.shape[1] for _, counts in released]),
        np.array(model.priors),
        prior_scale / max(positive_sum(sums), 1),
        np.array(sizes.rows) if complete and sizes is not None else None,
        sizes.deviation if complete and sizes is not None else 0.0,
    )


def _scale(noises: Noises, query: str, attribute: str | None = None) -> float | None:
    """Return the scale of the Laplace noise in counts: 0 for none, None for other noise."""
    if (query, attribute) not in noises:
        return 0.0
    noise = noises[query, attribute]
    return noise.scale() if noise is not None and noise.family == LAPLACE else None


def _described(
    model: NaiveBayes,
    noises: Noises,
    part: AttributeParameters,
    steps: LogRatios,
    weight: float,
    table: NoisyTable | None,
    evidence: Sequence[Evidence | None],
) -> InformativeAttribute:
    """Describe an attribute: what is counted of it by its table, and what is released as mean and deviation."""
    attribute, labels = model.domain[part.attribute], model.domain.value_labels.get(part.attribute, {})
    prior, counted = np.array(model.priors), None if table is None else information(table)
    if isinstance(part, Normal):
        present = prior * (1 - steps.absent)
        bits, means = _normal_bits(model, noises, part, steps), mean_texts(model, part, noises)
        if bits is not None and steps.absent.any():  # the chain rule; the noises in the two are independent
            bits = None if counted is None else counted.plus(bits, present.sum())
        texts = [
            f"{mean}{'' if each is None or each.value == 0 else f'; missing ({ratio_text(each)})'}"
            for mean, each in zip(means, evidence, strict=True)
        ]
        values: tuple[int | None, ...] = (None,) * len(prior)
    else:
        bits = counted
        texts = [
            NOTHING
            if each is None
            else f"{value_with_label(_value_text(attribute, steps.starts, each.value), labels)} ({ratio_text(each)})"
            for each in evidence
        ]
        values = tuple(None if each is None else each.value for each in evidence)
    if bits is None:
        plain = mutual_information(prior, np.column_stack([steps.probability, steps.absent]))
        known = all(noise is not None for (_, name), noise in noises.items() if name == part.attribute)
        return InformativeAttribute(
            part.attribute, plain, None, weight, tuple(texts), values, LONG_TAILS if known else NOISE_NOT_TOLD
        )
    return InformativeAttribute(part.attribute, bits.estimate, (bits.low, bits.high), weight, tuple(texts), values)


def ratio_text(evidence: Evidence) -> str:
    """Write an interval of ratios above 1: to two digits, rounded outwards, or to as many as tell its ends from 1."""
    low, high = evidence.low, evidence.high
    if low == high:
        return f"{low:.2g} times"
    digits = 1 - min(math.floor(math.log10(max(each, 1e-9))) for each in (low - 1, high / low - 1, 0.1))
    if high >= LARGEST_RATIO:
        return f"{_rounded(low, digits, math.floor)} times or more"
    return f"{_rounded(low, digits, math.floor)} to {_rounded(high, digits, math.ceil)} times"


def _rounded(number: float, digits: int, rounding: Callable[[float], int]) -> str:
    """Write a number above 0 with so many significant digits, rounded up or down."""
    unit = 10.0 ** (math.floor(math.log10(number)) + 1 - digits)
    rounded = rounding(round(number / unit, 6)) * unit
    return f"{rounded:.0f}" if unit >= 1 else f"{rounded:.{digits}g}"


def _normal_bits(model: NaiveBayes, noises: Noises, part: Normal, steps: LogRatios) -> Bits | None:
    """Estimate what the value of an attribute released as mean and deviation tells of the class, among rows with one.

    Where the noise is public, releases are simulated. What noise adds to the bits on average is subtracted. It is
    reckoned twice, as is the interval: first about the released moments, then about moments that tell as many bits as
    are left, moved towards those that all classes have in common (the bits grow with the square of the distance).
    """
    attribute, mechanism = model.domain[part.attribute], model.guarantee.mechanism
    assert isinstance(attribute, Numeric)
    mean, deviation = np.array(part.mean), np.array(part.deviation)
    present, values = steps.probability.sum(axis=1), steps.probability
    prior = np.array(model.priors) * present
    prior /= prior.sum()  # among the rows that have a value
    plain = mutual_information(prior, values / present[:, None])
    record = record_named(mechanism)
    queries = [] if record is None else [(query, part.attribute) for query in record.moments]
    if record is None or not any(query in noises for query in queries):
        return Bits(plain, plain, plain)
    drawn = [noises.get(query) for query in queries]
    if None in drawn or len(drawn) != 2:
        return None
    share = model.measured[queries[1]].share
    public, scale = list(map(sample_size, model.sizes(part.attribute))), attribute.scale
    generator = np.random.default_rng(len(prior))
    errors = [
        np.column_stack([noise.draws(generator, SIMULATED, klass) for klass in range(len(prior))])
        for noise in drawn
        if noise is not None
    ]
    power = 1 if queries[1][0] == "deviation" else 2

    def simulated(part_left: float) -> Floats:
        """Return the errors of the bits about moments between common ones and the released."""
        common = prior @ mean, math.sqrt(prior @ (deviation**2 + (mean - prior @ mean) ** 2))
        true_mean = common[0] + part_left * (mean - common[0])
        true_deviation = common[1] + part_left * (deviation - common[1])
        parameters = [
            record.normals(attribute, means.tolist(), spreads.tolist(), public, share)
            for means, spreads in zip(
                (true_mean + errors[0] - scale.origin) / scale.step,
                (true_deviation**power + errors[1]) / scale.step**power,
                strict=True,
            )
        ]
        means, deviations = (np.array([getattr(each, name) for each in parameters]) for name in ("mean", "deviation"))
        found = _normal_information(attribute, prior, means, deviations)
        return found - _normal_information(attribute, prior, true_mean, true_deviation)

    left = max(plain - float(simulated(1.0).mean()), 0.0)
    added = simulated(math.sqrt(min(left / plain, 1.0)) if plain > 0 else 0.0)
    low, high = (plain - float(np.quantile(added, each)) for each in ((1 + LEVEL) / 2, (1 - LEVEL) / 2))
    if not np.isfinite(added).all():
        return None  # moments that no rows have
    return Bits(max(plain - float(added.mean()), 0.0), max(low, 0.0), max(high, 0.0))


def mean_texts(model: NaiveBayes, part: Normal, noises: Noises) -> list[str]:
    """Write the released mean of each class, clamped to the declared bounds; of log(1 + x) under a logarithm.

    The interval, where the scale of the noise is public, holds the mean of the sample of public size in 95 % of all
    draws. Padding or cutting the sample moves its mean from that of the rows: by half of the attribute's width at most,
    divided by the size, for each row that the size is off. Let the mean have the noise b Z, Z of the Laplace
    distribution, and the size the same share. Then the mean of the rows is off by b (Z + Z'/2) at most, and by more
    than half of the interval, -b log 0.05, with a probability of at most (0.05 - 0.05^2/4)/(1 - 1/4), 6.6 %.
    """
    attribute, rules = model.domain[part.attribute], record_named(model.guarantee.mechanism)
    assert isinstance(attribute, Numeric)
    scale, noise = attribute.scale, noises.get(("mean", part.attribute))
    name = "trimmed mean" if rules is not None and rules.smooth else "mean"
    name += " of log(1 + x)" if attribute.transform is Transform.LOG1P else ""
    texts = []
    for klass, drawn in enumerate(model.measured["mean", part.attribute].column):
        released = in_unit(model.domain, "mean", part.attribute, drawn)
        ends = (released, released) if noise is None else noise.interval(released, klass=klass)
        mean, low, high = (min(max(scale.origin, each), scale.end) for each in (released, *ends))
        if noise is None:
            texts.append(f"{name} {mean:.4g}")
            continue
        digits = min(max(1 - math.floor(math.log10(high - low or 1.0)), 0), 9)  # of the width the first two
        low, high = (
            rounding(round(end * 10**digits, 6)) / 10**digits
            for rounding, end in ((math.floor, low), (math.ceil, high))
        )
        texts.append(f"{name} {mean:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})")
    return texts


def _normal_information(attribute: Numeric, prior: Floats, means: Floats, deviations: Floats) -> Floats:
    scale = attribute.scale
    values = scale.origin + (scale.end - scale.origin) * PLACES
    logarithms = -0.5 * ((values - means[..., None]) / deviations[..., None]) ** 2
    probability = np.exp(logarithms - logarithms.max(axis=-1, keepdims=True))
    probability /= probability.sum(axis=-1, keepdims=True)
    overall = np.einsum("c,...cv->...v", prior, probability)
    parts = probability * np.log2(np.maximum(probability, TINY) / np.maximum(overall[..., None, :], TINY))
    bits: Floats = prior @ np.moveaxis(parts.sum(axis=-1), -1, 0)
    return bits


def bin_texts(attribute: Numeric, edges: Sequence[int]) -> list[str]:
    """Name the values of every bin of a histogram, whose edges are codes of the attribute's scale."""
    starts = [0, *bin_starts(attribute, edges)]
    return [_value_text(attribute, starts, place) for place in range(len(starts))]


def _value_text(attribute: Attribute, starts: Sequence[int], place: int) -> str:
    """Name the values of a step: a category, a number, or the first and the last number; beyond the last, missing."""
    if not isinstance(attribute, Numeric):
        return attribute.values[place] if place < len(attribute.values) else "missing"
    if place == len(starts):
        return "missing"
    end = starts[place + 1] if place + 1 < len(starts) else attribute.cells + 1
    # On a logarithmic scale a bin may hold no number of the grid.
    codes = starts[place], max(end - 1, starts[place])
    first, last = (number_text(attribute.lower + attribute.step * code) for code in codes)
    return first if first == last else f"{first} to {last}"
