"""What a caller of the Python interface gives as data, parsed as names are (``sources``). No row is read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from os import PathLike

from dpnb_columnar.errors import UsageError
from dpnb_columnar.rows.frames import is_frame, unknown_rows
from dpnb_columnar.rows.sources import DataSource, SourceKind, parse_names

LIBRARIES = {
    SourceKind.DELTA: ("deltalake", "DeltaTable"),
    SourceKind.ICEBERG: ("pyiceberg.table", "Table"),
}
"""Module and class of the tables that libraries hand out."""


def parse_data(data: object, *, spark: bool = False) -> tuple[DataSource, ...]:
    """Parse what a caller of the Python interface gives: a frame, a library's table, or names."""
    if is_frame(data):
        return (DataSource(SourceKind.FRAME, data),)
    if (opened := _opened_table(data)) is not None:
        return (opened,)
    return parse_names(names_of(data), spark=spark)


def names_of(data: object, argument: str = "data") -> list[str]:
    """List the names of files that are one, or several."""
    names = [data] if isinstance(data, str | PathLike) else data
    if not isinstance(names, Sequence) or not all(isinstance(name, str | PathLike) for name in names):
        framed = argument not in ("source", "extracts")
        raise UsageError(f"{argument}: {unknown_rows(data) if framed else 'not names of files'}")
    return [str(name) for name in names]


def _opened_table(data: object) -> DataSource | None:
    """Return the table that Delta's library, or pyiceberg, has opened; None if the data is no such."""
    for kind, (module, table) in LIBRARIES.items():
        # Who holds a table of a library has loaded that.
        library = sys.modules.get(module)
        if library is not None and isinstance(data, getattr(library, table)):
            return DataSource(kind, data)
    return None
