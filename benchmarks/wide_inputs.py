"""Random inputs that are large in something else than rows, seeded: columns of text, files, households, codes.

Usage:
    python -m benchmarks.wide_inputs texts OUTPUT.parquet ROWS ATTRIBUTES CATEGORIES texts|integers|dates|...
    python -m benchmarks.wide_inputs files FOLDER CENSUS.parquet FILES
    python -m benchmarks.wide_inputs households OUTPUT.parquet CENSUS.parquet ordered|shuffled
    python -m benchmarks.wide_inputs codebook OUTPUT.xml VARIABLES CODES
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.inputs import SEED
from dpnb_columnar.domain.declaration import domain_metadata, read_domain

BLOCK = 65_536
HOUSEHOLD = "SERIAL"
HOUSEHOLD_ROWS = 3
"""Rows of a household on average."""


STORED = {
    "integers": pa.int32(),
    "floats": pa.float64(),
    "decimals": pa.decimal128(12, 2),
    "dates": pa.date32(),
    "digits": pa.string(),
    "texts": pa.string(),
    "dictionaries": pa.dictionary(pa.int32(), pa.string()),
}
"""Types that the same categories are stored as, the last two as words."""


def write_categories(output: Path, rows: int, attributes: int, categories: int, kind: str) -> None:
    """Write a table of two classes and categorical attributes, the same rows stored as one of ``STORED``."""
    codes, stored = np.arange(categories, dtype=np.int32), STORED[kind]
    words = kind in ("texts", "dictionaries")
    names = pa.array([f"c{code}" for code in codes], stored) if words else pa.array(codes).cast(stored)
    columns = [f"a{number}" for number in range(attributes)]
    label = {"column": "class", "classes": ["0", "1"]}
    values = [str(value) for value in (codes if kind in ("floats", "decimals") else names.to_pylist())]
    declared = {name: {"values": values} for name in columns}
    domain = read_domain("categories", {"label": label, "attributes": declared}, "write_categories")
    schema = pa.schema([*((name, names.type) for name in columns), ("class", pa.int8())], domain_metadata(domain))
    generator = np.random.default_rng(SEED)
    partial = Path(f"{output}.partial")
    with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
        for start in range(0, rows, BLOCK):
            size = min(BLOCK, rows - start)
            klass = generator.integers(0, 2, size)
            drawn = [(categories * generator.random(size) ** (1 + klass)).astype(np.int32) for _ in columns]
            arrays = [*(names.take(pa.array(codes)) for codes in drawn), pa.array(klass.astype(np.int8))]
            writer.write_batch(pa.record_batch(arrays, schema=schema), row_group_size=BLOCK)
    partial.replace(output)


def write_files(folder: Path, census: Path, files: int) -> None:
    """Divide the rows of a census among files of one folder, all with its domain."""
    rows = pq.read_table(census)
    partial = Path(f"{folder}.partial")
    partial.mkdir(exist_ok=True)
    size = -(-len(rows) // files)
    for number in range(files):
        pq.write_table(rows.slice(number * size, size), partial / f"part{number:05}.parquet")
    partial.replace(folder)


def write_households(output: Path, census: Path, shuffled: bool) -> None:
    """Add the number of a household to the rows of a census: rising, or drawn at random for each row."""
    generator = np.random.default_rng(SEED)
    partial = Path(f"{output}.partial")
    with pq.ParquetFile(census) as source:
        households, first = source.metadata.num_rows // HOUSEHOLD_ROWS + 1, 0
        schema = source.schema_arrow.append(pa.field(HOUSEHOLD, pa.int64()))
        with pq.ParquetWriter(partial, schema, compression="zstd") as writer:
            for batch in source.iter_batches(BLOCK):
                numbers = np.arange(first, first + len(batch)) // HOUSEHOLD_ROWS
                if shuffled:
                    numbers = generator.integers(0, households, len(batch))
                arrays = [*batch.columns, pa.array(numbers)]
                writer.write_batch(pa.record_batch(arrays, schema=schema), row_group_size=BLOCK)
                first += len(batch)
    partial.replace(output)


def write_codebook(output: Path, variables: int, codes: int) -> None:
    """Write a DDI codebook of variables with labelled codes, and beside it (``.dat``) an extract of one line."""
    width = len(str(codes))
    parts = ['<codeBook xmlns="ddi:codebook:2_5" version="2.5"><fileDscr><fileTxt><fileName>wide.dat</fileName>']
    parts.append('<fileStrc type="rectangular"/><fileType charset="UTF-8"/></fileTxt></fileDscr><dataDscr>')
    for number in range(variables):
        start = number * width + 1
        parts.append(f'<var name="V{number}" dcml="0" intrvl="discrete"><labl>Variable {number}</labl>')
        parts.append(f'<location StartPos="{start}" EndPos="{start + width - 1}" width="{width}"/>')
        parts += [
            f"<catgry>\n  <catValu>{code:0{width}}</catValu>"
            f"<labl>Meaning of code {code} of variable {number}, in some words</labl>\n</catgry>"
            for code in range(codes)
        ]
        parts.append('<varFormat type="numeric"/></var>')
    output.with_suffix(".dat").write_text(f"{0:0{width}}" * variables + "\n")
    partial = Path(f"{output}.partial")
    partial.write_text("".join([*parts, "</dataDscr></codeBook>"]))
    partial.replace(output)


def main(kind: str, output: str, *others: str) -> None:
    """Write an input."""
    path = Path(output)
    if kind == "texts":
        *sizes, written = others
        rows, attributes, categories = map(int, sizes)
        write_categories(path, rows, attributes, categories, written)
    elif kind == "files":
        write_files(path, Path(others[0]), int(others[1]))
    elif kind == "households":
        write_households(path, Path(others[0]), others[1] == "shuffled")
    elif kind == "codebook":
        write_codebook(path, *map(int, others))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
