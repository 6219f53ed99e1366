"""Rows that Spark holds: counted there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from dpnb_columnar.counting.inputs import Input
    from dpnb_columnar.rows.sources import DataSource


def opened(sources: Sequence[DataSource] | None, table: str | None) -> AbstractContextManager[Input]:
    """Open files, or a table of Spark's catalogs; the session, where it is used, is ended with the block."""
    from dpnb_columnar.extensions.spark.spark import opened

    return opened(sources, table)
