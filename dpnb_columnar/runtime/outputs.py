"""Output files: complete under their name or not there at all, and none left unfinished by a run that was killed.

An output is written to a file beside it, ``.NAME.<digits>.partial``, and renamed when it is complete. While it is
written its descriptor is locked, so that a later run can tell an unfinished output that somebody writes from one whose
writer was killed, and remove the second.

Outputs that exist, or that cannot be created, are refused before any long work.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpnb_columnar.errors import OutputError, UsageError, option

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

CONFIDENTIAL_MODE = 0o600
"""Readable by the owner alone: for files that hold exact counts."""

USUAL_MODE = 0o666
"""For every other file, less what the umask takes away."""

REMEDIES = {
    errno.ENOSPC: "make room on its file system, or choose another",
    errno.EDQUOT: "make room within your quota, or choose another file system",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EROFS: "choose a file system that can be written to",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "another user has taken its place; choose a folder that only you may write to",
}
"""Remedy for an error of writing, by the operating system's number."""

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})
"""Errors that only writing can meet, whoever reports them."""

NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags of opening that refuse a link, and do not wait for a named pipe."""

_unfinished: set[str] = set()
"""Absolute paths of files that must not outlive the run, since the working directory may change."""


@contextmanager
def removed_at_end(path: Path) -> Iterator[None]:
    """Remove a file, if it is still there, when the block ends, however it ends.

    A failure to remove it is not reported: the user must learn of whatever went wrong before.
    """
    absolute = os.path.abspath(path)  # noqa: PTH100 a link is removed itself, not its target
    _unfinished.add(absolute)
    try:
        yield
    finally:
        _remove(absolute)
        _unfinished.discard(absolute)


def remove_unfinished_files() -> None:
    """Remove the files of all blocks of ``removed_at_end``; for a process that ends without leaving its blocks."""
    for path in tuple(_unfinished):
        _remove(path)


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108


def remove_abandoned(folder: Path, name: str | None = None) -> None:
    """Remove unfinished outputs whose writers were killed.

    A Python program need not hold the lock of an output that it writes, so outputs that are being written are left
    alone.

    Args:
        folder: The folder of the outputs.
        name: The output's name; None for all outputs.
    """
    if fcntl is None:
        return
    names = re.compile(rf"\.{'.+' if name is None else re.escape(name)}\.[0-9a-f]{{12}}\.partial")
    with suppress(OSError):
        for file in folder.iterdir():
            if names.fullmatch(file.name) and not _is_being_written(file):
                file.unlink(missing_ok=True)


def _is_being_written(file: Path) -> bool:
    """Return whether a file is being written, or may be: where locks are not known, and by another user.

    So is what is no regular file.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | NO_LINK)
    except OSError:
        return True
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():  # root could remove everybody's
            return True
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def is_utf8(path: Path) -> bool:
    """Test whether a path is UTF-8: Arrow and Polars take no other, though Linux does."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def check_output(path: Path, overwrite: bool) -> None:
    """Refuse an output that exists or cannot be created, before any long work.

    Raises:
        OutputError: if the output exists and may not be replaced, is not a regular file, or has no folder.
    """
    if not is_utf8(path):
        raise OutputError(f"{str(path)!a:.200}: its name is not UTF-8; choose another {option('output')}")
    with _output_errors(path):
        if path.is_dir():
            raise OutputError(f"{path}: is a folder; name a file")
        if path.exists() and not path.is_file():  # to replace /dev/null would break the machine
            raise OutputError(f"{path}: is not a regular file; choose another {option('output')}")
        if (path.exists() or path.is_symlink()) and not overwrite:  # a link without a target takes the name as well
            raise OutputError(
                f"{path}: exists already; choose another {option('output')}, or replace it with {option('overwrite')}"
            )
        folder = path.parent
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{path}: {folder} is not a folder; choose another {option('output')}")
        if not folder.exists():
            raise OutputError(f"{path}: its folder does not exist; create {folder} first")


@contextmanager
def atomic_output(path: Path, *, overwrite: bool = False, confidential: bool = False) -> Iterator[Path]:
    """Give a file beside ``path`` to write to, and rename it to ``path`` when the block succeeds.

    The file is readable by its owner alone until it is complete, and synchronised to disk before it is renamed. When
    the block fails nothing is left behind. Without ``overwrite`` a file that has appeared meanwhile is not replaced. An
    error that the block raises is passed on, unless it says that there is no room to write.

    In a folder that others may write to, no file or link of theirs is written to: the file is new. Where the folder is
    not sticky they may replace it; a link, hard or not, or a file of another user, does not get the name.

    Args:
        path: Final name.
        overwrite: Whether to replace an existing file.
        confidential: Whether the file stays readable by the owner alone; otherwise it gets the usual permissions.

    Yields:
        The file to write to.

    Raises:
        OutputError: if the output exists, or cannot be written.
    """
    check_output(path, overwrite)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(6)}.partial")
    with removed_at_end(partial):
        with _new_file(partial, path) as descriptor:
            try:
                yield partial
            except Exception as error:
                if _os_error_number(error) in NO_ROOM:
                    raise write_error(path, error) from None
                raise
            with _output_errors(path):
                _complete(partial, os.fstat(descriptor).st_uid, confidential)
        with _output_errors(path):
            if overwrite:
                partial.replace(path)
            else:
                _rename_without_replacing(partial, path)
    with suppress(OSError):  # the file is complete; some file systems cannot synchronise folders
        _fsync(path.parent)


@contextmanager
def _new_file(partial: Path, path: Path) -> Iterator[int]:
    """Create an empty file under a free name, and keep it open and locked until the block ends."""
    with _output_errors(path):
        descriptor = _create(partial)
    try:
        if fcntl is not None:  # marks it as being written
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield descriptor
    finally:
        os.close(descriptor)


def _complete(partial: Path, owner: int, confidential: bool) -> None:
    """Give a finished file its final permissions, and write it through to the disk.

    Raises:
        OSError: if it cannot be written, is a link or has another name, or belongs to another user than who began it.
    """
    descriptor = os.open(partial, os.O_RDONLY | NO_LINK)  # before a umask such as 777 forbids it
    try:
        status = os.fstat(descriptor)
        if status.st_uid != owner or status.st_nlink > 1:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if confidential:
            _set_mode(partial, descriptor, CONFIDENTIAL_MODE)  # an engine may have made a file with the usual mode
        else:
            os.umask(mask := os.umask(0o077))  # it is read by setting it; files that other threads make are private
            with suppress(OSError):  # some file systems know no permissions
                _set_mode(partial, descriptor, USUAL_MODE & ~mask)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _output_errors(path: Path) -> Iterator[None]:
    """Raise an error of the operating system as an ``OutputError`` about the output."""
    try:
        yield
    except OSError as error:
        raise write_error(path, error) from None


def write_error(path: Path, error: Exception) -> OutputError:
    """Return the error to raise where writing an output fails, in the operating system or in an engine."""
    number = _os_error_number(error)
    if number is None:
        return OutputError(f"{path}: cannot be written: input/output error; check the disk it goes to")
    return OutputError(f"{path}: cannot be written: {os.strerror(number)}; {REMEDIES.get(number, 'choose another')}")


def _os_error_number(error: Exception) -> int | None:
    """Return the operating system's number of an error, which Polars gives in the text alone; None if there is none."""
    if isinstance(error, OSError) and error.errno:
        return error.errno
    match = re.search(r"\(os error (\d{1,4})\)", str(error))
    return int(match[1]) if match else None


def _create(path: Path) -> int:
    """Create an empty file under a free name, for its owner alone whatever the umask, and open it for writing."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, CONFIDENTIAL_MODE)
    with suppress(OSError):
        _set_mode(path, descriptor, CONFIDENTIAL_MODE)  # engines open it by its name, which a umask of 277 would forbid
    return descriptor


def _set_mode(path: Path, descriptor: int, mode: int) -> None:
    if fcntl is None:
        path.chmod(mode)
    else:
        os.fchmod(descriptor, mode)  # not by its name, which may be another's meanwhile


def _rename_without_replacing(partial: Path, path: Path) -> None:
    """Give a finished file its name, unless a file of that name has appeared meanwhile.

    Raises:
        OutputError: if a file of that name has appeared.
        OSError: if the file cannot be renamed.
    """
    try:
        try:
            os.link(partial, path)
        except FileExistsError:
            raise
        except OSError:  # no hard links here: reserve the name first, then replace our own reservation
            os.close(_create(path))
            try:
                partial.replace(path)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
    except FileExistsError:
        raise OutputError(f"{path}: appeared while this run was at work; it was left as it is") from None


def _fsync(path: Path) -> None:
    """Write a folder through to the disk, so that names in it survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def default_name(data: Sequence[str], domain: str, suffix: str) -> Path:
    """Return the default name of an output, in the working directory.

    Args:
        data: Inputs as typed. A single one that is a path gives the output its name.
        domain: Name of the domain, which gives the output its name otherwise.
        suffix: End of the name.
    """
    is_path = len(data) == 1 and Path(data[0]).exists()
    stem = Path(os.path.abspath(data[0])).stem if is_path else ""  # noqa: PTH100 a link keeps its name, ".." gets one
    return Path((stem or Path(domain).name) + suffix)


def check_parquet(output: Path) -> None:
    """Refuse a name that does not end in .parquet.

    Raises:
        UsageError: if the name ends otherwise.
    """
    if output.suffix.lower() != ".parquet":
        raise UsageError(f"{output}: is written as Parquet; end its name in .parquet")


def check_target(output: Path, overwrite: bool, inputs: Iterable[Path]) -> None:
    """Refuse an output that exists, cannot be created, or is an input of the run.

    Raises:
        OutputError: if the output is refused.
    """
    check_output(output, overwrite)
    check_no_input(output, inputs)


def check_no_input(output: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output that is an input of the run, which it would replace.

    Raises:
        OutputError: if the output is one of the inputs.
    """
    if output.exists() and any(output.samefile(file) for file in inputs if file.exists()):
        raise OutputError(f"{output}: is an input as well, and would be lost; choose another {option('output')}")


@contextmanager
def parquet_writer(path: Path, schema: pa.Schema, plain: Collection[str] = ()) -> Iterator[pq.ParquetWriter]:
    """Open a Parquet file for writing, and close it with the block. Every setting is fixed: equal rows, equal bytes.

    pyarrow keeps a file that it has opened by its name open, until it is collected as garbage, where its footer cannot
    be written; so the file is opened here.

    Args:
        path: File to write.
        schema: Its columns, and its metadata.
        plain: Columns whose values hardly repeat and that nobody searches: they get no dictionary and no statistics.

    Yields:
        The writer.

    Raises:
        OSError: if the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    others: Any = [name for name in schema.names if name not in plain] if plain else True
    settings = {"version": "2.6", "compression": "zstd", "use_dictionary": others, "write_statistics": others}
    with pa.OSFile(str(path), "wb") as file, pq.ParquetWriter(file, schema, **settings) as writer:
        yield writer
