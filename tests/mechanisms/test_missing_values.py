"""Releases of attributes that some rows have no value of: the queries, the sizes of samples, the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from support.mechanisms import MECHANISMS, PRIVATE, SPREAD
from support.model_cases import declared
from support.releases import plan_and_release

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, total
from dpnb_columnar.core.mechanisms.mechanism import PRESENCE
from dpnb_columnar.core.mechanisms.plan import plan
from dpnb_columnar.core.mechanisms.smooth import exact_answers
from dpnb_columnar.core.noise import NoiseFamily
from dpnb_columnar.core.queries.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import Domain, Missing
from dpnb_columnar.model.parameters import Histogram, Normal

CLASSES = (1000, 400)
PRESENT = (600, 100)
"""Rows of each class, and those of them that have a value."""

MOMENTS = [name for name in PRIVATE if name not in ("histogram", "majority")]
"""Mechanisms that use samples of public size."""


def domain(missing: Missing | None) -> Domain:
    """One numeric attribute with values from 0 to 20."""
    attribute = {"lower": 0, "upper": 20, "step": 1} | ({"missing": missing.value} if missing else {})
    return declared({"x": attribute})


def statistics(missing: Missing | None, present: Sequence[int] = PRESENT) -> Statistics:
    """Half of the values that there are lie at 9, half at 11 in the first class; one above that in the second."""
    zeros, classes = np.zeros(2, dtype=np.int64), np.arange(2)
    cells = [Cells(None, classes, zeros, np.array(CLASSES))]
    cells += [Cells("x", classes, zeros + code + classes, np.array(present) // 2) for code in (9, 11)]
    return assemble(domain(missing), cells)


@dataclass
class NoNoise:
    """A sampler that adds nothing, or answers every count alike, and notes what it was asked."""

    count: int | None = None
    counts: list[Fraction] = field(default_factory=list)
    private: bool = False

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        if grid_bits:
            return location
        self.counts.append(location)
        return location if self.count is None else Fraction(self.count)


def released(mechanism: str, missing: Missing | None, draw: NoNoise | None = None, epsilon: int = 1000) -> Model:
    return plan_and_release(statistics(missing), Budget(Fraction(epsilon)), mechanism, draw=draw or NoNoise())


def parameters(model: Model) -> Normal | Histogram:
    (each,) = model.attributes
    assert isinstance(each, Normal | Histogram)
    return each


def queries(mechanism: str, missing: Missing | None) -> list[tuple[str, int]]:
    shares = plan(domain(missing), Budget(Fraction(1)), mechanism).shares
    return [(share.query, share.values) for share in shares]


# What is asked.


@pytest.mark.parametrize("mechanism", PRIVATE)
def test_what_is_asked_about_missing_values(mechanism: str) -> None:
    """Nothing, where nothing is declared; the values there are, where samples need it; those and the missing ones."""
    usual = queries(mechanism, None)
    assert PRESENCE not in dict(usual)
    assert queries(mechanism, Missing.ROW) == usual
    first, *others = usual
    skip, category = [first, (PRESENCE, 2), *others], [first, (PRESENCE, 4), *others]
    assert queries(mechanism, Missing.SKIP) == (skip if mechanism in MOMENTS else usual)
    assert queries(mechanism, Missing.CATEGORY) == (usual if mechanism == "majority" else category)


@pytest.mark.parametrize("mechanism", MOMENTS)
@pytest.mark.parametrize("missing", [Missing.SKIP, Missing.CATEGORY])
def test_the_query_has_a_share_of_its_own(mechanism: str, missing: Missing) -> None:
    """A share like that of the class counts, of Laplace noise; all together are what the budget allows."""
    planned = plan(domain(missing), Budget(Fraction(3)), mechanism)
    counts, presence, *_ = planned.shares
    assert (presence.attribute, presence.noise) == ("x", "laplace")
    assert presence.cost == counts.cost
    assert total(planned.shares) == planned.total
    assert sum((share.cost.epsilon for share in planned.shares), Fraction(0)) == 3  # type: ignore[union-attr]
    assert released(mechanism, missing, epsilon=3).guarantee.composition[1].query == PRESENCE


@pytest.mark.parametrize("mechanism", MOMENTS)
def test_presence_is_drawn_before_anything_else_about_an_attribute(mechanism: str) -> None:
    draw = NoNoise()
    released(mechanism, Missing.CATEGORY, draw)
    assert draw.counts[:6] == [1000, 400, 600, 400, 100, 300]
    draw = NoNoise()
    released(mechanism, Missing.SKIP, draw)
    assert draw.counts[:4] == [1000, 400, 600, 100]


# The samples.


@pytest.mark.parametrize("mechanism", SPREAD)
@pytest.mark.parametrize("missing", [Missing.SKIP, Missing.CATEGORY])
def test_moments_are_those_of_the_values_there_are(mechanism: str, missing: Missing) -> None:
    each = parameters(released(mechanism, missing))
    assert isinstance(each, Normal)
    assert each.released_mean == (10, 11)
    name, spread = each.released_spread
    squares = {"released_variance": (1, 1), "released_deviation": (1, 1), "released_square": (101, 122)}
    assert spread == squares[name]


@pytest.mark.parametrize("mechanism", ["global", "global-variance"])
def test_undeclared_missing_values_are_padded_to_the_size_of_the_class(mechanism: str) -> None:
    """Half of the pads lie at each bound: the mean keeps its place where the bounds are as far, the spread grows."""
    each = parameters(released(mechanism, None))
    assert isinstance(each, Normal)
    assert each.released_mean == pytest.approx((10, (100 * 11 + 150 * 20) / 400))
    assert each.presence is None
    assert each.released_spread[1][0] > 1


@pytest.mark.parametrize(
    ("mechanism", "sizes"),
    [("smooth", {600, 100}), ("paper", {600, 100}), ("trimmed-mean", {600, 100}), ("adaptive-histogram", {700})],
)
def test_samples_are_as_large_as_what_was_released(
    mechanism: str, sizes: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "histogram" if mechanism == "adaptive-histogram" else "smooth"
    seen: set[int] = set()

    def recorded(asked: Sequence[object]) -> object:
        seen.update(size for each in asked for size in each.sizes)  # type: ignore[attr-defined]
        return exact_answers(asked)  # type: ignore[arg-type]

    monkeypatch.setattr(f"dpnb_columnar.core.mechanisms.{module}.exact_answers", recorded)
    released(mechanism, Missing.SKIP)
    assert seen == sizes
    seen.clear()
    released(mechanism, None)
    assert seen == ({sum(CLASSES)} if mechanism == "adaptive-histogram" else set(CLASSES))


# What is made of it.


@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name != "majority"])
def test_a_category_of_missing_values_has_its_probability(mechanism: str) -> None:
    presence = parameters(released(mechanism, Missing.CATEGORY)).presence
    assert presence is not None
    assert presence.released == ((600, 400), (100, 300))
    assert presence.probability[0] == pytest.approx((0.6, 0.4), abs=0.01)
    assert presence.probability[1] == pytest.approx((0.25, 0.75), abs=0.01)
    assert [sum(row) for row in presence.probability] == pytest.approx([1, 1], abs=1e-15)


@pytest.mark.parametrize("mechanism", MOMENTS)
def test_values_there_are_have_the_probability_one_where_others_are_skipped(mechanism: str) -> None:
    presence = parameters(released(mechanism, Missing.SKIP)).presence
    assert presence is not None
    assert presence.released == ((600,), (100,))
    assert presence.probability == ((1.0,), (1.0,))


@pytest.mark.parametrize("mechanism", [name for name in PRIVATE if name != "majority"])
@pytest.mark.parametrize("missing", [Missing.SKIP, Missing.CATEGORY])
@pytest.mark.parametrize("count", [-(10**9), 0, 2**80])
def test_counts_that_are_noise_make_a_valid_model(mechanism: str, missing: Missing, count: int) -> None:
    model = plan_and_release(statistics(missing), Budget(Fraction(1)), mechanism, draw=NoNoise(count))
    presence = parameters(model).presence
    assert (presence is None) is (mechanism == "histogram" and missing is Missing.SKIP)
    if presence is not None and missing is Missing.CATEGORY:
        assert presence.probability == ((0.5, 0.5), (0.5, 0.5))


def test_a_histogram_counts_the_values_there_are_alone() -> None:
    each = parameters(released("histogram", Missing.CATEGORY))
    assert [sum(row) for row in each.released] == [600, 100]  # type: ignore[union-attr]
