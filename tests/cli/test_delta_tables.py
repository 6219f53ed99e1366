"""Delta tables at the command line and in Python: one snapshot is read, paid for and refused like any other input."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.ledger_cases import new_ledger, spent_epsilon
from support.people import DECLARATION, people, people_domain
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.core.queries.statistics import CellQuery, Statistics
from dpnb_columnar.counting.answer_files import load_statistics
from dpnb_columnar.counting.inputs import open_sources
from dpnb_columnar.errors import DataError, Error, MissingInputError, UsageError
from dpnb_columnar.ledger import Ledger
from dpnb_columnar.rows.given_data import parse_data

deltalake = pytest.importorskip("deltalake", reason="deltalake, which reads Delta tables, is not installed")
pytestmark = pytest.mark.lake

from support.delta_histories import deletion_vector  # noqa: E402

FIRST, ADDED = people(400, 2), people(600, 3)
LIVE = pl.concat([FIRST, ADDED])
DOMAIN = people_domain()


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of three versions, the second of which replaced the first; beside it files of the rows."""
    monkeypatch.chdir(tmp_path)
    for rows, mode in ((people(400, 1), "append"), (FIRST, "overwrite"), (ADDED, "append")):
        deltalake.write_deltalake("people", rows.to_arrow(), mode=mode)
    Path("datasets.toml").write_text(DECLARATION.replace("people*.parquet", "people"))
    LIVE.write_parquet("live.parquet")
    FIRST.write_parquet("first.parquet")
    return Path("people")


def counted(data: Any, domain: Any = DOMAIN) -> Statistics:
    """Exact counts, without what says where they come from."""
    return replace(dpnb.aggregate(data, domain=domain), parts=frozenset())


def paths() -> list[Path]:
    return [Path("people/_delta_log") / f"{version:020}.json" for version in range(3)]


def test_a_table_trains_as_a_file_of_its_live_rows(table: Path, run: Run) -> None:
    for rows, source in (("live.parquet", "people"), ("first.parquet", "people@1")):
        for data, output in ((rows, "file.json"), (source, "table.json")):
            run("train", data, "--dataset", "people", "--seed", 3, "--output", output, "--overwrite")
        assert Path("file.json").read_bytes() == Path("table.json").read_bytes()
    assert run("train", "people").out.startswith("domain people, from datasets.toml")
    assert Path("people.model.json").exists()


def test_every_verb_that_reads_rows_takes_a_table(table: Path, run: Run) -> None:
    run("train", "people", "--output", "m.json", "--attribute-weights", "calibrated")

    def both(*arguments: object, name: str = "") -> list[str]:
        return [
            run(
                *[data if each == "DATA" else each for each in arguments],
                *(["--output", f"{name}{place}"] * bool(name)),
            ).out.replace("live.parquet", "people@2")
            for place, data in (("1.parquet", "live.parquet"), ("2.parquet", "people"))
        ]

    figures = both("evaluate", "m.json", "DATA")
    assert figures[0] == figures[1] != ""
    one, other = both("check", "DATA", "--dataset", "people", "--json")
    assert json.loads(one)["rows"] == json.loads(other)["rows"] == len(LIVE)
    both("aggregate", "DATA", "--dataset", "people", name="counts")
    one_counted, other_counted = (
        replace(load_statistics(Path(f"counts{n}.parquet")), parts=frozenset()) for n in (1, 2)
    )
    assert one_counted == other_counted
    both("predict", "m.json", "DATA", "--key", "age", name="scored")
    assert pl.read_parquet("scored1.parquet").sort(pl.all()).equals(pl.read_parquet("scored2.parquet").sort(pl.all()))
    for data in ("live.parquet", "people"):
        run("split", data)
    for part in ("train", "test"):
        divided = [pl.read_parquet(f"{name}.{part}.parquet").sort(pl.all()) for name in ("live", "people")]
        assert divided[0].equals(divided[1])
    run("suggest-domain", "people", "--output", "draft.toml")
    assert 'files = ["people"]' in Path("draft.toml").read_text()
    run("evaluate", "m.json", "people", "--epsilon", 1, "--output", "scores.json")


def test_a_snapshot_stands_in_the_inputs_of_a_run(table: Path, run: Run) -> None:
    new_ledger(Path("l.ledger"), dataset="people")
    paid = ("--ledger", "l.ledger", "--run-id", "night", "--epsilon", "0.25", "--overwrite")
    run("train", "people", *paid)
    first = Path("people.model.json").read_bytes()
    table_id = deltalake.DeltaTable(table).metadata().id
    with Ledger(Path("l.ledger")) as ledger:
        known = ledger.run("night")
    assert known is not None
    assert known.charge.inputs["data"] == [f"{table.resolve()}@2", f"Delta table {table_id}"]
    # Begun again it counts the same snapshot, whatever was written meanwhile; the newest is another input.
    deltalake.write_deltalake("people", people(5, 9).to_arrow(), mode="append")
    refused = run("train", "people", *paid, expected=64).err
    assert f"(data); it counted {table.resolve()}@2, Delta table {table_id};" in refused
    run("train", "people@2", *paid)
    assert Path("people.model.json").read_bytes() == first
    assert spent_epsilon(Path("l.ledger"), "people") == 0.25
    # A copy has another path: another input of the same account.
    shutil.copytree("people", "copied")
    run("train", "copied@2", "--dataset", "people", *paid, expected=64)
    run("train", "copied@2", "--dataset", "people", *paid[:2], "--epsilon", "0.25", "--output", "copied.json")
    assert spent_epsilon(Path("l.ledger"), "people") == 0.5
    # That a later snapshot, or a copy, trained the model is told.
    told = run("evaluate", "people.model.json", "copied", "--ledger", "l.ledger").err
    assert "a snapshot of this table, to train this model" in told
    deltalake.write_deltalake("other", FIRST.to_arrow())
    assert "training rows" not in run("evaluate", "people.model.json", "other", "--ledger", "l.ledger").err


def test_two_snapshots_are_never_added_up(table: Path, run: Run) -> None:
    for snapshot in ("people@1", "people@2"):
        run("aggregate", snapshot, "--dataset", "people", "--output", f"{snapshot}.parquet")
    one, two = (load_statistics(Path(f"people@{version}.parquet")) for version in (1, 2))
    assert one.parts != two.parts
    told = run("release", "people@1.parquet", "people@2.parquet", "--epsilon", 1, "--output", "m.json", expected=65).err
    assert "count the same" in told or "twice" in told


def test_passes_of_one_run_read_one_snapshot(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpnb_columnar.counting.countable import OpenedRows

    answer, queries = OpenedRows.answer, []

    def answered(rows: OpenedRows, query: Any) -> Any:
        queries.append(type(query).__name__)
        result = answer(rows, query)
        deltalake.write_deltalake("people", people(50, len(queries)).to_arrow(), mode="append")
        deltalake.DeltaTable("people").delete("age < 40")
        return result

    monkeypatch.setattr(OpenedRows, "answer", answered)
    model = dpnb.train("people", epsilon=1, dataset="people", attribute_weights="calibrated")
    assert len(queries) == 2
    assert model.domain == DOMAIN


def test_an_object_of_the_library_is_the_snapshot_that_it_has_loaded(table: Path) -> None:
    loaded = deltalake.DeltaTable(table, version=1)
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
    deltalake.write_deltalake(tmp_path / "t", wider, partition_by=["sex"])
    assert counted(tmp_path / "t") == counted(FIRST)
    parts = dpnb.split(tmp_path / "t", train_output=tmp_path / "a.parquet", test_output=tmp_path / "b.parquet")
    assert "notes" in pl.scan_parquet(parts.train).collect_schema()


def test_a_column_that_was_renamed_is_read_by_its_new_name(table: Path) -> None:
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
    live, renamed = LIVE.rename({"age": "years"}), {**_document(), "name": "people"}
    renamed["attributes"] = {{"age": "years"}.get(name, name): each for name, each in renamed["attributes"].items()}
    assert counted("people", renamed) == counted(live, renamed)


def _document() -> dict[str, Any]:
    from support.people import PEOPLE

    return {**PEOPLE}


# What is refused.


def test_files_that_are_gone_or_damaged_are_told(table: Path, run: Run) -> None:
    (file, *_) = deltalake.DeltaTable(table).file_uris()
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
def test_a_table_that_lists_a_file_twice_is_refused_at_every_door(
    link: Callable[[Path, Path], object], table: Path, run: Run
) -> None:
    """Otherwise each person of the file would count twice at the stated epsilon."""
    again = add_again(table, link)
    for verb in ("train", "check", "split", "suggest-domain"):
        told = run(verb, "people", expected=65).err
        assert "is listed twice (also as " in told
        assert again in told
        assert told.count("\n") == 1


def test_a_table_that_lists_a_copy_is_refused_before_a_row_counts(table: Path, run: Run) -> None:
    add_again(table, shutil.copy)
    assert "are copies (of equal size, footer and beginning)" in run("train", "people", expected=65).err
    with pytest.raises(DataError, match="are copies"):
        counted(deltalake.DeltaTable(table))


def test_a_table_that_names_a_file_outside_its_folder_is_refused(table: Path, run: Run) -> None:
    """Otherwise the rows of another data set would be read, and paid for, under the name of this one."""
    again = add_again(table, lambda file, name: name.symlink_to(file), to=Path("first.parquet").absolute())
    assert f"{again} lies outside the table's folder" in run("train", "people", expected=65).err


def test_a_folder_of_an_odd_name_is_found(tmp_path: Path) -> None:
    """Delta gives the table's address with percent signs, and the files' paths without."""
    for name in ("my people", "a#b"):
        deltalake.write_deltalake(tmp_path / name, FIRST.to_arrow(), partition_by=["sex"])
        assert counted(tmp_path / name) == counted(FIRST)


def test_a_deletion_vector_that_is_gone_or_damaged_is_told(table: Path, run: Run) -> None:
    (add,) = [json.loads(line)["add"] for line in paths()[2].read_text().splitlines() if '"add"' in line]
    from uuid import UUID

    stored = deletion_vector(table, [0, 1, 2], "u", UUID(int=5))
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    removed = {key: add[key] for key in ("path", "partitionValues", "size")}
    written = [
        {"protocol": {**protocol, **features}},
        {"remove": {**removed, "deletionTimestamp": 1, "dataChange": True}},
    ]
    written.append({"add": {**add, "deletionVector": stored}})
    Path(f"people/_delta_log/{3:020}.json").write_text("\n".join(map(json.dumps, written)))
    assert dpnb.check("people", dataset="people").diagnosis.rows == len(LIVE) - 3
    (vector,) = table.glob("deletion_vector_*.bin")
    vector.write_bytes(vector.read_bytes()[:-8] + b"\xff" * 8)
    assert "people@3: cannot be read to the end" in run("aggregate", "people", expected=65).err
    vector.unlink()
    assert "people@3: cannot be read to the end" in run("aggregate", "people", expected=65).err


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
def test_a_log_that_cannot_be_read_is_told(content: str, told: str, table: Path, run: Run) -> None:
    Path(f"people/_delta_log/{3:020}.json").write_bytes(content.encode("latin-1"))
    line = run("train", "people", expected=65).err
    assert told in line
    assert line.count("\n") == 1
    assert "kernel" not in line.lower()


def test_a_log_with_a_gap_or_without_a_beginning_is_told(table: Path, run: Run) -> None:
    paths()[0].unlink()
    assert "is damaged, incomplete or cannot be opened" in run("train", "people", expected=65).err
    shutil.rmtree("people/_delta_log")
    Path("people/_delta_log").mkdir()
    assert "is damaged, incomplete or cannot be opened" in run("train", "people", expected=65).err


def test_a_table_is_alone_and_nothing_is_written_into_it(table: Path, run: Run) -> None:
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
        assert f"give the table itself, {table.resolve()}, alone to a verb that takes tables" in told


def test_a_table_without_a_domain_and_one_that_lacks_a_column(table: Path, run: Run) -> None:
    Path("datasets.toml").unlink()
    assert "people: carries no domain" in run("train", "people", expected=78).err
    domain = {"label": _document()["label"], "attributes": {"AGE": {"lower": 0, "upper": 9}}}
    with pytest.raises(DataError, match="people@2: missing column 'AGE'"):
        dpnb.aggregate("people", domain=domain)


def test_a_name_with_an_at_sign_that_is_a_file_is_that_file(table: Path) -> None:
    FIRST.head(7).write_parquet("people@1")
    assert dpnb.check("people@1", dataset="people").diagnosis.rows == 7
    with pytest.raises(MissingInputError):
        dpnb.check("live.parquet@1", dataset="people")


def test_without_the_library_the_extra_is_named(table: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "deltalake", None)
    told = run("train", "people", expected=69).err
    assert told.endswith("reading Delta tables needs a library; install it with: pip install 'dpnb-columnar[delta]'\n")
    with pytest.raises(Error, match=r"dpnb-columnar\[delta\]"):
        dpnb.aggregate("people", domain=DOMAIN)
