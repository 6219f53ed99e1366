"""Seeded releases of every kind, and what is made of them, as texts that are the same wherever they are computed.

A text holds every number that is drawn exactly, as a fraction, in the order of the draws: that is the release. What is
computed of the draws in floating point, such as a probability or a deviation, differs in the last digits between
mathematical libraries, processors and versions of NumPy: it is written with ``DIGITS`` significant digits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Neighbours
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family
from dpnb_columnar.core.noise import ExactSampler, NoiseFamily, SeededBits
from dpnb_columnar.core.queries.statistics import CellQuery, Statistics
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.evaluation.released_scores import scores_document
from dpnb_columnar.model.document import to_document
from dpnb_columnar.public_sample import resolve_attribute_weights
from dpnb_columnar.releases.plan import plan
from dpnb_columnar.releases.score_plan import plan_scores
from dpnb_columnar.rows.sources import Dialect
from dpnb_columnar.training import carry_out
from support.golden_model import golden_model
from support.mechanisms import MECHANISMS
from support.releases import train

DIGESTS = Path(__file__).parents[1] / "golden" / "releases.json"
"""The SHA-256 of every text by its name."""

DIGITS = 9
"""Significant digits of what is computed in floating point: libraries differ from the sixteenth on."""

SEED = 1940

ATTRIBUTES: Mapping[str, Any] = {
    "age": {"lower": 0, "upper": 100, "step": 1},
    "wage": {"lower": 0, "upper": 200_000, "step": 1, "transform": "log1p", "missing": "category"},
    "rent": {"lower": 0, "upper": 50_000, "step": 1},
    "hours": {"lower": 1, "upper": 97, "step": 2, "missing": "skip"},
    "heat": {"lower": -10, "upper": 40, "step": "1/2"},
    "sex": {"values": ["f", "m"], "missing": "row"},
    "job": {"values": ["clerk", "farmer", "none"], "missing": "category"},
    "state": {"values": [1, 2, 4, 5, 6]},
}
TWO: Mapping[str, Any] = {"label": {"column": "income", "classes": ["low", "high"]}, "attributes": ATTRIBUTES}
THREE: Mapping[str, Any] = {**TWO, "label": {"column": "income", "classes": ["low", "high", "none"]}}
WEIGHT = {"weight": {"column": "weight", "cap": 400, "step": 2}}
UNIT = {"unit": {"column": "house", "rows": 2}}


def pinned_digests() -> dict[str, str]:
    digests: dict[str, str] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return digests


def write_digests() -> None:
    digests = {name: digest_of(name) for name in TEXTS}
    DIGESTS.write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")


def digest_of(name: str) -> str:
    return sha256(TEXTS[name]().encode()).hexdigest()


class Recorded:
    """A seeded sampler that notes what it draws."""

    private = False

    def __init__(self) -> None:
        self._sampler = ExactSampler(SeededBits(SEED))
        self.drawn: list[Fraction] = []

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        self.drawn.append(self._sampler(location, scale, noise, grid_bits))
        return self.drawn[-1]


def _release(document: Mapping[str, Any] = TWO, **options: Any) -> str:
    model, drawn = _released(document, **options)
    return _text(drawn, to_document(model))


def _release_by_public_file() -> str:
    domain = _domain(TWO)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "public.parquet"
        _rows(2).write_parquet(path)
        weights = resolve_attribute_weights(str(path), domain, "histogram")
    model, drawn = _released(TWO, mechanism="histogram", weights=weights)
    document = to_document(model)
    # The bytes of a Parquet file depend on the version of what wrote it.
    del document["attribute_weights"]["source"]["sha256"]
    return _text(drawn, document)


def _release_scores(document: Mapping[str, Any]) -> str:
    model, _ = _released(document, mechanism="histogram")
    planned, recorded = plan_scores(model, Budget(Fraction(1)), seeded=True), Recorded()
    found = scores_document(carry_out(planned, FrameInput(_rows(3)), draw=recorded))
    del found["model"]  # the digest of a document that names versions
    return _text(recorded.drawn, found)


def _count(document: Mapping[str, Any]) -> str:
    """Every cell that is not zero."""
    counted: Statistics = FrameInput(_rows(1)).check(_domain(document)).answer(CellQuery(_domain(document)))
    cells = (
        (cell.attribute, *row)
        for cell in counted.cells()
        for row in sorted(zip(*(part.tolist() for part in (cell.classes, cell.codes, cell.counts)), strict=True))
    )
    return "\n".join(json.dumps(cell) for cell in cells)


def _predict(document: Mapping[str, Any], mechanism: str, weights: str) -> str:
    model, _ = _released(document, mechanism=mechanism, weights=weights)
    return "\n".join(json.dumps(_plain(row)) for row in model.predict(_rows(3).head(200), keep=["state"]).rows())


def _sql(dialect: Dialect) -> str:
    """The query as it is, but for its first line, which names the program's version, and the digits of its numbers."""
    query = Model.of(golden_model()).to_sql(dialect.value, "person", ["id"]).split("\n", 1)[1]
    return re.sub(r"\d+\.\d+(?:[eE][+-]?\d+)?", lambda number: _rounded(float(number[0])), query)


@cache
def _rows(part: int) -> pl.DataFrame:
    """Some 1,500 rows that no version of a library makes differently: by sums and remainders alone."""
    numbers = [part * 1_000_003 + row * row * 7_919 + row * 104_729 for row in range(1_500)]
    rows = []
    for place, number in enumerate(numbers):
        kind = number // 11 % 10
        high, none = kind > 6, kind == 0
        spread = number // 13 % 20 + number // 17 % 20
        rows.append(
            {
                "income": None if number % 97 == 0 else "high" if high else "none" if none else "low",
                "age": 20 + spread + 20 * high + number // 19 % 5,
                "wage": None if number // 7 % 9 == 0 else (number // 23 % 300) ** 2 + 9_000 * high,
                "rent": None if number // 29 % 31 == 0 else spread * spread * (1 + 3 * high),
                "hours": None if number // 31 % 6 == 0 else 1 + 2 * (number // 37 % 20 + 15 * high),
                "heat": (number // 41 % 100 - 20) / 2 if number // 43 % 41 else None,
                "sex": None if number // 47 % 53 == 0 else "fm"[number // 53 % 5 > 1 + high],
                "job": ("clerk", "farmer", "none", None, "other")[(number // 59 + 2 * high) % 5],
                "state": (1, 2, 4, 5, 6)[number // 61 % (3 + 2 * high)],
                "weight": number // 67 % 420,
                "house": place // 3,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


@cache
def _read(declaration: str) -> Domain:
    return read_domain("golden", json.loads(declaration), "golden")


def _domain(document: Mapping[str, Any]) -> Domain:
    return _read(json.dumps(document))


def _released(
    document: Mapping[str, Any],
    mechanism: str = "smooth",
    noise: str | None = None,
    weights: Any = "none",
    relation: Neighbours = Neighbours.ADD_REMOVE,
) -> tuple[Model, list[Fraction]]:
    """Train as every front door does, with a seed."""
    family = smooth_family(noise or "polyplace")
    delta = Fraction(0) if family.kind.__name__ == "Pure" else Fraction(1, 10**6)
    planned = plan(_domain(document), Budget(Fraction(30), relation, delta=delta), mechanism, noise, weights)
    recorded = Recorded()
    model = train(planned, FrameInput(_rows(1)), draw=recorded)
    return model, recorded.drawn


def _text(drawn: list[Fraction], document: dict[str, Any]) -> str:
    """The draws exactly, then the document but for the versions of the libraries, its floats rounded."""
    del document["software"]
    return "\n".join([*map(str, drawn), json.dumps(_plain(document), ensure_ascii=False)])


def _plain(value: Any) -> Any:
    """JSON with every float rounded to ``DIGITS``."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return _rounded(value) if isinstance(value, float) else value


def _rounded(number: float) -> str:
    return f"{number:.{DIGITS}g}"


TEXTS: dict[str, Callable[[], str]] = {
    **{f"mechanism {name}": partial(_release, mechanism=name) for name in MECHANISMS},
    **{f"noise {name}": partial(_release, noise=name) for name in NOISE_FAMILIES[1:]},  # the first is that of smooth
    "noise student-7 of trimmed-mean": partial(_release, mechanism="trimmed-mean", noise="student-7"),
    "noise gaussian of adaptive-histogram": partial(_release, mechanism="adaptive-histogram", noise="gaussian"),
    "weights tempered": partial(_release, mechanism="histogram", weights="tempered"),
    "weights calibrated": partial(_release, mechanism="histogram", weights="calibrated"),
    "weights calibrated of smooth": partial(_release, weights="calibrated"),
    "weights learned": partial(_release, mechanism="histogram", weights="learned"),
    "weights learned of smooth, arsinh-normal": partial(_release, noise="arsinh-normal", weights="learned"),
    "weights of a public file": _release_by_public_file,
    "three classes, smooth": partial(_release, THREE),
    "three classes, histogram, calibrated": partial(_release, THREE, mechanism="histogram", weights="calibrated"),
    "replace-one, smooth": partial(_release, relation=Neighbours.REPLACE_ONE),
    "replace-one, histogram, learned": partial(
        _release, mechanism="histogram", weights="learned", relation=Neighbours.REPLACE_ONE
    ),
    "replace-one, three classes, arsinh-normal, calibrated": partial(
        _release, THREE, noise="arsinh-normal", weights="calibrated", relation=Neighbours.REPLACE_ONE
    ),
    "unit, smooth": partial(_release, {**TWO, **UNIT}),
    "unit, replace-one, histogram, learned": partial(
        _release, {**TWO, **UNIT}, mechanism="histogram", weights="learned", relation=Neighbours.REPLACE_ONE
    ),
    "weights of rows, smooth": partial(_release, {**TWO, **WEIGHT}),
    "weights of rows and unit, three classes, global": partial(
        _release, {**THREE, **WEIGHT, **UNIT}, mechanism="global"
    ),
    "scores": partial(_release_scores, TWO),
    "scores of three classes": partial(_release_scores, THREE),
    "statistics": partial(_count, TWO),
    "statistics with weights and unit": partial(_count, {**THREE, **WEIGHT, **UNIT}),
    "predictions": partial(_predict, TWO, "smooth", "none"),
    "predictions, learned": partial(_predict, TWO, "histogram", "learned"),
    "predictions of three classes": partial(_predict, THREE, "adaptive-histogram", "calibrated"),
    **{f"sql {dialect.value}": partial(_sql, dialect) for dialect in Dialect},
}
"""What makes the text of every release, and of everything else that is pinned, by its name."""
