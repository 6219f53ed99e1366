"""Scores by group: groups that are declared, one row in one of them, and noise on every one (Lemma 2.14)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.engines import SQLite
from support.people import FEW_VALUES, TYPES, people, people_domain
from support.recorded_draws import Forced, total_loss
from support.tables import into_duckdb

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Neighbours, Pure
from dpnb_columnar.core.mechanisms import score_release
from dpnb_columnar.core.mechanisms.score_release import (
    GROUP_COUNTS,
    GROUP_PROBABILITIES,
    SCORES,
    ScorePlan,
    plan_scores,
    release_scores,
)
from dpnb_columnar.core.queries.scores import ScoreCounts
from dpnb_columnar.counting.answer_files import answer_of
from dpnb_columnar.counting.inputs import DatabaseInput, FrameInput
from dpnb_columnar.dialects.later_queries import query_sql
from dpnb_columnar.domain.database_address import parse_database
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.domain.editing import with_unit, with_weight
from dpnb_columnar.domain.groupings import divisions_of
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.evaluation.released_scores import ReleasedScores, read_scores, scores_document
from dpnb_columnar.model.document import to_json

THREE = {**FEW_VALUES, "label": {"column": "income", "classes": ["low", "high", "none"]}}
BY = ["sex,hours=2", "sex:hours", "region=n,s"]
ONE = Fraction(1)
COLUMNS = {**TYPES, "region": pl.String}
ROWS = [
    (age, hours, sex, income, region)
    for age, hours, sex, income, region in product((0, 4, None), (1, 9, None), ("f", "x"), ("low", None), ("n", None))
]


def frame_of(rows: Sequence[tuple[object, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, COLUMNS, orient="row")


def small_model(document: Any = FEW_VALUES) -> Model:
    rows = [
        (age % 5, hours % 4, "fm"[age % 2], ("low", "high")[hours % 3 > 1], "ns"[hours % 2])
        for age, hours in product(range(20), repeat=2)
    ]
    domain = read_domain("people", document, "test")
    return dpnb.train(frame_of(rows), epsilon=5, domain=domain, mechanism="histogram")


@pytest.fixture(scope="module")
def small() -> Model:
    return small_model()


@pytest.fixture(scope="module")
def three() -> Model:
    return small_model(THREE)


def planned(model: Model, by: Sequence[str] = BY, budget: Budget | None = None) -> ScorePlan:
    return plan_scores(model, budget or Budget(ONE), seeded=True, divisions=divisions_of(by, model.domain))


def counts_of(plan: ScorePlan, frame: pl.DataFrame) -> ScoreCounts:
    return FrameInput(frame).check(plan.domain).answer(plan.scores)


def drawn(plan: ScorePlan, frame: pl.DataFrame, answer: int = 7) -> Forced:
    forced = Forced(answer)
    release_scores(plan, counts_of(plan, frame), forced)
    return forced


def everyday(rows: int = 300) -> pl.DataFrame:
    frame = people(rows, 3)
    return frame.with_columns(
        age=pl.col("age") % 5,
        hours=pl.col("hours") % 4,
        region=pl.Series(["n", "s", "e", None] * (rows // 4 + 1))[:rows],
    )


# Which groups there are.


def test_groups_are_those_of_the_declaration_whatever_the_rows(small: Model) -> None:
    plan = planned(small, ["age,hours,sex:age", "region=n,s"])
    empty, many = (
        ReleasedScores.of(release_scores(plan, counts_of(plan, f), Forced(3))) for f in (everyday(0), everyday())
    )
    assert empty == many
    by_age, by_hours, crossed, by_region = empty.groups
    # A row without an age does not count, so that no group is for it; hours that are missing are a category.
    assert [values for (values,) in by_age.values] == ["0", "1", "2", "3", "4"]
    assert [values for (values,) in by_hours.values] == ["0", "1", "2", "3", None]
    assert [values for (values,) in by_region.values] == ["n", "s", None]
    assert crossed.columns == ("sex", "age")
    assert crossed.values == tuple(product(("f", "m", None), ("0", "1", "2", "3", "4")))
    assert by_region.counts == (((3, 3), (3, 3)),) * 3
    assert by_region.expected == (3, 3, 3)


def test_ranges_of_a_declared_range() -> None:
    domain = people_domain()
    divisions = divisions_of(["age", "age=18,65"], domain)
    assert divisions is not None
    (grouping,) = divisions.groupings
    assert grouping.values == ("0 to 17", "18 to 64", "65 to 100", None)
    plain = divisions_of("age", domain)
    assert plain is not None
    assert plain.groupings[0].starts == (0, 12, 25, 37, 50, 63, 75, 88)
    assert plain.groupings[0].values[:2] == ("0 to 11", "12 to 24")


@pytest.mark.parametrize(
    ("by", "problem"),
    [
        ("income", "the label is read from income"),
        ("income=low,high", "the label is read from income"),
        ("sexx", "sexx is no attribute of the model, .*did you mean sex"),
        ("region", r'add the values that make its groups, such as by="region=1,2,3"'),
        ("sex=f", "sex is declared with its values"),
        ("age=30,20", "name the first value of each group once, rising"),
        ("age=old", "'old' is not such a number"),
        ("age=1000", "'1000' is not such a number"),
        ("region=n,n", "name each of its values once"),
        ("region=n,", "name each of its values once"),
        ("region=", "name each of its values once"),
        (f"region={'n' * 8193}", "of at most 8192 characters"),
        ("=n", "is no name of a column"),
        ("sex:sex", "names each of its columns once, not sex, sex"),
        ([], "1 to 16 divisions into groups at once, not 0"),
        ([[]], "names each of its columns once"),
    ],
)
def test_columns_that_make_no_groups_are_refused(by: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        divisions_of(by, people_domain())


def test_too_many_cells_are_refused(small: Model) -> None:
    regions = ",".join(map(str, range(9000)))
    with pytest.raises(UsageError, match="are counted at once"):
        planned(small, [f"region={regions}", "sex", "age"])
    with pytest.raises(UsageError, match="1 to 16 divisions"):
        planned(small, [f"r{place}=1" for place in range(17)])


def test_the_unit_and_the_weight_make_no_groups() -> None:
    with pytest.raises(UsageError, match="SERIAL is the unit of the rows"):
        divisions_of("SERIAL=1", with_unit(people_domain(), "SERIAL", 1))


# What is counted.


def marginals(plan: ScorePlan, counts: ScoreCounts) -> list[np.ndarray]:
    """The exact tables of each division, as noise finds them."""
    exact = Forced()
    release_scores(plan, counts, exact)
    tables, start = [], 0
    for share in plan.shares:
        tables.append(np.array([int(call.location) for call in exact.calls[start : start + share.values]]))
        start += share.values
    return tables


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_one_row_changes_one_cell_of_each_division_by_one(small: Model, three: Model, classes: int) -> None:
    """All pairs of neighbours of up to two rows of every kind, rows that do not count included."""
    plan = planned(small if classes == 2 else three)
    known: dict[tuple[int, ...], list[np.ndarray]] = {}
    numbers = range(len(ROWS))
    for size in (0, 1, 2):
        for chosen in combinations_with_replacement(numbers if size < 2 else numbers[::3], size):
            known[chosen] = marginals(plan, counts_of(plan, frame_of([ROWS[place] for place in chosen])))
    pairs = 0
    for chosen, tables in known.items():
        for left in range(len(chosen)):
            fewer = known[chosen[:left] + chosen[left + 1 :]]
            row = ROWS[chosen[left]]
            counts = row[0] is not None and row[3] is not None
            for share, more, less in zip(plan.shares, tables, fewer, strict=True):
                change = more - less
                assert change.min() >= 0
                assert np.count_nonzero(change) <= counts
                if share.query == GROUP_PROBABILITIES:
                    assert change.sum() <= 100
                else:
                    assert change.sum() == counts
            pairs += 1
    assert pairs > 500


def test_the_tables_are_those_of_the_predictions(small: Model) -> None:
    """Compared with prediction row by row: rounding moves rows next to an edge alone."""
    frame = everyday(2000)
    plan = planned(small, ["sex", "region=n,s", "sex:region"])
    scored = small.predict(frame).with_columns(frame["sex", "income", "region"])
    released = ReleasedScores.of(release_scores(plan, counts_of(plan, frame), Forced()))
    for groups in released.groups:
        for values, counts, expected in zip(groups.values, groups.counts, groups.expected or (), strict=True):
            part = scored
            for column, value in zip(groups.columns, values, strict=True):
                declared = ["f", "m"] if column == "sex" else ["n", "s"]
                held = pl.col(column).is_in(declared).fill_null(False)
                part = part.filter(~held if value is None else pl.col(column) == value)
            found = [
                [part.filter(income=true, predicted=predicted).height for predicted in ("low", "high")]
                for true in ("low", "high")
            ]
            assert np.abs(np.array(counts) - found).sum() <= 0.01 * max(part.height, 100), values
            assert expected / 100 == pytest.approx(part["probability_high"].sum(), abs=0.004 * part.height + 1e-9)


def test_scores_of_all_rows_are_those_without_groups(small: Model) -> None:
    frame, plan = everyday(), planned(small)
    alone = plan_scores(small, Budget(ONE), seeded=True)
    assert marginals(alone, counts_of(alone, frame))[0].tolist() == marginals(plan, counts_of(plan, frame))[0].tolist()


def test_the_noise_of_sums_is_for_a_hundred_hundredths(small: Model) -> None:
    plan, start = planned(small), 0
    calls = drawn(plan, everyday(5)).calls
    for share in plan.shares:
        scales = {call.scale for call in calls[start : start + share.values]}
        assert scales == {Fraction(100 if share.query == GROUP_PROBABILITIES else 1)}, share.query
        start += share.values


@pytest.mark.slow
def test_every_engine_counts_the_same_groups(small: Model, tmp_path: Path) -> None:
    frame, plan = everyday(), planned(small)
    expected = counts_of(plan, frame)
    assert (expected.counts.sum(axis=1) > 0).sum() > 10
    into_duckdb(tmp_path / "people.duckdb", frame)
    address = parse_database(str(tmp_path / "people.duckdb"))
    assert address is not None
    assert DatabaseInput(address, "person").check(plan.domain).answer(plan.scores) == expected
    engine = SQLite()
    engine.load(frame.to_arrow())
    result = pl.DataFrame(engine.run(query_sql(plan.scores, {}, "rows", engine.dialect)))
    assert answer_of(result, plan.scores, "SQLite") == expected
    with pytest.raises(DataError, match="region"):
        FrameInput(frame.drop("region")).check(plan.domain)


# What is drawn.


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("classes", [2, 3])
def test_neighbours_lose_epsilon_over_all_draws_of_groups_and_no_more(
    small: Model, three: Model, classes: int, neighbours: Neighbours
) -> None:
    plan = planned(small if classes == 2 else three, budget=Budget(ONE, neighbours))
    assert plan.total == Pure(ONE)
    kinds = [GROUP_COUNTS, GROUP_PROBABILITIES] if classes == 2 else [GROUP_COUNTS]
    assert [share.query for share in plan.shares] == [SCORES, *kinds * 4]
    frame = everyday(60)
    one = drawn(plan, frame).calls
    assert len(one) == sum(share.values for share in plan.shares)
    losses = []
    for row in range(30):
        other = frame.filter(pl.int_range(pl.len()) != row)
        if neighbours is Neighbours.REPLACE_ONE:
            changed = [pl.lit("high" if frame["income"][row] == "low" else "low").alias("income")]
            changed += [pl.lit("m" if frame["sex"][row] == "f" else "f").alias("sex"), pl.lit("n").alias("region")]
            other = pl.concat([other, frame[row].with_columns(changed)])
        losses.append(total_loss(one, drawn(plan, other).calls))
    assert max(losses) <= 1 + 1e-9
    # The sums are of probabilities below 1, the counts lose their whole shares.
    counts = sum(float(share.cost.epsilon) for share in plan.shares if share.query != GROUP_PROBABILITIES)  # type: ignore[union-attr]
    assert max(losses) > counts - 0.1


@pytest.mark.slow
@pytest.mark.parametrize("cap", [None, 4])
def test_a_unit_moves_the_groups_by_its_rows_or_their_weights(small: Model, cap: int | None) -> None:
    domain, rows = with_unit(people_domain(), "SERIAL", 2), 2 * (cap or 1)
    domain = domain if cap is None else with_weight(domain, "w", cap)
    frame = people(100, 4).with_columns(SERIAL=pl.int_range(pl.len()) // 4, region=pl.lit("n"), w=9)
    model = dpnb.train(frame, epsilon=5, domain=domain, mechanism="histogram")
    plan = plan_scores(model, Budget(ONE), divisions=divisions_of(["sex", "region=n,s"], domain))
    assert {share.row_cost.epsilon / share.cost.epsilon for share in plan.shares} == {Fraction(1, 2)}  # type: ignore[union-attr]
    whole = marginals(plan, counts_of(plan, frame))
    for serial in range(25):
        other = marginals(plan, counts_of(plan, frame.filter(pl.col("SERIAL") != serial)))
        for share, one, two in zip(plan.shares, whole, other, strict=True):
            most = 100 * rows if share.query == GROUP_PROBABILITIES else rows
            assert np.abs(one - two).sum() <= most
        assert np.abs(whole[1] - other[1]).sum() == rows
    forced = Forced(3)
    release_scores(plan, counts_of(plan, frame), forced)
    sums = {50 * rows} if any(share.query == GROUP_PROBABILITIES for share in plan.shares) else set()
    assert {call.scale for call in forced.calls} == {rows // 2} | sums


@pytest.mark.parametrize("answer", [-(10**30), -1, 0, 1, 10**30])
@pytest.mark.parametrize("classes", [2, 3])
def test_no_draw_of_groups_makes_a_run_fail(small: Model, three: Model, classes: int, answer: int) -> None:
    plan = planned(small if classes == 2 else three)
    scores = ReleasedScores.of(release_scores(plan, counts_of(plan, everyday(9)), Forced(answer)))
    assert read_scores(json.loads(to_json(scores_document(scores))), "test") == scores
    for division in scores.figures.groups:
        for group in division.groups:
            assert 0 <= group.accuracy.interval[0] <= group.accuracy.interval[1] <= 1


def absent(counts: Sequence[int], share: object, draw: Forced, sensitivity: Fraction = ONE) -> list[int]:
    """A fault: groups without rows are released as they are."""
    return [int(draw(Fraction(int(count)), sensitivity, share)) if count else 0 for count in counts]  # type: ignore[arg-type]


def unscaled(counts: Sequence[int], share: Any, draw: Forced, sensitivity: Fraction = ONE) -> list[int]:
    """A fault: sums of hundredths have the noise of counts."""
    return real_noisy_counts(counts, share, draw)


real_noisy_counts = score_release.noisy_counts


@pytest.mark.slow
@pytest.mark.parametrize("fault", [absent, unscaled])
def test_a_fault_in_the_draws_of_groups_is_found(small: Model, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_release, "noisy_counts", fault)
    with pytest.raises(AssertionError):
        test_neighbours_lose_epsilon_over_all_draws_of_groups_and_no_more(small, small, 2, Neighbours.ADD_REMOVE)


# What is kept.


def test_files_with_and_without_groups_are_read(small: Model, tmp_path: Path) -> None:
    frame = everyday()
    plain = dpnb.release_scores(small, frame, epsilon=1)
    grouped = dpnb.release_scores(small, frame, epsilon=1, by=["sex", ("sex", "hours")])
    for scores in (plain, grouped):
        scores.save(tmp_path / "s.json", overwrite=True)
        assert dpnb.load_scores(tmp_path / "s.json") == scores
    assert "groups" not in scores_document(plain)
    assert [division.columns for division in grouped.figures.groups] == [("sex",), ("sex", "hours")]
    document = scores_document(grouped)
    for change in ({"counts": []}, {"values": [["f"], ["f"], [None]]}, {"columns": []}, {"expected": [1]}):
        broken = {**document, "groups": [{**document["groups"][0], **change}, document["groups"][1]]}
        with pytest.raises(DataError, match=r"groups\.0\."):
            read_scores(broken, "test")
    with pytest.raises(DataError, match="expected a query for each table"):
        read_scores({**document, "groups": document["groups"][:1]}, "test")
