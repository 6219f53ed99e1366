"""Charges of the former rule for replaced rows: an account counts what its releases cost, and says so."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.former_rule import former_ledger, golden
from support.ledger_cases import forge
from support.running import Run

from dpnb_columnar.budget import Approximate, Concentrated, Neighbours, admits
from dpnb_columnar.errors import BudgetError, DataError
from dpnb_columnar.ledger import Charge, Ledger
from dpnb_columnar.ledger.former_charges import true_cost
from dpnb_columnar.ledger.records import sha256
from dpnb_columnar.model.model import from_document
from dpnb_columnar.model.model_document import to_document, to_json

TRUE = {"before": 0.0027936062, "full": 0.0041462124}


def small_charge(run: str, rho: Fraction = Fraction(1, 10**6)) -> Charge:
    return Charge("near", run, Concentrated(rho), Neighbours.REPLACE_ONE, "smooth", "arsinh-normal", {"data": ["x"]})


def test_an_account_counts_the_true_cost(tmp_path: Path) -> None:
    with Ledger(former_ledger(tmp_path / "x.ledger", entries=3)) as ledger:
        account = ledger.account("near")
        (correction,) = account.corrections
        assert correction.run == "before"
        assert correction.charged.rho == account.recorded.rho == Fraction("0.002539642")
        assert correction.true.rho == account.spent.rho
        assert float(account.spent.rho) == pytest.approx(TRUE["before"], rel=1e-6)
        assert not account.exceeded
        # What is left is reckoned from the true cost, and what is charged next is recorded as before.
        left = account.remaining.rho
        with pytest.raises(BudgetError, match="this release asks for"):
            ledger.spend(small_charge("more", left + Fraction(1, 10**6)))
        ledger.spend(small_charge("less", left))
        assert ledger.account("near").recorded.rho == Fraction("0.002539642") + left
        assert ledger.verify().entries == 4


def test_a_limit_that_was_exceeded_is_told_and_nothing_more_is_admitted(tmp_path: Path, run: Run) -> None:
    file = former_ledger(tmp_path / "x.ledger")
    with Ledger(file) as ledger:
        account = ledger.account("near")
        assert admits(account.limit, account.recorded)
        assert account.exceeded
        assert float(account.spent.rho) == pytest.approx(sum(TRUE.values()), rel=1e-6)
        with pytest.raises(BudgetError, match="before, full cost more than charged"):
            ledger.spend(small_charge("more"))
        with pytest.raises(BudgetError, match="Release nothing more"):
            ledger.verify()
    told = run("ledger", "verify", file, expected=77)
    assert "more than its limit epsilon 0.5, delta 0.000001 admits" in told.err
    assert "every limit was kept" not in told.out
    shown = run("ledger", "show", file)
    for name in TRUE:
        assert f"run {name} was charged rho" in shown.err
    assert "about 0.00693981859" in shown.out
    document = json.loads(run("ledger", "show", file, "--json").out)
    (told_account,) = document["accounts"]
    assert {each["run"]: float(Fraction(each["true_rho"])) for each in told_account["corrections"]} == pytest.approx(
        TRUE, rel=1e-6
    )


def test_verify_warns_where_the_limit_still_holds(tmp_path: Path, run: Run) -> None:
    told = run("ledger", "verify", former_ledger(tmp_path / "x.ledger", entries=3))
    assert "run before was charged rho 0.002539642 and cost about 0.00279360620" in told.err
    assert "every limit was kept" in told.out


def test_a_run_without_a_model_needs_no_correction(tmp_path: Path) -> None:
    """The noise that it will draw is the right one."""
    with Ledger(former_ledger(tmp_path / "x.ledger", entries=4)) as ledger:
        assert [each.run for each in ledger.account("near").corrections] == ["before"]


def test_weights_released_given_a_model_cost_their_own_share_alone(tmp_path: Path) -> None:
    file = former_ledger(tmp_path / "x.ledger", entries=3)
    share = json.loads(golden()["documents"]["before"])["guarantee"]["composition"][-1]
    inputs = json.dumps({"attribute_weights": "calibrated", "given": "0" * 64})
    forge(file, 2, rho=share["rho"], total_rho=share["rho"], inputs=inputs, inputs_digest=sha256(inputs))
    with Ledger(file) as ledger:
        (correction,) = ledger.account("near").corrections
    assert float(correction.true.rho) == pytest.approx(2 * float(share["rho"]), rel=1e-7)


def test_a_charge_that_is_not_its_models_is_an_error(tmp_path: Path) -> None:
    file = former_ledger(tmp_path / "x.ledger", entries=3)
    forge(file, 2, rho="0.001", total_rho="0.001")
    with Ledger(file) as ledger, pytest.raises(DataError, match="its shares do not add up to it"):
        ledger.account("near")


def test_other_charges_are_looked_at_no_further(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "x.ledger") as ledger:
        ledger.open_account("near", Approximate(Fraction(1), Fraction(1, 10**6)), Neighbours.REPLACE_ONE)
        ledger.spend(small_charge("one"))
        ledger.keep("one", "{}")
        assert ledger.account("near").corrections == ()


def as_written(composition: Any) -> str:
    return json.dumps({"guarantee": {"composition": composition}})


SHARE = {"query": "weight gradient 1", "rho": "0.2", "row_epsilon": "0.4"}


@pytest.mark.parametrize("name", TRUE)
def test_a_ledger_and_a_model_agree_on_what_it_cost(name: str) -> None:
    """Two readings of one document: of its composition table alone, and of the whole model."""
    document = golden()["documents"][name]
    model = from_document(json.loads(document), name)
    stated, true = model.guarantee.understated, model.guarantee
    assert stated is not None
    assert true_cost(replace(small_charge(name), cost=Concentrated(stated.rho)), document) == Concentrated(true.rho)
    # The same, stated as a program states it that reckons right, costs what it is charged.
    right = to_json(to_document(replace(model, guarantee=replace(true, understated=None))))
    assert true_cost(replace(small_charge(name), cost=Concentrated(true.rho)), right) == Concentrated(true.rho)


NO_AMOUNTS = (None, -1, "-0.2", 0, 0.2, "x", [], {})


@pytest.mark.parametrize(
    "document",
    [
        "{",
        "[]",
        "{}",
        '{"guarantee": null}',
        *map(as_written, [None, 3, "rho", {}, [], [None], ["rho"], [{}], [[SHARE]]]),
        *(as_written([{**SHARE, name: value}]) for name in ("rho", "row_epsilon") for value in NO_AMOUNTS),
        *(as_written([{key: value for key, value in SHARE.items() if key != name}]) for name in SHARE),
        as_written([{**SHARE, "epsilon": "1"}]),
        as_written([{**SHARE, "row_delta": "1/100"}]),
        as_written([SHARE, {"query": "counts", "epsilon": "1", "row_epsilon": "1"}]),
        as_written([SHARE, SHARE]),
    ],
)
def test_a_document_that_states_no_cost_is_told_and_never_counts_as_nothing(document: str) -> None:
    charge = replace(small_charge("one"), cost=Concentrated(Fraction("0.2")))
    assert true_cost(charge, as_written([SHARE])) == Concentrated(Fraction("0.32"))
    with pytest.raises(ValueError, match=r"its |it has |xpect|one of "):
        true_cost(charge, document)
