"""What an attribute tells about the class, in bits."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden_model import golden_model
from support.mechanisms import MECHANISMS
from support.model_cases import declared, histogram_of, measurement, model_of, normal_of, presence_of, table_of

import dpnb_columnar as dpnb
from dpnb_columnar.model.parameters import AttributeParameters, AttributeWeights, CalibrationLine, NaiveBayes, Normal
from dpnb_columnar.model.query_noise import QueryNoise, model_noise
from dpnb_columnar.report.informative_attributes import (
    Evidence,
    Noises,
    beyond_noise,
    informative_attributes,
    line_text,
    mean_texts,
    mutual_information,
    ratio_text,
)

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
    wages = histogram_of("wage", [0, 5, 10], [0.5, 0.5], [0.5, 0.5])
    measured = [
        measurement("counts", "wage", (125, 125), (495, 495)),
        *(measurement("values present", name, (250, 750), (990, 10)) for name in ("hours", "wage")),
    ]
    parts = [replace(normal_of("hours", [5, 5], [2, 2]), presence=presence), replace(wages, presence=presence)]
    model = model_of(declared({"hours": pension, "wage": pension}), parts, measured=measured)
    hours, wage = informative_attributes(model)
    assert hours.telling == ("mean 0; missing (2 times)", "mean 0")
    assert wage.telling == ("missing (2 times)", "0 to 4 (1.6 times)")
    assert wage.values == (2, 0)
    assert hours.bits == pytest.approx(wage.bits)  # all that either tells is whether it is there


def rows_of_two_classes() -> pl.DataFrame:
    """Of which ``job`` and ``age`` have to do with the class, ``coin`` has not, and nobody has the job ``none``."""
    generator = np.random.default_rng(11)
    paid = generator.random(8000) < 0.3
    jobs = np.where(generator.random(8000) < np.where(paid, 0.7, 0.2), "manager", "clerk")
    return pl.DataFrame(
        {
            "label": np.where(paid, "yes", "no"),
            "job": jobs,
            "coin": np.where(generator.random(8000) < 0.5, "head", "tail"),
            "age": np.clip(generator.normal(np.where(paid, 55, 40), 10), 0, 99).astype(int),
        }
    )


TOWN = {
    "job": {"values": ["clerk", "manager", "none"], "missing": "category"},
    "coin": {"values": ["head", "tail"]},
    "age": {"lower": 0, "upper": 99, "step": 1},
}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name != "majority"])
def test_every_mechanism_says_what_its_noise_leaves(mechanism: str, neighbours: str) -> None:
    protected = {"epsilon": 2, "neighbours": neighbours}
    model = dpnb.train(
        rows_of_two_classes(), domain=declared(TOWN), mechanism=mechanism, attribute_weights="none", **protected
    )
    told = {each.name: each for each in informative_attributes(model)}
    job, age, coin = told["job"], told["age"], told["coin"]
    if mechanism == "paper":  # counts with Cauchy noise as well
        assert all(each.telling == ("-", "-") and each.remark == "noise not subtracted" for each in (job, coin))
        assert "such long tails" in beyond_noise([job])
        return
    times = r"\(\S+ times\)" if mechanism == "none" else r"\(\S+ to \S+ times\)"
    assert re.fullmatch(rf"clerk {times}", job.telling[0])
    assert re.fullmatch(rf"manager {times}", job.telling[1])
    assert job.values == (0, 1)
    assert re.fullmatch(r"\S+" if mechanism == "none" else r"\S+ \(\S+ to \S+\)", job.bits_text)
    assert job.interval is not None
    assert 0.1 < job.interval[0] <= job.interval[1] < 0.3
    assert coin.bits < 0.005
    follows_rows = mechanism in ("smooth", "trimmed-mean")
    assert (age.interval is None) is follows_rows
    assert ("noise not told" in age.bits_text) is follows_rows
    if mechanism in ("global", "global-variance"):
        assert all(re.fullmatch(r"mean \S+ \(\S+ to \S+\)", text) for text in age.telling)
    elif follows_rows:
        assert all(re.fullmatch(r"trimmed mean \S+", text) for text in age.telling)
    assert ("confidential" in beyond_noise([*told.values()])) is follows_rows


def means_of(part: AttributeParameters, model: NaiveBayes, noises: Noises) -> list[list[float]]:
    """Per class, the printed mean of an attribute, and the ends of its interval."""
    assert isinstance(part, Normal)
    return [list(map(float, re.findall(r"-?[\d.]+", text))) for text in mean_texts(model, part, noises)]


@given(st.floats(-1e9, 1e9) | st.floats(-10, 110), st.floats(1e-6, 1e6))
def test_a_released_mean_is_within_bounds_and_its_own_interval(released: float, scale: float) -> None:
    """It is no mean of the bell curve that the bounds cut, and the interval is that of the noise, rounded outwards."""
    part, drawn = normal_of("age", [40, 50], [9, 9]), (released, 17.25)
    noises = {("mean", "age"): QueryNoise("laplace", (scale, 2 * scale), "age", whole=False)}
    measured = [measurement("mean", "age", *([each] for each in drawn))]
    found = means_of(part, model_of(declared({"age": TOWN["age"]}), [part], measured=measured), noises)
    for (mean, low, high), exact, half in zip(found, drawn, (1, 2), strict=True):
        ends = [
            min(max(end, 0.0), 99.0)
            for end in (exact - half * scale * math.log(20), exact + half * scale * math.log(20))
        ]
        rounding = (ends[1] - ends[0]) / 10 + 1e-8
        assert 0 <= low <= mean <= high <= 99
        assert mean == pytest.approx(min(max(exact, 0), 99), abs=rounding)
        assert ends[0] - rounding <= low <= ends[0] + 1e-9
        assert ends[1] - 1e-9 <= high <= ends[1] + rounding


def test_a_released_mean_under_a_logarithm_is_one_of_logarithms() -> None:
    domain = declared({"wage": {"lower": 0, "upper": 999, "step": 1, "transform": "log1p"}})
    codes = [[each / domain.numeric[0].scale.step] for each in (3.25, 70.0)]
    measured = [measurement("mean", "wage", *codes)]
    model = model_of(domain, [normal_of("wage", [3, 4], [1, 1])], measured=measured)
    (wage,) = informative_attributes(model)
    assert wage.telling == ("mean of log(1 + x) 3.25", "mean of log(1 + x) 6.908")


@pytest.mark.slow
def test_the_interval_of_a_mean_holds_the_mean_of_the_rows() -> None:
    """In 93.4 % of all releases or more, of 95 %: padding and cutting the sample moves its mean as well."""
    rows, domain = rows_of_two_classes(), declared({"age": TOWN["age"]})
    exact = rows.group_by("label").agg(pl.col("age").mean()).sort("label")["age"]
    held, releases = 0, 200
    for _ in range(releases):
        model = dpnb.train(rows, domain=domain, mechanism="global", attribute_weights="none", epsilon=1)
        found = means_of(model.attributes[0], model, model_noise(model))
        held += sum(low <= mean <= high for (_, low, high), mean in zip(found, exact, strict=True))
    # Beyond four deviations of the number there would be.
    assert abs(held / (2 * releases) - 0.945) < 4 * math.sqrt(0.95 * 0.05 / (2 * releases))


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (1.94, 2.31, "1.9 to 2.4 times"),
        (1.0003, 1.2, "1.0003 to 1.2 times"),
        (1.986, 2.004, "1.986 to 2.004 times"),
        (123.4, 400, "120 to 400 times"),
        (2.5, 2.5, "2.5 times"),
        (1.5, 1e6, "1.5 times or more"),
    ],
)
def test_the_ends_of_ratios_are_rounded_outwards(low: float, high: float, text: str) -> None:
    assert ratio_text(Evidence(0, low, high)) == text


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
