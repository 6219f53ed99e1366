"""A model is never larger than its plan says, whatever is drawn; and a plan of a model too large to read is refused."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.mechanisms import MECHANISMS
from support.model_cases import declared
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.mechanisms import plan as release_plan
from dpnb_columnar.core.mechanisms.plan import ModelSize, largest_model, plan, reserve_later_pass
from dpnb_columnar.core.mechanisms.release import ReleasePlan, release
from dpnb_columnar.core.noise import NoiseFamily
from dpnb_columnar.core.queries.statistics import Statistics
from dpnb_columnar.domain import Domain, Weight
from dpnb_columnar.errors import ConfigurationError
from dpnb_columnar.ledger import Ledger
from dpnb_columnar.model.document import leaves, to_document, to_json
from dpnb_columnar.model.parameters import LARGEST_COUNT, MOST_MARGINS, AttributeWeights, CalibrationLine


class Extreme:
    """Answers with numbers that take as many characters as can be, of either sign, and with others."""

    private = True

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        sizes = [Fraction(LARGEST_COUNT), Fraction(10) ** 290, Fraction(7, 3), Fraction(10) ** 12 / 7]
        size = self.random.choice(sizes)
        drawn = self.random.choice([-1, -1, 1]) * size
        return drawn if grid_bits else Fraction(round(drawn))


def numbers(count: int, **more: Any) -> dict[str, Any]:
    return {f"number {place} größer": {"lower": 0, "upper": 10**6 + place, "step": 1} | more for place in range(count)}


def tables(count: int, values: int, **more: Any) -> dict[str, Any]:
    return {f"tä[b]{{le}} {place}": {"values": [f"värde {n}" for n in range(values)]} | more for place in range(count)}


THREE = ["ä", "[b]", 'c\\"']
SHAPES: dict[str, Domain] = {
    "one table of two cells": declared(tables(1, 2)),
    "one number": declared(numbers(1)),
    "many tables": declared(tables(40, 3, missing="category"), THREE),
    "a long table": declared(tables(1, 3000)),
    "many classes": declared(tables(2, 4) | numbers(2), [f"class {number}" for number in range(150)]),
    "values present": declared(numbers(3, missing="category") | numbers(5, missing="skip"), THREE),
    "many numbers": declared(numbers(30, transform="log1p") | tables(3, 5, missing="category")),
}


def empty(domain: Domain) -> Statistics:
    """The statistics of no rows: what is released then is drawn."""
    names = [*(attribute.name for attribute in domain.attributes), str(domain.label.column), "w"]
    return dpnb.aggregate(pl.DataFrame(schema=dict.fromkeys(names, pl.String)), domain=domain)


def longest(model: Model, planned: ReleasePlan) -> Model:
    """The model once its weights are fitted, as long as they can be."""
    if planned.attribute_weights is None:
        return model
    weights = (-99.12345678901234,) * len(model.attributes), (-999.1234567890123,) * len(model.domain.classes)
    points, line = (-12345.12345678901,) * MOST_MARGINS, None
    if planned.attribute_weights in ("calibrated", "learned"):
        several = len(model.domain.classes) > 2
        line = CalibrationLine(0, points, points, points if several else (), 0.1234567890123456)
    return replace(model, attribute_weights=AttributeWeights(planned.attribute_weights, *weights, line=line))


def size_of(model: Model) -> ModelSize:
    document = to_document(model)
    text = to_json(document)
    return ModelSize(len(text.encode()), text.count("[") + text.count("{"), len(list(leaves(document))))


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_draw_makes_a_model_larger_than_planned(mechanism: str, shape: str) -> None:
    place = list(SHAPES).index(shape)
    domain = replace(SHAPES[shape], weight=Weight("w", Fraction(400), Fraction(1)) if place % 2 else None)
    counted, ways = empty(domain), ["none"]
    if MECHANISMS[mechanism].private and mechanism != "majority":
        ways += ["calibrated", *(["learned"] if len(domain.classes) == 2 else [])]
    for way in ways:
        planned = plan(domain, Budget(Fraction(1, 7)), mechanism, attribute_weights=way)
        most = largest_model(planned)
        whole = longest(release(counted, planned, Extreme(place)), planned)
        parts = release(counted, reserve_later_pass(planned), Extreme(place))
        for model in (whole, parts, longest(parts, planned)):
            found = size_of(model)
            assert found.bytes <= most.bytes
            assert found.containers <= most.containers
            assert found.parameters <= most.parameters
        if shape == "a long table" and mechanism == "smooth":  # a bound that refuses what can be read is of no use
            assert most.bytes <= 2 * size_of(whole).bytes


def test_parameters_are_counted_exactly_where_no_bins_are_placed() -> None:
    for name, domain in SHAPES.items():
        planned = plan(domain, Budget(Fraction(1)), "smooth", attribute_weights="calibrated")
        found = size_of(longest(release(empty(domain), planned, Extreme(1)), planned)).parameters
        skipped = 5 * len(THREE) if name == "values present" else 0  # one cell of presence in place of two
        assert found == largest_model(planned).parameters - skipped


def test_a_float_of_more_characters_does_not_exist() -> None:
    words = random.Random(1).randbytes(8 * 20_000)
    longest_text = max(len(repr(number)) for (number,) in struct.iter_unpack("<d", words))
    assert longest_text == len(repr(release_plan.LONGEST_FLOAT))


@pytest.mark.parametrize(
    ("limit", "told"),
    [("MOST_PARAMETERS", "8 parameters"), ("MOST_CONTAINERS", r"\d+ lists"), ("LARGEST_MODEL_FILE", r"\d+ bytes")],
)
def test_each_limit_is_one_line_with_its_remedy(limit: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = declared({"SEX": {"values": ["f", "m"]}, "RENT": {"values": ["y"]}})
    planned = plan(domain, Budget(Fraction(1)))
    found = largest_model(planned)
    numbers = {"MOST_PARAMETERS": found.parameters, "MOST_CONTAINERS": found.containers}
    number = numbers.get(limit, found.bytes)
    monkeypatch.setattr(release_plan, limit, number)
    assert plan(domain, Budget(Fraction(1))) == planned
    monkeypatch.setattr(release_plan, limit, number - 1)
    expected = (
        rf"^domain '\w+': a model of it may have {told}, and a model file has at most {number - 1}: 2 classes, times 2 "
        r"cells of SEX; merge categories with groups, leave attributes out, or declare fewer classes$"
    )
    with pytest.raises(ConfigurationError, match=expected):
        release_plan.plan(domain, Budget(Fraction(1)))


@pytest.mark.slow
def test_a_model_too_large_to_read_is_neither_counted_nor_charged(folder: Path, run: Run) -> None:
    """Eight million cells: a document of more than 2**28 bytes, which neither the ledger keeps nor a program reads."""
    values, classes = [str(number) for number in range(10_000)], [f"c{number}" for number in range(10)]
    attributes = "".join(f"a{number} = {{ values = {values} }}\n" for number in range(80))
    declaration = f"[big.label]\ncolumn = 'y'\nclasses = {classes}\n[big.attributes]\n{attributes}"
    Path("datasets.toml").write_text(declaration)
    pl.DataFrame({"y": ["c0"], **{f"a{number}": ["1"] for number in range(80)}}).write_parquet("big.parquet")
    run("ledger", "init", "big.ledger", "--dataset", "big", "--epsilon", 1)
    assert (
        "a model of it may have 8000293 parameters" in run("plan", "big.parquet", "--dataset", "big", expected=78).err
    )
    told = run("train", "big.parquet", "--dataset", "big", "--ledger", "big.ledger", expected=78).err
    assert told.count("\n") == 1
    assert "merge categories with groups" in told
    with Ledger(Path("big.ledger")) as ledger:
        assert [*ledger.releases()] == []
    assert not Path("big.model.json").exists()
