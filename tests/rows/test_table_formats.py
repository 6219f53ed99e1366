"""Files of tables that keep their past are refused at every door, before a row is read or anything is charged."""

from __future__ import annotations

import glob
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from support.lake_tables import write_delta, write_log
from support.ledger_cases import new_ledger, spent_epsilon
from support.people import people, people_domain, spoil_rows, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.errors import DataError, Error
from dpnb_columnar.extensions.spark import spark
from dpnb_columnar.extensions.spark.spark import read_footers
from dpnb_columnar.rows import sources
from dpnb_columnar.rows.input_files import resolve_files
from dpnb_columnar.rows.sources import refuse_table_files

LOGS = {"_delta_log/": "Delta", ".hoodie/": "Hudi", "metadata/v2.metadata.json": "Iceberg"}
LOGS |= {"metadata/00001-6ba7b810.gz.metadata.json": "Iceberg"}
REMEDIES = {"Delta": "give the table itself", "Hudi": "spark.read.format('hudi')", "Iceberg": "pl.scan_iceberg("}


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = dpnb.train(people(200), epsilon=1, domain=people_domain(), attribute_weights="none")
    path = tmp_path_factory.mktemp("released") / "model.json"
    dpnb.save(model, path)
    return path


@pytest.fixture
def table(people_file: Path, released: Path) -> Path:
    """A Delta table of three versions, of which nobody can read a row; beside it a Hudi table, a model and a ledger."""
    table = write_delta(Path("lake/people").absolute(), [people(400, 1), people(400, 2), people(60, 3)])
    write_log(table.with_name("hudi"), ".hoodie/")
    write_people(table.with_name("hudi") / "part-0.parquet")
    for file in table.parent.glob("*/*.parquet"):
        spoil_rows(file)
    shutil.copy(released, "people.model.json")
    new_ledger(Path("l.ledger"), dataset="people")
    Path("job.toml").write_text('[train]\ndata = ["lake/people/*.parquet"]\noutput = "o.json"\nledger = "l.ledger"\n')
    return table


PAID = ("--ledger", "l.ledger", "--output", "o.json")


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "lake/hudi", *PAID),
        ("train", "lake/people/part-*.parquet", *PAID),
        ("train", "lake/people/part-2.parquet", *PAID),
        ("train", "lake/**/*.parquet", *PAID),
        ("train", "people.parquet", "lake/hudi", *PAID),
        ("train", "lake/people/_delta_log", *PAID),
        ("train", "lake", *PAID),
        ("train", "lake/hudi", "--dry-run", *PAID),
        ("train", "lake/people", "--engine", "spark", *PAID),
        ("train", "--config", "job.toml"),
        ("train", "people.parquet", "--attribute-weights", "lake/people/part-2.parquet", *PAID),
        ("plan", "people.parquet", "--attribute-weights", "lake/people/part-2.parquet"),
        ("plan", "lake/people"),
        ("aggregate", "lake/hudi", "--output", "o.parquet"),
        ("check", "lake/hudi"),
        ("suggest-domain", "lake/hudi", "--output", "o.toml"),
        ("split", "lake/hudi"),
        ("predict", "people.model.json", "lake/hudi", "--output", "o.parquet"),
        ("evaluate", "people.model.json", "lake/hudi"),
        ("evaluate", "people.model.json", "lake/hudi", "--epsilon", 1, *PAID),
        ("domain", "show", "lake/people/part-2.parquet"),
        ("domain", "edit", "lake/people/part-2.parquet"),
        ("sql", "statistics", "lake/people", "--dialect", "duckdb"),
        ("ledger", "init", "other.ledger", "--dataset", "people", "--epsilon", 1, "--bind", "lake/people"),
    ],
    ids=lambda arguments: " ".join(map(str, arguments[:3])),
)
def test_every_verb_refuses_and_nothing_is_charged(arguments: tuple[object, ...], table: Path, run: Run) -> None:
    ended = run(*arguments, expected=65)
    told = ended.err.splitlines()[-1]
    whole = (
        f"belongs to the Delta table {table} (see its _delta_log), whose files hold deleted and replaced rows too; give"
    )
    assert whole in told or f"belongs to the Hudi table {table.with_name('hudi')} " in told
    assert "write the live rows to a file elsewhere, " in told
    assert "charge" not in ended.err
    assert spent_epsilon(Path("l.ledger"), "people") == 0
    assert not [*Path().glob("o.*"), *Path().glob("*.train.parquet")]


@pytest.mark.parametrize(
    "call",
    [
        lambda data: dpnb.train(data, epsilon=1, ledger="l.ledger"),
        lambda data: dpnb.aggregate(data),
        lambda data: dpnb.check(data),
        lambda data: dpnb.plan(data),
        lambda data: dpnb.split(data),
        lambda data: dpnb.evaluate(dpnb.load_model("people.model.json"), data),
        lambda data: dpnb.load_model("people.model.json").evaluate(data),
        lambda data: dpnb.release_scores(dpnb.load_model("people.model.json"), data, epsilon=1, ledger="l.ledger"),
        lambda data: dpnb.read_domain(data),
        lambda data: dpnb.train("people.parquet", epsilon=1, attribute_weights=data, ledger="l.ledger"),
        lambda data: dpnb.train(people(20), epsilon=1, domain=people_domain(), attribute_weights=data),
    ],
)
def test_every_function_refuses(call: Callable[[Path], object], table: Path) -> None:
    for each in (table / "part-2.parquet", table.with_name("hudi") / "part-0.parquet"):
        with pytest.raises(
            Error, match=r"belongs to the (Delta|Hudi) table .* write the live rows to a file"
        ) as caught:
            call(each)
        assert caught.value.exit_code == 65
    assert spent_epsilon(Path("l.ledger"), "people") == 0


def test_a_public_file_that_was_put_into_a_table_is_not_read_again(people_file: Path, run: Run) -> None:
    Path("public").mkdir()
    write_people(Path("public/sample.parquet"), people(900, 5))
    weighted = ("--attribute-weights", "public/sample.parquet")
    run("train", people_file, *weighted, "--output", "m.json")
    Path("public/_delta_log").mkdir()
    told = run("evaluate", "m.json", people_file, "--public", "public/sample.parquet", expected=65).err
    assert "belongs to the Delta table" in told


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("place", ["t", "t/data", "t/year=2018/month=1", "t/a/b/c/d"])
def test_a_log_beside_or_above_is_found_at_any_depth(log: str, place: str, tmp_path: Path) -> None:
    data = tmp_path / place
    data.mkdir(parents=True)
    write_people(data / "x.parquet", people(5))
    assert resolve_files([data]) == (data / "x.parquet",)
    write_log(tmp_path / "t", log)
    for item in (data, data / "x.parquet", data / "*.parquet", tmp_path / "**/*.parquet", tmp_path / "t", tmp_path):
        with pytest.raises(DataError) as caught:
            resolve_files([item])
        assert caught.value.exit_code == 65
        assert f"the {LOGS[log]} table {tmp_path / 't'} " in str(caught.value)
        assert REMEDIES[LOGS[log]] in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_folder_below_that_is_read_is_refused(tmp_path: Path) -> None:
    """A folder stands for those in it that are named COLUMN=VALUE; one of these may be a table."""
    write_people(tmp_path / "a.parquet", people(5))
    write_delta(tmp_path / "year=2018", [people(5, 2)])
    with pytest.raises(DataError, match="year=2018"):
        resolve_files([tmp_path])
    with pytest.raises(DataError, match="year=2018"):
        resolve_files([tmp_path / "*"])
    assert resolve_files([tmp_path / "a.parquet"]) == (tmp_path / "a.parquet",)


def test_links_do_not_hide_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = write_delta(tmp_path / "lake" / "t", [people(5)])
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "deep").mkdir(parents=True)
    (elsewhere / "file.parquet").symlink_to(table / "part-0.parquet")
    (elsewhere / "folder").symlink_to(table)
    (table / "month=1").mkdir()
    write_people(table / "month=1" / "x.parquet", people(5))
    (elsewhere / "month").symlink_to(table / "month=1")  # in whose folder, as it is given, no log stands
    (elsewhere / "up").symlink_to(tmp_path)
    write_people(tmp_path / "store.parquet", people(5))
    (table / "out.parquet").symlink_to(tmp_path / "store.parquet")  # of the table, though its bytes lie elsewhere
    monkeypatch.chdir(elsewhere / "deep")
    searched: set[Path] = set()
    refuse_table_files([Path("../up/store.parquet"), Path("../deep/none.parquet")], searched)
    for item in (
        *("../file.parquet", "../folder", "../folder/part-0.parquet", "../month", "../month/x.parquet"),
        *("../month/*.parquet", "../up/lake/t/part-0.parquet", "../../lake/t/out.parquet", "../*.parquet"),
    ):
        with pytest.raises(DataError, match="belongs to the Delta table"):
            resolve_files([item])
        with pytest.raises(DataError, match="belongs to the Delta table"):
            refuse_table_files(
                [Path(item.replace("*", "x")) if "/" in item[3:] else Path("../file.parquet")], set(searched)
            )


def test_what_is_no_table_is_read(tmp_path: Path) -> None:
    """A neighbour's table, a folder that is called metadata, files with the names of logs."""
    write_delta(tmp_path / "lake" / "other", [people(5)])
    data = tmp_path / "lake" / "mine"
    (data / "metadata").mkdir(parents=True)
    (data / "metadata" / "codebook.json").touch()
    (data / "metadata" / "csv-metadata.json").touch()
    (data / "_delta_log").touch()
    (data / ".hoodie").touch()
    write_people(data / "x.parquet", people(5))
    assert resolve_files([data]) == (data / "x.parquet",)
    assert resolve_files([tmp_path / "lake" / "other" / ".." / "mine"]) != ()


def test_each_folder_is_searched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [tmp_path / f"year={year}" for year in range(5)]
    for folder in folders:
        folder.mkdir()
        for number in range(40):
            (folder / f"{number}.parquet").touch()
    asked: list[Path] = []
    is_folder = sources.is_folder

    def counted(path: Path) -> bool:
        asked.append(path)
        return is_folder(path)

    monkeypatch.setattr(sources, "is_folder", counted)
    files = [file for folder in folders for file in folder.glob("*.parquet")]
    refuse_table_files(files)
    logs = [path for path in asked if path.name in ("_delta_log", ".hoodie", "metadata")]
    assert len(logs) == len(set(logs)) == 3 * (len(folders) + len(tmp_path.parts))


def test_a_frame_of_the_live_rows_counts_these_alone(tmp_path: Path) -> None:
    pytest.importorskip("deltalake", reason="deltalake, by which Polars reads Delta tables, is not installed")
    versions = [people(400, 1), people(400, 2), people(60, 3)]
    table = write_delta(tmp_path / "t", versions)
    rows: Any = pl.scan_delta(str(table))
    assert dpnb.aggregate(rows, domain=people_domain()) == dpnb.aggregate(versions[-1], domain=people_domain())


# Addresses of Spark's file systems, by the calls that a listing makes of Hadoop.


class FakePath:
    """A Hadoop path of the scheme ``store``, whose files are below a folder of this machine."""

    def __init__(self, address: str) -> None:
        self.address = address

    def toString(self) -> str:  # noqa: N802
        return self.address

    def toUri(self) -> Any:  # noqa: N802
        return SimpleNamespace(getScheme=lambda: "store")

    def getName(self) -> str:  # noqa: N802
        return self.address.rpartition("/")[2]

    def getParent(self) -> FakePath | None:  # noqa: N802
        above = self.address.rpartition("/")[0]
        return None if above == "store:" else FakePath(above)

    def getFileSystem(self, configuration: FakeSystem) -> FakeSystem:  # noqa: N802
        return configuration


class FakeSystem:
    """A Hadoop file system that counts what it is asked."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.asked: list[str] = []

    def _local(self, path: FakePath) -> Path:
        return self.root / path.address.removeprefix("store:/")

    def _status(self, file: Path) -> Any:
        path = FakePath(f"store:/{file.relative_to(self.root)}")
        return SimpleNamespace(getPath=lambda: path, isDirectory=file.is_dir, isFile=file.is_file)

    def exists(self, path: FakePath) -> bool:
        return self._local(path).exists()

    def getFileStatus(self, path: FakePath) -> Any:  # noqa: N802
        return self._status(self._local(path))

    def globStatus(self, path: FakePath) -> list[Any]:  # noqa: N802
        self.asked.append(path.address)
        pattern = re.sub(r"\\(.)", r"[\1]", path.address.removeprefix("store:/"))
        return [self._status(Path(each)) for each in sorted(glob.glob(str(self.root / pattern)))]  # noqa: PTH207

    def listStatus(self, path: FakePath) -> list[Any]:  # noqa: N802
        return [self._status(file) for file in self._local(path).iterdir()]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSystem:
    """A store with a folder of 30 files in three folders, one of an odd name."""
    pytest.importorskip("py4j", reason="py4j, which comes with pyspark, is not installed")
    system = FakeSystem(tmp_path)
    monkeypatch.setattr(spark, "hadoop", lambda session: (FakePath, system))
    for year in ("year=2018", "year=2019", "year={20}"):
        (tmp_path / "bucket/t" / year).mkdir(parents=True)
        for number in range(10):
            (tmp_path / "bucket/t" / year / f"{number}.parquet").touch()
    return system


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("place", ["bucket", "bucket/t", "bucket/t/year={20}"])
@pytest.mark.parametrize(
    "item",
    ["store:/bucket/t", "store:/bucket/t/year*", "store:/bucket/t/*/*.parquet", "store:/bucket/t/year={20}/7.parquet"],
)
def test_addresses_of_a_table_are_refused(log: str, place: str, item: str, store: FakeSystem) -> None:
    write_log(store.root / place, log)
    with pytest.raises(DataError, match=rf"belongs to the {LOGS[log]} table store:/{re.escape(place)} .*elsewhere, \w"):
        [*spark._listed(None, item, set())]


def test_a_store_is_asked_for_few_logs(store: FakeSystem) -> None:
    """A folder that is listed anyway tells by itself whether it holds a log."""
    assert len([*spark._listed(None, "store:/bucket/t", searched := set())]) == 30
    assert len([each for each in store.asked if each != "store:/bucket/t"]) == 3  # of bucket
    assert len([*spark._listed(None, "store:/bucket/t/year=2018/*.parquet", searched)]) == 10
    assert len(store.asked) == 3 + 1  # the pattern; bucket and all below it are known


def test_a_store_that_shows_nothing_above_an_address_is_read(
    store: FakeSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    from py4j.protocol import Py4JError

    shown = FakeSystem.globStatus

    def refused(system: FakeSystem, path: FakePath) -> list[Any]:
        if "bucket/t" not in path.address:
            raise Py4JError("403")
        return shown(system, path)

    monkeypatch.setattr(FakeSystem, "globStatus", refused)
    assert len([*spark._listed(None, "store:/bucket/t", set())]) == 30


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_addresses_of_files_here_are_refused_by_spark(spark_session: Any, table: Path) -> None:
    (table.parent / "link").symlink_to(table)
    for item in (f"file:{table}", f"file://{table.parent}/link", f"file:{table}/part-*.parquet", f"{table}"):
        with pytest.raises(DataError, match="belongs to the Delta table"):
            read_footers(spark_session, [item])
