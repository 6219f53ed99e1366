"""Files and surroundings that nobody planned for: types that engines do not know, odd names, closed streams, clocks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import running
from support.patience import patience
from support.people import people, write_people
from support.running import Run, in_python
from support.unknown_types import UNKNOWN, write_unknown

from dpnb_columnar.rows.row_rules import DEEPEST

linux = pytest.mark.skipif(sys.platform != "linux", reason="names, pipes and devices of Linux")


def nested(levels: int, *, structs: bool) -> pa.DataType:
    type_: pa.DataType = pa.int64()
    for _ in range(levels):
        type_ = pa.struct([("inner", type_)]) if structs else pa.list_(type_)
    return type_


def with_column(file: Path, name: str, values: pa.Array) -> Path:
    """Write people with one more column."""
    people = write_people(file.with_name("people.parquet"))
    metadata = {key: value for key, value in pq.read_metadata(people).metadata.items() if key != b"ARROW:schema"}
    pq.write_table(pq.read_table(people).append_column(name, values).replace_schema_metadata(metadata), file)
    return file


def number_of_people(folder: Path) -> int:
    return int(pq.read_metadata(write_people(folder / "people.parquet")).num_rows)


@pytest.mark.parametrize("structs", [False, True])
def test_columns_nested_too_deep_are_refused_by_their_name(structs: bool, folder: Path, run: Run) -> None:
    """On a thousand levels Polars ends the process."""
    size = number_of_people(folder)
    file = with_column(folder / "deep.parquet", "tree", pa.nulls(size, nested(DEEPEST, structs=structs)))
    run("check", file)
    run("train", file, "--output", "model.json")
    for levels in (DEEPEST + 1, 1000):
        with_column(file, "tree", pa.nulls(size, nested(levels, structs=structs)))
        for arguments in (
            ("check",),
            ("train", "--output", "other.json"),
            ("suggest-domain",),
            ("predict", "model.json"),
        ):
            output = ("--output", "scored.parquet") if arguments[0] == "predict" else ()
            told = run(*arguments, file, *output, expected=65).err
            assert f"{file}: " in told
            assert f"more than {DEEPEST} levels; drop or unnest" in told


def test_a_column_that_polars_cannot_read_is_named_where_it_is_asked_for(
    model_file: Path, folder: Path, run: Run
) -> None:
    times = pa.array(range(number_of_people(folder)), pa.timestamp("us", tz="Nowhere/None"))
    file = with_column(folder / "zoned.parquet", "seen", times)
    run("check", file)
    run("train", file, "--seed", 1, "--output", "zoned.json")
    told = run("predict", model_file, file, "--key", "seen", "--output", "scored.parquet", expected=65).err
    assert f"{file}: column 'seen' is of a type that cannot be read; cast it first" in told


def test_decimals_of_more_digits_than_an_engine_has(
    people_file: Path, model_file: Path, folder: Path, run: Run
) -> None:
    """They may stand beside the attributes."""
    values = pa.array([Decimal(1)] * number_of_people(folder), pa.decimal256(76, 2))
    file = with_column(folder / "wide.parquet", "serial", values)
    run("predict", model_file, file, "--output", "scored.parquet")
    assert "'serial': of more than 38 digits; cast it first" in (
        run("predict", model_file, file, "--key", "serial", "--output", "other.parquet", expected=65).err
    )


@linux
def test_names_that_are_not_utf_8_are_refused(people_file: Path, folder: Path, run: Run) -> None:
    name = os.fsdecode(b"rows\xff.parquet")
    (folder / name).write_bytes(people_file.read_bytes())
    assert r"rows\udcff.parquet': its name is not UTF-8; rename" in run("train", name, expected=66).err
    assert "its name is not UTF-8; choose another --output" in (
        run("simulate", "--rows", 10, os.fsdecode(b"out\xff.parquet"), expected=73).err
    )


def in_a_process(code: str, *arguments: str, folder: Path, **streams: object) -> int:
    """Run the command line after some lines of Python, and return its exit code.

    The import path is that of an installed command: Python 3.13.0 imports nothing from a removed folder on its path.
    """
    program = f"import os; {code}; from dpnb_columnar.__main__ import run; run()"
    ended = subprocess.run([sys.executable, "-P", "-c", program, *arguments], cwd=folder, check=False, **streams)  # type: ignore[call-overload]
    return int(ended.returncode)


@linux
@pytest.mark.slow
def test_a_usage_error_that_nobody_can_read_is_still_one(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        assert in_a_process("pass", "train", "--nosuch", folder=folder, stderr=full) == 64
    reading, writing = os.pipe()
    os.close(reading)
    assert in_a_process("pass", "train", "--nosuch", folder=folder, stderr=writing) == 64
    os.close(writing)


@linux
@pytest.mark.slow
def test_a_run_whose_standard_error_is_closed(people_file: Path, folder: Path) -> None:
    program = "import sys; from dpnb_columnar.__main__ import run; run()"
    command = ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-c", program]
    arguments = ["train", str(people_file), "--output", str(folder / "model.json"), "--epsilon", "1"]
    assert subprocess.run([*command, *arguments], cwd=folder, check=False, capture_output=True).returncode == 0
    assert (folder / "model.json").is_file()


@linux
@pytest.mark.slow
def test_a_working_directory_that_was_removed(people_file: Path, folder: Path) -> None:
    """What needs none runs; what needs one says so."""
    gone = folder / "gone"
    gone.mkdir()
    output = folder / "told"
    with output.open("w") as told:
        code = in_a_process(f"os.rmdir({str(gone)!r})", "train", str(people_file.resolve()), folder=gone, stderr=told)
    assert code == 66
    assert output.read_text() == "dpnb-columnar: the working directory was removed; start from another one\n"


@pytest.mark.parametrize(
    "command",
    [
        ("predict", "{}.json", "people.parquet", "--output", "new.parquet"),
        ("domain", "edit", "{}.parquet", "--output", "new.toml"),
        ("domain", "show", "people.parquet", "--dataset", "{}.toml:people"),
        ("evaluate", "{}.json", "people.parquet"),
        ("train", "{}.parquet"),
        ("train", "people.parquet", "--config", "{}.toml"),
        ("release", "{}.parquet", "--output", "new.json"),
        ("ingest", "{}.dat", "--codebook", "{}.xml", "--output", "new.parquet"),
    ],
    ids=" ".join,
)
def test_names_longer_than_the_file_system_allows(command: tuple[str, ...], people_file: Path, run: Run) -> None:
    name = "n" * 300
    told = run(*(word.format(name) for word in command), expected=66).err
    assert name in told
    assert "File name too long" in told
    assert not list(Path().glob("*new*"))


@linux
def test_a_name_that_a_terminal_would_obey_is_escaped(people_file: Path, run: Run) -> None:
    name = "x\x1b[2J\u202e\a.parquet"
    for command in (
        ("train", name),
        ("domain", "show", name),
        ("predict", name.replace("parquet", "json"), "people.parquet"),
    ):
        told = run(*command, *(("--output", "new.parquet") if "predict" in command else ()), expected=66).err
        assert "x\\u001b[2J\\u202e\\u0007." in told
        assert told.replace("\n", "").isprintable()


YEAR = 31_556_952
"""Seconds."""


@linux
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler, by which the clock is set")
@pytest.mark.parametrize(("years", "code"), [(200, 0), (300, 78), (8238, 78)])
def test_a_clock_that_libraries_cannot_read(years: int, code: int, folder: Path) -> None:
    """Such as that of the year 10264. Python's own time ends in 2262."""
    source = Path(running.__file__).with_name("clock_ahead.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "clock.so", source], check=True)
    ahead = {"LD_PRELOAD": str(folder / "clock.so"), "CLOCK_AHEAD": str(years * YEAR)}
    line = ["ledger", "init", "x.ledger", "--dataset", "people", "--epsilon", "1"]
    ended = in_python("-m", "dpnb_columnar", *line, env={**os.environ, **ahead}, timeout=patience(60))
    assert ended.returncode == code
    assert ended.stderr == ("dpnb-columnar: the system's clock is beyond the year 2262; set it\n" if code else "")
    assert Path("x.ledger").exists() == (not code)


@pytest.fixture(params=UNKNOWN)
def places(request: pytest.FixtureRequest, folder: Path) -> Path:
    """A folder with the same rows twice, in places.parquet with a shape that Polars does not know."""
    write_people(folder / "people.parquet", people(1000))
    table = pq.read_table(folder / "people.parquet")
    table, metadata = table.add_column(0, "shape", [["x"] * len(table)]), pq.read_metadata("people.parquet").metadata
    write_unknown(folder / "places.parquet", table, request.param, metadata)
    return folder


def test_every_verb_reads_the_other_columns(places: Path, run: Run) -> None:
    run("train", "people.parquet", "--seed", "1", "--output", "model.json")
    told = {}
    for name in ("people", "places"):
        run("predict", "model.json", f"{name}.parquet", "--key", "age", "--output", f"{name}.scores.parquet")
        run("split", f"{name}.parquet")
        run("aggregate", f"{name}.parquet", "--output", f"{name}.statistics.parquet")
        told[name] = [run("check", f"{name}.parquet").out, run("evaluate", "model.json", f"{name}.parquet").out]
        told[name] = [text.replace(f"{name}.parquet", "rows") for text in told[name]]
    assert told["people"] == told["places"]
    scores, expected = (pl.read_parquet(f"{name}.scores.parquet") for name in ("places", "people"))
    assert scores.equals(expected)
    parts = [pq.read_table(f"places.{part}.parquet", columns=["age", "sex"]) for part in ("train", "test")]
    assert sum(map(len, parts)) == 1000


def test_the_column_is_named_where_it_is_asked_for(places: Path, run: Run) -> None:
    run("train", "people.parquet", "--seed", "1", "--output", "model.json")
    kept = run("predict", "model.json", "places.parquet", "--key", "shape", "--output", "s.parquet", expected=65)
    assert kept.err == (
        "dpnb-columnar: places.parquet: column 'shape' is of a type that cannot be read; cast it first\n"
    )
    assert "# left out: shape: type Unknown can be no attribute; cast it" in run("suggest-domain", "places.parquet").out
    entry = "[places.label]\ncolumn = 'income'\nclasses = ['low', 'high']\n[places.attributes.shape]\nvalues = ['x']\n"
    (places / "own.toml").write_text(f"[places]\n{entry}")
    refused = run("train", "places.parquet", "--dataset", "own.toml:places", expected=65)
    assert "column 'shape' has type Unknown: cast it to a number, a boolean, a date or text" in refused.err


def test_damaged_rows_are_told_as_those_of_other_files(places: Path, run: Run) -> None:
    run("train", "people.parquet", "--seed", "1", "--output", "model.json")
    path = places / "places.parquet"
    content = bytearray(path.read_bytes())
    content[4:2000] = bytes(1996)
    path.write_bytes(content)
    for line in ("train FILE", "suggest-domain FILE", "predict model.json FILE --output s.parquet", "split FILE"):
        told = run(*line.replace("FILE", path.name).split(), expected=65).err
        assert "places.parquet: cannot be read to the end" in told
