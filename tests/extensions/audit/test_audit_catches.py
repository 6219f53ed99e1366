"""The audit finds planted faults, each by the check that is there for it, and nothing without them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from support.counted_queries import check
from support.engines import SQLite
from support.mechanisms import PRIVATE
from support.planting import plant

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Neighbours
from dpnb_columnar.core.mechanisms.later import GRADIENT_BITS
from dpnb_columnar.domain import Domain
from dpnb_columnar.evaluation.evaluation import ScoreValues
from dpnb_columnar.extensions.audit import epsilon_bounds, exhaustive
from dpnb_columnar.extensions.audit.attacks import Effort, attack_one, audit
from dpnb_columnar.extensions.audit.exhaustive import Compared
from dpnb_columnar.extensions.audit.outcomes import (
    EPSILON,
    GROUPED,
    Answers,
    Configuration,
    Finding,
    configurations,
    numbers,
    record,
    remembered_searches,
    scored_model,
)
from dpnb_columnar.extensions.audit.universe import (
    CAP,
    HOURS,
    LIGHT,
    MEMBERS,
    SHOPS,
    TRADES,
    UNIT,
    VALUES,
    WAGES,
    YEARS,
    AnyUniverse,
    NeighbourGroup,
    UnitUniverse,
    Universe,
    build_units,
    build_universe,
    forced_sizes,
    frame_of,
    groups,
    homes,
    small_pairs,
)
from dpnb_columnar.releases.score_plan import GROUP_COUNTS, GROUP_PROBABILITIES, SCORES

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
ROWS = Effort(rows=1, duplicates=(12,), scenarios=2, domains=(YEARS,), scouted=0, pairs=1, releases=300, processes=1)
FEW = replace(ROWS, duplicates=(), scenarios=1, releases=40, members=2)
"""Effort for units, or for rows with a weight."""

RARE = 1e-6
"""Error of an audit that is to find nothing: a false alarm in a million runs."""
LIKELY = 0.05
"""Error of an audit that is to find a fault: what else it finds does not matter, and chance must not hide the fault."""

DELTA = Fraction(1, 10**6)
SMOOTH, GLOBAL, GLOBAL_VARIANCE, HISTOGRAM, MAJORITY, ADAPTIVE = (
    Configuration(mechanism, noise, Budget(Fraction(1)))
    for mechanism, noise in (
        *(("smooth", "polyplace"), ("global", None), ("global-variance", None)),
        *(("histogram", None), ("majority", None), ("adaptive-histogram", "polyplace")),
    )
)
GAUSSIAN = Configuration("smooth", "gaussian", Budget(Fraction(1), delta=DELTA))
CALIBRATED, LEARNED = (replace(HISTOGRAM, attribute_weights=weights) for weights in ("calibrated", "learned"))
COPIES = replace(LEARNED, budget=Budget(Fraction(4)), copies=True)
GROUPS = Configuration(SCORES, None, Budget(EPSILON), by=GROUPED)


@cache
def faultless(domain: Domain) -> Universe:
    found, findings = build_universe(domain)
    assert not findings
    return found


@cache
def faultless_units(rows: int | None, size: int = FEW.members, *, weighted: bool = False) -> UnitUniverse:
    """Kinds of units, or of rows that have a weight."""
    found, findings = build_units(rows, size, weighted=weighted)
    assert not findings
    return found


def under(configuration: Configuration, relation: Neighbours) -> Configuration:
    return replace(configuration, budget=replace(configuration.budget, neighbours=relation))


def compared(configuration: Configuration, universe: AnyUniverse, of: Iterable[NeighbourGroup]) -> Compared:
    """Compare all pairs of neighbours of some groups, as the audit does."""
    with remembered_searches():
        return exhaustive.compare(configuration, universe, of, exhaustive.claim_of(configuration, universe))


# Nothing is found in the landed code.


@pytest.mark.slow
@pytest.mark.parametrize(
    "configuration",
    [
        each if each.mechanism == SCORES else pytest.param(each, marks=pytest.mark.enumeration)
        for each in configurations()
    ],
    ids=str,
)
def test_nothing_is_found_in_the_landed_code(configuration: Configuration) -> None:
    if configuration.few:
        universe = faultless_units(configuration.unit_rows, weighted=configuration.weighted)
        outcome = attack_one(configuration, [universe], FEW, RARE)
    else:
        wide = (TRADES,) if configuration.classes > 2 else (SHOPS,) if configuration.copies else ()
        effort = replace(ROWS, releases=60, duplicates=() if wide else ROWS.duplicates)
        universes = tuple(faultless(domain) for domain in wide or (YEARS, WAGES, HOURS))
        outcome = attack_one(configuration, universes, effort, RARE)
        assert 0 <= outcome.number_bound <= float(outcome.claim.epsilon)
        assert outcome.releases == 120
    assert outcome.findings == ()
    assert 0 < outcome.loss <= float(outcome.claim.epsilon) * (1 + 1e-6)
    assert outcome.claim.epsilon == configuration.budget.epsilon


@pytest.mark.enumeration
@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize(
    ("mechanism", "noise"),
    [*((name, None) for name in PRIVATE), *(("paper", noise) for noise in ("student-3", "gaussian", "arsinh-normal"))],
)
def test_every_release_of_weighted_rows_costs_at_most_epsilon(
    mechanism: str, noise: str | None, relation: Neighbours
) -> None:
    """All data sets of up to two rows: whatever moments spend, the noise covers sums and counts of classes."""
    delta = DELTA if noise in ("gaussian", "arsinh-normal") else Fraction(0)
    configuration = Configuration(mechanism, noise, Budget(Fraction(1), relation, delta=delta), weighted=True)
    universe = faultless_units(None, weighted=True)
    group = NeighbourGroup(list(small_pairs(len(universe.rows), relation, 2)), forced_sizes(universe.domain, 2))
    found = compared(configuration, universe, [group])
    assert found.findings == ()
    assert 0.2 < found.loss <= 1 + 1e-6


@pytest.mark.parametrize("relation", Neighbours)
def test_scores_by_group_lose_all_that_is_claimed_and_no_more(relation: Neighbours) -> None:
    configuration, universe = under(GROUPS, relation), faultless(WAGES)
    found = compared(configuration, universe, each_row()(universe, relation))
    assert found.findings == ()
    assert 0.99 * EPSILON < found.loss <= EPSILON * (1 + 1e-6)


# Planted faults of releases.

FAULTS: list[tuple[str, Configuration, Neighbours, set[str]]] = [
    ("mechanisms/noise-of-whole-share", MAJORITY, REPLACE, {exhaustive.LOSS}),
    ("mechanisms/noise-of-whole-share", GLOBAL, REPLACE, {exhaustive.LOSS}),
    ("mechanisms/counts-without-noise", MAJORITY, REPLACE, {exhaustive.QUERIES, epsilon_bounds.NUMBER}),
    ("mechanisms/empty-cells-left-out", MAJORITY, ADD, {exhaustive.QUERIES}),
    ("mechanisms/empty-cells-left-out", MAJORITY, REPLACE, {exhaustive.QUERIES}),
    ("mechanisms/class-counts-add-up", MAJORITY, ADD, {exhaustive.POST_PROCESSING, epsilon_bounds.MODEL}),
    ("mechanisms/empty-class-refused", MAJORITY, ADD, {exhaustive.FAILURES}),
    ("noise/laplace-scale-halved", MAJORITY, ADD, {exhaustive.LOSS}),
    ("noise/laplace-scale-halved", SMOOTH, REPLACE, {exhaustive.LOSS}),
    ("noise/sampler-scale", SMOOTH, ADD, {epsilon_bounds.DISTRIBUTION}),
    ("noise/sampler-scale", MAJORITY, REPLACE, {epsilon_bounds.DISTRIBUTION}),
    ("sensitivity/beta-doubled", SMOOTH, ADD, {exhaustive.NOISE}),
    ("noise/polyplace-too-light", SMOOTH, ADD, {exhaustive.NOISE}),
    ("noise/sampler-in-floats", SMOOTH, ADD, {epsilon_bounds.GRID}),
    ("noise/sampler-in-floats", HISTOGRAM, ADD, {epsilon_bounds.GRID}),
    ("noise/sampler-coarse-grid", SMOOTH, ADD, {epsilon_bounds.RESIDUES, epsilon_bounds.REACHABLE}),
    ("noise/sampler-few-bits", SMOOTH, ADD, {epsilon_bounds.REACHABLE}),
    ("mechanisms/histogram-empty-bins-left-out", HISTOGRAM, ADD, {exhaustive.QUERIES}),
    ("sensitivity/mean-search-without-monotone", SMOOTH, ADD, {exhaustive.NOISE}),
    ("mechanisms/counts-asked-twice", HISTOGRAM, ADD, {exhaustive.LOSS}),
    ("mechanisms/counts-asked-twice", HISTOGRAM, REPLACE, {exhaustive.LOSS}),
    ("mechanisms/empty-class-sizes-exact", SMOOTH, ADD, {exhaustive.NOISE}),
    ("mechanisms/empty-class-sizes-exact", GLOBAL, ADD, {exhaustive.NOISE}),
    ("mechanisms/empty-class-sizes-exact", ADAPTIVE, ADD, {exhaustive.NOISE}),
    ("sensitivity/deviation-sensitivity-halved", GLOBAL, ADD, {exhaustive.NOISE}),
    ("sensitivity/deviation-sensitivity-halved", GLOBAL, REPLACE, {exhaustive.LOSS}),
    ("sensitivity/variance-sensitivity-small", GLOBAL_VARIANCE, ADD, {exhaustive.NOISE}),
    ("mechanisms/release-repeatable", SMOOTH, ADD, {epsilon_bounds.REPEATS}),
    ("mechanisms/release-repeatable", MAJORITY, ADD, {epsilon_bounds.REPEATS}),
    ("noise/gaussian-sigma-halved", GAUSSIAN, ADD, {exhaustive.NOISE}),
]


def shown(value: object) -> str:
    """Sets in one order in every process, so that all workers collect the same tests."""
    return ", ".join(sorted(map(str, value))) if isinstance(value, set) else str(value)


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "configuration", "relation", "checks"), FAULTS, ids=shown)
def test_planted_fault_is_found_by_its_checks(
    fault: str, configuration: Configuration, relation: Neighbours, checks: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    universe = faultless(YEARS)
    plant(monkeypatch, fault)
    outcome = attack_one(under(configuration, relation), (universe,), ROWS, LIKELY)
    found = {finding.check: finding for finding in outcome.findings}
    assert checks <= set(found), found
    assert all(found[check].pair and found[check].seen for check in checks)


def quick(universe: Universe, relation: Neighbours) -> Iterable[NeighbourGroup]:
    return groups(universe, relation, 1, (12,), 3)


def each_row(*sizes: tuple[int, ...]) -> Callable[[AnyUniverse, Neighbours], list[NeighbourGroup]]:
    """All pairs of neighbours of one row, or unit, given models of these sizes."""

    def pairs(universe: AnyUniverse, relation: Neighbours) -> list[NeighbourGroup]:
        return [NeighbourGroup(list(small_pairs(len(universe.rows), relation, 1)), sizes or [()])]

    return pairs


def exchanged(universe: Universe, relation: Neighbours) -> list[NeighbourGroup]:
    """One row of a class goes from the lower to the upper bound, or the other way."""
    low, high = universe.extremes(0)
    pairs = [
        (universe.database((5, one)), universe.database((4, one), (1, other)))
        for one, other in ((low, high), (high, low))
    ]
    return [NeighbourGroup(pairs, [(5, 12), (2, 1), (7, 3), (100_000, 5), (100, -1)])]


ATTACKS = {
    **{
        f"{configuration.mechanism} in {domain.name}": (replace(configuration, noise=None), domain, quick)
        for configuration in (SMOOTH, GLOBAL, GLOBAL_VARIANCE)
        for domain in (YEARS, WAGES, HOURS)
    },
    "calibrated": (CALIBRATED, YEARS, quick),
    # The largest class is the second, and the first.
    "three classes": (replace(CALIBRATED, classes=3), TRADES, each_row((30, 50_000, 7), (920, 3, 300))),
    "learned": (LEARNED, YEARS, quick),
    "copies": (COPIES, SHOPS, each_row(*forced_sizes(SHOPS, 2))),
    "rows exchanged": (LEARNED, HOURS, exchanged),
    "groups": (GROUPS, WAGES, each_row()),
}
"""What is released of which rows, and the pairs of neighbours that are compared."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "attack", "relation", "check"),
    [
        ("mechanisms/sample-sizes-of-columns", f"smooth in {YEARS.name}", ADD, exhaustive.NOISE),
        ("mechanisms/sample-sizes-of-columns", f"global in {YEARS.name}", REPLACE, exhaustive.NOISE),
        ("mechanisms/sample-sizes-of-columns", f"smooth in {WAGES.name}", ADD, exhaustive.NOISE),
        ("mechanisms/sample-sizes-of-columns", f"global-variance in {HOURS.name}", ADD, exhaustive.NOISE),
        ("mechanisms/presence-exact", f"smooth in {WAGES.name}", ADD, exhaustive.POST_PROCESSING),
        ("mechanisms/presence-exact", f"smooth in {HOURS.name}", REPLACE, exhaustive.QUERIES),
        ("mechanisms/present-rows-counted-twice", f"smooth in {WAGES.name}", ADD, exhaustive.LOSS),
        ("mechanisms/present-rows-counted-twice", f"smooth in {WAGES.name}", REPLACE, exhaustive.LOSS),
        ("mechanisms/presence-kept-exact", f"smooth in {WAGES.name}", ADD, exhaustive.POST_PROCESSING),
        ("mechanisms/table-kept-exact", f"smooth in {YEARS.name}", ADD, exhaustive.POST_PROCESSING),
        *(
            (fault, attack, relation, check)
            for attack in ("calibrated", "three classes")
            for fault, relation, check in (
                ("mechanisms/calibration-without-noise", ADD, exhaustive.QUERIES),
                ("mechanisms/noise-of-whole-share", REPLACE, exhaustive.LOSS),
                ("mechanisms/margins-of-exact-counts", ADD, exhaustive.POST_PROCESSING),
                ("counting/margin-in-two-bins", ADD, exhaustive.LOSS),
            )
        ),
        ("mechanisms/calibration-beyond-its-share", "calibrated", ADD, exhaustive.LOSS),
        ("counting/margin-counted-twice", "three classes", ADD, exhaustive.LOSS),
        ("mechanisms/gradient-without-noise", "learned", ADD, exhaustive.QUERIES),
        ("counting/gradient-sensitivity-small", "learned", ADD, exhaustive.LOSS),
        ("counting/gradient-sensitivity-small", "rows exchanged", REPLACE, exhaustive.NOISE),
        ("counting/gradient-bound-of-rows", "learned", ADD, exhaustive.LOSS),
        ("mechanisms/gradient-of-exact-rows", "learned", ADD, exhaustive.POST_PROCESSING),
        ("mechanisms/rounds-of-one-share", "learned", ADD, exhaustive.LOSS),
        ("mechanisms/group-margin-twice", "groups", ADD, exhaustive.LOSS),
        ("mechanisms/group-margin-twice", "groups", REPLACE, exhaustive.LOSS),
        ("mechanisms/groups-whole-share", "groups", ADD, exhaustive.LOSS),
        ("mechanisms/noise-of-whole-share", "groups", REPLACE, exhaustive.LOSS),
        ("mechanisms/group-sums-by-counts", "groups", ADD, exhaustive.NOISE),
        ("mechanisms/empty-cells-left-out", "groups", ADD, exhaustive.QUERIES),
    ],
)
def test_a_planted_fault_is_found_in_pairs_of_neighbours(
    fault: str, attack: str, relation: Neighbours, check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration, domain, pairs = ATTACKS[attack]
    universe = faultless(domain)
    plant(monkeypatch, fault)
    found = compared(under(configuration, relation), universe, pairs(universe, relation))
    assert check in {finding.check for finding in found.findings}, found.findings


@pytest.mark.slow
def test_a_row_that_is_not_scaled_down_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    configuration, domain, pairs = ATTACKS["copies"]
    universe = faultless(domain)
    plant(monkeypatch, "counting/gradient-not-scaled")
    found = compared(configuration, universe, pairs(universe, ADD))
    (finding,) = (each for each in found.findings if each.check == exhaustive.NOISE)
    words = re.fullmatch(r"one gradient has a pure loss of (\S+) where its share is (\S+)", finding.seen)
    assert words is not None, finding
    assert float(words[1]) > 1.3 * float(words[2])


def test_the_row_that_goes_and_the_one_that_comes_may_both_move_a_component() -> None:
    """The bound of a gradient is one of all components together, of a removed row and of an added one each."""
    configuration, universe = under(LEARNED, REPLACE), faultless(HOURS)
    (group,) = exchanged(universe, REPLACE)
    plan = configuration.plan(universe.domain)
    both = 0
    for (one, two), (seed, sizes) in product(group.pairs, enumerate(group.sizes)):
        fewer = tuple(map(min, one, two))
        drawn = [record(plan, universe.counted(each), Answers(sizes, seed)).draws for each in (one, two, fewer)]
        for draws in zip(*drawn, strict=True):
            if draws[0].grid_bits == GRADIENT_BITS:
                before, after, between = (float(each.location / each.scale) for each in draws)
                # In what one row may move all components together by.
                single = max(abs(before - between), abs(after - between))
                assert single <= 1
                both += 0.1 < 1.2 * single < abs(after - before) <= 2 * single
    assert both > 0
    assert compared(configuration, universe, [group]).findings == ()


# Planted faults of units and weights.


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize(
    ("fault", "rows", "checks"),
    [
        ("counting/unit-rows-by-others", 1, {"units", exhaustive.LOSS}),
        ("counting/unit-one-more", 1, {"units", exhaustive.LOSS}),
        ("counting/units-file-by-file", 1, {"units", exhaustive.LOSS}),
        ("budget/unit-rows-ignored", 2, {exhaustive.LOSS}),
    ],
)
def test_a_fault_in_the_choice_of_a_units_rows_is_found(
    fault: str, rows: int, checks: set[str], relation: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, fault)
    found = audit([replace(under(HISTOGRAM, relation), unit_rows=rows)], replace(FEW, domains=()))
    (outcome,) = found.outcomes
    assert checks <= {finding.check for finding in outcome.findings}, outcome.findings
    assert not found.holds


UNCAPPED, NORMALISED = ("rows/weight-not-capped", "counting/weights-above-cap"), ("counting/weights-normalised",)
"""Faults under which the rows have to be counted anew."""


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("rows", [pytest.param(None), pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("faults", "checks"),
    [
        pytest.param(UNCAPPED, {"weights", exhaustive.LOSS}, marks=pytest.mark.slow),
        pytest.param(NORMALISED, {"units"}, marks=pytest.mark.slow),
        (["mechanisms/weights-without-cap"], {exhaustive.LOSS}),
        (["mechanisms/weighted-tables"], {exhaustive.LOSS}),
        (["mechanisms/weighted-sums-kept-exact"], {exhaustive.POST_PROCESSING}),
        (["mechanisms/weighted-sums-exact"], {exhaustive.QUERIES}),
    ],
    ids=lambda value: " and ".join(value) if isinstance(value, (list, tuple)) else None,
)
def test_a_fault_of_weights_is_found(
    faults: Sequence[str], checks: set[str], rows: int | None, relation: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    universe, findings = faultless_units(rows, weighted=True), list[Finding]()
    plant(monkeypatch, *faults)
    if faults in (UNCAPPED, NORMALISED):
        universe, findings = build_units(rows, FEW.members, weighted=True)
    configuration = replace(under(HISTOGRAM, relation), unit_rows=rows, weighted=True)
    outcome = attack_one(configuration, [universe], FEW, LIKELY)
    assert checks <= {finding.check for finding in (*findings, *outcome.findings)}, outcome.findings


@pytest.mark.parametrize("rows", [None, 1])
def test_noise_for_one_row_in_place_of_the_cap_of_its_weight_is_found(
    rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, "counting/weighted-scores-of-one")
    configuration = Configuration(SCORES, None, Budget(EPSILON, ADD), unit_rows=rows, weighted=True)
    universe = faultless_units(rows, 1, weighted=True)
    found = compared(configuration, universe, each_row()(universe, ADD))
    assert {each.check for each in found.findings} >= {exhaustive.LOSS, exhaustive.NOISE}, found.findings


# Planted faults of counting.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "domain", "pair", "seen"),
    [
        ("rows/grid-codes-beyond", YEARS, r"1000000000\.0|inf", "refuses"),
        ("counting/nan-refused", YEARS, "nan", "refuses"),
        ("rows/blank-category-drops", YEARS, r"\(", "otherwise than declared"),
        ("rows/blank-category-drops", WAGES, r"None\)", "otherwise than declared"),
        ("counting/duckdb-drops-blanks", WAGES, "together", "DuckDB"),
        ("counting/classes-of-a-table", WAGES, r"None, None\)", "otherwise than declared"),
    ],
)
def test_a_fault_in_counting_rows_is_found(
    fault: str, domain: Domain, pair: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch, fault)
    _, findings = build_universe(domain)
    assert {finding.check for finding in findings} == {"aggregation"}
    found = [re.search(pair, finding.pair) is not None and seen in finding.seen for finding in findings]
    assert all(found) if seen == "refuses" else any(found), findings


def test_a_query_that_drops_rows_without_a_value_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the comparison that ``test_engines_of_this_process`` makes for every random table."""
    rows = pa.table({"label": ["a", "b"], "number": [0.0, 50.0], "category": pa.array(["p", None], pa.string())})
    check(SQLite(), tmp_path, rows, WAGES)
    plant(monkeypatch, "dialects/query-drops-blanks")
    with pytest.raises(AssertionError):
        check(SQLite(), tmp_path, rows, WAGES)


# What is attacked of scores, units and weights.


@pytest.mark.parametrize("domain", [YEARS, WAGES, HOURS, TRADES, homes(1, weighted=False)], ids=lambda each: each.name)
def test_the_model_whose_scores_are_attacked_says_something_of_rows(domain: Domain) -> None:
    """Rows are of two predicted classes, and some move a sum of probabilities by nearly 1, others by nearly 0."""
    rows = [
        ("a", value, category) for value in (*VALUES.get(domain.name, (0.0, 4.0)), None) for category in ("p", None)
    ]
    scored = Model.of(scored_model(domain)).predict(frame_of(rows).with_columns(pl.int_range(pl.len()).alias(UNIT)))
    assert scored["predicted"].n_unique() == 2
    probability = scored[f"probability_{domain.classes[-1]}"]
    assert probability.max() > 0.985
    assert probability.min() < 0.05
    assert scored_model(domain).guarantee.private


def test_every_released_number_is_looked_at() -> None:
    """Each draw is a number by which releases are told apart; the groups are of a column, and of two crossed."""
    universe = faultless(WAGES)
    plan, database = GROUPS.plan(WAGES), universe.counted((1,) * len(universe.rows))
    queries = [(share.query, share.attribute) for share in plan.shares]
    by_group = product(("category", "number:copy 1"), (GROUP_COUNTS, GROUP_PROBABILITIES))
    assert queries == [(SCORES, None), *((query, columns) for columns, query in by_group)]
    released = record(plan, database, Answers((), 0))
    assert isinstance(released.release, ScoreValues)
    found = numbers(released.release)
    assert len(found) == len(released.draws) == sum(share.values for share in plan.shares)
    assert sorted(found.values()) == sorted(drawn.answer for drawn in released.draws)
    assert np.isfinite(list(found.values())).all()


def test_units_of_a_row_that_does_not_count_have_no_row_and_rows_weigh_what_is_declared() -> None:
    universe = faultless_units(1, 1)
    assert [
        int(universe.counted(universe.database((1, unit))).count().class_counts.sum()) for unit in universe.rows
    ] == [int(label is not None) for label, *_ in MEMBERS]
    universe = faultless_units(None, weighted=True)
    assert universe.rows == tuple((each,) for each in (*MEMBERS, LIGHT))
    everybody = universe.counted((1,) * len(universe.rows)).count()
    assert everybody.weight_sums is not None
    assert everybody.weight_sums.tolist() == [1 + CAP + 0, CAP]
