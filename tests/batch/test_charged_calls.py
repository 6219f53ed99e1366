"""The Python interface pays from a ledger as the command line does."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from dpnb_columnar.core.budget import Approximate, Neighbours

import dpnb_columnar as dpnb
from dpnb_columnar.counting.find_domain import find_domain
from dpnb_columnar.errors import BudgetError, UsageError
from dpnb_columnar.ledger import Ledger


@pytest.fixture
def ledger(people_file: Path) -> Path:
    with Ledger.create(Path("people.ledger")) as opened:
        opened.open_account("people", Approximate(Fraction(1), Fraction(0)), Neighbours.ADD_REMOVE)
    return Path("people.ledger")


def spent(ledger: Path) -> Fraction:
    with Ledger(ledger) as opened:
        return opened.account("people").spent.epsilon


def test_training_is_charged_once_for_a_run_id(ledger: Path, people_file: Path) -> None:
    models = [dpnb.train(people_file, epsilon="0.6", ledger=ledger, run_id="nightly") for _ in range(2)]
    assert models[0] == models[1]
    assert spent(ledger) == Fraction(3, 5)
    with pytest.raises(BudgetError):
        dpnb.train(people_file, epsilon="0.6", ledger=ledger)


def test_release_is_charged_each_time(ledger: Path, people_file: Path) -> None:
    statistics = dpnb.aggregate(people_file)
    assert dpnb.release(statistics, epsilon="0.3", ledger=ledger) != dpnb.release(
        statistics, epsilon="0.3", ledger=str(ledger), account="people"
    )
    assert spent(ledger) == Fraction(3, 5)


def test_frames_are_charged_but_have_no_run_id(ledger: Path, people_file: Path) -> None:
    frame, domain = pl.read_parquet(people_file), find_domain([people_file]).domain
    dpnb.train(frame, epsilon="0.3", domain=domain, ledger=ledger, account="people")
    assert spent(ledger) == Fraction(3, 10)
    with pytest.raises(UsageError, match="no name"):
        dpnb.train(frame, epsilon="0.3", domain=domain, ledger=ledger, run_id="nightly")
