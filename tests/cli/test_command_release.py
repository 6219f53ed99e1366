"""``dpnb-columnar aggregate`` and ``release``, the two halves of ``train``, of files and of counts of databases."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import duckdb
import polars as pl
import pytest
from support.mechanisms import MECHANISMS
from support.people import DECLARATION, people, people_domain, write_people
from support.running import Run
from support.servers import PostgresServer
from support.tables import into_duckdb, into_postgres

from dpnb_columnar.domain.declared_domain import digest

STATISTICS = Path("people.statistics.parquet")


@pytest.fixture
def statistics(people_file: Path, run: Run) -> Path:
    run("aggregate", people_file)
    return STATISTICS


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_train_is_aggregate_and_release(mechanism: str, suffix: str, people_file: Path, run: Run) -> None:
    options = ("--mechanism", mechanism, "--epsilon", "0.7", "--neighbours", "replace-one", "--seed", 11)
    run("train", people_file, *options, "--output", f"whole{suffix}")
    run("aggregate", people_file)
    run("release", STATISTICS, *options, "--output", f"halves{suffix}")
    assert Path(f"whole{suffix}").read_bytes() == Path(f"halves{suffix}").read_bytes()


def test_shards_aggregated_apart_add_up(folder: Path, run: Run) -> None:
    frame = people(999)
    names = []
    for part, rows in enumerate((0, 0, 1, 300, 698)):
        write_people(folder / f"part-{part}.parquet", frame.slice([0, 0, 0, 1, 301][part], rows))
        run("aggregate", f"part-{part}.parquet")
        names.append(f"part-{part}.statistics.parquet")
    write_people(folder / "whole.parquet", frame)
    run("train", "whole.parquet", "--seed", 2, "--output", "whole.json")
    run("train", "part-?.parquet", "--seed", 2, "--output", "pattern.json")
    run("release", *names, "--seed", 2, "--output", "shards.json")
    run("release", *reversed(names), "--seed", 2, "--output", "reversed.json")
    whole = Path("whole.json").read_bytes()
    assert all(Path(name).read_bytes() == whole for name in ("pattern.json", "shards.json", "reversed.json"))


def test_statistics_are_confidential_and_say_so(people_file: Path, run: Run) -> None:
    ended = run("aggregate", people_file)
    assert "CONFIDENTIAL" in ended.out
    assert stat.S_IMODE(STATISTICS.stat().st_mode) == 0o600
    assert "CONFIDENTIAL" in pl.read_parquet_metadata(STATISTICS)["dpnb_columnar.statistics"]
    assert pl.read_parquet(STATISTICS).columns == ["attribute", "class", "code", "count"]


def test_statistics_are_named_after_the_data_or_as_asked(people_file: Path, run: Run) -> None:
    assert "wrote people.statistics.parquet: CONFIDENTIAL" in run("aggregate", people_file).out
    run("aggregate", people_file, "--output", "counts.parquet")
    assert Path("counts.parquet").read_bytes() == STATISTICS.read_bytes()
    assert "--overwrite" in run("aggregate", people_file, expected=73).err


def test_model_that_carries_no_guarantee_says_so(statistics: Path, run: Run) -> None:
    assert "NO GUARANTEE" in run("release", statistics, "--output", "model.json", "--seed", 1).err
    assert run("release", statistics, "--output", "private.json").err == ""
    assert "NOT PRIVATE" in run("release", statistics, "--output", "plain.json", "--mechanism", "none").out


OPTIONS = ("--seed", 3, "--epsilon", "0.7")


@pytest.fixture
def trained(people_file: Path, run: Run) -> bytes:
    """The model that ``train`` gives."""
    run("train", people_file, *OPTIONS, "--output", "trained.json")
    return Path("trained.json").read_bytes()


@pytest.fixture
def counted(people_file: Path, run: Run) -> pl.DataFrame:
    """What a statistics query returns about ``people.parquet``; the catalogue declares its domain."""
    Path("datasets.toml").write_text(DECLARATION)
    run("aggregate", people_file)
    return pl.read_parquet("people.statistics.parquet").with_columns(
        pl.col("attribute").cast(pl.String), domain=pl.lit(digest(people_domain()))
    )


def released(run: Run, *arguments: object) -> bytes:
    run("release", *arguments, *OPTIONS, "--output", "model.json", "--overwrite")
    return Path("model.json").read_bytes()


def test_result_as_csv(trained: bytes, counted: pl.DataFrame, run: Run) -> None:
    counted.sample(fraction=1, shuffle=True, seed=1).write_csv("counts.csv")
    assert released(run, "counts.csv", "--dataset", "people") == trained
    assert released(run, "counts.csv", "--domain", "people.parquet") == trained
    counted.select("domain", "count", "code", "attribute", "class").rename(str.upper).write_csv("upper.csv")
    assert released(run, "upper.csv", "--dataset", "people") == trained


def test_result_as_parquet_of_other_types(trained: bytes, counted: pl.DataFrame, run: Run) -> None:
    counted.write_parquet("counts.parquet")
    assert released(run, "counts.parquet", "--dataset", "people") == trained
    wide = counted.with_columns(pl.col("count").cast(pl.Decimal(38, 0)), pl.col("class", "code").cast(pl.Float64))
    wide.write_parquet("wide.parquet")
    assert released(run, "wide.parquet", "--dataset", "people") == trained


def test_result_kept_in_a_duckdb_file(trained: bytes, counted: pl.DataFrame, run: Run) -> None:
    into_duckdb(Path("counts.duckdb"), counted, "kept")
    Path("kept.sql").write_text("FROM kept")
    assert released(run, "counts.duckdb", "--query", "kept.sql", "--dataset", "people") == trained


def test_shards_of_any_origin_add_up_once(trained: bytes, run: Run, people_file: Path) -> None:
    Path("datasets.toml").write_text(DECLARATION)
    rows, parts = pl.read_parquet(people_file), []
    for name, part in (("one", rows.head(400)), ("two", rows.tail(-400))):
        write_people(Path(f"{name}.parquet"), part)
        run("aggregate", f"{name}.parquet")
        parts.append(f"{name}.statistics.parquet")
    cells = pl.read_parquet(parts[1]).with_columns(pl.col("attribute").cast(pl.String))
    cells.with_columns(domain=pl.lit(digest(people_domain()))).write_csv("two.csv")
    assert released(run, parts[0], "two.csv", "--dataset", "people") == trained
    Path("again.csv").write_bytes(Path("two.csv").read_bytes())
    twice = run("release", "two.csv", "again.csv", "--dataset", "people", "--output", "m.json", expected=65)
    assert "count twice" in twice.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        (lambda cells: cells.drop("domain"), "domain is missing"),
        (lambda cells: cells.drop("count"), "count is missing"),
        (lambda cells: cells.with_columns(domain=pl.lit("0" * 64)), "another domain"),
        (lambda cells: cells.with_columns(domain=pl.lit(None, pl.String)), "another domain"),
        (lambda cells: cells.with_columns(pl.col("count") * 0.5), "not a whole number"),
        (lambda cells: cells.with_columns(pl.lit(None, pl.Int64).alias("code")), "not a whole number"),
        (lambda cells: cells.tail(-4), "do not add up"),
        (lambda cells: cells.with_columns(pl.col("code") + 200), "outside the domain"),
        (lambda cells: cells.with_columns(pl.col("count") * -1), "below zero"),
        (lambda cells: cells.with_columns(pl.col("attribute").replace("age", "agee")), "not in the domain"),
        (lambda cells: cells.with_columns(pl.col("count").replace(pl.col("count").max(), 10**18)), "run the query"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_results_that_do_not_fit_are_refused(
    change: object, remedy: str, suffix: str, counted: pl.DataFrame, run: Run
) -> None:
    assert callable(change)
    changed = change(counted)
    file = f"counts.{suffix}"
    changed.write_csv(file) if suffix == "csv" else changed.write_parquet(file)
    ended = run("release", file, "--dataset", "people", "--output", "model.json", expected=65)
    assert file in ended.err
    assert remedy in ended.err or "statistics" in ended.err
    assert not {*re.findall(r"\d+", ended.err)} & {str(count) for count in counted["count"] if count > 9}
    assert not Path("model.json").exists()


def test_table_of_a_duckdb_file_is_counted_there(trained: bytes, counted: pl.DataFrame, run: Run) -> None:
    into_duckdb(Path("rows.duckdb"), pl.read_parquet("people.parquet"))
    assert released(run, "rows.duckdb", "--table", "person", "--dataset", "people") == trained
    query = run("sql", "statistics", "--dataset", "people", "--dialect", "duckdb", "--table", "person").out
    Path("counts.sql").write_text(query)
    assert released(run, "rows.duckdb", "--query", "counts.sql", "--dataset", "people") == trained
    with duckdb.connect("rows.duckdb", read_only=True) as connection:
        connection.sql(query.rstrip().rstrip(";")).write_csv("counts.csv")
    assert released(run, "counts.csv", "--dataset", "people") == trained


@pytest.mark.xdist_group("postgres")
def test_table_of_a_postgresql_server_is_counted_there(
    trained: bytes, counted: pl.DataFrame, run: Run, postgres: PostgresServer
) -> None:
    into_postgres(postgres, "person", pl.read_parquet("people.parquet"))
    assert released(run, postgres.uri, "--table", "person", "--dataset", "people") == trained
    query = run("sql", "statistics", "--dataset", "people", "--dialect", "postgres", "--table", "person").out
    Path("counts.sql").write_text(query)
    assert released(run, postgres.uri, "--query", "counts.sql", "--dataset", "people") == trained
    missing = ("release", postgres.uri, "--table", "nobody", "--dataset", "people", "--output", "m.json")
    assert "no such table" in run(*missing, expected=65).err
