"""Folders that other users may write to, and any umask: nothing of theirs is written to, nothing confidential shown."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from support.people import write_people
from support.running import Run

from dpnb_columnar.errors import OutputError
from dpnb_columnar.runtime.outputs import atomic_output, output_lock

SOMEBODY = 65534
"""A user without rights of root."""


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder like /tmp: open to all, and sticky; beside it a file of one's own."""
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "mine").chmod(0o600)
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


PLANTS: dict[str, Callable[[Path, Path], None]] = {
    "link": lambda name, mine: name.symlink_to(mine),
    "dangling link": lambda name, mine: name.symlink_to(mine.with_name("new")),
    "hard link": lambda name, mine: name.hardlink_to(mine),
}


def assert_untouched(folder: Path) -> None:
    mine = folder.parent / "mine"
    assert (mine.read_text(), mode_of(mine)) == ("mine", 0o600)
    assert {path.name for path in folder.parent.iterdir()} == {"mine", "shared"}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("when", ["before", "meanwhile"])
@pytest.mark.parametrize("plant", PLANTS)
def test_what_stands_in_the_place_of_an_output_is_not_written_to(
    plant: str, when: str, overwrite: bool, shared: Path
) -> None:
    output, mine = shared / "out", shared.parent / "mine"
    if when == "before":
        PLANTS[plant](output, mine)

    def write() -> None:
        with atomic_output(output, overwrite=overwrite, confidential=True) as partial:
            partial.write_text("rows")
            if when == "meanwhile":
                PLANTS[plant](output, mine)

    if overwrite:
        write()
        assert (output.read_text(), output.is_symlink(), output.stat().st_nlink) == ("rows", False, 1)
    else:
        with pytest.raises(OutputError, match=r"exists already|appeared while"):
            write()
    assert_untouched(shared)
    assert {path.name for path in shared.iterdir()} == {"out"}


@pytest.mark.parametrize("plant", [*PLANTS, "file of another user"])
def test_what_takes_the_place_of_an_unfinished_output_is_no_output(plant: str, shared: Path) -> None:
    """As others can where the folder is not sticky: a file of one's own is not even given the usual permissions."""
    if plant not in PLANTS and os.geteuid() != 0:
        pytest.skip("root alone can give files away")

    def write() -> None:
        with atomic_output(shared / "out") as partial:
            partial.unlink()
            if plant in PLANTS:
                PLANTS[plant](partial, shared.parent / "mine")
            else:
                partial.write_text("theirs")
                os.chown(partial, SOMEBODY, SOMEBODY)

    with pytest.raises(OutputError, match="another user has taken its place; choose a folder that only you may"):
        write()
    assert not (shared / "out").exists()
    assert_untouched(shared)


@pytest.mark.parametrize("plant", PLANTS)
def test_what_stands_in_the_place_of_a_lock_is_not_written_to(plant: str, shared: Path) -> None:
    """A hard link is to a file of one's own, which any user may make where the system allows it."""
    PLANTS[plant](shared / ".out.lock", shared.parent / "mine")
    with (
        pytest.raises(OutputError, match=r"link.*, (not a|hence no) lock; remove it|link\)"),
        output_lock(shared / "out"),
    ):
        pytest.fail("the block must not run")
    assert_untouched(shared)


@pytest.mark.parametrize("mask", [0o277, 0o777])
def test_an_umask_that_takes_rights_from_oneself_hinders_no_output(mask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines open an unfinished output by its name; root may always."""
    with tempfile.TemporaryDirectory() as name:  # the tests' own folders are closed to others
        monkeypatch.chdir(name)
        root = os.geteuid() == 0
        before = os.umask(mask)
        try:
            if root:
                os.chown(name, SOMEBODY, SOMEBODY)
                os.seteuid(SOMEBODY)
            for output, confidential in ((Path("counts"), True), (Path("model"), False)):
                with atomic_output(output, confidential=confidential) as partial:
                    partial.write_text("whole")
        finally:
            os.umask(before)
            if root:
                os.seteuid(0)
        assert [mode_of(path) for path in (Path("counts"), Path("model"))] == [0o600, 0o666 & ~mask]
        monkeypatch.undo()


@pytest.mark.slow
@pytest.mark.parametrize("mask", [0, 0o277])
def test_no_umask_changes_what_is_confidential(mask: int, folder: Path, run: Run) -> None:
    write_people(folder / "people.parquet")
    before = os.umask(mask)
    try:
        run("aggregate", "people.parquet", "--output", "people.statistics.parquet")
        run("ledger", "init", "people.ledger", "--dataset", "people", "--epsilon", 3)
        run("train", "people.parquet", "--output", "public.json", "--ledger", "people.ledger", "--epsilon", 1)
        run("train", "people.parquet", "--output", "seeded.json", "--seed", 1)
        run("predict", "seeded.json", "people.parquet", "--output", "scored.parquet")
    finally:
        os.umask(before)
    modes = {path.name: mode_of(path) for path in folder.iterdir() if path.name != "people.parquet"}
    assert modes == dict.fromkeys(modes, 0o600) | {"public.json": 0o666 & ~mask}
    assert len(modes) == 5
