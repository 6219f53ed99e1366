"""Divergence of whole releases with rounds of weights, for an actual pair of replaced rows, beside what is stated.

Nothing of the package's accounting is used: the divergence of every draw is an integral of the densities of its noise,
and those of one release add up, given the answers that it drew. Two attributes tell so much that a row with a value of
one alone is not scaled down, and the second class is so rare that no score makes it likely. So the row that goes, of
the rare class with a value that speaks for it, adds the whole clip to the sum of one weight, and the row that comes, of
the same class with a value that speaks against it, takes the whole clip away: twice what one row does, which is all
that it may do but for the log-odds, whose sum both move alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from support.counted_kinds import CountedKinds, Kind
from support.planting import plant

from dpnb_columnar.core.budget import Budget, Concentrated, Neighbours, RowEffect, Share, parse_division
from dpnb_columnar.core.budget.composition import calibration_cost, row_effect
from dpnb_columnar.core.mechanisms.plan import MECHANISMS, plan
from dpnb_columnar.core.mechanisms.release import ReleasePlan
from dpnb_columnar.core.noise import ExactSampler, Laplace, NoiseFamily, Sampler, SeededBits
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.training import train

TELLING = [f"telling{number}" for number in range(2)]
RARE = read_domain(
    "rare",
    {
        "label": {"column": "label", "classes": ["usual", "rare"]},
        "attributes": {
            "age": {"lower": 0, "upper": 100, "step": 1},
            **{name: {"values": ["against", "for"], "missing": "skip"} for name in TELLING},
        },
    },
    "test",
)
BUDGET = Budget(Fraction(3, 10), Neighbours.REPLACE_ONE, division=parse_division("0.001:1:1"), delta=Fraction(1, 10**6))
"""Next to nothing is for the age, which is there since no noise but that of moments is concentrated. The rows that go
and come have none, so all draws that they move are Laplace noise."""

ORDERS = (1.0, 1.5, 2.0, 8.0, 32.0)


def kind(label: str, value: str, age: int | None = 40, told: int = len(TELLING)) -> Kind:
    """A row that has the value in some attributes, and no value in the others."""
    values = ((name, value if place < told else "silent") for place, name in enumerate(TELLING))
    return (("label", label), *values, ("age", age))


GOES, COMES = kind("rare", "for", None, 1), kind("rare", "against", None, 1)
ROWS = {
    kind("usual", "against"): 99 * 10**8,
    kind("usual", "for"): 10**8,
    kind("rare", "for"): 9900,
    kind("rare", "against"): 100,
}


@dataclass(frozen=True)
class Draw:
    location: Fraction
    scale: Fraction
    noise: NoiseFamily
    answer: Fraction


@dataclass
class Recorded:
    """Draws, and notes what was drawn; or gives the answers of another release, and notes what was asked."""

    sampler: Sampler | None = None
    answers: Sequence[Fraction] = ()
    private: bool = False
    draws: list[Draw] = field(default_factory=list)

    def __call__(self, location: Fraction, scale: Fraction, noise: NoiseFamily, grid_bits: int = 0) -> Fraction:
        if self.sampler is None:
            answer = self.answers[len(self.draws)]
        else:
            answer = self.sampler(location, scale, noise, grid_bits)
        self.draws.append(Draw(location, scale, noise, answer))
        return answer


def divergence(one: Draw, two: Draw, order: float) -> float:
    """Renyi divergence of a draw from its neighbour's by quadrature; of order 1, Kullback and Leibler's."""
    assert one.noise == two.noise
    if (one.location, one.scale) == (two.location, two.scale):
        return 0.0
    assert one.scale == two.scale
    assert isinstance(one.noise, Laplace)
    shift = abs(float((two.location - one.location) / one.scale * one.noise.epsilon))

    def term(z: float) -> float:
        """Of p = exp(-|z|)/2 and q = exp(-|z - shift|)/2; p - q, whose integral is 0, leaves nothing to cancel out."""
        loss = abs(z - shift) - abs(z)
        gain = loss if order == 1 else math.expm1((order - 1) * loss) / (order - 1)
        return math.exp(-abs(z)) / 2 * (gain + math.expm1(-loss))

    pieces = ((-50, 0), (0, shift), (shift, shift + 50))
    total = math.fsum(quad(term, low, high, epsabs=1e-14, epsrel=1e-11)[0] for low, high in pieces)
    return total if order == 1 else math.log1p((order - 1) * total) / (order - 1)


def neighbours(planned: ReleasePlan, seed: int) -> list[tuple[Share, list[tuple[Draw, Draw]]]]:
    """Draw a release, ask for it again after one row was replaced, and list the pairs of draws by share."""
    one = Recorded(ExactSampler(SeededBits(seed)))
    train(planned, CountedKinds(RARE, {**ROWS, GOES: 1}), draw=one)
    two = Recorded(answers=[each.answer for each in one.draws])
    train(planned, CountedKinds(RARE, {**ROWS, COMES: 1}), draw=two)
    pairs = list(zip(one.draws, two.draws, strict=True))
    by_share = []
    for share in planned.shares:
        by_share.append((share, pairs[: share.values]))
        pairs = pairs[share.values :]
    assert not pairs
    return by_share


def rho_of(share: Share) -> float:
    assert isinstance(share.cost, Concentrated)
    return float(share.cost.rho)


def planned_rounds() -> ReleasePlan:
    return plan(RARE, BUDGET, "smooth", "arsinh-normal", "learned")


@pytest.mark.slow
def test_a_replaced_row_costs_a_whole_release_no_more_than_its_rho() -> None:
    planned = planned_rounds()
    stated = float(planned.total.rho)  # type: ignore[union-attr]
    whole: dict[float, list[float]] = {order: [] for order in ORDERS}
    for seed in range(3):
        by_share = neighbours(planned, seed)
        for order in ORDERS:
            spent = [sum(divergence(*pair, order) for pair in pairs) / order for _, pairs in by_share]
            for (share, _), each in zip(by_share, spent, strict=True):
                assert each <= rho_of(share) * (1 + 1e-6), (share.query, order, each / rho_of(share))
            whole[order].append(sum(spent) / stated)
        rounds = [pairs for share, pairs in by_share if share in planned.rounds]
        spent_in_rounds = [sum(divergence(*pair, 1) for pair in pairs) for pairs in rounds]
        assert all(spent > 0.6 * rho_of(share) for spent, share in zip(spent_in_rounds, planned.rounds, strict=True))
    # By the chain rule the mean over outcomes is the divergence of the releases.
    assert all(np.mean(each) <= 1 for each in whole.values()), whole
    assert np.mean(whole[1.0]) > 0.4


@pytest.mark.slow
def test_a_gradient_reckoned_too_low_for_a_replaced_row_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pair is hard enough to see it."""
    plant(monkeypatch, "budget/rho-of-same-draws")
    planned = planned_rounds()
    for share, pairs in neighbours(planned, 1):
        if share not in planned.rounds:
            continue
        assert sum(divergence(*pair, 1) for pair in pairs) > 1.25 * rho_of(share)


@pytest.mark.parametrize("mechanism", [name for name, each in MECHANISMS.items() if each.smooth])
@pytest.mark.parametrize("weights", ["none", "calibrated", "learned"])
def test_what_a_row_does_to_a_query_is_read_from_a_document_as_it_was_planned(mechanism: str, weights: str) -> None:
    """Documents name queries alone. Of a replaced row's rho each share shows what its row was planned to do."""
    budget = Budget(Fraction(1), Neighbours.REPLACE_ONE, delta=Fraction(1, 10**6))
    for labels in (["a", "b"], ["a", "b", "c"]):
        attributes = {"x": {"values": ["p", "q"]}, "n": {"lower": 0, "upper": 9, "step": 1, "missing": "category"}}
        document = {
            "label": {"column": "label", "classes": labels},
            "weight": {"column": "w", "cap": 3},
            "attributes": attributes,
        }
        domain = read_domain("any", document, "test")
        try:
            shares = plan(domain, budget, mechanism, "arsinh-normal", weights).shares
        except UsageError:
            continue  # learned weights are for two classes
        for share in shares:
            assert (row_effect(share.query) is RowEffect.ALL_DRAWS) is ("gradient" in share.query)
            assert calibration_cost(share.cost, type(share.row_cost), 2, row_effect(share.query)) == share.row_cost
