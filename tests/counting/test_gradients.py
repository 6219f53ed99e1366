"""Sums of a round: the same whole numbers from any files, as one row at a time gives them, and never more than M."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.aggregation_cases import declared, written
from support.people import PEOPLE, people, people_domain
from support.random_tables import frames
from support.rows_in_python import Document
from support.scored_in_python import expected_gradients, listed, queries_of

from dpnb_columnar.counting.engines import local
from dpnb_columnar.counting.file_parts import file_parts
from dpnb_columnar.counting.scores import (
    CERTAIN,
    LARGEST_CLIP,
    UNITS,
    GradientQuery,
    GradientSums,
    ScoreTable,
    probabilities,
)
from dpnb_columnar.domain import Domain
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


def test_few_rows_are_summed_up_as_one_at_a_time() -> None:
    """Whatever is left over where a quotient is rounded, of rows of either class."""
    for seed in range(12):
        query, rows = any_query(people_domain(), seed), people(6, seed)
        assert listed(local.answer(rows, query)) == expected_gradients(rows.to_dicts(), query)


def any_query(domain: Domain, seed: int) -> GradientQuery:
    """Log-ratios of every size, weights and log-odds that make certain, and a bound that scales most rows down."""
    generator = np.random.default_rng(seed)

    def table(name: str, starts: tuple[int, ...]) -> ScoreTable:
        steps = generator.integers(-900, 900, len(starts))
        return ScoreTable(name, starts, tuple(map(int, steps)))

    tables = table("age", (0, 30, 60)), table("hours", (0, 40)), table("sex", (0, 1))
    weights = tuple(map(int, generator.integers(-128, 512, 3)))
    bound = int(generator.integers(100, 1500))
    return GradientQuery(domain, tables, weights, int(generator.integers(-(2**20), 2**20)), bound)


def moved(sums: GradientSums) -> int:
    """How far a row, whose sums these are, moves all sums."""
    return int(np.abs(sums.sums).sum())


SIGNS = people_domain(
    {
        "label": PEOPLE["label"],
        "attributes": {
            name: {"values": ["-", "0", "+"], **({"missing": "skip"} if name == "a" else {})} for name in "ab"
        },
    }
)
EVERY_ROW = pl.DataFrame(
    list(itertools.product(["-", "0", "+", None], ["-", "0", "+"], SIGNS.classes)),
    schema={"a": pl.String, "b": pl.String, "income": pl.String},
    orient="row",
)


def signed(name: str, size: int, missing: int = 0) -> ScoreTable:
    return ScoreTable(name, (0, 1, 2), (-size, 0, size), missing)


@pytest.mark.slow
def test_no_pair_of_small_databases_moves_the_sums_further_than_the_bound() -> None:
    """All databases of up to two rows, and all pairs that differ in one row more, or in one row replaced.

    Scores just above and below the bound, and far above, where a quotient rounded up would be seen; every size of a
    probability, so that what is rounded has every remainder.
    """
    nearest, scaled = 0.0, False
    databases = [(), *itertools.combinations_with_replacement(range(len(EVERY_ROW)), 1)]
    databases += itertools.combinations_with_replacement(range(len(EVERY_ROW)), 2)
    for (one, two, missing), bound, log_odds in itertools.product(
        [(1, 1, 0), (7, 3, 5), (300, 211, 977), (4096, 4095, 13), (0, 0, 0)],
        [1, 5, 11, 511, 3000],
        [0, 3 * UNITS**2, -(20 * UNITS**2)],
    ):
        query = GradientQuery(SIGNS, (signed("a", one, missing), signed("b", two)), (77, -128), log_odds, bound)
        single = [local.answer(row, query).sums.tolist() for row in EVERY_ROW.iter_slices(1)]
        totals = {each: np.array([[0, 0, 0], *(single[place] for place in each)]).sum(axis=0) for each in databases}
        for database, sums in totals.items():
            for place in range(len(EVERY_ROW)):
                more = tuple(sorted((*database, place)))
                if more in totals:
                    change = int(np.abs(totals[more] - sums).sum())
                    assert change <= query.sensitivity
                    nearest = max(nearest, change / query.sensitivity)
            if database:
                for place in range(len(EVERY_ROW)):
                    replaced = tuple(sorted((*database[1:], place)))
                    assert int(np.abs(totals[replaced] - sums).sum()) <= 2 * query.sensitivity
        scaled |= bound < one + two
    assert scaled
    assert nearest > 0.95


@pytest.mark.parametrize("scores", [(1, 0, 0), (255, 1, 3), (701, 700, 699), (4096, 4096, 4095), (4096, 0, 0)])
@pytest.mark.parametrize("bound", [1, 2, 255, 256, 257, 1000, 2099, 2100, 2101, 12_287])
def test_a_certain_and_wrong_row_moves_the_sums_by_nearly_all_of_the_bound(
    scores: tuple[int, int, int], bound: int
) -> None:
    """Of a row that is as wrong as can be, what rounding down takes away is all that is left of the bound."""
    names = ("age", "hours", "sex")
    tables = tuple(ScoreTable(name, (0,), (score,)) for name, score in zip(names, scores, strict=True))
    size = sum(scores)
    for sign, income in ((1, "low"), (-1, "high")):
        query = GradientQuery(people_domain(), tables, (0, 0, 0), sign * 30 * UNITS**2, bound)
        assert query.sensitivity == (min(bound, size) + UNITS) * CERTAIN
        change = moved(local.answer(people(1).with_columns(income=pl.lit(income)), query))
        factor = min(CERTAIN, bound * CERTAIN // size)
        assert change == factor * (size + UNITS) <= query.sensitivity
        # Towards 0 on both sides: of the weights less than one 2^-16 of the row's scores is lost.
        assert factor * size > CERTAIN * min(bound, size) - size


def test_a_row_without_a_value_moves_the_sums_by_no_more_than_the_bound() -> None:
    query = GradientQuery(SIGNS, (signed("a", 10, 900), signed("b", 10)), (0, 0), 30 * UNITS**2, 5000)
    row = pl.DataFrame({"a": [None], "b": ["+"], "income": ["low"]}, schema_overrides={"a": pl.String})
    assert 0.99 * query.sensitivity < moved(local.answer(row, query)) <= query.sensitivity


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_row_of_any_query_moves_the_sums_further_than_stated(data: st.DataObject) -> None:
    domain = people_domain()
    names = ("age", "hours", "sex")
    tables = tuple(ScoreTable(name, (0,), (data.draw(st.integers(-LARGEST_CLIP, LARGEST_CLIP)),)) for name in names)
    weights = tuple(data.draw(st.integers(-128, 512)) for _ in names)
    log_odds, bound = data.draw(st.integers(-(2**19), 2**19)), data.draw(st.integers(1, 3 * LARGEST_CLIP))
    query = GradientQuery(domain, tables, weights, log_odds, bound)
    for income in domain.classes:
        sums = local.answer(people(1).with_columns(income=pl.lit(income)), query)
        assert moved(sums) <= query.sensitivity


def test_probabilities_are_those_of_the_scores() -> None:
    """One row of the second class, scores of two attributes: 1 - sigmoid, to a thousandth."""
    tables = (ScoreTable("age", (0,), (300,)), ScoreTable("hours", (0,), (-512,)))
    query = GradientQuery(people_domain(), tables, (128, 128), UNITS * UNITS // 4, 812)
    row = people(1).with_columns(income=pl.lit("high"))
    (age, hours, intercept), rows = listed(local.answer(row, query))
    score = 0.5 * 300 / 256 + 0.5 * -2 + 0.25
    error = intercept // UNITS
    assert error / CERTAIN == pytest.approx(1 - 1 / (1 + math.exp(-score)), abs=2e-3)
    assert (age, hours) == (error * 300, error * -512)
    assert rows == [0, 1]


def test_a_row_is_scaled_as_a_whole() -> None:
    """By what part of its scores the bound is: the same row at half the size of its scores adds a half."""
    tables = (ScoreTable("age", (0,), (300,)), ScoreTable("hours", (0,), (-500,)))
    row = people(1).with_columns(income=pl.lit("low"))
    whole, half, quarter = (
        local.answer(row, GradientQuery(people_domain(), tables, (128, 128), 0, bound)).sums
        for bound in (800, 400, 200)
    )
    assert half == pytest.approx(whole / 2, rel=1e-3)
    assert quarter == pytest.approx(whole / 4, rel=1e-3)


def test_probabilities_fall_from_a_half_to_nothing() -> None:
    table = probabilities()
    assert (table[0], table[256], table[-1]) == (2**15, round(2**16 / (1 + math.e)), 0)
    assert table[-2] > 0
    assert all(one >= two for one, two in itertools.pairwise(table))
    assert LARGEST_CLIP * CERTAIN * 2**34 < 2**63
    # Far from where two libraries could round to different whole numbers.
    exact = [CERTAIN / (1 + math.exp(step / UNITS)) for step in range(len(table))]
    assert min(abs(each % 1 - 0.5) for each in exact) > 1e-4


def test_sums_of_different_queries_are_not_added() -> None:
    one, two = (any_query(people_domain(), seed) for seed in (1, 2))
    summed = local.answer(people(12345), one)
    assert repr(summed) == f"{summed!s}" == "GradientSums(CONFIDENTIAL, domain 'people': 4 sums)"
    with pytest.raises(ValueError, match="different queries"):
        summed + local.answer(people(5), two)


def test_sums_beyond_64_bits_are_refused() -> None:
    summed = local.answer(people(5), any_query(people_domain(), 1))
    for name in ("sums", "rows"):
        for largest in (2**62, -(2**62)):
            halves = [replace(summed, **{name: np.full_like(getattr(summed, name), largest)}) for _ in range(2)]
            with pytest.raises(ValueError, match="more rows than exact sums are for"):
                halves[0] + halves[1]


def test_a_digest_is_of_all_that_decides_what_a_row_adds() -> None:
    query = any_query(people_domain(), 1)
    table, *others = query.tables
    changed = (
        replace(table, missing=1),
        replace(table, starts=(0, 31, 60)),
        replace(table, scores=(0, *table.scores[1:])),
        replace(table, attribute="hours"),
    )
    queries = [replace(query, tables=(each, *others)) for each in changed]
    queries += [
        replace(query, bound=query.bound + 1),
        replace(query, weights=(query.weights[0] + 1, *query.weights[1:])),
        replace(query, log_odds=query.log_odds + 1),
        replace(query, tables=(*others, table)),
        query,
    ]
    assert len({each.digest for each in queries}) == len(queries)
