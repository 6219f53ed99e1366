"""Rows that can be asked: checked against a domain first, then answered by the engine that opened them.

Parquet files are identified by digests of their footers: copies are refused, and statistics tell what they counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from dpnb_columnar.core.queries.query import digest_blocks
from dpnb_columnar.errors import DataError

if TYPE_CHECKING:
    from dpnb_columnar.core.queries.query import Answer, AnswerT, Query
    from dpnb_columnar.domain import Domain
    from dpnb_columnar.rows.input_files import DataFile

BEGINNING = 2**20  # bytes at the beginning of files that are compared where their footers are equal


def file_parts(files: Iterable[DataFile]) -> frozenset[str]:
    """Return the digests of Parquet files; one without rows has none, and may be counted any number of times."""
    from dpnb_columnar.rows.parquet import number_of_rows  # a release, which has no rows, loads nothing of them

    return frozenset(_part(file) for file in files if number_of_rows(file))


def refuse_copies(files: Iterable[DataFile]) -> None:
    """Refuse files of which one copies another: of equal size, footer and, as small files' footers agree, beginning."""
    from dpnb_columnar.rows.input_files import find_copies
    from dpnb_columnar.rows.parquet import number_of_rows

    for first, second, *_ in find_copies(files, _size_and_folder, _part, beginning_of):
        if number_of_rows(first):  # as its footer says, and so that of the second
            raise copies_error(first, second)


def _size_and_folder(file: DataFile) -> tuple[int, tuple[tuple[str, str | None], ...]]:
    """Return the size of a file, and the values of its folders, by which rows of equal files may differ."""
    from dpnb_columnar.rows.input_files import folder_values  # statistics, which a release is made of, know no file

    with file.open("rb") as stream:
        return stream.seek(0, 2), tuple(folder_values(file).items())


def copies_error(first: object, second: object) -> DataError:
    """Return the error to raise where one of two files is a copy of the other."""
    return DataError(
        f"{first} and {second} are copies (of equal size, footer and beginning): their rows would count twice; drop "
        "one, or, if they hold different people, write these into one file"
    )


def beginning_of(file: DataFile) -> str:
    """Return the digest of the beginning of a file, in which small files differ where their footers do not."""
    with file.open("rb") as stream:
        return digest_blocks("beginning", [stream.read(BEGINNING)])


def _part(file: DataFile) -> str:
    from dpnb_columnar.rows.input_files import footer_of

    with file.open("rb") as stream:
        footer = footer_of(stream, str(file))
        return footer_part(stream.seek(0, 2), footer)


def footer_part(size: int, footer: bytes) -> str:
    """Return the digest of a Parquet file's length and footer, which places and sizes every column chunk."""
    return digest_blocks("parquet", [size.to_bytes(8, "little"), footer])


KnownT = TypeVar("KnownT", bound="Answer")


class CheckedRows(Protocol):
    """Rows that have every column of a domain."""

    @property
    def repeatable(self) -> bool:
        """Whether the rows can be read again, for a later pass."""

    def answer(self, query: Query[AnswerT]) -> AnswerT:
        """Ask the rows. Confidential."""


class Rows(Protocol):
    """Rows that can be asked in a domain."""

    @property
    def repeatable(self) -> bool:
        """Whether the rows can be read again, for a later pass."""

    def check(self, domain: Domain) -> CheckedRows:
        """Check that the rows have the domain's columns, in types that the domain can be read from. Opens no row."""


@dataclass(frozen=True, slots=True, repr=False)
class OpenedRows:
    """Rows that have every column of a domain, and the engine that answers. Confidential."""

    source: Any
    engine: Callable[[Any, Query[Any]], Any]
    repeatable: bool = True

    def answer(self, query: Query[AnswerT]) -> AnswerT:
        """Ask the rows. Confidential."""
        answer: AnswerT = self.engine(self.source, query)
        return answer


@dataclass(frozen=True, slots=True, repr=False)
class AskedRows(Generic[KnownT]):
    """Rows that have been asked before, and are not here: they answer that one query. Confidential."""

    known: KnownT
    repeatable: ClassVar[bool] = False

    def check(self, domain: Domain) -> AskedRows[KnownT]:
        """Leave out what is about attributes that the domain has not; whoever asked the rows has checked them."""
        return AskedRows(self.known.only(domain))

    def answer(self, query: Query[AnswerT]) -> AnswerT:
        if query.digest != self.known.query.digest:
            raise ValueError("these rows were asked something else, and cannot be read again")
        known: Any = self.known
        answer: AnswerT = known
        return answer
