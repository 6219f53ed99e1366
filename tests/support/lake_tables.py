"""Folders of Delta, Iceberg and Hudi tables, written by hand: their logs as far as they are looked at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from support.people import people, write_people

Row = dict[str, Any]


def write_delta(folder: Path, versions: Sequence[pl.DataFrame]) -> Path:
    """Write a Delta table that each version after the first replaces: all files stay, only the last one is alive."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    for version, rows in enumerate(versions):
        name = f"part-{version}.parquet"
        size = write_people(folder / name, rows).stat().st_size
        added = {"path": name, "size": size, "partitionValues": {}, "modificationTime": version, "dataChange": True}
        actions: list[dict[str, object]] = [{"add": added}]
        if version == 0:
            types = {"age": "long", "hours": "long", "sex": "string", "income": "string"}
            fields = [{"name": each, "type": type_, "nullable": True, "metadata": {}} for each, type_ in types.items()]
            schema = json.dumps({"type": "struct", "fields": fields})
            actions.append({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}})
            stored = {"format": {"provider": "parquet", "options": {}}, "schemaString": schema}
            identity = {"id": "00000000-0000-4000-8000-000000000000", "partitionColumns": [], "configuration": {}}
            actions.append({"metaData": identity | stored})
        else:
            gone = {"path": f"part-{version - 1}.parquet", "deletionTimestamp": 1, "dataChange": True}
            actions.append({"remove": gone})
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


class History:
    """A table whose past is drawn, and what rows each version of it that can be read has."""

    steps: Sequence[str]
    draw: np.random.Generator

    def go_on(self, steps: int) -> list[str]:
        chosen = [str(name) for name in self.draw.choice([*self.steps], steps)]
        for name in chosen:
            getattr(self, name)()
            self._keep()
        return chosen

    def _new(self, rows: int) -> list[Row]:
        return people(rows, int(self.draw.integers(2**31))).to_dicts()
