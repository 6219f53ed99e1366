"""The whole audit: every configuration through every attack, with one probability of error for all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from dpnb_columnar.audit import bits, exact
from dpnb_columnar.audit.adversarial import adversarial_pairs, remembered_searches
from dpnb_columnar.audit.databases import WAGES, YEARS, Population, groups, populate
from dpnb_columnar.audit.findings import Audit, Configuration, Outcome
from dpnb_columnar.audit.statistical import count_outcomes, promising
from dpnb_columnar.runtime.workers import side_by_side

ERROR = 0.001
"""Probability that an audit of correct code finds anything broken."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much work is put into one configuration.

    Attributes:
        rows: Every database of at most so many rows is looked at.
        duplicates: Sizes of the databases of many equal rows.
        scenarios: How many forced class counts each pair is compared under.
        logarithmic: Whether a wide grid on a logarithmic scale is attacked as well.
        scouted: Releases of each database by which the most telling pairs are chosen; 0 to take the first ones.
        pairs: How many pairs of neighbours are released.
        releases: How often each of their databases is released.
        processes: How many run side by side.
    """

    rows: int
    duplicates: tuple[int, ...]
    scenarios: int
    logarithmic: bool
    scouted: int
    pairs: int
    releases: int
    processes: int


QUICK = Effort(rows=2, duplicates=(12,), scenarios=2, logarithmic=False, scouted=0, pairs=1, releases=250, processes=2)
FULL = Effort(
    rows=3,
    duplicates=(5, 12, 50, 300),
    scenarios=5,
    logarithmic=True,
    scouted=400,
    pairs=2,
    releases=5000,
    processes=2,
)


def audit(configurations: Sequence[Configuration], effort: Effort) -> Audit:
    """Attack these configurations.

    Every lower bound and every test of the whole audit holds together with probability 99.9 %.
    """
    counted = [populate(domain) for domain in ((YEARS, WAGES) if effort.logarithmic else (YEARS,))]
    populations = tuple(population for population, _ in counted)
    attack = partial(attack_one, populations=populations, effort=effort, error=ERROR / len(configurations))
    outcomes = dict(side_by_side(attack, configurations, min(effort.processes, len(configurations))))
    in_order = tuple(outcomes[configuration] for configuration in configurations)
    return Audit(tuple(chain.from_iterable(findings for _, findings in counted)), in_order, 1 - ERROR)


def attack_one(
    configuration: Configuration, populations: tuple[Population, ...], effort: Effort, error: float
) -> Outcome:
    """All attacks on one configuration; anything is found in correct code with probability ``error`` at most."""
    relation, population = configuration.budget.neighbours, populations[0]
    with remembered_searches():
        claim = exact.claim_of(configuration, population)
        compared = [
            exact.compare(
                configuration,
                each,
                groups(each, relation, effort.rows, effort.duplicates, effort.scenarios),
                claim,
            )
            for each in populations
        ]
        pairs = adversarial_pairs(population, relation)
        chosen = promising(configuration, population, pairs, effort.scouted, claim)[: effort.pairs]
        counted = count_outcomes(configuration, population, chosen, effort.releases, claim, error / 2)
        findings = (
            *chain.from_iterable(found.findings for found in compared),
            *counted.findings,
            *bits.check_released(population.domain, counted.records, error / 2),
            *chain.from_iterable(bits.check_reachable(configuration, population, pair) for pair in pairs),
            *bits.check_repeats(configuration, population, pairs[0]),
        )
    return Outcome(
        configuration=configuration,
        claim=claim,
        loss=max(found.loss for found in compared),
        number_bound=counted.number,
        model_bound=counted.model,
        pairs=sum(found.pairs for found in compared),
        releases=counted.releases,
        findings=findings,
    )
