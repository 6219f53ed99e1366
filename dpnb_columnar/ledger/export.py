"""A ledger's releases as a file: one row each. Documents of models and digests of data stay in the ledger."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from dpnb_columnar.errors import UsageError
from dpnb_columnar.files import atomic_output
from dpnb_columnar.ledger.ledger import Ledger
from dpnb_columnar.ledger.records import Entry

FIELDS = (
    *("number", "time", "run", "dataset", "epsilon", "delta", "rho", "neighbours", "mechanism", "noise"),
    *("model_digest", "version", "inputs", "inputs_digest", "total_epsilon", "total_delta", "total_rho", "digest"),
)
"""Columns of a release. All are text but the number; amounts are exact, and None where a loss has no such number."""

AT_ONCE = 10_000
"""Rows of a row group."""

Row = dict[str, int | str | None]


def release_row(spend: Entry, model_digest: str | None) -> Row:
    """One release: its spend, and the digest of its model, None while the run is unfinished."""
    return {name: model_digest if name == "model_digest" else getattr(spend, name) for name in FIELDS}


def check_suffix(output: Path) -> None:
    """Refuse a name that says neither CSV nor Parquet nor JSON.

    Raises:
        UsageError: With the remedy.
    """
    if output.suffix.lower() not in WRITERS:
        raise UsageError(f"{output}: releases are written as {', '.join(WRITERS)}; end its name in one of these")


def write_releases(ledger: Ledger, output: Path, *, overwrite: bool = False) -> None:
    """Write every release of a ledger, in order; memory does not grow with their number.

    Raises:
        UsageError: The suffix is none of ``WRITERS``.
        OutputError: The file exists, or cannot be written.
        DataError: The ledger is damaged.
    """
    check_suffix(output)
    rows = (release_row(spend, model) for spend, model in ledger.releases())
    with atomic_output(output, overwrite=overwrite) as partial:
        WRITERS[output.suffix.lower()](rows, partial)


def _write_csv(rows: Iterator[Row], output: Path) -> None:
    with output.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_json(rows: Iterator[Row], output: Path) -> None:
    with output.open("w", encoding="utf-8") as stream:
        separator = "[\n"
        for row in rows:
            stream.write(separator + json.dumps(row, ensure_ascii=False))
            separator = ",\n"
        stream.write("[]\n" if separator == "[\n" else "\n]\n")


def _write_parquet(rows: Iterator[Row], output: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.int64() if name == "number" else pa.string()) for name in FIELDS])
    with pq.ParquetWriter(output, schema, compression="zstd") as writer:
        while group := list(islice(rows, AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(group, schema))


WRITERS: dict[str, Callable[[Iterator[Row], Path], None]] = {
    ".csv": _write_csv,
    ".parquet": _write_parquet,
    ".json": _write_json,
}
"""What writes releases, by the suffix of the file."""
