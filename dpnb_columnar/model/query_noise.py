"""The noise of each query as public facts tell it: its family and its scale, in the released number's unit.

A release adds S Z to an exact answer: Z of a noise family that is calibrated to the query's share, S the sensitivity.
Where S is a public constant the distribution of the noise is public: of all counts, of sums of weights, and of moments
of whole samples of public size. Where S follows the rows (trimmed moments) its size is confidential, and there is None.

Of what was drawn a measurement holds it. Before that, for a plan, and to check a file, it is computed in closed form,
so that a model is read without the library that noise is drawn by; tests/model/test_query_noise.py compares with the
families of ``noise``. The scales there are rounded up, by a relative 2^-100, and moments are released to 2^-20 of a
code: neither shows in a float. That counts are rounded to whole numbers is reckoned with. That they are cut off at 2^53
is not: a count within an interval's width of that is no census.

Confidence intervals of figures over rows, in closed form, at the level of 95 %, and exact bounds at any level.

The rows count as independent draws from the population that the model will be used on. CONFIDENTIAL, like the figures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from dpnb_columnar.core.budget import Pure, Share
from dpnb_columnar.core.budget.composition import GRADIENT
from dpnb_columnar.core.code_limits import squares_shift
from dpnb_columnar.core.measurement import LAPLACE, WEIGHTED_COUNTS, Key, Measurement
from dpnb_columnar.core.mechanisms.tuning import POLYPLACE_ALPHA, beta_of, sample_size
from dpnb_columnar.domain import Domain, Numeric, Transform
from dpnb_columnar.domain.names import quoted
from dpnb_columnar.model.parameters import NaiveBayes

if TYPE_CHECKING:
    import numpy as np
    from numpy.random import Generator
    from numpy.typing import ArrayLike, NDArray


LEVEL = 0.95
"""Of all intervals."""

Interval = tuple[float, float]
"""Lower and upper end."""

NOT_TOLD = "its scale follows the sensitivity of the rows themselves, which is confidential, so it is not told"
"""Of noise whose scale is no public fact."""

ROWS = "rows"

SUMS = "sums of log-ratios"
"""Unit of gradients."""

MOMENTS = ("mean", "variance", "deviation", "mean of squares")
"""Queries whose sensitivity is a public constant only where their noise needs one."""


@dataclass(frozen=True, slots=True)
class QueryNoise:
    """The distribution of the noise in the numbers of one query, symmetrical about 0. Public.

    Attributes:
        scales: Scale of the family's standard shape in the number's unit: one for all numbers, or one per class.
        whole: Whether they are rounded to whole numbers that are not negative before noise: counts and sums of weights.
        factor: The unit in that of the measurement's values: codes of the attribute's scale, or squared ones.
    """

    family: str
    scales: tuple[float, ...]
    unit: str
    whole: bool
    factor: float = 1.0

    def scale(self, klass: int = 0) -> float:
        """Return the scale of the noise in a class's numbers."""
        return self.scales[klass if len(self.scales) > 1 else 0]

    def quantile(self, level: float = LEVEL, klass: int = 0) -> float:
        """Compute the size that this part of the noise stays below, before rounding."""
        import numpy as np

        return self.scale(klass) * float(_magnitude(self.family, np.array(1 - level)))

    def deviation(self, klass: int = 0) -> float:
        """Compute the standard deviation, rounding to whole numbers included; infinite where the tails have none."""
        scale = self.scale(klass)
        if self.whole and self.family == LAPLACE:
            return math.sqrt(count_variance(1 / scale))
        # Rounding adds the variance of an even distribution, up to what is too small to show beside these tails.
        return math.sqrt(scale**2 * _variance(self.family) + self.whole / 12)

    def draws(self, generator: Generator, size: int | tuple[int, ...], klass: int = 0) -> NDArray[np.float64]:
        """Draw noise of the class's numbers, for simulations: nothing here protects anybody."""
        import numpy as np

        signs = 1 - 2 * generator.integers(0, 2, size)
        drawn: NDArray[np.float64] = self.scale(klass) * signs * _magnitude(self.family, 1 - generator.random(size))
        return np.rint(drawn, out=drawn) if self.whole else drawn

    def half_width(self, level: float = LEVEL, klass: int = 0) -> float:
        """Compute how far from the exact number a released one is at most, with this probability.

        A whole number is at most k off where the noise before rounding is below k + 1/2, so k is the smallest whole
        number of which that is likely enough.
        """
        bound = self.quantile(level, klass)
        return float(max(math.ceil(bound - 0.5), 0)) if self.whole else bound

    def interval(self, released: float, klass: int = 0) -> Interval:
        """Compute the ends between which the exact number is, with probability ``LEVEL`` over the noise."""
        half = self.half_width(LEVEL, klass)
        low, high = released - half, released + half
        return (max(low, 0.0), max(high, 0.0)) if self.whole else (low, high)


def query_noise(domain: Domain, share: Share, sizes: Sequence[int] | None = None) -> QueryNoise | None:
    """Tell the noise of a query."""
    if share.query in MOMENTS:
        attribute = domain[share.attribute or ""]
        assert isinstance(attribute, Numeric)
        return moments_noise(attribute, share, sizes)
    standard = _standard_scale(share.noise, float(share.row_cost.epsilon)) if isinstance(share.row_cost, Pure) else None
    if standard is None:
        return None
    if share.query.startswith(GRADIENT):
        return QueryNoise(share.noise, (standard,), "what one row adds at most", whole=False)
    steps = domain.weight.steps if share.query == WEIGHTED_COUNTS and domain.weight is not None else 1
    return QueryNoise(share.noise, (steps * standard,), _count_text(domain, share.query), whole=True)


def measured_noise(domain: Domain, measured: Measurement) -> QueryNoise | None:
    """Tell the noise of a measurement, in the unit that people read its numbers in."""
    if measured.scale is None or measured.share is None:
        return None
    scales = measured.scale if len(set(measured.scale)) > 1 else measured.scale[:1]
    if measured.query in MOMENTS:
        attribute = domain[measured.attribute or ""]
        assert isinstance(attribute, Numeric)
        factor, _ = moment_unit(attribute, measured.query)
        unit = _moment_text(attribute, measured.query)
        return QueryNoise(measured.noise, tuple(factor * scale for scale in scales), unit, whole=False, factor=factor)
    if measured.query.startswith(GRADIENT):
        return QueryNoise(measured.noise, scales, SUMS, whole=False)
    return QueryNoise(measured.noise, scales, _count_text(domain, measured.query), whole=True)


def model_noise(model: NaiveBayes) -> Mapping[Key, QueryNoise | None]:
    """Tell the noise of each query of a model's composition table."""
    keys = [(share.query, share.attribute) for share in model.guarantee.composition]
    return {key: measured_noise(model.domain, model.measured[key]) for key in keys}


def moment_unit(attribute: Numeric, query: str) -> tuple[float, float]:
    """Return how much a released moment grows from 0 to 1 in the attribute's unit, or its square, and what 0 is."""
    scale = attribute.scale
    if query in ("mean", "deviation"):
        return scale.step, scale.origin if query == "mean" else 0.0
    return scale.step**2 * (2 ** squares_shift(scale.cells) if query == "mean of squares" else 1), 0.0


def in_unit(domain: Domain, query: str, attribute: str | None, number: float) -> float:
    """Convert a released number to the unit that people read it in: that of the attribute, of moments."""
    if query not in MOMENTS:
        return number
    declared = domain[attribute or ""]
    assert isinstance(declared, Numeric)
    factor, origin = moment_unit(declared, query)
    return origin + factor * number


def _moment_text(attribute: Numeric, query: str) -> str:
    """Name the unit of a moment."""
    name = quoted(attribute.name)
    unit = name if attribute.transform is Transform.IDENTITY else f"log(1 + {name})"
    return f"{unit}, squared" if query in ("variance", "mean of squares") else unit


def _count_text(domain: Domain, query: str) -> str:
    """Name the unit of counts, or of sums of weights."""
    weighted = query == WEIGHTED_COUNTS and domain.weight is not None
    return f"steps of {quoted(domain.weight.column)}" if weighted and domain.weight is not None else ROWS


def moments_noise(attribute: Numeric, share: Share, sizes: Sequence[int] | None) -> QueryNoise | None:
    """Tell the noise of moments of whole samples: Laplace noise for the most that one substitution changes.

    That is of a sample of N values with codes up to c: c/N of a mean, (N-1)/N^2 c^2 of a variance, sqrt(N-1)/N c of a
    deviation (docs/privacy.md, section 4; ``core.sensitivity.moments`` has them exactly).
    """
    if share.noise != LAPLACE or not isinstance(share.row_cost, Pure):
        return None
    if sizes is None:
        raise ValueError("the noise of a moment needs the public sizes of its samples")
    width, changes = attribute.scale.cells * attribute.scale.step, []
    for size in map(sample_size, sizes):
        if share.query == "variance":
            changes.append((size - 1) / size**2 * width**2)
        else:
            changes.append(width / size * (math.sqrt(size - 1) if share.query == "deviation" else 1))
    epsilon, (factor, _) = float(share.row_cost.epsilon), moment_unit(attribute, share.query)
    scales = tuple(change / epsilon for change in changes)
    return QueryNoise(share.noise, scales, _moment_text(attribute, share.query), whole=False, factor=factor)


def count_variance(epsilon: float) -> float:
    """Compute the variance of Laplace noise of scale 1/epsilon that is rounded to whole numbers.

    Its size is k > 0 with probability (1 - r) r^(k - 1/2), for r = exp(-epsilon), so the variance is
    sqrt(r) (1 + r)/(1 - r)^2.
    """
    ratio, rest = math.exp(-epsilon), -math.expm1(-epsilon)
    return math.sqrt(ratio) * (1 + ratio) / rest**2


# The families whose cost is pure, the only ones that counts are released with: their scales, and their standard shapes.


def _standard_scale(family: str, epsilon: float) -> float | None:
    """Compute the scale c of a family, of noise c X for a sensitivity of 1; None for families of other costs.

    The derivations are those of ``noise``: ``Laplace``, ``PaperCauchy``, ``NissimCauchy``, ``PolyPlace``, ``StudentT``.
    """
    simple = {LAPLACE: 1.0, "cauchy": math.sqrt(2), "nissim-cauchy": 6.0, "polyplace": float(POLYPLACE_ALPHA)}
    if family in simple:
        return simple[family] / epsilon
    degrees = _degrees(family)
    if degrees is None:
        return None
    scales = []
    for b in (0.0, epsilon / (degrees + 3)):
        eta = (2 * epsilon - (degrees - 1) * b) / (degrees + 1)
        scales.append(1 / math.sqrt(4 * degrees * math.exp(b) * math.sinh((eta + b) / 2) * math.sinh((eta - b) / 2)))
    return max(scales)


def _degrees(family: str) -> int | None:
    """Return the degrees of freedom of a Student t family; None for other families."""
    try:
        beta_of(family)
    except ValueError:
        return None
    number = family.removeprefix("student-")
    return int(number) if number.isdigit() else None


_ALPHA = float(POLYPLACE_ALPHA)
_INNER: float = (1 - 1 / _ALPHA) ** _ALPHA
"""Of PolyPlace noise of scale s: (1 - 1/alpha)^alpha, and the probability beyond s/alpha (``noise.PolyPlace``)."""
_TAIL: float = (1 + 1 / _ALPHA) / (2 / _ALPHA + (1 - 1 / _ALPHA) ** (1 - _ALPHA))


def _magnitude(family: str, survival: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the size that a variable of a family's standard shape exceeds with these probabilities."""
    import numpy as np

    size: NDArray[np.float64]
    degrees = _degrees(family)
    if family == LAPLACE:
        size = -np.log(survival)
    elif family == "polyplace":
        beyond = (1 + 1 / _ALPHA) * (_TAIL / survival) ** (1 / _ALPHA) - 1
        within = np.maximum(1 - (1 - survival) * (1 - _INNER) / (1 - _TAIL), _INNER)
        size = np.where(survival < _TAIL, beyond, 1 - within ** (1 / _ALPHA))
    elif degrees is None or degrees == 1:
        size = 1 / np.tan(np.pi * survival / 2)
    else:
        from scipy import special

        size = -special.stdtrit(degrees, survival / 2)
    return size


def _variance(family: str) -> float:
    """Compute the variance of a family's standard shape."""
    if family == LAPLACE:
        return 2.0
    if family == "polyplace":
        a, c = _ALPHA, 1 + 1 / _ALPHA
        beyond = _TAIL * (c**2 * a / (a - 2) - 2 * c * a / (a - 1) + 1)

        def within(y: float) -> float:  # the integral of (1 - y^(1/a))^2
            first, second = y ** (1 + 1 / a), y ** (1 + 2 / a)
            return float(y - 2 * first / (1 + 1 / a) + second / (1 + 2 / a))

        body: float = (1 - _TAIL) * (within(1) - within(_INNER)) / (1 - _INNER)
        return beyond + body
    degrees = _degrees(family)
    return math.inf if degrees is None or degrees <= 2 else degrees / float(degrees - 2)


QUANTILE = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""Deviations on either side of a normal variable's mean that hold ``LEVEL`` of its probability."""


def interval_text(interval: Interval | None) -> str:
    """Write both ends to four digits, in brackets; nothing where there is no interval."""
    return "" if interval is None else f"({interval[0]:.4f} to {interval[1]:.4f})"


def wilson_interval(successes: int, trials: int) -> Interval:
    """Compute the score interval of a probability (Wilson 1927, Journal of the American Statistical Association 22)."""
    share, square = successes / trials, QUANTILE**2 / trials
    middle = (share + square / 2) / (1 + square)
    half = math.sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    # At 0 and 1 the ends are exact; rounding must not put the share itself outside.
    return min(max(middle - half, 0.0), share), max(min(middle + half, 1.0), share)


def lower_bound(hits: ArrayLike, trials: int, error: float) -> NDArray[np.float64]:
    """Bound probabilities from below, each too high with probability ``error`` (Clopper and Pearson 1934)."""
    import numpy as np
    from scipy.special import betaincinv

    hits = np.asarray(hits, dtype=np.float64)
    return np.where(hits > 0, betaincinv(np.maximum(hits, 1), trials - hits + 1, error), 0.0)


def upper_bound(hits: ArrayLike, trials: int, error: float) -> NDArray[np.float64]:
    """Bound probabilities from above, as ``lower_bound`` does from below."""
    import numpy as np

    return 1 - lower_bound(trials - np.asarray(hits, dtype=np.float64), trials, error)


def mean_of_probabilities(counts: Sequence[tuple[int, int]]) -> Interval:
    """Compute an interval of the mean of probabilities that are estimated from disjoint rows.

    The distances of Wilson's ends from the estimates are added as deviations are (Zou and Donner 2008, Statistics in
    Medicine 27, "MOVER").
    """
    shares = [successes / trials for successes, trials in counts]
    ends = [wilson_interval(*each) for each in counts]
    mean = sum(shares) / len(shares)
    below = math.hypot(*(share - lower for share, (lower, _) in zip(shares, ends, strict=True)))
    above = math.hypot(*(upper - share for share, (_, upper) in zip(shares, ends, strict=True)))
    return max(mean - below / len(shares), 0.0), min(mean + above / len(shares), 1.0)


def paired_difference(won: int, lost: int, rows: int) -> Interval:
    """Compute an interval of the difference of two accuracies on the same rows.

    The normal interval after half a row is added to each of the four cells right or wrong, right or wrong (Agresti and
    Min 2005, Statistics in Medicine 24).
    """
    total, difference, discordant = rows + 2, won - lost, won + lost + 1
    half = QUANTILE * math.sqrt(discordant - difference**2 / total)
    return max((difference - half) / total, -1.0), min((difference + half) / total, 1.0)


def difference(one: tuple[int, int], other: tuple[int, int]) -> Interval:
    """Compute an interval of the difference of two probabilities that are estimated from disjoint rows.

    The distances of Wilson's ends from the estimates are added as deviations are (Newcombe 1998, Statistics in Medicine
    17, method 10).
    """
    first, second = one[0] / one[1], other[0] / other[1]
    ends, others = wilson_interval(*one), wilson_interval(*other)
    below, above = math.hypot(first - ends[0], others[1] - second), math.hypot(ends[1] - first, second - others[0])
    return max(first - second - below, -1.0), min(first - second + above, 1.0)


def mean(total: float, squares: float, rows: int) -> Interval | None:
    """Compute the normal interval of the mean of a number that is not negative; None for fewer than two rows."""
    if rows < 2:
        return None
    variance = max(squares - total**2 / rows, 0.0) / (rows - 1)
    half = QUANTILE * math.sqrt(variance / rows)
    return max(total / rows - half, 0.0), total / rows + half
