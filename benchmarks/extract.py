"""A made-up fixed-width extract in the layout of IPUMS USA, and its codebook beside it.

Usage: python -m benchmarks.extract OUTPUT.dat --persons 1000000 [--hierarchical] [--gzip]
"""

from __future__ import annotations

import argparse
import gzip
import os
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

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
"""What IPUMS's reader wants to find in a codebook."""


def codebook(hierarchical: bool) -> str:
    """A DDI codebook of the layout."""
    kinds = "H P" if hierarchical else ""
    described, start = [], 1
    for name, width, decimals in ((("RECTYPE", 1, 0),) if hierarchical else ()) + RECTANGULAR:
        described.append(
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
            f"<dataDscr>{''.join(described)}</dataDscr></codeBook>",
        ]
    )


def lines(generator: np.random.Generator, first: int, persons: int, kind: str) -> npt.NDArray[np.uint8]:
    """Lines of a record type, none if it is empty, shape (persons, characters of a line), dtype uint8."""
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


def write(stream: BinaryIO | gzip.GzipFile, persons: int, hierarchical: bool) -> None:
    """Write the lines; a hierarchical extract has a household before every second person."""
    generator = np.random.default_rng(1940)
    for first in range(1, persons + 1, BLOCK_PERSONS):
        block = lines(generator, first, BLOCK_PERSONS, "P" if hierarchical else "")[: persons + 1 - first]
        if hierarchical:
            households = block[::2].copy()
            households[:, 0] = ord("H")
            block = np.insert(block, np.arange(0, len(block), 2), households, axis=0)
        stream.write(block.tobytes())


def main() -> None:
    """Write both files; they are on the disk before this ends, so that no output has to wait for them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="such as extract.dat; the codebook is extract.xml")
    parser.add_argument("--persons", type=int, default=1_000_000)
    parser.add_argument("--hierarchical", action="store_true", help="record types H and P")
    parser.add_argument("--gzip", action="store_true", help="compress the extract")
    options = parser.parse_args()
    options.output.with_suffix("").with_suffix(".xml").write_text(codebook(options.hierarchical))
    partial = Path(f"{options.output}.partial")
    with partial.open("wb") as file:
        if options.gzip:
            with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6) as packed:
                write(packed, options.persons, options.hierarchical)
        else:
            write(file, options.persons, options.hierarchical)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(options.output)


if __name__ == "__main__":
    main()
