"""Bug 4. Classes and categories are read from the rows (diffprivlib; also reprosyn #38, dpart #6): a class with a
single member appears in the model if and only if that person is in the data.

Ours would show it as a model whose shape, or number of draws, changes with the rows, or as an undeclared name in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.people import TYPES, people, people_domain, write_people
from support.recorded_draws import MECHANISMS, Forced, counted, draws
from support.releases import plan_and_release
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.budget import Budget
from dpnb_columnar.model.model_document import to_document

SURVEY: Mapping[str, Any] = {
    "label": {"column": "income", "classes": ["low", "high", "royal", "saintly"]},
    "attributes": {
        "age": {"lower": 0, "upper": 100, "step": 1},
        "sex": {"values": ["f", "m", "never seen"], "missing": "category"},
    },
}


def with_last_row(**changes: str | None) -> pl.DataFrame:
    """200 rows, the last of them unlike any other."""
    last = pl.int_range(pl.len()) == pl.len() - 1
    return people(200).with_columns(
        pl.when(last).then(pl.lit(value, pl.String)).otherwise(name).alias(name) for name, value in changes.items()
    )


ROWS: Mapping[str, pl.DataFrame] = {
    "usual": people(200),
    "a class with one member": with_last_row(income="royal"),
    "a class that is not declared": with_last_row(income="undisclosed"),
    "a category with one member": with_last_row(sex="never seen"),
    "a category that is not declared": with_last_row(sex="undisclosed"),
    "a missing category": with_last_row(sex=None),
    "a missing class": with_last_row(income=None),
    "one class alone": people(200).with_columns(income=pl.lit("high")),
    "no row": pl.DataFrame(schema=TYPES),
}


def shape(value: object) -> Any:
    """A document with its numbers wiped out."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return None if isinstance(value, float | int) and not isinstance(value, bool) else value


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_bug_04_a_model_has_the_declared_classes_and_categories(mechanism: str, tmp_path: Path) -> None:
    """The same keys, lengths, domain and guarantee from any rows, as long as the released class counts are the same."""
    shapes = []
    for frame in ROWS.values():
        statistics = counted(tmp_path / "people.parquet", frame, SURVEY)
        shapes.append(shape(to_document(plan_and_release(statistics, Budget(Fraction(1)), mechanism, draw=Forced(9)))))
    assert all(found == shapes[0] for found in shapes)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", ["usual", "no row"])
def test_bug_04_every_declared_name_is_in_the_model(name: str, mechanism: str, tmp_path: Path) -> None:
    path = write_people(tmp_path / "people.parquet", ROWS[name], SURVEY)
    found = shape(to_document(dpnb.train(path, epsilon=1, mechanism=mechanism)))
    assert found["domain"]["label"]["classes"] == ["low", "high", "royal", "saintly"]
    assert found["domain"]["attributes"]["sex"]["values"] == ["f", "m", "never seen"]
    assert found["classes"]["released"] == [None] * 4
    if mechanism != "majority":
        assert found["attributes"]["sex"]["released"] == [[None] * 4] * 4


@pytest.mark.parametrize("name", ["a class that is not declared", "a category that is not declared"])
@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_bug_04_an_undeclared_name_gets_nowhere(name: str, suffix: str, folder: Path, run: Run) -> None:
    write_people(folder / "people.parquet", ROWS[name], SURVEY)
    trained = run("train", "people.parquet", "--output", f"model.{suffix}")
    shown = run("show", f"model.{suffix}")
    assert b"undisclosed" not in Path(f"model.{suffix}").read_bytes()
    assert "undisclosed" not in trained.out + trained.err + shown.out


MOMENTS = 4 + 2 * 4 + 4 * 4
CELLS = {
    **dict.fromkeys(("smooth", "paper", "trimmed-mean", "global", "global-variance"), MOMENTS),
    "histogram": 4 + 4 * 4 + 4 * 4,
    "adaptive-histogram": 4 + 2 + 7 * 4 + 4 * 4,
    "majority": 4,
}


@pytest.mark.parametrize("name", ROWS)
def test_bug_04_every_declared_cell_is_drawn_whatever_occurs(name: str, tmp_path: Path) -> None:
    statistics = counted(tmp_path / "rows.parquet", ROWS[name], SURVEY)
    asked = {mechanism: len(draws(statistics, Budget(Fraction(1)), mechanism, answer=9)) for mechanism in MECHANISMS}
    assert asked == CELLS


def test_bug_04_the_same_comparisons_find_a_domain_made_of_the_rows(tmp_path: Path) -> None:
    shapes, asked = [], []
    for name in ("usual", "a class with one member"):
        frame = ROWS[name]
        label = {**SURVEY["label"], "classes": sorted(frame["income"].unique())}
        observed = {**SURVEY, "label": label}
        statistics = counted(tmp_path / "rows.parquet", frame, observed)
        shapes.append(shape(to_document(dpnb.release(statistics, epsilon=1))))
        asked.append(len(draws(statistics, Budget(Fraction(1)))))
    assert shapes[0] != shapes[1]
    assert asked[0] != asked[1]


def test_bug_04_priors_of_classes_without_rows_are_positive(tmp_path: Path) -> None:
    """A probability of exactly 0 would tell that nobody is there."""
    domain = people_domain(SURVEY)
    path = write_people(tmp_path / "rows.parquet", ROWS["one class alone"])
    document = to_document(dpnb.train(path, epsilon=100, domain=domain))
    assert min(document["classes"]["probability"]) > 0
    assert min(min(row) for row in document["attributes"]["sex"]["probability"]) > 0
