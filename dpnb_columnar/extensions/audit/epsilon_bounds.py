"""Lower confidence bounds on epsilon from many releases with the system's random bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpnb_columnar.core.budget import Approximate
from dpnb_columnar.extensions.audit.distinguishers import Sample, best_of_models, best_of_numbers
from dpnb_columnar.extensions.audit.neighbours import AdversarialPair
from dpnb_columnar.extensions.audit.outcomes import Configuration, Finding
from dpnb_columnar.extensions.audit.recording import Record, RecordingSampler, is_drawn, numbers, record
from dpnb_columnar.extensions.audit.unit_universe import AnyUniverse
from dpnb_columnar.extensions.audit.universe import Database

NUMBER, MODEL = "bound of a number", "bound of whole models"
"""Names of the checks."""

TRAINING = 0.4
"""Part of the releases of a pair on which its events are chosen."""

LENIENT = 0.5
"""Error of bounds that only choose what to look at."""

RECORDED = 300
"""Releases of each database whose draws are returned."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower confidence bounds on epsilon from counting releases.

    Attributes:
        number: Best bound from single numbers; 0 where the releases show nothing.
        model: Best bound from whole models.
        releases: Number of released models.
        findings: Bounds above the claim.
        records: Some of the releases, with their draws.
    """

    number: float
    model: float
    releases: int
    findings: tuple[Finding, ...]
    records: tuple[Record, ...]


def count_outcomes(
    configuration: Configuration,
    universe: AnyUniverse,
    pairs: Sequence[AdversarialPair],
    releases: int,
    claim: Approximate,
    error: float,
) -> Bounds:
    """Release models of both databases of each pair, and search for an event that distinguishes them.

    Args:
        error: Probability that any of the bounds is above the true epsilon.
    """
    best = {NUMBER: 0.0, MODEL: 0.0}
    findings: dict[str, Finding] = {}
    records: list[Record] = []
    delta, each = float(claim.delta), error / (2 * len(pairs))
    for pair in pairs:
        samples = [_released(configuration, universe, database, releases) for database in (pair.one, pair.two)]
        for _, some in samples:
            records += some
        (chosen_one, fresh_one), (chosen_two, fresh_two) = (
            sample.split(int(TRAINING * releases)) for sample in aligned([sample for sample, _ in samples])
        )
        for check, choose in ((NUMBER, best_of_numbers), (MODEL, best_of_models)):
            event = choose(chosen_one, chosen_two, delta, each)
            bound = event.bound(fresh_one, fresh_two, delta, each)
            best[check] = max(best[check], bound)
            if bound > float(claim.epsilon):
                seen = f"epsilon is at least {bound:.4g} where {float(claim.epsilon):.4g} is claimed, by {event.name}"
                findings.setdefault(check, Finding(check, pair.name, seen))
    total = 2 * len(pairs) * releases
    return Bounds(best[NUMBER], best[MODEL], total, tuple(findings.values()), tuple(records))


def promising(
    configuration: Configuration,
    universe: AnyUniverse,
    pairs: Sequence[AdversarialPair],
    releases: int,
    claim: Approximate,
) -> list[AdversarialPair]:
    """Sort pairs, those first that a few releases distinguish best; in their given order without releases."""
    if not releases:
        return list(pairs)

    def distinguished(pair: AdversarialPair) -> float:
        one, two = aligned(
            [_released(configuration, universe, database, releases)[0] for database in (pair.one, pair.two)]
        )
        delta = float(claim.delta)
        return best_of_models(one, two, delta, LENIENT).bound(one, two, delta, LENIENT)

    return sorted(pairs, key=distinguished, reverse=True)


def aligned(samples: Sequence[Sample]) -> list[Sample]:
    """Give samples the same numbers: a number that one of them never holds is missing there."""
    names = list(dict.fromkeys(name for sample in samples for name in sample.names))
    drawn = np.array([is_drawn(name) for name in names], dtype=np.bool_)
    same = []
    for sample in samples:
        values = np.full((sample.size, len(names)), np.nan)
        values[:, [names.index(name) for name in sample.names]] = sample.values
        same.append(Sample(sample.shapes, values, drawn, names))
    return same


def _released(
    configuration: Configuration, universe: AnyUniverse, database: Database, releases: int
) -> tuple[Sample, list[Record]]:
    """Release one database many times, and keep the first records."""
    plan, counted = configuration.plan(universe.domain), universe.counted(database)
    records: list[Record] = []
    rows: list[dict[str, float]] = []
    shapes: list[str] = []
    for number in range(releases):
        outcome = record(plan, counted, RecordingSampler())
        row = {} if outcome.release is None else numbers(outcome.release)
        rows.append(row)
        shapes.append(outcome.failure or ", ".join(row))
        if number < RECORDED:
            records.append(outcome)
    names = list(dict.fromkeys(name for row in rows for name in row))
    values = np.array([[row.get(name, np.nan) for name in names] for row in rows], dtype=np.float64)
    drawn = np.array([is_drawn(name) for name in names], dtype=np.bool_)
    return Sample(shapes, values.reshape(releases, len(names)), drawn, names), records
