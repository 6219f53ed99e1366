"""Random inputs of the measurements, seeded: a table, statistics in which no cell is empty, a fixed-width extract.

Usage:
    python -m benchmarks.inputs table OUTPUT.parquet ROWS NUMERIC CATEGORICAL CLASSES GRID floats|integers
    python -m benchmarks.inputs statistics OUTPUT.parquet ROWS ATTRIBUTES CLASSES GRID
    python -m benchmarks.inputs extract OUTPUT.dat PERSONS [hierarchical] [gzip]
"""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from dpnb_columnar.core.queries.statistics import Statistics
from dpnb_columnar.core.sensitivity import RunLengthColumn
from dpnb_columnar.counting.answer_files import save_answer
from dpnb_columnar.domain import Domain
from dpnb_columnar.domain.declaration import domain_metadata, read_domain

SEED = 1940
BLOCK = 131_072
VALUES = 8
"""Values of a categorical attribute."""

BLOCK_PERSONS = 100_000
LARGEST_HOUSEHOLD = 5

RECTANGULAR = (
    *(("YEAR", 4, 0), ("SAMPLE", 6, 0), ("SERIAL", 8, 0), ("CBSERIAL", 13, 0), ("HHWT", 10, 2), ("GQ", 1, 0)),
    *(("PERNUM", 4, 0), ("PERWT", 10, 2), ("SEX", 1, 0), ("AGE", 3, 0)),
)
"""Name, width and implied decimals of the variables of a small IPUMS USA extract, in a line of 60 characters."""

STUDY = """
<citation><titlStmt><titl>Benchmark</titl></titlStmt>
<serStmt><serName abbr="usa">None</serName><serInfo>None</serInfo></serStmt></citation>
<dataAccs><useStmt><citReq>None</citReq><conditions>None</conditions></useStmt></dataAccs>"""
"""Elements that IPUMS's reader requires of a codebook."""


class Shape(NamedTuple):
    """Shape of a table: attributes of each kind, classes, cells of a numeric attribute, and whether it holds floats."""

    numeric: int
    categorical: int
    classes: int
    grid: int
    floats: bool


def write_table(output: Path, rows: int, shape: Shape) -> None:
    """Write a table in Parquet that carries its domain, streamed.

    Numeric attributes lie in a bell around a centre that depends on the class: as floats from 0 to 1, divided into the
    cells of the grid, or as the codes of these cells. Floats and integers are the same rows.
    """
    metadata = domain_metadata(_table_domain(shape))
    partial = Path(f"{output}.partial")
    schema = _table_block(0, shape).schema.with_metadata(metadata)
    with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
        for number, start in enumerate(range(0, rows, BLOCK)):
            part = _table_block(number, shape).slice(0, rows - start)
            writer.write_batch(part.replace_schema_metadata(schema.metadata), row_group_size=BLOCK)
    partial.replace(output)


def _table_domain(shape: Shape) -> Domain:
    upper, step = (1, f"1/{shape.grid}") if shape.floats else (shape.grid, 1)
    bounds = {"lower": 0, "upper": upper, "step": step}
    attributes: dict[str, Any] = {f"n{index}": bounds for index in range(shape.numeric)}
    attributes |= {f"c{index}": {"values": [*range(VALUES)]} for index in range(shape.categorical)}
    label = {"column": "class", "classes": [str(code) for code in range(shape.classes)]}
    return read_domain("table", {"label": label, "attributes": attributes}, "write_table")


def _table_block(seed: int, shape: Shape) -> pa.RecordBatch:
    generator = np.random.default_rng(seed)
    label = generator.integers(0, shape.classes, BLOCK)
    columns: dict[str, pa.Array] = {}
    for index in range(shape.numeric):
        values = np.clip(generator.normal(0.35 + 0.3 * label / shape.classes, 0.12), 0, 1)
        columns[f"n{index}"] = pa.array(values if shape.floats else np.rint(values * shape.grid).astype(np.int32))
    for index in range(shape.categorical):
        drawn = generator.integers(0, VALUES, BLOCK) * generator.integers(0, 2, BLOCK)
        columns[f"c{index}"] = pa.array(((drawn + label) % VALUES).astype(np.int8))
    return pa.record_batch({**columns, "class": pa.array(label.astype(np.int16 if shape.classes > 128 else np.int8))})


def write_statistics(output: Path, rows: int, attributes: int, classes: int, grid: int) -> None:
    """Write statistics of numeric attributes; no cell of the grid is empty where the rows suffice."""
    generator = np.random.default_rng(SEED)
    label = {"column": "class", "classes": [str(code) for code in range(classes)]}
    numbers = {f"n{index}": {"lower": 0, "upper": grid, "step": 1} for index in range(attributes)}
    domain = read_domain("many", {"label": label, "attributes": numbers}, "write_statistics")
    size = rows // classes
    columns = {
        attribute.name: tuple(_full_column(generator, size, grid) for _ in range(classes))
        for attribute in domain.numeric
    }
    counts = np.full(classes, size, np.int64)
    save_answer(Statistics(domain, counts, columns, {}, frozenset()), output)


def _full_column(generator: np.random.Generator, rows: int, grid: int) -> RunLengthColumn:
    """Values in a bell around a random centre."""
    codes = np.arange(grid + 1)
    weights = np.exp(-0.5 * ((codes / grid - generator.uniform(0.3, 0.7)) / 0.25) ** 2)
    spare = max(rows - len(codes), 0)
    counts = generator.multinomial(spare, weights / weights.sum()) + (1 if spare else 0)
    counts[grid // 2] += rows - counts.sum()
    present = counts > 0
    return RunLengthColumn(codes[present].astype(np.int64), counts[present].astype(np.int64))


def write_extract(output: Path, persons: int, *, hierarchical: bool = False, compressed: bool = False) -> None:
    """Write a fixed-width extract in the layout of IPUMS USA, and its codebook as a file that ends in ``.xml``.

    Both are on the disk when this ends, so that no later output waits for them.
    """
    output.with_suffix("").with_suffix(".xml").write_text(_codebook(hierarchical))
    partial = Path(f"{output}.partial")
    with partial.open("wb") as file:
        if compressed:
            with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6) as packed:
                _write_lines(packed, persons, hierarchical)
        else:
            _write_lines(file, persons, hierarchical)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(output)


def _codebook(hierarchical: bool) -> str:
    """A DDI codebook of the layout."""
    kinds = "H P" if hierarchical else ""
    variables, start = [], 1
    for name, width, decimals in ((("RECTYPE", 1, 0),) if hierarchical else ()) + RECTANGULAR:
        variables.append(
            f'<var ID="{name}" name="{name}" dcml="{decimals}" intrvl="contin" files="F" rectype="{kinds}">'
            f'<location StartPos="{start}" EndPos="{start + width - 1}" width="{width}"/><labl>{name}</labl>'
            "<txt>None</txt><concept>None</concept>"
            f'<varFormat type="{"character" if name == "RECTYPE" else "numeric"}"/></var>'
        )
        start += width
    groups = '<recGrp keyvar="SERIAL" recidvar="RECTYPE" rectype="P"/><recGrp recidvar="RECTYPE" rectype="H"/>'
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<codeBook xmlns="ddi:codebook:2_5" version="2.5"><stdyDscr>{STUDY}</stdyDscr>',
            '<fileDscr ID="F"><fileTxt><fileName>extract.dat</fileName><fileCont>None</fileCont>',
            f'<fileStrc type="hierarchical">{groups}</fileStrc>' if hierarchical else '<fileStrc type="rectangular"/>',
            '<fileType charset="ISO-8859-1"/><format>None</format><filePlac>None</filePlac></fileTxt></fileDscr>',
            f"<dataDscr>{''.join(variables)}</dataDscr></codeBook>",
        ]
    )


def _write_lines(stream: BinaryIO | gzip.GzipFile, persons: int, hierarchical: bool) -> None:
    """Write the lines; a hierarchical extract has a household before every second person."""
    generator = np.random.default_rng(SEED)
    for first in range(1, persons + 1, BLOCK_PERSONS):
        block = _lines(generator, first, BLOCK_PERSONS, "P" if hierarchical else "")[: persons + 1 - first]
        if hierarchical:
            households = block[::2].copy()
            households[:, 0] = ord("H")
            block = np.insert(block, np.arange(0, len(block), 2), households, axis=0)
        stream.write(block.tobytes())


def _lines(generator: np.random.Generator, first: int, persons: int, kind: str) -> npt.NDArray[np.uint8]:
    """Lines that begin with a record type, unless it is empty; shape (persons, characters of a line), uint8."""
    households = first + np.sort(generator.integers(0, persons // 2, persons))
    values: dict[str, npt.ArrayLike] = {
        **{"YEAR": 2012, "SAMPLE": 201201, "SERIAL": households, "CBSERIAL": households + 2_012_000_000_000},
        **{"HHWT": generator.integers(100, 99_999, persons), "PERWT": generator.integers(100, 99_999, persons)},
        **{"GQ": generator.integers(1, 6, persons), "PERNUM": generator.integers(1, LARGEST_HOUSEHOLD, persons)},
        **{"SEX": generator.integers(1, 3, persons), "AGE": generator.integers(0, 96, persons)},
    }
    columns = [np.full((persons, 1), ord(kind), np.uint8)] if kind else []
    for name, width, _ in RECTANGULAR:
        places = 10 ** np.arange(width - 1, -1, -1)
        number = np.broadcast_to(values[name], persons)[:, np.newaxis]
        columns.append((number // places % 10 + ord("0")).astype(np.uint8))
    return np.hstack([*columns, np.full((persons, 1), ord("\n"), np.uint8)])


def main(kind: str, output: str, rows: str, *others: str) -> None:
    """Write an input."""
    if kind == "table":
        *sizes, numbers = others
        numeric, categorical, classes, grid = map(int, sizes)
        write_table(Path(output), int(rows), Shape(numeric, categorical, classes, grid, numbers == "floats"))
    elif kind == "statistics":
        write_statistics(Path(output), int(rows), *map(int, others))
    elif kind == "extract":
        write_extract(Path(output), int(rows), hierarchical="hierarchical" in others, compressed="gzip" in others)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
