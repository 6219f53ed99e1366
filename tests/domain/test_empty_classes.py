"""A label that no declared value can meet, or that every one meets, is refused: a class of it would be empty."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.running import Run

from dpnb_columnar.domain.condition import only_outcome, possible_values
from dpnb_columnar.domain.condition_parser import parse_condition
from dpnb_columnar.domain.declaration import read_declaration, read_domain
from dpnb_columnar.domain.editing import labelled
from dpnb_columnar.errors import UsageError

DECLARED = read_declaration(
    "town",
    {
        "attributes": {
            "age": {"lower": 0, "upper": 99, "missing_values": [99]},
            "sex": {"values": ["f", "m"]},
            "educ": {"values": ["1", "2", "3"], "missing_values": ["9"]},
            "hours": {"lower": 0, "upper": 80},
        }
    },
    "test",
)


@pytest.mark.parametrize(
    "condition",
    [
        "age > 200",
        "age < 0",
        "age = 99",
        "age > 98 AND age < 20",
        "educ > 3",
        "educ = 1 AND educ = 2",
        "age > 10 AND hours > 80",
        "sex = 'f' AND sex = 'm'",
    ],
)
def test_no_declared_value_meets_it(condition: str) -> None:
    with pytest.raises(UsageError, match=r"no declared value meets it.*so one class would be empty"):
        labelled(DECLARED, condition)


@pytest.mark.parametrize(
    "condition", ["age >= 0", "age <> 200", "educ < 4", "sex IN ('f', 'm')", "age < 50 OR age >= 50", "NOT age > 99"]
)
def test_every_declared_value_meets_it(condition: str) -> None:
    with pytest.raises(UsageError, match="every declared value meets it"):
        labelled(DECLARED, condition)


@pytest.mark.parametrize(
    "condition",
    [
        "age > 98",
        "age = 0",
        "age >= 98.5",
        "educ >= 3",
        "sex = 'f'",
        "age > 200 OR hours = 80",
        "age BETWEEN 98 AND 300",
        "educ = '01'",
    ],
)
def test_others_are_taken(condition: str) -> None:
    assert labelled(DECLARED, condition).label.condition is not None


def test_the_message_names_bounds_and_remedy(folder: Path, run: Run) -> None:
    pl.DataFrame({"age": [1, 2], "sex": ["f", "m"]}).write_parquet("town.parquet")
    entry = "[town.attributes]\nage = { lower = 0, upper = 99, step = 1 }\nsex = { values = ['f', 'm'] }\n"
    Path("datasets.toml").write_text(entry, encoding="utf-8")
    for verb in (("plan", "town.parquet"), ("domain", "edit", "town.parquet")):
        told = run(*verb, "--label", "age > 200", expected=64).err
        assert "no declared value meets it (declared: age 0 to 99)" in told
        assert "declare them first (lower and upper of a number)" in told


@pytest.mark.parametrize(("text", "outcome"), [("age > 5 AND age < 3", False), ("age > 3 OR age < 5", True)])
def test_a_condition_that_contradicts_itself_has_one_outcome(text: str, outcome: bool) -> None:
    condition = parse_condition(text)
    assert only_outcome(condition, {"age": possible_values(condition, "age")}) is outcome


def test_a_declared_one_is_read_as_ever() -> None:
    """Bounds of the label's columns are not declared."""
    label = {"condition": "age > 5 AND age < 3", "classes": ["no", "yes"]}
    assert read_domain("town", {"label": label, "attributes": {"sex": {"values": ["f", "m"]}}}, "test").classes


COMPARISONS = st.tuples(st.sampled_from("xy"), st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.integers(-1, 4))
CONDITIONS = st.recursive(
    COMPARISONS.map(lambda parts: " ".join(map(str, parts))),
    lambda parts: st.tuples(parts, st.sampled_from(["AND", "OR"]), parts, st.sampled_from(["", "NOT "])).map(
        lambda node: f"{node[3]}({node[0]} {node[1]} {node[2]})"
    ),
    max_leaves=5,
)


@given(CONDITIONS)
def test_the_outcomes_are_those_of_all_values(text: str) -> None:
    """Against every half number within the bounds, by Python's own rules."""
    condition = parse_condition(text)
    values = {name: possible_values(condition, name, Fraction(0), Fraction(3)) for name in condition.columns}
    program = (
        text.replace("<>", "!=").replace(" = ", " == ").replace("AND", "and").replace("OR", "or").replace("NOT", "not")
    )
    halves = [place / 2 for place in range(7)]
    outcomes = {bool(eval(program, {"x": x, "y": y})) for x in halves for y in halves}
    assert only_outcome(condition, values) == (outcomes.pop() if len(outcomes) == 1 else None)
