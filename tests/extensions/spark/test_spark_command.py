"""``train`` and ``aggregate`` with ``--engine spark``, in a session that this process has."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.examples import blocks, shell
from support.people import DECLARATION, people, people_domain, spoil_rows, write_people
from support.running import Run
from support.spark import configured, environment
from support.watching import Watching

import dpnb_columnar as dpnb
from dpnb_columnar.cli import console
from dpnb_columnar.counting.answer_files import load_statistics
from dpnb_columnar.errors import MissingInputError, UsageError
from dpnb_columnar.extensions.spark import spark
from dpnb_columnar.runtime import row_progress

SPARK = ("--engine", "spark")
FILE = Path("people.parquet")


@pytest.fixture
def table(session: Any, folder: Path) -> str:
    """``people`` as a managed table of Spark's, and an entry that declares its domain."""
    write_people(folder / "people.parquet")
    session.sql("DROP TABLE IF EXISTS people_table")
    session.read.parquet(str(folder / "people.parquet")).write.saveAsTable("people_table")
    Path("datasets.toml").write_text(DECLARATION)
    return "people_table"


@pytest.mark.parametrize("weights", ["none", "calibrated", "learned"])
def test_the_model_is_that_of_the_local_engine(session: Any, people_file: Path, run: Run, weights: str) -> None:
    chosen = ("--attribute-weights", weights, "--seed", 7)
    here = run("train", people_file, *chosen, "--output", "here.json")
    there = run("train", people_file, *chosen, "--output", "there.json", *SPARK)
    assert there.out.replace("there", "here") == here.out
    assert there.err == here.err
    assert Path("there.json").read_bytes() == Path("here.json").read_bytes()


def test_the_statistics_are_those_of_the_local_engine(session: Any, people_file: Path, run: Run) -> None:
    run("aggregate", people_file, "--output", "here.parquet")
    run("aggregate", f"file://{people_file.absolute()}", "--output", "there.parquet", *SPARK)
    here, there = load_statistics(Path("here.parquet")), load_statistics(Path("there.parquet"))
    assert here == there
    assert here.parts == there.parts
    told = run("release", "here.parquet", "there.parquet", "--output", "both.json", expected=65).err
    assert "the same rows are in both" in told


def test_the_second_pass_is_that_of_the_local_engine(session: Any, people_file: Path, run: Run) -> None:
    run("aggregate", people_file, "--output", "first.parquet")
    run("release", "first.parquet", "--attribute-weights", "calibrated", "--output", "tables.json")
    given = ("--given", "tables.json", "--output")
    run("aggregate", people_file, *given, "here.parquet")
    run("aggregate", f"file://{people_file.absolute()}", *given, "there.parquet", *SPARK)
    told = run("release", "here.parquet", "there.parquet", *given, "both.json", expected=65).err
    assert "the same rows are in both" in told
    for place in ("here", "there"):
        run("release", f"{place}.parquet", *given, f"{place}.json", "--seed", 5)
    assert Path("there.json").read_bytes() == Path("here.json").read_bytes()


def test_shares_are_of_tasks_that_read_the_rows(
    session: Any, people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The share that is told last depends on when Spark is asked; the tasks are those of the first stage."""
    monkeypatch.setattr(row_progress, "SECONDS_BETWEEN_REPORTS", 0.001)
    watching = Watching()
    monkeypatch.setattr(console, "_watcher", lambda stage: nullcontext(watching))
    run("aggregate", people_file, "--output", "s.parquet", *SPARK)
    assert watching.totals == [pq.read_metadata(people_file).num_rows]
    assert 0 <= sum(watching.done) <= watching.total


@pytest.mark.parametrize("name", ["{0}", "default.{0}", "spark_catalog.default.{0}", "`spark_catalog`.`default`.`{0}`"])
def test_tables(session: Any, table: str, name: str, run: Run) -> None:
    run("train", FILE, "--seed", 7, "--output", "here.json")
    run("train", *SPARK, "--table", name.format(table), "--dataset", "people", "--seed", 7, "--output", "there.json")
    assert Path("there.json").read_bytes() == Path("here.json").read_bytes()


def test_texts_of_a_table_are_as_they_are_stored(session: Any, folder: Path, run: Run) -> None:
    """Without the blanks that Spark would put behind a CHAR."""
    write_people(folder / "people.parquet")
    place = folder / "stored"
    session.read.parquet(str(FILE.absolute())).write.parquet(str(place))
    session.sql("DROP TABLE IF EXISTS padded")
    session.sql(
        "CREATE TABLE padded (age BIGINT, hours BIGINT, sex CHAR(9), income VARCHAR(9)) USING parquet "
        f"LOCATION '{place}'"
    )
    Path("datasets.toml").write_text(DECLARATION)
    run("train", FILE, "--seed", 7, "--output", "here.json")
    run("train", *SPARK, "--table", "padded", "--dataset", "people", "--seed", 7, "--output", "there.json")
    assert Path("there.json").read_bytes() == Path("here.json").read_bytes()


def test_a_dry_run_opens_no_row_and_shows_the_settings(session: Any, people_file: Path, run: Run) -> None:
    told = run("train", people_file, *SPARK, "--dry-run", "--log-format", "json").out.splitlines()
    shown = {event["setting"]: event["value"] for event in map(json.loads, told) if event["event"] == "setting"}
    assert shown["--engine"] == "spark"
    assert not Path("people.model.json").exists()


def test_copies_are_refused_by_paths_and_addresses(session: Any, people_file: Path, run: Run) -> None:
    copy = Path("copy.parquet")
    copy.write_bytes(spoil_rows(people_file).read_bytes())
    for name in (str(copy), copy.absolute().as_uri()):
        told = run("train", people_file, name, *SPARK, "--dry-run", expected=65).err
        assert "copy.parquet are copies (of equal size, footer and beginning)" in told


def test_settings_from_a_file_and_from_the_environment(
    session: Any, people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("job.toml").write_text('[train]\ndata = ["people.parquet"]\nengine = "spark"\n')
    run("train", "--config", "job.toml")
    monkeypatch.setenv("DPNB_ENGINE", "spark")
    run("aggregate", people_file)


def test_a_ledger_pays_once_and_knows_the_inputs(session: Any, table: str, run: Run) -> None:
    run("ledger", "init", "x.ledger", "--dataset", "people", "--epsilon", 1)
    paid = ("--ledger", "x.ledger", "--run-id", "one", "--epsilon", "0.5")
    rows = ("--table", table, "--dataset", "people")
    run("train", *SPARK, *rows, *paid)
    first = Path("people.model.json").read_bytes()
    Path("people.model.json").unlink()
    assert "nothing is spent again" in run("train", *SPARK, *rows, *paid).out
    assert Path("people.model.json").read_bytes() == first
    other = ("--table", f"default.{table}", "--dataset", "people")
    assert "run" in run("train", *SPARK, *other, *paid, "--overwrite", expected=64).err
    assert "run" in run("train", FILE, *paid, "--overwrite", expected=64).err


def test_a_run_that_was_released_starts_no_spark(
    session: Any, people_file: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("datasets.toml").write_text(DECLARATION)
    run("ledger", "init", "x.ledger", "--dataset", "people", "--epsilon", 1)
    arguments = ("train", people_file, "--dataset", "people", "--ledger", "x.ledger", "--run-id", "one", *SPARK)
    run(*arguments)
    monkeypatch.setattr(spark, "counting_session", lambda *_: pytest.fail("started"))
    run(*arguments)


@pytest.mark.parametrize("rows", [1, 3000], ids=str)
def test_what_is_printed_does_not_depend_on_rows(session: Any, folder: Path, run: Run, rows: int) -> None:
    write_people(FILE, people(rows, seed=rows))
    ended = run("train", FILE, "--epsilon", "0.5", "--mechanism", "smooth", *SPARK)
    assert ended.out.splitlines() == [
        "domain people, from the metadata of the data",
        "epsilon 0.5 (add-remove neighbours), mechanism smooth, 6 queries",
        "wrote people.model.json",
    ]
    assert ended.err == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("train", "--table", "x"), "a table of Spark's catalogs takes --engine spark"),
        (("train", FILE, "--table", "x", *SPARK), "--table and DATA both say which rows"),
        (("train", *SPARK), "Missing argument 'DATA...'"),
        (("aggregate",), "Missing argument 'DATA...'"),
        (("train", "--table", "x", *SPARK), "table x: carries no domain"),
        (("train", FILE, "--engine", "flink"), "flink"),
        (("train", *SPARK, "--table", "x; DROP TABLE x", "--dataset", "people"), "expected the name of a table"),
        (("train", "s3a://key:secret@census/2018", *SPARK), "a password in an address"),
        (("aggregate", "s3a://key:sec/r?et@census/2018", *SPARK), "a password in an address"),
        (("train", "s3a://key:sec/ret@census/2018"), "a password in an address"),
        (
            ("train", *SPARK, "--table", "parquet.`s3a://k:secret@c/x`", "--dataset", "people"),
            "a password in an address",
        ),
    ],
    ids=range(11),
)
def test_options_that_do_not_go_together(
    session: Any, people_file: Path, run: Run, arguments: tuple[object, ...], told: str
) -> None:
    Path("datasets.toml").write_text(DECLARATION)
    error = run(*arguments, expected=64).err
    assert told in error
    assert "secret" not in error
    assert not Path("people.model.json").exists()


def test_what_is_missing_is_named(session: Any, table: str, run: Run) -> None:
    rows = ("--table", "nowhere.people", "--dataset", "people")
    assert "table nowhere.people: Spark finds no such table" in run("train", *SPARK, *rows, expected=66).err
    assert "gone.parquet: no such file" in run("train", "gone.parquet", *SPARK, expected=66).err
    session.sql("CREATE OR REPLACE TEMP VIEW unused AS SELECT 1")
    session.sql("DROP TABLE IF EXISTS narrow")
    session.sql(f"CREATE TABLE narrow USING parquet AS SELECT age, sex, array(1) AS hours, income FROM {table}")
    told = run("train", *SPARK, "--table", "narrow", "--dataset", "people", expected=65).err
    assert "table narrow: does not fit the domain 'people'" in told
    session.sql("DROP TABLE IF EXISTS narrower")
    session.sql(f"CREATE TABLE narrower USING parquet AS SELECT age, sex, income FROM {table}")
    told = run("train", *SPARK, "--table", "narrower", "--dataset", "people", expected=65).err
    assert "table narrower: missing column 'hours'" in told


def test_an_output_must_not_replace_an_input(session: Any, people_file: Path, run: Run) -> None:
    before = people_file.read_bytes()
    for data in (people_file, f"file://{people_file.absolute()}", f"file:{people_file.absolute()}"):
        run("aggregate", data, "--output", people_file, "--overwrite", *SPARK, expected=73)
    assert people_file.read_bytes() == before


def test_a_run_id_knows_a_file_by_what_a_link_leads_to(session: Any, people_file: Path, run: Run) -> None:
    """As without Spark: a link that is moved leads to other rows, however it is written."""
    write_people(Path("others.parquet"), people(50, seed=7))
    run("ledger", "init", "x.ledger", "--dataset", "people", "--epsilon", 9)
    current = Path("current.parquet").absolute()
    for number, data in enumerate(([current], [f"file://{current}"], [current, f"file://{people_file.absolute()}"])):
        words = ("train", *data, *SPARK, "--ledger", "x.ledger", "--run-id", number, "--overwrite")
        current.symlink_to(people_file.absolute())
        run(*words)
        current.unlink()
        current.symlink_to(Path("others.parquet").absolute())
        assert "run" in run(*words, expected=64).err
        current.unlink()


def test_a_file_is_no_table(session: Any, people_file: Path, run: Run) -> None:
    Path("datasets.toml").write_text(DECLARATION)
    name = f"parquet.`{people_file.absolute()}`"
    assert "finds no such table" in run("train", *SPARK, "--table", name, "--dataset", "people", expected=66).err


def test_from_python(session: Any, people_file: Path) -> None:
    expected = dpnb.aggregate(people_file)
    assert dpnb.aggregate(people_file, engine="spark") == expected
    assert dpnb.train(people_file, epsilon=1, engine="spark").guarantee.private
    with pytest.raises(MissingInputError, match="no input"):
        dpnb.aggregate([], engine="spark", domain=people_domain())
    with pytest.raises(UsageError, match="known engines: local, spark"):
        dpnb.aggregate(people_file, engine="flink")
    with pytest.raises(UsageError, match="a frame is counted here"):
        dpnb.aggregate(people(10), dataset="people", engine="spark")
    assert session.range(2).count() == 2


DOCUMENT = Path(__file__).parents[3] / "docs" / "scale.md"


ON_SPARK = 2
"""Blocks of commands that need Spark: the first ones. ``tests/batch/test_examples.py`` runs the others."""


def test_every_command_on_spark_runs(
    spark_installed: None, program: None, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(configured(tmp_path / "conf")).items():
        monkeypatch.setenv(name, value)
    commands = blocks("sh", DOCUMENT.read_text())
    shell("".join(commands[:ON_SPARK]))
    assert {"census.model.json", "both.model.json"} <= {path.name for path in folder.iterdir()}
