"""Second passes and sums of a round: the same numbers from any files, as one row at a time gives them."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.aggregation_cases import declared, written
from support.people import PEOPLE, TYPES, people, people_domain, write_people
from support.random_tables import frames
from support.rows_in_python import Document
from support.scored_in_python import expected_gradients, expected_score_counts, listed, queries_of, scores_of

from dpnb_columnar.core.code_limits import UNITS
from dpnb_columnar.core.queries.scores import (
    CERTAIN,
    LARGEST_CLIP,
    GradientQuery,
    GradientSums,
    Margins,
    ScoreCounts,
    Scores,
    ScoreTable,
    probabilities,
)
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting import diagnostics, local
from dpnb_columnar.counting.answer_files import answer_of
from dpnb_columnar.counting.countable import AskedRows, file_parts
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.dialects.statistics_query import query_sql
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.domain.editing import with_unit, with_weight
from dpnb_columnar.rows.parquet import open_parquet
from dpnb_columnar.rows.row_rules import MOST_STEPPED, number_of_codes
from dpnb_columnar.rows.sources import Dialect


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), frames(), st.integers(1, 5))
def test_random_rows_are_counted_as_one_at_a_time(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, frame: tuple[list[pa.Table], Document], group: int
) -> None:
    tables, document = frame
    domain = declared(document)
    scores = data.draw(scores_of(domain))
    files = written(tmp_path_factory.mktemp("scores"), tables, group=group)
    expected = expected_score_counts([row for table in tables for row in table.to_pylist()], scores)
    counted = local.answer(open_parquet(files, domain), scores)
    assert np.array_equal(counted.counts, expected)
    parts = [local.answer(open_parquet([file], domain), scores) for file in files]
    assert sum(parts[1:], parts[0]) == counted
    assert sum((local.answer(table, scores) for table in tables[1:]), local.answer(tables[0], scores)) == counted


DOMAIN = people_domain()
TABLES = (
    ScoreTable("age", (0, 30, 50), (-256, 0, 256)),
    ScoreTable("hours", (0, 40), (-500, 500)),
    ScoreTable("sex", (0, 1), (-1, 1)),
)
SCORES = Margins(DOMAIN, (TABLES,), (0, 0), 0, (-300, 0, 300))
THREE = people_domain({**PEOPLE, "label": {"column": "income", "classes": ["low", "high", "none"]}})


def test_a_score_on_an_edge_is_in_the_bin_above() -> None:
    rows = pl.DataFrame({"age": [40, 40], "hours": [0, 45], "sex": ["m", "f"], "income": ["low", "high"]})
    scores = replace(SCORES, edges=(-499, 499, 500))
    assert local.answer(rows, scores).counts.tolist() == [[0, 0], [1, 0], [0, 1], [0, 0]]
    mirrored = replace(scores, largest=1, edges=(-500, -499, 499))
    assert local.answer(rows, mirrored).counts.tolist() == [[0, 0], [0, 0], [0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("largest", "offsets", "margin", "other"),
    [(0, (0, 5, 5), 5, 1), (1, (5, 0, 5), 5, 0), (2, (-9, -9, -2), -7, 0), (1, (3, 0, 4), 4, 2), (0, (9, 3, 4), -5, 2)],
)
def test_the_margin_is_that_of_the_first_best_other_class(
    largest: int, offsets: tuple[int, int, int], margin: int, other: int
) -> None:
    """Catches: the largest class among the others, the last of equal ones, a margin the other way round or beside its
    edge by the class's place, rows of neither class counted for one of the two.
    """
    table = (ScoreTable("age", (0,), (0,)),)
    rows = pl.DataFrame(
        {"age": [40] * 6, "hours": [1] * 6, "sex": ["m"] * 6, "income": ["low", *["high"] * 2, *["none"] * 3]}
    )
    for edge, reached in ((margin, 1), (margin + 1, 0)):
        query = Margins(THREE, (table, table), offsets, largest, (edge,))
        counted = local.answer(rows, query)
        found = query.columns_of(counted.counts)
        neither = 3 - largest - other
        assert found[reached].tolist() == [largest + 1, other + 1, neither + 1]
        assert found.sum() == 6
        assert counted.class_counts.tolist() == [1, 2, 3]


@pytest.mark.parametrize("largest", [0, 1, 2])
def test_a_database_counts_margins_of_three_classes_alike(largest: int) -> None:
    """Catches: margins of keys compared with edges of scores, the best other class by another order, in SQL alone."""
    rows = people(400).with_columns(
        income=pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.lit("none")).otherwise("income")
    )
    second = (ScoreTable("age", (0, 40, 60), (-30, 0, 40)), ScoreTable("sex", (0, 1), (0, 10), 5))
    third = (ScoreTable("age", (0, 40, 60), (10, 0, 40)), ScoreTable("sex", (0, 1), (0, -10), 5))
    query = Margins(THREE, (second, third), (20, 0, 0), largest, (-30, -20, -1, 0, 1, 20, 30))
    counted = local.answer(rows, query)
    assert (query.columns_of(counted.counts).sum(axis=0) > 0).all()
    assert np.count_nonzero(counted.counts.sum(axis=1)) > 5
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        kinds = {"age": Kind.INTEGER, "hours": Kind.INTEGER, "sex": Kind.TEXT, "income": Kind.TEXT}
        result = connection.sql(query_sql(query, kinds, "rows", Dialect.DUCKDB)).pl()
    assert np.array_equal(answer_of(result, query, Dialect.DUCKDB).counts, counted.counts)
    assert np.array_equal(counted.counts, expected_score_counts(rows.to_dicts(), query))


def test_each_group_has_bins_for_itself() -> None:
    rows = people(300).with_columns(sex=pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("sex"))
    whole = local.answer(rows, SCORES)
    groups = replace(SCORES, group_tables=(ScoreTable("sex", (0, 1), (0, 1), 2),), groups=3)
    counted = local.answer(rows, groups)
    assert np.array_equal(counted.counts, expected_score_counts(rows.to_dicts(), groups))
    assert np.array_equal(counted.counts.reshape(3, 4, 2).sum(axis=0), whole.counts)
    for place, sex in enumerate(("f", "m", None)):
        part = local.answer(rows.filter(pl.col("sex").eq_missing(pl.lit(sex))), SCORES).counts
        assert np.array_equal(counted.counts[4 * place : 4 * place + 4], part)


def test_all_that_decides_the_bin_of_a_row_is_in_the_digest() -> None:
    query = Margins(THREE, (TABLES, TABLES), (0, 0, 0), 0, (-300, 0, 300))
    others = [
        replace(query, tables=(TABLES, TABLES[:2])),
        replace(query, offsets=(0, 0, 1)),
        replace(query, largest=1),
        replace(query, edges=(-300, 0, 301)),
        replace(query, group_tables=TABLES[2:], groups=3),
        replace(query, group_tables=TABLES[:1], groups=3),
        replace(query, group_tables=TABLES[2:], groups=4),
    ]
    assert len({each.digest for each in (query, *others)}) == 8


@pytest.mark.parametrize(
    ("scores", "predicted"), [((0, 0, 0), 0), ((-1, 0, 0), 1), ((5, 5, 4), 0), ((-5, -6, -5), 0), ((-7, -7, -6), 2)]
)
def test_of_equal_scores_the_first_class_is_predicted(scores: tuple[int, int, int], predicted: int) -> None:
    tables = tuple((ScoreTable("age", (0,), (score,)),) for score in scores)
    for offsets in ((0, 0, 0), (-1000, -1000, -1000)):
        counts = local.answer(people(7), Scores(THREE, tables, offsets)).counts
        assert counts.sum(axis=1).nonzero()[0].tolist() == [predicted]


def test_what_was_counted_is_given_for_its_own_query_alone() -> None:
    """A file of counts, or of sums, of another model's scores is none of this model's."""
    other = replace(SCORES, edges=(-300, 0, 301))
    query = GradientQuery(DOMAIN, TABLES[:1], (128,), 0, 512)
    counted, summed = (AskedRows(each) for each in (local.answer(people(5), SCORES), local.answer(people(5), query)))
    assert counted.answer(SCORES) == counted.known
    assert summed.answer(query) == summed.known
    for rows, wanted in ((counted, other), (counted, CellQuery(DOMAIN)), (summed, SCORES)):
        with pytest.raises(ValueError, match="were asked something else"):
            rows.answer(wanted)
    for rows, gradient in ((counted, query), (summed, replace(query, log_odds=1))):
        with pytest.raises(ValueError, match="were asked something else"):
            rows.answer(gradient)


@pytest.mark.parametrize("most", [50, 2**22])
def test_rows_that_repeat_others_are_estimated_of_all_rows(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more rows than are compared a share is, and its part of repeats is taken for that of all."""
    monkeypatch.setattr(diagnostics, "MOST_ROWS", most)
    rows = pl.DataFrame({"age": range(100), "hours": [1] * 100, "sex": ["f"] * 100, "income": ["low"] * 100})
    found = diagnostics.count_repeats(FrameInput(pl.concat([rows] * 4)).open(DOMAIN), 400)
    assert (found.rows, found.exact) == (300, most > 400)


def test_a_missing_value_has_the_score_declared_for_it() -> None:
    rows = pl.DataFrame({"age": [None, None], "hours": [None, 50], "sex": [None, "z"], "income": ["low", "high"]})
    typed = rows.with_columns(pl.col("age").cast(pl.Int64))
    tables = (ScoreTable("age", (0,), (7,), 100), ScoreTable("hours", (0,), (1,)), ScoreTable("sex", (0, 1), (5, 6)))
    query = Margins(DOMAIN, (tables,), (0, 0), 0, (100, 101))
    assert local.answer(typed, query).counts.tolist() == [[0, 0], [1, 0], [0, 1]]


@pytest.mark.parametrize("type_", [pl.Int64, pl.Float64, pl.String, pl.UInt32])
def test_steps_of_a_grid_too_wide_for_a_table(type_: type[pl.DataType]) -> None:
    document = {"label": PEOPLE["label"], "attributes": {"wage": {"lower": 0, "upper": 10**9, "step": 1}}}
    domain = people_domain(document)
    assert number_of_codes(domain.attributes[0]) > MOST_STEPPED
    table = ScoreTable("wage", (0, 1, 999, 10**9 + 1), (1, 2, 3, 4), -5)
    wages = [0, 1, 998, 999, 10**9, 2 * 10**9, None]
    rows = pl.DataFrame({"wage": wages, "income": ["low"] * 7}).with_columns(pl.col("wage").cast(type_))
    counts = local.answer(rows, Margins(domain, ((table,),), (0, 0), 0, (0, 1, 2, 3, 4))).counts
    assert counts[:, 0].tolist() == [1, 0, 1, 2, 3, 0]


def test_any_division_into_files_gives_the_same_counts(tmp_path: Path) -> None:
    rows = people(5000)
    whole = local.answer(open_parquet([write_people(tmp_path / "people.parquet", rows)], DOMAIN), SCORES)
    files = [
        write_people(tmp_path / f"people-{part}.parquet", rows.filter(pl.int_range(pl.len()) % 3 == part))
        for part in range(3)
    ]
    assert local.answer(open_parquet(files, DOMAIN), SCORES) == whole
    assert local.answer(rows.lazy(), SCORES) == whole
    assert np.array_equal(whole.counts, expected_score_counts(rows.to_dicts(), SCORES))
    assert int(whole.counts.sum()) == 5000


def test_the_repr_shows_the_shape_alone() -> None:
    counted = ScoreCounts(SCORES, np.array([[12345, 6], [7, 8]]))
    assert repr(counted) == f"{counted!s}" == "ScoreCounts(CONFIDENTIAL, domain 'people': 2 bins, 2 classes)"
    with pytest.raises(ValueError, match="different scores"):
        counted + ScoreCounts(replace(SCORES, edges=(1,)), counted.counts)


@pytest.mark.parametrize(("cap", "sizes"), [(2, (2, 1, 2)), (4, (3, 1, 4))])
def test_a_row_that_counts_for_its_unit_adds_its_weight_up_to_the_cap(cap: int, sizes: tuple[int, ...]) -> None:
    """One row of each of three units of three, one and five equal rows, by both ways to count."""
    domain = with_weight(with_unit(DOMAIN, "SERIAL", 1), "persons", cap)
    scores = replace(SCORES, domain=domain, weighted=True)
    kinds = [(40, 45, "m", "low"), (20, 0, "f", "high"), (60, 45, "f", "high")]
    rows = [(*kind, serial, size) for serial, size in enumerate((3, 1, 5)) for kind in [kinds[serial]] * size]
    frame = pl.DataFrame(rows, {**TYPES, "SERIAL": pl.Int64, "persons": pl.Int64}, orient="row")
    expected = expected_score_counts(frame.to_dicts(), scores)
    assert sorted(expected[expected > 0].tolist()) == sorted(sizes)
    assert FrameInput(frame).check(domain).answer(scores).counts.tolist() == expected.tolist()
    query = query_sql(
        scores, dict.fromkeys(("age", "hours", "SERIAL", "persons"), Kind.INTEGER), "frame", Dialect.DUCKDB
    )
    assert answer_of(duckdb.sql(query).pl(), scores, "the result").counts.tolist() == expected.tolist()
    assert replace(scores, weighted=False).digest != scores.digest
    assert (scores.sensitivity, replace(scores, weighted=False).sensitivity) == (cap, 1)


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
