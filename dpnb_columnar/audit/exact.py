"""All pairs of neighbours on small domains: the same answers must give the same model, and the draws must not cost
more than was promised.

Under forced answers a release is a deterministic function, so whatever differs between neighbours beside the locations
and scales of the draws, leaks past the noise. The draws themselves are judged by their exact densities.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpnb_columnar.audit.databases import Database, Group, Pair, Population
from dpnb_columnar.audit.findings import Claim, Configuration, Finding
from dpnb_columnar.audit.losses import claimed, measured, worst_admissible
from dpnb_columnar.audit.recording import Answers, Drawn, Record, record
from dpnb_columnar.audit.statistical import numbers
from dpnb_columnar.budget import Approximate, Concentrated, Loss, Pure
from dpnb_columnar.noise import NoiseFamily

# MERGED FROM dpnb_columnar/audit/exact.py: What the losses of several draws cost together, as epsilon at a delta.

Measured = tuple[Loss, float]
"""What a draw claims, and what was measured of it."""

TOLERANCE = 1e-6
"""Relative: above what a conversion leaves unspent on rounding, and far below any fault."""


def composed(losses: Sequence[Measured], delta: float) -> float:
    """Smallest epsilon that these losses imply together, at this delta.

    Pure draws cost what was measured. Others cost what they claim, once what was measured is no more than that:
    epsilons and deltas add up, and so do rhos, a pure loss costing epsilon^2/2. Infinite where the deltas do not fit.
    """
    epsilon = sum(number if isinstance(loss, Pure) else float(_epsilon(loss)) for loss, number in losses)
    rho = sum(float(loss.rho) for loss, _ in losses if isinstance(loss, Concentrated))
    if rho:
        return concentrated_epsilon(
            rho + sum(number**2 / 2 for loss, number in losses if isinstance(loss, Pure)), delta
        )
    spent = sum(float(loss.delta) for loss, _ in losses if isinstance(loss, Approximate))
    return epsilon if spent <= delta * (1 + TOLERANCE) else math.inf


@lru_cache(maxsize=4096)
def concentrated_epsilon(rho: float, delta: float) -> float:
    """Smallest epsilon for which rho-zCDP implies (epsilon, delta)-differential privacy, by the conversion of
    Canonne, Kamath and Steinke 2020, Corollary 13, minimised over its order on a grid."""
    order = 1 + np.geomspace(1e-6, 1e6, 200_001)
    found = order * rho + (order * np.log1p(-1 / order) - np.log(order - 1) - math.log(delta)) / (order - 1)
    return max(float(found.min()), 0.0)


def _epsilon(loss: Loss) -> float:
    return float(loss.epsilon) if isinstance(loss, Approximate) else 0.0


FAILURES, QUERIES, POST_PROCESSING, NOISE, LOSS = "failures", "queries", "post-processing", "noise", "loss"
"""Names of the checks: exceptions, which draws are made, what is made of the answers, the claim of each draw, and all
draws together."""

Change = tuple[NoiseFamily, Fraction, Fraction]
"""A family, the change of location in units of the first scale, and the ratio of the scales."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What comparing all pairs has shown.

    Attributes:
        loss: Largest epsilon of a pair, at the claimed delta.
        pairs: Pairs that were compared, each under several forced class counts.
        findings: At most one per check, with the pair where it shows most, or first.
    """

    loss: float
    pairs: int
    findings: tuple[Finding, ...]


class Comparison:
    """Gathers what pairs of neighbours differ in, and judges all of it at once."""

    def __init__(self, configuration: Configuration, population: Population) -> None:
        self.plan = configuration.plan(population.domain)
        self.population = population
        self.pairs = 0
        self.findings: dict[str, Finding] = {}
        self._changes: dict[Change, int] = {}
        self._differing: dict[tuple[int, ...], Pair] = {}

    def add(self, group: Group) -> None:
        """Compare the pairs of a group under each of its forced class counts."""
        self.pairs += len(group.pairs)
        members = {database for pair in group.pairs for database in pair}
        databases = {database: self.population.statistics(database) for database in members}
        for seed, sizes in enumerate(group.sizes):
            records = {
                database: record(self.plan, statistics, Answers(sizes, seed))
                for database, statistics in databases.items()
            }
            for pair in group.pairs:
                self._compare(pair, *(records[database] for database in pair))

    def result(self, claim: Claim) -> Compared:
        """Evaluate the losses of all changes that were seen, and compare every pair's with the claim."""
        losses = self._measured()
        worst, place = 0.0, None
        for changes, pair in self._differing.items():
            loss = composed([losses[change] for change in changes], float(claim.delta))
            if loss > worst:
                worst, place = loss, pair
        if place is not None and worst > float(claim.epsilon) * (1 + TOLERANCE):
            self._found(LOSS, place, f"epsilon {worst:.4g} where {float(claim.epsilon):.4g} is claimed")
        return Compared(worst, self.pairs, tuple(self.findings.values()))

    def _compare(self, pair: Pair, one: Record, two: Record) -> None:
        if one.failure or two.failure:
            self._found(FAILURES, pair, f"{one.failure or 'a model'} or {two.failure or 'a model'}")
        elif difference := next(_asked_otherwise(one.draws, two.draws), None):
            self._found(QUERIES, pair, difference)
        elif one.model is not None and two.model is not None:
            if one.model != two.model:
                self._found(POST_PROCESSING, pair, _difference(numbers(one.model), numbers(two.model)))
            elif len(one.draws) != sum(share.values for share in one.model.guarantee.composition):
                self._found(QUERIES, pair, f"{len(one.draws)} draws are not what the composition table says")
        changed = []
        for first, second in zip(one.draws, two.draws, strict=False):
            if min(first.scale, second.scale) <= 0:
                self._found(NOISE, pair, f"one {first.noise.name} draw is made without any noise")
            elif first.location != second.location or first.scale != second.scale:
                changed.append(self._changes.setdefault(_change(first, second), len(self._changes)))
        self._differing.setdefault(tuple(changed), pair)

    def _measured(self) -> list[Measured]:
        """Loss of every change; one above what its own draw claims is a finding."""
        found: list[Measured] = [(change[0].loss, 0.0) for change in self._changes]
        by_family: dict[NoiseFamily, list[Change]] = {}
        for change in self._changes:
            by_family.setdefault(change[0], []).append(change)
        for noise, changes in by_family.items():
            shift, ratio = np.array([(float(moved), float(scaled)) for _, moved, scaled in changes]).T
            losses = measured(noise, shift, ratio)
            for change, loss in zip(changes, losses, strict=True):
                found[self._changes[change]] = (noise.loss, float(loss))
            number = self._changes[changes[int(losses.argmax())]]
            pair = next(pair for places, pair in self._differing.items() if number in places)
            self._judge(noise, float(losses.max()), " against ".join(map(self.population.told, pair)))
            self._judge(noise, worst_admissible(noise), "neighbours as far apart as the family allows")
        return found

    def _judge(self, noise: NoiseFamily, loss: float, pair: str) -> None:
        """One draw must not cost more than its family claims."""
        if loss <= claimed(noise) * (1 + TOLERANCE):
            return
        kind = type(noise.loss).__name__.lower()
        seen = f"one {noise.name} draw has a {kind} loss of {loss:.4g} where {claimed(noise):.4g} is claimed"
        self.findings.setdefault(NOISE, Finding(NOISE, pair, seen))

    def _found(self, check: str, pair: Pair, seen: str) -> None:
        told = " against ".join(map(self.population.told, pair))
        self.findings.setdefault(check, Finding(check, told, seen))


def compare(
    configuration: Configuration, population: Population, groups: Sequence[Group] | Iterator[Group], claim: Claim
) -> Compared:
    """Compare all pairs of neighbours of these groups."""
    comparison = Comparison(configuration, population)
    for group in groups:
        comparison.add(group)
    return comparison.result(claim)


def claim_of(configuration: Configuration, population: Population) -> Claim:
    """What a model of this configuration promises; where there is no such model, what it was to promise."""
    nobody: Database = (0,) * len(population.rows)
    model = record(configuration.plan(population.domain), population.statistics(nobody), Answers((9, 9), 0)).model
    stated = model.guarantee if model is not None else configuration.budget
    epsilon, delta = stated.epsilon, stated.delta
    if epsilon is None or delta is None:
        raise ValueError(f"{configuration}: its models carry no guarantee")
    return Claim(epsilon, delta)


def _asked_otherwise(one: Sequence[Drawn], two: Sequence[Drawn]) -> Iterator[str]:
    """What differs in the questions asked, beside location and scale."""
    if len(one) != len(two):
        yield f"{len(one)} or {len(two)} draws"
    for place, (first, second) in enumerate(zip(one, two, strict=False)):
        if first.noise != second.noise:
            yield f"draw {place} is calibrated to {first.noise} or {second.noise}"
        if first.grid_bits != second.grid_bits:
            yield f"draw {place} is rounded to {first.grid_bits} or {second.grid_bits} bits"


def _change(one: Drawn, two: Drawn) -> Change:
    return one.noise, (two.location - one.location) / one.scale, two.scale / one.scale


def _difference(one: dict[str, float], two: dict[str, float]) -> str:
    """The first number that differs under the same answers."""
    for name in [*one, *two]:
        if one.get(name) != two.get(name):
            return f"{name} is {one.get(name)} or {two.get(name)} under the same answers"
    return "the models differ under the same answers"
