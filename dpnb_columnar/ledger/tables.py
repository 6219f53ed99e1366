"""Accounts and releases as people and programs read them. No document of a model, no digest of data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from dpnb_columnar.budget import Loss, Remaining, Spent
from dpnb_columnar.domain.numbers import text
from dpnb_columnar.ledger.export import Row
from dpnb_columnar.ledger.records import Account
from dpnb_columnar.ledger.refusals import amount_shown

ACCOUNT_HEADER = (
    *("data set", "neighbours", "limit epsilon", "limit delta", "spent epsilon", "spent delta", "spent rho"),
    *("left epsilon", "left delta", "left rho"),
)

RELEASE_HEADER: Mapping[str, str] = {
    "number": "number",
    "time": "time",
    "run": "run",
    "data set": "dataset",
    "epsilon": "epsilon",
    "delta": "delta",
    "rho": "rho",
    "neighbours": "neighbours",
    "mechanism": "mechanism",
    "noise": "noise",
    "model": "model_digest",
    "version": "version",
}
"""Columns of the table of releases, and the fields of ``export.FIELDS`` that they show."""

SHORT_DIGEST = 12
"""Characters of a digest in a table."""


def account_cells(account: Account) -> list[str]:
    """A row below ``ACCOUNT_HEADER``."""
    spent, left = account.spent, account.remaining
    amounts = (
        *(account.limit.epsilon, account.limit.delta),
        *(spent.epsilon, spent.delta, spent.rho),
        *(left.epsilon, left.delta, left.rho),
    )
    return [account.dataset, account.neighbours.value, *map(amount_shown, amounts)]


def account_document(account: Account) -> dict[str, Any]:
    """An account in JSON, its amounts exact."""
    return {
        "dataset": account.dataset,
        "neighbours": account.neighbours.value,
        "bound": account.parts is not None,
        "limit": _texts(account.limit),
        "spent": _texts(account.spent),
        "remaining": _texts(account.remaining),
    }


def release_cells(row: Row) -> list[int | str]:
    """A row below ``RELEASE_HEADER``; ``-`` stands for what is not there."""
    return [_cell(name, row[name]) for name in RELEASE_HEADER.values()]


def _cell(name: str, value: int | str | None) -> int | str:
    if value is None:
        return "-"
    if isinstance(value, int):
        return value
    return value[:SHORT_DIGEST] if name == "model_digest" else value


def _texts(record: Loss | Spent | Remaining) -> dict[str, str]:
    return {name: text(amount) for name, amount in asdict(record).items()}
