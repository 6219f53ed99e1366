"""The audit's databases: every small one, each pair of neighbours once, counted by the real engine."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from support.mechanisms import MECHANISMS

from dpnb_columnar.core.budget import Approximate, Concentrated, Neighbours, PrivacyCost, Pure
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family
from dpnb_columnar.extensions.audit.outcomes import Configuration, configurations
from dpnb_columnar.extensions.audit.universe import (
    HOURS,
    WAGES,
    YEARS,
    Universe,
    adversarial_pairs,
    build_universe,
    crowds,
    groups,
    neighbours,
    small_databases,
    small_pairs,
)
from dpnb_columnar.releases.score_plan import SCORES


@pytest.fixture(scope="module", params=[YEARS, WAGES, HOURS], ids=lambda domain: domain.name)
def universe(request: pytest.FixtureRequest) -> Universe:
    found, findings = build_universe(request.param)
    assert not findings
    return found


def multisets(kinds: int, size: int) -> int:
    return comb(kinds + size - 1, size)


@pytest.mark.parametrize(("kinds", "rows"), [(1, 4), (3, 3), (15, 2)])
def test_every_small_database_is_there_once(kinds: int, rows: int) -> None:
    found = list(small_databases(kinds, rows))
    assert len(found) == len(set(found)) == sum(multisets(kinds, size) for size in range(rows + 1))
    assert all(len(database) == kinds and sum(database) <= rows for database in found)


@pytest.mark.parametrize(("kinds", "rows"), [(2, 4), (3, 3), (15, 2)])
def test_every_pair_of_neighbours_is_there_once(kinds: int, rows: int) -> None:
    """One row more: any of the kinds to any smaller database. One row changed: any two kinds beside any others."""
    added = list(small_pairs(kinds, Neighbours.ADD_REMOVE, rows))
    assert len(added) == len(set(added)) == sum(multisets(kinds, size) * kinds for size in range(rows))
    changed = list(small_pairs(kinds, Neighbours.REPLACE_ONE, rows))
    assert len({frozenset(pair) for pair in changed}) == len(changed)
    assert len(changed) == sum(multisets(kinds, size) * comb(kinds, 2) for size in range(rows))


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Neighbours))
def test_neighbours_differ_in_one_row(universe: Universe, relation: Neighbours) -> None:
    pairs = [pair for group in groups(universe, relation, 2, (5, 12), 3) for pair in group.pairs]
    pairs += [(pair.one, pair.two) for pair in adversarial_pairs(universe, relation)]
    for one, two in pairs:
        difference = np.array(two) - np.array(one)
        assert min(*one, *two) >= 0
        if relation is Neighbours.ADD_REMOVE:
            assert np.abs(difference).sum() == 1
        else:
            assert (difference.sum(), np.abs(difference).sum()) == (0, 2)


FORCED = {YEARS.name: 2, WAGES.name: 6, HOURS.name: 4}
"""Two classes, and the rows of each that have no value; where to be missing is a category, those that have one too."""


@pytest.mark.slow
def test_sizes_of_classes_and_numbers_of_values_are_forced(universe: Universe) -> None:
    """A class has more rows than values, fewer, or as many; the first two scenarios are those of the quick audit."""
    for group in groups(universe, Neighbours.ADD_REMOVE, 1, (5,), 5):
        assert [len(sizes) for sizes in group.sizes] == [FORCED[universe.domain.name]] * 5
        missing = [sizes[0] - sizes[2] for sizes in group.sizes if len(sizes) > 2] or [-1, 0, 1]
        assert min(missing[:2]) < 0 <= max(missing[:2])
        assert 0 in missing


KINDS = {YEARS.name: 15, WAGES.name: 15, HOURS.name: 7}
"""Per class, three values with the category and two without it, or two values with it; a row that lacks the number with
and without it, or with it alone; and one kind that does not count."""


def test_the_engine_clamps_and_drops_odd_rows(universe: Universe) -> None:
    """Values beyond the bounds are at them, and all rows that do not count are one kind."""
    assert len(universe.rows) == KINDS[universe.domain.name]
    nothing = [row for row, cells in zip(universe.rows, universe.cells, strict=True) if not cells[0].counts.sum()]
    assert len(nothing) == 1


def test_a_row_without_a_number_counts_with_its_category(universe: Universe) -> None:
    for klass in range(2):
        statistics = universe.statistics(universe.database((3, universe.absent(klass))))
        assert statistics.class_counts[klass] == 3
        assert statistics.tables["category"][klass].sum() == 3
        assert sum(column.size for column in statistics.columns["number"]) == 0


def test_statistics_count_what_the_database_says(universe: Universe) -> None:
    database = next(iter(crowds(universe, 7)))
    statistics = universe.statistics(database)
    assert list(statistics.class_counts) == [7, 0]
    assert [column.size for column in statistics.columns["number"]] == [7, 0]
    assert universe.description(database).startswith("7 x (a, ")
    assert universe.description((0,) * len(universe.rows)) == "no rows"


def test_the_neighbours_of_nobody_are_single_rows() -> None:
    assert list(neighbours((0, 0), Neighbours.ADD_REMOVE)) == [(1, 0), (0, 1)]
    assert list(neighbours((0, 0), Neighbours.REPLACE_ONE)) == []


def test_configurations_are_all_private_mechanisms_and_relations_and_every_family_at_least_once() -> None:
    found = configurations()
    assert len(found) == len(set(found))
    private = {mechanism.name for mechanism in MECHANISMS.values() if mechanism.private}
    for relation in Neighbours:
        ours = [each for each in found if each.budget.neighbours is relation]
        assert {each.mechanism for each in ours if not each.few} == {*private, SCORES}
        plain = [each for each in ours if not each.few and each.attribute_weights == "none"]
        assert [each.noise for each in plain if each.mechanism == "smooth"] == list(NOISE_FAMILIES)
        assert [each.noise for each in plain if each.mechanism == "paper"] == ["cauchy", "gaussian"]
        scores = {
            (each.classes, bool(each.by), each.unit_rows, each.weighted) for each in ours if each.mechanism == SCORES
        }
        assert scores == {(2, False, None, False), (2, True, None, False), (2, True, 1, False), (2, False, None, True),
                          (2, True, 1, True), (3, False, None, False), (3, True, None, False)}  # fmt: skip
        # Every kind of attribute weights under every kind of noise: with weights of rows, in three classes, of units,
        # and of copies of an attribute, whose rows a gradient scales down.
        kinds = {(_kind(each), each.attribute_weights, each.classes, each.weighted) for each in ours}
        for kind in (Pure, Approximate, Concentrated):
            assert kinds >= {(kind, weights, 2, False) for weights in ("none", "calibrated", "learned")}
            assert kinds >= {(kind, "calibrated", 3, False), (kind, "none", 2, True), (kind, "learned", 2, True)}
        assert {each.mechanism for each in ours if each.unit_rows is not None} == {"smooth", "histogram", SCORES}
        assert {each.attribute_weights for each in ours if each.unit_rows} == {"none", "calibrated", "learned"}
        assert {_kind(each) for each in ours if each.copies and each.attribute_weights == "learned"} == {
            Pure,
            Concentrated,
        }
    assert {configuration.mechanism for configuration in configurations(["majority", "majority"])} == {"majority"}
    assert {configuration.mechanism for configuration in configurations([SCORES])} == {SCORES}


def _kind(configuration: Configuration) -> type[PrivacyCost]:
    return Pure if configuration.noise is None else smooth_family(configuration.noise).kind
