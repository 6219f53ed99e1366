"""Output appears complete or not at all."""

from __future__ import annotations

import errno
import os
import resource
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from dpnb_columnar.errors import OutputError
from dpnb_columnar.runtime import outputs
from dpnb_columnar.runtime.outputs import atomic_output, check_output, opened, parquet_writer


def names_of(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """No file grows beyond this many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(params=["hard links", "no hard links"])
def _links(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once with hard links, once as on a file system without them."""

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    if request.param == "no hard links":
        monkeypatch.setattr(os, "link", refused)


# --- in place -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_links")
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("confidential", [False, True])
@pytest.mark.parametrize(("mask", "usual"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600), (0, 0o666)])
def test_output_takes_its_name(tmp_path: Path, overwrite: bool, confidential: bool, mask: int, usual: int) -> None:
    output = tmp_path / "out.json"
    with umask(mask), atomic_output(output, overwrite=overwrite, confidential=confidential) as partial:
        assert partial.parent == tmp_path
        assert partial.name.startswith(".out.json.")
        assert not output.exists()
        partial.write_text("{}")
    assert names_of(tmp_path) == {"out.json"}
    assert output.read_text() == "{}"
    assert mode_of(output) == (0o600 if confidential else usual)
    assert output.stat().st_nlink == 1


def test_confidential_output_is_never_readable_by_others(tmp_path: Path) -> None:
    with umask(0), atomic_output(tmp_path / "out", confidential=True) as partial:
        assert mode_of(partial) == 0o600


def test_confidential_output_is_private_even_where_an_engine_replaced_the_file(tmp_path: Path) -> None:
    with umask(0), atomic_output(tmp_path / "out", confidential=True) as partial:
        partial.unlink()
        partial.write_text("counts")
        assert mode_of(partial) == 0o666
    assert mode_of(tmp_path / "out") == 0o600


def test_confidential_output_does_not_take_over_the_permissions_of_the_old(tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.write_text("old")
    output.chmod(0o666)
    with atomic_output(output, overwrite=True, confidential=True) as partial:
        partial.write_text("new")
    assert mode_of(output) == 0o600


def test_relative_output_goes_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with atomic_output(Path("out")) as partial:
        partial.write_text("new")
    assert (tmp_path / "out").read_text() == "new"


def test_overwrite_replaces_and_readers_of_the_old_keep_it(tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.write_text("old")
    with output.open() as reader:
        with atomic_output(output, overwrite=True) as partial:
            partial.write_text("new")
            assert output.read_text() == "old"
        assert reader.read() == "old"
    assert output.read_text() == "new"
    assert names_of(tmp_path) == {"out"}


def test_folder_that_cannot_be_synchronised_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync = outputs._fsync

    def only_files(path: Path) -> None:
        if path.is_dir():
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(path)

    monkeypatch.setattr(outputs, "_fsync", only_files)
    with atomic_output(tmp_path / "out") as partial:
        partial.write_text("new")
    assert (tmp_path / "out").read_text() == "new"


# --- refused before any work --------------------------------------------------------------------------------------


def test_existing_output_is_refused_with_the_remedy(tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.write_text("old")
    with pytest.raises(OutputError, match=r"out: exists already; .* overwrite=True"), atomic_output(output):
        pytest.fail("the block must not run")
    assert output.read_text() == "old"
    assert names_of(tmp_path) == {"out"}


def test_link_that_leads_nowhere_takes_its_name(tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputError, match="exists already"):
        check_output(output, overwrite=False)
    with atomic_output(output, overwrite=True) as partial:
        partial.write_text("new")
    assert not output.is_symlink()
    assert names_of(tmp_path) == {"out"}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    ("relative", "reason"),
    [
        (".", "is a folder; name a file"),
        ("folder", "is a folder; name a file"),
        ("missing/out", "create .*missing first"),
        ("file/out", "file is not a folder"),
        ("file/below/out", "create .*below first"),
        ("pipe", "is not a regular file"),
        ("n" * 300, "File name too long"),
        ("n" * 250, "File name too long"),
    ],
)
def test_places_nothing_can_be_written_to(tmp_path: Path, overwrite: bool, relative: str, reason: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    os.mkfifo(tmp_path / "pipe")
    output = tmp_path / relative
    with pytest.raises(OutputError, match=reason) as caught, atomic_output(output, overwrite=overwrite):
        pytest.fail("the block must not run")
    assert str(caught.value).startswith(f"{output}: ")
    assert caught.value.exit_code == 73
    assert names_of(tmp_path) == {"folder", "file", "pipe"}


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_folder_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refused(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refused)
    with (
        pytest.raises(OutputError, match=f"out: cannot be written: {os.strerror(number)}"),
        atomic_output(tmp_path / "out"),
    ):
        pytest.fail("the block must not run")


# --- failures meanwhile -------------------------------------------------------------------------------------------


class OwnError(Exception):
    """Something of the caller's own."""


def write(output: Path, meanwhile: Callable[[], object], *, overwrite: bool = False) -> None:
    """Write an output during which something happens."""
    with atomic_output(output, overwrite=overwrite) as partial:
        partial.write_text("mine")
        meanwhile()


def raising(failure: BaseException) -> Callable[[], object]:
    def fail() -> None:
        raise failure

    return fail


@pytest.mark.parametrize(
    "failure", [OwnError, ValueError, KeyboardInterrupt, SystemExit, FileNotFoundError, FileExistsError, GeneratorExit]
)
@pytest.mark.parametrize("overwrite", [False, True])
def test_nothing_is_left_of_a_failed_block(tmp_path: Path, failure: type[BaseException], overwrite: bool) -> None:
    output = tmp_path / "out"
    if overwrite:
        output.write_text("old")
    raised = failure("of the caller's own")
    with pytest.raises(failure) as caught:
        write(output, raising(raised), overwrite=overwrite)
    assert caught.value is raised
    assert names_of(tmp_path) == ({"out"} if overwrite else set())
    assert not overwrite or output.read_text() == "old"


def test_failure_to_read_something_else_is_not_a_failure_of_the_output(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, atomic_output(tmp_path / "out"):
        (tmp_path / "input").read_text()
    assert caught.value.filename == str(tmp_path / "input")
    assert names_of(tmp_path) == set()


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.ENXIO])
def test_an_error_of_a_file_without_a_name_is_one_of_the_output(tmp_path: Path, number: int) -> None:
    with (
        pytest.raises(OutputError, match=f"out: cannot be written: {os.strerror(number)}; "),
        atomic_output(tmp_path / "out"),
    ):
        raise OSError(number, "as of an open file")
    with pytest.raises(OSError, match="input"), atomic_output(tmp_path / "out"):
        raise OSError(number, "not of this one", "input")
    assert names_of(tmp_path) == set()


def test_an_engine_is_told_from_the_file_that_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars words both alike; only what was opened here knows that it is the output."""
    rows = pl.LazyFrame({"a": range(1000)})

    def fails(_: int, __: bytes) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def unreadable(_: pl.DataFrame) -> pl.DataFrame:
        raise pl.exceptions.ComputeError("Input/output error (os error 5)")

    damaged = rows.map_batches(unreadable, schema={"a": pl.Int64})
    with pytest.raises(pl.exceptions.PolarsError), atomic_output(tmp_path / "out") as partial, opened(partial) as file:
        damaged.sink_parquet(file)
    monkeypatch.setattr(os, "write", fails)
    with (
        pytest.raises(OutputError, match="out: cannot be written: Input/output error; check the disk"),
        atomic_output(tmp_path / "out") as partial,
        opened(partial) as file,
    ):
        rows.sink_parquet(file)
    assert names_of(tmp_path) == set()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS])
def test_lack_of_room_is_a_failure_of_the_output(tmp_path: Path, number: int) -> None:
    output = tmp_path / "out"
    with pytest.raises(OutputError, match=f"out: cannot be written: {os.strerror(number)}"), atomic_output(output):
        raise OSError(number, "of the engine's own words")
    assert names_of(tmp_path) == set()


@pytest.mark.parametrize("overwrite", [False, True])
def test_lack_of_room_is_understood_from_polars(tmp_path: Path, overwrite: bool) -> None:
    """Polars raises an error of its own, which says so in its text only."""
    frame = pl.DataFrame({"a": range(100_000)})
    with (
        at_most(4096),
        pytest.raises(OutputError, match="File too large"),
        atomic_output(tmp_path / "out", overwrite=overwrite) as partial,
    ):
        frame.write_parquet(partial)
    assert names_of(tmp_path) == set()


@pytest.mark.usefixtures("_links")
def test_file_that_appeared_meanwhile_is_left_alone(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with pytest.raises(OutputError, match="appeared while this run was at work"):
        write(output, lambda: output.write_text("theirs"))
    assert output.read_text() == "theirs"
    assert names_of(tmp_path) == {"out"}


@pytest.mark.usefixtures("_links")
def test_file_that_appeared_meanwhile_is_replaced_on_demand(tmp_path: Path) -> None:
    output = tmp_path / "out"
    write(output, lambda: output.write_text("theirs"), overwrite=True)
    assert output.read_text() == "mine"


@pytest.mark.parametrize("overwrite", [False, True])
def test_folder_that_appeared_meanwhile_is_left_alone(tmp_path: Path, overwrite: bool) -> None:
    output = tmp_path / "out"
    with pytest.raises(OutputError):
        write(output, output.mkdir, overwrite=overwrite)
    assert output.is_dir()
    assert names_of(tmp_path) == {"out"}


def test_output_that_vanished_meanwhile_is_a_failure(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with pytest.raises(OutputError, match="cannot be written: No such file"), atomic_output(output) as partial:
        partial.unlink()
    assert names_of(tmp_path) == set()


@pytest.mark.parametrize("failure", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
def test_reserved_name_is_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    def fails(*_: object) -> None:
        assert names_of(tmp_path) >= {"out"}
        raise failure

    monkeypatch.setattr(os, "link", refused)
    monkeypatch.setattr(Path, "replace", fails)
    expected = OutputError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected), atomic_output(tmp_path / "out") as partial:
        partial.write_text("mine")
    assert names_of(tmp_path) == set()


def test_failure_to_synchronise_is_a_failure_of_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OutputError, match="Input/output error"), atomic_output(tmp_path / "out") as partial:
        partial.write_text("mine")
    assert names_of(tmp_path) == set()


def test_a_file_without_room_for_its_footer_is_closed(tmp_path: Path) -> None:
    path, schema = tmp_path / "people.parquet", pa.schema({"age": pa.int64()})
    path.touch()
    with at_most(50), pytest.raises(OSError, match="File too large"), parquet_writer(path, schema) as writer:
        pass  # nothing is written but the footer, for which there is no room
    assert str(path) not in [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
    assert writer  # the traceback of a failure may keep it
