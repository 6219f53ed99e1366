"""Intervals of probabilities: how often they hold what exact counts would give, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from support.people import PEOPLE, people, people_domain
from support.releases import plan_and_release
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.budget import Budget
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Categorical, Domain, read_domain
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.mechanisms.mechanism import presence_counts
from dpnb_columnar.mechanisms.samples import on_scale
from dpnb_columnar.model import postprocessing, probability_intervals
from dpnb_columnar.model.model import Model
from dpnb_columnar.model.model_document import leaves, to_document
from dpnb_columnar.model.parameters import Table
from dpnb_columnar.model.query_noise import QueryNoise
from dpnb_columnar.model.released_intervals import NoiseIntervals
from dpnb_columnar.model.tuning import cell_prior
from dpnb_columnar.noise import ExactSampler, SeededBits


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
@pytest.mark.parametrize(("factor", "least", "most"), [(0.7, 0.0, 0.92), (1.3, 0.97, 1.0)])
def test_another_scale_of_the_noise_is_noticed(
    factor: float, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted fault: the scale of every count times 0.7, and times 1.3."""
    exact = probability_intervals.model_noise

    def planted(model: Model) -> dict[object, QueryNoise | None]:
        return {
            key: None if noise is None else replace(noise, scales=tuple(factor * scale for scale in noise.scales))
            for key, noise in exact(model).items()
        }

    monkeypatch.setattr(probability_intervals, "model_noise", planted)
    assert least <= coverage(2, 10_000, "0.3") <= most


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
