"""Figures by weight are those of rows that stand there as often as they weigh."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_cases import declared, model_of, normal_of, table_of
from support.people import PEOPLE, people, write_people
from support.running import Run
from support.scored_rows import AGE, SEX

from dpnb_columnar.domain import Domain, Weight
from dpnb_columnar.model.evaluation import Evaluation, weighted_rows
from dpnb_columnar.model.exact_evaluation import evaluate
from dpnb_columnar.model.model import Model

CAP, STEP = 6, Fraction(1, 2)


def model_by_weight() -> Model:
    domain: Domain = declared({"age": AGE, "sex": SEX})
    weighted = replace(domain, weight=Weight("w", Fraction(CAP), STEP, Fraction(1)))
    parameters = [normal_of("age", [30, 60], [10, 12]), table_of("sex", [0.7, 0.3], [0.4, 0.6])]
    return model_of(weighted, parameters, [0.6, 0.4])


ROWS = st.lists(
    st.tuples(
        st.integers(0, 100) | st.none(),
        st.sampled_from(["f", "m"]) | st.none(),
        st.sampled_from(["no", "yes"]),
        st.sampled_from([0, 0.5, 1, 2.5, 5.9, 6, 900, -3, float("inf"), None]),
    ),
    min_size=1,
    max_size=15,
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(ROWS)
def test_a_row_counts_as_often_as_it_weighs(rows: list[tuple[int | None, str | None, str, float | None]]) -> None:
    schema = {"age": pl.Int64, "sex": pl.String, "label": pl.String, "w": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    steps = [1 / STEP if w is None or not 0 <= w < float("inf") else min(round(w / STEP), CAP / STEP) for *_, w in rows]
    repeated = frame.drop("w")[[place for place, count in enumerate(steps) for _ in range(int(count))]]
    model = model_by_weight()
    found = evaluate(model, frame)
    alone = replace(model, domain=model.domain.per_row)
    assert rounded(replace(found, weighted=None)) == rounded(evaluate(alone, frame.drop("w")))
    if repeated.is_empty():
        assert found.weighted is None
        return
    expected, weighted = evaluate(alone, repeated), found.weighted
    assert weighted is not None
    assert weighted.weight == expected.rows * STEP
    for name, mine, _ in weighted_rows(expected, weighted):
        assert getattr(weighted, name_of(name)) == pytest.approx(mine, abs=1e-12), name
    assert weighted.confusion == tuple(tuple(float(count * STEP) for count in row) for row in expected.confusion)
    for code, each in enumerate(expected.classes):
        assert weighted.shares[code] == pytest.approx(each.rows / expected.rows)
        assert weighted.mean_probabilities[code] == pytest.approx(each.mean_probability)
        assert weighted.recalls[code] == (None if each.recall is None else pytest.approx(each.recall))
    means = [pair for pair in weighted.calibration if pair is not None]
    assert means == [pytest.approx((each.mean_probability, each.accuracy)) for each in expected.calibration]


def rounded(evaluation: Evaluation) -> str:
    """Write an evaluation down but for the last digits, which follow from the order in which threads add up."""
    text = json.dumps(asdict(evaluation), default=str)
    return re.sub(r"\d+\.\d+(e-\d+)?", lambda number: f"{float(number[0]):.10f}", text)


def name_of(words: str) -> str:
    return {"largest class": "majority", "AUC": "auc"}.get(words, words.lower().replace(" ", "_"))


@pytest.fixture
def weighted_model(folder: Path, run: Run) -> Path:
    document = {**PEOPLE, "weight": {"column": "w", "cap": 400}}
    rows = people(300).with_columns(w=pl.int_range(300) * 3)
    run("train", write_people("people.parquet", rows, document), "--mechanism", "histogram", "--output", "m.json")
    return Path("m.json")


def test_both_figures_are_told(weighted_model: Path, run: Run) -> None:
    out = run("evaluate", weighted_model, "people.parquet", "--html", "page.html").out
    assert "figure             by rows  by weight" in out
    assert "true \\ predicted, weighted" in out
    assert json.loads(run("evaluate", weighted_model, "people.parquet", "--json").out)["weighted"]["weight"] > 300
    assert "Every row counts with its w, at most 400" in Path("page.html").read_text()


def test_rows_without_the_weight_are_evaluated_unweighted(weighted_model: Path, run: Run) -> None:
    pl.read_parquet("people.parquet").drop("w").write_parquet("bare.parquet")
    out = run("evaluate", weighted_model, "bare.parquet", "--html", "page.html").out
    assert "not weighted: the rows have no numbers above 0 in a column 'w'" in out
    assert "Not weighted" in Path("page.html").read_text()
    assert "missing column 'age'" in run("evaluate", weighted_model, write_bare(), expected=65).err


def write_bare() -> Path:
    path = Path("ageless.parquet")
    pl.read_parquet("people.parquet").drop("age").write_parquet(path)
    return path


def test_released_scores_say_that_they_are_of_rows(weighted_model: Path, run: Run) -> None:
    ended = run("evaluate", weighted_model, "people.parquet", "--epsilon", "1")
    assert "released scores are of rows: the weight w does not enter them" in ended.out
