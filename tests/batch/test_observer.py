"""An observer of a run sees the same for neighbours: standard output, standard error, log events and the exit code.

docs/privacy.md, Lemma 7.3, proves it of every door, and lists the refusals that depend on rows.
"""

from __future__ import annotations

import json
import math
import sqlite3
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.people import DECLARATION, PEOPLE, people, people_domain
from support.running import Run
from support.servers import PostgresServer
from support.tables import into_duckdb, into_postgres

import dpnb_columnar
from dpnb_columnar.cli import console
from dpnb_columnar.domain.declaration import domain_metadata, read_declaration
from dpnb_columnar.errors import Error
from dpnb_columnar.rows import databases, parquet

Row: TypeAlias = tuple[bytes | None, float | None, bytes | None, bytes | None]
"""Age, a text, which is the household and the weight as well; hours; sex; income."""

LONG = 2**20 + 1
"""Bytes of a text that is not read whole where memory is short."""

BASE: Sequence[Row] = [
    (str(age).encode(), float(hours), sex.encode(), income.encode()) for age, hours, sex, income in people(60).rows()
]

ODD: Mapping[str, Row] = {
    "as the others": (b"30", 40.0, b"f", b"low"),
    "long category": (b"30", 40.0, b"f" * LONG, b"low"),
    "long number": (b"0" * LONG + b"30", 40.0, b"f", b"low"),
    "long class": (b"30", 40.0, b"f", b"low" * LONG),
    "not UTF-8": (b"\xff", 40.0, b"f", b"low"),
    "category not UTF-8": (b"30", 40.0, b"f\xff", b"low"),
    "class not UTF-8": (b"30", 40.0, b"f", b"\xc3"),
    "NUL": (b"30\0", 40.0, b"f\0", b"low\0x"),
    "NaN": (b"nan", math.nan, b"f", b"low"),
    "infinite": (b"inf", math.inf, b"f", b"low"),
    "below all": (b"-inf", -math.inf, b"f", b"low"),
    "large": (b"9" * 60, 1.7e308, b"f", b"low"),
    "beyond all floats": (b"9" * 400, -1e308, b"f", b"low"),
    "exponent": (b"1e999", 5e-324, b"f", b"low"),
    "empty": (b"", 0.0, b"", b""),
    "null": (None, None, None, None),
    "another class": (b"30", 40.0, b"f", b"middling"),
    "undeclared category": (b"30", 40.0, b"x", b"low"),
}

NOT_UTF_8 = {name for name in ODD if "UTF-8" in name}


def table(rows: Sequence[Row]) -> pa.Table:
    """Rows as Arrow has them, texts of any bytes among them."""
    age, hours, sex, income = zip(*rows, strict=True)
    texts = {"age": age, "sex": sex, "income": income}
    columns = {name: pa.array(values, pa.binary()).view(pa.string()) for name, values in texts.items()}
    same = dict.fromkeys(("age", "house", "weight"), columns.pop("age"))
    return pa.table({**same, "hours": pa.array(hours, pa.float64()), **columns})


def write(path: Path, rows: Sequence[Row]) -> None:
    metadata = domain_metadata(read_declaration("people", PEOPLE, "test"))
    pq.write_table(table(rows).replace_schema_metadata(metadata), path)


def file(rows: Sequence[Row]) -> Sequence[str]:
    write(Path("people.parquet"), rows)
    return ("people.parquet",)


def folder_of_files(rows: Sequence[Row]) -> Sequence[str]:
    Path("people").mkdir()
    write(Path("people/a.parquet"), rows[:30])
    write(Path("people/b.parquet"), rows[30:])
    return ("people",)


def sqlite_table(rows: Sequence[Row]) -> Sequence[str]:
    Path("datasets.toml").write_text(DECLARATION)
    with closing(sqlite3.connect("people.sqlite")) as connection:
        connection.execute("CREATE TABLE people (age TEXT, house TEXT, weight TEXT, hours REAL, sex TEXT, income TEXT)")
        values = "CAST(?1 AS TEXT), CAST(?1 AS TEXT), CAST(?1 AS TEXT), ?2, CAST(?3 AS TEXT), CAST(?4 AS TEXT)"
        connection.executemany(f"INSERT INTO people VALUES ({values})", rows)
        connection.commit()
    return ("people.sqlite", "--table", "people", "--dataset", "people")


def duckdb_table(rows: Sequence[Row]) -> Sequence[str]:
    Path("datasets.toml").write_text(DECLARATION)
    into_duckdb(Path("people.duckdb"), pl.DataFrame(table(rows)), "people")
    return ("people.duckdb", "--table", "people", "--dataset", "people")


DOORS: Mapping[str, Callable[[Sequence[Row]], Sequence[str]]] = {
    "file": file,
    "folder": folder_of_files,
    "SQLite": sqlite_table,
    "DuckDB": duckdb_table,
}
"""Each writes rows into the working directory and returns what names them on the command line."""

UNREADABLE: Mapping[str, set[str]] = {"DuckDB": NOT_UTF_8, "frame": NOT_UTF_8, "PostgreSQL": {*NOT_UTF_8, "NUL"}}
"""What a door cannot hold."""


def at(door: str) -> Mapping[str, Row]:
    """The odd rows that a door can hold."""
    return {name: row for name, row in ODD.items() if name not in UNREADABLE.get(door, set())}


def events(out: str) -> list[dict[str, Any]]:
    """The events of a log, without the time, but for progress: it shows how fast rows are read (section 9)."""
    public = []
    for line in out.splitlines():
        event = json.loads(line)
        del event["time"]
        if event["event"] == "progress":
            assert event.keys() == {"event", "verb", "text", "stage", "share", "seconds_left"}
        else:
            public.append(event)
    return public


Seen: TypeAlias = list[tuple[int, Any, str]]
"""Exit code, standard output or events, and standard error of each run."""


def logged(run: Run, *command: object) -> tuple[int, Any, str]:
    """What is seen of a command that logs events; their texts are the lines of the text format."""
    ended = run(*command, "--overwrite", "--log-format", "json")
    return ended.code, events(ended.out), ended.err


def training(run: Run, data: Sequence[str]) -> Seen:
    command = ("train", *data, "--epsilon", "1", "--attribute-weights", "none")
    printed = run(*command)
    return [(printed.code, printed.out, printed.err), logged(run, *command)]


def calibrated(run: Run, data: Sequence[str]) -> Seen:
    """What is seen of two passes."""
    return [logged(run, "train", *data, "--attribute-weights", "calibrated", "--output", "calibrated.json")]


def everything(run: Run, data: Sequence[str]) -> Seen:
    """What is seen of all commands whose output is public, and of the one that counts for them."""
    condition = ("--label", "age > 40 AND NOT income = 'low'", "--mechanism", "smooth")
    units = ("--unit", "house", "--weight", "weight", "--weight-cap", "50")
    seen = calibrated(run, data) + [logged(run, "train", *data, *options) for options in (condition, units)]
    seen.append(logged(run, "aggregate", *data, "--output", "counts.parquet"))
    seen.append(logged(run, "release", "counts.parquet", "--output", "released.json"))
    if "--table" not in data:
        planned = run("plan", *data, "--no-advice")
        seen.append((planned.code, planned.out, planned.err))
    scores = ("evaluate", "calibrated.json", *data[:3], "--epsilon", "1", "--output", "scores.json")
    code, scored, err = logged(run, *scores)
    return [*seen, (code, [event["event"] for event in scored], err)]  # their figures are released


@pytest.fixture
def short_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose memory holds a row, and few of the largest values."""
    for module in (parquet, databases):
        monkeypatch.setattr(module, "machine_memory", lambda: 2**27)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part of a pass is an event."""
    monkeypatch.setattr(console, "SECONDS_BETWEEN_EVENTS", -1.0)


def seen_of(
    rows: Sequence[Row],
    name: str,
    door: str,
    commands: Callable[[Run, Sequence[str]], Seen],
    folder: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> Seen:
    """What is seen of commands over rows, in a folder of their own."""
    place = folder / name.replace(" ", "-")
    place.mkdir()
    with monkeypatch.context() as moved:
        moved.chdir(place)
        return commands(run, DOORS[door](rows))


@pytest.mark.usefixtures("short_of_memory", "shown")
@pytest.mark.parametrize("rule", ["", ', missing = "row"'], ids=["undeclared", "row"])
@pytest.mark.parametrize("door", DOORS)
def test_odd_rows_change_nothing_that_is_seen_of_training(
    door: str, rule: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them at once: what one of them changed would be seen."""
    declared = DECLARATION.replace(" }", f"{rule} }}")
    monkeypatch.setitem(globals(), "DECLARATION", declared)
    document = tomllib.loads(declared)["people"]
    monkeypatch.setitem(globals(), "PEOPLE", {key: document[key] for key in PEOPLE})
    seen = [
        seen_of([*BASE, *rows], name, door, training, folder, run, monkeypatch)
        for name, rows in (("without", ()), ("with", at(door).values()))
    ]
    assert seen[1] == seen[0]


@pytest.mark.slow
@pytest.mark.usefixtures("short_of_memory", "shown")
@pytest.mark.parametrize("door", DOORS)
def test_one_row_changes_nothing_that_is_seen_of_any_command(
    door: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = at(door)
    base = seen_of(BASE, "base", door, everything, folder, run, monkeypatch)
    assert len(base) >= 6
    assert seen_of([*BASE, *odd.values()], "all", door, everything, folder, run, monkeypatch) == base
    for name, row in odd.items():
        assert seen_of([*BASE, row], name, door, calibrated, folder, run, monkeypatch) == base[:1], name


@pytest.mark.slow
@pytest.mark.xdist_group("postgres")
@pytest.mark.usefixtures("shown")
def test_one_row_changes_nothing_that_is_seen_of_a_servers_table(
    postgres: PostgresServer, folder: Path, run: Run
) -> None:
    Path("datasets.toml").write_text(DECLARATION)
    seen = []
    for rows in (BASE, *([*BASE, row] for row in at("PostgreSQL").values())):
        into_postgres(postgres, "people", pl.DataFrame(table(rows)))
        seen.append(logged(run, "train", postgres.uri, "--table", "people", "--dataset", "people"))
    assert all(each == seen[0] for each in seen)


def in_python(rows: Any) -> tuple[str, object]:
    """Train, and return what each query cost, or the error."""
    try:
        model = dpnb_columnar.train(rows, domain=people_domain(), epsilon="1", attribute_weights="none")
        return "", [share.cost for share in model.guarantee.composition]
    except Error as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize(
    ("door", "given"),
    [
        ("frame", pl.DataFrame),
        ("stream", lambda rows: pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches())),
    ],
    ids=["frame", "stream"],
)
def test_odd_rows_change_nothing_that_a_program_sees(
    door: str, given: Callable[[pa.Table], Any], capfd: pytest.CaptureFixture[str]
) -> None:
    seen = [in_python(given(table([*BASE, *rows]))) for rows in ((), at(door).values())]
    assert seen[1] == seen[0]
    assert seen[0][0] == ""
    assert capfd.readouterr() == ("", "")
