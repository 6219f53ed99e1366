"""Sums of a round: the same whole numbers from any files, as one row at a time gives them, and never more than M."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.aggregation_cases import declared, written
from support.people import PEOPLE, people, people_domain, write_people
from support.random_tables import frames
from support.rows_in_python import Document
from support.scored_in_python import expected_gradients, listed, queries_of

from dpnb_columnar.counting.engines import local
from dpnb_columnar.counting.file_parts import file_parts
from dpnb_columnar.counting.inputs import FrameInput, LocalFiles
from dpnb_columnar.counting.scores import (
    CERTAIN,
    LARGEST_CLIP,
    UNITS,
    GradientQuery,
    ScoreTable,
    WeightGroup,
    exponentials,
)
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.rows.parquet import open_parquet


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), frames(), st.integers(1, 5))
def test_random_rows_are_summed_up_as_one_at_a_time(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, frame: tuple[list[pa.Table], Document], group: int
) -> None:
    tables, document = frame
    domain = declared(document)
    query = data.draw(queries_of(domain))
    files = written(tmp_path_factory.mktemp("sums"), tables, group=group)
    summed = local.answer(open_parquet(files, domain), query)
    assert listed(summed) == expected_gradients([row for table in tables for row in table.to_pylist()], query)
    assert summed.parts == file_parts(files)
    # Files of equal content have equal parts, which + refuses.
    parts = [replace(local.answer(open_parquet([file], domain), query), parts=frozenset()) for file in files]
    assert sum(parts[1:], parts[0]) == summed
    assert sum((local.answer(table, query) for table in tables[1:]), local.answer(tables[0], query)) == summed


THREE = people_domain({**PEOPLE, "label": {"column": "income", "classes": ["low", "high", "none"]}})


def any_query(domain: Domain, seed: int, *, together: bool) -> GradientQuery:
    """Log-ratios of every size, with bounds that clip some of them, and weights and log-odds that make certain."""
    generator = np.random.default_rng(seed)
    others = len(domain.classes) - 1

    def table(name: str, starts: tuple[int, ...]) -> tuple[ScoreTable, ...]:
        steps = generator.integers(-2000, 2000, (others, len(starts)))
        return tuple(ScoreTable(name, starts, tuple(map(int, row))) for row in steps)

    single = [table("age", (0, 30, 60)), table("hours", (0, 40)), table("sex", (0, 1))]
    parts = [single] if together else [[each] for each in single]
    groups = [
        WeightGroup(
            tuple(zip(*part, strict=True)), int(generator.integers(100, 900)), int(generator.integers(-128, 512))
        )
        for part in parts
    ]
    return GradientQuery(domain, tuple(groups), tuple(map(int, generator.integers(-(2**20), 2**20, others))))


@pytest.mark.slow
@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("domain", [people_domain(), THREE], ids=["two classes", "three"])
def test_no_row_moves_the_sums_further_than_stated_and_some_nearly_as_far(domain: Domain, together: bool) -> None:
    """Every row of a small domain, alone: the sums are additive, so this is every pair of neighbours."""
    every = list(itertools.product([10, 40, 80], [10, 50], ["f", "m"], domain.classes))
    rows = pl.DataFrame(every, schema=["age", "hours", "sex", "income"], orient="row")
    nearest = 0.0
    for seed in range(8):
        query = any_query(domain, seed, together=together)
        for row in rows.iter_slices(1):
            weights, log_odds, _ = listed(local.answer(row, query))
            moved = sum(map(abs, weights)) + UNITS * sum(map(abs, log_odds))
            assert moved <= query.sensitivity
            nearest = max(nearest, moved / query.sensitivity)
    assert nearest > 0.9


@pytest.mark.parametrize("certain", [(2**20, 0), (0, 2**20), (-(2**20), -(2**20))])
def test_a_row_of_three_classes_moves_the_sums_by_all_of_the_bound(certain: tuple[int, int]) -> None:
    """A class that is certain and wrong moves two log-odds by 1, and each group by its clip.

    However far apart the group's scores are; and neither a component nor a class can be left out.
    """
    groups = tuple(
        WeightGroup(((ScoreTable(name, (0,), (first,)),), (ScoreTable(name, (0,), (second,)),)), clip, 0)
        for name, clip, (first, second) in (("age", 60, (-2000, 2000)), ("hours", 90, (2000, -2000)))
    )
    query = GradientQuery(THREE, groups, certain)
    moved = []
    for income in THREE.classes:
        weights, log_odds, _ = listed(local.answer(people(1).with_columns(income=pl.lit(income)), query))
        moved.append(sum(map(abs, weights)) + UNITS * sum(map(abs, log_odds)))
    assert query.sensitivity == (60 + 90 + 2 * UNITS) * CERTAIN
    assert max(moved) <= query.sensitivity
    if max(certain) > 0:
        assert max(moved) == query.sensitivity


def test_probabilities_are_those_of_the_scores() -> None:
    """One row of the second class, scores of two attributes: 1 - sigmoid, to a thousandth."""
    tables = (ScoreTable("age", (0,), (300,)), ScoreTable("hours", (0,), (-900,)))
    groups = tuple(WeightGroup(((table,),), 512, 128) for table in tables)
    query = GradientQuery(people_domain(), groups, (UNITS * UNITS // 4,))
    row = people(1).with_columns(income=pl.lit("high"))
    (age, hours), (error,), rows = listed(local.answer(row, query))
    score = 0.5 * 300 / 256 + 0.5 * -2 + 0.25
    assert error / CERTAIN == pytest.approx(1 - 1 / (1 + math.exp(-score)), abs=2e-3)
    assert (age, hours) == (error * 300, error * -512)
    assert rows == [0, 1]


def test_exponentials_fall_from_one_to_nothing() -> None:
    table = exponentials()
    assert (table[0], table[256], table[-1]) == (2**20, round(2**20 / math.e), 0)
    assert all(one >= two for one, two in itertools.pairwise(table))
    assert LARGEST_CLIP * CERTAIN * 2**34 < 2**63


def test_sums_of_different_queries_are_not_added() -> None:
    one, two = (any_query(people_domain(), seed, together=True) for seed in (1, 2))
    summed = local.answer(people(12345), one)
    assert repr(summed) == f"{summed!s}" == "GradientSums(CONFIDENTIAL, domain 'people': 1 weights)"
    with pytest.raises(ValueError, match="different queries"):
        summed + local.answer(people(5), two)


def test_sums_of_one_part_are_not_added_twice() -> None:
    """Whatever else they have summed up, and whatever is declared of their units."""
    query = any_query(people_domain(), 1, together=True)
    summed = local.answer(people(5), query)
    first, second, both = (replace(summed, parts=frozenset(parts)) for parts in ("a", "b", "ab"))
    assert (first + second).parts == {"a", "b"}
    assert (first + second).rows.tolist() == (2 * summed.rows).tolist()
    for one, two in ((first, first), (first, both), (both, second), (first + second, second)):
        with pytest.raises(ValueError, match="the same rows are in both and would count twice"):
            one + two
    with pytest.raises(ValueError, match="the same rows"):
        replace(first, whole_units=True) + replace(first, whole_units=True)


def test_sums_beyond_64_bits_are_refused() -> None:
    summed = local.answer(people(5), any_query(people_domain(), 1, together=True))
    for name in ("weights", "log_odds", "rows"):
        for largest in (2**62, -(2**62)):
            halves = [replace(summed, **{name: np.full_like(getattr(summed, name), largest)}) for _ in range(2)]
            with pytest.raises(ValueError, match="more rows than exact sums are for"):
                halves[0] + halves[1]


def test_sums_that_no_rows_have_are_known() -> None:
    """Each weight's sum is within its clip, and each class's within one, for every row, on both sides of 0."""
    summed = local.answer(people(50), any_query(people_domain(), 1, together=False))
    most = CERTAIN * 50
    for place, group in enumerate(summed.query.groups):
        for sum_, possible in ((most * group.clip, True), (most * group.clip + 1, False)):
            for sign in (1, -1):
                weights = summed.weights.copy()
                weights[place] = sign * sum_
                assert replace(summed, weights=weights).possible is possible
    for sum_, possible in ((most, True), (most + 1, False), (-most, True), (-most - 1, False)):
        assert replace(summed, log_odds=np.array([sum_])).possible is possible


def test_a_digest_is_of_all_that_decides_what_a_row_adds() -> None:
    query = any_query(people_domain(), 1, together=False)
    group, *others = query.groups
    (table,) = group.tables[0]
    changed = [
        replace(group, clip=group.clip + 1),
        replace(group, weight=group.weight + 1),
        *(
            replace(group, tables=((each,),))
            for each in (replace(table, missing=1), replace(table, starts=(0, 31, 60)))
        ),
        replace(group, tables=((replace(table, scores=(0, *table.scores[1:])),),)),
    ]
    queries = [replace(query, groups=(each, *others)) for each in changed]
    queries += [replace(query, log_odds=(query.log_odds[0] + 1,)), replace(query, groups=(*others, group)), query]
    assert len({each.digest for each in queries}) == len(queries)


def test_failures_are_reported_without_the_engines_text(tmp_path: Path) -> None:
    query = any_query(people_domain(), 1, together=False)
    file = write_people(tmp_path / "people.parquet")
    checked = LocalFiles([str(file)]).check(people_domain())
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"people\.parquet"):
        checked.answer(query)
    rows = people(10).lazy().with_columns(pl.col("sex").str.to_integer(strict=True).cast(pl.String))
    with pytest.raises(DataError, match="its query fails"):
        FrameInput(rows).check(people_domain()).answer(query)
