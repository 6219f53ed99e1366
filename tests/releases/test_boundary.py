"""The release as a whole: what each draw is calibrated to, and what one row can change among all draws together."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.mechanisms import PRIVATE
from support.model_cases import declared
from support.recorded_draws import Drawn, Forced
from support.releases import plan_and_release

from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Division, Neighbours, PrivacyCost, Pure, total
from dpnb_columnar.core.measurement import COUNTS, PRESENCE
from dpnb_columnar.core.noise import ExactSampler, SeededBits
from dpnb_columnar.core.queries.statistics import Cells, Statistics, assemble
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.parameters import Histogram, PublicSource, Table
from dpnb_columnar.releases.attribute_weights import PublicWeights
from dpnb_columnar.releases.plan import plan

DOMAIN = declared(
    {
        "x": {"lower": 0, "upper": 6, "step": 1, "missing": "category"},
        "money": {"lower": 0, "upper": 50, "step": 1, "transform": "log1p", "missing": "skip"},
        "k": {"values": ["p", "q"], "missing": "skip"},
        "size": {"lower": 0, "upper": 6, "step": 1},
    },
    ["a", "b", "c"],
)
Weights = str | PublicWeights
PUBLIC = PublicWeights(PublicSource("sample", "0" * 64, ("k", "size")), {"x": 1.25, "money": 0.3}, 0.5)
"""What a public file says that leaves two attributes out."""

MISSING = -1
Row = tuple[int, int, int, int, int]
rows = st.tuples(
    st.integers(0, 2),
    st.integers(MISSING, 6),
    st.sampled_from([MISSING, 0, 1, 7, 50]),
    st.integers(MISSING, 1),
    st.integers(MISSING, 6),
)
PUBLIC_SIZES = [8, 12, 300, 920]


def statistics(data: list[Row], domain: Domain = DOMAIN) -> Statistics:
    """Statistics of rows given as (class, codes in declared order); a value may be missing."""
    table = np.array(data, dtype=np.int64).reshape(len(data), 5)
    ones = np.ones(len(data), dtype=np.int64)
    cells = [Cells(None, table[:, 0], np.zeros_like(ones), ones)]
    for position, attribute in enumerate(domain.attributes, 1):
        there = table[:, position] != MISSING
        cells.append(Cells(attribute.name, table[there, 0], table[there, position], ones[there]))
    return assemble(domain, cells)


def released(
    data: list[Row], budget: Budget, mechanism: str, noise: str | None = None, size: int = 12, weights: Weights = "none"
) -> tuple[Model, list[Drawn]]:
    """A model all of whose released numbers are ``size``, and what was asked of the sampler."""
    forced = Forced(size)
    return plan_and_release(statistics(data), budget, mechanism, noise, forced, weights), forced.calls


def loss(one: Drawn, two: Drawn) -> Fraction:
    """Upper bound on the privacy loss between two draws of the same query, from the family's own claim."""
    assert one.noise == two.noise, "the calibration depends on the rows"
    if one == two:
        return Fraction(0)
    shift, smaller = abs(one.location - two.location), min(one.scale, two.scale)
    if one.noise.beta == 0:
        assert one.scale == two.scale > 0, "noise for a constant sensitivity follows the rows"
        return shift / one.scale * one.noise.cost.epsilon
    assert shift <= smaller, "the sensitivity is below the change of the statistic"
    assert abs(math.log(one.scale / two.scale)) <= float(one.noise.beta), "the sensitivity is not smooth"
    return one.noise.cost.epsilon


@st.composite
def neighbouring(draw: st.DrawFn, relation: Neighbours) -> tuple[list[Row], list[Row]]:
    # Few kinds of rows, each many times: columns near constant, as well as any.
    kinds = draw(st.lists(st.tuples(rows, st.integers(1, 4) | st.integers(200, 400)), min_size=1, max_size=8))
    data, changed = [row for row, times in kinds for _ in range(times)], draw(rows)
    if relation is Neighbours.ADD_REMOVE:
        return data, [*data, changed]
    place = draw(st.integers(0, len(data) - 1))
    return data, [*data[:place], changed, *data[place + 1 :]]


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize(
    ("mechanism", "noise", "weights"),
    [
        ("smooth", "cauchy", "none"),
        ("paper", "polyplace", "none"),
        *((name, None, "none") for name in PRIVATE),
        *((name, None, PUBLIC) for name in ("histogram", "adaptive-histogram", "smooth")),
    ],
)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), epsilon=st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(7)]))
def test_no_row_costs_more_than_epsilon_over_all_draws(
    relation: Neighbours, mechanism: str, noise: str | None, weights: Weights, data: st.DataObject, epsilon: Fraction
) -> None:
    """Sequential and parallel composition, the label change, the public size and both relations, in one sum."""
    first, second = data.draw(neighbouring(relation))
    budget, size = Budget(epsilon, relation), data.draw(st.sampled_from(PUBLIC_SIZES))
    one, two = (released(rows, budget, mechanism, noise, size, weights)[1] for rows in (first, second))
    assert len(one) == len(two), "how much is released depends on the rows"
    assert sum((loss(*pair) for pair in zip(one, two, strict=True)), Fraction(0)) <= epsilon


@pytest.mark.parametrize("mechanism", PRIVATE)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize(
    ("division", "weights"),
    [(None, "none"), (Division(Fraction(1, 3), Fraction(7), Fraction("0.1")), "none"), (None, PUBLIC)],
)
def test_the_composition_table_adds_up_and_is_what_is_drawn(
    mechanism: str, relation: Neighbours, division: Division | None, weights: Weights
) -> None:
    if mechanism == "majority" and weights is PUBLIC:
        return  # which weights_chosen refuses
    budget = Budget(Fraction("0.3"), relation, division)
    planned = plan(DOMAIN, budget, mechanism, attribute_weights=weights).shares
    model, used = released([(0, 1, 2, 0, 5)] * 9, budget, mechanism, weights=weights)
    shares = model.guarantee.composition
    assert total(shares) == total(planned) == Pure(Fraction(3, 10))
    for share, before in zip(shares, planned, strict=True):
        assert share.values <= before.values
        assert share == before or (share.query == COUNTS and share == replace(before, values=share.values))
    expected = {(share.noise, share.row_cost): 0 for share in shares}
    for share in shares:
        expected[share.noise, share.row_cost] += share.values
    found: dict[tuple[str, PrivacyCost], int] = {}
    for drawn in used:
        key = (drawn.noise.name, drawn.noise.cost)
        found[key] = found.get(key, 0) + 1
    assert found == expected


def test_every_declared_cell_is_released_for_no_rows_at_all() -> None:
    for name in PRIVATE:
        model = plan_and_release(statistics([]), Budget(Fraction(1)), name, draw=ExactSampler(SeededBits(4)))
        assert len(model.class_counts) == 3
        for parameters in model.attributes:
            if isinstance(parameters, Table | Histogram):
                attribute = DOMAIN[parameters.attribute]
                width = len(parameters.edges) - 1 if isinstance(parameters, Histogram) else attribute.size  # type: ignore[union-attr]
                assert [len(row) for row in model.counts(COUNTS, parameters.attribute)] == [width] * 3
            else:
                asked = [key for key in model.measured if key[1] == parameters.attribute and key[0] != PRESENCE]
                assert [len(model.measured[key].values) for key in asked] == [3, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mechanism": "smoth"}, "known mechanisms: auto, smooth, paper, trimmed-mean, global, .*histogram"),
        ({"noise": "uniform"}, "known families: polyplace, student-3, cauchy"),
        ({"mechanism": "histogram", "noise": "cauchy"}, "takes no noise family"),
    ],
)
def test_unknown_names_are_refused(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan_and_release(statistics([]), Budget(Fraction(1)), **arguments)  # type: ignore[arg-type]


def test_a_budget_too_small_for_its_queries_is_refused() -> None:
    wide = declared({f"x{index}": {"lower": 0, "upper": 1} for index in range(600)})
    with pytest.raises(UsageError, match="raise epsilon, declare fewer attributes, or choose"):
        plan(wide, Budget(Fraction("0.0001")), "smooth")


@pytest.mark.parametrize("mechanism", PRIVATE)
def test_a_measurement_has_what_was_asked_and_drawn_and_the_scale_where_no_row_decides_it(mechanism: str) -> None:
    """What others account by, or fit to: each share once, its numbers, and the scale that the drawn noise had."""
    planned = plan(DOMAIN, Budget(Fraction(1)), mechanism)
    drawn = Forced(lambda place, _: 500 + place)
    measured = planned.draw(statistics([(0, 1, 7, 0, 2), (1, 3, 1, 1, 5), (2, 2, 50, 0, 1)] * 30), drawn)
    assert Counter(each.key for each in measured) == Counter((each.query, each.attribute) for each in planned.shares)
    calls = enumerate(drawn.calls, 500)
    for each in measured:
        share = planned.shares[[(of.query, of.attribute) for of in planned.shares].index(each.key)]
        assert each.share == replace(share, values=sum(map(len, each.values)))
        assert each.noise == share.noise
        smooth = planned.mechanism.smooth and each.query in ("mean", "variance", "mean of squares")
        assert (each.scale is None) is smooth
        for place, row in enumerate(each.values):
            for value in row:
                answer, call = next(calls)
                assert value == answer
                assert smooth or each.scale[place] == float(call.noise.scale * call.scale)  # type: ignore[index, attr-defined]
    assert next(calls, None) is None
