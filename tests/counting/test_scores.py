"""Second passes: rows per class and bin of a score, whatever the files, as one row at a time gives them."""

from __future__ import annotations

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
from support.scored_in_python import expected_score_counts, scores_of

from dpnb_columnar.core.queries.scores import GradientQuery, Margins, ScoreCounts, Scores, ScoreTable
from dpnb_columnar.core.queries.statistics import CellQuery
from dpnb_columnar.counting import diagnostics
from dpnb_columnar.counting.answer_files import answer_of
from dpnb_columnar.counting.countable import AskedRows
from dpnb_columnar.counting.engines import local
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.dialects.later_queries import query_sql
from dpnb_columnar.domain.column_kinds import Kind
from dpnb_columnar.domain.database_address import Dialect
from dpnb_columnar.domain.editing import with_unit, with_weight
from dpnb_columnar.rows.parquet import open_parquet
from dpnb_columnar.rows.row_rules import number_of_codes
from dpnb_columnar.rows.value_codes import MOST_STEPPED


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
