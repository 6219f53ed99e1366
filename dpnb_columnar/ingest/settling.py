"""Types of columns that no codebook declares: by every value of every file, so that no later row can be a surprise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from dpnb_columnar.ingest.malformed import MalformedFieldError
from dpnb_columnar.ingest.numbers import EXACT_WIDTH
from dpnb_columnar.ingest.spelling import typed

CANDIDATES = (pa.int64(), pa.float64(), pa.string())
"""Types tried, each taking all that the one before takes."""

LONG = rf"^ *[+-]?[0-9]{{{EXACT_WIDTH + 1},}}$"
"""A whole number that a 64-bit float may not hold: as one, two identifiers could become alike."""


def settle(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> dict[str, pa.DataType]:
    """The first of whole number, number and text that every value of a column spells; text where there is no value.

    Args:
        batches: All rows of all files as text, confidential.
        names: The columns.
    """
    places = dict.fromkeys(names, 0)
    filled, long = dict.fromkeys(names, False), dict.fromkeys(names, False)
    for batch in batches:
        for name in names:
            strings = batch.column(name)
            filled[name] |= strings.null_count < len(strings)
            while not _spells(strings, CANDIDATES[places[name]]):
                places[name] += 1
            long[name] |= CANDIDATES[places[name]] != pa.string() and _is_long(strings)
    types = {name: CANDIDATES[place] for name, place in places.items()}
    for name, type_ in types.items():
        if not filled[name] or (long[name] and type_ == pa.float64()):
            types[name] = pa.string()
    return types


def _spells(strings: pa.Array, type_: pa.DataType) -> bool:
    try:
        typed(strings, type_)
    except MalformedFieldError:
        return False
    return True


def _is_long(strings: pa.Array) -> bool:
    """Whether a whole number among them has more digits than a float holds."""
    lengths = pc.max(pc.binary_length(strings)).as_py()
    if lengths is None or lengths <= EXACT_WIDTH:
        return False
    return bool(pc.any(pc.match_substring_regex(strings, LONG)).as_py())
