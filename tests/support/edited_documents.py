"""Models of every kind, and their documents with one number changed at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

import dpnb_columnar as dpnb
from dpnb_columnar import training
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.noise import SeededBits
from support.golden_model import changed

Place = tuple[str | int, ...]

AMOUNTS = ("epsilon", "delta", "rho", "row_epsilon", "row_delta", "row_rho")
"""Fields of a guarantee that hold exact numbers as text."""

DECLARATION: Mapping[str, Any] = {
    "label": {"column": "y", "classes": ["a", "b", "c"]},
    "attributes": {
        "age": {"lower": 0, "upper": 90, "step": 1, "missing": "category"},
        "rent": {"lower": "-50.5", "upper": "949.5", "step": "0.5", "missing": "skip"},
        "wage": {"lower": -5000, "upper": 1_000_000, "step": 1},
        "money": {"lower": 0, "upper": 5000, "step": 1, "transform": "log1p"},
        "job": {"values": ["p", "q", "r"], "missing": "category"},
    },
}


def declaration(classes: int, weight: bool = False, unit: bool = False) -> dict[str, Any]:
    """A domain of every kind of attribute."""
    document = {**DECLARATION, "label": {"column": "y", "classes": ["a", "b", "c"][:classes]}}
    if weight:
        document["weight"] = {"column": "w", "cap": 40, "step": "0.5"}
    if unit:
        document["unit"] = {"column": "home", "rows": 2}
    return document


def rows(classes: int, size: int = 6000) -> pl.DataFrame:
    generator = np.random.default_rng(5)
    y = generator.choice(classes, size, p=np.array([5, 3, 1][:classes]) / sum([5, 3, 1][:classes]))
    age = pl.Series(np.clip(generator.normal(30 + 9 * y, 12).round(), 0, 90))
    holes = pl.Series(generator.random(size) < 0.1)
    return pl.DataFrame(
        {
            "y": [["a", "b", "c"][place] for place in y],
            "age": pl.select(pl.when(holes).then(None).otherwise(age)).to_series(),
            "rent": pl.select(pl.when(age > 60).then(None).otherwise(age * 3 + 1.5)).to_series(),
            "wage": (np.exp(generator.normal(9 + y / 2, 1))).round(),
            "money": (np.exp(generator.normal(4 + y, 1))).round(),
            "job": [["p", "q", "r", None][place] for place in (y + generator.integers(0, 3, size)) % 4],
            "w": generator.integers(1, 80, size) / 2,
            "home": generator.integers(0, size // 3, size),
        }
    )


CASES: dict[str, dict[str, Any]] = {
    **{
        name: {"mechanism": name, "classes": 2 + place % 2}
        for place, name in enumerate(
            ("smooth", "paper", "trimmed-mean", "global", "global-variance", "adaptive-histogram", "histogram",
             "majority", "none")
        )
    },
    **{f"smooth {noise}": {"noise": noise} for noise in ("student-3", "student-7", "cauchy", "nissim-cauchy")},
    **{
        f"{mechanism} {noise}": {"mechanism": mechanism, "noise": noise, "delta": "1e-6", "classes": 3}
        for mechanism, noise in (
            ("smooth", "gaussian"),
            ("paper", "laplace"),
            ("trimmed-mean", "classical-gaussian"),
            ("adaptive-histogram", "classical-laplace"),
            ("smooth", "arsinh-normal"),
            ("adaptive-histogram", "laplace-log-normal"),
            ("paper", "uniform-log-normal"),
        )
    },
    "faint": {"mechanism": "smooth", "epsilon": "1/1000", "classes": 3},
    "faint histogram": {"mechanism": "histogram", "epsilon": "1/10000"},
    "faint adaptive": {"mechanism": "adaptive-histogram", "epsilon": "1/100"},
    "faint global": {"mechanism": "global", "epsilon": "1/10000"},
    "replaced": {"mechanism": "global", "neighbours": "replace-one"},
    "replaced concentrated": {
        "noise": "arsinh-normal", "delta": "1e-6", "neighbours": "replace-one", "attribute_weights": "calibrated"
    },
    "weight": {"mechanism": "histogram", "weight": True},
    "unit": {"mechanism": "trimmed-mean", "unit": True},
    "tempered": {"mechanism": "histogram", "attribute_weights": "tempered"},
    "calibrated": {"mechanism": "smooth", "attribute_weights": "calibrated"},
    "calibrated classes": {"mechanism": "histogram", "attribute_weights": "calibrated", "classes": 3},
    "learned": {"mechanism": "adaptive-histogram", "attribute_weights": "learned"},
}  # fmt: skip
"""Releases by a name for the test: every mechanism, kind of noise, relation, unit and kind of weights."""


def released_case(name: str, seed: int = 1, patch: Any = None) -> Model:
    """A release of a case, its noise from a seed where something patches the generator."""
    options = dict(CASES[name])
    classes, weight, unit = (options.pop(key, default) for key, default in (("classes", 2), ("weight", 0), ("unit", 0)))
    if patch is not None:
        bits = SeededBits(seed)
        patch.setattr(training, "SystemBits", lambda: bits)
    options = {"epsilon": "1", "attribute_weights": "none"} | options
    return dpnb.train(rows(classes), domain=declaration(classes, bool(weight), bool(unit)), **options)


def numbers(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every number of a document with its place; exact amounts, written as text, in a guarantee too."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from numbers(item, (*place, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from numbers(item, (*place, index))
    elif is_number(value) or (place and place[-1] in AMOUNTS and value):
        yield place, value


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def parameter_numbers(document: Mapping[str, Any]) -> Iterator[tuple[Place, Any]]:
    """The numbers of parameters, measurements and the guarantee: all but those of the declared domain."""
    parts = ("guarantee", "measurements", "classes", "weighted_classes", "attributes", "attribute_weights")
    for part in parts:
        yield from numbers(document.get(part, {}), (part,))


def edits(value: Any) -> list[Any]:
    """Other numbers in place of one: a little off, at the next whole number, doubled, and of the other sign."""
    if isinstance(value, str):
        return [str(Fraction(value) * factor) for factor in (Fraction(1001, 1000), Fraction(1, 2))]
    if isinstance(value, int):
        return [value + 1, value - 1, 2 * value + 3, -value - 2]
    return [value * (1 + 1e-6) + 1e-7 * (value == 0), value + 0.25, 2 * value + 0.5, -value - 0.125]


def edited(document: Mapping[str, Any], place: Place, value: Any) -> Any:
    return changed(place, value, document)
