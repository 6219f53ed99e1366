"""A model of every type of column, and the predictions of a few rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dpnb_columnar.domain import Categorical
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.scoring import probability_column
from support.model_cases import declared, histogram_of, model_of, normal_of, table_of

AGE = {"lower": 0, "upper": 100, "step": 1}
MONEY = {"lower": 0, "upper": 1_000_000, "step": 1, "transform": "log1p"}
SEX = {"values": ["f", "m"]}
MIXED = model_of(
    declared({"age": AGE, "money": MONEY, "hours": AGE, "sex": SEX, "job": {"values": [1, 2], "missing": "category"}}),
    [
        normal_of("age", [30, 45.5], [11, 12.25]),
        normal_of("money", [6.5, 9.25], [1.75, 1.75]),
        histogram_of("hours", [0, 10, 40, 101], [0.3, 0.5, 0.2], [0.05, 0.45, 0.5]),
        table_of("sex", [0.6, 0.4], [0.35, 0.65]),
        table_of("job", [0.5, 0.3, 0.2], [0.1, 0.2, 0.7]),
    ],
    [0.75, 0.25],
)
ROW = {"age": 33, "money": 1234.5, "hours": 38, "sex": "m", "job": 2}


def scored(model: Model, rows: Sequence[Mapping[str, Any]] | pl.DataFrame, keep: Sequence[str] = ()) -> pl.DataFrame:
    frame = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, schema=types(model), strict=False)
    return model.predict(frame.lazy(), keep).collect()


def types(model: Model) -> dict[str, pl.DataType | type[pl.DataType]]:
    attributes = [model.domain[parameters.attribute] for parameters in model.attributes]
    return {attribute.name: pl.String if isinstance(attribute, Categorical) else pl.Float64 for attribute in attributes}


def probabilities_of(model: Model, frame: pl.DataFrame) -> list[list[float]]:
    return frame.select(probability_column(name) for name in model.domain.classes).to_numpy().tolist()
