"""A guarantee for whole units: every query spends a part for each row of a unit that may count."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from support.people import PEOPLE, people, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.api.model import Model
from dpnb_columnar.core.budget import Budget, Neighbours, Pure, Request, compose
from dpnb_columnar.core.budget.composition import PARALLEL_CLASSES
from dpnb_columnar.core.budget.costs import Approximate
from dpnb_columnar.core.mechanisms.plan import MECHANISMS, plan, plan_given, reserve_later_pass
from dpnb_columnar.core.mechanisms.release import ReleasePlan, release
from dpnb_columnar.core.noise import ExactSampler, SystemBits
from dpnb_columnar.domain import Domain, Unit
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.model.document import to_document
from dpnb_columnar.model.document_reader import read_document
from dpnb_columnar.model.guarantee_text import statement


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
    assert Model.of(read_document(to_document(model), "model.json")) == model


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("domain", "unit", "rows"), 3, "costs more than the share"),
        (("guarantee", "neighbours"), "replace-one", "costs more than the share"),
        (("guarantee", "delta"), "0.00001", "must be 0, since the guarantee is for whole units"),
    ],
)
def test_a_model_that_claims_too_much_for_a_unit_is_refused(place: tuple[str, ...], value: object, words: str) -> None:
    document = to_document(released(plan(people_of_units(2), Budget(Fraction(1)))))
    part = document
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    with pytest.raises(DataError, match=words):
        read_document(document, "model.json")


def test_the_second_release_of_a_unit_spends_what_the_first_has_left() -> None:
    attributes = {**PEOPLE["attributes"], **{f"a{place}": {"values": ["x", "y"]} for place in range(6)}}
    planned = plan(people_of_units(4, attributes=attributes), Budget(Fraction(1)), "histogram", None, "calibrated")
    first = reserve_later_pass(planned)
    rows = people(500).with_columns(**{f"a{place}": None for place in range(6)})
    counted = dpnb.aggregate(rows.cast({f"a{place}": str for place in range(6)}), domain=planned.domain.per_row)
    second = plan_given(release(replace(counted, domain=planned.domain), first, ExactSampler(SystemBits())))
    assert first.budget.epsilon + second.budget.epsilon == 1
    (share,) = second.shares
    assert pure(share.cost) == 4 * pure(share.row_cost) == second.budget.epsilon
