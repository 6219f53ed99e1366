"""Export accounts and releases as tables and files, one row each.

Documents of models and digests of data stay in the ledger.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from dpnb_columnar.budget import PrivacyCost, Remaining, Spent
from dpnb_columnar.domain.numbers import number_text
from dpnb_columnar.errors import UsageError
from dpnb_columnar.ledger.accounts import Ledger
from dpnb_columnar.ledger.records import Account, Entry, written_relation
from dpnb_columnar.ledger.refusals import format_amount
from dpnb_columnar.runtime.outputs import atomic_output, parquet_writer

FIELDS = (
    *("number", "time", "run", "dataset", "epsilon", "delta", "rho", "neighbours", "mechanism", "noise"),
    *("model_digest", "version", "inputs", "inputs_digest", "total_epsilon", "total_delta", "total_rho", "digest"),
)
"""Columns of a release. All are text but the number; amounts are exact, and None where a cost has no such number."""

AT_ONCE = 10_000
"""Rows of a row group."""

Row = dict[str, int | str | None]


def release_row(spend: Entry, model_digest: str | None) -> Row:
    """Make the row of a release from its spend and its model's digest, None while the run is unfinished."""
    return {name: model_digest if name == "model_digest" else getattr(spend, name) for name in FIELDS}


def check_suffix(output: Path) -> None:
    """Refuse an output name that does not end in .csv, .parquet or .json.

    Raises:
        UsageError: if the suffix is another one.
    """
    if output.suffix.lower() not in WRITERS:
        raise UsageError(f"{output}: releases are written as {', '.join(WRITERS)}; end its name in one of these")


def write_releases(ledger: Ledger, output: Path, *, overwrite: bool = False) -> None:
    """Write every release of a ledger, in order; memory does not grow with their number.

    Raises:
        UsageError: if the suffix is none of ``WRITERS``.
        OutputError: if the file exists or cannot be written.
        DataError: if the ledger is damaged.
    """
    check_suffix(output)
    rows = (release_row(spend, model) for spend, model in ledger.releases())
    with atomic_output(output, overwrite=overwrite, confidential=True) as partial:
        WRITERS[output.suffix.lower()](rows, partial)


def _write_csv(rows: Iterator[Row], partial: Path) -> None:
    with partial.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_json(rows: Iterator[Row], partial: Path) -> None:
    with partial.open("w", encoding="utf-8") as stream:
        separator = "[\n"
        for row in rows:
            stream.write(separator + json.dumps(row, ensure_ascii=False))
            separator = ",\n"
        stream.write("[]\n" if separator == "[\n" else "\n]\n")


def _write_parquet(rows: Iterator[Row], partial: Path) -> None:
    import pyarrow as pa

    schema = pa.schema([(name, pa.int64() if name == "number" else pa.string()) for name in FIELDS])
    with parquet_writer(partial, schema) as writer:
        while group := list(islice(rows, AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(group, schema))


WRITERS: dict[str, Callable[[Iterator[Row], Path], None]] = {
    ".csv": _write_csv,
    ".parquet": _write_parquet,
    ".json": _write_json,
}
"""Writers of releases by the suffix of the file."""


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
