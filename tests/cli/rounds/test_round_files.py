"""Files of sums of a round, and models that wait for one: what does not belong together is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from support.ledger_cases import new_ledger, spent_epsilon
from support.people import repeated_document, spoil_rows, write_people
from support.rounds import FIRST, STATISTICS, TWO, continued, released
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.budget import Approximate
from dpnb_columnar.counting.scores import GradientSums
from dpnb_columnar.counting.statistics_files import load_answer, save_answer
from dpnb_columnar.model.model import load_model


def test_sums_of_another_round_or_model_are_refused_and_nothing_is_charged(data: Path, state: Path, run: Run) -> None:
    account = new_ledger(Path("people.ledger"), Approximate(Fraction(2), Fraction(0)), "people")
    following = Path("following.json")
    continued(data, state, run, following)  # what is kept are sums of the round before
    other = released(run, "other.json", "--epsilon", "0.5")
    for given in (following, other):
        refused = ("release", STATISTICS, "--given", given, "--ledger", account, "--output", "refused.json")
        run("aggregate", data, "--given", state, "--output", STATISTICS, "--overwrite")
        told = run(*refused, expected=65).err
        assert f"{STATISTICS}: was counted given another model, or for another round of it" in told
    assert spent_epsilon(account, "people") == 0
    assert not Path("refused.json").exists()


def test_sums_in_another_domain_are_refused(data: Path, state: Path, run: Run) -> None:
    document = {**TWO, "attributes": repeated_document(1)["attributes"]}
    narrower = write_people(Path("narrower.parquet"), pl.read_parquet(data), document)
    run("aggregate", narrower, "--output", FIRST, "--overwrite")
    last = released(run, "narrower.json")
    run("aggregate", narrower, "--given", last, "--output", STATISTICS, "--overwrite")
    told = run("release", STATISTICS, "--given", state, "--output", "refused.json", expected=65).err
    assert f"{STATISTICS}: was counted in another domain than 'people', the model's" in told


def test_statistics_of_every_kind_are_refused_by_name_as_another(data: Path, state: Path, run: Run) -> None:
    run("aggregate", data, "--given", state, "--output", "sums.parquet")
    told = run("release", "sums.parquet", "--output", "m.json", expected=65).err
    assert "sums.parquet: sums up a round of a model's weights, which release only its weights; name that" in told
    told = run("release", FIRST, "--given", state, "--output", "m.json", expected=65).err
    assert (
        "first.parquet: counts the cells of a domain, and this model waits for the sums of a round; release a model"
        in told
    )
    told = run("release", state, "--given", state, "--output", "m.json", expected=65).err
    assert f"{state}: not a file of the sums of a round" in told
    told = run("release", "missing.parquet", "--given", state, "--output", "m.json", expected=66).err
    assert "missing.parquet: no such file; make one with dpnb-columnar aggregate --given MODEL" in told


def test_scores_and_sums_are_told_apart(data: Path, state: Path, run: Run) -> None:
    last = state
    for number in (1, 2):  # the rounds; a calibration is left
        continued(data, last, run, Path(f"state-{number}.json"))
        last = Path(f"state-{number}.json")
    for given, name in ((last, "scores"), (state, "sums")):
        run("aggregate", data, "--given", given, "--output", f"{name}.parquet")
        pl.read_parquet(f"{name}.parquet").with_columns(domain=pl.lit("d"), scores=pl.lit("s")).write_csv(f"{name}.csv")
    for suffix in ("parquet", "csv"):
        told = run("release", f"scores.{suffix}", "--given", state, "--output", "m.json", expected=65).err
        assert f"scores.{suffix}: counts the scores that a model gives, and this model waits for the sums of" in told
        told = run("release", f"sums.{suffix}", "--given", last, "--output", "m.json", expected=65).err
        assert f"sums.{suffix}: sums up a round of a model's weights, and this model waits for counts of its" in told


def changed(column: str, value: int | None) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda table: table.with_columns(pl.lit(value, pl.Int64).alias(column))


FAULTS: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "a version": (lambda header: header | {"version": 9}, lambda table: table, "of version 9, which this"),
    "parts": (lambda header: header | {"parts": [1]}, lambda table: table, "not a file of the sums of a round"),
    "no header": (lambda header: {}, lambda table: table, "not a file of the sums of a round"),
    "two rows": (lambda header: header, lambda table: pl.concat([table, table]), "the sums of a round are one row"),
    "no row": (lambda header: header, lambda table: table.clear(), "the sums of a round are one row"),
    "no sum": (lambda header: header, changed("weight_0", None), "a sum is not a whole number in some row"),
    "a column": (lambda header: header, lambda table: table.drop("rows_1"), "column rows_1 is missing"),
    "a sum": (lambda header: header, changed("weight_0", 2**62), "no rows have such sums"),
    "log-odds": (lambda header: header, changed("log_odds", -(2**62)), "no rows have such sums"),
    "rows": (lambda header: header, changed("rows_0", -1), "no rows have such sums"),
    "many rows": (lambda header: header, changed("rows_0", 2**63 - 1), "no rows have such sums"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_with_a_fault_is_refused(fault: str, data: Path, state: Path, run: Run) -> None:
    change_header, change, message = FAULTS[fault]
    run("aggregate", data, "--given", state, "--output", STATISTICS, "--overwrite")
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
    save_answer(sums, Path("saved.parquet"))
    loaded = load_answer(Path("saved.parquet"), sums.query)
    assert loaded == sums
    assert loaded.parts == sums.parts != frozenset()
    most = replace(sums, rows=np.full_like(sums.rows, 2**62), parts=frozenset())
    with pytest.raises(ValueError, match="more rows than exact sums are for"):
        most + most


@pytest.mark.parametrize("fault", ["asked", "asked about others", "values"])
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
    else:
        reserved[0]["values"] += 1
    following.write_text(json.dumps(document))
    spoil_rows(data)
    code, message = 64, "given: this model's weight gradient 2 does not follow from what it has released"
    if fault == "asked about others":
        code, message = 65, "attribute_weights.asked.0.weights.shoesize: not an attribute of the model"
    elif fault == "values":
        code, message = 65, "guarantee.reserved.0.values: says "
    for command in (("aggregate", data, "--output", "s.parquet"), ("sql", "statistics", "--dialect", "duckdb")):
        assert message in run(*command, "--given", following, expected=code).err
