"""Iceberg tables with a random past, written by pyiceberg and by hand, beside a plain list of the rows they have.

The library deletes rows by writing files anew. Files of deleted places, of deleted values, and deletion vectors are
written here as the specification of Iceberg says.
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
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg import manifest
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io import load_file_io
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

from support.delta_histories import bitmap
from support.lake_tables import History, Row
from support.people import TYPES

SCHEMA = Schema(
    NestedField(1, "age", LongType(), required=False),
    NestedField(2, "hours", LongType(), required=False),
    NestedField(3, "sex", StringType(), required=False),
    NestedField(4, "income", StringType(), required=False),
)
BY_SEX = PartitionSpec(PartitionField(source_id=3, field_id=1000, transform=IdentityTransform(), name="sex"))

PLACES = pa.schema(
    [
        pa.field("file_path", pa.string(), False, {"PARQUET:field_id": "2147483546"}),
        pa.field("pos", pa.int64(), False, {"PARQUET:field_id": "2147483545"}),
    ]
)
"""Columns of a file of deleted places."""


class FolderCatalogue(NoopCatalog, MetastoreCatalog):  # type: ignore[misc]
    """A catalogue of one folder, which keeps where each table's newest metadata are."""

    newest: dict[tuple[str, ...], str]
    warehouse: str = ""

    def __init__(self, name: str, warehouse: str, **properties: str) -> None:
        super().__init__(name, **properties)
        self.warehouse = warehouse
        kept = Path(warehouse) / "catalogue.json"
        known = json.loads(kept.read_text()) if kept.exists() else {}
        self.newest = {tuple(key.split(".")): place for key, place in known.items()}

    def create_table(self, identifier: Any, schema: Any, partition_spec: Any = None, **_: Any) -> Table:
        name = self.identifier_to_tuple(identifier)
        location = f"{self.warehouse}/{name[-1]}"
        spec = {} if partition_spec is None else {"partition_spec": partition_spec}
        staged = self._create_staged_table(name, schema, location, **spec)
        self._keep(name, staged)
        return self.load_table(name)

    def load_table(self, identifier: Any) -> Table:
        from pyiceberg.exceptions import NoSuchTableError

        name = self.identifier_to_tuple(identifier)
        if name not in self.newest:
            raise NoSuchTableError(".".join(name))
        files = load_file_io({}, self.newest[name])
        metadata = FromInputFile.table_metadata(files.new_input(self.newest[name]))
        return Table(name, metadata, self.newest[name], files, self)

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        staged = self._update_and_stage_table(self.load_table(table.name()), table.name(), requirements, updates)
        self._keep(table.name(), staged)
        return CommitTableResponse(metadata=staged.metadata, metadata_location=staged.metadata_location)

    def _keep(self, name: tuple[str, ...], staged: Any) -> None:
        self._write_metadata(staged.metadata, PyArrowFileIO(), staged.metadata_location)
        self.newest[name] = staged.metadata_location
        known = {".".join(key): place for key, place in self.newest.items()}
        (Path(self.warehouse) / "catalogue.json").write_text(json.dumps(known))


class DeleteWriter(manifest.ManifestWriterV2):
    def content(self) -> manifest.ManifestContent:
        return manifest.ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class Deletes(_FastAppendFiles):
    files: list[manifest.DataFile]

    def _manifests(self) -> list[manifest.ManifestFile]:
        metadata = self._transaction.table_metadata
        with DeleteWriter(
            metadata.spec(), metadata.schema(), self.new_manifest_output(), self.snapshot_id, "deflate"
        ) as writer:
            for file in self.files:
                writer.add(
                    manifest.ManifestEntry.from_args(
                        status=manifest.ManifestEntryStatus.ADDED,
                        snapshot_id=self.snapshot_id,
                        sequence_number=None,
                        file_sequence_number=None,
                        data_file=file,
                    )
                )
        return [*self._existing_manifests(), writer.to_manifest_file()]


def commit_deletes(
    table: Table, file: Path, content: manifest.DataFileContent, form: manifest.FileFormat, of: manifest.DataFile
) -> None:
    added = manifest.DataFile.from_args(
        _table_format_version=2,
        content=content,
        file_path=str(file),
        file_format=form,
        partition=of.partition or Record(),
        record_count=1,
        file_size_in_bytes=file.stat().st_size,
        equality_ids=[1] if content == manifest.DataFileContent.EQUALITY_DELETES else None,
    )
    added.spec_id = of.spec_id
    transaction = table.transaction()
    update = Deletes(operation=Operation.DELETE, transaction=transaction, io=table.io)
    update.files = [added]
    update.commit()
    transaction.commit_transaction()


def write_vector(file: Path, places: list[int], of: str) -> None:
    stored = b"\xd1\xd3\x39\x64" + bitmap(places)[4:]
    blob = struct.pack(">I", len(stored)) + stored + struct.pack(">I", zlib.crc32(stored))
    named = {"type": "deletion-vector-v1", "fields": [], "snapshot-id": -1, "sequence-number": -1, "offset": 4}
    properties = {"referenced-data-file": of, "cardinality": str(len(places))}
    footer = json.dumps({"blobs": [{**named, "length": len(blob), "properties": properties}]}).encode()
    content = b"PFA1" + blob + b"PFA1" + footer + struct.pack("<II", len(footer), 0) + b"PFA1"
    file.write_bytes(content)


class IcebergHistory(History):
    """An Iceberg table whose past is drawn, and what rows each snapshot of it has."""

    steps = (
        *("append", "overwrite", "delete", "update", "compact", "expire", "delete_places", "delete_by_vector"),
        "rename",
    )

    def __init__(self, warehouse: Path, seed: int, partitioned: bool) -> None:
        warehouse.mkdir(exist_ok=True)
        self.folder = warehouse / "people"
        self.draw = np.random.default_rng(seed)
        self.catalogue = FolderCatalogue("test", str(warehouse))
        spec = {"partition_spec": BY_SEX} if partitioned else {}
        self.table = self.catalogue.create_table("census.people", SCHEMA, **spec)
        self.names = {name: name for name in TYPES}
        self.rows = self._new(20)
        self.table.append(self._arrow(self.rows))
        self.versions: dict[int, list[Row]] = {}
        self._keep()

    def append(self) -> None:
        added = self._new(int(self.draw.integers(1, 12)))
        self.table.append(self._arrow(added))
        self.rows = self.rows + added

    def overwrite(self) -> None:
        self.rows = self._new(int(self.draw.integers(1, 25)))
        self.table.overwrite(self._arrow(self.rows))

    def delete(self) -> None:
        least = int(self.draw.integers(15, 90))
        if any(least <= row["age"] < least + 15 for row in self.rows):
            name = self.names["age"]
            self.table.delete(f"{name} >= {least} and {name} < {least + 15}")
            self.rows = [row for row in self.rows if not least <= row["age"] < least + 15]

    def update(self) -> None:
        least, hours = (int(self.draw.integers(15, 90)) for _ in range(2))
        changed = [{**row, "hours": hours} for row in self.rows if least <= row["age"] < least + 15]
        if changed:
            name = self.names["age"]
            self.table.overwrite(self._arrow(changed), f"{name} >= {least} and {name} < {least + 15}")
            self.rows = [row for row in self.rows if not least <= row["age"] < least + 15] + changed

    def compact(self) -> None:
        self.table.overwrite(self.table.scan().to_arrow())

    def expire(self) -> None:
        """Forget earlier snapshots, and remove files that the newest one does not need."""
        current = self.table.current_snapshot().snapshot_id
        for snapshot in self.table.metadata.snapshots:
            if snapshot.snapshot_id != current:
                self.table.maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
        self.table = self.catalogue.load_table("census.people")
        live = {Path(each["file_path"]).name for each in self.table.inspect.all_files().to_pylist()}
        for file in self.folder.rglob("data/**/*.parquet"):
            if file.name not in live:
                file.unlink()
        self.versions = {}

    def rename(self) -> None:
        """Rename a column, and give the table one more; the files stay as they are."""
        number = len(self.table.metadata.schemas)
        with self.table.update_schema() as changed:
            changed.rename_column(self.names["age"], f"age{number}")
            changed.add_column(f"added{number}", DoubleType())
        self.names["age"] = f"age{number}"
        self.append()  # in which snapshot the new names are
        self.versions = {}

    def delete_places(self) -> None:
        self._delete(manifest.FileFormat.PARQUET)

    def delete_by_vector(self) -> None:
        self._delete(manifest.FileFormat.PUFFIN)

    def _delete(self, form: manifest.FileFormat) -> None:
        tasks = [task for task in self.table.scan().plan_files() if not task.delete_files]
        if not tasks:
            return
        data = tasks[int(self.draw.integers(len(tasks)))].file
        held = pq.ParquetFile(data.file_path).read().to_pylist()
        held = [dict(zip(TYPES, [*row.values()][:4], strict=True)) for row in held]
        places = sorted(self.draw.choice(len(held), int(self.draw.integers(1, len(held) + 1)), replace=False).tolist())
        file = self.folder / "data" / f"{UUID(bytes=self.draw.bytes(16), version=4)}-deletes.{form.value.lower()}"
        if form == manifest.FileFormat.PUFFIN:
            write_vector(file, places, data.file_path)
        else:
            pq.write_table(pa.table([[data.file_path] * len(places), places], schema=PLACES), file)
        commit_deletes(self.table, file, manifest.DataFileContent.POSITION_DELETES, form, data)
        self.table = self.catalogue.load_table("census.people")
        for place in places:
            self.rows.remove(held[place])

    def _arrow(self, rows: list[Row]) -> pa.Table:
        return pl.DataFrame(rows, schema=TYPES).rename(self.names).to_arrow(compat_level=pl.CompatLevel.oldest())

    def _keep(self) -> None:
        self.versions[self.table.current_snapshot().snapshot_id] = [*self.rows]
