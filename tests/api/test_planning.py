"""``dpnb.plan`` and ``dpnb.check`` say what their verbs print, of files and of frames."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from support.people import DECLARATION, PEOPLE, people, people_domain, spoil_rows, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.advice.outlook import outlook_document
from dpnb_columnar.errors import CommandLine, front_door

pytest.importorskip("pandas", reason="pandas is not installed")

FORMS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "DataFrame": lambda frame: frame,
    "LazyFrame": lambda frame: frame.lazy(),
    "Table": lambda frame: frame.to_arrow(),
    "pandas": lambda frame: frame.to_pandas(),
    "DuckDB": lambda frame: duckdb.from_arrow(frame.to_arrow()),
}

WIDE = {
    "label": PEOPLE["label"],
    "attributes": {"age": {"lower": 0, "upper": 100}, "hours": {"lower": 0, "upper": 10**9, "step": 1}},
}


@pytest.mark.slow
def test_a_plan_is_that_of_the_command_line(folder: Path, run: Run) -> None:
    spoil_rows(write_people(folder / "people.parquet"))
    ahead = dpnb.plan("people.parquet", epsilon="0.5", rows=5000)
    printed = run("plan", "people.parquet", "--epsilon", "0.5", "--declared-rows", "5000").out
    printed = printed.replace("by --declared-rows,", "by the argument rows,")
    printed = printed.replace("(--declared-rows)", "(the argument rows)")
    with front_door(CommandLine()):
        assert f"{ahead!r}\n" == printed
    assert " --d" not in repr(ahead)
    told = json.loads(run("plan", "people.parquet", "--epsilon", "0.5", "--declared-rows", "5000", "--json").out)
    assert json.loads(json.dumps(outlook_document(ahead))) == told


def test_a_plan_without_rehearsal_and_for_other_sizes(folder: Path, run: Run) -> None:
    write_people(folder / "people.parquet")
    ahead = dpnb.plan("people.parquet", class_sizes=[300], rehearse=False, mechanism="histogram", delta=0)
    printed = run("plan", "people.parquet", "--rows", "300", "--no-advice", "--mechanism", "histogram").out
    assert f"{ahead!r}\n" == printed
    assert [len(each) for each in ahead.errors] == [1] * len(ahead.plan.shares)
    assert "NOT PRIVATE" in repr(dpnb.plan("people.parquet", mechanism="none"))


def test_every_argument_of_a_plan_is_the_option_of_its_name(folder: Path, run: Run) -> None:
    write_people(folder / "people.parquet", people(50).with_columns(home=pl.lit("a"), w=pl.lit(2.0)))
    Path("mine.toml").write_text(DECLARATION)
    budget = {"epsilon": "2", "delta": "1e-6", "shares": "2:1:1", "neighbours": "replace-one", "noise": "gaussian"}
    by_unit = {"unit": "home", "unit_rows": 2, "weight": "w", "weight_cap": 8, "label": "hours > 40"}
    for chosen in (budget, by_unit):
        ahead = dpnb.plan("people.parquet", rehearse=False, dataset="mine.toml:people", **chosen)
        options = [part for key, value in chosen.items() for part in (f"--{key.replace('_', '-')}", value)]
        given = ("--no-advice", "--dataset", "mine.toml:people", "--json", *options)
        assert json.loads(json.dumps(outlook_document(ahead))) == json.loads(run("plan", "people.parquet", *given).out)


def test_a_plan_says_in_the_words_of_a_declaration_which_range_is_too_wide(folder: Path) -> None:
    write_people(folder / "people.parquet", document=WIDE)
    ahead = dpnb.plan("people.parquet", mechanism="smooth", rehearse=False)
    (line,) = [line for line in repr(ahead).splitlines() if line.startswith("declared too widely")]
    assert line.partition("leave the attribute out: ")[2].startswith("declare hours = { lower = 0, upper = ")
    assert "dpnb-columnar" not in repr(ahead)


@pytest.mark.parametrize(
    "data", [None, people(20), people(20).lazy(), people(20).to_pandas()], ids=lambda x: type(x).__name__
)
def test_a_plan_of_a_domain_that_is_given(data: Any) -> None:
    ahead = dpnb.plan(data, domain=WIDE, epsilon=1, mechanism="smooth", rehearse=False)
    assert "domain data, from the argument domain" in repr(ahead)
    assert "leave the attribute out: declare hours = { lower = 0, upper = " in repr(ahead)
    unlabelled = dpnb.plan(domain={"attributes": PEOPLE["attributes"]}, rehearse=False)
    assert not unlabelled.label_chosen
    assert 'such as label "COLUMN > 1000"' in repr(unlabelled)


def test_a_plan_takes_epsilon_and_rows_from_an_entry(folder: Path) -> None:
    entry = DECLARATION.replace("[people]", "[people]\nepsilon = 0.25\nrows = 7000")
    Path("datasets.toml").write_text(entry)
    ahead = dpnb.plan(dataset="people", rehearse=False)
    assert ahead.plan.budget.epsilon == pytest.approx(0.25)
    assert (ahead.known and ahead.known.rows, ahead.assumed.rows) == (7000, 7000)


def odd_people() -> pl.DataFrame:
    return people(300).with_columns(
        age=pl.when(pl.int_range(300) % 9 > 0).then(pl.col("age") + 40),
        sex=pl.when(pl.int_range(300) % 5 > 0).then("sex").otherwise(pl.lit("x")),
    )


def test_findings_are_those_of_the_command_line(folder: Path, run: Run) -> None:
    write_people(folder / "people.parquet", odd_people())
    found = dpnb.check("people.parquet")
    with front_door(CommandLine()):
        typed = dpnb.check("people.parquet")
    shown = repr(typed).splitlines()
    printed = run("check", "people.parquet").out.splitlines()
    plain = [line for line in printed if not line.startswith("note:")]
    assert [line for line in shown if not line.startswith("note:")] == plain
    place = "in people.domain.toml, which is written by: dpnb-columnar domain edit people.parquet"
    printed_notes = [line.replace(place, "in its declaration") for line in printed if line.startswith("note:")]
    assert [line for line in shown if line.startswith("note:")] == printed_notes
    assert "note: age: values beyond the declared bounds count" in repr(found)
    assert "declare lower and upper, or missing_values, in its declaration" in repr(found)
    assert not any("--" in note for note in found.notes)
    assert found.ready
    assert not dpnb.check(people(30).with_columns(income=pl.lit("low")), domain=people_domain()).ready


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_frames_are_checked_as_files_of_their_rows(form: Any, folder: Path) -> None:
    write_people(folder / "people.parquet", odd_people())
    of_file, of_frame = dpnb.check("people.parquet"), dpnb.check(form(odd_people()), domain=people_domain())
    assert of_frame.diagnosis.columns == of_file.diagnosis.columns
    assert of_frame.diagnosis.undeclared == of_file.diagnosis.undeclared
    assert (of_frame.repeats, of_frame.faults) == (of_file.repeats, of_file.faults)
    assert "300 rows, " in repr(of_frame)
