"""Iceberg tables at the command line and in Python: by their folder, a metadata file, a catalogue, or an object."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dpnb_columnar.core.queries.statistics import Statistics
from support.ledger_cases import new_ledger, spent_epsilon
from support.people import DECLARATION, people, people_domain
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.errors import DataError, Error
from dpnb_columnar.ledger import Ledger

pytest.importorskip("pyiceberg.io.pyarrow", reason="pyiceberg, which reads Iceberg tables, is not installed")
pytestmark = pytest.mark.lake

from pyiceberg.manifest import DataFileContent, FileFormat  # noqa: E402
from support.iceberg_histories import SCHEMA, FolderCatalogue, commit_deletes  # noqa: E402

FIRST, ADDED = people(400, 2), people(600, 3)
LIVE = pl.concat([FIRST, ADDED])
DOMAIN = people_domain()


def arrow(rows: pl.DataFrame) -> pa.Table:
    return rows.to_arrow(compat_level=pl.CompatLevel.oldest())


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A table of three snapshots, the second of which replaced the first."""
    monkeypatch.chdir(tmp_path)
    Path("lake").mkdir()
    made = FolderCatalogue("test", str(tmp_path / "lake")).create_table("census.people", SCHEMA)
    made.append(arrow(people(300, 1)))
    made.overwrite(arrow(FIRST))
    made.append(arrow(ADDED))
    Path("datasets.toml").write_text(DECLARATION.replace("people*.parquet", "*people"))
    return made


def counted(data: Any) -> Statistics:
    """Exact counts, without what says where they come from."""
    return replace(dpnb.aggregate(data, domain=DOMAIN), parts=frozenset())


def test_a_table_is_named_by_its_folder_a_metadata_file_an_object_or_a_catalogue(
    table: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = counted(LIVE)
    earlier = [each.snapshot_id for each in table.metadata.snapshots][-2]
    assert counted("lake/people") == counted(table.metadata_location) == counted(table) == newest
    assert counted(f"lake/people@{earlier}") == counted(f"{table.metadata_location}@{earlier}") == counted(FIRST)
    from pyiceberg import catalog
    from pyiceberg.utils.config import Config

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
    from pyiceberg import catalog
    from pyiceberg.utils.config import Config

    monkeypatch.setenv("PYICEBERG_CATALOG__DEFAULT__URI", "http://user:hidden@127.0.0.1:9/")
    monkeypatch.setattr(catalog, "_ENV_CONFIG", Config())
    told = run("check", "iceberg:census.people", "--dataset", "acs", expected=75).err
    assert (
        "iceberg:census.people: the catalogue does not answer, or none is configured; check ~/.pyiceberg.yaml" in told
    )
    assert "hidden" not in told


def test_every_verb_that_reads_rows_takes_a_table(table: Any, run: Run) -> None:
    LIVE.write_parquet("live.parquet")
    run("train", "lake/people", "--attribute-weights", "calibrated", "--output", "m.json")
    assert run("evaluate", "m.json", "lake/people").out == run("evaluate", "m.json", "live.parquet").out
    assert json.loads(run("check", "lake/people", "--json").out)["rows"] == len(LIVE)
    for data, output in (("lake/people", "one.parquet"), ("live.parquet", "other.parquet")):
        run("predict", "m.json", data, "--key", "age", "--output", output)
    one, other = (pl.read_parquet(name).sort(pl.all()) for name in ("one.parquet", "other.parquet"))
    assert one.equals(other)
    run("split", "lake/people")
    assert sum(len(pl.read_parquet(f"people.{part}.parquet")) for part in ("train", "test")) == len(LIVE)
    run("suggest-domain", "lake/people", "--output", "draft.toml")
    told = run("train", "lake/people", "--output", "lake/people/m.json", expected=73).err
    assert "is in the folder of the table" in told


def test_a_snapshot_stands_in_the_inputs_of_a_run(table: Any, run: Run) -> None:
    new_ledger(Path("l.ledger"), dataset="people")
    paid = ("--ledger", "l.ledger", "--run-id", "night", "--epsilon", "0.25", "--overwrite")
    run("train", "lake/people", *paid)
    current = table.current_snapshot().snapshot_id
    names = [f"{Path('lake/people').resolve()}@{current}", f"Iceberg table {table.metadata.table_uuid}"]
    with Ledger(Path("l.ledger")) as ledger:
        known = ledger.run("night")
    assert known is not None
    assert known.charge.inputs["data"] == names
    table.append(arrow(people(5, 9)))
    assert f"it counted {', '.join(names)};" in run("train", "lake/people", *paid, expected=64).err
    run("train", f"lake/people@{current}", *paid)


def test_passes_of_one_run_read_one_snapshot(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpnb_columnar.counting.countable import OpenedRows

    answer, queries = OpenedRows.answer, []

    def answered(rows: OpenedRows, query: Any) -> Any:
        queries.append(query)
        result = answer(rows, query)
        table.append(arrow(people(50, len(queries))))
        return result

    monkeypatch.setattr(OpenedRows, "answer", answered)
    dpnb.train("lake/people", epsilon=1, dataset="people", attribute_weights="calibrated")
    dpnb.train(table, epsilon=1, dataset="people", attribute_weights="calibrated")
    assert len(queries) == 4


def metadata() -> list[Path]:
    return sorted(Path("lake/people/metadata").glob("*.metadata.json"))


def test_the_newest_metadata_are_found(table: Any) -> None:
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


def test_texts_that_are_no_utf8_are_missing_as_in_a_file(table: Any) -> None:
    (file, *_) = [task.file.file_path for task in table.scan().plan_files()]
    held = pq.read_table(file)
    schema = held.schema.set(2, held.schema.field(2).with_type(pa.string()))
    odd = pa.StringArray.from_buffers(len(held), *pa.array([b"\xff"] * len(held), pa.binary()).buffers()[1:])
    pq.write_table(pa.table([*held.columns[:2], odd, held.columns[3]], schema=schema), file)
    (seen,) = [each for each in dpnb.check("lake/people", dataset="people").diagnosis.columns if each.name == "sex"]
    assert seen.missing == len(held)


# What is refused.


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
    change: Callable[[dict[str, Any]], Any], told: str | None, code: int, table: Any, run: Run
) -> None:
    edit(change)
    ended = run("aggregate", "lake/people", expected=code)
    assert told is None or (told in ended.err and ended.err.count("\n") == 1)


def test_garbage_and_files_that_are_gone_are_told(table: Any, run: Run) -> None:
    kept = metadata()[-1].read_text()
    for garbage in (b"{garbage low", b"\xff\xfe", b""):
        metadata()[-1].write_bytes(garbage)
        told = run("train", "lake/people", expected=65).err
        assert "is damaged, incomplete or cannot be opened" in told
        assert "low" not in told
    metadata()[-1].write_text(kept)
    assert "has no snapshot 5" in run("train", "lake/people@5", expected=66).err
    (file, *_) = [Path(task.file.file_path) for task in table.scan().plan_files()]
    content = file.read_bytes()
    file.write_bytes(content[:100] + b"high" * 40 + content[260:])
    told = run("aggregate", "lake/people", expected=65).err
    assert "cannot be read to the end" in told
    assert "high" not in told
    file.unlink()
    assert "files of this snapshot are gone" in run("train", "lake/people", expected=66).err


def test_deletes_by_value_which_the_library_does_not_apply_are_refused(table: Any, run: Run) -> None:
    (task, *_) = table.scan().plan_files()
    file = Path("lake/people/data/deletes.parquet").absolute()
    age = pa.field("age", pa.int64(), True, {"PARQUET:field_id": "1"})
    pq.write_table(pa.table([[40]], schema=pa.schema([age])), file)
    commit_deletes(table, file, DataFileContent.EQUALITY_DELETES, FileFormat.PARQUET, task.file)
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
def test_a_table_that_lists_a_file_twice_is_refused_at_every_door(added: str, table: Any, run: Run) -> None:
    """Otherwise each person of the file would count twice at the stated epsilon."""
    add(table, ADDED_TWICE[added](data_file(table)))
    for verb in ("train", "check", "split", "suggest-domain"):
        told = run(verb, "lake/people", expected=65).err
        assert "is listed twice" in told
        assert told.endswith("its rows would count twice; drop one entry with what writes the table\n")
        assert told.count("\n") == 1


def test_a_table_that_lists_a_copy_is_refused_before_a_row_counts(table: Any, run: Run) -> None:
    """As two files are; it is refused where rows count, and a table of two honest files of equal size is not."""
    file = data_file(table)
    add(table, shutil.copy(file, file.with_name("copy.parquet")))
    new_ledger(Path("l.ledger"), dataset="people")
    told = run("train", "lake/people", "--ledger", "l.ledger", "--epsilon", "0.25", expected=65).err
    assert "are copies (of equal size, footer and beginning): their rows would count twice" in told
    assert spent_epsilon(Path("l.ledger"), "people") == 0
    assert "are copies" in run("check", "lake/people", expected=65).err
    with pytest.raises(DataError, match="are copies"):
        counted(table)


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
def test_a_table_that_names_a_file_outside_its_folder_is_refused(named: str, table: Any, run: Run) -> None:
    """Otherwise the rows of another data set would be read, and paid for, under the name of this one."""
    pq.write_table(pq.read_table(data_file(table)), "others.parquet", compression="none")
    named_file = OUTSIDE[named](Path("others.parquet").absolute())
    add(table, named_file)
    # What the metadata themselves call the table's place is no proof of it.
    for location in (str(Path("lake/people").absolute()), "/"):
        edit(lambda each, location=location: each.update({"location": location}))  # type: ignore[misc]
        told = run("train", "lake/people", expected=65).err
        assert f"{named_file} lies outside the table's folder" in told
        assert told.count("\n") == 1
    with pytest.raises(DataError, match="lies outside the table's folder"):
        counted(table.refresh())


def test_a_hint_leads_to_metadata_of_the_table_alone(table: Any, run: Run) -> None:
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


def test_files_of_a_table_stay_refused(table: Any, run: Run) -> None:
    for arguments in (["train", "lake/people/data/*.parquet"], ["plan", "lake/people"], ["train", "lake"]):
        assert "give the table itself" in run(*arguments, expected=65).err


def test_without_the_library_the_extra_is_named(table: Any, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg.io.pyarrow", None)
    told = run("train", "lake/people", expected=69).err
    assert told.endswith(
        "reading Iceberg tables needs a library; install it with: pip install 'dpnb-columnar[iceberg]'\n"
    )
    with pytest.raises(Error, match=r"dpnb-columnar\[iceberg\]"):
        dpnb.aggregate("iceberg:census.people", domain=DOMAIN)
