"""``--given`` in rounds: a model that waits for several passes is continued one release at a time."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from support.ledger_cases import new_ledger, spent_epsilon
from support.people import repeated_document, repeated_people, spoil_rows, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.budget import Approximate, Budget, Neighbours
from dpnb_columnar.counting import checkpoints
from dpnb_columnar.counting.countable import Counted
from dpnb_columnar.counting.further_passes import CountedGiven, count_given
from dpnb_columnar.counting.gradient_files import load_gradient_sums, save_gradient_sums
from dpnb_columnar.counting.gradients import GradientSums
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import read_domain
from dpnb_columnar.errors import DataError
from dpnb_columnar.mechanisms.further_releases import plan_given, query_given, without_further_passes
from dpnb_columnar.mechanisms.release_plan import plan
from dpnb_columnar.mechanisms.score_calibration import CALIBRATION
from dpnb_columnar.model.model import load_model
from dpnb_columnar.model.model_document import to_document
from dpnb_columnar.noise import ExactSampler, SeededBits
from dpnb_columnar.training import train

TWO = repeated_document(3)
THREE = {**TWO, "label": {"column": "income", "classes": ["low", "high", "none"]}}
METHODS = {"learned": TWO, "calibrated": THREE}
PASSES = {"learned": 4, "calibrated": 3}
repeated = partial(repeated_people, copies=3)
FIRST = Path("first.parquet")
STATISTICS = Path("further.parquet")


def rows_of(document: Mapping[str, Any], rows: int) -> pl.DataFrame:
    frame = repeated(rows)
    if document is TWO:
        return frame
    some = pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.lit("none")).otherwise("income")
    return frame.with_columns(income=some)


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def data(folder: Path, method: str) -> Path:
    document = METHODS[method]
    return write_people(folder / "people.parquet", rows_of(document, 1500), document)


@pytest.fixture
def tables(data: Path, method: str, run: Run) -> Path:
    """A model with every further pass to come."""
    run("aggregate", data, "--output", FIRST)
    return released(method, run, "state-0.json")


def released(method: str, run: Run, output: str, *more: object) -> Path:
    run("release", FIRST, "--mechanism", "histogram", "--attribute-weights", method, *more, "--output", output)
    return Path(output)


def continued(data: Path, state: Path, run: Run, output: Path, *more: object) -> str:
    """Make the next pass, and release it."""
    run("aggregate", data, "--given", state, "--output", STATISTICS, "--overwrite")
    return run("release", STATISTICS, "--given", state, *more, "--output", output).out


def at_a_round(data: Path, state: Path, run: Run) -> Path:
    """A model whose next pass is a round, not a calibration."""
    if load_model(state).guarantee.reserved[0].query != CALIBRATION:
        return state
    calibrated = state.with_suffix(".calibrated.json")
    continued(data, state, run, calibrated)
    return calibrated


@pytest.fixture
def state(data: Path, tables: Path, run: Run) -> Path:
    """A model whose next pass is its first round."""
    return at_a_round(data, tables, run)


# All releases together are one.

TERMS: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "histogram": ("histogram", None, {}),
    "smooth": ("smooth", None, {}),
    "replaced": ("histogram", None, {"neighbours": Neighbours.REPLACE_ONE}),
    "delta": ("smooth", "gaussian", {"delta": Fraction(1, 10**6)}),
    "concentrated": ("smooth", "arsinh-normal", {"delta": Fraction(1, 10**6), "neighbours": Neighbours.REPLACE_ONE}),
}


@pytest.mark.parametrize("terms", TERMS)
def test_all_releases_give_the_model_of_one(terms: str, method: str, tmp_path: Path) -> None:
    mechanism, noise, amounts = TERMS[terms]
    rows, domain = FrameInput(rows_of(METHODS[method], 800)), read_domain("people", METHODS[method], "test")
    whole = plan(domain, Budget(Fraction(2), **amounts), mechanism, noise, method)
    one = train(whole, rows, draw=ExactSampler(SeededBits(7)))
    draw, checked = ExactSampler(SeededBits(7)), rows.check(domain)
    first = without_further_passes(whole)
    state, shares = train(first, Counted(checked.count()), draw=draw), first.shares
    while state.guarantee.reserved:
        assert (*shares, *state.guarantee.reserved) == whole.shares
        if state.guarantee.rho is None:
            assert state.guarantee.epsilon == sum(share.cost.epsilon for share in shares)  # type: ignore[union-attr]
        # Nothing but the document is known to the next release.
        form = "json" if len(shares) % 2 else "parquet"
        state.save(tmp_path / f"state.{form}", overwrite=True)
        state = load_model(tmp_path / f"state.{form}")
        following = plan_given(state)
        assert following.attribute_weights == method
        shares += following.shares
        state = train(following, CountedGiven(count_given(checked, query_given(state))), draw=draw)
    assert to_document(state) == to_document(one)
    assert shares == whole.shares


def test_every_state_scores_and_says_what_it_waits_for(data: Path, tables: Path, method: str, run: Run) -> None:
    state, number = tables, PASSES[method]
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
    assert (final.attribute_weights.method, final.attribute_weights.asked) == (method, ())
    assert (final.guarantee.epsilon, final.guarantee.reserved) == (1, ())
    told = run("aggregate", data, "--given", state, "--output", "s.parquet", expected=64).err
    assert "this model left no part of its budget for attribute weights, or has spent it" in told


# Statistics of a round.


def test_parts_add_up_and_no_part_counts_twice(data: Path, state: Path, method: str, run: Run) -> None:
    rows = pl.read_parquet(data)
    halves = (rows[:700], rows[700:])
    parts = [write_people(Path(f"part-{n}.parquet"), half, METHODS[method]) for n, half in enumerate(halves)]
    for number, file in enumerate(parts):
        run("aggregate", file, "--given", state, "--output", f"sums-{number}.parquet")
    run("aggregate", *parts, "--given", state, "--output", "kept.parquet", "--checkpoint", "kept")
    run("aggregate", *parts, "--given", state, "--output", "again.parquet", "--checkpoint", "kept")
    told = run("aggregate", data, "--given", state, "--output", "whole.parquet").out
    assert "wrote whole.parquet: CONFIDENTIAL, exact sums of a round" in told
    assert stat.S_IMODE(Path("whole.parquet").stat().st_mode) == 0o600
    models = []
    for files in (["whole.parquet"], ["sums-0.parquet", "sums-1.parquet"], ["kept.parquet"], ["again.parquet"]):
        run("release", *files, "--given", state, "--seed", 5, "--output", "m.json", "--overwrite")
        models.append(Path("m.json").read_bytes())
    assert len(set(models)) == 1
    Path("copied.parquet").write_bytes(Path("whole.parquet").read_bytes())
    told = run("release", "whole.parquet", "copied.parquet", "--given", state, "--output", "n.json", expected=65).err
    assert "the same rows are in both and would count twice" in told


def test_what_was_summed_up_is_not_summed_up_again(
    data: Path, state: Path, method: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("--given", state, "--checkpoint", "kept")
    run("aggregate", data, *given, "--output", "one.parquet")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "differentiate_files", None)
        run("aggregate", data, *given, "--output", "two.parquet")
    assert Path("one.parquet").read_bytes() == Path("two.parquet").read_bytes()
    (kept,) = Path("kept").iterdir()
    kept.write_bytes(kept.read_bytes()[:-9])
    run("aggregate", data, *given, "--output", "three.parquet")
    assert Path("one.parquet").read_bytes() == Path("three.parquet").read_bytes()


def test_sums_of_another_round_or_model_are_refused_and_nothing_is_charged(
    data: Path, state: Path, method: str, run: Run
) -> None:
    account = new_ledger(Path("people.ledger"), Approximate(Fraction(2), Fraction(0)), "people")
    following = Path("following.json")
    continued(data, state, run, following)  # what is kept are sums of the round before
    other = at_a_round(data, released(method, run, "other.json", "--epsilon", "0.5"), run)
    for given in (following, other):
        refused = ("release", STATISTICS, "--given", given, "--ledger", account, "--output", "refused.json")
        run("aggregate", data, "--given", state, "--output", STATISTICS, "--overwrite")
        told = run(*refused, expected=65).err
        assert f"{STATISTICS}: was counted given another model, or for another round of it" in told
    assert spent_epsilon(account, "people") == 0
    assert not Path("refused.json").exists()


def test_sums_in_another_domain_are_refused(data: Path, state: Path, method: str, run: Run) -> None:
    document = {**METHODS[method], "attributes": repeated_document(1)["attributes"]}
    narrower = write_people(Path("narrower.parquet"), pl.read_parquet(data), document)
    run("aggregate", narrower, "--output", FIRST, "--overwrite")
    last = at_a_round(narrower, released(method, run, "narrower.json"), run)
    run("aggregate", narrower, "--given", last, "--output", STATISTICS, "--overwrite")
    told = run("release", STATISTICS, "--given", state, "--output", "refused.json", expected=65).err
    assert f"{STATISTICS}: was counted in another domain than 'people', the model's" in told


def test_statistics_of_every_kind_are_refused_by_name_as_another(data: Path, state: Path, run: Run) -> None:
    run("aggregate", data, "--given", state, "--output", "sums.parquet")
    told = run("release", "sums.parquet", "--output", "m.json", expected=65).err
    assert "sums.parquet: sums up a round of a model's weights, which release only its weights; name that" in told
    told = run("release", FIRST, "--given", state, "--output", "m.json", expected=65).err
    assert "first.parquet: counts the cells of a domain, not the sums that a model waits for" in told
    told = run("release", state, "--given", state, "--output", "m.json", expected=65).err
    assert f"{state}: not a file of the sums of a round" in told
    told = run("release", "missing.parquet", "--given", state, "--output", "m.json", expected=66).err
    assert "missing.parquet: no such file; make one with dpnb-columnar aggregate --given MODEL" in told


@pytest.mark.parametrize("method", ["learned"], indirect=True)
def test_scores_and_sums_are_told_apart(data: Path, tables: Path, state: Path, run: Run) -> None:
    for given, name in ((tables, "scores"), (state, "sums")):
        run("aggregate", data, "--given", given, "--output", f"{name}.parquet")
        pl.read_parquet(f"{name}.parquet").with_columns(domain=pl.lit("d"), scores=pl.lit("s")).write_csv(f"{name}.csv")
    for suffix in ("parquet", "csv"):
        told = run("release", f"scores.{suffix}", "--given", state, "--output", "m.json", expected=65).err
        assert f"scores.{suffix}: counts the scores that a model gives, and this model waits for the sums of" in told
        told = run("release", f"sums.{suffix}", "--given", tables, "--output", "m.json", expected=65).err
        assert f"sums.{suffix}: sums up a round of a model's weights, and this model waits for counts of its" in told


def changed(column: str, value: int | None) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.with_columns(pl.lit(value, pl.Int64).alias(column))


FAULTS: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "a version": (lambda header: header | {"version": 9}, lambda table: table, "sums of version 9 are not known"),
    "parts": (lambda header: header | {"parts": [1]}, lambda table: table, "not a file of the sums of a round"),
    "no header": (lambda header: {}, lambda table: table, "not a file of the sums of a round"),
    "two rows": (lambda header: header, lambda table: pl.concat([table, table]), "the sums of a round are one row"),
    "no row": (lambda header: header, lambda table: table.clear(), "the sums of a round are one row"),
    "no sum": (lambda header: header, changed("weight_0", None), "a sum is not a whole number in some row"),
    "a column": (lambda header: header, lambda table: table.drop("rows_1"), "column rows_1 is missing"),
    "a sum": (lambda header: header, changed("weight_0", 2**62), "no rows have such sums"),
    "log-odds": (lambda header: header, changed("log_odds_1", -(2**62)), "no rows have such sums"),
    "rows": (lambda header: header, changed("rows_0", -1), "no rows have such sums"),
    "many rows": (lambda header: header, changed("rows_0", 2**63 - 1), "no rows have such sums"),
}


@pytest.mark.parametrize("method", ["calibrated"], indirect=True)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_with_a_fault_is_refused(fault: str, data: Path, state: Path, run: Run) -> None:
    change_header, change, message = FAULTS[fault]
    run("aggregate", data, "--given", state, "--output", STATISTICS)
    key = "dpnb_columnar.gradient_sums"
    header = json.dumps(change_header(json.loads(pl.read_parquet_metadata(STATISTICS)[key])))
    table = change(pl.read_parquet(STATISTICS)).to_arrow()
    pq.write_table(table.replace_schema_metadata({key: header}), STATISTICS)
    told = run("release", STATISTICS, "--given", state, "--output", "m.json", expected=65).err
    assert f"{STATISTICS}: " in told
    assert message in told


def test_sums_are_what_was_saved(data: Path, state: Path) -> None:
    model = load_model(state)
    sums = dpnb.count_given(data, model)
    assert isinstance(sums, GradientSums)
    save_gradient_sums(sums, Path("saved.parquet"))
    loaded = load_gradient_sums(Path("saved.parquet"), sums.query)
    assert loaded == sums
    assert loaded.parts == sums.parts != frozenset()
    most = replace(sums, rows=np.full_like(sums.rows, 2**62), parts=frozenset())
    with pytest.raises(ValueError, match="more rows than exact sums are for"):
        most + most


@pytest.mark.parametrize("fault", ["asked", "asked about others", "values", "no attributes"])
@pytest.mark.parametrize("method", ["learned"], indirect=True)
def test_a_document_that_does_not_follow_from_its_rounds_is_refused(
    fault: str, data: Path, state: Path, run: Run
) -> None:
    following = Path("following.json")
    continued(data, state, run, following)
    document = json.loads(following.read_text())
    weights, reserved = document["attribute_weights"], document["guarantee"]["reserved"]
    if fault == "asked":
        del weights["asked"]
    elif fault == "asked about others":
        weights["asked"][0]["weights"]["shoesize"] = 1.0
    elif fault == "values":
        reserved[0]["values"] += 1
    else:
        document["attributes"], document["attribute_weights"] = {}, None
    following.write_text(json.dumps(document))
    spoil_rows(data)
    code, message = 64, "given: this model's weight gradient 2 does not follow from what it has released"
    if fault == "asked about others":
        code, message = 65, "attribute_weights.asked.0.weights.shoesize: not an attribute of the model"
    for command in (("aggregate", data, "--output", "s.parquet"), ("sql", "statistics", "--dialect", "duckdb")):
        assert message in run(*command, "--given", following, expected=code).err


# A ledger.


def test_every_round_is_charged_once(data: Path, method: str, run: Run) -> None:
    account = new_ledger(Path("people.ledger"), Approximate(Fraction(1), Fraction(0)), "people")
    run("aggregate", data, "--output", FIRST)
    state = released(method, run, "state-0.json", "--ledger", account, "--run-id", "night")
    for number in range(1, PASSES[method] + 1):
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


def test_python_continues_a_model_until_nothing_is_left(data: Path, method: str) -> None:
    model = dpnb.release(dpnb.aggregate(data), epsilon=1, mechanism="histogram", attribute_weights=method)
    before, counts = model, dpnb.count_given(data, model)
    while model.guarantee.reserved:
        before, counts = model, dpnb.count_given(data, model)
        assert counts == dpnb.count_given(pl.read_parquet(data), model)
        model = dpnb.calibrate(model, counts)
    assert model.guarantee.epsilon == 1
    other = dpnb.release(dpnb.aggregate(data), epsilon=1, mechanism="histogram", attribute_weights=method)
    with pytest.raises(DataError, match="given another model, or for another round"):
        dpnb.calibrate(other, counts)
    assert before != model


@pytest.mark.parametrize("method", ["learned"], indirect=True)
def test_rounds_of_whole_units_spend_a_part_for_each_row_and_add_up_by_units_alone(data: Path, run: Run) -> None:
    rows = pl.read_parquet(data).with_columns(serial=pl.int_range(pl.len()) // 3)
    halves = (rows[:750], rows[750:])
    parts = [write_people(Path(f"units-{n}.parquet"), half, TWO) for n, half in enumerate(halves)]
    whole = write_people(Path("units.parquet"), rows, TWO)
    run("aggregate", whole, "--unit", "serial", "--unit-rows", 2, "--output", FIRST)
    state = at_a_round(whole, released("learned", run, "units-0.json"), run)
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
