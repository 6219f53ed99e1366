"""Valid files of every kind that a reader takes, in one folder; fuzzing begins with them."""

from __future__ import annotations

import gzip
import sqlite3
import zipfile
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import duckdb
import polars as pl
from support.codebook_cases import ddi_of, layout_of
from support.extracts import HOUSEHOLDS, HOUSES, PEOPLE, TOWNSPEOPLE, write_extract
from support.people import DECLARATION, people, people_domain, write_people
from support.people import PEOPLE as DOCUMENT
from support.release_records import write_audit, write_record

from dpnb_columnar.api import load_model
from dpnb_columnar.cli.main import exit_code
from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.model.score_calibration import margins_given

DICTIONARY = """NAME,SERIALNO,C,13,"Housing unit/GQ person serial number"
NAME,AGEP,N,2,"Age"
VAL,AGEP,N,2,"0","0","Under 1 year"
VAL,AGEP,N,2,"1","99","1 to 99 years"
NAME,SEX,C,1,"Sex"
VAL,SEX,C,1,"1","1","Male"
VAL,SEX,C,1,"2","2","Female"
"""
FLAG = """NAME,FAGEP,C,1,"Age allocation flag"
VAL,FAGEP,C,1,"0","0","No"
VAL,FAGEP,C,1,"1","1","Yes"
"""
FLAGGED = "SERIALNO,AGEP,SEX,FAGEP\n2018GQ0000001,40,1,0\n2018GQ0000002,7,2,1\n"
PERSONS = "SERIALNO,AGEP,SEX\n2018GQ0000001,40,1\n2018GQ0000002,7,2\n"


def write_seed_files(folder: Path) -> None:
    """Write them into a folder, which is the working directory as well: several are what our own commands write."""
    write_people(folder / "people.parquet", people(300), {**DOCUMENT, "value_labels": {"sex": {"f": "Female"}}})
    write_people(folder / "plain.parquet", people(50), document=None)
    (folder / "datasets.toml").write_text(
        DECLARATION.replace('["people*.parquet"]', '["p*.parquet"]\nepsilon = 0.5\nrows = 500')
        + '\n[people.value_labels.income]\nlow = "Below the median"\n'
    )
    _command("train people.parquet --seed 7 --output model.json")
    _command("release people.statistics.parquet --output model.parquet", "aggregate people.parquet")
    _command("release people.statistics.parquet --attribute-weights calibrated --seed 7 --output tables.json")
    _command("aggregate people.parquet --given tables.json --output second.parquet")
    _command("train people.parquet --attribute-weights learned --seed 7 --output learned.json")
    _command("train people.parquet --mechanism histogram --output histogram.json")
    _command("evaluate histogram.json people.parquet --epsilon 1 --seed 7 --output scores.json")
    write_record(folder / "release.toml")
    write_audit(folder / "audit.json")
    write_people(folder / "sample.parquet", people(500, seed=2))
    _command("train people.parquet --mechanism histogram --attribute-weights sample.parquet --output public.json")
    _command("train people.parquet --noise gaussian --delta 1e-6 --output gaussian.json")
    (folder / "other").mkdir()
    _command(
        "train people.parquet --ledger people.ledger --run-id night --epsilon 0.1 --output charged.json",
        "ledger init people.ledger --dataset people --epsilon 1",
    )
    _command(
        "train people.parquet --ledger watched.ledger --witness other/people.witness --run-id night --epsilon 0.1 "
        "--output watched.json",
        "ledger init watched.ledger --dataset people --epsilon 1 --witness other/people.witness",
    )
    counted = pl.read_parquet(folder / "people.statistics.parquet").with_columns(
        pl.col("attribute").cast(pl.String), domain=pl.lit(digest(people_domain()))
    )
    counted.write_csv(folder / "counts.csv")
    counted.write_parquet(folder / "counts.parquet")
    scores = margins_given(load_model(folder / "tables.json"))
    pl.read_parquet(folder / "second.parquet").with_columns(
        domain=pl.lit(digest(people_domain())), scores=pl.lit(scores.digest)
    ).write_csv(folder / "second.csv")
    (folder / "counts.csv.gz").write_bytes(gzip.compress((folder / "counts.csv").read_bytes(), mtime=0))
    _write_extracts(folder)
    households = people(300).with_columns(household=pl.int_range(pl.len()) // 3)
    write_people(folder / "units.parquet", households, {**DOCUMENT, "unit": {"column": "household", "rows": 2}})
    _command("aggregate units.parquet --output units.statistics.parquet")
    _write_capped(folder)
    if find_spec("deltalake") and find_spec("pyiceberg"):
        _write_lakes(folder)
    with closing(sqlite3.connect(folder / "rows.sqlite")) as file:
        file.execute("CREATE TABLE person (age INTEGER, hours INTEGER, sex TEXT, income TEXT)")
        file.executemany("INSERT INTO person VALUES (?, ?, ?, ?)", people(100).rows())
        file.commit()
    with duckdb.connect(folder / "rows.duckdb") as connection:
        connection.register("given", people(100))
        connection.execute("CREATE TABLE person AS SELECT * FROM given")


def _write_capped(folder: Path) -> None:
    """Write what is declared with weights and caps, and what is released of it and of three classes."""
    rows = people(300).with_columns(household=pl.int_range(pl.len()) // 3, weight=pl.int_range(pl.len()) % 7 + 0.5)
    write_people(
        folder / "capped.parquet",
        rows,
        {
            **DOCUMENT,
            "unit": {"column": "household", "rows": 1},
            "weight": {"column": "weight", "cap": 8, "step": "0.5"},
        },
    )
    _command("train capped.parquet --mechanism histogram --output capped.json")
    of_three = {
        "label": {"column": "sex", "classes": ["f", "m", "x"]},
        "attributes": {name: DOCUMENT["attributes"][name] for name in ("age", "hours")},
    }
    write_people(folder / "three.parquet", people(300), of_three)
    _command("train three.parquet --attribute-weights calibrated --output three.json")
    _command("evaluate histogram.json people.parquet --by sex --epsilon 1 --output groups.json")


def _write_lakes(folder: Path) -> None:
    """Write tables whose files name each other from the working directory on."""
    from support.delta_histories import DeltaHistory
    from support.iceberg_histories import IcebergHistory

    delta = DeltaHistory(folder / "delta", seed=1, partitioned=False)
    delta.append()
    delta.delete_by_vector("u")
    ice = IcebergHistory(Path("ice"), seed=1, partitioned=False)
    ice.append()
    ice.delete_places()


def _write_extracts(folder: Path) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    write_extract(folder / "packed.dat.gz", TOWNSPEOPLE, PEOPLE * 20)
    write_extract(folder / "houses.dat", HOUSEHOLDS, HOUSES)
    (folder / "town.csv").write_text("YEAR,SEX,AGE,PERWT,TOWN\n2020,1,34,12.5,Ulm\n2020,2,,0.99,\n")
    (folder / "layout.toml").write_text(layout_of(TOWNSPEOPLE))
    (folder / "houses.toml").write_text(layout_of(HOUSEHOLDS))
    (folder / "book.xml.gz").write_bytes(gzip.compress(ddi_of(TOWNSPEOPLE).encode(), mtime=0))
    (folder / "dictionary.csv").write_text(DICTIONARY)
    (folder / "bare.csv").write_text("34,40,f,low\n51,12,m,high\n")
    (folder / "names.txt").write_text("age\nhours\nsex\nincome\n")
    (folder / "flags.csv").write_text(DICTIONARY + FLAG)
    with zipfile.ZipFile(folder / "csv_pfl.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("psam_p10.csv"), FLAGGED)
    with zipfile.ZipFile(folder / "csv_pde.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("psam_p10.csv"), PERSONS)
        archive.writestr(zipfile.ZipInfo("ACS_README.pdf"), b"%PDF")


def _command(line: str, *before: str) -> None:
    for each in (*before, line):
        if code := exit_code(each.split()):
            raise RuntimeError(f"{each}: exit code {code}")
