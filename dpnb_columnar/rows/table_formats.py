"""Refuse Parquet files of Delta, Iceberg and Hudi tables, which hold rows that the table no longer has.

Such a table is a log of changes beside its files. A file stays after its rows were deleted or replaced, until somebody
cleans up, so that the files of a table that was written anew four times hold each person five times: at a stated
epsilon of 1 this person would lose 5. Only the log tells which rows are alive. A table is recognised by where its log
stands: in a folder that is above a file, on the path as it is given or with its links followed.

Not recognised are files that were copied or linked one by one to another place, an Iceberg table whose files lie
outside its own folder, and files that a frame, a view or a catalog's table names.

A table that is given itself, by its folder, is read by the library of its format (the extension ``lakes``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from dpnb_columnar.errors import DataError
from dpnb_columnar.runtime.paths import is_folder


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A format of tables that keep their past.

    Attributes:
        name: What to call it.
        log: Folder in the table's folder that holds its log.
        entry: Pattern of a file in the log that tells it from another folder of its name; None where the folder does.
        rows: How its live rows are read, ``{table!r}`` being its folder, and written to a file.
        frame: Frame of the live rows; None where Polars makes none.
        extra: Extra of this package whose library reads such a table (the extension ``lakes``); None where none does.
    """

    name: str
    log: str
    entry: str | None
    rows: str
    frame: str | None
    extra: str | None = None


POLARS = "{frame}.sink_parquet('live.parquet')"

DELTA = TableFormat("Delta", "_delta_log", None, POLARS, "pl.scan_delta({table!r})", "delta")

ICEBERG = TableFormat(
    "Iceberg",
    "metadata",
    "*.metadata.json*",
    POLARS,
    "pl.scan_iceberg('{table}/metadata/CURRENT.metadata.json')",
    "iceberg",
)

TABLE_FORMATS = (
    DELTA,
    ICEBERG,
    TableFormat("Hudi", ".hoodie", None, "spark.read.format('hudi').load({table!r}).write.parquet('live')", None),
)


def refuse_table_files(paths: Iterable[Path], searched: set[Path] | None = None) -> None:
    """Refuse files, and folders, that are in the folder of a table at whatever depth. No file is opened.

    Args:
        paths: Files and folders, as they are given.
    """
    searched = set() if searched is None else searched
    for path in paths:
        given = Path(os.path.normpath(path.absolute()))
        for place in [given, given.resolve()] if given.is_symlink() else [given]:
            for folder in _upwards(place if is_folder(place) else place.parent, searched):
                for kind in TABLE_FORMATS:
                    if has_log(folder, kind):
                        raise table_error(path, folder, kind)


def _upwards(folder: Path, searched: set[Path]) -> Iterator[Path]:
    """List a folder and those above it, also where links lead, that were not searched; add them to these."""
    while folder not in searched:
        searched.add(folder)
        yield folder
        if folder.is_symlink():
            yield from _upwards(folder.resolve(), searched)
        folder = folder.parent


def has_log(folder: Path, kind: TableFormat) -> bool:
    """Test whether a folder holds the log of a table; one that cannot be listed holds none."""
    log = folder / kind.log
    try:
        return is_folder(log) and (kind.entry is None or any(is_entry(each, kind) for each in log.iterdir()))
    except OSError:
        return False


def is_entry(file: Path, kind: TableFormat) -> bool:
    """Test whether a file is an entry of a log that tells the log by it."""
    return kind.entry is not None and file.parent.name == kind.log and fnmatchcase(file.name, kind.entry)


def table_error(path: object, table: object, kind: TableFormat) -> DataError:
    """Return the error to raise for a path within a table: why its files are not the rows, and how to get these."""
    place = str(table).rstrip("/")
    frame = "" if kind.frame is None else kind.frame.format(table=place)
    whole = f"give the table itself, {place}, alone to a verb that takes tables, or " * (kind.extra is not None)
    return DataError(
        f"{path}: belongs to the {kind.name} table {place} (see its {kind.log}), whose files hold deleted and replaced "
        f"rows too; {whole}write the live rows to a file elsewhere, {kind.rows.format(table=place, frame=frame)}"
    )
