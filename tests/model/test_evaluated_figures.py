"""Figures of a few labelled rows are those of their definitions, with and without weights."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import polars as pl
import pytest
from dpnb_columnar.evaluation.exact_evaluation import evaluate
from support.model_cases import declared, model_of, table_of
from support.scored_rows import AGE

from dpnb_columnar.domain import Weight

LIKELIHOOD = {"a": (0.68, 0.2, 0.12), "b": (0.22, 0.32, 0.08), "c": (0.1, 0.48, 0.8)}
"""Per category, its probability within each class."""

ROWS = [
    # category, age, class, weight
    ("a", 20, 0, 1.0),
    ("a", 30, 1, 3.0),
    ("b", 40, 1, None),  # the one that a row without weight counts for
    ("b", None, 0, 5.0),
    ("c", 50, 1, 4.0),
    ("c", 60, 0, 0.0),
    ("c", 20, 1, 2.0),
    ("b", 70, 0, 900.0),  # at most 6
]


@pytest.mark.parametrize("classes", [["no", "yes"], ["no", "yes", "other"]], ids=["two", "three"])
def test_figures_of_a_few_rows(classes: list[str]) -> None:
    """Of the rows that training counts: one is dropped, as it lacks an age. The last of three classes has no row."""
    size = len(classes)
    document = {"age": {**AGE, "missing": "row"}, "job": {"values": list(LIKELIHOOD)}}
    domain = replace(declared(document, classes), weight=Weight("w", Fraction(6), Fraction(1), Fraction(1)))
    table = table_of("job", *([LIKELIHOOD[job][place] for job in LIKELIHOOD] for place in range(size)))
    model = model_of(domain, [table], [1 / size] * size)
    frame = pl.DataFrame(
        [(job, age, classes[true], weight) for job, age, true, weight in ROWS],
        schema={"job": pl.String, "age": pl.Int64, "label": pl.String, "w": pl.Float64},
        orient="row",
    )
    found = evaluate(model, frame)

    scored = []
    for job, age, true, weight in ROWS:
        if age is not None:
            whole = sum(LIKELIHOOD[job][:size])
            scored.append(
                ([each / whole for each in LIKELIHOOD[job][:size]], true, 1.0 if weight is None else min(weight, 6))
            )
    predicted = [max(range(size), key=lambda place: each[0][place]) for each in scored]
    assert found.rows == len(scored) == len(ROWS) - 1

    def figures(weights: list[float]) -> dict[str, float]:
        """By definition, every row counting for its weight."""
        rows = list(zip(scored, predicted, weights, strict=True))
        total = sum(weights)
        sizes = [sum(w for (_, true, _), _, w in rows if true == place) for place in range(size)]
        hits = [sum(w for (_, true, _), best, w in rows if true == best == place) for place in range(size)]
        recalls = [hit / all_ for hit, all_ in zip(hits, sizes, strict=True) if all_]
        squares = [sum((p - (place == true)) ** 2 for place, p in enumerate(ps)) for (ps, true, _), _, _ in rows]
        return {
            "accuracy": sum(hits) / total,
            "majority": max(sizes) / total,
            "balanced_accuracy": sum(recalls) / len(recalls),
            "log_loss": -sum(w * math.log(ps[true]) for (ps, true, _), _, w in rows) / total,
            "brier_score": sum(w * square for square, (_, _, w) in zip(squares, rows, strict=True))
            / total
            / (2 if size == 2 else 1),
        }

    for figure, value in figures([1.0] * len(scored)).items():
        assert getattr(found, figure) == pytest.approx(value), figure
    assert found.weighted is not None
    weights = [weight for _, _, weight in scored]
    for figure, value in figures(weights).items():
        assert getattr(found.weighted, figure) == pytest.approx(value), figure
    assert found.weighted.weight == sum(weights)
    counted = list(zip(scored, predicted, strict=True))
    by_cell = [
        [sum(w for (_, is_, w), best in counted if (is_, best) == (i, j)) for j in range(size)] for i in range(size)
    ]
    assert [list(row) for row in found.weighted.confusion] == by_cell
    areas = []
    for place, of_class in enumerate(found.classes):
        likely = [(ps[place], true == place, w) for ps, true, w in scored]
        assert of_class.mean_probability == pytest.approx(sum(p for p, _, _ in likely) / len(likely))
        assert of_class.brier_score == pytest.approx(sum((p - is_) ** 2 for p, is_, _ in likely) / len(likely))
        assert found.weighted.shares[place] == pytest.approx(sum(w for _, is_, w in likely if is_) / sum(weights))
        mean = sum(w * p for p, _, w in likely) / sum(weights)
        assert found.weighted.mean_probabilities[place] == pytest.approx(mean)
        won = [
            (mine > other) + (mine == other) / 2
            for mine, is_, _ in likely
            if is_
            for other, was, _ in likely
            if not was
        ]
        assert (of_class.auc is None) is (not won)
        if of_class.auc is not None and of_class.auc_error is not None:
            assert abs(of_class.auc - sum(won) / len(won)) <= of_class.auc_error + 1e-9
            areas.append(of_class.auc)
        own = [best for (_, true, _), best in zip(scored, predicted, strict=True) if true == place]
        chosen = [true for (_, true, _), best in zip(scored, predicted, strict=True) if best == place]
        assert of_class.recall == (pytest.approx(own.count(place) / len(own)) if own else None)
        assert of_class.precision == (pytest.approx(chosen.count(place) / len(chosen)) if chosen else None)
        whole = sum(w for (_, true, w) in scored if true == place)
        hit = sum(w for (_, true, w), best in zip(scored, predicted, strict=True) if true == best == place)
        assert (of_class.rows, of_class.predicted) == (len(own), len(chosen))
        assert found.weighted.recalls[place] == (pytest.approx(hit / whole) if whole else None)
    assert found.auc == pytest.approx(sum(areas) / len(areas))
    for part, pair in zip(found.calibration, found.weighted.calibration, strict=True):
        tops = [(max(ps), true == best, w) for (ps, true, w), best in counted]
        within = [each for each in tops if part.lower <= each[0] < part.upper]
        total = sum(w for *_, w in within)
        assert (pair is None) is (total == 0)
        if pair is not None:
            assert pair == pytest.approx(tuple(sum(each[i] * each[2] for each in within) / total for i in (0, 1)))
