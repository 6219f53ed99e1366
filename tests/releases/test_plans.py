"""A plan before a row is read: the size of the model, the queries to the rows, and what is too wide or incomplete."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.mechanisms import MECHANISMS
from support.model_cases import declared
from support.people import PEOPLE, people, people_domain
from support.recorded_draws import Drawn, Forced
from support.releases import train
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.advice.expected_error import DIFFERENCE, asked_table, rows_asked, unit_remark, wide_ranges
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget
from dpnb_columnar.core.budget.composition import row_effect
from dpnb_columnar.core.measurement import LARGEST_COUNT
from dpnb_columnar.core.queries.query import Query
from dpnb_columnar.core.queries.statistics import Statistics
from dpnb_columnar.counting.inputs import FrameInput
from dpnb_columnar.domain import Categorical, Domain, Label, Numeric, Transform, Weight
from dpnb_columnar.domain.declaration import grid_fault
from dpnb_columnar.errors import ConfigurationError
from dpnb_columnar.ledger import Ledger
from dpnb_columnar.model.document import leaves, to_document, to_json
from dpnb_columnar.model.parameters import MOST_MARGINS, AttributeWeights, CalibrationLine
from dpnb_columnar.releases import plan as release_plan
from dpnb_columnar.releases.model_plan import ReleasePlan, release
from dpnb_columnar.releases.plan import ModelSize, largest_model, plan, reserve_later_pass

SIZES = [Fraction(LARGEST_COUNT), Fraction(10) ** 290, Fraction(7, 3), Fraction(10) ** 12 / 7]


def extreme(seed: int) -> Forced:
    """Answer with numbers that take as many characters as can be, of either sign, and with others."""
    bits = random.Random(seed)

    def answer(place: int, asked: Drawn) -> Fraction:
        drawn = bits.choice(SIZES) * bits.choice([-1, -1, 1])
        return drawn if asked.grid_bits else Fraction(round(drawn))

    return Forced(answer, private=True)


def numbers(count: int, **more: Any) -> dict[str, Any]:
    return {f"number {place} größer": {"lower": 0, "upper": 10**6 + place, "step": 1} | more for place in range(count)}


def tables(count: int, values: int, **more: Any) -> dict[str, Any]:
    return {f"tä[b]{{le}} {place}": {"values": [f"värde {n}" for n in range(values)]} | more for place in range(count)}


ODD_CLASSES = ["ä", "[b]", 'c\\"']
SHAPES: dict[str, Domain] = {
    "one table of two cells": declared(tables(1, 2)),
    "one number": declared(numbers(1)),
    "many tables": declared(tables(40, 3, missing="category"), ODD_CLASSES),
    "a long table": declared(tables(1, 3000)),
    "many classes": declared(tables(2, 4) | numbers(2), [f"class {number}" for number in range(150)]),
    "values present": declared(numbers(3, missing="category") | numbers(5, missing="skip"), ODD_CLASSES),
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
        whole = longest(release(counted, planned, extreme(place)), planned)
        parts = release(counted, reserve_later_pass(planned), extreme(place))
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
        found = size_of(longest(release(empty(domain), planned, extreme(1)), planned)).parameters
        skipped = 5 * len(ODD_CLASSES) if name == "values present" else 0  # one cell of presence in place of two
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


# What a plan says that it asks of the rows is what the release then asks.

THREE = {**PEOPLE, "label": {"column": "income", "classes": ["low", "high", "none"]}}


@dataclass
class Listening:
    """Rows that remember what they were asked."""

    rows: Any
    heard: list[Query[Any]] = field(default_factory=list)
    repeatable = True

    def check(self, domain: Domain) -> Listening:
        return Listening(self.rows.check(domain), self.heard)

    def answer(self, query: Query[Any]) -> Any:
        self.heard.append(query)
        return self.rows.answer(query)


@pytest.mark.parametrize(
    ("document", "weights"),
    [(PEOPLE, "none"), (PEOPLE, "calibrated"), (PEOPLE, "learned"), (THREE, "none"), (THREE, "calibrated")],
)
def test_a_release_asks_what_its_plan_lists(document: dict[str, Any], weights: str) -> None:
    domain = people_domain(document)
    planned = plan(domain, Budget(Fraction(1)), "histogram", attribute_weights=weights)
    rows = Listening(FrameInput(people(60)))
    train(planned, rows)
    listed = rows_asked(domain, planned.shares)
    assert [(type(query), query.words, query.cells, query.parallel) for query in rows.heard] == [
        (type(asked.query), asked.query.words, asked.query.cells, asked.query.parallel)
        for asked in listed
        for _ in range(asked.passes)
    ]
    assert sum(asked.part for asked in listed) == pytest.approx(1)


@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name != "none"])
def test_shares_state_what_the_queries_do(mechanism: str) -> None:
    """Every share of a later pass is of as many values, and of the effect of one row, that the query itself states."""
    weights = "none" if mechanism == "majority" else "calibrated"
    planned = plan(people_domain(), Budget(Fraction(1)), mechanism, attribute_weights=weights)
    first, *later = rows_asked(planned.domain, planned.shares)
    assert not first.query.later
    assert first.part == pytest.approx(1 if mechanism == "majority" else 0.9)
    assert all(asked.query.later for asked in later)
    for asked, share in zip(later, [share for share in planned.shares if share is planned.calibration], strict=True):
        assert (asked.query.cells, asked.query.parallel.effect) == (share.values, row_effect(share.query))


def test_what_a_unit_changes_is_said_beside_the_table() -> None:
    domain = people_domain({**PEOPLE, "unit": {"columns": ["house"], "rows": 3}})
    planned = plan(domain, Budget(Fraction(1)), "histogram")
    header, rows = asked_table(domain, planned.shares)
    assert len(rows[0]) == len(header)
    assert unit_remark(domain) == "one unit (house) changes as much as 3 of its rows"
    assert unit_remark(people_domain()) == ""


# Attributes whose declared range is so wide that a release says nothing about them.

NINES = Numeric("INCTOT", Fraction(-99_999_999), Fraction(999_999_999), Fraction(1))
AGE = Numeric("AGE", Fraction(0), Fraction(120), Fraction(1))
SEX = Categorical("SEX", ("1", "2"))


def planned(amount: Numeric, mechanism: str = "smooth", epsilon: str = "1") -> ReleasePlan:
    domain = Domain("town", Label(("no", "yes"), "X"), (AGE, amount, SEX))
    return plan(domain, Budget(Fraction(epsilon)), mechanism)


def narrowed(amount: Numeric, bounds: tuple[Fraction, Fraction]) -> Numeric:
    return replace(amount, lower=bounds[0], upper=bounds[1])


@pytest.mark.parametrize("mechanism", ["smooth", "paper", "trimmed-mean", "global", "global-variance"])
def test_nines_of_a_codebook_are_too_wide_for_few_rows(mechanism: str) -> None:
    (wide,) = wide_ranges(planned(NINES, mechanism), 1000)
    assert wide.attribute == NINES
    assert wide.hidden > 100 * DIFFERENCE
    narrow = narrowed(NINES, wide.suggested)
    assert NINES.lower <= narrow.lower < narrow.upper <= NINES.upper
    assert grid_fault(narrow, "INCTOT") is None
    assert not wide_ranges(planned(narrow, mechanism), 1000)


@pytest.mark.parametrize("mechanism", ["histogram", "adaptive-histogram", "majority"])
def test_histograms_do_not_mind(mechanism: str) -> None:
    assert not wide_ranges(planned(NINES, mechanism), 1000)


def test_what_hides_nothing_is_not_named() -> None:
    """Many rows; the bounds of the curated list; logarithms; numbers that are no amounts."""
    assert wide_ranges(planned(NINES), 10_000)
    assert not wide_ranges(planned(NINES), 1_000_000)
    assert not wide_ranges(planned(replace(NINES, lower=Fraction(-19_998), upper=Fraction(200_000))), 10)
    assert not wide_ranges(planned(replace(NINES, lower=Fraction(0), transform=Transform.LOG1P)), 10)
    assert not wide_ranges(planned(replace(NINES, lower=Fraction(0), upper=Fraction(9), step=Fraction(1, 1000))), 10)


def test_a_smaller_budget_hides_more() -> None:
    much, little = (wide_ranges(planned(NINES, epsilon=epsilon), 10_000)[0] for epsilon in ("0.1", "1"))
    assert much.hidden > little.hidden
    assert much.suggested[1] <= little.suggested[1]
