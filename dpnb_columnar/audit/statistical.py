"""Lower confidence bounds on epsilon from many releases with the system's random bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpnb_columnar.audit.adversarial import Adversarial
from dpnb_columnar.audit.databases import Database, Population
from dpnb_columnar.audit.events import Sample, best_of_models, best_of_numbers
from dpnb_columnar.audit.findings import Claim, Configuration, Finding
from dpnb_columnar.audit.recording import Record, Witness, record
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.parameters import Normal

# MERGED FROM dpnb_columnar/audit/statistical.py: A model as named numbers: everything that its receiver can look at.


def numbers(model: Model) -> dict[str, float]:
    """Every released number and every parameter made of them, by a name."""
    return dict(_numbers(model))


def drawn(name: str) -> bool:
    """Whether a number was drawn, rather than made of drawn ones."""
    return not name.endswith("*")


def _numbers(model: Model) -> Iterator[tuple[str, float]]:
    for klass, (count, prior) in enumerate(zip(model.classes.released, model.classes.probability, strict=True)):
        yield f"count of class {klass}", count
        yield f"prior of class {klass} *", prior
    for parameters in model.attributes:
        name = parameters.attribute
        if isinstance(parameters, Normal):
            for field, drawn_numbers in (("released_mean", parameters.released_mean), parameters.released_spread):
                for klass, number in enumerate(drawn_numbers):
                    yield f"{field} of {name}, class {klass}", number
            for field in ("mean", "deviation"):
                for klass, number in enumerate(getattr(parameters, field)):
                    yield f"{field} of {name}, class {klass} *", number
            continue
        for klass, (counts, shares) in enumerate(zip(parameters.released, parameters.probability, strict=True)):
            for cell, (count, share) in enumerate(zip(counts, shares, strict=True)):
                yield f"count of {name} {cell}, class {klass}", count
                yield f"probability of {name} {cell}, class {klass} *", share


NUMBER, MODEL = "bound of a number", "bound of whole models"
"""Names of the checks."""

TRAINING = 0.4
"""Part of the releases of a pair on which its events are chosen."""

LENIENT = 0.5
"""Error of bounds that only choose what to look at."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What counting releases has shown.

    Attributes:
        number: Best lower bound on epsilon from single numbers; 0 where nothing was shown.
        model: Best lower bound from whole models.
        releases: How many models were released.
        findings: Bounds above the claim.
        records: Some of the releases, with what they drew.
    """

    number: float
    model: float
    releases: int
    findings: tuple[Finding, ...]
    records: tuple[Record, ...]


def count_outcomes(
    configuration: Configuration,
    population: Population,
    pairs: Sequence[Adversarial],
    releases: int,
    claim: Claim,
    error: float,
    kept: int = 300,
) -> Bounds:
    """Release models of both databases of each pair, and look for an event that tells them apart.

    Args:
        configuration: What is attacked.
        population: Kinds of rows.
        pairs: Neighbours.
        releases: How many of each database.
        claim: What is promised.
        error: Probability that any of the bounds is above the true epsilon.
        kept: How many releases of each database to hand on.
    """
    best = {NUMBER: 0.0, MODEL: 0.0}
    findings: dict[str, Finding] = {}
    records: list[Record] = []
    delta, each = float(claim.delta), error / (2 * len(pairs))
    for pair in pairs:
        samples = [_released(configuration, population, database, releases, kept) for database in (pair.one, pair.two)]
        for _, some in samples:
            records += some
        (chosen_one, fresh_one), (chosen_two, fresh_two) = (
            sample.split(int(TRAINING * releases)) for sample in aligned([found for found, _ in samples])
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
    population: Population,
    pairs: Sequence[Adversarial],
    releases: int,
    claim: Claim,
) -> list[Adversarial]:
    """The pairs, those first that a few releases tell apart best; as they come where there are no releases."""
    if not releases:
        return list(pairs)

    def seen(pair: Adversarial) -> float:
        one, two = aligned(
            [_released(configuration, population, database, releases, 0)[0] for database in (pair.one, pair.two)]
        )
        delta = float(claim.delta)
        return best_of_models(one, two, delta, LENIENT).bound(one, two, delta, LENIENT)

    return sorted(pairs, key=seen, reverse=True)


def aligned(samples: Sequence[Sample]) -> list[Sample]:
    """Samples of the same numbers: a number that one of them never holds is missing there."""
    names = list(dict.fromkeys(name for sample in samples for name in sample.names))
    found = []
    for sample in samples:
        values = np.full((sample.size, len(names)), np.nan)
        values[:, [names.index(name) for name in sample.names]] = sample.values
        found.append(Sample(sample.shapes, values, np.array([drawn(name) for name in names], dtype=np.bool_), names))
    return found


def _released(
    configuration: Configuration, population: Population, database: Database, releases: int, kept: int
) -> tuple[Sample, list[Record]]:
    """Release one database many times; the first records are kept."""
    plan, statistics = configuration.plan(population.domain), population.statistics(database)
    records: list[Record] = []
    rows: list[dict[str, float]] = []
    shapes: list[str] = []
    for number in range(releases):
        found = record(plan, statistics, Witness())
        held = {} if found.model is None else numbers(found.model)
        rows.append(held)
        shapes.append(found.failure or ", ".join(held))
        if number < kept:
            records.append(found)
    names = list(dict.fromkeys(name for held in rows for name in held))
    values = np.array([[held.get(name, np.nan) for name in names] for held in rows], dtype=np.float64)
    flags = np.array([drawn(name) for name in names], dtype=np.bool_)
    return Sample(shapes, values.reshape(releases, len(names)), flags, names), records
