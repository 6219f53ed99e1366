"""Files that rows are read from: those of this machine, and objects that stand wherever such a file may. CONFIDENTIAL.

The extension ``stores`` finds objects and reads them. Polars is given their address.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import methodcaller
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, TypeAlias, TypeVar

from dpnb_columnar.errors import DataError, Error, TemporaryError

if TYPE_CHECKING:
    import polars as pl

Result = TypeVar("Result")
Item = TypeVar("Item")

READERS = 16
"""Objects that are looked at, or folders that are listed, at the same time."""

NETWORK_ERROR = "object-store error"
"""How Polars begins the text of an error of a store."""


class StoredObject(ABC):
    """An object of a store as it was when its address was resolved. It has what is asked of a ``Path`` that is read.

    Attributes:
        key: Its name in its store.
        modified: When it was written, to the second, as ISO 8601 writes it; empty where nobody says.
    """

    key: str
    modified: str

    @property
    def name(self) -> str:
        """The last part of its key."""
        return PurePosixPath(self.key).name

    @property
    def stem(self) -> str:
        """Its name without the suffix."""
        return PurePosixPath(self.key).stem

    @property
    def pinned(self) -> str:
        """Its name in a ledger: the address and when it was written, by which a retry knows that it reads the same.

        Not its ETag, which many stores take from the content, nor its length: what a ledger records says nothing of
        rows (docs/privacy.md, section 8).
        """
        return f"{self} of {self.modified}" if self.modified else str(self)

    @abstractmethod
    def __str__(self) -> str:
        """Return its address."""

    @abstractmethod
    def open(self, mode: str = "rb") -> IO[bytes]:
        """Open it for reading by ranges."""

    @abstractmethod
    def look(self) -> None:
        """Ask its store whether it is still the same; refuse another."""


DataFile: TypeAlias = "Path | StoredObject"
"""A file that rows are read from."""


def stored_objects(files: Iterable[DataFile]) -> list[StoredObject]:
    """Return those files that are objects of a store."""
    return [file for file in files if isinstance(file, StoredObject)]


def check_unchanged(files: Iterable[DataFile]) -> None:
    """Refuse objects that are not what they were when their addresses were resolved.

    Raises:
        DataError: if one is another.
    """
    if objects := stored_objects(files):
        in_parallel(methodcaller("look"), objects)


def failure_of(files: Iterable[DataFile], failure: BaseException | None) -> Error | None:
    """Return the error to raise where an engine fails on files of which some are objects; None if it was not theirs."""
    if not (objects := stored_objects(files)):
        return None
    try:
        check_unchanged(objects)
    except Error as error:
        return error
    if NETWORK_ERROR in str(failure):
        return TemporaryError(f"{objects[0]}: its store did not give it out to the end, though it answers; try again")
    return None


def changed_error(item: object) -> DataError:
    """Return the error to raise for an object, or a file, that is not what it was."""
    return DataError(f"{item}: changed while it was read; start again when it is complete")


def scan_stored(item: StoredObject) -> pl.LazyFrame:
    """Return the rows of an object, which Polars reads by ranges. Confidential."""
    import polars as pl

    # Its credentials are those of the environment, as obstore's are: without a provider it asks no other library.
    return pl.scan_parquet(str(item), glob=False, hive_partitioning=False, credential_provider=None)


def in_parallel(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Do something for each item, several at a time; a signal does not wait for a store that does not answer."""
    readers = ThreadPoolExecutor(READERS)
    try:
        return list(readers.map(work, items))
    finally:
        readers.shutdown(wait=False, cancel_futures=True)
