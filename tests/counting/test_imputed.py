"""Allocated values do not count: a flag makes a value a missing one, for every rule, engine and verb."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from support.aggregation_cases import check
from support.people import PEOPLE, people, people_domain, write_people
from support.random_tables import flagged, frames
from support.rows_in_python import Document, counts_of
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.counting.engines import local
from dpnb_columnar.counting.statistics import CellQuery, Statistics
from dpnb_columnar.domain import Domain, digest, document_of, read_declaration
from dpnb_columnar.domain.editing import ImputedValues, labelled, with_imputed
from dpnb_columnar.errors import DomainError, UsageError
from dpnb_columnar.model.guarantee import SCOPE, scope
from dpnb_columnar.sklearn import SmoothNaiveBayes

FLAGS: dict[str, Any] = {"column": "qhours", "values": [1, 4]}
INCOME = {"column": "qincome", "values": ["donor"]}


def declared(attribute: Any = FLAGS, label: Any = INCOME, **hours: object) -> Document:
    """``PEOPLE`` with flags of the hours and of the income."""
    attributes = {**PEOPLE["attributes"], "hours": {**PEOPLE["attributes"]["hours"], "imputed": attribute, **hours}}
    return {"label": {**PEOPLE["label"], "imputed": label}, "attributes": attributes}


def flagged_people(rows: int = 300) -> pl.DataFrame:
    """Rows whose flags say 0, 1, 2, 4 or nothing of the hours, and "donor", "answer" or nothing of the income."""
    return people(rows).with_columns(
        qhours=_cycle(rows, [0, 1, 2, 4, None]),
        qincome=_cycle(rows, ["answer", "answer", None, "donor"]),
    )


def _cycle(rows: int, values: list[Any]) -> pl.Series:
    return pl.Series([values[place % len(values)] for place in range(rows)])


def counted(rows: pl.DataFrame, domain: Domain) -> Statistics:
    return local.answer(rows, CellQuery(domain))


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(flagged(frames()))
def test_random_flags_in_files(tmp_path_factory: pytest.TempPathFactory, frame: tuple[list[Any], Document]) -> None:
    tables, document = frame
    check(tmp_path_factory.mktemp("flags"), tables, document, 3, ["pyarrow"])


def test_flagged_values_count_as_null_and_rows_of_a_flagged_label_do_not() -> None:
    rows = flagged_people()
    hidden = rows.with_columns(
        hours=pl.when(pl.col("qhours").is_in([1, 4]).not_().fill_null(True)).then("hours"),
        income=pl.when((pl.col("qincome") != "donor").fill_null(True)).then("income"),
    )
    expected = counts_of(counted(hidden, people_domain()))
    assert counts_of(counted(rows, people_domain(declared()))) == expected
    assert sum(count for (name, _, _), count in expected.items() if name is None) == 225
    assert counts_of(counted(rows, people_domain())) != expected


def test_one_of_several_flags_is_enough() -> None:
    rows = flagged_people(100)
    flags = [FLAGS, {"column": "qincome", "values": ["donor"]}]
    either = pl.col("qhours").is_in([1, 4]).fill_null(False) | (pl.col("qincome") == "donor").fill_null(False)
    hidden = rows.with_columns(hours=pl.when(~either).then("hours"))
    assert counts_of(counted(rows, people_domain(declared(flags, [])))) == counts_of(counted(hidden, people_domain()))


@pytest.mark.parametrize("treatment", [{}, *({"missing": each} for each in ("skip", "category", "row"))])
def test_a_flagged_value_is_treated_as_declared_for_missing_ones(treatment: dict[str, str]) -> None:
    rows = flagged_people(100)
    hidden = rows.with_columns(hours=pl.when(pl.col("qhours").is_in([1, 4]).not_().fill_null(True)).then("hours"))
    mine, theirs = people_domain(declared(label=[], **treatment)), people_domain(declared([], [], **treatment))
    assert counts_of(counted(rows, mine)) == counts_of(counted(hidden, theirs))


def test_what_a_donor_answers_changes_one_row_however_often_it_is_copied() -> None:
    """Over every value of a donor in a hot-decked table: with flags the release depends on one row of it.

    All that a release knows of the rows is their statistics. So with the copies changed too, they are those of the
    table in which the donor's row alone was changed, and one add and one remove away; without flags they are further.
    """
    answers = people(40).with_columns(qhours=pl.lit(0, pl.Int8), qincome=pl.lit("answer"))
    donor = answers[:1]
    copies = answers[1:9].with_columns(hours=pl.lit(donor["hours"].item(), pl.Int64), qhours=pl.lit(4, pl.Int8))
    copied_label = answers[9:14].with_columns(income=pl.lit(donor["income"].item()), qincome=pl.lit("donor"))
    rest, domain, without = answers[14:], people_domain(declared()), people_domain()
    before = pl.concat([donor, copies, copied_label, rest])
    for hours, income in product([0, 17, 98], ["low", "high"]):
        changed = donor.with_columns(hours=pl.lit(hours, pl.Int64), income=pl.lit(income))
        alone = pl.concat([changed, copies, copied_label, rest])
        with_copies = pl.concat(
            [
                changed,
                copies.with_columns(hours=pl.lit(hours, pl.Int64)),
                copied_label.with_columns(income=pl.lit(income)),
                rest,
            ]
        )
        assert counted(with_copies, domain) == counted(alone, domain)
        assert distance(counted(before, domain), counted(with_copies, domain)) <= 2
        if (hours, income) != (donor["hours"].item(), donor["income"].item()):
            assert distance(counted(before, without), counted(with_copies, without)) > 2


def distance(one: Statistics, other: Statistics) -> int:
    """How far apart the counts of one attribute, or of the classes, are in L1, at most."""
    mine, theirs = counts_of(one), counts_of(other)
    cells = mine.keys() | theirs.keys()
    names = {name for name, _, _ in cells}
    return max(sum(abs(mine.get(c, 0) - theirs.get(c, 0)) for c in cells if c[0] == name) for name in names)


@pytest.mark.slow
def test_later_passes_and_evaluation_see_the_same_rows(folder: Path, run: Run) -> None:
    """A calibrated model of flagged rows is that of the rows in which flagged values are null."""
    rows = flagged_people(4000)
    hidden = rows.with_columns(
        hours=pl.when(pl.col("qhours").is_in([1, 4]).not_().fill_null(True)).then("hours"),
        income=pl.when((pl.col("qincome") != "donor").fill_null(True)).then("income"),
    )
    models = []
    for name, frame, document in (("mine", rows, declared()), ("theirs", hidden, PEOPLE)):
        write_people(folder / f"{name}.parquet", frame, document)
        options = ["--epsilon", "1", "--seed", "7", "--attribute-weights", "calibrated", "--mechanism", "histogram"]
        run("train", f"{name}.parquet", *options, "--output", f"{name}.json")
        models.append(dpnb.load_model(f"{name}.json"))
    mine, theirs = models
    assert (mine.classes, mine.attributes, mine.attribute_weights) == (
        theirs.classes,
        theirs.attributes,
        theirs.attribute_weights,
    )
    scores = [mine.evaluate(rows), theirs.evaluate(hidden)]
    assert scores[0].confusion == scores[1].confusion
    assert scores[0].log_loss == pytest.approx(scores[1].log_loss, abs=1e-12)
    assert mine.predict(rows).equals(theirs.predict(rows)), "scoring takes values as they stand"


def test_the_command_line(folder: Path, run: Run) -> None:
    write_people(folder / "people.parquet", flagged_people(), declared())
    ahead = run("plan", "people.parquet", "--no-advice").out
    sentence = (
        "Allocated values of income, hours do not count, so far as the publisher's flags (qincome, qhours) tell them"
    )
    assert sentence in ahead
    assert SCOPE[0] not in ahead
    run("train", "people.parquet", "--epsilon", "1", "--output", "model.json")
    assert sentence in run("show", "model.json").out
    report = run("check", "people.parquet").out
    assert "(label) 25.0%" in report
    assert "hours 40.0%" in report
    assert "hours: in some rows the flag of allocated values is empty" in report.replace("(label), ", "")
    columns = json.loads(run("check", "people.parquet", "--json").out)["columns"]
    assert [(each["imputed"], each["unflagged"]) for each in columns[:3]] == [(75, 75), (0, 0), (120, 60)]
    as_they_stand = run("train", "people.parquet", "--imputed", "counted", "--epsilon", "1", "--output", "all.json")
    assert "Allocated" not in run("show", "all.json").out + as_they_stand.out


def test_either_treatment_may_follow_the_other(folder: Path, run: Run) -> None:
    domain = people_domain(declared())
    counted = with_imputed(domain, "counted")
    write_people(folder / "people.parquet", flagged_people(), document_of(counted))
    assert "flags of allocated values available: for income, hours" in run("domain", "show", "people.parquet").out
    assert with_imputed(counted, "missing") == domain
    usage = run("train", "people.parquet", "--imputed", "perhaps", expected=64).err
    assert "--imputed" in usage


def test_digests_tell_what_counts_and_not_what_is_available() -> None:
    domain, without = people_domain(declared()), people_domain()
    available = with_imputed(domain, ImputedValues.COUNTED)
    assert set(available.available_imputed) == {"hours", "income"}
    assert digest(available) == digest(without) != digest(domain)
    assert available == without
    assert with_imputed(available, "missing") == domain


def test_the_flags_of_a_column_follow_it_into_the_label() -> None:
    attributes = {**PEOPLE["attributes"], "income": {"values": ["low", "high"], "imputed": INCOME}}
    open_domain = read_declaration("people", {"attributes": attributes}, "test")
    chosen = labelled(open_domain, "income")
    assert [flag.column for flag in chosen.label.imputed] == ["qincome"]
    back = labelled(chosen, "age > 50")
    assert [flag.column for flag in back["income"].imputed] == ["qincome"]
    assert not back.label.imputed


@pytest.mark.parametrize(
    ("flag", "problem"),
    [
        ({"column": "qhours"}, "the values of the flag that say so, at least one"),
        ({"values": [1]}, "expected a column name"),
        ({"column": "hours", "values": [1]}, "the flag 'hours' is the column itself"),
        ([FLAGS, FLAGS], "names one flag twice"),
        ({**FLAGS, "value": [1]}, "unknown key"),
        (7, "expected a table"),
        ([FLAGS] * 17, "17 flags; at most 16"),
    ],
)
def test_faulty_flags_are_refused_with_their_place(flag: Any, problem: str) -> None:
    with pytest.raises(DomainError, match=f"attributes.hours.imputed.*{re.escape(problem)}"):
        people_domain(declared(flag, []))


def test_a_flag_that_the_rows_lack_is_named(folder: Path, run: Run) -> None:
    write_people(folder / "people.parquet", flagged_people().drop("qhours"), declared())
    assert "missing column 'qhours'" in run("train", "people.parquet", "--epsilon", "1", expected=65).err
    write_people(folder / "numbers.parquet", flagged_people().with_columns(qincome=1), declared())
    error = run("train", "numbers.parquet", "--epsilon", "1", expected=65).err
    assert "cannot hold the declared donor" in error
    assert "correct the values of imputed" in error


def test_no_flags_no_treatment(people_file: Path, run: Run) -> None:
    error = run("train", people_file, "--imputed", "missing", "--epsilon", "1", expected=64).err
    assert "the domain knows no flag of its columns" in error
    with pytest.raises(UsageError, match="imputed"):
        with_imputed(people_domain(), "missing")


def test_the_estimator_refuses_flags() -> None:
    domain = people_domain(declared())
    with pytest.raises(ValueError, match="missing by flags"):
        SmoothNaiveBayes(epsilon=1, domain=domain).fit(people(50).drop("income"), people(50)["income"])


def test_what_a_guarantee_is_about() -> None:
    assert scope(people_domain()) == SCOPE
    assert "one for what respondents answered there" in scope(people_domain(declared()))[0]
