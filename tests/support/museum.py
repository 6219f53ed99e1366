"""Files that earlier states of the program wrote, and what today's program says of them (``tests/museum``)."""

from __future__ import annotations

import json
import lzma
import os
import tarfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

import dpnb_columnar as dpnb
from dpnb_columnar.counting.answer_files import load_answer, load_statistics
from dpnb_columnar.errors import Error
from dpnb_columnar.evaluation.released_scores import scores_document
from dpnb_columnar.ledger import Ledger
from dpnb_columnar.model.score_calibration import margins_given

MUSEUM = Path(__file__).parents[1] / "museum"

READINGS = MUSEUM / "readings.json"
"""By state and file: the SHA-256 of what is read, or the error that refuses it."""

COMMITS = tuple(sorted(path.name.partition(".")[0] for path in MUSEUM.glob("*.tar.xz")))

GIVEN = {"given.parquet": "waits.json", "scores.parquet": "calibrates.json"}
"""By what was counted given a model: which."""

DIGITS = 9
"""Significant digits of what is computed in floating point."""


def unpack(commit: str, folder: Path) -> None:
    with tarfile.open(MUSEUM / f"{commit}.tar.xz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # 3.11.2 has none yet
        archive.extractall(folder)
    (folder / "people.ledger").chmod(0o600)


def unpack_ledger(folder: Path) -> Path:
    """Put the ledger that release 0.2.0 has charged into a folder."""
    path = folder / "people.ledger"
    path.write_bytes(lzma.decompress((MUSEUM / "ledger_0.2.0.xz").read_bytes()))
    path.chmod(0o600)
    return path


def files_of(folder: Path) -> list[str]:
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in names if name != "people.parquet")


def reading(folder: Path, name: str) -> str:
    """Read a file, and say what today's program makes of it: a digest, or the refusal."""
    before = Path.cwd()
    os.chdir(folder)  # refusals name the file as it was given
    try:
        return sha256(json.dumps(_rounded(_read(Path(name)))).encode()).hexdigest()
    except Error as error:
        return f"refused: {error}"
    finally:
        os.chdir(before)


def _read(path: Path) -> Any:
    if path.suffix == ".ledger":
        return _ledger(path)
    if path.suffix == ".witness":
        with Ledger(Path("people.ledger"), path) as ledger:
            return ledger.witnessed()
    if path.name.endswith(".scores.json"):
        document = scores_document(dpnb.load_scores(path))
        return {key: value for key, value in document.items() if key != "software"}
    if path.suffix == ".parquet" and "model" not in " ".join(map(str, pq.read_metadata(path).metadata)):
        if path.name in GIVEN:
            counted = load_answer(path, margins_given(dpnb.load_model(GIVEN[path.name])))
            return [type(counted).__name__, sorted(counted.parts)]
        statistics = load_statistics(path)
        cells = [(each.attribute, each.classes.tolist(), each.codes.tolist(), each.counts.tolist())
                 for each in statistics.cells()]  # fmt: skip
        return [cells, statistics.class_counts.tolist(), sorted(statistics.parts)]
    model = dpnb.load_model(path)
    predicted = model.predict(pl.read_parquet("people.parquet").with_columns(QJOB=pl.int_range(pl.len()) % 3 // 2))
    stated = model.guarantee
    return [stated.mechanism, stated.noise, str(stated.epsilon), str(stated.rho), predicted.rows()]


def _ledger(path: Path) -> Any:
    with Ledger(path) as ledger:
        verified = ledger.verify()
        spent = {each.dataset: str(each.spent) for each in ledger.accounts()}
        released = [(spend.run, digest) for spend, digest in ledger.releases()]
    return [verified.entries, verified.head, spent, released]


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else value
