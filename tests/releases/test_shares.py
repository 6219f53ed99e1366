"""Shares of a budget: by size, from a public file, for whole units; and the composition tables that they make."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.mechanisms import MECHANISMS, NEW, NOISE, SPREAD
from support.model_cases import declared, from_document
from support.people import PEOPLE, people, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.advice.expected_error import expected_error
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import (
    Approximate,
    Budget,
    Concentrated,
    Division,
    Neighbours,
    Pure,
    Request,
    Share,
    SharesRule,
    compose,
    parse_division,
    parse_shares,
    total,
)
from dpnb_columnar.core.budget.composition import PARALLEL_CLASSES
from dpnb_columnar.core.mechanisms.smooth_noise import NOISE_FAMILIES, smooth_family, smooth_noise
from dpnb_columnar.core.noise import ExactSampler, SystemBits
from dpnb_columnar.domain import Domain, Unit
from dpnb_columnar.domain.declaration import read_domain
from dpnb_columnar.errors import UsageError
from dpnb_columnar.model.document import to_document
from dpnb_columnar.model.guarantee_text import statement
from dpnb_columnar.model.parameters import PublicSource
from dpnb_columnar.public_sample import fitted
from dpnb_columnar.releases.attribute_weights import PublicWeights
from dpnb_columnar.releases.model_plan import ReleasePlan, release
from dpnb_columnar.releases.plan import plan

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


# Weights and shares from public facts: the fit, and the division of the budget.

PUBLIC_DOMAIN = declared(
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
PUBLIC_CELLS = {"age": 40, "hours": 10, "sex": 2, "state": 50}


@pytest.mark.parametrize("mechanism", ["histogram", "adaptive-histogram", "smooth", "global-variance"])
def test_shares_are_in_proportion_to_the_cube_root(mechanism: str) -> None:
    """(w^2 K)^(1/3); together the attributes have what they had, so class counts and values present keep theirs."""
    budget = Budget(Fraction(1))
    before, after = (
        plan(WEIGHTS.released(PUBLIC_DOMAIN), budget, mechanism),
        plan(PUBLIC_DOMAIN, budget, mechanism, attribute_weights=WEIGHTS),
    )
    assert [(each.query, each.attribute) for each in before.shares] == [
        (each.query, each.attribute) for each in after.shares
    ]
    assert after.total == before.total
    found = spent(after.shares)
    assert sum(found.values()) == sum(spent(before.shares).values())
    weights = {name: max(weight, 0.15) for name, weight in WEIGHTS.weights.items()}
    wanted = {name: (weight**2 * PUBLIC_CELLS[name]) ** (1 / 3) for name, weight in weights.items()}
    for name, size in wanted.items():
        assert float(found[name] / sum(found.values())) == pytest.approx(size / sum(wanted.values()), rel=2e-3)


@pytest.mark.parametrize("division", [SharesRule.EQUAL, parse_division("2:1:1")])
def test_a_public_file_divides_by_size_alone(division: Division | SharesRule) -> None:
    by_size = Budget(Fraction(1), division=SharesRule.BY_SIZE)
    chosen = plan(PUBLIC_DOMAIN, by_size, "histogram", attribute_weights=WEIGHTS)
    assert chosen.shares == plan(PUBLIC_DOMAIN, Budget(Fraction(1)), "histogram", attribute_weights=WEIGHTS).shares
    assert chosen.inputs["shares"] == "by-size"
    with pytest.raises(UsageError, match="the public file divides the budget among the attributes; leave shares out"):
        plan(PUBLIC_DOMAIN, Budget(Fraction(1), division=division), "histogram", attribute_weights=WEIGHTS)


weights = st.floats(0.0, 2.0)


@given(st.lists(weights, min_size=4, max_size=4), st.sampled_from([Fraction(1, 1000), Fraction(1, 3), Fraction(1000)]))
def test_whatever_the_weights_every_query_is_paid_for(drawn: list[float], epsilon: Fraction) -> None:
    public = replace(WEIGHTS, weights=dict(zip(PUBLIC_CELLS, drawn, strict=True)))
    for mechanism in ("histogram", "global"):
        planned = plan(PUBLIC_DOMAIN, Budget(epsilon), mechanism, attribute_weights=public)
        assert min(each.cost.epsilon for each in planned.shares) > 0
        assert planned.total == Pure(epsilon)
        assert {each.attribute for each in planned.shares} == {None, *PUBLIC_CELLS}


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


# A guarantee for whole units: every query spends a part for each row of a unit that may count.


def people_of_units(rows: int, **changes: Any) -> Domain:
    return replace(people_domain({**PEOPLE, **changes}), unit=Unit(("SERIAL",), rows))


def released(planned: ReleasePlan) -> Model:
    """Release the plan of a domain with a unit, from statistics as an engine that knows units makes them."""
    counted = dpnb.aggregate(people(500), domain=planned.domain.per_row)
    return Model.of(release(replace(counted, domain=planned.domain), planned, ExactSampler(SystemBits())))


@pytest.mark.parametrize("mechanism", [name for name, each in MECHANISMS.items() if each.private])
@pytest.mark.parametrize(("relation", "steps"), [(Neighbours.ADD_REMOVE, 3), (Neighbours.REPLACE_ONE, 6)])
def test_each_row_of_a_unit_has_a_part_of_every_share(mechanism: str, relation: Neighbours, steps: int) -> None:
    """Every query, those of further passes too, has its share divided by the rows that two neighbours differ in."""
    budget = Budget(Fraction(6), relation)
    for weights in ("none", "learned") if MECHANISMS[mechanism].binned else ("none",):
        shares = plan(people_of_units(3), budget, mechanism, None, weights).shares
        assert {pure(share.cost) / pure(share.row_cost) for share in shares} == {steps}
        assert sum(pure(share.cost) for share in shares) == 6


def pure(cost: object) -> Fraction:
    assert isinstance(cost, Pure)
    return cost.epsilon


def test_a_unit_of_one_row_has_the_noise_of_a_row() -> None:
    budget = Budget(Fraction(1))
    assert plan(people_of_units(1), budget).shares == plan(people_domain(), budget).shares


def test_auto_looks_at_the_epsilon_of_a_row() -> None:
    """With a tenth of epsilon for each row there is too little evidence for what the whole would be enough for."""
    attributes = {f"a{place}": {"values": ["x", "y"]} for place in range(8)}
    budget, rows = Budget(Fraction(1)), 9000
    chosen = [
        plan(people_of_units(most, attributes=attributes), budget, "histogram", None, "auto", rows).attribute_weights
        for most in (1, 10)
    ]
    assert chosen == ["learned", None]


@pytest.mark.parametrize("noise", ["gaussian", "laplace", "arsinh-normal"])
def test_noise_that_is_not_pure_is_refused_for_a_unit(noise: str) -> None:
    with pytest.raises(UsageError, match="for whole units is of pure noise alone"):
        plan(people_of_units(1), Budget(Fraction(1), delta=Fraction(1, 10**6)), "smooth", noise)
    with pytest.raises(UsageError, match="for whole units is of pure noise alone"):
        plan(people_of_units(1), Budget(Fraction(1), delta=Fraction(1, 10**6)))


def test_costs_that_do_not_add_up_over_rows_are_not_composed() -> None:
    request = Request("mean", "age", 2, PARALLEL_CLASSES, "gaussian", Fraction(1), Approximate)
    with pytest.raises(ValueError, match="only pure costs"):
        compose([request], Budget(Fraction(1), delta=Fraction(1, 10**6), unit_rows=2))


@pytest.mark.parametrize(
    ("relation", "words"),
    [
        (Neighbours.ADD_REMOVE, "one whole unit (SERIAL, of which at most 2 rows count) added or removed"),
        (Neighbours.REPLACE_ONE, "at most 2 rows count) changed in any of its rows, or replaced by another"),
    ],
)
def test_a_model_says_that_its_guarantee_is_for_a_unit(relation: Neighbours, words: str) -> None:
    model = released(plan(people_of_units(2), Budget(Fraction(1), relation)))
    assert model.guarantee.unit == Unit(("SERIAL",), 2)
    assert words in statement(model.guarantee)
    assert words in repr(model)
    assert from_document(to_document(model), "model.json") == model


# Composition tables of the mechanisms, and the error to expect of what stands in them.


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
