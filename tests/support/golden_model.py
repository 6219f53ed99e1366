"""The golden model and its document, changes to it, and reading that ends in a model or in a refusal."""

from __future__ import annotations

import copy
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpnb_columnar.api import load_model
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Neighbours, Pure, Share
from dpnb_columnar.core.budget.composition import Guarantee
from dpnb_columnar.errors import Error
from dpnb_columnar.model.document import to_document
from dpnb_columnar.model.parameters import (
    AttributeWeights,
    Histogram,
    Normal,
    Presence,
    Priors,
    PublicSource,
    Table,
)
from support.model_cases import declared, measurement


def golden_model() -> Model:
    """A small model in which every kind of parameter occurs; numbers are made up."""
    domain = declared(
        {
            "age": {"lower": 0, "upper": 90, "step": "1/2", "missing_values": [999]},
            "wage": {"lower": 0, "upper": 1000, "step": 1, "transform": "log1p"},
            "hours": {"lower": 1, "upper": 99, "step": 7},
            'job "x"': {"values": ["clerk", "été", "中"], "missing": "category", "missing_values": ["?"]},
            "pension": {"lower": 0, "upper": 900, "step": 1, "missing": "category"},
            "rent": {"lower": 0, "upper": 9, "step": 1, "missing": "skip"},
        },
        ["no", "yes"],
    )
    half, counts = Pure(Fraction(1, 6)), "one row changes one of these counts by 1"
    sample = "one row changes the sample of one class only"
    shares = [
        Share("class counts", None, 2, counts, "laplace", Pure(Fraction(1, 3)), half),
        Share("mean", "age", 2, sample, "polyplace", half, Pure(Fraction(1, 12))),
    ]
    return Model(
        domain,
        Guarantee("smooth", "polyplace", Fraction(1, 2), Fraction(0), Neighbours.REPLACE_ONE, tuple(shares), False),
        (
            measurement("class counts", None, (1200,), (-3,), share=shares[0], scale=6.0),
            measurement("mean", "age", (60.25,), (-15.0,), share=shares[1]),
            measurement("variance", "age", (576.0,), (-9.0,)),
            measurement("mean", "wage", (5.5,), (6.1,)),
            measurement("variance", "wage", (1e-300,), (1e280,)),
            measurement("counts", "hours", (10, -2), (0, 9007199254740992)),
            measurement("counts", 'job "x"', (3, 0, 1, -1), (0, 0, 0, 0)),
            measurement("mean", "pension", (350.5,), (400.0,)),
            measurement("variance", "pension", (2500.0,), (1e4,)),
            measurement("values present", "pension", (300, 900), (0, -3)),
            measurement("counts", "rent", (700,), (5,)),
            measurement("values present", "rent", (712,), (2,)),
        ),
        Priors((0.9991680532445923, 0.0008319467554076539)),
        (
            Normal("age", (30.125, 0.0), (12.0, 90.0)),
            Normal("wage", (5.5, 6.1), (0.1, 6.5)),
            Histogram("hours", (0, 5, 15), ((0.5, 0.5), (1e-16, 1.0))),
            Table('job "x"', ((0.5, 0.125, 0.25, 0.125), (0.25, 0.25, 0.25, 0.25))),
            Normal("pension", (350.5, 400.0), (50.0, 100.0), Presence(((0.25, 0.75), (0.5, 0.5)))),
            Histogram("rent", (0, 10), ((1.0,), (1.0,)), Presence(((1.0,), (1.0,)))),
        ),
        {"dpnb-columnar": "0.0.1", "numpy": "2.0"},
        AttributeWeights(
            *("public", (0.5, 1.0, 0.0, 1.75, -0.25, 0.125), (0.0, -1.5)),
            PublicSource("public-use sample", "0123456789abcdef" * 4, ("sex",)),
        ),
    )


VALID: Any = to_document(golden_model())
Place = tuple[str | int, ...]


DELETED = object()


def changed(place: Place, value: object, document: Any = None) -> Any:
    """The golden document with another value, or none, at one place."""
    found = copy.deepcopy(VALID if document is None else document)
    inner = found
    for step in place[:-1]:
        inner = inner[step]
    if value is DELETED:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return found


def loaded_or_refused(path: Path) -> None:
    """Either a model, or an error in our words."""
    read_or_refused(lambda: load_model(path), str(path))


def read_or_refused(read: Callable[[], Model], source: str) -> Model | None:
    """The model, or None after an error in our words; any other error is the test's."""
    refusal: Error | None = None
    try:
        return read()
    except Error as error:
        refusal = error
    assert str(refusal).startswith(f"{source}: ")
    assert refusal.exit_code in (65, 78)
    return None
