"""``dpnb-columnar plan``."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from people import spoil_rows
from running import Run

from dpnb_columnar.budget import Pure
from dpnb_columnar.model.files import load_model


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


@pytest.mark.parametrize("mechanism", ["smooth", "histogram", "majority"])
def test_what_is_planned_is_what_is_released(mechanism: str, people_file: Path, run: Run) -> None:
    options = ("--mechanism", mechanism, "--epsilon", "0.3", "--neighbours", "replace-one", "--weights", "3:2:1")
    rows = queries(run("plan", people_file, *options).out)
    run("train", people_file, *options)
    released = load_model(Path("people.model.json")).guarantee.composition
    planned = [(row[-6], Pure(Fraction(row[-5])), Pure(Fraction(row[-4])), row[-3]) for row in rows]
    assert planned == [(str(share.values), share.loss, share.row_loss, share.noise) for share in released]


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
