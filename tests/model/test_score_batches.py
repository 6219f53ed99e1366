"""Batches of rows: the same numbers whatever their size, in memory that grows with neither classes nor attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from support.model_cases import declared, model_of, normal_of, peak_of_scoring, table_of
from support.random_models import held, models_and_rows
from support.scored_rows import MIXED, ROW, types

from dpnb_columnar.api.model import Model
from dpnb_columnar.model import score_batches, scoring
from dpnb_columnar.model.parameters import AttributeWeights, CalibrationLine
from dpnb_columnar.model.polars_terms import SKIPPED
from dpnb_columnar.model.scoring import PREDICTED

MANY = [str(klass) for klass in range(40)]


def in_batches(model: Model, frame: pl.DataFrame, keep: tuple[str, ...] = ()) -> pl.DataFrame:
    """Predictions in batches of few rows, however few classes and attributes there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_batches, "BATCH", 3 * len(model.domain.classes))
        return replace(model).predict(frame.lazy(), keep).collect()


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(models_and_rows())
def test_random_models_score_alike(case: tuple[Model, list[dict[str, Any]]]) -> None:
    model, rows = case
    kinds = types(model)
    values = [{name: held(model, name, row[name]) for name in kinds} for row in rows] * 20
    frame = pl.DataFrame(values, schema=kinds, strict=False) if kinds else pl.DataFrame({"other": values})
    at_once = model.predict(frame)
    assert in_batches(model, frame).equals(at_once)
    assert model.predict(frame.lazy()).collect().equals(at_once)


def test_classes_that_no_attribute_tells_apart_score_alike_under_a_line() -> None:
    priors = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
    domain = declared({"x": {"values": ["a", "b"]}}, ("0", "1", "2", "3"))
    weights = AttributeWeights(
        "learned", (0.0,), (0.0,) * 4, None, CalibrationLine(0, (0.5, 1.5), (1.0, 2.0), (0.0, 0.5), 0.0)
    )
    model = replace(model_of(domain, [table_of("x", *[[0.5, 0.5]] * 4)], priors), attribute_weights=weights)
    frame = pl.DataFrame({"x": ["a"] * 20})
    assert in_batches(model, frame).equals(model.predict(frame.lazy()).collect())


def test_values_that_are_looked_up_computed_or_missing_score_alike() -> None:
    frame = pl.concat(
        [
            pl.DataFrame([ROW | {"age": age, "sex": sex} for age in (-3, 0, 41, 99, 250, None) for sex in "fmx"]),
            pl.DataFrame(
                [ROW | {"job": job, "money": money} for job in (1, 3, None) for money in (0.0, -1.5, 1e7, None)]
            ),
        ]
    ).with_row_index("id")
    found, expected = in_batches(MIXED, frame, ("id", "sex")), MIXED.predict(frame.lazy(), ["id", "sex"]).collect()
    assert found.equals(expected)
    assert MIXED.predict(frame, ["id", "sex"]).equals(expected)
    assert found[SKIPPED].n_unique() > 1
    assert in_batches(MIXED, frame.clear()).equals(expected.clear().drop("id", "sex"))


def test_the_first_of_equal_classes_is_predicted() -> None:
    tied = model_of(declared({"sex": {"values": ["f", "m"]}}, MANY), [table_of("sex", *[[0.5, 0.5]] * 40)])
    found = in_batches(tied, pl.DataFrame({"sex": ["f", None] * 40}))
    assert found[PREDICTED].unique().to_list() == ["0"]
    assert found["probability_39"].to_list() == [1 / 40] * 80


def test_a_row_alone_gets_the_numbers_that_it_gets_among_others() -> None:
    """Polars hands on some rows one by one, as few as there are or as many threads: sums are rounded alike."""
    classes = [str(klass) for klass in range(70)]
    normal = normal_of("x", [100 * place / 70 for place in range(70)], [9.0 + place % 7 for place in range(70)])
    model = model_of(declared({"x": {"lower": 0, "upper": 100, "step": 1}}, classes), [normal])
    frame = pl.DataFrame({"x": range(50)})
    assert pl.concat([model.predict(frame[place : place + 1]) for place in range(50)]).equals(model.predict(frame))


def test_few_rows_in_memory_and_many_score_alike() -> None:
    frame = pl.DataFrame([ROW] * 3)
    found = MIXED.predict(frame)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "FEW_ROWS", 2)
        assert MIXED.predict(frame).equals(found)


def test_a_query_may_ask_for_some_rows_or_columns_of_the_results() -> None:
    names = [f"x{index}" for index in range(70)]
    number = {"lower": 0, "upper": 9, "step": 1}
    wide = model_of(declared(dict.fromkeys(names, number)), [normal_of(name, [3, 6], [2, 1.5]) for name in names])
    frame = pl.DataFrame({name: [index % 13, None, 5, 9] for index, name in enumerate(names)})
    expected, query = wide.predict(frame), wide.predict(frame.lazy())
    assert expected[SKIPPED].to_list() == [0, 70, 0, 0]
    assert query.select(PREDICTED).collect().equals(expected.select(PREDICTED))
    assert query.filter(pl.col(SKIPPED) > 0).collect().equals(expected[1:2])
    assert query.tail(2).collect().equals(expected[2:])


def _peak(folder: Path, attributes: Mapping[str, Any], classes: int, rows: int) -> int:
    """Peak in MiB of a process that scores so many rows."""
    domain = declared(attributes, [str(klass) for klass in range(classes)])
    means = [10 + 80 * klass / classes for klass in range(classes)]
    model, file = folder / "model.json", folder / "rows.parquet"
    model_of(domain, [normal_of(name, means, [9.0] * classes) for name in attributes]).save(model)
    numbers = pl.int_range(rows, eager=True)
    pl.DataFrame(
        {name: (numbers * (index + 3) % 101).cast(pl.Int16) for index, name in enumerate(attributes)}
    ).write_parquet(file, row_group_size=100_000)
    return peak_of_scoring(model, file)


@pytest.mark.slow
def test_memory_is_bounded_for_many_classes(tmp_path: Path) -> None:
    """By expressions, these rows took 1.5 GiB: their probabilities alone are 800 MB. Now some 450 MiB."""
    attributes = {f"x{index}": {"lower": 0, "upper": 100, "step": 1} for index in range(3)}
    assert _peak(tmp_path, attributes, 500, 200_000) < 700


@pytest.mark.slow
def test_memory_is_bounded_for_many_texts(tmp_path: Path) -> None:
    """Polars holds whole row groups of all columns, and several: 1.4 GiB of these rows. Now some 300 MiB."""
    names, values = [f"t{index}" for index in range(400)], [f"value {index:04d}" for index in range(20)]
    model, file = tmp_path / "model.json", tmp_path / "rows.parquet"
    tables = [table_of(name, [0.05] * 20, [0.05] * 20) for name in names]
    model_of(declared({name: {"values": values} for name in names}), tables).save(model)
    numbers, texts = pl.int_range(200_000, eager=True), pl.Series(values)
    columns = {name: texts.gather(numbers * (index + 3) % 20) for index, name in enumerate(names)}
    pl.DataFrame(columns).write_parquet(file, row_group_size=200_000)
    assert peak_of_scoring(model, file) < 500
