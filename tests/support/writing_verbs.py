"""Every verb that writes, with arguments for a small run: what is tried with one of them is tried with all."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.ledger_cases import new_ledger
from support.people import DECLARATION, people, write_people
from support.raw_files import SKIN
from support.running import completed

SKIN_DECLARATION = """
[skin]
files = ["skin*.parquet"]

[skin.raw]
skin = "{}"

[skin.label]
column = "skin"
classes = [1, 2]

[skin.attributes]
B = {{ lower = 0, upper = 255, step = 1 }}
"""

WRITES: Mapping[str, str] = {
    "simulate": "simulate OUT/new.parquet --rows 5000",
    "ingest": "ingest people.csv --output OUT/new.parquet",
    "suggest-domain": "suggest-domain people.parquet --output OUT/new.toml",
    "split": "split people.parquet --train-output OUT/train.parquet --test-output OUT/test.parquet",
    "train": "train people.parquet --seed 1 --output OUT/new.json",
    "train to parquet": "train people.parquet --seed 1 --output OUT/new.parquet",
    "train with a ledger": "train people.parquet --ledger people.ledger --epsilon 0.1 --run-id a --output OUT/new.json",
    "aggregate": "aggregate people.parquet --output OUT/new.parquet",
    "release": "release people.statistics.parquet --seed 1 --output OUT/new.json",
    "predict": "predict people.model.json people.parquet --output OUT/new.parquet",
    "predict with explanations": "predict people.model.json people.parquet --explain --output OUT/new.parquet",
    "evaluate": "evaluate people.model.json people.parquet --html OUT/new.html",
    "evaluate with noise": "evaluate paid.json people.parquet --epsilon 1 --output OUT/new.json",
    "show": "show people.model.json --html OUT/new.html",
    "show a card": "show people.model.json --card --output OUT/new.md",
    "audit": "audit --model people.model.json --members people.parquet --others more.parquet --output OUT/new.json",
    "datasets prepare": "datasets prepare skin.toml:skin --from raw --output OUT/new.parquet",
    "domain edit": "domain edit people.parquet --output OUT/new.toml",
    "export": "export people.model.json --to stata --output OUT/new.do",
    "sql score": "sql score people.model.json --dialect duckdb --table people --output OUT/new.sql",
    "sql score of terms": "sql score paid.json --dialect duckdb --table a --parameters OUT/a.csv --parameters-table t",
    "sql statistics": "sql statistics people.parquet --dialect duckdb --table people --output OUT/new.sql",
    "ledger init": "ledger init OUT/new.ledger --dataset people --epsilon 1",
}
"""Command lines that write below the folder OUT, by what they are called here."""

NOT_RUN: Mapping[str, str] = {"demo": "runs other verbs"}
"""Commands that write and are not in the table, with the reason."""


def write_inputs(folder: Path) -> None:
    """Write what the verbs read, and the folder OUT; the working directory is the folder."""
    write_people(folder / "people.parquet", people(3000))
    others = people(3000, 2).join(people(3000), on=[*people(1).columns], how="anti")
    write_people(folder / "more.parquet", others)
    people(3000).write_csv(folder / "people.csv")
    (folder / "datasets.toml").write_text(DECLARATION)
    (folder / "raw").mkdir()
    (folder / "raw/skin").write_bytes(SKIN * 1000)
    (folder / "skin.toml").write_text(SKIN_DECLARATION.format(hashlib.sha256(SKIN * 1000).hexdigest()))
    new_ledger(folder / "people.ledger", dataset="people")
    completed("train", "people.parquet", "--seed", 7)
    completed("aggregate", "people.parquet", "--output", "people.statistics.parquet")
    completed("train", "people.parquet", "--ledger", "people.ledger", "--epsilon", "0.1", "--output", "paid.json")
    (folder / "OUT").mkdir()


def names_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@contextmanager
def child(*arguments: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Run Python, with further variables of its environment, in a process that ends with the block."""
    few = {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "2"}
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, **few, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
