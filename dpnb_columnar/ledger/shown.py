"""Show accounts and releases as rows of tables and as JSON.

Documents of models and digests of data stay in the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from dpnb_columnar.core.budget import PrivacyCost, Remaining, Spent
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.ledger.records import Account, Entry, written_relation
from dpnb_columnar.ledger.refusals import format_amount

FIELDS = (
    *("number", "time", "run", "dataset", "epsilon", "delta", "rho", "neighbours", "mechanism", "noise"),
    *("model_digest", "version", "inputs", "inputs_digest", "total_epsilon", "total_delta", "total_rho", "digest"),
)
"""Columns of a release. All are text but the number; amounts are exact, and None where a cost has no such number."""

Row = dict[str, int | str | None]


def release_row(spend: Entry, model_digest: str | None) -> Row:
    """Make the row of a release from its spend and its model's digest, None while the run is unfinished."""
    return {name: model_digest if name == "model_digest" else getattr(spend, name) for name in FIELDS}


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
"""Columns of the table of releases, and the fields of ``FIELDS`` that they show."""

SHORT_DIGEST = 12
"""Characters of a digest in a table."""


def account_cells(account: Account) -> list[str]:
    """Format an account as a row below ``ACCOUNT_HEADER``."""
    spent, left = account.spent, account.remaining
    amounts = (
        *(account.limit.epsilon, account.limit.delta),
        *(spent.epsilon, spent.delta, spent.rho),
        *(left.epsilon, left.delta, left.rho),
    )
    return [account.dataset, written_relation(account.neighbours, account.unit), *map(format_amount, amounts)]


def account_document(account: Account) -> dict[str, Any]:
    """Write an account as a JSON document with exact amounts."""
    return {
        "dataset": account.dataset,
        "neighbours": account.neighbours.value,
        **({"unit": [*account.unit]} if account.unit else {}),
        "bound": account.parts is not None,
        "limit": _texts(account.limit),
        "spent": _texts(account.spent),
        "remaining": _texts(account.remaining),
    }


def release_cells(row: Row) -> list[int | str]:
    """Format a release as a row below ``RELEASE_HEADER``; ``-`` stands for a missing value."""
    return [_cell(name, row[name]) for name in RELEASE_HEADER.values()]


def _cell(name: str, value: int | str | None) -> int | str:
    if value is None:
        return "-"
    if isinstance(value, int):
        return value
    return value[:SHORT_DIGEST] if name == "model_digest" else value


def _texts(record: PrivacyCost | Spent | Remaining) -> dict[str, str]:
    return {name: number_text(amount) for name, amount in asdict(record).items()}
