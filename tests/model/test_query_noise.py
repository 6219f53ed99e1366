"""The noise of each query as public facts tell it, beside the draws of a release and the families that make them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from support.mechanisms import PRIVATE
from support.model_cases import UNPROTECTED, measurement, model_of, normal_of
from support.people import PEOPLE, people, people_domain
from support.recorded_draws import Forced
from support.releases import plan_and_release
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Neighbours, Pure, Request, compose
from dpnb_columnar.core.budget.composition import PARALLEL_CELLS
from dpnb_columnar.core.measurement import WEIGHTED_COUNTS, by_key
from dpnb_columnar.core.mechanisms.mechanism import on_scale, presence_counts
from dpnb_columnar.core.mechanisms.smooth_noise import smooth_noise
from dpnb_columnar.core.mechanisms.tuning import cell_prior
from dpnb_columnar.core.noise import ExactSampler, Laplace, NoiseFamily, SeededBits
from dpnb_columnar.core.queries.statistics import Statistics
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.model import postprocessing
from dpnb_columnar.model.document import leaves, to_document
from dpnb_columnar.model.parameters import AttributeParameters, AttributeWeights, Presence, Priors, Table
from dpnb_columnar.model.probability_intervals import NoiseIntervals, score_noise
from dpnb_columnar.model.query_noise import LEVEL, QueryNoise, model_noise, query_noise

DOMAINS: list[dict[str, Any]] = [
    {**PEOPLE},
    {**PEOPLE, "weight": {"column": "w", "cap": 400, "step": 2}},
    {**PEOPLE, "unit": {"column": "u", "rows": 3}},
    {
        **PEOPLE,
        "attributes": {
            "age": {"lower": 0, "upper": 100, "step": "0.5", "missing": "category"},
            "hours": {"lower": 0, "upper": 98, "transform": "log1p", "missing": "skip"},
            "sex": {"values": ["f", "m"]},
        },
    },
]

FAMILIES = ["laplace", "polyplace", "student-1", "student-3", "student-50", "cauchy", "nissim-cauchy"]


def family(name: str, epsilon: Fraction) -> NoiseFamily:
    return Laplace(epsilon) if name == "laplace" else smooth_noise(name, Pure(epsilon))


def told(name: str, epsilon: Fraction, *, whole: bool = True) -> QueryNoise:
    """The noise of counts that a share of this loss pays for."""
    shares = plan_and_release(counted(PEOPLE), Budget(Fraction(1)), "paper").guarantee.composition
    share = replace(shares[0], noise=name, row_cost=Pure(epsilon))
    noise = query_noise(people_domain(), share)
    assert noise is not None
    return replace(noise, whole=whole)


def counted(document: dict[str, Any] | Any) -> Any:
    rows = people(300).with_columns(w=20, u=np.arange(300) // 2)
    return dpnb.aggregate(rows, domain=people_domain(document))


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize(
    ("mechanism", "noise", "delta"),
    [
        *((mechanism, None, 0) for mechanism in PRIVATE),
        ("paper", "student-3", 0),
        ("paper", "gaussian", Fraction(1, 10**6)),
        ("smooth", "laplace", Fraction(1, 10**6)),
        ("adaptive-histogram", "arsinh-normal", Fraction(1, 10**6)),
    ],
)
@pytest.mark.parametrize("document", DOMAINS)
def test_the_noise_that_is_told_is_the_noise_that_is_drawn(
    document: dict[str, Any], mechanism: str, noise: str | None, delta: Fraction, relation: Neighbours
) -> None:
    """Of every number of every query whose sensitivity is a constant; and of all others it is not told."""
    if "unit" in document and delta:
        return  # refused: only pure costs add up to that of a unit
    forced, budget = Forced(57), Budget(Fraction(3), relation, delta=Fraction(delta))
    model = plan_and_release(counted(document), budget, mechanism, noise, forced)
    units = {"mean": 1, "deviation": 1, "variance": 2, "mean of squares": 2}
    drawn = Counter(float(f"{float(call.scale) * call.noise.quantile(1 - LEVEL):.9g}") for call in forced.calls)
    known: Counter[float] = Counter()
    for share, noise_ in zip(model.guarantee.composition, model_noise(model).values(), strict=True):
        moves = share.query in units
        assert (noise_ is None) is (moves and mechanism not in ("global", "global-variance"))
        if noise_ is None:
            continue
        attribute = model.domain[share.attribute] if moves else None
        step = 1 if attribute is None else attribute.scale.step ** units[share.query]  # type: ignore[union-attr]
        for klass in range(2):
            known[float(f"{noise_.quantile(klass=klass) / step:.9g}")] += share.values // 2
    assert known <= drawn
    if mechanism in ("global", "global-variance", "histogram", "majority"):
        assert known == drawn


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(20)])
def test_a_family_has_the_quantiles_of_the_one_that_draws(name: str, epsilon: Fraction) -> None:
    own, drawn = told(name, epsilon, whole=False), family(name, epsilon)
    for level in (0.01, 0.5, 0.95, 0.9999):
        assert own.quantile(level) == pytest.approx(drawn.quantile(1 - level), rel=1e-9)
    # The standard deviation by the survival function: E Z^2 is the integral of 2 z P(|Z| > z).
    if math.isfinite(own.deviation()):
        points = np.concatenate([[0], np.geomspace(own.quantile(1e-6), own.quantile(1 - 1e-14), 20_000)])
        second = np.trapezoid(2 * points * drawn.survival(points), points)
        assert own.deviation() == pytest.approx(math.sqrt(second), rel=0.02)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("factor", [0.7, 1.0, 1.3])
def test_draws_have_the_scale_that_is_told_and_no_other(name: str, factor: float) -> None:
    """Of 20,000 draws the part within the interval is the level; another scale is noticed."""
    own = told(name, Fraction(1, 10))
    off = replace(own, scales=tuple(factor * scale for scale in own.scales))
    noise = off.draws(np.random.default_rng(2), 20_000)
    inside = np.mean(np.abs(noise) <= own.half_width())
    inner = np.mean(np.abs(noise) <= own.half_width(0.5))
    agrees = bool(abs(inside - LEVEL) < 0.006) and bool(abs(inner - 0.5) < 0.03)
    assert agrees is (factor == 1.0)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 3), Fraction(1)])
def test_an_interval_holds_the_exact_count_as_often_as_it_says(epsilon: Fraction) -> None:
    """Exactly, by the probabilities of whole draws: a number less on either side would hold it too seldom."""
    noise = told("laplace", epsilon)
    low, high = noise.interval(100.0)
    half = noise.half_width()
    assert (low, high) == (100 - half, 100 + half)
    inside = -math.expm1(-float(epsilon) * (half + 0.5))
    assert LEVEL <= inside < LEVEL + (1 - LEVEL) * -math.expm1(-float(epsilon))
    assert noise.interval(-1000.0) == (0.0, 0.0)


def test_the_unit_of_the_released_number_is_named() -> None:
    units = {}
    for document, mechanism in ((DOMAINS[1], "histogram"), (DOMAINS[3], "global-variance")):
        for key, noise in model_noise(plan_and_release(counted(document), Budget(Fraction(1)), mechanism)).items():
            assert noise is not None
            units[key] = noise.unit
    assert units["weighted class counts", None] == "steps of w"
    assert units["counts", "sex"] == units["values present", "age"] == "rows"
    assert units["mean", "age"] == "age"
    assert units["variance", "hours"] == "log(1 + hours), squared"


def test_moments_need_the_sizes_of_their_samples() -> None:
    share = plan_and_release(counted(PEOPLE), Budget(Fraction(1)), "global").guarantee.composition[1]
    with pytest.raises(ValueError, match="public sizes"):
        query_noise(people_domain(), share)


# Intervals of probabilities: how often they hold what exact counts would give, and what is refused.


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
    parts, found = [], {("class counts", None): [[size] for size in sizes]}
    for part in model.attributes:
        attribute, prior = model.domain[part.attribute], cell_prior(shares["counts", part.attribute])
        if isinstance(part, Table):
            exact = [[int(count) for count in row] for row in statistics.tables[part.attribute]]
            parts.append(Table(part.attribute, postprocessing.probabilities(exact, sizes, prior)))
            found["counts", part.attribute] = exact
            continue
        counts = []
        for column in statistics.columns[part.attribute]:
            scaled = on_scale(attribute, column)  # type: ignore[arg-type]
            places = np.searchsorted(part.edges, scaled.codes, side="right") - 1  # type: ignore[union-attr]
            counts.append(np.bincount(places, scaled.counts, len(part.edges) - 1).astype(int).tolist())  # type: ignore[union-attr]
        drawn = presence_counts(statistics, attribute)  # type: ignore[arg-type]
        added = cell_prior(shares["values present", part.attribute])
        presence = Presence(postprocessing.probabilities(drawn, sizes, added))
        own = [row[0] for row in drawn]
        bins = postprocessing.probabilities(counts, own, prior)
        parts.append(replace(part, probability=bins, presence=presence))  # type: ignore[call-arg]
        found["counts", part.attribute], found["values present", part.attribute] = counts, drawn
    measured = tuple(
        replace(each, values=tuple(map(tuple, found[each.key]))) if each.key in found else each
        for each in model.measurements
    )
    counted = postprocessing.class_sizes(model.domain, by_key(measured))
    classes = Priors(postprocessing.class_shares(counted))
    return replace(model, measurements=measured, classes=classes, attributes=tuple(parts))


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
    queries: Mapping[tuple[str, str | None], Sequence[Sequence[float]]],
    attributes: Sequence[AttributeParameters],
    **others: Any,
) -> Model:
    """A model of 1,000 and 3,000 rows, each query of which has epsilon 1, in which nothing is added but a row."""
    queries = {("class counts", None): [[1000], [3000]], **queries}
    requests = [Request(query, name, 2, PARALLEL_CELLS, "laplace", Fraction(1)) for query, name in queries]
    shares = compose(requests, Budget(Fraction(len(queries))))
    measured = [
        measurement(*key, *queries[key], share=each, scale=1.0) for key, each in zip(queries, shares, strict=True)
    ]
    columns = {"sex": {"values": ["f", "m"], "missing": "row"}, "age": {"lower": 0, "upper": 100, "step": 1}}
    document = {"label": {"column": "label", "classes": ["no", "yes"]}, "attributes": columns, **others}
    guarantee = replace(UNPROTECTED, mechanism="paper", composition=shares)
    return model_of(read_domain("test", document, "test"), attributes, guarantee=guarantee, measured=measured)


def test_noise_of_class_sizes_is_in_every_score() -> None:
    """Without attributes log(n + 1) has the variance 2 / (n + 1)^2, 2 that of the noise."""
    found = score_noise(counted_model({}, []))
    assert found.variance == pytest.approx([2 / 1001**2, 2 / 3001**2], rel=1e-9)
    assert found.mean == pytest.approx([math.log(1001), math.log(3001)], rel=1e-12)


def test_noise_of_class_sizes_divides_every_cell() -> None:
    """A weight of -1 adds log(n + 2) to log(n + 1); class counts and a table's sum together have the variance 4/3."""
    table = Table("sex", ((0.6, 0.4), (0.5, 0.5)))
    model = counted_model({("counts", "sex"): [[600, 400], [1500, 1500]]}, [table])
    model = replace(model, attribute_weights=AttributeWeights("fitted", (-1.0,), (0.0, 0.0)))
    expected = [4 / 3 * (1 / (n + 1) + 1 / (n + 2)) ** 2 for n in (1000, 3000)]
    assert score_noise(model).variance == pytest.approx(expected, rel=1e-9)


def test_intercepts_are_in_scores_of_weighted_rows() -> None:
    sums = {(WEIGHTED_COUNTS, None): [[20_000], [60_000]]}
    model = counted_model(sums, [], weight={"column": "w", "cap": 400})
    model = replace(model, weighted_classes=Priors((0.25, 0.75)))
    plain = AttributeWeights("fitted", (), (0.0, 0.0))
    moved = replace(plain, intercepts=(0.5, -0.75))
    means = [score_noise(replace(model, attribute_weights=weights)).mean for weights in (plain, moved)]
    assert means[1] - means[0] == pytest.approx([0.5, -0.75], abs=1e-12)


def test_every_class_has_the_scale_of_its_own_noise() -> None:
    """A row moves a mean of n values from 0 to 100 by 100 / n at most: at epsilon 1 95 % are within log(20) of that."""
    moments = {("mean", "age"): [[30.0], [60.0]], ("variance", "age"): [[81.0], [81.0]]}
    model = counted_model(moments, [normal_of("age", [30, 60], [9, 9])])
    scales = tuple(100 / n for n in (1000, 3000))
    measured = [replace(each, scale=scales) if each.query == "mean" else each for each in model.measurements]
    model = replace(model, measurements=tuple(measured))
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
