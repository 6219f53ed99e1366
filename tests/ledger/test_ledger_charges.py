"""What a release is charged with: whom its promise is for, and all that a run which is begun again has to share."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from dpnb_columnar.core.budget import Approximate, Budget, Neighbours, Pure, SharesRule, parse_division
from dpnb_columnar.core.noise import ExactSampler, SystemBits
from dpnb_columnar.releases.model_plan import release
from dpnb_columnar.releases.plan import plan, plan_given, reserve_later_pass
from dpnb_columnar.releases.score_plan import plan_scores
from support.people import PEOPLE, people, people_domain

import dpnb_columnar as dpnb
from dpnb_columnar.errors import CommandLine, DataError, UsageError, front_door
from dpnb_columnar.ledger import Charge, Ledger
from dpnb_columnar.ledger.records import amount
from dpnb_columnar.ledger.refusals import other_inputs
from dpnb_columnar.training import Payment, payment_for

LEDGER = Path("x.ledger")
ONE = Fraction(1)
UNIT = {**PEOPLE, "unit": {"columns": ["u"], "rows": 2}}


def weighted(cap: int) -> dict[str, Any]:
    return {**PEOPLE, "weight": {"column": "w", "cap": cap, "step": 1}}


def charged(document: Any = PEOPLE, budget: Budget | None = None, data: str = "a", **options: Any) -> Charge:
    planned = plan(people_domain(document), budget or Budget(ONE), **{"mechanism": "histogram", **options})
    return payment_for(planned, LEDGER, [data], run="one").charge


def test_a_run_that_is_begun_again_shares_everything() -> None:
    """What it counts and how, and each part of its budget: whichever differs, it is another release."""
    charges = {
        "as it is": charged(),
        "data": charged(data="b"),
        "epsilon": charged(budget=Budget(ONE / 2)),
        "neighbours": charged(budget=Budget(ONE, Neighbours.REPLACE_ONE)),
        "shares": charged(budget=Budget(ONE, division=parse_division("3:1:1"))),
        "mechanism": charged(mechanism="smooth"),
        "noise": charged(mechanism="smooth", noise="cauchy"),
        "weights": charged(attribute_weights="calibrated"),
        "unit": charged(UNIT),
        "weight": charged(weighted(400)),
        "cap": charged(weighted(500)),
    }
    for one, two in combinations(charges, 2):
        assert other_inputs(LEDGER, charges[one], charges[two]) is not None, (one, two)
    assert other_inputs(LEDGER, charges["as it is"], charged()) is None


def test_the_shares_of_a_budget_are_named_where_they_differ() -> None:
    error = other_inputs(LEDGER, charged(), charged(budget=Budget(ONE, division=parse_division("3:1:1"))))
    assert "other inputs (shares)" in str(error)
    error = other_inputs(LEDGER, charged(weighted(400)), charged(weighted(500)))
    assert "weight" in str(error)


def test_equal_shares_finish_what_a_program_began_that_knew_no_others() -> None:
    """It wrote no rule. By size the run would be another release; a public file divided by other cells."""
    begun = charged(budget=Budget(ONE, division=SharesRule.EQUAL))
    assert begun.inputs["shares"] is None
    assert other_inputs(LEDGER, begun, charged(budget=Budget(ONE, division=SharesRule.EQUAL))) is None
    for budget in (Budget(ONE), Budget(ONE, division=SharesRule.BY_SIZE)):
        assert "other inputs (shares)" in str(other_inputs(LEDGER, begun, charged(budget=budget)))


@pytest.mark.parametrize(
    ("begun", "repeated", "cure"),
    [
        ({"budget": Budget(ONE, division=SharesRule.EQUAL)}, {}, "--shares equal"),
        ({"budget": Budget(ONE, division=parse_division("3:1:1"))}, {}, "--shares 3:1:1"),
        ({"mechanism": "smooth"}, {}, "--mechanism smooth --noise polyplace"),
        ({}, {"mechanism": "smooth"}, "--mechanism histogram"),
        ({}, {"attribute_weights": "calibrated"}, "--attribute-weights none"),
        ({"attribute_weights": "calibrated"}, {}, "--attribute-weights calibrated"),
        ({"budget": Budget(ONE / 3)}, {}, "--epsilon 1/3"),
        ({"budget": Budget(ONE, Neighbours.REPLACE_ONE)}, {}, "--neighbours replace-one"),
        ({"document": weighted(400)}, {}, "--weight w --weight-cap 400"),
        ({"document": UNIT}, {}, "--unit u"),
        ({}, {"document": UNIT}, "unit as it was then, or by the program that charged it"),
        ({}, {"document": weighted(400)}, "weight as it was then, or by the program that charged it"),
        ({"data": "b"}, {}, "data as it was then, or by the program that charged it"),
    ],
    ids=str,
)
def test_a_run_that_was_charged_otherwise_is_told_how_it_is_finished(
    begun: dict[str, Any], repeated: dict[str, Any], cure: str
) -> None:
    with front_door(CommandLine()):
        error = other_inputs(LEDGER, charged(**begun), charged(**repeated), "0.1.0")
    assert "; version 0.1.0 charged it. Finish that one, which is paid for, with " in str(error)
    assert f"with {cure}; another --run-id pays anew" in str(error)


def test_what_is_to_be_given_together_is_written_for_python_as_arguments() -> None:
    error = other_inputs(LEDGER, charged(mechanism="smooth"), charged())
    assert 'with mechanism="smooth", noise="polyplace"; another run_id pays anew' in str(error)


def test_another_kind_of_release_is_not_finished_by_options() -> None:
    domain = people_domain()
    model = dpnb.train(people(50), epsilon=1, domain=domain, mechanism="histogram")
    scores = payment_for(plan_scores(model, Budget(ONE)), LEDGER, ["a"], run="one").charge
    assert "give this one a run_id of its own" in str(other_inputs(LEDGER, charged(), scores))


def test_what_protects_nobody_is_not_paid_for() -> None:
    with pytest.raises(UsageError, match="none protects nobody, so no budget pays for it"):
        charged(mechanism="none")


def test_scores_of_a_model_that_protects_nobody_are_not_paid_for() -> None:
    model = dpnb.train(people(50), epsilon=1, domain=people_domain(), mechanism="none")
    with pytest.raises(UsageError, match="this model carries no guarantee, so no budget pays for its scores"):
        payment_for(plan_scores(model, Budget(ONE), seeded=True), LEDGER, ["a"])


def test_the_weights_of_a_model_are_paid_for_once() -> None:
    """Their run is named after the model, unless it is given another name."""
    domain = people_domain()
    planned = reserve_later_pass(plan(domain, Budget(ONE), "histogram", attribute_weights="calibrated"))
    counted = [dpnb.aggregate(people(50, seed), domain=domain) for seed in (1, 2)]
    models = [release(statistics, planned, ExactSampler(SystemBits())) for statistics in counted]
    runs = [payment_for(plan_given(model), LEDGER, ["a"]).charge.run for model in (models[0], models[0], models[1])]
    assert runs[0] == runs[1] != runs[2]
    assert payment_for(planned, LEDGER, ["a"]).charge.run != payment_for(planned, LEDGER, ["a"]).charge.run


@pytest.mark.parametrize("document", [PEOPLE, UNIT], ids=["rows", "units"])
def test_scores_are_charged_for_the_unit_and_the_model_that_they_are_of(document: Any) -> None:
    domain, rows = people_domain(document), people(50).with_columns(u=pl.int_range(pl.len()))
    models = [dpnb.train(rows, epsilon=epsilon, domain=domain, mechanism="histogram") for epsilon in (1, 2)]
    budget = Budget(Fraction(1, 2), Neighbours.REPLACE_ONE)
    charges = [payment_for(plan_scores(model, budget), LEDGER, ["a"], run="one").charge for model in models]
    for charge in charges:
        assert charge.cost == Pure(Fraction(1, 2))
        assert charge.neighbours is Neighbours.REPLACE_ONE
        assert charge.unit == (() if document is PEOPLE else ("u",))
    assert "evaluated" in str(other_inputs(LEDGER, *charges))


@pytest.fixture
def bound(tmp_path: Path) -> Payment:
    """A payment from an account of files a and b, in a ledger in which another account is of files c and d."""
    path = tmp_path / "x.ledger"
    with Ledger.create(path) as ledger:
        for dataset, parts in (("people", "ab"), ("others", "cd")):
            ledger.open_account(dataset, Approximate(ONE, Fraction(0)), Neighbours.ADD_REMOVE, frozenset(parts))
    return payment_for(plan(people_domain(), Budget(ONE / 4), "histogram"), path, ["a"], run="one")


@pytest.mark.parametrize("parts", ["ae", "abe", "e"])
def test_an_account_pays_for_none_but_its_own_files(parts: str, bound: Payment) -> None:
    with pytest.raises(DataError, match="is bound to other files than these"), bound.spend(frozenset(parts)):
        raise AssertionError("it may draw")
    assert bound.admit() is None
    with bound.spend(frozenset("a")) as charged_run:
        assert charged_run.released is None


@pytest.mark.parametrize("parts", ["c", "ec", "cd", "cde"])
def test_files_of_another_account_are_paid_by_none_but_that(parts: str, bound: Payment) -> None:
    with Ledger(bound.ledger) as ledger:
        ledger.open_account("free", Approximate(ONE, Fraction(0)), Neighbours.ADD_REMOVE)
    free = replace(bound, charge=replace(bound.charge, dataset="free"))
    with pytest.raises(DataError, match='charge that one: account="others"'), free.spend(frozenset(parts)):
        raise AssertionError("it may draw")
    with free.spend(frozenset("ef")):
        pass


def test_what_remains_is_told_after_the_run_whether_it_is_paid_or_not(bound: Payment) -> None:
    assert bound.remaining().epsilon == Fraction(3, 4)
    with bound.spend(frozenset("ab")):
        pass
    assert bound.remaining().epsilon == Fraction(3, 4)
    assert replace(bound, charge=replace(bound.charge, run="two")).remaining().epsilon == Fraction(1, 2)


@pytest.mark.parametrize(
    "written", ["-1", "-0.5", "+1", "1e3", " 1", "1.", ".5", "1/0", "0x1", "\u0661", "", "nan", None]
)
def test_no_amount_is_read_that_is_none(written: str | None) -> None:
    """A negative one would give a budget back."""
    with pytest.raises(ValueError, match="an amount is not a number"):
        amount(written)
