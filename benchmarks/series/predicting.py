"""Scoring rows, Parquet to Parquet, beside scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.points import Contender, Input, Point
from benchmarks.processes import PROGRAM, contender
from benchmarks.series.scale import Places, Scale

PREDICT = "dpnb-columnar predict"
PREDICT_PROBA = "GaussianNB.predict_proba"


def predict(scale: Scale, places: Places) -> Iterator[Point]:
    """Whole processes that write the same columns for the same rows, each with a model trained on them before."""
    for rows in scale.predict:
        census = places.census(rows)
        model, output = places.model(census), places.work / "scored.parquet"
        inputs, contenders = (
            [census, model],
            [
                Contender(
                    PREDICT,
                    (*PROGRAM, "predict", str(model.path), str(census.path), "--output", str(output), "--overwrite"),
                )
            ],
        )
        if rows <= scale.score_beside:
            fitted = places.work / f"{census.path.stem}.pickle"
            inputs.append(Input(fitted, contender("scikit_learn.partial_fit", census.path, fitted)))
            contenders.append(
                Contender(PREDICT_PROBA, contender("scikit_learn.predict_proba", fitted, census.path, output))
            )
        yield Point("predict", tuple(contenders), scale.turns_of(rows), tuple(inputs), rows, attributes=13, classes=2)
