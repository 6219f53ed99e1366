"""Files of every kind that a command may be given by mistake, which ``wrong_commands.txt`` names."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dpnb_columnar.budget import Approximate
from dpnb_columnar.domain.declaration import DOMAIN_KEY, domain_metadata
from dpnb_columnar.simulation import simulate_census
from support.codebook_cases import layout_of
from support.extracts import HOUSEHOLDS, PERSONS, SEX, TOWNSPEOPLE, YEAR, archive, write_extract
from support.extracts import PEOPLE as LINES
from support.ledger_cases import new_ledger
from support.people import (
    DECLARATION,
    PEOPLE,
    Document,
    people,
    people_domain,
    repeated_people,
    spoil_rows,
    write_people,
)
from support.public_samples import REPEATED
from support.running import completed
from support.tables import into_duckdb, into_sqlite

FILE = Path("people.parquet")


def _declared(part: str, **fields: Any) -> Document:
    """``PEOPLE`` with another declaration of one attribute."""
    return {**PEOPLE, "attributes": {**PEOPLE["attributes"], part: fields}}


SKIN = f"""
[skin.raw]
"skin.txt" = "{"0" * 64}"
[skin.label]
column = "skin"
classes = [1, 2]
[skin.attributes]
B = {{ lower = 0, upper = 255, step = 1 }}
"""

TEXTS = {
    "rows.csv": "age,works\n3,no\n4,yes\n",
    "text.parquet": "age,sex\n30,f\n",
    "bad.toml": "a = [1\n[b\n",
    "badtypes.toml": 'age = "colour"\n',
    "bad.xml": "<a><b></a>",
    "bad.json": '{"a": ',
    "braces.json": "{}",
    "list.json": "[1]",
    "model.txt": "{}",
    "cut.model.parquet": "PAR1",
    "bad.sql": "SELECT FROM WHERE",
    "two.sql": "SELECT 1; SELECT 2",
    "broken.sql": "SELECT nope FROM person",
    "cast.sql": "SELECT CAST(sex AS INTEGER) AS age, hours, sex FROM person",
    "date.sql": "SELECT DATE '2018-01-01' AS age, hours, sex FROM person",
    "bad.duckdb": "no database",
    "people.toml": DECLARATION,
    "other.toml": DECLARATION.replace("upper = 100", "upper = 50"),
    "reversed.toml": DECLARATION.replace("lower = 0, upper = 98", "lower = 98, upper = 0"),
    "epsilon0.toml": DECLARATION.replace("[people]\n", '[people]\nepsilon = "0"\n'),
    "epsilon1001.toml": DECLARATION.replace("[people]\n", '[people]\nepsilon = "1001"\n'),
    "words.toml": DECLARATION.replace("[people]\n", '[people]\nepsilon = "little"\n'),
    "numbers.toml": DECLARATION.replace('["f", "m"]', '["1", "01"]'),
    "rows99.toml": DECLARATION.replace("[people]\n", "[people]\nrows = 99\n"),
    "unlabelled.toml": DECLARATION.replace('[people.label]\ncolumn = "income"\nclasses = ["low", "high"]\n', ""),
    "town.toml": layout_of(TOWNSPEOPLE),
    "ages.toml": 'AGES = "integer"',
    "age.toml": 'AGE = "text"',
    "more.toml": 'MORE = "float"',
    "whole.toml": 'MORE = "integer"',
    "years.toml": 'age = "integer"\n',
    "good.names": "age\nb\n",
    "twice.names": "a\nA\n",
    "empty.names": "| nothing\n",
    "short.names": "age\n",
    "sex.toml": layout_of(TOWNSPEOPLE).replace('name = "SEX"', 'name = "sex"'),
    "skin.toml": SKIN,
    "raw/skin.txt": "1\t1\t1\t1\n",
    "good.toml": 'purpose = "a"',
    "epsilon.toml": "[train]\nepsilon = -1\n",
    "declared.toml": "[train]\ndelta = '1/n'\nnoise = 'gaussian'\ndeclared_rows = -1\n",
    "precious.parquet": "precious",
    "page.html": "mine",
    "two.csv": "1,a\nx,b\n",
    "quote.csv": 'AGE,SEX\n35,"1\n40,2\n41,1\n',
    "town.txt": "x",
    "entries0.domain.toml": "",
    "entries2.domain.toml": f"{DECLARATION}\n[other]\n",
    "cut.domain.toml": "[people\n",
    "misspelt.domain.toml": DECLARATION.replace("upper = 100", "uper = 100"),
}

EMPTY = ("empty.parquet", "empty.csv", "empty.json", "town.parquet", "open.ledger")
FOLDERS = ("emptyfolder", "afolder/folder.json", "folder.parquet", "raw")

FRAMES = {
    "nohours.parquet": people(50).rename({"hours": "hour"}),
    "noincome.parquet": people(50).drop("income"),
    "dates.parquet": people(50).with_columns(age=pl.date(2018, 12, 31)),
    "lists.parquet": people(50).with_columns(age=pl.lit([1])),
    "numbers.parquet": people(50).with_columns(sex=pl.lit(1)),
    "classes.parquet": people(50).with_columns(income=pl.lit(1)),
    "nulls.parquet": people(50).with_columns(hours=pl.lit(None)),
    "twins.parquet": people(50).with_columns(AGE=pl.col("age")),
    "predicted.parquet": people(50).with_columns(predicted=pl.lit(1)),
    "texts.parquet": people(50).with_columns(pl.col("age").cast(pl.String)),
    "again.parquet": people(1000),
    "others.parquet": people(300).tail(50),
    "one.parquet": people(50).select(one=1),
    "spelled.parquet": people(50).with_columns(serial=1, Serial=1),
    "towns.parquet": people(50).with_columns(town=pl.lit("n")),
    "norows.people.parquet": people(0),
    "noclass.parquet": people(5).with_columns(income=pl.lit("middling")),
    "entries0.parquet": people(50),
    "entries2.parquet": people(50),
    "cut.parquet": people(50),
    "misspelt.parquet": people(50),
}
"""Rows with the domain of ``PEOPLE``, which do not all fit it."""

DOCUMENTS: dict[str, Document] = {
    "reversed.parquet": _declared("age", lower=100, upper=0),
    "narrower.parquet": _declared("age", lower=0, upper=120, step=1),
    "nobounds.parquet": _declared("age", lower=0),
    "noclasses.parquet": {**PEOPLE, "label": {"column": "income"}},
    "oneclass.parquet": {**PEOPLE, "label": {"column": "income", "classes": ["low"]}},
    "nolabel.parquet": {"attributes": {**PEOPLE["attributes"], "income": {"values": ["low", "high"]}}},
    "oddlabel.parquet": {**PEOPLE, "label": {"column": "income", "classes": ["low", "high", "none"]}},
}
"""Domains that no reader takes, or no option goes with."""


LARGE = repeated_people(3000, seed=2)

PUBLIC: dict[str, tuple[pl.DataFrame, Document | None]] = {
    "narrower": (LARGE, REPEATED | {"attributes": REPEATED["attributes"] | {"hours": {"lower": 0, "upper": 80}}}),
    "fewer": (LARGE, REPEATED | {"attributes": {k: v for k, v in REPEATED["attributes"].items() if k != "sex"}}),
    "label": (LARGE, REPEATED | {"label": {"column": "income", "classes": ["high", "low"]}}),
    "nolabel": (LARGE, {"attributes": REPEATED["attributes"]}),
    "noage": (LARGE.drop("age"), None),
    "oneclass": (LARGE.filter(pl.col("income") == "low"), REPEATED),
    "small": (repeated_people(300), REPEATED),
    "noise": (LARGE.with_columns(repeated_people(3000, seed=6)["income"]), REPEATED),
    "spoilt": (LARGE, REPEATED),
    "good": (LARGE, REPEATED),
    "three": (repeated_people(100), REPEATED | {"label": {"column": "income", "classes": ["low", "high", "none"]}}),
}
"""Files that attribute weights cannot be learned from, but for the last two."""


def write_twice(path: Path) -> None:
    table = people(50).to_arrow()
    twice = pa.table([*table.columns, table["age"]], names=[*table.column_names, "age"])
    pq.write_table(twice.replace_schema_metadata(domain_metadata(people_domain())), path)


def write_wrong_files() -> None:
    simulate_census(Path("census.parquet"), rows=1000, seed=1940)
    for suffix in ("json", "parquet"):
        completed("train", "census.parquet", "--epsilon", 1, "--output", f"census.model.{suffix}")
    completed("aggregate", "census.parquet")
    completed("evaluate", "census.model.json", "census.parquet", "--epsilon", 1, "--output", "census.scores.json")
    completed("ledger", "init", "census.ledger", "--dataset", "census_simulated", "--epsilon", 3)
    for name in FOLDERS:
        Path(name).mkdir(parents=True)
    for name, text in TEXTS.items():
        Path(name).write_text(text)
    for name in EMPTY:
        Path(name).touch()
    Path("open.ledger").chmod(0o666)
    Path("zero.toml").symlink_to("/dev/zero")
    Path("afolder/x.txt").write_text("x\n")
    Path("binary.csv").write_bytes(bytes(range(256)) * 20)
    _write_people()
    _write_public()
    _write_extracts()
    _write_databases()


def _write_people() -> None:
    pl.read_parquet("census.parquet").head(0).write_parquet("norows.parquet")
    pl.DataFrame({}).write_parquet("zero.parquet")
    pl.DataFrame({"a": [1, 2]}).write_parquet("other.parquet")
    pl.DataFrame({f"x{number}": [number] for number in range(10_001)}).write_parquet("wide.parquet")
    Path("weird.parquet").write_bytes(b"PAR1" + bytes(range(100)) + b"PAR1")
    content = write_people(FILE).read_bytes()
    Path("half.parquet").write_bytes(content[: len(content) // 2])
    Path("encrypted.parquet").write_bytes(b"PARE" + content[4:-4] + b"PARE")
    write_people(Path("bare.parquet"), document=None)
    write_twice(Path("twice.parquet"))
    spoil_rows(write_people(Path("spoilt.parquet")))
    for name, rows in FRAMES.items():
        write_people(Path(name), rows)
    for name, document in DOCUMENTS.items():
        people(50).write_parquet(name, metadata={DOMAIN_KEY: json.dumps({"name": "people", **document})})
    new_ledger(Path("people.ledger"), Approximate(Fraction(2), Fraction(0)), "people")
    completed("train", FILE)
    completed("train", FILE, "--mechanism", "none", "--output", "exact.json")
    completed("train", FILE, "--output", "people.model.parquet")
    completed("evaluate", "people.model.json", FILE, "--epsilon", 1, "--output", "people.scores.json")
    for name in ("people", "narrower", "again", "others"):
        completed("aggregate", f"{name}.parquet")
    completed("aggregate", "again.parquet", "others.parquet", "--output", "both.statistics.parquet")
    statistics = Path("people.statistics.parquet")
    Path("linked.parquet").symlink_to(FILE)
    Path("linked.html").symlink_to("people.model.json")
    os.mkfifo("pipe.parquet")
    Path("link.parquet").symlink_to(statistics)
    Path("hard.parquet").hardlink_to(statistics)
    shutil.copy(statistics, "copy.parquet")
    Path("short.parquet").write_bytes(statistics.read_bytes()[:-20])
    table = pq.read_table(statistics)
    doubled = pc.if_else(pc.equal(table["attribute"], "sex"), pc.multiply(table["count"], 2), table["count"])
    pq.write_table(table.set_column(3, "count", doubled), "doubled.parquet")
    pl.read_parquet(statistics).write_csv("counts.csv")


def _write_public() -> None:
    private = spoil_rows(write_people(Path("private.parquet"), repeated_people(2000), REPEATED))
    Path("private.hard.parquet").hardlink_to(private)
    shutil.copy(private, "private.copy.parquet")
    for name, (rows, document) in PUBLIC.items():
        write_people(Path(f"public.{name}.parquet"), rows, document)
    spoil_rows(Path("public.spoilt.parquet"))
    content = write_people(Path("public.twice.parquet"), LARGE.with_columns(sey=pl.lit("f")), REPEATED).read_bytes()
    Path("public.twice.parquet").write_bytes(content.replace(b"sey", b"sex"))


def _write_extracts() -> None:
    write_extract(Path("town.dat"), TOWNSPEOPLE, LINES)
    write_extract(Path("malformed.dat"), TOWNSPEOPLE, [*LINES, "20209 3z001250Ulm  "])
    write_extract(Path("long.dat"), replace(TOWNSPEOPLE, name="l" * 201), LINES)
    write_extract(Path("year.dat"), replace(TOWNSPEOPLE, variables=(YEAR,)), ["2020"])
    write_extract(Path("wide.dat"), replace(TOWNSPEOPLE, variables=(replace(YEAR, width=5),)), ["02020"])
    write_extract(Path("bare.dat"), None, LINES[:1])
    write_extract(Path("ages.csv"), TOWNSPEOPLE, ["AGE,MORE", "34,1.5", "7,"])
    write_extract(Path("house.csv"), HOUSEHOLDS, ["AGE,SEX", "1,1"])
    both = replace(TOWNSPEOPLE, variables=(replace(SEX, start=0),))
    write_extract(Path("both.dat"), both, ["1"])
    write_extract(Path("one.dat"), replace(both, variables=(replace(SEX, start=0, codes=SEX.codes[:1]),)), ["2"])
    archive(Path("csv_hxx.zip"), psam_hxx=PERSONS)
    Path("csv_pxx.zip").write_bytes(b"PK nothing")
    archive(Path("csv_pyy.zip"), **{"psam_p\x1b[2J\nx": b"A,B\n1\n"})


def _write_databases() -> None:
    with duckdb.connect("census.duckdb") as connection:
        connection.execute("CREATE TABLE person AS FROM 'census.parquet'")
    into_duckdb(Path("people.duckdb"), people(20))
    into_duckdb(Path("people.duckdb"), people(20).select("age", "hours"), "others")
    into_duckdb(Path("lists.duckdb"), people(20).with_columns(hours=pl.lit([1])))
    shutil.copy("people.duckdb", "people.db")
    into_sqlite(Path("people.sqlite"), people(30))
    into_sqlite(Path("nosex.db"), people(5).drop("sex"))
    with closing(sqlite3.connect("other.sqlite")) as connection:
        connection.execute("CREATE TABLE t (a)")
