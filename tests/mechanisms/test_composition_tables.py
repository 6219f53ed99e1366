"""Composition tables of the mechanisms, and the error to expect of what stands in them."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from support.mechanisms import NEW, NOISE, SPREAD
from support.people import PEOPLE, people_domain

from dpnb_columnar.advice.expected_error import expected_error
from dpnb_columnar.core.budget import Approximate, Budget, Concentrated, Neighbours, Pure, SharesRule
from dpnb_columnar.core.mechanisms.plan import plan
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family, smooth_noise
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import UsageError


@pytest.mark.parametrize("mechanism", SPREAD)
def test_the_composition_table_of_a_mechanism(mechanism: str) -> None:
    """Two numeric attributes at two shares each, one categorical and the class counts at one: sixths."""
    spread, noise = SPREAD[mechanism], NOISE[mechanism]
    counts = "cauchy" if mechanism == "paper" else "laplace"
    budget = Budget(Fraction(6), Neighbours.REPLACE_ONE, SharesRule.EQUAL)
    shares = plan(people_domain(), budget, mechanism).shares
    assert [(share.query, share.attribute, share.values, share.noise) for share in shares] == [
        ("class counts", None, 2, counts),
        ("mean", "age", 2, noise),
        (spread, "age", 2, noise),
        ("mean", "hours", 2, noise),
        (spread, "hours", 2, noise),
        ("counts", "sex", 4, "laplace"),
    ]
    assert {share.cost for share in shares} == {Pure(Fraction(1))}
    assert {share.row_cost for share in shares} == {Pure(Fraction(1, 2))}


@pytest.mark.parametrize(
    ("noise", "counts"),
    [
        (None, "cauchy"),
        ("cauchy", "cauchy"),
        ("polyplace", "polyplace"),
        ("gaussian", "cauchy"),
        ("laplace", "cauchy"),
        ("arsinh-normal", "cauchy"),
    ],
)
def test_the_papers_class_counts_never_spend_a_delta(noise: str | None, counts: str) -> None:
    delta = Fraction(0) if noise in (None, "cauchy", "polyplace") else Fraction(1, 10**6)
    first, *others = plan(people_domain(), Budget(Fraction(1), delta=delta), "paper", noise).shares
    assert first.noise == counts
    assert isinstance(first.row_cost, Pure)
    assert {type(share.row_cost) for share in others if share.query in ("mean", "variance")} == {
        {"gaussian": Approximate, "laplace": Approximate, "arsinh-normal": Concentrated}.get(noise or "", Pure)
    }


def test_the_outlook_of_a_constant_sensitivity_is_exact() -> None:
    """95 % of Laplace noise of scale b stays below -log(0.05) b."""
    domain, tail = people_domain(), -math.log(0.05)
    for mechanism, spread in (("global", math.sqrt(99) * 100 / 100), ("global-variance", 99 * 100**2 / 100**2)):
        shares = plan(domain, Budget(Fraction(6), division=SharesRule.EQUAL), mechanism).shares
        counts, mean, other, *_ = (expected_error(domain, share, 100) for share in shares)
        assert counts == pytest.approx(tail)
        assert mean == pytest.approx(tail * 100 / 100)
        assert other == pytest.approx(tail * spread)


@pytest.mark.parametrize("mechanism", [*NEW, "smooth"])
def test_the_outlook_is_in_the_attributes_unit(mechanism: str) -> None:
    """A step of a thousandth where the codes are the same: a thousandth of the error, or its square."""

    def errors(step: str, upper: str) -> list[float]:
        document = {"label": PEOPLE["label"], "attributes": {"x": {"lower": 0, "upper": upper, "step": step}}}
        domain: Domain = read_domain("units", document, "test")
        return [expected_error(domain, share, 10**5) for share in plan(domain, Budget(Fraction(1)), mechanism).shares]

    for cells in (200, 10**6):
        _, mean, spread = errors("1", str(cells))
        _, small_mean, small_spread = errors("0.001", str(Fraction(cells, 1000)))
        assert mean / small_mean == pytest.approx(1000)
        assert spread / small_spread == pytest.approx(1000 if mechanism == "global" else 10**6)


@pytest.mark.parametrize("name", NOISE_FAMILIES)
def test_a_family_is_calibrated_to_its_own_kind_of_cost(name: str) -> None:
    """A rho is no epsilon: noise for the one number would not be noise for the other."""
    costs = (Pure(Fraction(1)), Approximate(Fraction(1), Fraction(1, 10**6)), Concentrated(Fraction(1)))
    for cost in costs:
        if type(cost) is smooth_family(name).kind:
            assert smooth_noise(name, cost).cost == cost
        else:
            with pytest.raises(ValueError, match=f"{name} noise is calibrated to a loss that is"):
                smooth_noise(name, cost)


@pytest.mark.parametrize(("mechanism", "noise"), [("smooth", "polyplace"), ("histogram", None), ("majority", None)])
def test_a_delta_that_no_query_needs_is_refused(mechanism: str, noise: str | None) -> None:
    """It would be stated, and spent by nothing."""
    with pytest.raises(UsageError, match=r"delta: .* spends none; leave delta out"):
        plan(people_domain(), Budget(Fraction(1), delta=Fraction(1, 10**6)), mechanism, noise)
