"""Bug 9. Budgets added up in floating point: a release is refused because "1.0000000000000002 > 1.0" (opendp #2131),
or a rest is left that cannot be used up (opendp #2789).

Ours would show it as a model whose shares do not add up to the epsilon typed, to the last digit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.people import DECLARATION, people_domain, write_people
from support.recorded_draws import MECHANISMS
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.budget import Budget, Division, Neighbours, Pure, total
from dpnb_columnar.mechanisms.release_plan import plan
from dpnb_columnar.noise import Laplace

WEIGHTS = st.fractions(Fraction(1, 100), 100)


def stated(name: str) -> tuple[Fraction, list[Fraction]]:
    """The epsilon of a model, and its shares, read from the text of the file."""
    guarantee: Mapping[str, Any] = json.loads(Path(name).read_text())["guarantee"]
    return Fraction(guarantee["epsilon"]), [Fraction(share["epsilon"]) for share in guarantee["composition"]]


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize(
    ("epsilon", "division"), [("0.1", None), ("1", "1:1:1"), ("1/3", "0.1:0.2:0.3"), ("0.7", "1/3:1/7:1e-3")]
)
def test_bug_09_shares_add_up_to_what_was_typed(
    epsilon: str, division: str | None, neighbours: Neighbours, people_file: Path, run: Run
) -> None:
    divided = () if division is None else ("--shares", division)
    run("train", people_file, "--epsilon", epsilon, "--neighbours", neighbours, *divided, "--output", "model.json")
    whole, shares = stated("model.json")
    assert whole == Fraction(epsilon)
    assert sum(shares) == whole, "never above, and nothing left over"
    assert whole == sum(spent for spent, _ in calibrated(neighbours, epsilon, division))


def calibrated(neighbours: Neighbours, epsilon: str, division: str | None) -> list[tuple[Fraction, Fraction]]:
    """Per query, what its neighbours cost, from what its noise is calibrated to."""
    divided = None if division is None else Division(*map(Fraction, division.split(":")))
    found = []
    for share in plan(people_domain(), Budget(Fraction(epsilon), neighbours, divided)).shares:
        assert isinstance(share.row_cost, Pure)
        found.append((share.row_cost.epsilon * neighbours.rows, share.row_cost.epsilon))
    return found


@pytest.mark.parametrize("mechanism", MECHANISMS)
@settings(max_examples=15, deadline=None)
@given(st.fractions(Fraction(1, 10), 1000), WEIGHTS, WEIGHTS, WEIGHTS)
def test_bug_09_any_shares_use_up_any_epsilon(
    mechanism: str, epsilon: Fraction, numeric: Fraction, categorical: Fraction, counts: Fraction
) -> None:
    shares = plan(people_domain(), Budget(epsilon, division=Division(numeric, categorical, counts)), mechanism).shares
    assert total(shares) == Pure(epsilon)


def test_bug_09_the_same_sum_in_floats_misses() -> None:
    """Thirds of a tenth and the like, one of them above the budget, as in the peers' tickets."""
    missed = [sum([epsilon / parts] * parts) - epsilon for epsilon in (0.1, 0.7, 1.0) for parts in range(2, 50)]
    assert min(missed) < 0 < max(missed)
    assert 0.1 + 0.2 > 0.3


@pytest.mark.parametrize("typed", [0.1, "0.1", "1e-1", "1/10", Decimal("0.1"), Fraction(1, 10)], ids=repr)
def test_bug_09_a_tenth_is_a_tenth_in_python(typed: Any, people_file: Path) -> None:
    assert dpnb.train(people_file, epsilon=typed).guarantee.epsilon == Fraction(1, 10)


@pytest.mark.parametrize("written", ["0.1", '"0.1"', "1e-1", '"1/10"', "0.1000000000000000000000000"])
def test_bug_09_a_tenth_is_a_tenth_in_a_catalogue(written: str, folder: Path, run: Run) -> None:
    write_people(folder / "people.parquet", document=None)
    Path("datasets.toml").write_text(DECLARATION.replace("[people]\n", f"[people]\nepsilon = {written}\n"))
    assert "epsilon 0.1 " in run("train", "people.parquet").out
    assert stated("people.model.json")[0] == Fraction(1, 10)


def test_bug_09_more_digits_than_a_float_holds_are_kept(people_file: Path, run: Run) -> None:
    typed = "1.0000000000000002000000000000000003"
    assert f"epsilon {typed} " in run("train", people_file, "--epsilon", typed).out
    whole, shares = stated("people.model.json")
    assert whole == sum(shares) == Fraction(typed) > 1
    assert float(whole) == 1.0000000000000002


def test_bug_09_epsilons_of_parts_add_up_to_the_whole(people_file: Path) -> None:
    """Three tenths, spent a tenth at a time."""
    spent = [dpnb.train(people_file, epsilon=0.1).guarantee.epsilon for _ in range(3)]
    assert sum(filter(None, spent), Fraction(0)) == Fraction("0.3")
    assert Laplace(Fraction("0.3") / 3) == Laplace(Fraction("0.1"))
