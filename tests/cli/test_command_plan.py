"""``dpnb-columnar plan``."""

from __future__ import annotations

import json
import math
import shlex
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from support.mechanisms import PRIVATE
from support.people import DECLARATION, PEOPLE, Document, people, spoil_rows, write_people
from support.running import Run

from dpnb_columnar.api import load_model
from dpnb_columnar.core.budget import Pure
from dpnb_columnar.model.guarantee_text import SCOPE


def queries(text: str) -> list[list[str]]:
    """Cells of the table's rows: query, attribute (but for the classes), values, shares, noise, errors."""
    (table,) = (block.splitlines()[2:-1] for block in text.split("\n\n") if block.startswith("  query "))
    return [line.replace("class counts", "classes").split() for line in table]


def test_what_is_asked_of_the_rows_is_listed_with_its_part_of_the_budget(people_file: Path, run: Run) -> None:
    command = ("plan", people_file, "--epsilon", "1", "--mechanism", "histogram", "--no-advice")
    text = run(*command, "--attribute-weights", "learned").out
    (table,) = (block.splitlines()[2:] for block in text.split("\n\n") if block.startswith("  asked of the rows"))
    first, rounds, scores = (line.strip() for line in table)
    assert first.startswith("rows of each class, and of each class and value of 3 attributes")
    assert first.endswith("65.0%")
    assert scores.startswith("rows in 24 ranges of the margin between the largest class and the best other")
    assert rounds.startswith("in 2 passes, sums of how the fit to the rows changes with 4 weights and intercepts")
    assert "one row changes all these sums together by a bounded amount" in rounds
    asked = json.loads(run(*command, "--attribute-weights", "learned", "--json").out)["asked"]
    assert [each["passes"] for each in asked] == [1, 2, 1]
    assert sum(each["part_of_budget"] for each in asked) == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", PRIVATE)
def test_what_is_planned_is_what_is_released(mechanism: str, people_file: Path, run: Run) -> None:
    options = ("--mechanism", mechanism, "--epsilon", "0.3", "--neighbours", "replace-one", "--shares", "3:2:1")
    text = run("plan", people_file, *options, "--no-advice").out
    rows = queries(text)
    run("train", people_file, *options)
    released = load_model(Path("people.model.json")).guarantee.composition
    planned = [(Pure(Fraction(row[-5])), Pure(Fraction(row[-4])), row[-3]) for row in rows]
    assert planned == [(share.cost, share.row_cost, share.noise) for share in released]
    most = [int(row[-6]) for row in rows]
    assert all(share.values <= there for share, there in zip(released, most, strict=True))
    assert ("the most there may be" in text) == ("histogram" in mechanism)


def test_what_a_missing_value_does_and_what_that_costs(folder: Path, run: Run) -> None:
    """One line per treatment: each query has a tenth of the budget here."""
    age, hours, sex = PEOPLE["attributes"].values()
    attributes = {
        "age": age | {"missing": "category"},
        "hours": hours | {"missing": "skip"},
        "sex": sex | {"missing": "category"},
        "flag": {"values": ["y", "n"], "missing": "row"},
        "rent": {"values": ["y", "n"]},
    }
    path = folder / "people.parquet"
    frame = people(100).with_columns(flag=pl.lit("y"), rent=pl.lit("n"))
    write_people(path, frame, PEOPLE | {"attributes": attributes})
    lines = run("plan", path, "--no-advice", "--mechanism", "smooth").out.splitlines()[-4:]
    assert lines == [
        "a missing value of rent leaves it out of the row (undeclared, for attributes that few rows lack): free",
        "a missing value of hours leaves it out of the row: 10.0% of the budget, to count the values present",
        "a missing value of age is a category of its own: 10.0% of the budget, to count the values present; "
        "of sex: free",
        "a missing value of flag drops the whole row: free",
    ]
    histogram = run("plan", path, "--no-advice", "--mechanism", "histogram").out
    assert "a missing value of hours leaves it out of the row: free\n" in histogram


@pytest.mark.slow
def test_no_row_is_opened(people_file: Path, run: Run) -> None:
    usual = run("plan", people_file)
    spoil_rows(people_file)
    run("check", people_file, expected=65)
    assert run("plan", people_file) == usual


def test_expected_errors_fall_with_rows_but_for_counts(people_file: Path, run: Run) -> None:
    text = run("plan", people_file, "--rows", 1000, "--rows", 50000, "--no-advice").out
    assert "error at 1000 rows  error at 50000 rows" in text
    for query, *_, small, large in queries(text):
        if query in ("classes", "counts"):
            assert small == large
        else:
            assert float(small) > float(large) > 0


def test_errors_are_those_of_the_declared_rows(people_file: Path, run: Run) -> None:
    """Of a class of average size; of no other, unless it is asked for."""
    text = run("plan", people_file, "--declared-rows", 5001, "--no-advice").out
    (heading,) = [line for line in text.splitlines() if line.startswith("  query ")]
    assert heading.split()[-5:] == ["noise", "error", "at", "2500", "rows"]


def table(text: str, heading: str) -> list[str]:
    """Lines of the table that has this word in its heading."""
    (found,) = [part.splitlines() for part in text.split("\n\n") if part.split()[:1] == [heading]]
    return found[2:]


def test_expectations_and_a_recommended_mechanism_are_printed(people_file: Path, run: Run) -> None:
    text = run("plan", people_file, "--declared-rows", 5000).out
    assert "expected on 5000 made-up rows of this domain (--declared-rows):\n" in text
    expected = [line.split("  ") for line in table(text, "attributes")]
    assert len(expected) == 3
    assert all("independent" in "".join(cells) for cells in expected)
    lines = {line.split()[0]: line.split()[1:] for line in table(text, "mechanism")}
    assert set(lines) == {"smooth", "histogram", "adaptive-histogram", "majority"}
    (line,) = [line for line in text.splitlines() if line.startswith("recommended: ")]
    assert line.split()[1] == next(iter(lines))
    assert f"with attribute weights {next(iter(lines.values()))[0]} (" in line
    assert "the real ones were not read" in text


CENSUS: Document = {
    "label": {"column": "y", "classes": ["no", "yes"]},
    "attributes": {f"n{number}": {"lower": 0, "upper": 99} for number in range(7)}
    | {f"c{number}": {"values": list("abcdef")} for number in range(33)},
}
"""40 attributes, as many of each kind as Census-Income has."""


@pytest.fixture
def census_file(folder: Path) -> Path:
    columns = {name: [0] if name.startswith("n") else ["a"] for name in CENSUS["attributes"]}
    return spoil_rows(write_people(folder / "census.parquet", pl.DataFrame({**columns, "y": ["no"]}), CENSUS))


@pytest.mark.slow
def test_a_model_worse_than_the_largest_class_is_warned_about_and_what_helps_is_named(
    census_file: Path, run: Run
) -> None:
    options = ("plan", census_file, "--mechanism", "histogram", "--declared-rows", 50_000, "--class-shares", "94:6")
    text = run(*options, "--attribute-weights", "none").out
    (warning,) = [line for line in text.splitlines() if line.startswith("expected to be worse than always predicting")]
    assert "where attributes come in families of 4 that say much the same and the largest class has 94% of" in warning
    assert "in place of 0.940; to be better: --attribute-weights " in warning
    plan = json.loads(run(*options, "--attribute-weights", "none", "--json").out)
    assert plan["warning"] == warning
    assert [each["below_majority"] for each in plan["expected"]] == [False, True, True]
    for each in plan["expected"]:
        assert each["below_majority"] == (each["accuracy"] < each["largest_class"] - 0.002)
        assert each["accuracy_5_percent_below"] <= each["accuracy"]
        assert (each["largest_class"], each["releases"]) == (0.94, 20)
    assert plan["recommended_attribute_weights"] == "calibrated"
    # The first remedy, followed.
    remedy = warning.split("to be better: ")[1].split(" (")[0].split()
    assert "worse than" not in run(*options, *remedy).out
    # The default, auto: what is rehearsed is what would be released.
    mended = json.loads(run(*options, "--json").out)
    assert mended["attribute_weights"] == "calibrated"
    assert mended["warning"] is None
    assert not any(each["below_majority"] for each in mended["expected"])


@pytest.mark.slow
def test_advice_is_for_declared_rows_or_for_the_first_size(people_file: Path, run: Run) -> None:
    assert "on 20000 made-up rows of this domain (--rows in each class):\n" in run("plan", people_file).out
    assert (
        "on 6000 made-up rows of this domain (--rows in each class):\n"
        in run("plan", people_file, "--rows", 3000, "--rows", 100).out
    )
    assert (
        "on 7000 made-up rows of this domain (--declared-rows):\n"
        in run("plan", people_file, "--rows", 3000, "--declared-rows", 7000).out
    )
    Path("datasets.toml").write_text(DECLARATION.replace("[people]\n", "[people]\nrows = 4321\n", 1))
    assert "on 4321 made-up rows of this domain (datasets.toml, entry people):\n" in run("plan", people_file).out


@pytest.mark.slow
def test_advice_is_the_same_whatever_mechanism_is_planned(people_file: Path, run: Run) -> None:
    options = ("--epsilon", "0.7", "--declared-rows", 5000)
    plans = [run("plan", people_file, *options, "--mechanism", name).out for name in ("smooth", "histogram")]
    assert len({text.split("rehearsed, each")[1] for text in plans}) == 1


def test_advice_can_be_left_out(people_file: Path, run: Run) -> None:
    whole, short = run("plan", people_file).out, run("plan", people_file, "--no-advice").out
    assert whole.startswith(short)
    assert "recommended" not in short


INCOMES: Document = {"attributes": {**PEOPLE["attributes"], "income": {"values": ["low", "high"]}}}
"""No label yet."""

WIDE: Document = {
    "label": PEOPLE["label"],
    "attributes": {
        "age": {"lower": 0, "upper": 100, "step": 1},
        "hours": {"lower": 0, "upper": 999_999_999, "step": 1},
    },
}
"""A number of hours as wide as nine digits."""


def test_ranges_too_wide_for_the_rows_are_named_with_the_command_that_narrows_them(folder: Path, run: Run) -> None:
    path = spoil_rows(write_people(Path("wide people.parquet"), document=WIDE))
    command = ("plan", path, "--no-advice", "--mechanism", "smooth")
    usual = run(*command).out
    assert "age" not in usual.split("declared too widely: at 10000 rows in each class and epsilon 1, ")[1]
    assert "noise hides all differences in hours (up to " in usual
    assert "declared too widely" not in run(*command, "--declared-rows", 4_000_000).out
    assert "declared too widely" in run(*command, "--declared-rows", 4_000_000, "--epsilon", 0.001).out
    for histogram in ("histogram", "adaptive-histogram"):
        assert "declared too widely" not in run("plan", path, "--no-advice", "--mechanism", histogram).out
    declared, _, edit = usual.rsplit("leave the attribute out: declare ", 1)[1].partition(
        " in wide people.domain.toml, which is written by: dpnb-columnar "
    )
    run(*shlex.split(edit))
    entry = Path("wide people.domain.toml")
    (old,) = [line for line in entry.read_text().splitlines() if line.startswith("hours = ")]
    entry.write_text(entry.read_text().replace(old, declared.replace(" }", ", step = 1 }")))
    mended = run(*command).out
    assert "from wide people.domain.toml, entry people" in mended
    assert "declared too widely" not in mended


def test_tables_whose_counts_are_mostly_noise_are_named(folder: Path, run: Run) -> None:
    places = {"label": PEOPLE["label"], "attributes": {"hours": {"values": list(range(5000))}}}
    path = spoil_rows(write_people(Path("places.parquet"), document=places))
    command = ("plan", path, "--no-advice", "--mechanism", "smooth")
    told = run(*command).out
    assert "too many categories: at 10000 rows in each class, the 5000 categories of hours have 2 rows each" in told
    assert "noise of up to 5.99 rows; merge values with groups" in told
    (small,) = json.loads(run(*command, "--json").out)["small_cells"]
    assert (small["attribute"], small["categories"], small["rows"]) == ("hours", 5000, 2.0)
    assert small["error"] == pytest.approx(2 * math.log(20), rel=1e-3)
    assert "too many categories" not in run(*command, "--rows", 100_000).out


@pytest.mark.slow
def test_a_plan_without_a_label_is_for_two_classes_and_every_column(folder: Path, run: Run) -> None:
    path = spoil_rows(write_people(Path("people.parquet"), document=INCOMES))
    command = ("plan", path, "--mechanism", "smooth")
    text = run(*command).out
    assert "no label is chosen yet: planned for two classes, every column an attribute" in text
    assert '--label "COLUMN > 1000"' in text
    assert [row[1] for row in queries(text)[1:]] == ["age", "age", "hours", "hours", "sex", "income"]
    assert "recommended: " in text
    chosen = run(*command, "--label", "income").out
    assert "no label" not in chosen
    assert [row[1] for row in queries(chosen)[1:]] == ["age", "age", "hours", "hours", "sex"]


@pytest.mark.slow
def test_json_says_what_the_text_says(folder: Path, run: Run) -> None:
    path = write_people(Path("people.parquet"), document=WIDE)
    smooth = ("--mechanism", "smooth")
    plan = json.loads(run("plan", path, *smooth, "--json", "--rows", 1000, "--rows", 2000).out)
    assert (plan["domain"], plan["epsilon"], plan["mechanism"], plan["rows"]) == ("people", "1", "smooth", 2000)
    assert (plan["label_chosen"], plan["classes"]) == (True, ["low", "high"])
    assert [query["attribute"] for query in plan["queries"]] == [None, "age", "age", "hours", "hours"]
    assert sum(Fraction(query["cost"]["epsilon"]) for query in plan["queries"]) == 1
    assert all(set(query["errors"]) == {"1000", "2000"} for query in plan["queries"])
    (wide,) = plan["wide_ranges"]
    assert (wide["attribute"], wide["suggested"]) == ("hours", ["0", "200000"])
    assert plan["edit"] in run("plan", path, *smooth, "--rows", 1000, "--no-advice").out
    assert plan["recommended"] in plan["accuracy_lost"]
    unlabelled = json.loads(run("plan", write_people(Path("a.parquet"), document=INCOMES), "--json", "--no-advice").out)
    assert (unlabelled["label_chosen"], unlabelled["classes"], unlabelled["recommended"]) == (False, 2, None)
    assert not json.loads(run("plan", path, "--json", "--mechanism", "none").out)["queries"]


@pytest.mark.parametrize("options", [(), ("--mechanism", "none")], ids=["private", "none"])
def test_what_the_promise_is_about(options: tuple[str, ...], people_file: Path, run: Run) -> None:
    text = run("plan", people_file, *options, "--no-advice").out
    assert all((sentence in text) is (options == ()) for sentence in SCOPE)


@pytest.mark.slow
def test_train_says_where_a_model_that_nothing_calibrates_is_expected_below_the_largest_class(
    census_file: Path, run: Run
) -> None:
    """A public line, before a row is opened; none where a calibration guards the model, or no rows are declared."""
    below = "expected to be worse than always predicting the largest class"
    options = ("train", census_file, "--dry-run")
    told = run(*options, "--declared-rows", 50_000, "--attribute-weights", "none").out
    (line,) = [line for line in told.splitlines() if line.startswith(below)]
    assert "the largest class has 94% of the rows" in line
    assert line.endswith("on invented rows; see dpnb-columnar plan for what would be better")
    assert below not in run(*options, "--declared-rows", 50_000).out
    assert below not in run(*options, "--attribute-weights", "none").out
