"""Exact comparison of all pairs of neighbours on small domains.

Under forced answers a release is a deterministic function: whatever differs between neighbours, beside the locations
and scales of the draws, leaks past the noise. The draws themselves are judged by their exact densities, and must not
cost more together than was promised.

*Loss of one draw.* It is measured on the densities of its noise family, whatever the family claims. Neighbours draw
from f + S Z and f' + S' Z. In units of the first scale these are Z and t + r Z, with t = (f' - f)/S and r = S'/S. What
is computed is attained: by points of a grid, or by a partition of the line into cells, which is post-processing. So no
number here is above the true loss, and finer grids approach it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from dpnb_columnar.core.budget import Approximate, Concentrated, PrivacyCost, Pure, Share
from dpnb_columnar.core.budget.composition import GRADIENT
from dpnb_columnar.core.noise import NoiseFamily
from dpnb_columnar.extensions.audit.outcomes import Answers, Configuration, Drawn, Finding, Record, numbers, record
from dpnb_columnar.extensions.audit.universe import AnyUniverse, Database, NeighbourGroup, Pair
from dpnb_columnar.training import Release

Floats = NDArray[np.float64]

NEAR, FAR, POINTS = 1e-3, 1e12, 181
"""Grid of magnitudes for pure losses: the ratio of two scales shows fully in the far tails only."""

SHIFTED = 1e4
"""How far to look where scales are equal; beyond, light tails are differences of large numbers."""

LEVELS = 200
"""Cells per side, evenly spaced in the logarithm of the tail's probability."""

FARTHEST = 1e-17
"""Probability of the last cell of a side."""

FINE = np.concatenate([[0.0], np.geomspace(1e-6, 1e15, 8001)])
"""Magnitudes between which a level of the tail is interpolated."""

ORDERS = np.concatenate([1 + np.geomspace(1e-3, 1, 8), np.geomspace(2.5, 300, 16)])
"""Orders a of Renyi divergences."""

CHUNK = 128
"""Changes evaluated at once."""

TOLERANCE = 1e-6
"""Relative: above what a conversion leaves unspent on rounding, and far below any fault."""

Measured = tuple[PrivacyCost, float]
"""The loss that a draw claims, and what was measured of it."""


def measured(noise: NoiseFamily, shift: Floats, ratio: Floats) -> Floats:
    """Measure the loss of each change, in the number that the family's loss is stated by."""
    parts = np.array_split(np.arange(len(shift)), max(1, -(-len(shift) // CHUNK)))
    return np.concatenate([_measured(noise, shift[part, None], ratio[part, None]) for part in parts])


def worst_admissible(noise: NoiseFamily) -> float:
    """Measure the loss between the farthest neighbours covered: t = min(1, r) or 0, with log r = 0 or +-beta."""
    beta = float(noise.beta)
    ratio = np.exp(np.array([-beta, 0, beta, beta]))
    return float(measured(noise, np.minimum(1, ratio) * np.array([1, 1, 1, 0]), ratio).max())


def _measured(noise: NoiseFamily, shift: Floats, ratio: Floats) -> Floats:
    match noise.cost:
        case Pure():
            return _largest_ratio(noise, shift, ratio)
        case Approximate(epsilon=epsilon):
            one, two = _cells(noise, shift, ratio)
            return np.maximum(_hockey_stick(one, two, epsilon), _hockey_stick(two, one, epsilon))
        case Concentrated():
            one, two = _cells(noise, shift, ratio)
            rho: Floats = _rates(one, two).max(axis=(0, 2))
            return rho


def claimed(noise: NoiseFamily) -> float:
    """Read the number that ``measured`` must not exceed."""
    match noise.cost:
        case Pure(epsilon=number) | Approximate(delta=number) | Concentrated(rho=number):
            return float(number)


def _largest_ratio(noise: NoiseFamily, shift: Floats, ratio: Floats) -> Floats:
    """Largest |log-ratio| of the two densities, on grids around both centres."""
    magnitudes = np.concatenate([[0.0], np.geomspace(NEAR, FAR, POINTS)])
    grid = np.concatenate([-magnitudes[:0:-1], magnitudes])[None, :]
    worst = np.zeros(len(shift))
    for point, moved in ((grid, (grid - shift) / ratio), (grid * ratio + shift, grid)):
        loss = np.abs(noise.log_density(point) - noise.log_density(moved) + np.log(ratio))
        worst = np.maximum(worst, np.max(np.where((ratio != 1) | (np.abs(grid) <= SHIFTED), loss, 0), axis=1))
    return worst


def _magnitudes(noise: NoiseFamily) -> Floats:
    """Magnitudes at which the tail's probability falls to each level, from 0 outwards; shape (levels,)."""
    tail = noise.survival(FINE)
    near = np.linspace(0, 0.99, LEVELS // 4)
    levels = np.concatenate([1 - near, np.geomspace(0.0099, FARTHEST, LEVELS)])
    return np.unique(np.interp(-levels, -tail, FINE))


def _cells(noise: NoiseFamily, shift: Floats, ratio: Floats) -> tuple[Floats, Floats]:
    """Probabilities of the cells of a common partition of the line; both of shape (changes, cells)."""
    magnitudes = _magnitudes(noise)
    own = np.concatenate([-magnitudes[:0:-1], magnitudes])[None, :]
    edges = np.sort(np.concatenate([np.broadcast_to(own, (len(shift), own.size)), own * ratio + shift], axis=1))
    ends = np.full((len(shift), 1), np.inf)
    edges = np.concatenate([-ends, edges, ends], axis=1)
    return _masses(noise, edges), _masses(noise, (edges - shift) / ratio)


def _masses(noise: NoiseFamily, edges: Floats) -> Floats:
    """Compute the probability between consecutive edges, without cancellation in either tail."""
    with np.errstate(over="ignore"):
        tail = np.where(np.isfinite(edges), noise.survival(np.minimum(np.abs(edges), 1e300)) / 2, 0.0)
    left, right = tail[:, :-1], tail[:, 1:]
    low, high = edges[:, :-1], edges[:, 1:]
    across = (low < 0) & (high > 0)
    masses: Floats = np.where(across, 1 - left - right, np.abs(left - right))
    return masses


def _hockey_stick(one: Floats, two: Floats, epsilon: Fraction) -> Floats:
    """Compute the supremum over events of P(E) - exp(epsilon) Q(E): every cell that adds to it."""
    gained: Floats = np.maximum(one - math.exp(epsilon) * two, 0).sum(axis=1)
    return gained


def concentrated_together(draws: Sequence[tuple[NoiseFamily, float, float]]) -> float:
    """Measure the rho of several independent draws together: divergences of one order add up."""
    rates = np.zeros((2, len(ORDERS)))
    for noise, shift, ratio in draws:
        rates += _rates(*_cells(noise, np.array([[shift]]), np.array([[ratio]])))[:, 0]
    return float(rates.max())


def _rates(one: Floats, two: Floats) -> Floats:
    """Compute D_a(P || Q)/a and D_a(Q || P)/a of each order a, whose supremum is rho."""
    seen = (one > 1e-250) & (two > 1e-250)  # what is left out could only add
    with np.errstate(divide="ignore"):
        log_one, log_two = np.log(np.where(seen, one, 1)), np.log(np.where(seen, two, 1))
    rates = np.zeros((2, len(one), len(ORDERS)))
    for direction, (log_p, log_q) in enumerate(((log_one, log_two), (log_two, log_one))):
        for place, order in enumerate(ORDERS):
            term = np.where(seen, order * log_p + (1 - order) * log_q, -np.inf)
            top = np.max(term, axis=1)
            divergence = (top + np.log(np.exp(term - top[:, None]).sum(axis=1))) / (order - 1)
            rates[direction, :, place] = divergence / order
    return np.maximum(rates, 0.0)


def composed(losses: Sequence[Measured], delta: float) -> float:
    """Compute the smallest epsilon that the losses of several draws imply together, at a delta.

    Pure draws cost what was measured, others what they claim, once what was measured is no more than that.
    """
    epsilon = sum(
        number if isinstance(loss, Pure) else float(loss.epsilon) if isinstance(loss, Approximate) else 0.0
        for loss, number in losses
    )
    rho = sum(float(loss.rho) for loss, _ in losses if isinstance(loss, Concentrated))
    if rho:
        return concentrated_epsilon(
            rho + sum(number**2 / 2 for loss, number in losses if isinstance(loss, Pure)), delta
        )
    spent = sum(float(loss.delta) for loss, _ in losses if isinstance(loss, Approximate))
    return epsilon if spent <= delta * (1 + TOLERANCE) else math.inf


@lru_cache(maxsize=4096)
def concentrated_epsilon(rho: float, delta: float) -> float:
    """Compute the smallest epsilon that rho-zCDP implies at delta (Canonne, Kamath and Steinke 2020, Corollary 13)."""
    order = 1 + np.geomspace(1e-6, 1e6, 200_001)
    epsilons = order * rho + (order * np.log1p(-1 / order) - np.log(order - 1) - math.log(delta)) / (order - 1)
    return max(float(epsilons.min()), 0.0)


FAILURES, QUERIES, POST_PROCESSING, NOISE, LOSS = "failures", "queries", "post-processing", "noise", "loss"
"""Names of the checks: exceptions, which draws are made, what is computed from the answers, the claim of each draw,
and all draws together."""

Change = tuple[NoiseFamily, int, Fraction, Fraction]
"""A family, how many rows' changes may add up in the draw, the change of location in units of the first scale, and the
ratio of the scales."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Result of comparing all pairs."""

    loss: float
    pairs: int
    findings: tuple[Finding, ...]


class NeighbourComparison:
    """Collects the differences between pairs of neighbours, and judges all of them at once."""

    def __init__(self, configuration: Configuration, universe: AnyUniverse) -> None:
        self.plan = configuration.plan(universe.domain)
        self.universe = universe
        self.pairs = 0
        self.findings: dict[str, Finding] = {}
        self._changes: dict[Change, int] = {}
        self._differing: dict[tuple[int, ...], Pair] = {}
        self._sums: dict[tuple[Pure | Concentrated, tuple[int, ...]], Pair] = {}

    def add(self, group: NeighbourGroup) -> None:
        """Compare the pairs of a group under each of its forced class counts."""
        self.pairs += len(group.pairs)
        members = {database for pair in group.pairs for database in pair}
        databases = {database: self.universe.counted(database) for database in members}
        for seed, sizes in enumerate(group.sizes):
            records = {
                database: record(self.plan, rows, Answers(sizes, seed, self.universe.period))
                for database, rows in databases.items()
            }
            for pair in group.pairs:
                self._compare(pair, *(records[database] for database in pair))

    def result(self, claim: Approximate) -> Compared:
        """Measure the losses of all changes, and compare every pair's loss with the claim."""
        losses = self._measured()
        worst, place = 0.0, None
        for changes, pair in self._differing.items():
            loss = composed([losses[change] for change in changes], float(claim.delta))
            if loss > worst:
                worst, place = loss, pair
        if place is not None and worst > float(claim.epsilon) * (1 + TOLERANCE):
            self._report(LOSS, place, f"epsilon {worst:.4g} where {float(claim.epsilon):.4g} is claimed")
        for (share, places), pair in self._sums.items():
            together, stated = self._together(share, [losses[each][1] for each in places], places)
            if together > stated * (1 + TOLERANCE):
                kind = type(share).__name__.lower()
                seen = f"one gradient has a {kind} loss of {together:.4g} where its share is {stated:.4g}"
                self._report(NOISE, pair, seen)
        return Compared(worst, self.pairs, tuple(self.findings.values()))

    def _compare(self, pair: Pair, one: Record, two: Record) -> None:
        if one.failure or two.failure:
            self._report(FAILURES, pair, f"{one.failure or 'a release'} or {two.failure or 'a release'}")
        elif difference := next(_different_queries(one.draws, two.draws), None):
            self._report(QUERIES, pair, difference)
        elif one.release is not None and two.release is not None:
            if one.release != two.release:
                self._report(POST_PROCESSING, pair, _difference(numbers(one.release), numbers(two.release)))
            elif len(one.draws) != sum(share.values for share in one.release.guarantee.composition):
                self._report(QUERIES, pair, f"{len(one.draws)} draws are not what the composition table says")
        rounds = _sums(one.release)
        of_gradients = {place for _, places in rounds for place in places}
        changed: dict[int, int] = {}
        for place, (first, second) in enumerate(zip(one.draws, two.draws, strict=False)):
            if min(first.scale, second.scale) <= 0:
                self._report(NOISE, pair, f"one {first.noise.name} draw is made without any noise")
            elif first.location != second.location or first.scale != second.scale:
                moved, scaled = (second.location - first.location) / first.scale, second.scale / first.scale
                change = first.noise, self._added_up(place in of_gradients), moved, scaled
                changed[place] = self._changes.setdefault(change, len(self._changes))
        self._differing.setdefault(tuple(changed.values()), pair)
        for share, places in rounds:
            assert not isinstance(share.cost, Approximate)
            self._sums.setdefault((share.cost, tuple(changed[each] for each in places if each in changed)), pair)

    def _added_up(self, of_a_gradient: bool) -> int:
        """Tell how many rows' changes between two neighbours may add up in one draw.

        The rows of a unit may all change one draw. So do the row that goes and the one that comes in a gradient, where
        either moves a component by its clip, in opposite directions; only the sum over all components is bounded.
        """
        return self.plan.budget.rows if of_a_gradient or self.plan.domain.unit is not None else 1

    def _together(
        self, share: Pure | Concentrated, epsilons: Sequence[float], places: Sequence[int]
    ) -> tuple[float, float]:
        """Measure what the draws of a sum over rows cost together, for one pair, in the number that its share is in."""
        if isinstance(share, Pure):
            return sum(epsilons), float(share.epsilon)
        # Only where this is not within the share is it measured.
        most, stated = sum(epsilon**2 / 2 for epsilon in epsilons), float(share.rho)
        if most <= stated:
            return most, stated
        changes = list(self._changes)
        draws = [(noise, float(moved), float(scaled)) for noise, _, moved, scaled in map(changes.__getitem__, places)]
        return concentrated_together(draws), stated

    def _measured(self) -> list[Measured]:
        """Measure the privacy loss of every change; one above what its own draw claims is a finding."""
        losses: list[Measured] = [(change[0].cost, 0.0) for change in self._changes]
        by_family: dict[NoiseFamily, list[Change]] = {}
        for change in self._changes:
            by_family.setdefault(change[0], []).append(change)
        for noise, changes in by_family.items():
            steps = np.array([added_up for _, added_up, _, _ in changes])
            shift, ratio = np.array([(float(moved), float(scaled)) for _, _, moved, scaled in changes]).T
            values = measured(noise, shift, ratio)
            for change, value in zip(changes, values, strict=True):
                losses[self._changes[change]] = (noise.cost, float(value))
            by_row = values / steps
            number = self._changes[changes[int(by_row.argmax())]]
            pair = next(pair for places, pair in self._differing.items() if number in places)
            self._judge(noise, float(by_row.max()), self._description(pair))
            self._judge(noise, worst_admissible(noise), "neighbours as far apart as the family allows")
        return losses

    def _judge(self, noise: NoiseFamily, loss: float, pair: str) -> None:
        if loss <= claimed(noise) * (1 + TOLERANCE):
            return
        kind = type(noise.cost).__name__.lower()
        seen = f"one {noise.name} draw has a {kind} loss of {loss:.4g} where {claimed(noise):.4g} is claimed"
        self.findings.setdefault(NOISE, Finding(NOISE, pair, seen))

    def _report(self, check: str, pair: Pair, seen: str) -> None:
        self.findings.setdefault(check, Finding(check, self._description(pair), seen))

    def _description(self, pair: Pair) -> str:
        return " against ".join(map(self.universe.description, pair))


def compare(
    configuration: Configuration, universe: AnyUniverse, groups: Iterable[NeighbourGroup], claim: Approximate
) -> Compared:
    """Compare all pairs of neighbours of some groups."""
    comparison = NeighbourComparison(configuration, universe)
    for group in groups:
        comparison.add(group)
    return comparison.result(claim)


def claim_of(configuration: Configuration, universe: AnyUniverse) -> Approximate:
    """Read the guarantee that a release of this configuration states; its budget where nothing can be released."""
    nobody: Database = (0,) * len(universe.rows)
    release = record(configuration.plan(universe.domain), universe.counted(nobody), Answers((9, 9), 0)).release
    stated = release.guarantee if release is not None else configuration.budget
    epsilon, delta = stated.epsilon, stated.delta
    if epsilon is None or delta is None:
        raise ValueError(f"{configuration}: its releases carry no guarantee")
    return Approximate(epsilon, delta)


def _different_queries(one: Sequence[Drawn], two: Sequence[Drawn]) -> Iterator[str]:
    if len(one) != len(two):
        yield f"{len(one)} or {len(two)} draws"
    for place, (first, second) in enumerate(zip(one, two, strict=False)):
        if first.noise != second.noise:
            yield f"draw {place} is calibrated to {first.noise} or {second.noise}"
        if first.grid_bits != second.grid_bits:
            yield f"draw {place} is rounded to {first.grid_bits} or {second.grid_bits} bits"


def _sums(release: Release | None) -> list[tuple[Share, range]]:
    """List the shares of gradients, by their name (what a share says of itself may be the fault), and their draws."""
    composition = () if release is None else release.guarantee.composition
    ends = [0, *accumulate(share.values for share in composition)]
    placed = [(share, range(*each)) for share, each in zip(composition, pairwise(ends), strict=True)]
    return [(share, places) for share, places in placed if share.query.startswith(GRADIENT)]


def _difference(one: dict[str, float], two: dict[str, float]) -> str:
    """Return the first number that differs under the same answers."""
    for name in [*one, *two]:
        if one.get(name) != two.get(name):
            return f"{name} is {one.get(name)} or {two.get(name)} under the same answers"
    return "the releases differ under the same answers"
