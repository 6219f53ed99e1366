"""Shares by size: in proportion to the cube root of the number of cells, by the declaration alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dpnb_columnar.core.budget import Budget, Neighbours, Pure, Share, SharesRule, parse_division, parse_shares, total
from dpnb_columnar.releases.plan import plan
from hypothesis import given
from hypothesis import strategies as st
from support.mechanisms import MECHANISMS
from support.model_cases import declared
from support.people import PEOPLE, people, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.domain import Domain
from dpnb_columnar.errors import UsageError

CELLS = {"age": 40, "hours": 10, "sex": 3, "state": 50, "occupation": 531}
"""Cells by hand: 40 at most of a numeric attribute; three of ``sex``, since to be missing is one."""

ATTRIBUTES: Mapping[str, Any] = {
    "age": {"lower": 0, "upper": 100, "step": 1, "missing": "category"},
    "hours": {"lower": 0, "upper": 9, "step": 1},
    "sex": {"values": ["f", "m"], "missing": "category"},
    "state": {"values": [f"s{number}" for number in range(50)]},
    "occupation": {"values": [f"o{number}" for number in range(531)]},
}
DOMAIN = declared(ATTRIBUTES)
EQUAL = Budget(Fraction(1), division=SharesRule.EQUAL)
SIZED = [name for name in MECHANISMS if name not in ("majority", "none")]


def lists(sizes: Sequence[int]) -> Domain:
    """Categorical attributes of some sizes."""
    return declared({f"x{place}": {"values": list(range(1, size + 1))} for place, size in enumerate(sizes)})


def spent(shares: Sequence[Share]) -> dict[str, Fraction]:
    """What each attribute's tables and moments have."""
    found: dict[str, Fraction] = defaultdict(Fraction)
    for share in shares:
        if share.attribute is not None and share.query != "values present":
            assert isinstance(share.cost, Pure)
            found[share.attribute] += share.cost.epsilon
    return dict(found)


@pytest.mark.parametrize("mechanism", SIZED)
def test_what_attributes_have_together_goes_by_the_cube_root_of_their_cells(mechanism: str) -> None:
    sized = plan(DOMAIN, Budget(Fraction(1), division=SharesRule.BY_SIZE), mechanism)
    equal = plan(DOMAIN, EQUAL, mechanism)
    found, before = spent(sized.shares), spent(equal.shares)
    assert sum(found.values()) == sum(before.values()), "class counts and values present keep theirs"
    whole = sum(size ** (1 / 3) for size in CELLS.values())
    for name, size in CELLS.items():
        assert float(found[name] / sum(found.values())) == pytest.approx(size ** (1 / 3) / whole, rel=1e-3), name
    for new, old in zip(sized.shares, equal.shares, strict=True):
        assert (new.query, new.attribute, new.values, new.noise) == (old.query, old.attribute, old.values, old.noise)
        assert isinstance(new.cost, Pure)
        assert isinstance(old.cost, Pure)
        if new.attribute in CELLS and new.query != "values present":
            # Of several queries of one attribute each has the part of it that it had.
            assert new.cost.epsilon * before[new.attribute] == old.cost.epsilon * found[new.attribute]
        else:
            assert new.cost == old.cost


def test_no_other_division_of_the_same_sum_has_less_noise() -> None:
    """The sum of K / e^2 grows whichever attribute gives to whichever other."""
    found = {name: float(part) for name, part in spent(plan(DOMAIN, Budget(Fraction(1)), "histogram").shares).items()}

    def noise(parts: Mapping[str, float]) -> float:
        return sum(CELLS[name] / part**2 for name, part in parts.items())

    for giver in found:
        for taker in found:
            for part in (0.01, 0.1, 0.5) if giver != taker else ():
                moved = part * min(found[giver], found[taker])
                assert noise({**found, giver: found[giver] - moved, taker: found[taker] + moved}) > noise(found)
    generator = np.random.default_rng(1)
    for _ in range(200):
        drawn = generator.dirichlet(np.ones(len(found))) * sum(found.values())
        assert noise(dict(zip(found, drawn, strict=True))) > noise(found)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_rule_where_none_is_chosen(mechanism: str) -> None:
    """By size, except for the paper's own mechanism; and where no attribute is released there is nothing to divide."""
    planned = plan(DOMAIN, Budget(Fraction(1)), mechanism)
    assert planned.shares_rule == ("by-size" if mechanism in SIZED and mechanism != "paper" else "equal")
    chosen = plan(DOMAIN, Budget(Fraction(1), division=SharesRule(planned.shares_rule)), mechanism)
    assert chosen.shares == planned.shares
    assert chosen.inputs == planned.inputs


def test_typed_numbers_are_those_of_each_attribute_of_a_kind() -> None:
    """As equal shares are, with other numbers: the same for 2 categories as for 531."""
    planned = plan(DOMAIN, Budget(Fraction(1), division=parse_division("3:1:2")), "histogram")
    parts = spent(planned.shares)
    assert parts["age"] == parts["hours"] == 3 * parts["sex"]
    assert parts["sex"] == parts["state"] == parts["occupation"]
    assert planned.shares_rule == "3:1:2"


@pytest.mark.slow
@given(
    relation=st.sampled_from(Neighbours),
    sizes=st.lists(st.integers(1, 500), min_size=1, max_size=12),
    epsilon=st.sampled_from([Fraction(1, 100), Fraction(1, 3), Fraction("0.123456789"), Fraction(1000)]),
)
def test_shares_add_up_exactly_and_have_few_digits(relation: Neighbours, sizes: list[int], epsilon: Fraction) -> None:
    planned = plan(lists(sizes), Budget(epsilon, relation), "histogram", attribute_weights="calibrated")
    assert planned.total == Pure(epsilon)
    for share in planned.shares:
        assert isinstance(share.cost, Pure)
        assert share.cost.epsilon > 0
        assert len(str(share.cost.epsilon)) < 60
    parts = [part for _, part in sorted(spent(planned.shares).items(), key=lambda each: int(each[0][1:]))]
    for (one, first), (two, second) in zip(
        zip(sizes, parts, strict=True), zip(sizes[1:], parts[1:], strict=False), strict=False
    ):
        assert (one < two) <= (first < second), "more cells have more"
        assert (one == two) == (first == second)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[2] * 999 + [1000], [500_000, 2], [1] * 1000], ids=["wide", "long", "constant"])
@pytest.mark.parametrize("mechanism", ["histogram", "smooth"])
def test_extreme_domains_are_divided(sizes: list[int], mechanism: str) -> None:
    planned = plan(lists(sizes), Budget(Fraction(1)), mechanism)
    assert planned.total == Pure(Fraction(1))
    parts, whole = spent(planned.shares), sum(size ** (1 / 3) for size in sizes)
    for place in (0, len(sizes) - 1):
        part = parts[f"x{place}"] / sum(parts.values())
        assert float(part) == pytest.approx(sizes[place] ** (1 / 3) / whole, rel=1e-3)
    assert max(len(str(share.cost)) for share in planned.shares) < 120


def test_no_row_changes_a_share() -> None:
    """Whatever the rows are, and however many: what a model states is what was planned without any."""
    planned = plan(people_domain(), Budget(Fraction(1)), "smooth").shares
    for frame in (people(0), people(7), people(1000), people(1000).clear(), people(400, 3).head(1)):
        model = dpnb.train(frame, epsilon=1, domain=people_domain(), mechanism="smooth", attribute_weights="none")
        assert model.guarantee.composition == planned


def test_weights_of_rows_keep_their_share() -> None:
    weight = {"column": "w", "cap": 10, "step": 1}
    domain = people_domain({**PEOPLE, "weight": weight})
    sized, equal = plan(domain, Budget(Fraction(1)), "histogram").shares, plan(domain, EQUAL, "histogram").shares
    assert [share.query for share in sized[:2]] == ["class counts", "weighted class counts"]
    assert [share.cost for share in sized[:2]] == [share.cost for share in equal[:2]]


@pytest.mark.parametrize("noise", ["gaussian", "arsinh-normal"])
def test_deltas_and_rhos_are_divided_likewise(noise: str) -> None:
    budget = Budget(Fraction(1), delta=Fraction(1, 10**6))
    planned = plan(DOMAIN, budget, "smooth", noise)
    assert planned.by_size
    assert total(planned.shares) == planned.total
    parts = {share.attribute: share.cost for share in planned.shares if share.query == "mean"}
    if noise == "gaussian":
        assert parts["age"].delta / parts["hours"].delta == parts["age"].epsilon / parts["hours"].epsilon  # type: ignore[union-attr]
        assert planned.total.delta == budget.delta  # type: ignore[union-attr]
    else:
        assert float(parts["age"].rho / parts["hours"].rho) == pytest.approx(4 ** (1 / 3), rel=1e-3)  # type: ignore[union-attr]


@pytest.mark.parametrize("typed", ["by-size", " equal "])
def test_a_rule_is_typed_by_its_name(typed: str) -> None:
    assert parse_shares(typed) is SharesRule(typed.strip())


@pytest.mark.parametrize("typed", ["by size", "BY-SIZE", "", "2:1", "bysize:1:1"])
def test_what_is_no_rule_is_refused_with_those_there_are(typed: str) -> None:
    with pytest.raises(UsageError, match=r"shares: expected by-size, equal, or three positive numbers .*\(2:1:1\)"):
        parse_shares(typed)
