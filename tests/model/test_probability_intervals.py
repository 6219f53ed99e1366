"""Intervals of probabilities: how often they hold what exact counts would give, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.model_cases import UNPROTECTED, model_of, normal_of
from support.people import PEOPLE, people, people_domain
from support.releases import plan_and_release
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Request, compose
from dpnb_columnar.core.budget.composition import PARALLEL_CELLS
from dpnb_columnar.core.mechanisms.mechanism import on_scale, presence_counts
from dpnb_columnar.core.mechanisms.rules import WEIGHTED_COUNTS
from dpnb_columnar.core.mechanisms.tuning import cell_prior
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.core.queries.statistics import Statistics
from dpnb_columnar.domain import Categorical, Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.model import postprocessing
from dpnb_columnar.model.document import leaves, to_document
from dpnb_columnar.model.parameters import AttributeParameters, AttributeWeights, ClassCounts, Table
from dpnb_columnar.model.probability_intervals import NoiseIntervals, score_noise


def made_up(rows: int, classes: int, seed: int) -> tuple[pl.DataFrame, Domain]:
    """Rows of unequal classes, whose values are partly those of all rows, and their domain."""
    bits = np.random.default_rng(seed)
    part = np.array([0.6, 0.3, 0.07, 0.03][:classes]) if classes > 2 else np.array([0.75, 0.25])
    own = bits.choice(classes, rows, p=part)
    columns = {"y": np.array([f"c{code}" for code in range(classes)])[own]}
    attributes: dict[str, object] = {}
    for size in (2, 5, 9, 20, 50):
        common, by_class = bits.gamma(0.6, size=size), bits.gamma(0.6, size=(classes, size))
        likely = common / common.sum() + by_class / by_class.sum(axis=1, keepdims=True)
        code = (bits.random(rows)[:, None] > (likely / 2).cumsum(axis=1)[own]).sum(axis=1)
        values = [f"v{place}" for place in range(size)]
        columns[f"a{size}"] = np.array(values)[np.minimum(code, size - 1)]
        attributes[f"a{size}"] = {"values": values, **({"missing": "category"} if size > 5 else {})}
    amounts = np.clip(bits.gamma(2, 10, rows) + 6 * own, 0, 99).astype(int)
    columns["n"] = np.where(bits.random(rows) < 0.1, -1, amounts)
    attributes["n"] = {"lower": 0, "upper": 99, "missing_values": [-1], "missing": "category"}
    label = {"column": "y", "classes": [f"c{code}" for code in range(classes)]}
    return pl.DataFrame(columns), read_domain("made-up", {"label": label, "attributes": attributes}, "test")


def without_noise(model: Model, statistics: Statistics) -> Model:
    """The same construction of exact counts: bins, weights and line are those of the model."""
    shares = {(share.query, share.attribute): share for share in model.guarantee.composition}
    sizes = [int(count) for count in statistics.class_counts]
    parts = []
    for part in model.attributes:
        attribute, prior = model.domain[part.attribute], cell_prior(shares["counts", part.attribute])
        if isinstance(part, Table):
            assert isinstance(attribute, Categorical)
            exact = [[int(count) for count in row] for row in statistics.tables[part.attribute]]
            parts.append(postprocessing.table(attribute, exact, sizes, prior))
            continue
        counts = []
        for column in statistics.columns[part.attribute]:
            scaled = on_scale(attribute, column)  # type: ignore[arg-type]
            places = np.searchsorted(part.edges, scaled.codes, side="right") - 1  # type: ignore[union-attr]
            counts.append(np.bincount(places, scaled.counts, len(part.edges) - 1).astype(int).tolist())  # type: ignore[union-attr]
        drawn = presence_counts(statistics, attribute)  # type: ignore[arg-type]
        presence = postprocessing.presence(drawn, sizes, cell_prior(shares["values present", part.attribute]))
        own = [row[0] for row in drawn]
        bins = postprocessing.histogram(attribute, part.edges, counts, own, prior)  # type: ignore[arg-type, union-attr]
        parts.append(replace(bins, presence=presence))
    counted = postprocessing.class_sizes(model.domain, sizes, parts, shares)
    classes = replace(model.classes, released=tuple(sizes), probability=postprocessing.class_shares(counted))
    return replace(model, classes=classes, attributes=tuple(parts))


def coverage(classes: int, rows: int, epsilon: str, weights: str = "none", mechanism: str = "histogram") -> float:
    """Part of the intervals of 1,000 rows each of ten releases that hold the probability without noise."""
    held = []
    for seed in range(10):
        frame, domain = made_up(rows, classes, seed)
        statistics = dpnb.aggregate(frame, domain=domain)
        draw = ExactSampler(SeededBits(seed))
        model = plan_and_release(statistics, Budget(Fraction(epsilon)), mechanism, None, draw, weights)
        found = model.predict(frame[:1000], intervals=True)
        truth = without_noise(model, statistics).predict(frame[:1000])
        for name in domain.classes:
            lower, upper, exact = found[f"lower_{name}"], found[f"upper_{name}"], truth[f"probability_{name}"]
            held.append(((lower <= exact + 1e-12) & (exact <= upper + 1e-12)).mean())
    return float(np.mean(held))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.1", "0.3", "1"])
@pytest.mark.parametrize(
    ("classes", "weights", "mechanism"),
    [
        (2, "none", "histogram"),
        (2, "tempered", "histogram"),
        (2, "none", "adaptive-histogram"),
        (4, "none", "histogram"),
    ],
)
def test_intervals_hold_the_probability_without_noise_as_often_as_they_say(
    classes: int, weights: str, mechanism: str, epsilon: str
) -> None:
    """Too narrow and too wide fail alike. The level is 0.95; releases differ by some hundredths.

    Of four classes the smallest has 3 % of the rows: of fewer rows the noise leaves nothing to say, at epsilon 0.1.
    """
    assert 0.92 <= coverage(classes, 10_000 * classes // 2, epsilon, weights, mechanism) <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.1", "0.3", "1"])
@pytest.mark.parametrize("factor", [0.7, 1.0, 1.3])
def test_intervals_of_released_numbers_and_probabilities_hold_the_exact_ones(epsilon: str, factor: float) -> None:
    """And another scale is noticed by both."""
    released, values = [], []
    for seed in range(5):
        frame, domain = made_up(10_000, 2, seed)
        statistics = dpnb.aggregate(frame, domain=domain)
        model = plan_and_release(
            statistics, Budget(Fraction(epsilon)), "histogram", None, ExactSampler(SeededBits(seed))
        )
        intervals = NoiseIntervals(model)
        intervals._noises = {
            key: None if noise is None else replace(noise, scales=tuple(factor * scale for scale in noise.scales))
            for key, noise in intervals._noises.items()
        }
        exact = leaves(to_document(without_noise(model, statistics)))
        for noisy, true in zip(leaves(to_document(model)), exact, strict=True):
            known, number = intervals.of(noisy), true.drawn
            assert known.released is not None
            assert known.value is not None
            assert number is not None
            released.append(known.released[0] <= number <= known.released[1])
            values.append(known.value[0] - 1e-12 <= true.values[true.position] <= known.value[1] + 1e-12)
    for held in (np.mean(released), np.mean(values)):
        assert bool(0.93 <= held <= 0.97) is (factor == 1.0)


# The front doors.


def counted_model(
    queries: Sequence[tuple[str, str | None]], attributes: Sequence[AttributeParameters], **others: Any
) -> Model:
    """A model of 1,000 and 3,000 rows, each query of which has epsilon 1, in which nothing is added but a row."""
    requests = [Request(query, name, 2, PARALLEL_CELLS, "laplace", Fraction(1)) for query, name in queries]
    shares = compose(requests, Budget(Fraction(len(queries))))
    columns = {"sex": {"values": ["f", "m"], "missing": "row"}, "age": {"lower": 0, "upper": 100, "step": 1}}
    document = {"label": {"column": "label", "classes": ["no", "yes"]}, "attributes": columns, **others}
    guarantee = replace(UNPROTECTED, mechanism="paper", composition=shares)
    model = model_of(read_domain("test", document, "test"), attributes, guarantee=guarantee)
    return replace(model, classes=replace(model.classes, released=(1000, 3000)))


def test_noise_of_class_sizes_is_in_every_score() -> None:
    """Without attributes log(n + 1) has the variance 2 / (n + 1)^2, 2 that of the noise."""
    found = score_noise(counted_model([("class counts", None)], []))
    assert found.variance == pytest.approx([2 / 1001**2, 2 / 3001**2], rel=1e-9)
    assert found.mean == pytest.approx([math.log(1001), math.log(3001)], rel=1e-12)


def test_noise_of_class_sizes_divides_every_cell() -> None:
    """A weight of -1 adds log(n + 2) to log(n + 1); class counts and a table's sum together have the variance 4/3."""
    table = Table("sex", ((600, 400), (1500, 1500)), ((0.6, 0.4), (0.5, 0.5)))
    model = counted_model([("class counts", None), ("counts", "sex")], [table])
    model = replace(model, attribute_weights=AttributeWeights("fitted", (-1.0,), (0.0, 0.0)))
    expected = [4 / 3 * (1 / (n + 1) + 1 / (n + 2)) ** 2 for n in (1000, 3000)]
    assert score_noise(model).variance == pytest.approx(expected, rel=1e-9)


def test_intercepts_are_in_scores_of_weighted_rows() -> None:
    queries = [("class counts", None), (WEIGHTED_COUNTS, None)]
    model = counted_model(queries, [], weight={"column": "w", "cap": 400})
    model = replace(model, weighted_classes=ClassCounts((20_000, 60_000), (0.25, 0.75)))
    plain = AttributeWeights("fitted", (), (0.0, 0.0))
    moved = replace(plain, intercepts=(0.5, -0.75))
    means = [score_noise(replace(model, attribute_weights=weights)).mean for weights in (plain, moved)]
    assert means[1] - means[0] == pytest.approx([0.5, -0.75], abs=1e-12)


def test_every_class_has_the_scale_of_its_own_noise() -> None:
    """A row moves a mean of n values from 0 to 100 by 100 / n at most: at epsilon 1 95 % are within log(20) of that."""
    part = replace(normal_of("age", [30, 60], [9, 9]), released_mean=(30.0, 60.0))
    model = counted_model([("class counts", None), ("mean", "age"), ("variance", "age")], [part])
    intervals = NoiseIntervals(replace(model, guarantee=replace(model.guarantee, mechanism="global-variance")))
    found = [intervals.of(leaf).released for leaf in leaves(to_document(model)) if leaf.statistic == "mean"]
    halves = [math.log(20) * 100 / n for n in (1000, 3000)]
    assert found == [pytest.approx((mean - half, mean + half)) for mean, half in zip((30, 60), halves, strict=True)]


def test_columns_of_intervals_stand_behind_the_probabilities() -> None:
    rows = people(3000)
    model = plan_and_release(dpnb.aggregate(rows, domain=people_domain()), Budget(Fraction(1)), "histogram")
    found = model.predict(rows, keep=["age"], intervals=True)
    plain = model.predict(rows, keep=["age"])
    ends = ["lower_low", "lower_high", "upper_low", "upper_high"]
    assert found.columns == [*plain.columns[:-1], *ends, "skipped"]
    assert found.drop(ends).equals(plain)
    low, high = (found[f"lower_{name}"].to_numpy() for name in ("low", "high"))
    assert (low <= found["upper_low"].to_numpy()).all()
    assert low == pytest.approx(1 - found["upper_high"].to_numpy())
    assert high == pytest.approx(1 - found["upper_low"].to_numpy())
    lazy = model.predict(rows.lazy(), keep=["age"], intervals=True)
    assert lazy.collect().equals(found)  # type: ignore[attr-defined]


def test_a_kept_column_cannot_have_the_name_of_an_end() -> None:
    rows = people(300).with_columns(lower_low=1)
    model = plan_and_release(dpnb.aggregate(rows, domain=people_domain()), Budget(Fraction(1)), "histogram")
    assert "lower_low" in model.predict(rows, keep=["lower_low"]).columns
    with pytest.raises(DataError, match="lower_low would stand beside a result"):
        model.predict(rows, keep=["lower_low"], intervals=True)


@pytest.mark.parametrize(
    ("mechanism", "why"),
    [("smooth", "not told"), ("global", "no counts"), ("none", "adds no noise"), ("paper", "not told")],
)
def test_models_whose_noise_is_not_that_of_counts_are_refused(mechanism: str, why: str) -> None:
    rows = people(300)
    model = plan_and_release(dpnb.aggregate(rows, domain=people_domain()), Budget(Fraction(1)), mechanism)
    with pytest.raises(UsageError, match=why) as raised:
        model.predict(rows, intervals=True)
    assert "predict without intervals" in str(raised.value)


def test_tables_alone_have_intervals_under_any_mechanism() -> None:
    document = {**PEOPLE, "attributes": {"sex": PEOPLE["attributes"]["sex"]}}
    rows = people(3000)
    statistics = dpnb.aggregate(rows, domain=people_domain(document))
    model = plan_and_release(statistics, Budget(Fraction(1)), "smooth")
    assert "upper_high" in model.predict(rows, intervals=True).columns
    cauchy = plan_and_release(statistics, Budget(Fraction(1)), "paper")
    with pytest.raises(UsageError, match="no variance"):
        cauchy.predict(rows, intervals=True)


def test_the_command_writes_intervals(people_file: Path, run: Run) -> None:
    run("train", people_file, "--mechanism", "histogram", "--seed", 1, "--output", "m.json")
    run("predict", "m.json", people_file, "--intervals", "--output", "s.parquet")
    scored = pl.read_parquet("s.parquet")
    assert scored.columns[3:7] == ["lower_low", "lower_high", "upper_low", "upper_high"]
    run("train", people_file, "--mechanism", "smooth", "--seed", 1, "--output", "n.json")
    failed = run("predict", "n.json", people_file, "--intervals", "--output", "t.parquet", expected=64)
    assert "histogram" in failed.err
    assert not Path("t.parquet").exists()
