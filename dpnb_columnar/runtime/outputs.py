"""Output files: complete under their name or not there at all, one run at a time, nothing left of a killed run.

The lock of ``NAME`` is the file ``.NAME.lock`` in the same folder, locked with ``flock``, which names its
run; that of a killed run stays until the next run takes it over.
"""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import re
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from dpnb_columnar.errors import BusyError, OutputError, UsageError, option
from dpnb_columnar.runtime.unfinished import (
    NO_LINK,
    exists,
    is_file,
    is_folder,
    is_write_error,
    output_errors,
    remove_abandoned,
    removed_at_end,
    unfinished_name,
    write_error,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

LOCK_MODE = 0o644  # permissions of a lock file: whoever wants to write the same output may read who holds its lock
MAX_NOTE_BYTES = 2**12  # bytes that are read of a lock file
LOCKED = frozenset({errno.EAGAIN, errno.EACCES})  # errors of flock where another run holds the lock
NOTE_SECONDS = 1.0  # how long a run that is refused waits for the note of one that has only just taken the lock
_held: ContextVar[frozenset[str]] = ContextVar("held", default=frozenset())
"""Absolute paths of the outputs whose locks the blocks around hold."""


@contextmanager
def output_lock(path: Path, holder: str | None = None) -> Iterator[None]:
    """Hold the lock of an output until it is in place, and remove what killed runs left; a holder may nest blocks."""
    absolute = os.path.abspath(path)  # noqa: PTH100 a link is replaced itself, not its target
    if absolute in _held.get():
        yield
        return
    name = path.with_name(f".{path.name}.lock")
    with output_errors(path):
        descriptor = _acquire(name, path)
    try:
        with removed_at_end(name):
            _write_note(descriptor, path, holder)
            remove_abandoned(path.parent, path.name)
            _held.set(_held.get() | {absolute})
            yield
    finally:
        _held.set(_held.get() - {absolute})
        with suppress(OSError):  # the lock is free all the same
            os.close(descriptor)


def _acquire(name: Path, path: Path) -> int:
    """Open and lock the lock file; return its descriptor, which is still that of the file of this name."""
    while True:
        descriptor = _open_lock_file(name, path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in LOCKED:
                refusal: BusyError | OutputError = _busy(descriptor, path)
            else:
                with suppress(OSError):
                    name.unlink()
                refusal = OutputError(
                    f"{path}: its file system has no locks ({error.strerror}), so that two runs could race; choose an "
                    f"{option('output')} on another file system, and move it from there"
                )
            os.close(descriptor)
            raise refusal from None
        if _still_has_name(descriptor, name):  # its last holder may have removed it since it was opened
            return descriptor
        os.close(descriptor)


def _open_lock_file(name: Path, path: Path) -> int:
    """Open a lock file for writing, readable by everybody, whatever the umask."""
    try:
        descriptor = _open_regular_file(name, path, os.O_RDWR | os.O_CREAT)
    except PermissionError as error:
        raise _lock_of_another_user(name, path) or write_error(path, error) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OutputError(f"{path}: {name} is a link, not a lock; remove it") from None
        raise write_error(path, error) from None
    if os.fstat(descriptor).st_uid != os.geteuid():  # whom the permissions do not stop, root, is to be told as well
        os.close(descriptor)
        raise _lock_of_another_user(name, path) or write_error(path, PermissionError(errno.EACCES, ""))
    if os.fstat(descriptor).st_nlink > 1:  # another user may have linked it: it would be emptied under its other name
        os.close(descriptor)
        raise OutputError(f"{path}: {name} is a file with another name (a hard link), hence no lock; remove it")
    with suppress(OSError):
        os.fchmod(descriptor, LOCK_MODE)
    return descriptor


def _open_regular_file(name: Path, path: Path, flags: int) -> int:
    """Open a file that must be a regular one; anything else of that name is neither waited for nor written to."""
    descriptor = os.open(name, flags | NO_LINK, LOCK_MODE)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OutputError(f"{path}: {name} is not a regular file, hence no lock; remove it")


def _lock_of_another_user(name: Path, path: Path) -> BusyError | OutputError | None:
    try:
        descriptor = _open_regular_file(name, path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _busy(descriptor, path)
    else:
        return OutputError(f"{path}: {name} was left by a killed run of another user; have it removed")
    finally:
        os.close(descriptor)


def _busy(descriptor: int, path: Path) -> BusyError:
    return BusyError(f"{path}: being written by {_holder(descriptor)}; try again when it has ended")


def _still_has_name(descriptor: int, name: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), name.lstat())
    except FileNotFoundError:
        return False


def _write_note(descriptor: int, path: Path, holder: str | None) -> None:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    note = {"process": os.getpid(), "host": os.uname().nodename, "since": since, "run": holder}
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(note).encode(), 0)
    except OSError as error:
        raise write_error(path, error) from None


def _holder(descriptor: int) -> str:
    """Describe the run that holds a lock, as its file names it; the file may hold anything."""
    end = time.monotonic() + NOTE_SECONDS
    while os.fstat(descriptor).st_size == 0 and time.monotonic() < end:  # it is locked first, then its note is written
        time.sleep(0.01)
    try:
        note = json.loads(os.pread(descriptor, MAX_NOTE_BYTES, 0))
        process, host, since, run = (note[field] for field in ("process", "host", "since", "run"))
        if not isinstance(process, int) or not all(
            isinstance(text, str) and text.isprintable() and len(text) <= 256 for text in (host, since, run or "")
        ):
            return "another run"
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return "another run"
    return f"process {process} on {host} since {since}" + (f" (run {run})" if run else "")


CONFIDENTIAL_MODE = 0o600  # readable by the owner alone: for files that hold exact counts
USUAL_MODE = 0o666  # for every other file, less what the umask takes away


def is_utf8(path: Path) -> bool:
    """Test whether a path is UTF-8: Arrow and Polars take no other, though Linux does."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")
"""Beginning of an address; a Windows path has one letter before the colon."""


def refuse_address(path: Path) -> None:
    """Refuse the address of a store or a server where a file of this machine is written to, or locked."""
    if match := ADDRESS.match(str(path)):
        place = str(path)[match.end() :].rpartition("@")[2].partition("?")[0]  # without what could be a credential
        raise OutputError(
            f"{match[1]}://{place}: is an address, and what is written stands whole in a folder of this machine, under "
            "a lock, or not at all; name a file here, and copy it there"
        )


def check_output(path: Path, overwrite: bool) -> None:
    """Refuse an output that exists or cannot be created, before any long work."""
    refuse_address(path)
    if not is_utf8(path):
        raise OutputError(f"{str(path)!a:.200}: its name is not UTF-8; choose another {option('output')}")
    with output_errors(path):
        if is_folder(path):
            raise OutputError(f"{path}: is a folder; name a file")
        if exists(path) and not is_file(path):  # to replace /dev/null would break the machine
            raise OutputError(f"{path}: is not a regular file; choose another {option('output')}")
        if (exists(path) or path.is_symlink()) and not overwrite:  # a link without a target takes the name as well
            raise OutputError(
                f"{path}: exists already; choose another {option('output')}, or replace it with {option('overwrite')}"
            )
        folder = path.parent
        if exists(folder) and not is_folder(folder):
            raise OutputError(f"{path}: {folder} is not a folder; choose another {option('output')}")
        if not exists(folder):
            raise OutputError(f"{path}: its folder does not exist; create {folder} first")


@contextmanager
def atomic_output(path: Path, *, overwrite: bool = False, confidential: bool = False) -> Iterator[Path]:
    """Give a locked file beside ``path`` to write to; rename it when the block succeeds, leave nothing if it fails.

    In a folder others may write to, the file is new; if they replace it, a link, or a file of theirs, gets no name.
    """
    check_output(path, overwrite)
    partial = unfinished_name(path)
    with output_lock(path), removed_at_end(partial):
        with _new_file(partial, path) as descriptor:
            try:
                yield partial
            except Exception as error:
                if is_write_error(error, partial):
                    raise write_error(path, error) from None
                raise
            with output_errors(path):
                _complete(partial, os.fstat(descriptor).st_uid, confidential)
        with output_errors(path):
            if overwrite:
                partial.replace(path)
            else:
                _rename_without_replacing(partial, path)
    with suppress(OSError):  # the file is complete; some file systems cannot synchronise folders
        _fsync(path.parent)


class _Opened(io.RawIOBase):
    """An unfinished output as engines write to it; it remembers its own failure, since their errors name no file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.failure: OSError | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        left = memoryview(data).cast("B")
        size = len(left)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            self.failure = error
            raise
        return size


@contextmanager
def opened(partial: Path) -> Iterator[IO[bytes]]:
    """Open an unfinished output for an engine, whose error is passed on if the file is not to blame."""
    descriptor = os.open(partial, os.O_WRONLY | os.O_TRUNC | NO_LINK)
    file = _Opened(descriptor)
    try:
        yield cast("IO[bytes]", file)
    except Exception:
        if file.failure is not None:
            raise file.failure from None
        raise
    finally:
        file.close()
        os.close(descriptor)


@contextmanager
def _new_file(partial: Path, path: Path) -> Iterator[int]:
    with output_errors(path):
        descriptor = _create(partial)
    try:
        with suppress(OSError):  # marks it as being written
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield descriptor
    finally:
        with suppress(OSError):  # nothing was written by this one
            os.close(descriptor)


def _complete(partial: Path, owner: int, confidential: bool) -> None:
    descriptor = os.open(partial, os.O_RDONLY | NO_LINK)  # before a umask such as 777 forbids it
    try:
        status = os.fstat(descriptor)
        if status.st_uid != owner or status.st_nlink > 1:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if confidential:
            os.fchmod(descriptor, CONFIDENTIAL_MODE)  # an engine may have made a file with the usual mode
        else:
            os.umask(mask := os.umask(0o077))  # it is read by setting it; files that other threads make are private
            with suppress(OSError):  # some file systems know no permissions
                os.fchmod(descriptor, USUAL_MODE & ~mask)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _create(path: Path) -> int:
    """Create an empty file under a free name, for its owner alone whatever the umask, and open it for writing."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, CONFIDENTIAL_MODE)
    with suppress(OSError):
        os.fchmod(descriptor, CONFIDENTIAL_MODE)  # engines open it by its name, which a umask of 277 would forbid
    return descriptor


def _rename_without_replacing(partial: Path, path: Path) -> None:
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
    """Return the default name of an output, in the working directory."""
    is_path = len(data) == 1 and exists(Path(data[0]))
    stem = Path(os.path.abspath(data[0])).stem if is_path else ""  # noqa: PTH100 a link keeps its name, ".." gets one
    return Path((stem or Path(domain).name) + suffix)


def check_parquet(output: Path) -> None:
    """Refuse a name that does not end in .parquet."""
    if output.suffix.lower() != ".parquet":
        raise UsageError(f"{output}: is written as Parquet; end its name in .parquet")


def check_target(output: Path, overwrite: bool, inputs: Iterable[object]) -> None:
    """Refuse an output that exists, cannot be created, or is an input of the run."""
    check_output(output, overwrite)
    check_no_input(output, inputs)


def check_no_input(output: Path, inputs: Iterable[object]) -> None:
    """Refuse an output that is an input of the run, which it would replace, or that is in the folder of one."""
    there = [file for file in inputs if isinstance(file, Path) and exists(file)]
    with output_errors(output):
        if exists(output) and any(output.samefile(file) for file in there):
            raise OutputError(f"{output}: is an input as well, and would be lost; choose another {option('output')}")
        above = output.resolve().parents
    if tables := [folder for folder in there if is_folder(folder) and folder.resolve() in above]:
        raise OutputError(
            f"{output}: is in the folder of the table {tables[0]}, which is an input; choose another {option('output')}"
        )


@contextmanager
def parquet_writer(partial: Path, schema: pa.Schema, plain: Collection[str] = ()) -> Iterator[pq.ParquetWriter]:
    """Write an unfinished output as Parquet. Every setting is fixed: equal rows, equal bytes."""
    import pyarrow.parquet as pq

    others: Any = [name for name in schema.names if name not in plain] if plain else True
    settings = {"version": "2.6", "compression": "zstd", "use_dictionary": others, "write_statistics": others}
    with opened(partial) as file, pq.ParquetWriter(file, schema, **settings) as writer:
        yield writer
