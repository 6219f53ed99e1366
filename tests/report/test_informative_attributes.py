"""What an attribute tells about the class, in bits."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden_model import golden_model
from support.model_cases import declared, histogram_of, model_of, normal_of, presence_of, table_of

from dpnb_columnar.model.parameters import AttributeWeights, CalibrationLine
from dpnb_columnar.report.informative_attributes import informative_attributes, line_text, mutual_information

CELLS = st.lists(st.lists(st.floats(0.01, 1), min_size=3, max_size=3), min_size=2, max_size=4)


def entropy(probability: np.ndarray) -> float:
    return -sum(p * math.log2(p) for p in probability.ravel() if p > 0)


@given(CELLS)
def test_information_is_what_the_entropies_leave(cells: list[list[float]]) -> None:
    """I(X; C) = H(X) + H(C) - H(X, C), at least 0 and at most the entropy of either."""
    joint = np.array(cells) / np.sum(cells)
    prior = joint.sum(axis=1)
    found = mutual_information(prior, joint / prior[:, None])
    expected = entropy(prior) + entropy(joint.sum(axis=0)) - entropy(joint)
    assert found == pytest.approx(expected, abs=1e-9)
    assert -1e-9 < found <= min(entropy(prior), entropy(joint.sum(axis=0))) + 1e-9


def test_a_copy_of_the_class_tells_all_and_a_coin_nothing() -> None:
    prior = np.array([0.5, 0.5])
    assert mutual_information(prior, np.eye(2)) == pytest.approx(1)
    assert mutual_information(prior, np.full((2, 2), 0.5)) == pytest.approx(0)


def test_tiny_probabilities_are_no_zeros() -> None:
    """Neither the product of two of them nor their quotient leaves what a float can hold."""
    prior = np.array([1e-298, 1.0])
    assert mutual_information(prior, np.array([[1.0, 1e-300], [1e-305, 1.0]])) == pytest.approx(0, abs=1e-200)


def test_every_kind_of_attribute_is_ranked_and_described() -> None:
    model = golden_model()
    ranked = informative_attributes(model)
    assert sorted(each.name for each in ranked) == sorted(each.attribute for each in model.attributes)
    moves = [each.bits * abs(each.weight) for each in ranked]
    assert moves == sorted(moves, reverse=True)
    assert all(len(each.telling) == len(model.domain.classes) for each in ranked)
    assert all(math.isfinite(each.bits) for each in ranked)


def test_a_missing_value_that_tells_the_class_is_named() -> None:
    """As of hours of work, which those without work do not have."""
    pension = {"lower": 0, "upper": 9, "step": 1, "missing": "category"}
    presence = presence_of([0.25, 0.75], [0.99, 0.01])
    parts = [
        replace(normal_of("hours", [5, 5], [2, 2]), presence=presence),
        replace(histogram_of("wage", [0, 5, 10], [0.5, 0.5], [0.5, 0.5]), presence=presence),
    ]
    hours, wage = informative_attributes(model_of(declared({"hours": pension, "wage": pension}), parts))
    assert [text.split(", ")[1] for text in hours.telling] == ["missing 75%", "missing 1%"]
    assert wage.telling[0] == "missing (2 times)"
    assert wage.telling[1].startswith(("0 to 4 (", "5 to 9 ("))


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        (CalibrationLine(0, (-1.0, 1.0), (-2.0, 3.0)), "the other class to no follow a line through 2 points"),
        (CalibrationLine(0, (-1.0, 1.0), (-2.0, 3.0)), "it is predicted for rows of a margin up to -0.20"),
        (CalibrationLine(1, (-1.0, 1.0), (-2.0, -1.0)), "it is predicted for every row"),
        (CalibrationLine(1, (-1.0, 1.0), (0.0, 1.0)), "it is predicted for no row"),
        (None, ""),
    ],
)
def test_a_line_is_said_in_words(line: CalibrationLine | None, ends: str) -> None:
    """Of equal odds the first class is predicted: at log-odds of 0 no row is of the second one."""
    model = model_of(declared({"x": {"values": ["a"]}}), [table_of("x", [1.0], [1.0])])
    model = replace(model, attribute_weights=AttributeWeights("calibrated", (1.0,), (0.0, 0.0), line=line))
    assert ends in line_text(model)
    assert bool(line_text(model)) is (line is not None)
