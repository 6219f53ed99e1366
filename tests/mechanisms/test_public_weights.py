"""Weights and shares from public facts: the fit, and the division of the budget."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from dpnb_columnar.core.budget import Budget, Division, Pure, SharesRule, parse_division
from dpnb_columnar.releases.plan import plan
from dpnb_columnar.releases.public_weights import PublicWeights
from hypothesis import given
from hypothesis import strategies as st
from support.model_cases import declared

from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.parameters import PublicSource
from dpnb_columnar.public_sample import fitted

DOMAIN = declared(
    {
        "age": {"lower": 0, "upper": 100, "step": 1, "missing": "skip"},
        "hours": {"lower": 0, "upper": 9, "step": 1},
        "sex": {"values": ["f", "m"]},
        "state": {"values": [f"s{number}" for number in range(50)]},
        "left": {"values": ["yes", "no"]},
    }
)
WEIGHTS = PublicWeights(
    PublicSource("sample", "0" * 64, ("left",)), {"age": 1.0, "hours": 0.5, "sex": 0.25, "state": 0.05}, -0.125
)
CELLS = {"age": 40, "hours": 10, "sex": 2, "state": 50}


@pytest.mark.parametrize("mechanism", ["histogram", "adaptive-histogram", "smooth", "global-variance"])
def test_shares_are_in_proportion_to_the_cube_root(mechanism: str) -> None:
    """(w^2 K)^(1/3); together the attributes have what they had, so class counts and values present keep theirs."""
    budget = Budget(Fraction(1))
    before, after = (
        plan(WEIGHTS.released(DOMAIN), budget, mechanism),
        plan(DOMAIN, budget, mechanism, attribute_weights=WEIGHTS),
    )
    assert [(each.query, each.attribute) for each in before.shares] == [
        (each.query, each.attribute) for each in after.shares
    ]
    assert after.total == before.total
    spent: dict[str, float] = dict.fromkeys(CELLS, 0.0)
    for old, new in zip(before.shares, after.shares, strict=True):
        if new.query in {"class counts", "values present"}:
            assert new.cost == old.cost
        else:
            spent[new.attribute or ""] += float(new.cost.epsilon)
    wanted = {name: (max(weight, 0.15) ** 2 * CELLS[name]) ** (1 / 3) for name, weight in WEIGHTS.weights.items()}
    for name, size in wanted.items():
        assert spent[name] / sum(spent.values()) == pytest.approx(size / sum(wanted.values()), rel=2e-3)


@pytest.mark.parametrize("division", [SharesRule.EQUAL, parse_division("2:1:1")])
def test_a_public_file_divides_by_size_alone(division: Division | SharesRule) -> None:
    by_size = Budget(Fraction(1), division=SharesRule.BY_SIZE)
    chosen = plan(DOMAIN, by_size, "histogram", attribute_weights=WEIGHTS)
    assert chosen.shares == plan(DOMAIN, Budget(Fraction(1)), "histogram", attribute_weights=WEIGHTS).shares
    assert chosen.inputs["shares"] == "by-size"
    with pytest.raises(UsageError, match="the public file divides the budget among the attributes; leave shares out"):
        plan(DOMAIN, Budget(Fraction(1), division=division), "histogram", attribute_weights=WEIGHTS)


weights = st.floats(0.0, 2.0)


@given(st.lists(weights, min_size=4, max_size=4), st.sampled_from([Fraction(1, 1000), Fraction(1, 3), Fraction(1000)]))
def test_whatever_the_weights_every_query_is_paid_for(drawn: list[float], epsilon: Fraction) -> None:
    public = replace(WEIGHTS, weights=dict(zip(CELLS, drawn, strict=True)))
    for mechanism in ("histogram", "global"):
        planned = plan(DOMAIN, Budget(epsilon), mechanism, attribute_weights=public)
        assert min(each.cost.epsilon for each in planned.shares) > 0
        assert planned.total == Pure(epsilon)
        assert {each.attribute for each in planned.shares} == {None, *CELLS}


def test_the_fit_finds_the_weights_that_made_the_classes() -> None:
    generator = np.random.default_rng(1)
    ratios = generator.normal(size=(50_000, 4))
    ratios[:, 3] = ratios[:, 2]
    odds = ratios @ [1.2, 0.0, 0.8, 0.0] - 0.5 + 0.3
    classes = (generator.random(50_000) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    weights, shift = fitted(ratios, classes, np.full(50_000, -0.5))
    # Of two copies each has half of the weight.
    np.testing.assert_allclose(weights, [1.2, 0.0, 0.4, 0.4], atol=0.05)
    assert shift == pytest.approx(0.3, abs=0.05)
