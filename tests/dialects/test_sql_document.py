"""What docs/sql.md tells people to run, against a PostgreSQL server, DuckDB and SQLite."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import polars as pl
import pytest
from support.examples import blocks, shell
from support.people import DECLARATION, people
from support.servers import PostgresServer, binaries

DOCUMENT = Path(__file__).parents[2] / "docs" / "sql.md"
TABLE = """
CREATE SCHEMA census;
ALTER DATABASE census SET search_path = census, public;
CREATE TABLE census.person (serial integer, age integer, hours integer, sex text, income text);
\\copy census.person FROM 'person.csv' CSV HEADER
"""


@pytest.fixture
def place(folder: Path, postgres: PostgresServer, program: None, monkeypatch: pytest.MonkeyPatch) -> PostgresServer:
    """The databases that the page names, of one thousand people, and the declaration of their domain."""
    address, programs = urlsplit(postgres.uri), binaries()
    assert programs is not None
    if not (programs / "psql").is_file() and shutil.which("psql") is None:
        pytest.skip("no psql, which the page's commands need")
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{programs}")
    for name, value in {"PGHOST": address.hostname, "PGPORT": address.port, "PGUSER": address.username}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("DPNB_OVERWRITE", "true")  # the page shows several ways to one file
    rows = people(1000).with_row_index("serial").cast({"serial": pl.Int32})
    rows.write_csv("person.csv")
    rows.write_parquet("census.parquet")
    Path("datasets.toml").write_text(DECLARATION.replace("people", "census").replace("]\n", ']\nepsilon = "0.5"\n', 1))
    Path("new.sql").write_text("SELECT * FROM person WHERE age < 40")
    shell("psql --quiet --command 'DROP DATABASE IF EXISTS census' --command 'CREATE DATABASE census' postgres")
    subprocess.run(["psql", "--quiet", "-v", "ON_ERROR_STOP=1", "census"], input=TABLE, text=True, check=True)
    with duckdb.connect("census.duckdb") as connection:
        connection.execute("CREATE TABLE person AS FROM 'census.parquet'; CREATE TABLE held_out AS FROM person")
    with sqlite3.connect("census.sqlite") as database:
        database.execute("CREATE TABLE person (serial INTEGER PRIMARY KEY, age INT, hours INT, sex TEXT, income TEXT)")
        database.executemany("INSERT INTO person VALUES (?, ?, ?, ?, ?)", rows.iter_rows())
    database.close()
    return postgres


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
def test_every_command_of_the_document_runs(place: PostgresServer) -> None:
    commands = blocks("sh", DOCUMENT.read_text())
    text = "".join(commands)
    assert len(re.findall(r"^(?:dpnb-columnar|psql) ", text, re.MULTILINE)) == 19
    address = place.uri.rpartition("/")[0] + "/census"
    shell(re.sub(r"postgresql://\w+@db/census", address, text))
    assert pl.read_csv("scored.csv").height == 1000
    assert pl.read_csv("scored.csv").columns[0] == "serial"
    assert pl.read_parquet("scored.parquet").height == pl.read_parquet("census.parquet").filter(pl.col.age < 40).height
