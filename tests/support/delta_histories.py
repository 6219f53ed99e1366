"""Delta tables with a random past, written by Delta's library and by hand, beside a plain list of the rows they have.

The library writes no deletion vectors, so these are written here as the protocol of Delta says: a bitmap of the deleted
rows' places in a file, within the log itself, in a file beside the data, or in one named by its address.
"""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from support.lake_tables import History, Row
from support.people import TYPES

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
"""Digits of Z85, by which the log writes bytes."""

FEATURE = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}


def z85(content: bytes) -> str:
    """Write bytes as text, zeros after them up to a multiple of four."""
    numbers = struct.iter_unpack(">I", content + bytes(-len(content) % 4))
    return "".join(DIGITS[number // 85**place % 85] for (number,) in numbers for place in (4, 3, 2, 1, 0))


def bitmap(places: list[int]) -> bytes:
    """Write places below 2^16 as a Roaring bitmap of 64 bits, as Delta stores them: one container, of a list."""
    head = struct.pack("<IIHHI", 12346, 1, 0, len(places) - 1, 16)
    return struct.pack("<IQI", 1681511377, 1, 0) + head + struct.pack(f"<{len(places)}H", *sorted(places))


def deletion_vector(table: Path, places: list[int], storage: str, identity: UUID) -> dict[str, Any]:
    """Store a deletion vector, and return how the log names it."""
    content = bitmap(places)
    stored = {"storageType": storage, "cardinality": len(places), "sizeInBytes": len(content)}
    if storage == "i":
        return {**stored, "pathOrInlineDv": z85(content)}
    file = table / f"deletion_vector_{identity}.bin"
    file.write_bytes(b"\x01" + struct.pack(">I", len(content)) + content + struct.pack(">I", zlib.crc32(content)))
    return {**stored, "offset": 1, "pathOrInlineDv": z85(identity.bytes) if storage == "u" else file.as_uri()}


class DeltaHistory(History):
    """A Delta table whose past is drawn, and what rows each version of it has."""

    steps = (
        *("append", "overwrite", "delete", "update", "compact", "vacuum", "delete_by_vector", "checkpoint"),
        "add_column",
    )

    def __init__(self, folder: Path, seed: int, partitioned: bool) -> None:
        self.folder = folder
        self.draw = np.random.default_rng(seed)
        self.partitioned = partitioned
        self.rows = self._new(20)
        write_deltalake(folder, self._frame(self.rows).to_arrow(), partition_by=["sex"] if partitioned else None)
        self.versions: dict[int, list[Row]] = {}
        self._keep()

    def append(self) -> None:
        for _ in range(self.draw.integers(1, 3)):
            added = self._new(int(self.draw.integers(1, 12)))
            write_deltalake(self.folder, self._frame(added).to_arrow(), mode="append", schema_mode="merge")
            self.rows = self.rows + added
            self._keep()

    def overwrite(self) -> None:
        self.rows = self._new(int(self.draw.integers(1, 25)))
        write_deltalake(self.folder, self._frame(self.rows).to_arrow(), mode="overwrite", schema_mode="merge")

    def delete(self) -> None:
        least = int(self.draw.integers(15, 90))
        DeltaTable(self.folder).delete(f"age >= {least} AND age < {least + 15}")
        self.rows = [row for row in self.rows if not least <= row["age"] < least + 15]

    def update(self) -> None:
        least, hours = (int(self.draw.integers(15, 90)) for _ in range(2))
        DeltaTable(self.folder).update({"hours": str(hours)}, predicate=f"age >= {least} AND age < {least + 15}")
        self.rows = [{**row, "hours": hours} if least <= row["age"] < least + 15 else row for row in self.rows]

    def compact(self) -> None:
        DeltaTable(self.folder).optimize.compact()

    def checkpoint(self) -> None:
        DeltaTable(self.folder).create_checkpoint()

    def vacuum(self) -> None:
        DeltaTable(self.folder).vacuum(0, dry_run=False, enforce_retention_duration=False)
        self.versions = {}

    def add_column(self) -> None:
        name = f"added{self.draw.integers(3)}"
        added = [{**row, name: 1.5} for row in self._new(2)]
        write_deltalake(self.folder, pl.DataFrame(added).to_arrow(), mode="append", schema_mode="merge")
        self.rows = self.rows + [{key: row[key] for key in TYPES} for row in added]

    def delete_by_vector(self, storages: str = "iup") -> None:
        """Mark rows of a file as deleted, in a vector stored in one of these ways, and leave the file as it is."""
        table = DeltaTable(self.folder)
        actions = [json.loads(line) for line in self._actions(table)]
        if not actions:
            return
        file = actions[int(self.draw.integers(len(actions)))]
        held = self._read(file)
        places = sorted(self.draw.choice(len(held), int(self.draw.integers(1, len(held) + 1)), replace=False).tolist())
        identity = UUID(bytes=self.draw.bytes(16), version=4)
        stored = deletion_vector(self.folder, places, str(self.draw.choice([*storages])), identity)
        removed = {key: file[key] for key in ("path", "partitionValues", "size")}
        written = [
            {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **FEATURE}},
            {"remove": {**removed, "deletionTimestamp": 1, "dataChange": True}},
            {"add": {**file, "deletionVector": stored}},
        ]
        log = self.folder / "_delta_log" / f"{table.version() + 1:020}.json"
        log.write_text("\n".join(map(json.dumps, written)) + "\n")
        for place in places:
            self.rows.remove(held[place])

    def _actions(self, table: DeltaTable) -> list[str]:
        """List the files without deletion vectors, as the log adds them."""
        marked = set(pl.DataFrame(table.deletion_vectors())["filepath"].to_list())
        listed = []
        for file in pl.DataFrame(table.get_add_actions(flatten=True)).to_dicts():
            path = file["path"]
            if any(each.endswith(path) for each in marked):
                continue
            values = {key.removeprefix("partition."): value for key, value in file.items() if "partition." in key}
            add = {"path": path, "size": file["size_bytes"], "partitionValues": values, "modificationTime": 1}
            stats = json.dumps({"numRecords": file["num_records"]})
            listed.append(json.dumps({**add, "dataChange": True, "stats": stats}))
        return listed

    def _read(self, file: dict[str, Any]) -> list[Row]:
        rows = pq.ParquetFile(self.folder / file["path"]).read().to_pylist()
        return [{key: {**row, **file["partitionValues"]}[key] for key in TYPES} for row in rows]

    def _frame(self, rows: list[Row]) -> pl.DataFrame:
        return pl.DataFrame(rows, schema=TYPES)

    def _keep(self) -> None:
        self.versions[DeltaTable(self.folder).version()] = [*self.rows]
