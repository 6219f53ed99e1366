"""``--given`` in rounds: a model that waits for several passes is continued one release at a time."""

from __future__ import annotations

import stat
from fractions import Fraction
from pathlib import Path

import duckdb
import polars as pl
import pytest
from support.ledger_cases import new_ledger, spent_epsilon
from support.people import write_people
from support.rounds import FIRST, STATISTICS, TERMS, TWO, continued, released, repeated
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.budget import Approximate, Budget
from dpnb_columnar.counting.countable import AskedRows
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.counting.statistics import CellQuery
from dpnb_columnar.domain import read_domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.mechanisms.model_release import query_given
from dpnb_columnar.mechanisms.release_plan import plan, plan_given, reserve_later_passes
from dpnb_columnar.model.model import load_model
from dpnb_columnar.model.model_document import to_document
from dpnb_columnar.noise import ExactSampler, SeededBits
from dpnb_columnar.training import train

PASSES = 3
"""Two rounds, and a calibration."""


# All releases together are one.


@pytest.mark.slow
@pytest.mark.parametrize("terms", TERMS)
def test_all_releases_give_the_model_of_one(terms: str, tmp_path: Path) -> None:
    mechanism, noise, amounts = TERMS[terms]
    rows, domain = FrameInput(repeated(800)), read_domain("people", TWO, "test")
    whole = plan(domain, Budget(Fraction(2), **amounts), mechanism, noise, "learned")
    one = train(whole, rows, draw=ExactSampler(SeededBits(7)))
    draw, checked = ExactSampler(SeededBits(7)), rows.check(domain)
    first = reserve_later_passes(whole)
    state, shares = train(first, AskedRows(checked.answer(CellQuery(domain))), draw=draw), first.shares
    while state.guarantee.reserved:
        assert (*shares, *state.guarantee.reserved) == whole.shares
        if state.guarantee.rho is None:
            assert state.guarantee.epsilon == sum(share.cost.epsilon for share in shares)  # type: ignore[union-attr]
        # Nothing but the document is known to the next release.
        form = "json" if len(shares) % 2 else "parquet"
        state.save(tmp_path / f"state.{form}", overwrite=True)
        state = load_model(tmp_path / f"state.{form}")
        following = plan_given(state)
        assert following.attribute_weights == "learned"
        shares += following.shares
        state = train(following, AskedRows(checked.answer(query_given(state))), draw=draw)
    assert to_document(state) == to_document(one)
    assert shares == whole.shares


@pytest.mark.slow
def test_every_state_scores_and_says_what_it_waits_for(data: Path, state: Path, run: Run) -> None:
    number = PASSES
    for left in range(number, 0, -1):
        told = run("show", state).out
        model = load_model(state)
        assert len(model.guarantee.reserved) == left
        query = model.guarantee.reserved[0].query
        waits = f"{left} further passes, which cost epsilon" if left > 1 else f"one more pass ({query})"
        assert f"its attribute weights wait for {waits}" in told
        assert query in told
        assert f"--given {state}, and release the result with --given {state}" in told
        run("predict", state, data, "--output", "scored.parquet", "--overwrite")
        following = Path(f"state-{number - left + 1}.json")
        assert ("its attribute weights wait" in continued(data, state, run, following)) is (left > 1)
        state = following
    final = load_model(state)
    assert final.attribute_weights is not None
    assert (final.attribute_weights.method, final.attribute_weights.asked) == ("learned", ())
    assert (final.guarantee.epsilon, final.guarantee.reserved) == (1, ())
    told = run("aggregate", data, "--given", state, "--output", "s.parquet", expected=64).err
    assert "this model left no part of its budget for attribute weights, or has spent it" in told


# Statistics of a round.


def test_parts_add_up_and_no_part_counts_twice(data: Path, state: Path, run: Run) -> None:
    rows = pl.read_parquet(data)
    halves = (rows[:700], rows[700:])
    parts = [write_people(Path(f"part-{n}.parquet"), half, TWO) for n, half in enumerate(halves)]
    for number, file in enumerate(parts):
        run("aggregate", file, "--given", state, "--output", f"sums-{number}.parquet")
    run("aggregate", *parts, "--given", state, "--output", "together.parquet")
    told = run("aggregate", data, "--given", state, "--output", "whole.parquet").out
    assert "wrote whole.parquet: CONFIDENTIAL, exact sums of a round" in told
    assert stat.S_IMODE(Path("whole.parquet").stat().st_mode) == 0o600
    models = []
    for files in (["whole.parquet"], ["sums-0.parquet", "sums-1.parquet"], ["together.parquet"]):
        run("release", *files, "--given", state, "--seed", 5, "--output", "m.json", "--overwrite")
        models.append(Path("m.json").read_bytes())
    assert len(set(models)) == 1
    Path("copied.parquet").write_bytes(Path("whole.parquet").read_bytes())
    told = run("release", "whole.parquet", "copied.parquet", "--given", state, "--output", "n.json", expected=65).err
    assert "the same rows are in both and would count twice" in told


# A ledger.


@pytest.mark.slow
def test_every_round_is_charged_once(data: Path, run: Run) -> None:
    account = new_ledger(Path("people.ledger"), Approximate(Fraction(1), Fraction(0)), "people")
    run("aggregate", data, "--output", FIRST)
    state = released(run, "state-0.json", "--ledger", account, "--run-id", "night")
    for number in range(1, PASSES + 1):
        spent = load_model(state).guarantee.epsilon
        assert spent_epsilon(account, "people") == spent
        following = Path(f"state-{number}.json")
        continued(data, state, run, following, "--ledger", account)
        document = following.read_bytes()
        following.unlink()
        assert "nothing is spent again" in continued(data, state, run, following, "--ledger", account)
        assert following.read_bytes() == document
        state = following
    assert spent_epsilon(account, "people") == 1
    told = run("release", STATISTICS, "--given", state, "--ledger", account, "--output", "m.json", expected=64).err
    assert "this model left no part of its budget" in told
    run("ledger", "verify", account)


# Databases and Python.


@pytest.mark.slow
def test_a_query_sums_up_what_aggregate_sums_up(data: Path, state: Path, run: Run) -> None:
    run("aggregate", data, "--given", state, "--output", STATISTICS, "--overwrite")
    run("sql", "statistics", data, "--given", state, "--dialect", "duckdb", "--table", "people", "--output", "q.sql")
    with duckdb.connect("people.duckdb") as connection:
        connection.execute("CREATE TABLE people AS FROM read_parquet($1)", [str(data)])
        result = connection.sql(Path("q.sql").read_text().rstrip().rstrip(";")).pl()
    result.write_csv("sums.csv")
    result.rename(str.upper).write_parquet("sums.parquet")
    sources = (
        (STATISTICS,),
        ("sums.csv",),
        ("sums.parquet",),
        ("people.duckdb", "--table", "people"),
        ("people.duckdb", "--query", "q.sql"),
    )
    models = []
    for source in sources:
        run("release", *source, "--given", state, "--seed", 5, "--output", "m.json", "--overwrite")
        models.append(Path("m.json").read_bytes())
    assert len(set(models)) == 1
    for dialect in ("postgres", "spark", "sqlite", "snowflake", "bigquery"):
        run("sql", "statistics", "--given", state, "--dialect", dialect)


@pytest.mark.slow
def test_python_continues_a_model_until_nothing_is_left(data: Path) -> None:
    model = dpnb.release(dpnb.aggregate(data), epsilon=1, mechanism="histogram", attribute_weights="learned")
    before, counts = model, dpnb.count_given(data, model)
    while model.guarantee.reserved:
        before, counts = model, dpnb.count_given(data, model)
        assert counts == dpnb.count_given(pl.read_parquet(data), model)
        model = dpnb.calibrate(model, counts)
    assert model.guarantee.epsilon == 1
    other = dpnb.release(dpnb.aggregate(data), epsilon=1, mechanism="histogram", attribute_weights="learned")
    with pytest.raises(DataError, match="given another model, or for another round"):
        dpnb.calibrate(other, counts)
    assert before != model


def test_rounds_of_whole_units_spend_a_part_for_each_row_and_add_up_by_units_alone(data: Path, run: Run) -> None:
    rows = pl.read_parquet(data).with_columns(serial=pl.int_range(pl.len()) // 3)
    halves = (rows[:750], rows[750:])
    parts = [write_people(Path(f"units-{n}.parquet"), half, TWO) for n, half in enumerate(halves)]
    whole = write_people(Path("units.parquet"), rows, TWO)
    run("aggregate", whole, "--unit", "serial", "--unit-rows", 2, "--output", FIRST)
    state = released(run, "units-0.json")
    (planned,) = plan_given(load_model(state)).shares
    assert planned.cost.epsilon == 2 * planned.row_cost.epsilon  # type: ignore[union-attr]
    for number, part in enumerate(parts):
        run("aggregate", part, "--given", state, "--output", f"sums-{number}.parquet")
    run("aggregate", whole, "--given", state, "--output", "sums.parquet")
    added = ("release", "sums-0.parquet", "sums-1.parquet", "--given", state, "--seed", 5)
    assert "declare that with --whole-units" in run(*added, "--output", "m.json", expected=65).err
    run(*added, "--whole-units", "--output", "parts.json")
    run("release", "sums.parquet", "--given", state, "--seed", 5, "--output", "whole.json")
    assert Path("parts.json").read_bytes() == Path("whole.json").read_bytes()
