"""Delta and Iceberg tables at the command line and in Python: one snapshot is read, paid for and refused as an input.

An Iceberg table is named by its folder, a metadata file, a catalogue, or an object.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.ledger_cases import new_ledger, spent_epsilon
from support.people import DECLARATION, PEOPLE, people, people_domain
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.core.queries.statistics import CellQuery, Statistics
from dpnb_columnar.counting.countable import OpenedRows
from dpnb_columnar.counting.inputs import open_sources
from dpnb_columnar.errors import DataError, Error, MissingInputError, UsageError
from dpnb_columnar.ledger import Ledger
from dpnb_columnar.rows.frames import parse_data

pytestmark = pytest.mark.lake

FIRST, ADDED = people(400, 2), people(600, 3)
LIVE = pl.concat([FIRST, ADDED])
DOMAIN = people_domain()


def deltalake() -> Any:
    return pytest.importorskip("deltalake", reason="deltalake, which reads Delta tables, is not installed")


def arrow(rows: pl.DataFrame) -> pa.Table:
    return rows.to_arrow(compat_level=pl.CompatLevel.oldest())


@pytest.fixture
def here(folder: Path) -> None:
    """The working directory, with a catalogue, and files of the rows."""
    Path("datasets.toml").write_text(DECLARATION.replace("people*.parquet", "*people"))
    LIVE.write_parquet("live.parquet")
    FIRST.write_parquet("first.parquet")


@pytest.fixture
def delta(here: None) -> Path:
    """A table of three versions, the second of which replaced the first."""
    for rows, mode in ((people(400, 1), "append"), (FIRST, "overwrite"), (ADDED, "append")):
        deltalake().write_deltalake("people", rows.to_arrow(), mode=mode)
    return Path("people")


@pytest.fixture
def iceberg(here: None, folder: Path) -> Any:
    """The same, in a folder "lake"."""
    pytest.importorskip("pyiceberg.io.pyarrow", reason="pyiceberg, which reads Iceberg tables, is not installed")
    from support.iceberg_histories import SCHEMA, FolderCatalogue

    Path("lake").mkdir()
    made = FolderCatalogue("test", str(folder / "lake")).create_table("census.people", SCHEMA)
    made.append(arrow(people(300, 1)))
    made.overwrite(arrow(FIRST))
    made.append(arrow(ADDED))
    return made


class Lake(NamedTuple):
    """A table of either kind: how it is named, its newest snapshot and identity, its object, and how rows are added."""

    name: str
    newest: int
    identity: str
    opened: Callable[[], Any]
    append: Callable[[pl.DataFrame], object]


@pytest.fixture(params=["delta", "iceberg"])
def lake(request: pytest.FixtureRequest) -> Lake:
    table = request.getfixturevalue(request.param)
    if request.param == "iceberg":
        snapshot, identity = table.current_snapshot().snapshot_id, f"Iceberg table {table.metadata.table_uuid}"
        return Lake("lake/people", snapshot, identity, lambda: table, lambda rows: table.append(arrow(rows)))
    opened = deltalake().DeltaTable

    def append(rows: pl.DataFrame) -> None:
        deltalake().write_deltalake("people", rows.to_arrow(), mode="append")
        opened("people").delete("age < 40")

    return Lake("people", 2, f"Delta table {opened(table).metadata().id}", lambda: opened(table), append)


def counted(data: Any, domain: Any = DOMAIN) -> Statistics:
    """Exact counts, without what says where they come from."""
    return replace(dpnb.aggregate(data, domain=domain), parts=frozenset())


def test_every_verb_that_reads_rows_takes_a_table(lake: Lake, run: Run) -> None:
    run("train", lake.name, "--output", "m.json", "--attribute-weights", "calibrated")
    figures = [run("evaluate", "m.json", data).out for data in (lake.name, "live.parquet")]
    assert figures[0].replace(f"{lake.name}@{lake.newest}", "live.parquet") == figures[1]
    assert json.loads(run("check", lake.name, "--json").out)["rows"] == len(LIVE)
    assert counted(lake.name) == counted(lake.opened()) == counted("live.parquet")
    for data, output in ((lake.name, "table"), ("live.parquet", "file")):
        run("predict", "m.json", data, "--key", "age", "--output", f"{output}.scores.parquet")
        run("split", data, "--train-output", f"{output}.train.parquet", "--test-output", f"{output}.test.parquet")
    for part in ("scores", "train", "test"):
        one, other = (pl.read_parquet(f"{name}.{part}.parquet").sort(pl.all()) for name in ("table", "file"))
        assert one.equals(other)
    run("suggest-domain", lake.name, "--output", "draft.toml")
    assert f'files = ["{Path(lake.name).name}"]' in Path("draft.toml").read_text()
    run("evaluate", "m.json", lake.name, "--epsilon", 1, "--output", "scores.json")


def test_a_snapshot_stands_in_the_inputs_of_a_run(lake: Lake, run: Run) -> None:
    """Begun again it counts the same snapshot, whatever was written meanwhile; the newest is another input."""
    new_ledger(Path("l.ledger"), dataset="people")
    paid = ("--ledger", "l.ledger", "--run-id", "night", "--epsilon", "0.25", "--output", "m.json", "--overwrite")
    run("train", lake.name, *paid)
    first = Path("m.json").read_bytes()
    names = [f"{Path(lake.name).resolve()}@{lake.newest}", lake.identity]
    with Ledger(Path("l.ledger")) as ledger:
        known = ledger.run("night")
    assert known is not None
    assert known.charge.inputs["data"] == names
    lake.append(people(5, 9))
    assert f"it counted {', '.join(names)};" in run("train", lake.name, *paid, expected=64).err
    run("train", f"{lake.name}@{lake.newest}", *paid)
    assert Path("m.json").read_bytes() == first
    if lake.name == "people":  # a copy has another path: another input of the same account
        shutil.copytree(lake.name, "copied")
        run("train", "copied@2", "--dataset", "people", *paid, expected=64)
        run("train", "copied@2", "--dataset", "people", *paid[:2], "--epsilon", "0.25", "--output", "copied.json")
        assert spent_epsilon(Path("l.ledger"), "people") == 0.5
        # That a later snapshot, or a copy, trained the model is told.
        told = run("evaluate", "m.json", "copied", "--ledger", "l.ledger").err
        assert "a snapshot of this table, to train this model" in told
    assert "training rows" not in run("evaluate", "m.json", "first.parquet", "--ledger", "l.ledger").err


def test_passes_of_one_run_read_one_snapshot(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, queries = OpenedRows.answer, []

    def answered(rows: OpenedRows, query: Any) -> Any:
        queries.append(query)
        result = answer(rows, query)
        lake.append(people(50, len(queries)))
        return result

    monkeypatch.setattr(OpenedRows, "answer", answered)
    for data in (lake.name, lake.opened()):
        model = dpnb.train(data, epsilon=1, dataset="people", attribute_weights="calibrated")
        assert model.domain == DOMAIN
    assert len(queries) == 4


def test_without_the_library_the_extra_is_named(lake: Lake, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, extra, module = {
        "people": ("Delta", "delta", "deltalake"),
        "lake/people": ("Iceberg", "iceberg", "pyiceberg.io.pyarrow"),
    }[lake.name]
    monkeypatch.setitem(sys.modules, module, None)
    told = run("train", lake.name, expected=69).err
    remedy = f"pip install 'dpnb-columnar[{extra}]'"
    assert told.endswith(f"reading {kind} tables needs a library; install it with: {remedy}\n")
    for data in (lake.name, *["iceberg:census.people"] * (extra == "iceberg")):
        with pytest.raises(Error, match=rf"dpnb-columnar\[{extra}\]"):
            dpnb.aggregate(data, domain=DOMAIN)


# Delta.


def paths() -> list[Path]:
    return [Path("people/_delta_log") / f"{version:020}.json" for version in range(3)]


def test_a_table_trains_as_a_file_of_its_live_rows(delta: Path, run: Run) -> None:
    for rows, source in (("live.parquet", "people"), ("first.parquet", "people@1")):
        for data, output in ((rows, "file.json"), (source, "table.json")):
            run("train", data, "--dataset", "people", "--seed", 3, "--output", output, "--overwrite")
        assert Path("file.json").read_bytes() == Path("table.json").read_bytes()
    assert run("train", "people").out.startswith("domain people, from datasets.toml")
    assert Path("people.model.json").exists()


def test_an_object_of_the_library_is_the_snapshot_that_it_has_loaded(delta: Path) -> None:
    loaded = deltalake().DeltaTable(delta, version=1)
    assert dpnb.aggregate(loaded, domain=DOMAIN) == dpnb.aggregate("people@1", domain=DOMAIN)
    opened = open_sources(parse_data(loaded))
    loaded.load_as_version(2)
    assert opened.check(DOMAIN).answer(CellQuery(DOMAIN)) == dpnb.aggregate("people@1", domain=DOMAIN)
    assert dpnb.aggregate(loaded, domain=DOMAIN) == dpnb.aggregate("people", domain=DOMAIN)
    model = dpnb.train(loaded, epsilon=1, dataset="people")
    assert dpnb.evaluate(model, loaded).rows == len(LIVE)
    assert dpnb.check(loaded, dataset="people").diagnosis.rows == len(LIVE)
    parts = dpnb.split(loaded)
    assert sum(len(pl.read_parquet(part)) for part in (parts.train, parts.test)) == len(LIVE)
    with pytest.raises(UsageError, match="data is a table itself"):
        dpnb.aggregate(loaded, domain=DOMAIN, table="people")
    with pytest.raises(UsageError, match="leave engine out"):
        dpnb.aggregate(loaded, domain=DOMAIN, engine="spark")


def test_columns_that_are_no_numbers_or_text_do_not_matter_unless_they_are_asked_for(tmp_path: Path) -> None:
    import pyarrow as pa

    rows = FIRST.to_arrow()
    maps = pa.array([[("a", 1)]] * len(rows), pa.map_(pa.string(), pa.int64()))
    days = pl.Series([None, *range(len(rows) - 1)], dtype=pl.Int32).cast(pl.Date).to_arrow()
    wider = rows.append_column("notes", maps).append_column("day", days).append_column('od"d', rows["age"])
    deltalake().write_deltalake(tmp_path / "t", wider, partition_by=["sex"])
    assert counted(tmp_path / "t") == counted(FIRST)
    parts = dpnb.split(tmp_path / "t", train_output=tmp_path / "a.parquet", test_output=tmp_path / "b.parquet")
    assert "notes" in pl.scan_parquet(parts.train).collect_schema()


def test_a_column_that_was_renamed_is_read_by_its_new_name(delta: Path) -> None:
    """Column mapping: the files keep the old name."""
    log = paths()[2]
    version = Path(f"people/_delta_log/{3:020}.json")
    actions = [json.loads(line) for line in paths()[0].read_text().splitlines() + log.read_text().splitlines()]
    (metadata,) = [each["metaData"] for each in actions if "metaData" in each]
    schema = json.loads(metadata["schemaString"])
    for number, field in enumerate(schema["fields"]):
        field["metadata"] = {"delta.columnMapping.id": number + 1, "delta.columnMapping.physicalName": field["name"]}
        field["name"] = {"age": "years"}.get(field["name"], field["name"])
    metadata["schemaString"] = json.dumps(schema)
    metadata["configuration"] = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"}
    protocol = {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    version.write_text("\n".join(map(json.dumps, [protocol, {"metaData": metadata}])))
    live, renamed = LIVE.rename({"age": "years"}), {**PEOPLE, "name": "people"}
    renamed["attributes"] = {{"age": "years"}.get(name, name): each for name, each in renamed["attributes"].items()}
    assert counted("people", renamed) == counted(live, renamed)


def test_files_that_are_gone_or_damaged_are_told(delta: Path, run: Run) -> None:
    (file, *_) = deltalake().DeltaTable(delta).file_uris()
    content = Path(file).read_bytes()
    Path(file).write_bytes(content[:200] + b"lowhigh" * 20 + content[340:])
    told = run("aggregate", "people", expected=65).err
    assert "people@2: cannot be read to the end" in told
    assert "lowhigh" not in told
    run("predict", "m.json", "people", "--output", "s.parquet", expected=66)
    Path(file).unlink()
    assert "people@2: files of this snapshot are gone, as after VACUUM" in run("check", "people", expected=66).err
    assert run("train", "people@7", expected=66).err.count("has no snapshot 7") == 1
    assert run("train", "people@99999999999999999999", expected=66).err.count("\n") == 1


def add_again(table: Path, link: Callable[[Path, Path], object], to: Path | None = None) -> str:
    """Let the log of a table add a file once more, or another one, by a second name."""
    (added,) = [json.loads(line)["add"] for line in paths()[2].read_text().splitlines() if '"add"' in line]
    file = table / added["path"]
    link(file if to is None else to, table / "again.parquet")
    Path(f"people/_delta_log/{3:020}.json").write_text(json.dumps({"add": {**added, "path": "again.parquet"}}))
    return str(table.resolve() / "again.parquet")


@pytest.mark.parametrize("link", [os.link, lambda file, name: name.symlink_to(file.name)], ids=["hard", "symbolic"])
def test_a_delta_table_that_lists_a_file_twice_is_refused_at_every_door(
    link: Callable[[Path, Path], object], delta: Path, run: Run
) -> None:
    """Otherwise each person of the file would count twice at the stated epsilon."""
    again = add_again(delta, link)
    for verb in ("train", "check", "split", "suggest-domain"):
        told = run(verb, "people", expected=65).err
        assert "is listed twice (also as " in told
        assert again in told
        assert told.count("\n") == 1


def test_a_delta_table_that_names_a_file_outside_its_folder_is_refused(delta: Path, run: Run) -> None:
    """Otherwise the rows of another data set would be read, and paid for, under the name of this one."""
    again = add_again(delta, lambda file, name: name.symlink_to(file), to=Path("first.parquet").absolute())
    assert f"{again} lies outside the table's folder" in run("train", "people", expected=65).err


def test_a_folder_of_an_odd_name_is_found(tmp_path: Path) -> None:
    """Delta gives the table's address with percent signs, and the files' paths without."""
    for name in ("my people", "a#b"):
        deltalake().write_deltalake(tmp_path / name, FIRST.to_arrow(), partition_by=["sex"])
        assert counted(tmp_path / name) == counted(FIRST)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{garbage", "the log of the Delta table (_delta_log) is damaged"),
        (
            '{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["x"],"writerFeatures":["x"]}}',
            "needs a feature of Delta that its library does not support; install a newer version",
        ),
        ('{"protocol":{"minReaderVersion":9,"minWriterVersion":9}}', "people: "),
        ('{"metaData":{"id":"low"}}', "the log of the Delta table (_delta_log) is damaged"),
        ("\xff\xfe", "the log of the Delta table (_delta_log) is damaged"),
    ],
)
def test_a_log_that_cannot_be_read_is_told(content: str, told: str, delta: Path, run: Run) -> None:
    Path(f"people/_delta_log/{3:020}.json").write_bytes(content.encode("latin-1"))
    line = run("train", "people", expected=65).err
    assert told in line
    assert line.count("\n") == 1
    assert "kernel" not in line.lower()


def test_a_log_with_a_gap_or_without_a_beginning_is_told(delta: Path, run: Run) -> None:
    paths()[0].unlink()
    assert "is damaged, incomplete or cannot be opened" in run("train", "people", expected=65).err
    shutil.rmtree("people/_delta_log")
    Path("people/_delta_log").mkdir()
    assert "is damaged, incomplete or cannot be opened" in run("train", "people", expected=65).err


def test_a_table_is_alone_and_nothing_is_written_into_it(delta: Path, run: Run) -> None:
    assert "people: a table is read alone" in run("train", "people", "live.parquet", expected=64).err
    assert "a table is read alone" in run("train", "people", "people@1", expected=64).err
    for output in ("people/m.json", "people/_delta_log/m.json", "people/deeper/m.json"):
        told = run("train", "people", "--output", output, expected=73).err
        assert "people" in told
    told = run("train", "people", "--output", "people/m.json", expected=73).err
    assert "people/m.json: is in the folder of the table" in told
    run("aggregate", "people", "--output", "people/x.parquet", expected=73)
    run("split", "people", "--test-output", "people/x.parquet", expected=73)
    told = run("audit", "--model", "m.json", "--members", "people", "--others", "live.parquet", expected=64).err
    assert "--members: reads files; write the table to Parquet first" in told
    for arguments in (["train", "people/*.parquet"], ["plan", "people"], ["train", "people", "--engine", "spark"]):
        told = run(*arguments, expected=65).err
        assert f"give the table itself, {delta.resolve()}, alone to a verb that takes tables" in told


def test_a_table_without_a_domain_and_one_that_lacks_a_column(delta: Path, run: Run) -> None:
    Path("datasets.toml").unlink()
    assert "people: carries no domain" in run("train", "people", expected=78).err
    domain = {"label": PEOPLE["label"], "attributes": {"AGE": {"lower": 0, "upper": 9}}}
    with pytest.raises(DataError, match="people@2: missing column 'AGE'"):
        dpnb.aggregate("people", domain=domain)


def test_a_name_with_an_at_sign_that_is_a_file_is_that_file(delta: Path) -> None:
    FIRST.head(7).write_parquet("people@1")
    assert dpnb.check("people@1", dataset="people").diagnosis.rows == 7
    with pytest.raises(MissingInputError):
        dpnb.check("live.parquet@1", dataset="people")


# Iceberg.


def test_a_table_is_named_by_its_folder_a_metadata_file_an_object_or_a_catalogue(
    iceberg: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = counted(LIVE)
    earlier = [each.snapshot_id for each in iceberg.metadata.snapshots][-2]
    assert counted("lake/people") == counted(iceberg.metadata_location) == counted(iceberg) == newest
    assert counted(f"lake/people@{earlier}") == counted(f"{iceberg.metadata_location}@{earlier}") == counted(FIRST)
    from pyiceberg import catalog
    from pyiceberg.utils.config import Config
    from support.iceberg_histories import FolderCatalogue

    monkeypatch.setenv("PYICEBERG_CATALOG__DEFAULT__TYPE", "in-memory")
    monkeypatch.setenv("PYICEBERG_CATALOG__DEFAULT__WAREHOUSE", "lake")
    made = {catalog.CatalogType.IN_MEMORY: lambda name, settings: FolderCatalogue(name, **settings)}
    monkeypatch.setattr(catalog, "AVAILABLE_CATALOGS", made)
    monkeypatch.setattr(catalog, "_ENV_CONFIG", Config())
    run("train", "iceberg:census.people", "--seed", 3, "--output", "catalogue.json")
    run("train", "lake/people", "--seed", 3, "--output", "folder.json")
    assert Path("catalogue.json").read_bytes() == Path("folder.json").read_bytes()
    assert counted(f"iceberg:census.people@{earlier}") == counted(FIRST)
    told = run("train", "iceberg:census.person", expected=66).err
    assert "iceberg:census.person: the catalogue has no such table" in told


def test_a_catalogue_that_is_not_there_is_told(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = pytest.importorskip("pyiceberg.catalog", reason="pyiceberg, which reads Iceberg tables, is not installed")
    from pyiceberg.utils.config import Config

    monkeypatch.setenv("PYICEBERG_CATALOG__DEFAULT__URI", "http://user:hidden@127.0.0.1:9/")
    monkeypatch.setattr(catalog, "_ENV_CONFIG", Config())
    told = run("check", "iceberg:census.people", "--dataset", "acs", expected=75).err
    assert (
        "iceberg:census.people: the catalogue does not answer, or none is configured; check ~/.pyiceberg.yaml" in told
    )
    assert "hidden" not in told


def metadata() -> list[Path]:
    return sorted(Path("lake/people/metadata").glob("*.metadata.json"))


def test_the_newest_metadata_are_found(iceberg: Any) -> None:
    """By number; by the hint, which may be one behind; two of one number say nothing."""
    expected = counted(LIVE)
    for number, file in enumerate(metadata()):
        file.rename(file.with_name(f"v{number + 8}.metadata.json"))
    assert counted("lake/people") == expected
    newest = Path("lake/people/metadata/v11.metadata.json")
    compressed = newest.with_name("v11.gz.metadata.json")
    compressed.write_bytes(gzip.compress(newest.read_bytes()))
    newest.unlink()
    assert counted("lake/people") == expected
    hint = Path("lake/people/metadata/version-hint.text")
    hint.write_text("10\n")
    assert counted("lake/people") == expected
    for name in ("v10", "v10.metadata.json"):
        hint.write_text(name)
        assert counted("lake/people") == counted(FIRST)
    hint.unlink()
    newest.write_bytes(gzip.decompress(compressed.read_bytes()))
    with pytest.raises(DataError, match=r"v11.gz.metadata.json.* are both of the newest version, and its catalogue"):
        counted("lake/people")


def test_texts_that_are_no_utf8_are_missing_as_in_a_file(iceberg: Any) -> None:
    (file, *_) = [task.file.file_path for task in iceberg.scan().plan_files()]
    held = pq.read_table(file)
    schema = held.schema.set(2, held.schema.field(2).with_type(pa.string()))
    odd = pa.StringArray.from_buffers(len(held), *pa.array([b"\xff"] * len(held), pa.binary()).buffers()[1:])
    pq.write_table(pa.table([*held.columns[:2], odd, held.columns[3]], schema=schema), file)
    (seen,) = [each for each in dpnb.check("lake/people", dataset="people").diagnosis.columns if each.name == "sex"]
    assert seen.missing == len(held)


def edit(change: Callable[[dict[str, Any]], Any]) -> None:
    content = json.loads(metadata()[-1].read_text())
    change(content)
    metadata()[-1].write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("change", "told", "code"),
    [
        (lambda each: each.clear(), "the log of the Iceberg table (metadata) is damaged", 65),
        (lambda each: each.update({"format-version": 9}), "Iceberg", 65),
        (lambda each: each.update({"current-snapshot-id": -1, "refs": {}}), "has no snapshot: nothing was written", 65),
        (
            lambda each: [one.update({"manifest-list": "s3://bucket/x.avro"}) for one in each["snapshots"]],
            "some of its files lie at an address (s3:)",
            65,
        ),
        (
            lambda each: [one.update({"manifest-list": "/nowhere/x.avro"}) for one in each["snapshots"]],
            "the log of the Iceberg table (metadata) is damaged, incomplete or cannot be opened",
            65,
        ),
        (lambda each: each["properties"].update({"py-io-impl": "os.Nothing", "s3.endpoint": "x"}), None, 0),
    ],
)
def test_metadata_that_cannot_be_read_are_told(
    change: Callable[[dict[str, Any]], Any], told: str | None, code: int, iceberg: Any, run: Run
) -> None:
    edit(change)
    ended = run("aggregate", "lake/people", expected=code)
    assert told is None or (told in ended.err and ended.err.count("\n") == 1)


def test_garbage_and_files_that_are_gone_are_told(iceberg: Any, run: Run) -> None:
    kept = metadata()[-1].read_text()
    for garbage in (b"{garbage low", b"\xff\xfe", b""):
        metadata()[-1].write_bytes(garbage)
        told = run("train", "lake/people", expected=65).err
        assert "is damaged, incomplete or cannot be opened" in told
        assert "low" not in told
    metadata()[-1].write_text(kept)
    assert "has no snapshot 5" in run("train", "lake/people@5", expected=66).err
    (file, *_) = [Path(task.file.file_path) for task in iceberg.scan().plan_files()]
    content = file.read_bytes()
    file.write_bytes(content[:100] + b"high" * 40 + content[260:])
    told = run("aggregate", "lake/people", expected=65).err
    assert "cannot be read to the end" in told
    assert "high" not in told
    file.unlink()
    assert "files of this snapshot are gone" in run("train", "lake/people", expected=66).err


def test_deletes_by_value_which_the_library_does_not_apply_are_refused(iceberg: Any, run: Run) -> None:
    from pyiceberg.manifest import DataFileContent, FileFormat
    from support.iceberg_histories import commit_deletes

    (task, *_) = iceberg.scan().plan_files()
    file = Path("lake/people/data/deletes.parquet").absolute()
    age = pa.field("age", pa.int64(), True, {"PARQUET:field_id": "1"})
    pq.write_table(pa.table([[40]], schema=pa.schema([age])), file)
    commit_deletes(iceberg, file, DataFileContent.EQUALITY_DELETES, FileFormat.PARQUET, task.file)
    told = run("train", "lake/people", expected=65).err
    assert "needs a feature of Iceberg that its library does not support" in told


def data_file(table: Any) -> Path:
    return min(Path(task.file.file_path) for task in table.scan().plan_files())


def add(table: Any, *files: object) -> None:
    """Add files to a table as its library does where it is asked not to look for duplicates."""
    with table.transaction() as transaction:
        transaction.add_files([*map(str, files)], check_duplicate_files=False)


ADDED_TWICE: dict[str, Callable[[Path], object]] = {
    "by its name": lambda file: file,
    "by its address": lambda file: file.absolute().as_uri(),
    "by a link": lambda file: linked(file, file.with_name("link.parquet").symlink_to),
    "by a second name": lambda file: linked(file, file.with_name("hard.parquet").hardlink_to),
}


def linked(file: Path, link: Callable[[Path], None]) -> Path:
    link(file)
    return max((file.with_name(name) for name in ("link.parquet", "hard.parquet")), key=Path.exists)


@pytest.mark.parametrize("added", ADDED_TWICE)
def test_a_table_that_lists_a_file_twice_is_refused_at_every_door(added: str, iceberg: Any, run: Run) -> None:
    """Otherwise each person of the file would count twice at the stated epsilon."""
    add(iceberg, ADDED_TWICE[added](data_file(iceberg)))
    for verb in ("train", "check", "split", "suggest-domain"):
        told = run(verb, "lake/people", expected=65).err
        assert "is listed twice" in told
        assert told.endswith("its rows would count twice; drop one entry with what writes the table\n")
        assert told.count("\n") == 1


def test_a_table_that_lists_a_copy_is_refused_before_a_row_counts(iceberg: Any, run: Run) -> None:
    """As two files are; it is refused where rows count, and a table of two honest files of equal size is not."""
    file = data_file(iceberg)
    add(iceberg, shutil.copy(file, file.with_name("copy.parquet")))
    new_ledger(Path("l.ledger"), dataset="people")
    told = run("train", "lake/people", "--ledger", "l.ledger", "--epsilon", "0.25", expected=65).err
    assert "are copies (of equal size, footer and beginning): their rows would count twice" in told
    assert spent_epsilon(Path("l.ledger"), "people") == 0
    assert "are copies" in run("check", "lake/people", expected=65).err
    with pytest.raises(DataError, match="are copies"):
        counted(iceberg)


OUTSIDE: dict[str, Callable[[Path], object]] = {
    "a path": lambda file: file,
    "an address": lambda file: file.as_uri(),
    "dots": lambda file: f"{file.parent}/lake/people/data/../../../{file.name}",
    "a link": lambda file: linked_into(file, Path("lake/people/data/inside.parquet").absolute()),
    "a folder of a link": lambda file: linked_into(file.parent, Path("lake/people/inside").absolute()) / file.name,
    "a folder of a like name": lambda file: file.rename(file.parent.joinpath("lake/peoples.parquet")),
}


def linked_into(target: Path, link: Path) -> Path:
    link.symlink_to(target)
    return link


@pytest.mark.parametrize("named", OUTSIDE)
def test_a_table_that_names_a_file_outside_its_folder_is_refused(named: str, iceberg: Any, run: Run) -> None:
    """Otherwise the rows of another data set would be read, and paid for, under the name of this one."""
    pq.write_table(pq.read_table(data_file(iceberg)), "others.parquet", compression="none")
    named_file = OUTSIDE[named](Path("others.parquet").absolute())
    add(iceberg, named_file)
    # What the metadata themselves call the table's place is no proof of it.
    for location in (str(Path("lake/people").absolute()), "/"):
        edit(lambda each, location=location: each.update({"location": location}))  # type: ignore[misc]
        told = run("train", "lake/people", expected=65).err
        assert f"{named_file} lies outside the table's folder" in told
        assert told.count("\n") == 1
    with pytest.raises(DataError, match="lies outside the table's folder"):
        counted(iceberg.refresh())


def test_a_hint_leads_to_metadata_of_the_table_alone(iceberg: Any, run: Run) -> None:
    from support.iceberg_histories import SCHEMA, FolderCatalogue

    others = FolderCatalogue("test", str(Path("lake").absolute())).create_table("census.others", SCHEMA)
    others.append(arrow(people(50, 8)))
    Path("lake/people/metadata/version-hint.text").write_text(
        f"../../others/metadata/{Path(others.metadata_location).name}"
    )
    run("train", "lake/people", expected=65)
    metadata()[-1].unlink()
    metadata()[-1].with_name("00009-x.metadata.json").symlink_to(Path(others.metadata_location))
    Path("lake/people/metadata/version-hint.text").unlink()
    assert "lies outside the table's folder" in run("train", "lake/people", expected=65).err
