"""Fixed-width extracts, rectangular or hierarchical, as Arrow batches: a row for each innermost record."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import IO

import numpy as np
import pyarrow as pa

from dpnb_columnar.codebooks.codebook import Codebook
from dpnb_columnar.ingest.ahead import ahead
from dpnb_columnar.ingest.columns import column_type
from dpnb_columnar.ingest.hierarchy import Hierarchy
from dpnb_columnar.ingest.lines import read_lines
from dpnb_columnar.ingest.records import RecordLayout, line_width
from dpnb_columnar.ingest.variables import homes

LINES_AHEAD = 4
"""Blocks of lines decompressed while one is decoded."""


def read_fixed_width(
    stream: IO[bytes], source: str, codebook: Codebook, names: Sequence[str]
) -> Generator[pa.RecordBatch]:
    """Read the wanted variables, rows in the order of the file; other variables are not looked at.

    Args:
        stream: The extract's bytes, uncompressed.
        source: Its name, for messages.
        codebook: Where its variables stand.
        names: Variables wanted, in the order of the columns.

    Raises:
        DataError: A line is not as the codebook says.
    """
    known = homes(codebook)
    found = [known[name] for name in names]
    schema = pa.schema([(name, column_type(variable)) for name, (_, variable) in zip(names, found, strict=True)])
    layouts = [
        RecordLayout(
            source,
            codebook,
            record_type,
            line_width([v for v in codebook.variables if not record_type or record_type in v.record_types]),
            tuple(variable for owner, variable in found if owner == record_type),
        )
        for record_type in codebook.record_types or ("",)
    ]
    hierarchy = Hierarchy(source, codebook, layouts) if codebook.record_types else None
    for lines in ahead(read_lines(stream, source), depth=LINES_AHEAD):
        if hierarchy is None:
            (layout,) = layouts
            rows = np.arange(len(lines.starts))
            layout.check_lengths(lines, rows)
            columns = layout.columns(lines.table(layout.width), rows + lines.first)
        else:
            columns = hierarchy.rows(lines)
        named = {v.name: c for (v, c) in zip((v for layout in layouts for v in layout.variables), columns, strict=True)}
        yield pa.RecordBatch.from_arrays([named[name] for name in names], schema=schema)
