"""Simulated census extracts: synthetic persons in the codes of the IPUMS 1940 full count, written block by block.

Libraries are loaded where they are used: this module is imported where none of them may be needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from dpnb_columnar.errors import UsageError
from dpnb_columnar.runtime.outputs import atomic_output
from dpnb_columnar.runtime.parquet_output import parquet_writer

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from dpnb_columnar.domain import Domain

DATASET = "census_simulated"
"""Entry of the packaged catalogue that declares the domain."""

BLOCK_ROWS = 2**17
"""Rows generated, written and held at a time: one row group."""

MOST_ROWS = 10**12
"""Most rows of a file: thousands of gigabytes."""

COLUMN_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "URBAN": "int8",
        "RELATE": "int8",
        "SEX": "int8",
        "AGE": "int16",
        "MARST": "int8",
        "RACE": "int8",
        "NATIVITY": "int8",
        "EDUC": "int8",
        "EMPSTAT": "int8",
        "CLASSWKR": "int8",
        "WKSWORK1": "int8",
        "HRSWORK1": "int8",
        "SEI": "int8",
        "INCWAGE": "int32",
    }
)
"""Columns in the codebook's order, and their NumPy and Arrow types, as narrow as their codes."""


def simulate_census(
    output: Path,
    *,
    rows: int,
    seed: int,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Write a census-like extract in the shape of the IPUMS 1940 full count.

    Every row is synthetic. The shares it is drawn from are rounded from general published tables; no microdata row was
    copied or fitted. Thirteen attributes and INCWAGE (dollars of 1939) are integer codes of the IPUMS codebook. Age,
    sex, schooling, occupation, place, weeks and hours lead to the wage as they broadly did; but wages are about 1.7
    times as high as they were, so that the condition ``INCWAGE > 1000`` holds for about a quarter of those asked.

    The same seed gives the same rows everywhere, and the same bytes with the same version of pyarrow. A longer file
    begins with the rows of a shorter one. Memory does not grow with ``rows``.

    Args:
        output: Parquet file to write, in row groups of 131,072 rows; its metadata carries the domain.
        rows: Persons to simulate, 1 to ``MOST_ROWS``.
        seed: Any whole number from 0 on.
        overwrite: Replace an existing file.
        progress: Called after each row group with the number of rows just written.

    Raises:
        UsageError: If ``rows`` or ``seed`` is out of range.
        OutputError: If the output exists, or cannot be written.
    """
    if rows < 1:
        raise UsageError(f"--rows {rows}: a file needs rows; give 1 or more, such as --rows 100000")
    if rows > MOST_ROWS:
        raise UsageError(f"--rows {rows}: too many for a file; give {MOST_ROWS} at most, such as --rows 100000")
    if seed < 0:
        raise UsageError(f"--seed {seed}: give a whole number from 0 on, such as --seed 1940")
    with (
        atomic_output(output, overwrite=overwrite) as partial,
        parquet_writer(partial, _schema(_declared_domain())) as writer,
    ):
        for block in _blocks(rows, seed):
            writer.write_batch(block, row_group_size=BLOCK_ROWS)
            if progress is not None:
                progress(block.num_rows)


def census_block(seed: int, block: int, rows: int) -> dict[str, NDArray[np.signedinteger]]:
    """Simulate the rows of one block. They depend on nothing but the three arguments.

    Args:
        seed: Seed of the whole file, not negative.
        block: Index of the block.
        rows: Rows of a full block, a multiple of four.

    Returns:
        Column name to codes of shape (rows,), in the order and types of ``COLUMN_TYPES``.
    """
    from dpnb_columnar.simulation.employment import draw_work
    from dpnb_columnar.simulation.lookup_tables import Draws
    from dpnb_columnar.simulation.people import draw_people
    from dpnb_columnar.simulation.wages import draw_wages

    draws = Draws(seed, block, rows)
    people = draw_people(draws)
    work = draw_work(draws, people)
    columns: dict[str, NDArray[np.signedinteger]] = {**people, **work, "INCWAGE": draw_wages(draws, people, work)}
    return {name: columns[name].astype(type_, copy=False) for name, type_ in COLUMN_TYPES.items()}


def _blocks(rows: int, seed: int) -> Iterator[pa.RecordBatch]:
    """Simulate blocks of ``rows`` rows in all; the last is cut from a full one, so a longer file begins alike."""
    import pyarrow as pa

    for block, start in enumerate(range(0, rows, BLOCK_ROWS)):
        columns = census_block(seed, block, BLOCK_ROWS)
        yield pa.RecordBatch.from_pydict(columns).slice(0, rows - start)


def _schema(domain: Domain) -> pa.Schema:
    """Arrow schema of the extract, with the domain in its key-value metadata."""
    import pyarrow as pa

    from dpnb_columnar.domain.declaration import domain_metadata

    return pa.schema(list(COLUMN_TYPES.items()), metadata=domain_metadata(domain))


def _declared_domain() -> Domain:
    """Read the packaged domain: a catalogue in the working directory describes other data sets, not this one."""
    from dpnb_columnar.datasets.catalogue import packaged_entries

    return next(entry.domain for entry in packaged_entries() if entry.name == DATASET)
