"""A guarantee that is read costs what it states: for one row, for all queries, and with what is left for later."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from dpnb_columnar.core.budget import Approximate
from dpnb_columnar.core.budget.costs import concentrated_within

from dpnb_columnar.domain import Unit
from dpnb_columnar.model.document_part import InvalidPartError, Part
from dpnb_columnar.model.document_reader import read_guarantee

HOUSEHOLD = Unit(("SERIAL",), 3)

RHO = concentrated_within(Approximate(Fraction(1), Fraction(1, 10**6))).rho
"""The largest that implies epsilon 1 and delta 1e-6."""


def share(query: str = "class counts", **amounts: object) -> dict[str, Any]:
    stated = {name: str(amount) for name, amount in amounts.items()}
    return {"query": query, "attribute": None, "values": 2, "composition": "", "noise": "laplace", **stated}


def guarantee(*shares: dict[str, Any], unit: Unit | None = None, **stated: object) -> None:
    document = {
        "private": True,
        "mechanism": "smooth",
        "noise": None,
        "epsilon": "1",
        "delta": "0",
        "neighbours": "add-remove",
        "seeded": False,
        "composition": [*shares],
        **stated,
    }
    read_guarantee(Part(document), unit)


@pytest.mark.parametrize(
    ("neighbours", "unit", "rows"),
    [("add-remove", None, 1), ("replace-one", None, 2), ("add-remove", HOUSEHOLD, 3), ("replace-one", HOUSEHOLD, 6)],
)
def test_rows_between_neighbours_cost_no_more_than_the_share(neighbours: str, unit: Unit | None, rows: int) -> None:
    guarantee(share(epsilon=1, row_epsilon=Fraction(1, rows)), unit=unit, neighbours=neighbours)
    for too_much in (Fraction(1, rows) + Fraction(1, 10**9), Fraction(1, rows - 1) if rows > 1 else Fraction(2)):
        with pytest.raises(InvalidPartError, match="row_epsilon: costs more than the share"):
            guarantee(share(epsilon=1, row_epsilon=too_much), unit=unit, neighbours=neighbours)


def test_deltas_of_rows_are_within_the_share() -> None:
    amounts = {"epsilon": 1, "delta": "0.000001", "row_epsilon": "0.5"}
    stated = {"delta": "0.000001", "neighbours": "replace-one"}
    guarantee(share(**amounts, row_delta="0.0000005"), **stated)
    with pytest.raises(InvalidPartError, match="costs more than the share"):
        guarantee(share(**amounts, row_delta="0.0000006"), **stated)


@pytest.mark.parametrize(
    ("query", "row", "read"), [("counts", "1/2", 1), ("weight gradient 1", "1/2", 0), ("weight gradient 1", "1/4", 1)]
)
def test_a_replaced_row_moves_the_sums_of_a_gradient_twice(query: str, row: str, read: int) -> None:
    """Lemma 2.5: the rho of counts is twice that of one row, and the rho of a gradient four times."""
    stated = {"rho": str(RHO), "delta": "0.000001", "neighbours": "replace-one"}
    one = share(query, rho=RHO, row_rho=RHO * Fraction(row))
    if read:
        guarantee(one, **stated)
        one = share(query, rho=RHO, row_rho=RHO * Fraction(row) * Fraction(1001, 1000))
    with pytest.raises(InvalidPartError, match="row_rho: costs more than the share"):
        guarantee(one, **stated)


def test_no_delta_is_read_of_whole_units() -> None:
    with pytest.raises(InvalidPartError, match="delta: must be 0, since the guarantee is for whole units"):
        guarantee(
            share(epsilon=1, delta="0.000001", row_epsilon="0.25", row_delta="0.0000001"),
            unit=HOUSEHOLD,
            delta="0.000001",
        )


def concentrated(spent: Fraction, left: Fraction, **stated: object) -> None:
    """Two queries that have spent a rho, and one for which some is left."""
    half = {"rho": spent / 2, "row_rho": spent / 2}
    reserved = share("calibration counts", rho=left, row_rho=left)
    stated = {"rho": str(spent), "delta": "0.000001", "reserved": reserved, **stated}
    guarantee(share(**half), share("counts", **half), **stated)


def test_concentrated_shares_add_up_to_a_rho_that_implies_epsilon_and_delta() -> None:
    concentrated(RHO * 9 / 10, RHO / 10)
    for rho in (RHO, RHO * 8 / 10):
        with pytest.raises(InvalidPartError, match="the shares do not add up to rho"):
            concentrated(RHO * 9 / 10, RHO / 10, rho=str(rho))
    for epsilon, delta in (("0.99", "0.000001"), ("1", "0.0000009")):
        with pytest.raises(InvalidPartError, match="rho: does not imply epsilon and delta"):
            concentrated(RHO * 9 / 10, RHO / 10, epsilon=epsilon, delta=delta)


def test_what_is_left_for_later_is_implied_as_well() -> None:
    """It is spent under the same statement."""
    with pytest.raises(InvalidPartError, match="rho: does not imply epsilon and delta"):
        concentrated(RHO * 9 / 10, RHO / 5)
