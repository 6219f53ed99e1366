"""No room to write, a quota, a folder that is read-only: one line and 73, nothing lost and nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.people import people, write_people
from support.running import Run

PAGE = 4096
ROOM = 64 * PAGE

VERBS: dict[str, tuple[str, ...]] = {
    "train": ("train", "people.parquet", "--seed", "1", "--output", "OUT.json"),
    "train to parquet": ("train", "people.parquet", "--seed", "1", "--output", "OUT.parquet"),
    "aggregate": ("aggregate", "people.parquet", "--output", "OUT.parquet"),
    "predict": ("predict", "people.model.json", "people.parquet", "--output", "OUT.parquet"),
    "ingest": ("ingest", "people.csv", "--output", "OUT.parquet"),
    "simulate": ("simulate", "OUT.parquet", "--rows", "5000"),
}


def mount(folder: Path, *options: str) -> None:
    try:
        subprocess.run(["mount", *options, str(folder)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("file systems can be mounted by root alone")


@pytest.fixture
def disk(folder: Path) -> Iterator[Path]:
    """A file system of 64 pages."""
    place = folder / "disk"
    place.mkdir()
    mount(place, "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.fixture
def inputs(folder: Path, run: Run) -> None:
    """What the verbs read."""
    write_people(folder / "people.parquet", people(3000))
    people(3000).write_csv(folder / "people.csv")
    run("train", "people.parquet", "--seed", 7)


def fill(place: Path, pages: int) -> None:
    """Take all room but some pages."""
    with (place / "ballast").open("wb", buffering=0) as ballast:
        left = os.statvfs(place)
        ballast.write(bytes((left.f_bavail - pages) * left.f_bsize))


def arguments_of(verb: str, place: Path) -> tuple[list[str], Path]:
    """The verb's arguments with its output in that folder, and the output."""
    (output,) = (place / word for word in VERBS[verb] if word.startswith("OUT"))
    return [str(output) if word.startswith("OUT") else word for word in VERBS[verb]], output


@pytest.mark.slow
@pytest.mark.parametrize("pages", [0, 1])  # none for the lock; none but for the lock
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.usefixtures("inputs")
def test_a_full_disk(verb: str, overwrite: bool, pages: int, disk: Path, run: Run) -> None:
    arguments, output = arguments_of(verb, disk)
    if overwrite:
        output.write_text("old")
    fill(disk, pages)
    ended = run(*arguments, *(["--overwrite"] if overwrite else []), expected=73)
    assert f"{output}: cannot be written: No space left on device; make room" in ended.err
    assert {path.name for path in disk.iterdir()} == {"ballast", *([output.name] if overwrite else [])}
    assert not overwrite or output.read_text() == "old"
    (disk / "ballast").unlink()
    run(*arguments, *(["--overwrite"] if overwrite else []))


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.usefixtures("inputs")
def test_a_read_only_file_system(verb: str, disk: Path, run: Run) -> None:
    arguments, output = arguments_of(verb, disk)
    mount(disk, "-o", "remount,ro")
    assert f"{output}: cannot be written: Read-only file system; choose" in run(*arguments, expected=73).err
    assert list(disk.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.usefixtures("inputs")
def test_a_limit_on_the_size_of_files(verb: str, folder: Path) -> None:
    """In a process of its own: the signal that comes with it must not end it."""
    arguments, output = arguments_of(verb, folder)
    program = "import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)); "
    program += "runpy.run_module('dpnb_columnar', run_name='__main__')"
    before = {path.name for path in folder.iterdir()}
    command = [sys.executable, "-B", "-c", program, *arguments]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (ended.returncode, f"{output}: cannot be written: File too large; raise" in ended.stderr) == (73, True), (
        ended.stderr
    )
    assert {path.name for path in folder.iterdir()} == before


def test_a_folder_that_one_may_not_write_to(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as name:  # the tests' own folders are closed to others
        monkeypatch.chdir(name)
        write_people(Path("people.parquet"))
        Path("theirs").mkdir()
        for folder in (Path(), Path("theirs")):
            folder.chmod(0o555)
        root = os.geteuid() == 0
        try:
            if root:
                os.seteuid(65534)
            ended = run("aggregate", "people.parquet", "--output", "theirs/out.parquet", expected=73)
        finally:
            if root:
                os.seteuid(0)
            Path().chmod(0o700)
        assert "theirs/out.parquet: cannot be written: Permission denied; choose a folder that you may" in ended.err
        assert list(Path("theirs").iterdir()) == []
        monkeypatch.undo()
