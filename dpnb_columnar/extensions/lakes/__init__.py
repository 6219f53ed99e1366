"""Tables of lakes: the live rows of one snapshot of a Delta or an Iceberg table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpnb_columnar.counting.inputs import LocalInput
    from dpnb_columnar.rows.sources import DataSource


def open_source(source: DataSource) -> LocalInput:
    """Open a table."""
    from dpnb_columnar.extensions.lakes.lakes import open_table

    return open_table(source)
