"""Models that state too small a rho, since gradients were reckoned too low for a replaced row, say what is true."""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.former_rule import former_document, golden
from support.running import Run

from dpnb_columnar.budget import Approximate, Concentrated, Pure, total
from dpnb_columnar.budget.costs import implies
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import DataError, UsageError
from dpnb_columnar.mechanisms.release_plan import plan_given
from dpnb_columnar.model.guarantee import statement
from dpnb_columnar.model.model import from_document
from dpnb_columnar.model.model_document import to_document, to_json

EPSILON, DELTA = "0.3155748", Fraction(1, 10**6)
"""The epsilon that the noise of the golden model implies, where 0.3 is stated."""


def test_a_model_of_the_former_rule_states_what_its_noise_costs() -> None:
    guarantee = from_document(former_document(), "test").guarantee
    stated = former_document()["guarantee"]
    # By hand: two rows of a gradient are 2e together, of any other query e and e in two draws.
    by_hand = 0.0
    for share in stated["composition"]:
        if "row_rho" in share:
            by_hand += 2 * float(share["row_rho"])
        elif share["query"].startswith("weight gradient"):
            by_hand += (2 * float(share["row_epsilon"])) ** 2 / 2
        else:
            by_hand += float(share["row_epsilon"]) ** 2
    assert guarantee.rho is not None
    assert guarantee.epsilon == Fraction(EPSILON)
    assert float(guarantee.rho) == pytest.approx(by_hand, rel=1e-7)
    assert total(guarantee.composition) == Concentrated(guarantee.rho)
    # A tenth of the budget was for gradients.
    assert float(guarantee.rho) / float(stated["rho"]) == pytest.approx(1.1, abs=1e-6)
    assert implies(guarantee.rho, Approximate(guarantee.epsilon, DELTA))
    assert not implies(guarantee.rho, Approximate(Fraction("0.3155"), DELTA))
    assert statement(guarantee).startswith(f"({EPSILON}, 0.000001)-differentially private for one row changed")
    assert "CORRECTED: its file states epsilon 0.3 and rho 0.002539642, since" in statement(guarantee)


def test_the_document_is_kept_as_it_was_written() -> None:
    written = golden()["documents"]["before"]
    assert to_json(to_document(from_document(json.loads(written), "test"))) == written


def test_show_prints_the_correction_on_one_line(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "old.json"
    file.write_text(golden()["documents"]["before"], encoding="utf-8")
    lines = run("show", file).out.splitlines()
    assert lines[1].startswith(f"({EPSILON}, 0.000001)-differentially private")
    assert lines[1].endswith("(a release made anew would cost its budget on top of them).")
    as_json = run("show", file, "--json")
    assert json.loads(as_json.out) == former_document()
    assert f"quote epsilon {EPSILON} and rho 0.002793" in as_json.err


def without(document: Any, gradients: int) -> Any:
    """The document as of a release from statistics, in which the last gradients are left for further ones."""
    changed = copy.deepcopy(document)
    guarantee = changed["guarantee"]
    guarantee["reserved"] = guarantee["composition"][-gradients:]
    guarantee["composition"] = guarantee["composition"][:-gradients]
    spent = sum(Fraction(share["rho"]) for share in guarantee["composition"])
    guarantee["rho"] = number_text(spent)
    if gradients == 3:
        del changed["attribute_weights"]
    return changed


def test_gradients_that_were_not_drawn_yet_have_enough_noise_and_are_not_drawn() -> None:
    """Then nothing was lost: the model keeps what it states, and what it reserves is calibrated anew.

    Rounds of three classes, which an earlier version asked for, are not continued.
    """
    document = without(former_document(), 3)
    model = from_document(document, "test")
    assert "CORRECTED" not in statement(model.guarantee)
    assert (model.guarantee.epsilon, model.guarantee.rho) == (Fraction(3, 10), Fraction(document["guarantee"]["rho"]))
    share = model.guarantee.reserved[0]
    first = former_document()["guarantee"]["composition"][-3]
    assert share.query == first["query"] == "weight gradient 1"
    assert isinstance(share.cost, Concentrated)
    assert isinstance(share.row_cost, Pure)
    assert share.cost.rho == Fraction(first["rho"])
    assert (2 * share.row_cost.epsilon) ** 2 / 2 <= share.cost.rho
    assert float(first["row_epsilon"]) / float(share.row_cost.epsilon) == pytest.approx(math.sqrt(2))
    assert to_document(model)["guarantee"] == document["guarantee"]
    message = (
        "given: this model of 3 classes waits for weight gradient 1, which an earlier version asked the rows, and this "
        "one asks of two classes alone; use the model as it is, finish it with the version that made it, or release "
        'its statistics anew with attribute_weights="calibrated"'
    )
    with pytest.raises(UsageError, match=message):
        plan_given(model)


def test_what_was_drawn_is_corrected_and_what_is_left_is_calibrated() -> None:
    model = from_document(without(former_document(), 1), "test")
    guarantee = model.guarantee
    assert guarantee.rho is not None
    assert guarantee.understated is not None
    (left,) = guarantee.reserved
    spent = total((*guarantee.composition, left))
    assert isinstance(spent, Concentrated)
    assert implies(spent.rho, Approximate(guarantee.epsilon or Fraction(0), DELTA))
    assert Fraction(3, 10) < (guarantee.epsilon or 0) < Fraction(EPSILON)


def test_more_than_the_former_rule_explains_is_refused() -> None:
    document = former_document()
    document["guarantee"]["composition"][-1]["row_epsilon"] = "0.0121"
    with pytest.raises(DataError, match="costs more than the share"):
        from_document(document, "test")
    document = former_document()
    document["guarantee"]["composition"][0]["row_epsilon"] = "0.0214"  # counts: two draws
    with pytest.raises(DataError, match="costs more than the share"):
        from_document(document, "test")
