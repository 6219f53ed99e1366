"""The noise of each query as public facts tell it, beside the draws of a release and the families that make them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dpnb_columnar.core.budget import Budget, Neighbours, Pure
from dpnb_columnar.core.mechanisms.smooth_noise import smooth_noise
from dpnb_columnar.core.noise import Laplace, NoiseFamily
from support.mechanisms import PRIVATE
from support.people import PEOPLE, people, people_domain
from support.recorded_draws import Forced
from support.releases import plan_and_release

import dpnb_columnar as dpnb
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
