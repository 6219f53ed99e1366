"""The whole audit: every attack on every configuration, with one probability of error for all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.names import number_text
from dpnb_columnar.extensions.audit import epsilon_bounds, exhaustive
from dpnb_columnar.extensions.audit.epsilon_bounds import count_outcomes, promising
from dpnb_columnar.extensions.audit.outcomes import (
    Audit,
    Configuration,
    Finding,
    Outcome,
    Record,
    RecordingSampler,
    record,
    remembered_searches,
)
from dpnb_columnar.extensions.audit.universe import (
    HOURS,
    SHOPS,
    TRADES,
    WAGES,
    YEARS,
    AnyUniverse,
    Universe,
    adversarial_pairs,
    build_units,
    build_universe,
    groups,
)
from dpnb_columnar.releases.model_plan import software
from dpnb_columnar.runtime.row_progress import report_work, track_work
from dpnb_columnar.runtime.workers import run_in_processes

ERROR = 0.001
"""Probability that an audit of correct code reports any finding."""

UNITS_TOGETHER = 2
"""Most units of the databases of units, all of which are compared, and their pairs of neighbours."""

MOST_ROWS_OF_COPIES = 1
"""Most rows of the databases of rows with copies of an attribute, all of which are compared."""


@dataclass(frozen=True, slots=True)
class Effort:
    """Amount of work per configuration; ``scouted`` releases choose the most telling pairs, 0 takes the first."""

    rows: int
    duplicates: tuple[int, ...]
    scenarios: int
    domains: tuple[Domain, ...]
    scouted: int
    pairs: int
    releases: int
    processes: int
    members: int = 2


QUICK = Effort(
    rows=2, duplicates=(12,), scenarios=2, domains=(YEARS, HOURS), scouted=0, pairs=1, releases=250, processes=2
)
FULL = Effort(
    rows=3,
    duplicates=(5, 12, 50, 300),
    scenarios=5,
    domains=(YEARS, WAGES, HOURS),
    scouted=400,
    pairs=2,
    releases=5000,
    processes=2,
    members=3,
)


def audit(configurations: Sequence[Configuration], effort: Effort) -> Audit:
    """Attack some configurations: all bounds and tests hold together with probability 99.9 %."""
    wide = dict.fromkeys(filter(None, map(_wide_domain, configurations)))
    counted = [build_universe(domain) for domain in (*effort.domains, *wide)]
    universes = tuple(universe for universe, _ in counted)
    attack = partial(_attack, universes=universes, effort=effort, error=ERROR / len(configurations))
    outcomes = {}
    with track_work(len(configurations), "configurations"):
        for configuration, outcome in run_in_processes(
            attack, configurations, min(effort.processes, len(configurations))
        ):
            outcomes[configuration] = outcome
            report_work(1)
    in_order = tuple(outcomes[configuration] for configuration in configurations)
    return Audit(tuple(chain.from_iterable(findings for _, findings in counted)), in_order, 1 - ERROR)


def _attack(configuration: Configuration, universes: tuple[Universe, ...], effort: Effort, error: float) -> Outcome:
    if configuration.few:
        universe, findings = build_units(configuration.unit_rows, effort.members, weighted=configuration.weighted)
        outcome = attack_one(configuration, [universe], effort, error)
        return replace(outcome, findings=(*findings, *outcome.findings))
    wide = _wide_domain(configuration)
    if wide is not None:  # rows of many attributes, whose releases take time
        effort = replace(effort, rows=min(effort.rows, MOST_ROWS_OF_COPIES))
    ours = tuple(each for each in universes if each.domain in (effort.domains if wide is None else (wide,)))
    return attack_one(configuration, ours, effort, error)


def _wide_domain(configuration: Configuration) -> Domain | None:
    """Return the domain of copies of an attribute that a configuration is audited in; None where it is in others."""
    return TRADES if configuration.classes > 2 else SHOPS if configuration.copies else None


def attack_one(configuration: Configuration, universes: Sequence[AnyUniverse], effort: Effort, error: float) -> Outcome:
    """Run all attacks on one configuration; bit patterns of units and weights are those of other rows."""
    relation, universe = configuration.budget.neighbours, universes[0]
    rows = UNITS_TOGETHER if configuration.unit_rows else effort.rows
    rows, counting = (max(UNITS_TOGETHER, rows), error) if configuration.few else (rows, error / 2)
    with remembered_searches():
        claim = exhaustive.claim_of(configuration, universe)
        compared = [
            exhaustive.compare(
                configuration, each, groups(each, relation, rows, effort.duplicates, effort.scenarios), claim
            )
            for each in universes
        ]
        pairs = adversarial_pairs(universe, relation)
        chosen = promising(configuration, universe, pairs, effort.scouted, claim)[: effort.pairs]
        counted = count_outcomes(configuration, universe, chosen, effort.releases, claim, counting)
        patterns: list[Finding] = []
        for each in universes:
            if isinstance(each, Universe):
                records = counted.records if each is universe else _released_again(configuration, each)
                patterns += _bit_patterns(configuration, each, records, error / (2 * len(universes)))
    return Outcome(
        configuration=configuration,
        claim=claim,
        loss=max(each.loss for each in compared),
        number_bound=counted.number,
        model_bound=counted.model,
        bit_patterns=None if configuration.few else not patterns,
        pairs=sum(each.pairs for each in compared),
        releases=counted.releases,
        findings=(*(finding for each in compared for finding in each.findings), *counted.findings, *patterns),
    )


def _released_again(configuration: Configuration, universe: Universe) -> list[Record]:
    """Release the first hard pair of a universe a few times, for the bit patterns of its draws."""
    plan, pair = configuration.plan(universe.domain), adversarial_pairs(universe, configuration.budget.neighbours)[0]
    databases = [universe.counted(database) for database in (pair.one, pair.two)]
    return [record(plan, rows, RecordingSampler()) for rows in databases for _ in range(epsilon_bounds.AGAIN)]


def _bit_patterns(
    configuration: Configuration, universe: Universe, records: Sequence[Record], error: float
) -> Iterator[Finding]:
    """Yield what any check of bit patterns finds in a universe, correct code with a probability of ``error``."""
    pairs = adversarial_pairs(universe, configuration.budget.neighbours)
    yield from epsilon_bounds.check_released(universe.domain, records, error)
    for pair in pairs:
        yield from epsilon_bounds.check_reachable(configuration, universe, pair)
    yield from epsilon_bounds.check_repeats(configuration, universe, pairs[0])


FORMAT, VERSION = "dpnb_columnar audit", 1


def to_document(audit: Audit) -> dict[str, Any]:
    """Make the document of an audit, for archives and for other programs; nothing in it is confidential.

    Version 1 holds::

        {"format": "dpnb_columnar audit", "version": 1, "software": {name: version},
         "confidence": probability that every bound holds together,
         "holds": whether every check passed,
         "findings": [finding between rows and statistics, ...],
         "configurations": [{"mechanism", "noise": name or null, "neighbours", "attribute_weights",
                             "classes": how many, "copies": whether of copies of an attribute in two classes,
                             "unit_rows": rows of a unit that count; null where databases are of rows,
                             "weighted": whether rows have a weight, of which prior and released scores are made,
                             "by": divisions into groups of released scores, as typed; none where there are none,
                             "epsilon", "delta": exact text, as claimed,
                             "exhaustive_loss", "number_bound", "model_bound": measured epsilon; null where infinite,
                             "bit_patterns": whether all of them are public; null for units and weights,
                             "pairs", "releases": how many were compared and released,
                             "findings": [{"check", "pair", "seen"}, ...]}, ...]}
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "software": software(),
        "confidence": audit.confidence,
        "holds": audit.holds,
        "findings": _plain(audit.findings),
        "configurations": [_configuration(outcome) for outcome in audit.outcomes],
    }


def _configuration(outcome: Outcome) -> dict[str, Any]:
    configuration = outcome.configuration
    return {
        "mechanism": configuration.mechanism,
        "noise": configuration.noise,
        "neighbours": configuration.budget.neighbours.value,
        "attribute_weights": configuration.attribute_weights,
        "classes": configuration.classes,
        "copies": configuration.copies,
        "unit_rows": configuration.unit_rows,
        "weighted": configuration.weighted,
        "by": list(configuration.by),
        "epsilon": number_text(outcome.claim.epsilon),
        "delta": number_text(outcome.claim.delta),
        "exhaustive_loss": _number(outcome.loss),
        "number_bound": _number(outcome.number_bound),
        "model_bound": _number(outcome.model_bound),
        "bit_patterns": outcome.bit_patterns,
        "pairs": outcome.pairs,
        "releases": outcome.releases,
        "findings": _plain(outcome.findings),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain(findings: Sequence[Finding]) -> list[dict[str, str]]:
    return [asdict(finding) for finding in findings]
