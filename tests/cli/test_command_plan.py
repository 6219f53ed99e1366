"""``dpnb-columnar plan``."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from support.mechanisms import PRIVATE
from support.people import DECLARATION, PEOPLE, people, spoil_rows, write_people
from support.running import Run

from dpnb_columnar.budget import Pure
from dpnb_columnar.model.model import load_model


def queries(text: str) -> list[list[str]]:
    """Cells of the table's rows: query, attribute (but for the classes), values, shares, noise, errors."""
    table = text.split("\n\n")[1].splitlines()[2:-1]
    return [line.replace("class counts", "classes").split() for line in table]


def test_shares_add_up_to_the_total(people_file: Path, run: Run) -> None:
    text = run("plan", people_file, "--epsilon", "0.3").out
    assert "epsilon 0.3 (add-remove neighbours), mechanism smooth\n" in text
    assert "sum of the shares: epsilon 0.3\n" in text
    rows = queries(text)
    assert [row[0] for row in rows] == ["classes", "mean", "variance", "mean", "variance", "counts"]
    assert sum(Fraction(row[-4]) for row in rows) == Fraction(3, 10)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", PRIVATE)
def test_what_is_planned_is_what_is_released(mechanism: str, people_file: Path, run: Run) -> None:
    options = ("--mechanism", mechanism, "--epsilon", "0.3", "--neighbours", "replace-one", "--weights", "3:2:1")
    text = run("plan", people_file, *options).out
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
    lines = run("plan", path, "--no-advice").out.splitlines()[-4:]
    assert lines == [
        "a missing value of rent leaves it out of the row (undeclared, for attributes that few rows lack): free",
        "a missing value of hours leaves it out of the row: 10.0% of the budget, to count the values present",
        "a missing value of age, sex is a category of its own: 10.0% of the budget, to count the values present",
        "a missing value of flag drops the whole row: free",
    ]
    histogram = run("plan", path, "--no-advice", "--mechanism", "histogram").out
    assert "a missing value of hours leaves it out of the row: free\n" in histogram


def test_no_row_is_opened(people_file: Path, run: Run) -> None:
    usual = run("plan", people_file)
    spoil_rows(people_file)
    run("check", people_file, expected=65)
    assert run("plan", people_file) == usual


def test_nothing_is_written(people_file: Path, run: Run) -> None:
    run("plan", people_file)
    assert [path.name for path in Path().iterdir()] == ["people.parquet"]


def test_expected_errors_fall_with_rows_but_for_counts(people_file: Path, run: Run) -> None:
    text = run("plan", people_file, "--rows", 1000, "--rows", 50000).out
    assert "error at 1000 rows  error at 50000 rows" in text
    for query, *_, small, large in queries(text):
        if query in ("classes", "counts"):
            assert small == large
        else:
            assert float(small) > float(large) > 0


def test_expected_errors_grow_as_epsilon_falls(people_file: Path, run: Run) -> None:
    precise, coarse = (queries(run("plan", people_file, "--epsilon", epsilon).out) for epsilon in ("2", "0.2"))
    assert all(float(low[-1]) < float(high[-1]) for low, high in zip(precise, coarse, strict=True))


def test_budget_too_small_for_the_queries_is_refused(people_file: Path, run: Run) -> None:
    starved = ("--epsilon", "0.001", "--weights", "1:1000000000:1")
    assert "raise --epsilon" in run("plan", people_file, *starved, expected=64).err


@pytest.mark.parametrize("rows", [99, 10**13])
def test_rows_out_of_range_are_refused(rows: int, people_file: Path, run: Run) -> None:
    assert "--rows" in run("plan", people_file, "--rows", rows, expected=64).err
    run("plan", people_file, "--rows", 100, "--rows", 10**12)


def test_mechanism_without_privacy_has_no_plan(people_file: Path, run: Run) -> None:
    assert "NOT PRIVATE" in run("plan", people_file, "--mechanism", "none").out


def advised(text: str) -> dict[str, list[str]]:
    """Cells of the table of advice, by mechanism."""
    table = text.split("\n\n")[4].splitlines()[2:]
    return {line.split()[0]: line.split()[1:] for line in table}


def test_advice_tells_every_private_mechanism_and_recommends_one(people_file: Path, run: Run) -> None:
    text = run("plan", people_file, "--declared-rows", 5000).out
    assert "rehearsed on made-up rows of this domain: 5000 (--declared-rows), each mechanism with its default" in text
    table = advised(text)
    assert list(table) == PRIVATE
    assert {len(cells) for cells in table.values()} == {4, 8}
    (line,) = [line for line in text.splitlines() if line.startswith("recommended: ")]
    named = line.removeprefix("recommended: ").split()[0]
    losses = {name: (float(cells[-2]) + float(cells[-1])) / 2 for name, cells in table.items()}
    assert losses[named] <= min(losses.values()) + 0.004
    assert "the real ones were not read" in text


@pytest.mark.slow
def test_advice_is_for_declared_rows_or_for_the_first_size(people_file: Path, run: Run) -> None:
    assert ": 20000 (--rows in each class), " in run("plan", people_file).out
    assert ": 6000 (--rows in each class), " in run("plan", people_file, "--rows", 3000, "--rows", 100).out
    assert ": 7000 (--declared-rows), " in run("plan", people_file, "--rows", 3000, "--declared-rows", 7000).out
    Path("datasets.toml").write_text(DECLARATION.replace("[people]\n", "[people]\nrows = 4321\n", 1))
    assert ": 4321 (datasets.toml, entry people), " in run("plan", people_file).out


def test_advice_is_the_same_whatever_mechanism_is_planned(people_file: Path, run: Run) -> None:
    options = ("--epsilon", "0.7", "--declared-rows", 5000)
    plans = [run("plan", people_file, *options, "--mechanism", name).out for name in ("smooth", "histogram")]
    plans.append(run("plan", people_file, *options, "--noise", "gaussian", "--delta", "1e-6").out)
    assert len({text.split("rehearsed")[1] for text in plans}) == 1


def test_advice_can_be_left_out(people_file: Path, run: Run) -> None:
    whole, short = run("plan", people_file).out, run("plan", people_file, "--no-advice").out
    assert whole.startswith(short)
    assert "recommended" not in short


def test_rows_are_declared_for_something(people_file: Path, run: Run) -> None:
    rows = ("--declared-rows", 2000)
    assert "--no-advice" in run("plan", people_file, "--no-advice", *rows, expected=64).err
    run("plan", people_file, "--no-advice", *rows, "--delta", "1/n", "--noise", "gaussian")
