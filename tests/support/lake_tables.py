"""Folders of Delta, Iceberg and Hudi tables, written by hand: their logs as far as they are looked at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from support.people import write_people


def write_delta(folder: Path, versions: Sequence[pl.DataFrame]) -> Path:
    """Write a Delta table that each version after the first replaces: all files stay, only the last one is alive."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    for version, rows in enumerate(versions):
        name = f"part-{version}.parquet"
        size = write_people(folder / name, rows).stat().st_size
        actions: list[dict[str, object]] = [
            {
                "add": {
                    "path": name,
                    "size": size,
                    "partitionValues": {},
                    "modificationTime": version,
                    "dataChange": True,
                }
            }
        ]
        if version == 0:
            fields = [{"name": column, "type": "long", "nullable": True, "metadata": {}} for column in ("age", "hours")]
            fields += [
                {"name": column, "type": "string", "nullable": True, "metadata": {}} for column in ("sex", "income")
            ]
            schema = json.dumps({"type": "struct", "fields": fields})
            actions += [
                {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
                {
                    "metaData": {
                        "id": "00000000-0000-4000-8000-000000000000",
                        "format": {"provider": "parquet", "options": {}},
                        "schemaString": schema,
                        "partitionColumns": [],
                        "configuration": {},
                    }
                },
            ]
        else:
            actions.append(
                {"remove": {"path": f"part-{version - 1}.parquet", "deletionTimestamp": 1, "dataChange": True}}
            )
        (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, actions)))
    return folder


def write_log(folder: Path, log: str) -> None:
    """Write the log of a table: a folder, or a file of this name in one."""
    path = folder / log
    if log.endswith("/"):
        path.mkdir(parents=True)
    else:
        path.parent.mkdir(parents=True)
        path.write_text('{"format-version": 2}')
