"""What ``dpnb-columnar ingest`` refuses: by which file, line and name, and with nothing half written."""

from __future__ import annotations

import gzip
import os
import zipfile
from pathlib import Path

import pytest
from support.extracts import (
    PEOPLE,
    PERSONS,
    TOWNSPEOPLE,
    archive,
    write_extract,
)
from support.running import Run

from dpnb_columnar.extracts import convert
from dpnb_columnar.extracts.described_extract import read_batches


def test_damage_leaves_nothing_half_written(folder: Path, run: Run) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    whole = gzip.compress("\n".join(PEOPLE * 20_000).encode("iso-8859-1"))
    damaged = bytearray(whole)
    damaged[-6] ^= 1  # the checksum
    content = archive(folder / "csv_pxx.zip", psam_pxx=PERSONS * 20_000).read_bytes()
    middle = content.index(b"psam_pxx.csv") + 100
    (folder / "csv_pxx.zip").write_bytes(content[:middle] + b"\x00\x01\x02" + content[middle + 3 :])
    (folder / "cut.dat.gz").write_bytes(whole[:-100])
    (folder / "flipped.dat.gz").write_bytes(damaged)
    for name in ("cut.dat.gz", "flipped.dat.gz", "csv_pxx.zip"):
        codebook = () if name.endswith(".zip") else ("--codebook", "town.xml")
        ended = run("ingest", name, *codebook, "--output", "out.parquet", expected=65)
        assert ended.err.startswith(f"dpnb-columnar: {name}: cannot be read to the end (damaged or cut short)")
        assert not [path for path in folder.iterdir() if "out" in path.name]


@pytest.mark.parametrize(
    "content", ["35,SECRETNAME,999123\n40,Other,5\n", "35,SECRET,35\n", "SECRET,SECRET\n1,2\n", "SECRET,secret\n1,2\n"]
)
@pytest.mark.parametrize(
    "options", [(), ("--columns", "AGE"), ("--where", "AGE > 3"), ("--codebook", "town.xml")], ids=" ".join
)
def test_first_row_of_a_csv_without_header_is_not_told(
    content: str, options: tuple[str, ...], folder: Path, run: Run
) -> None:
    write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    (folder / "people.csv").write_text(content)
    ended = run("ingest", "people.csv", *options, "--output", "out.parquet", expected=65)
    assert "line 1" in ended.err
    assert not any(value in ended.out + ended.err for value in ("SECRET", "secret", "999123", "35"))
    assert not (folder / "out.parquet").exists()


def test_archive_with_two_files_of_one_name(folder: Path, run: Run) -> None:
    with zipfile.ZipFile(folder / "csv_pxx.zip", "w") as target:
        target.writestr("psam_pxx.csv", PERSONS)
        with pytest.warns(UserWarning, match="Duplicate name"):
            target.writestr("psam_pxx.csv", PERSONS)
    ended = run("ingest", "csv_pxx.zip", "--output", "out.parquet", expected=65)
    assert "csv_pxx.zip: holds two files of one name" in ended.err


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_members_packed_in_other_ways_are_refused(method: int, folder: Path, run: Run) -> None:
    """Whole or damaged."""
    with zipfile.ZipFile(folder / "csv_pxx.zip", "w", method) as target:
        target.writestr("psam_pxx.csv", PERSONS * 50)
    content = bytearray((folder / "csv_pxx.zip").read_bytes())
    for damage in (False, True):
        if damage:
            content[60:70] = b"\xff" * 10
            (folder / "csv_pxx.zip").write_bytes(content)
        assert "csv_pxx.zip: " in run("ingest", "csv_pxx.zip", "--output", "out.parquet", expected=65).err


@pytest.mark.parametrize("change", ["append", "cut", "replace", "touch"])
@pytest.mark.parametrize("packed", [False, True])
def test_an_extract_that_changes_while_it_is_read(
    change: str, packed: bool, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An extract cut at the end of a line, or one that is still written, would be taken for a whole one."""
    file = write_extract(folder / "town.dat", TOWNSPEOPLE, PEOPLE)
    if packed:
        Path("town.dat.gz").write_bytes(gzip.compress(file.read_bytes()))
        Path("town.dat").unlink()
        file = Path("town.dat.gz")
    content = file.read_bytes()

    def changed(*arguments: object) -> object:
        batches = list(read_batches(*arguments))  # type: ignore[arg-type]
        if change == "touch":
            os.utime(file, (1, 1))
        elif change == "replace":
            Path("other").write_bytes(content)
            os.utime("other", ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
            Path("other").replace(file)
        else:
            file.write_bytes(content + content if change == "append" else content[:-1])
        return iter(batches)

    monkeypatch.setattr(convert, "read_batches", changed)
    told = run("ingest", file, "--output", "town.parquet", expected=65).err
    assert "changed while it was read; start again when it is complete" in told
    assert not Path("town.parquet").exists()
    file.write_bytes(content)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    run("ingest", file, "--output", "town.parquet")
