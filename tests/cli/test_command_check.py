"""``dpnb-columnar check``."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from support.people import PEOPLE, TYPES, people, write_people
from support.refusal_cases import FILE
from support.running import Run

from dpnb_columnar.counting import diagnostics


def rows_of(text: str) -> dict[str, list[str]]:
    """Rows of the tables in a text, by their first cell."""
    return {cells[0]: cells[1:] for line in text.splitlines() if line.startswith("  ") and (cells := line.split())}


def test_rows_that_fit(people_file: Path, run: Run) -> None:
    ended = run("check", people_file, "--epsilon", 3)
    assert "\ndomain people, from the metadata of the data\n" in ended.out
    assert "1000 rows in 1 file(s), 1000 count, 1000 of them with every attribute\n" in ended.out
    found = rows_of(ended.out)
    assert found["age"] == found["sex"] == found["(label)"] == ["0"] * 7
    assert "note:" not in ended.out
    assert "fault:" not in ended.out
    assert int(found["low"][0]) + int(found["high"][0]) == 1000


def test_every_misfit_is_counted_in_its_column(folder: Path, run: Run) -> None:
    frame = pl.DataFrame(
        {
            "age": [30, -1, 101, 102, None, 40],
            "hours": [40] * 6,
            "sex": ["f", "f", "m", "m", "m", "x"],
            "income": ["low", "low", "high", "high", "low", None],
        }
    )
    write_people(folder / "people.parquet", frame)
    ended = run("check", "people.parquet")
    found = rows_of(ended.out)
    assert "6 rows in 1 file(s), 5 count, 4 of them with every attribute" in ended.out
    # missing, outside, counted without, drops, drops alone, below, above
    assert found["(label)"] == ["1", "0", "0", "1", "1", "0", "0"]
    assert found["age"] == ["1", "0", "1", "0", "0", "1", "2"]
    assert found["sex"] == ["0", "1", "0", "0", "0", "0", "0"]
    assert (found["low"], found["high"]) == (["3"], ["2"])
    assert "note: age: values beyond the declared bounds count as the nearest bound" in ended.out
    assert "note: sex: undeclared categories count as missing" in ended.out


def test_missing_values_that_are_a_category_fit(folder: Path, run: Run) -> None:
    attributes = {**PEOPLE["attributes"], "sex": {"values": ["f", "m"], "missing": "category"}}
    frame = people(100).with_columns(sex=pl.lit(None, pl.String))
    write_people(folder / "people.parquet", frame, {**PEOPLE, "attributes": attributes})
    assert "100 rows in 1 file(s), 100 count, 0 of them with every attribute" in run("check", "people.parquet").out


def test_what_is_undeclared_is_told_with_its_counts(folder: Path, run: Run) -> None:
    frame = people(200).with_row_index("row")
    sex = pl.when(pl.col("row") < 3).then(pl.lit("x")).when(pl.col("row") < 5).then(pl.lit("a\nb"))
    income = pl.when(pl.col("row") >= 199).then(pl.lit("middle")).otherwise(pl.col("income"))
    frame = frame.with_columns(sex=sex.otherwise(pl.col("sex")), income=income).drop("row")
    write_people(folder / "people.parquet", frame)
    ended = run("check", "people.parquet", expected=65)
    found = rows_of(ended.out)
    assert found["'x'"] == ["3"]
    assert found["'a\\nb'"] == ["2"]
    assert found["'middle'"] == ["1"]
    assert "middle" not in ended.err
    assert "sex: undeclared categories count as missing; if the codebook knows them, declare all values" in ended.out


def test_very_many_undeclared_values_take_bounded_memory(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnostics, "MOST_VALUES", 30)
    monkeypatch.setattr(diagnostics, "PART_ROWS", 40)
    frame = people(1000).with_row_index("row")
    other = pl.when(pl.col("row") % 2 == 0).then(pl.lit("usual")).otherwise(pl.col("row").cast(pl.String))
    write_people(folder / "people.parquet", frame.with_columns(sex=other).drop("row"))
    report = json.loads(run("check", "people.parquet", "--json", expected=65).out)
    (found,) = report["undeclared"]
    assert found["values"][0] == ["usual", 500]
    assert len(found["values"]) == 20
    assert (found["more"], found["exact"]) == (True, False)


def test_the_report_as_json(people_file: Path, run: Run) -> None:
    report = json.loads(run("check", people_file, "--epsilon", 3, "--json").out)
    assert (report["domain"], report["rows"], report["fitting"]) == ("people", 1000, 1000)
    assert sum(report["class_rows"].values()) == 1000
    assert [column["name"] for column in report["columns"]] == ["(label)", "age", "hours", "sex"]
    assert report["notes"] == report["faults"] == report["undeclared"] == []
    assert report["row_groups"] == [1000]
    assert report["repeated"] == {"rows": 1000 - people(1000).n_unique(), "exact": True}


def test_rows_that_one_attribute_alone_drops(folder: Path, run: Run) -> None:
    frame = people(100).with_row_index("row")
    null = pl.lit(None)
    frame = frame.with_columns(
        age=pl.when(pl.col("row") >= 30).then(pl.col("age")).otherwise(null),
        sex=pl.when(pl.col("row") >= 10).then(pl.col("sex")).otherwise(null),
    ).drop("row")
    write_people(folder / "people.parquet", frame)
    ended = run("check", "people.parquet")
    assert "100 rows in 1 file(s), 100 count, 70 of them with every attribute" in ended.out
    assert rows_of(ended.out)["age"][2:5] == ["30", "0", "0"]
    assert "note: age: 30.0% of the rows have no value of it; to use that too" in ended.out
    assert 'declare missing = "category" in people.domain.toml' in ended.out
    dropping = {name: {**body, "missing": "row"} for name, body in PEOPLE["attributes"].items()}
    write_people(folder / "people.parquet", frame, {**PEOPLE, "attributes": dropping})
    ended = run("check", "people.parquet")
    assert "100 rows in 1 file(s), 70 count, 70 of them with every attribute" in ended.out
    assert rows_of(ended.out)["age"][2:5] == ["0", "30", "20"]
    assert rows_of(ended.out)["sex"][2:5] == ["0", "10", "0"]
    assert "note: age: its missing values alone drop 20.0% of the rows" in ended.out
    assert "or take it out of attributes, in people.domain.toml" in ended.out
    assert "sex: its missing" not in ended.out


def test_what_can_be_done_is_told(folder: Path, run: Run) -> None:
    frame = people(300).with_columns(age=pl.lit(120), sex=pl.lit("m"))
    frame.write_parquet("raw.parquet")
    write_people(folder / "people.parquet", frame)
    out = run("check", "people.parquet", "--epsilon", "0.01").out
    place = "in people.domain.toml, which is written by: dpnb-columnar domain edit people.parquet"
    assert "count as the nearest bound (100.0% of its values)" in out
    assert f"declare lower and upper, or missing_values, {place}" in out
    assert "note: sex: all rows that fit hold the same, so it says nothing and costs budget: take it out of " in out
    assert f"take it out of attributes {place}" in out
    assert "note: class high: fewer than" in out
    assert "hours:" not in out


def test_small_row_groups_are_noted(folder: Path, run: Run) -> None:
    write_people(folder / "people.parquet")
    pl.read_parquet("people.parquet").write_parquet(
        "people.parquet", row_group_size=10, metadata=pl.read_parquet_metadata("people.parquet")
    )
    assert "note: row groups average fewer than 10000 rows; larger ones are read faster" in (
        run("check", "people.parquet").out
    )


def test_remedies_can_be_pasted_whatever_a_file_is_called(folder: Path, run: Run) -> None:
    name = "people; rm -rf x.parquet"
    write_people(folder / name, people(50).with_columns(age=pl.lit(101)))
    assert f"which is written by: dpnb-columnar domain edit '{name}'" in run("check", name).out


@pytest.mark.parametrize("most", [100, 2**22])
def test_rows_that_repeat_are_counted_within_bounded_memory(
    most: int, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the files' types are, and where a value is missing as well; of very many rows the share is right."""
    monkeypatch.setattr(diagnostics, "MOST_ROWS", most)
    sex, income = ["f", None] * 50 + ["m"], ["low"] * 51 + ["high"] * 50
    rows = pl.DataFrame({"age": [None, *range(100)], "hours": 40, "sex": sex, "income": income})
    write_people(folder / "people.parquet", rows.with_columns(pl.col("age").cast(pl.Int16)))
    write_people(folder / "again.parquet", rows.sample(fraction=1, shuffle=True, seed=1))
    told = run("check", ".").out
    assert ("\n101 rows repeat" if most > 100 else "\nabout 101 rows repeat") in told
    assert "0 rows repeat another one in all columns of the domain" in run("check", "people.parquet").out


def test_a_text_as_large_as_a_file_is_cut(folder: Path, run: Run) -> None:
    """Two that begin alike are shown as one; each row of them is counted."""
    rows = people(20).with_columns(sex=pl.Series(["x" * 5000, "x" * 4999 + "y", *["f"] * 18]))
    write_people(folder / "people.parquet", rows)
    report = json.loads(run("check", "people.parquet", "--json").out)
    assert report["undeclared"][0]["values"] == [["x" * 1000, 2]]


@pytest.mark.parametrize(
    ("values", "said"), [([" f", "m "], "blanks"), (["F", "M"], "case"), ([" F", "M"], "blanks or case")]
)
def test_values_that_differ_by_their_form_are_one_fault(values: list[str], said: str, folder: Path, run: Run) -> None:
    rows = people(200).with_columns(sex=pl.Series(values * 100))
    write_people(Path("people.parquet"), rows)
    told = run("check", "people.parquet", expected=65).out
    assert told.count("fault: ") == 1
    assert f"fault: column sex: values differ from the declared ones by {said} alone" in told
    assert "holds no declared category" not in told


# What train must not refuse, since it depends on rows.

UNSUITABLE = {
    "attribute without a value": ({"hours": pl.lit(None, pl.Int64)}, ("'hours'", "no value in any row", "fill it")),
    "category without a value": ({"sex": pl.lit(None, pl.String)}, ("'sex'", "no value in any row", "fill it")),
    "label without a value": ({"income": pl.lit(None, pl.String)}, ("income", "no value in any row", "fill it")),
    "class not declared": (
        {"income": pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("middling")).otherwise("income")},
        ("income", "not declared classes", "add them to classes"),
    ),
    "class without rows": ({"income": pl.lit("low")}, ("no row in class high", "take it out of the domain")),
    "no category declared": (
        {"sex": pl.lit("x")},
        ("'sex'", "no declared category in any row", "take it out of attributes"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNSUITABLE)
def test_check_refuses_what_train_must_not_tell(name: str, folder: Path, run: Run) -> None:
    columns, told = UNSUITABLE[name]
    write_people(FILE)
    usual = [run("train", FILE), run("plan", FILE)]
    Path("people.model.json").unlink()
    write_people(FILE, people(1000).with_columns(**columns))
    assert [run("train", FILE), run("plan", FILE)] == usual
    ended = run("check", FILE, expected=65)
    assert "people.parquet" in ended.err
    for text in told:
        assert text in ended.out
    assert "middling" not in ended.err


def test_no_rows_at_all_are_refused_by_check_alone(folder: Path, run: Run) -> None:
    write_people(FILE, pl.DataFrame(schema=TYPES))
    run("train", FILE)
    assert "no row counts" in run("check", FILE, expected=65).out
