"""A copy of a file is refused before a row is read, so that nobody counts twice."""

from __future__ import annotations

import gzip
import shutil
import zipfile
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from support.people import people, people_domain, spoil_rows, write_people
from support.running import Run

import dpnb_columnar as dpnb
from dpnb_columnar.counting.file_parts import file_parts, refuse_copies
from dpnb_columnar.domain.declaration import domain_metadata
from dpnb_columnar.errors import DataError

ROWS = ["AGE,SEX", *(f"{age},{age % 2}" for age in range(200))]


@pytest.fixture
def shards(folder: Path) -> Path:
    """A folder of three files, the last a copy of the first; whoever reads a row of these two fails."""
    place = folder / "shards"
    place.mkdir()
    spoil_rows(write_people(place / "a.parquet"))
    write_people(place / "b.parquet", people(300, 2))
    shutil.copy(place / "a.parquet", place / "copy.parquet")
    return place


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "shards/a.parquet", "shards/copy.parquet", "--output", "model.json"),
        ("train", "shards", "--output", "model.json"),
        ("train", "shards/*.parquet", "--output", "model.json", "--dry-run"),
        ("aggregate", "shards", "--output", "counted.parquet"),
        ("check", "shards"),
    ],
    ids=" ".join,
)
def test_copies_are_refused_at_every_door(arguments: tuple[str, ...], shards: Path, folder: Path, run: Run) -> None:
    told = run(*arguments, expected=65).err
    assert "shards/a.parquet and shards/copy.parquet are copies (of equal size, footer and beginning)" in told
    assert "drop one, or, if they hold different people, write these into one file" in told
    assert list(folder.iterdir()) == [shards]


def test_copies_are_refused_from_python(shards: Path) -> None:
    with pytest.raises(DataError, match="are copies"):
        dpnb.aggregate([shards / "copy.parquet", shards / "a.parquet"], domain=people_domain())
    with pytest.raises(DataError, match="are copies"):
        dpnb.train(shards, epsilon=1)


def test_a_ledger_pays_nothing_for_copies(shards: Path, run: Run) -> None:
    run("ledger", "init", "books.ledger", "--dataset", "people", "--epsilon", 1)
    run("train", shards, "--ledger", "books.ledger", "--run-id", "nightly", "--output", "model.json", expected=65)
    (shards / "copy.parquet").unlink()
    write_people(shards / "a.parquet")
    run("train", shards, "--ledger", "books.ledger", "--run-id", "nightly", "--output", "model.json", "--epsilon", 1)


def test_scores_of_a_copy_are_wanted(people_file: Path, run: Run) -> None:
    run("train", people_file, "--seed", 1)
    shutil.copy(people_file, "copy.parquet")
    run("evaluate", "people.model.json", people_file, "copy.parquet")
    run("predict", "people.model.json", people_file, "copy.parquet", "--output", "scored.parquet")
    assert pl.scan_parquet("scored.parquet").select(pl.len()).collect().item() == 2000


def test_files_of_equal_size_are_no_copies(tmp_path: Path) -> None:
    files = [tmp_path / f"{age}.parquet" for age in (30, 31)]
    for file in files:
        write_people(file, people(1).with_columns(age=pl.lit(int(file.stem))))
    assert files[0].stat().st_size == files[1].stat().st_size
    assert dpnb.aggregate(files).class_counts.sum() == 2


def test_files_of_equal_footers_are_no_copies(tmp_path: Path) -> None:
    """Small files of different people may have the same lengths and extremes."""
    frame = people(3)
    files = [tmp_path / "first.parquet", tmp_path / "second.parquet"]
    for file, rows in zip(files, (frame, frame.reverse()), strict=True):
        rows.write_parquet(file, compression="uncompressed", metadata=domain_metadata(people_domain()))
    assert len(file_parts(files)) == 1
    assert dpnb.aggregate(files).class_counts.sum() == 6


def test_files_of_equal_footers_and_other_lengths_have_other_digests(tmp_path: Path) -> None:
    """Room between the last page and the footer is no part of a footer; a copy has none more."""
    file, longer = tmp_path / "first.parquet", tmp_path / "longer.parquet"
    written = write_people(file, people(3)).read_bytes()
    footer = int.from_bytes(written[-8:-4], "little") + 8
    longer.write_bytes(written[:-footer] + bytes(7) + written[-footer:])
    assert pl.read_parquet(longer).equals(pl.read_parquet(file))
    assert len(file_parts([file, longer])) == 2


def test_files_without_rows_are_no_copies(tmp_path: Path) -> None:
    files = [write_people(tmp_path / f"{name}.parquet", people(0)) for name in "abc"]
    assert dpnb.aggregate(files).class_counts.sum() == 0
    assert file_parts(files) == dpnb.aggregate(files).parts == frozenset()


def test_a_copy_written_otherwise_is_not_detected(people_file: Path) -> None:
    """As docs/privacy.md says: its footer is another one."""
    pq.write_table(pq.read_table(people_file), "anew.parquet", compression="none")
    assert dpnb.aggregate([people_file, "anew.parquet"], domain=people_domain()).class_counts.sum() == 2000


def test_footers_are_read_of_files_of_equal_size_alone(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a", "bb", "empty")]
    for file in files:
        file.write_bytes(file.name.encode())  # no Parquet file
    refuse_copies(files[:2])
    with pytest.raises(DataError, match="not a complete Parquet file"):
        refuse_copies([*files, shutil.copy(files[2], tmp_path / "other")])


@pytest.mark.parametrize("name", ["copy.csv", "copy.csv.gz", "csv_pxx.zip"])
def test_an_extract_and_its_copy_are_refused(name: str, folder: Path, run: Run) -> None:
    content = "\n".join(ROWS).encode()
    Path("people.csv").write_bytes(content)
    if name.endswith(".zip"):
        with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("psam_pxx.csv", content)
    else:
        Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    told = run("ingest", "people.csv", name, "--output", "out.parquet", expected=65).err
    assert f"people.csv and {name}" in told
    assert "have the same content: each row belongs into the output once; drop one" in told
    assert sorted(path.name for path in folder.iterdir()) == sorted(["people.csv", name])


@pytest.mark.parametrize("changed", [1, -1])
def test_extracts_of_equal_size_are_no_copies(changed: int, folder: Path, run: Run) -> None:
    """Whether they differ at the beginning or after it."""
    lines = ROWS[:1] + ROWS[1:] * 100
    Path("people.csv").write_text("\n".join(lines))
    lines[changed] = lines[changed][:-1] + "7"
    Path("others.csv").write_text("\n".join(lines))
    run("ingest", "people.csv", "others.csv", "--output", "out.parquet")
    assert pl.scan_parquet("out.parquet").select(pl.len()).collect().item() == 40_000
