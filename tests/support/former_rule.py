"""A ledger and its models from before costs of replaced rows were reckoned right for sums over rows.

Version 0.1.0 wrote both, in two runs of ``train`` with ``--noise arsinh-normal --delta 1e-6 --neighbours replace-one
--attribute-weights calibrated`` on invented rows of three classes: ``before`` at epsilon 0.3, ``full`` at epsilon 0.37.
Together they were charged less than the limit, and cost more.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from dpnb_columnar.ledger import Entry, Ledger

_GOLDEN = Path(__file__).parents[1] / "golden" / "ledger_replaced_rows.json"
COLUMNS = Entry._fields


def golden() -> Any:
    """The entries, and the documents of the models by run."""
    return json.loads(_GOLDEN.read_text(encoding="utf-8"))


def former_document(run: str = "before") -> Any:
    """The document of a model that states too small a rho."""
    return json.loads(golden()["documents"][run])


def former_ledger(path: Path, entries: int = 5) -> Path:
    """The ledger as it was written, up to an entry: 2 and 4 charge a run, 3 and 5 hold its model."""
    Ledger.create(path).close()
    content = golden()
    with closing(sqlite3.connect(path)) as connection:
        for entry in content["entries"][:entries]:
            row = [entry.get(column, "" if column == "digest" else None) for column in COLUMNS]
            connection.execute(f"INSERT INTO entry ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(row))})", row)
            if entry["kind"] == "model":
                kept = (entry["run"], content["documents"][entry["run"]])
                connection.execute("INSERT INTO document (run, document) VALUES (?, ?)", kept)
        connection.commit()
    return path
