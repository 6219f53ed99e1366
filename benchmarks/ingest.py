"""Ingesting a fixed-width extract beside IPUMS's own reader, whole processes from cold, in turn.

Usage: python -m benchmarks.ingest [--size 200MB] [--runs 3] [--hierarchical] [--gzip] [--alone]
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import statistics
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.__main__ import PYTHON, measured

UNITS = {"MB": 10**6, "GB": 10**9}
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


def generate(path: Path, size: int, hierarchical: bool) -> None:
    """Write an extract of at least ``size`` bytes; a hierarchical one has a household before every second person."""
    generator = np.random.default_rng(1940)
    with path.open("wb") as stream:
        first = 1
        while stream.tell() < size:
            if not hierarchical:
                stream.write(lines(generator, first, BLOCK_PERSONS, "").tobytes())
            else:
                persons = lines(generator, first, BLOCK_PERSONS, "P")
                households = persons[::2].copy()
                households[:, 0] = ord("H")
                stream.write(np.insert(persons, np.arange(0, BLOCK_PERSONS, 2), households, axis=0).tobytes())
            first += BLOCK_PERSONS
        os.fsync(stream.fileno())  # or the first output to be synchronised would wait for the extract


def main() -> None:
    """Generate, measure in turn, print throughput, memory and the median of the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="200MB", help="bytes of text, such as 200MB or 2GB")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--hierarchical", action="store_true", help="record types H and P; implies --alone")
    parser.add_argument("--gzip", action="store_true", help="compress the extract")
    parser.add_argument("--alone", action="store_true", help="leave IPUMS's reader out, which takes minutes for 1 GB")
    options = parser.parse_args()
    alone = options.alone or options.hierarchical  # IPUMS's reader takes such files whole, not in chunks
    with tempfile.TemporaryDirectory() as folder:
        extract, xml, out = (Path(folder) / name for name in ("extract.dat", "extract.xml", "out.parquet"))
        generate(extract, int(float(options.size[:-2]) * UNITS[options.size[-2:].upper()]), options.hierarchical)
        size = extract.stat().st_size
        xml.write_text(codebook(options.hierarchical))
        if options.gzip:
            with extract.open("rb") as plain, gzip.open(f"{extract}.gz", "wb", compresslevel=6) as packed:
                shutil.copyfileobj(plain, packed, 2**20)
            extract.unlink()
            extract = extract.with_name("extract.dat.gz")
        command = [PYTHON, "-m", "dpnb_columnar", "ingest", str(extract), "--output", str(out), "--overwrite"]
        contenders = {"dpnb-columnar ingest": command}
        if not alone:
            script = Path(__file__).with_name("ipums_chunks.py")
            contenders["ipumspy, in chunks"] = [PYTHON, str(script), str(extract), str(xml), str(out)]
        runs: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
        for _ in range(options.runs):
            for name, arguments in contenders.items():
                runs[name].append(measured(arguments))
    print(f"{size / 1e6:.0f} MB of text, runs of each in turn: {options.runs}, processors: {os.cpu_count()}")
    for name, measurements in runs.items():
        seconds, memory = zip(*measurements, strict=True)
        speed = size / 1e6 / statistics.median(seconds)
        print(f"{name:22} {statistics.median(seconds):7.2f} s {speed:6.0f} MB/s {max(memory):6.0f} MiB at most")
    if not alone:
        ours, theirs = runs.values()
        ratios = [mine / other for (mine, _), (other, _) in zip(ours, theirs, strict=True)]
        print(f"time ratio, median of pairs: {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
