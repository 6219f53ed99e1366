"""Rows that a curator declares public, in a Parquet file: a public-use sample in the domain of a release.

The one file whose rows may be named in errors, and which nothing protects. It is told from the confidential files
before a row of it is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.counting.file_parts import file_parts
from dpnb_columnar.counting.scores import ScoreTable
from dpnb_columnar.counting.statistics import Statistics
from dpnb_columnar.domain import Declaration, Domain, digest, document_of, labelled
from dpnb_columnar.domain.declaration import domain_from_metadata
from dpnb_columnar.domain.editing import no_label
from dpnb_columnar.domain.names import LONGEST_NAME, is_printable, named
from dpnb_columnar.errors import ConfigurationError, DomainError, Error, MissingInputError, UsageError
from dpnb_columnar.rows.input_files import scan_file
from dpnb_columnar.rows.parquet import ParquetSource, open_parquet, read_metadata
from dpnb_columnar.rows.row_rules import column
from dpnb_columnar.rows.table_formats import refuse_table_files

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

MOST_ROWS = 200_000
"""Rows that are read into memory. More would hardly change what is fitted to them."""

FOLDS = 5
BLOCK = 50
"""Folds that a fit is crossed over, and rows in a block of one."""


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A file of public rows whose columns fit a domain.

    Attributes:
        path: The file.
        name: Its declared name: that of the domain it carries, else the file's own without its folder.
        digest: Hexadecimal SHA-256 of its content.
        domain: The domain that it is read in.
        source: Its columns.
    """

    path: Path
    name: str
    digest: str
    domain: Domain
    source: ParquetSource

    def count(self, domain: Domain) -> Statistics:
        """Count the rows in its domain, or in one of fewer attributes.

        Raises:
            DataError: if the file is damaged.
        """
        from dpnb_columnar.counting.engines.local import aggregate

        with _named():
            return aggregate(self.source, domain.per_row)

    def read(self) -> PublicRows:
        """Read the rows into memory, evenly chosen ones where they are too many.

        Raises:
            DataError: if the file is damaged.
        """
        import polars as pl

        scanned = scan_file(self.path)
        try:
            every = -(-int(scanned.select(pl.len()).collect().item()) // MOST_ROWS)
            rows = scanned.select(map(column, self.domain.columns)).gather_every(max(every, 1)).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            with _named():
                raise self.source.unreadable() from None
        return PublicRows(rows)


@dataclass(frozen=True, slots=True, repr=False)
class PublicRows:
    """Rows of a public file, in memory."""

    frame: pl.DataFrame

    def folds(self) -> list[PublicRows]:
        """Divide the rows into folds, by blocks: neighbouring rows may be of one household, and tell of each other."""
        import polars as pl

        fold = pl.int_range(pl.len()) // BLOCK % FOLDS
        return [PublicRows(self.frame.filter(fold == number)) for number in range(FOLDS)]

    def count(self, domain: Domain) -> Statistics:
        """Count the rows in the file's domain, or in one of fewer attributes."""
        from dpnb_columnar.counting.engines.local import aggregate_frame

        return aggregate_frame(self.frame, domain.per_row)

    def scores(self, domain: Domain, tables: Sequence[ScoreTable]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Read class codes, shape (rows,), and attributes' scores, shape (rows, attributes), of the rows that count."""
        from dpnb_columnar.counting.engines.polars_further_passes import read_scores

        return read_scores(self.frame, domain.per_row, tables)


def open_public_file(
    path: Path,
    domain: Domain,
    label: str | None = None,
    inputs: Sequence[Path] = (),
    parts: Collection[str] = (),
) -> PublicFile:
    """Open a file of public rows. Opens no row.

    Args:
        path: The file.
        domain: The domain of the release. One that the file carries must be the same, but for its name.
        label: What to predict, where that was named for the confidential rows; it goes for this file as well.
        inputs: Files of confidential rows.
        parts: Digests of files whose rows statistics have counted (``file_parts``). Confidential.

    Raises:
        UsageError: if it is a folder, or one of the inputs, or a copy of one.
        MissingInputError: if it cannot be opened.
        DataError: if it is not Parquet, lacks a column, has one of the wrong type, or pages that cannot be.
        ConfigurationError: if it carries another domain, or one without a label.
    """
    domain = domain.per_row  # nobody counts a public file for a release
    content, size = _digest(path), path.stat().st_size
    alike = [file for file in inputs if file.exists() and file.stat().st_size == size]
    copy = next((file for file in alike if path.samefile(file) or _digest(file) == content), None)
    with _named():
        if copy is not None:
            raise _is_input(path, f" ({copy})")
        carried = domain_from_metadata(read_metadata(path), str(path))
        if carried is not None:
            _check_domain(carried, domain, label, path)
        source = _open_source(path, domain)
        if not file_parts([path]).isdisjoint(parts):
            raise _is_input(path, "")
    return PublicFile(path, _declared_name(path, carried), content, domain, source)


def _is_input(path: Path, file: str) -> UsageError:
    return UsageError(
        f"{path}: is one of the confidential inputs{file}; weights and shares from it would reveal its rows: give a "
        "public-use sample, or choose another way to weight attributes"
    )


def reopen_public_file(path: Path, domain: Domain, name: str, content: str) -> PublicFile:
    """Open a public file that weights were learned from before. Opens no row.

    Args:
        path: The file.
        domain: Its domain, or one of fewer attributes.
        name: Its declared name.
        content: Hexadecimal SHA-256 of its content.

    Raises:
        UsageError: if it has another content.
        MissingInputError: if it cannot be opened.
        DataError: if it lacks a column, or has pages that cannot be.
    """
    if (found := _digest(path)) != content:
        raise UsageError(
            f"public file {path}: is not the one that the weights were learned from, {name}: its SHA-256 is {found} in "
            f"place of {content}"
        )
    with _named():
        return PublicFile(path, name, content, domain.per_row, _open_source(path, domain.per_row))


def _open_source(path: Path, domain: Domain) -> ParquetSource:
    """Open a file, and check the headers of the pages that will be read.

    Raises:
        DataError: if the file belongs to a Delta, Iceberg or Hudi table.
    """
    refuse_table_files([path])
    source = open_parquet([path], domain)
    source.check_pages()
    return source


def _check_domain(carried: Declaration, domain: Domain, label: str | None, path: Path) -> None:
    """Refuse a domain that is not that of the release.

    Raises:
        ConfigurationError: if it declares no label, or differs; the text says in what.
    """
    if label is not None:
        carried = labelled(carried, label)
    if not isinstance(carried, Domain):
        raise no_label(carried, str(path))
    if digest(carried.per_row) == digest(domain):
        return
    theirs, ours = document_of(carried), document_of(domain)
    names = [*theirs["attributes"], *ours["attributes"]]
    other = [name for name in dict.fromkeys(names) if theirs["attributes"].get(name) != ours["attributes"].get(name)]
    places = ["the label"] * (theirs["label"] != ours["label"]) + ([f"attribute {named(other)}"] if other else [])
    raise ConfigurationError(
        f"{path}: its domain differs from that of the release in "
        f"{' and '.join(places or ['the order of attributes'])}; declare both alike (dpnb-columnar domain)"
    )


def _declared_name(path: Path, carried: Declaration | None) -> str:
    """Name the file as its domain does; else as its path does, without its folder.

    Raises:
        UsageError: if the file's name is none that a model may record.
    """
    name = path.name if carried is None else carried.name
    if len(name) > LONGEST_NAME or not is_printable(name):
        raise UsageError(f"public file {path!r}: its name stands in the model, which takes one line; rename it")
    return name


def _digest(path: Path) -> str:
    """Compute the SHA-256 of a file.

    Raises:
        UsageError: if it is a folder.
        MissingInputError: if it cannot be opened.
    """
    if path.is_dir():
        raise UsageError(f"public file {path}: is a folder; give one Parquet file")
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise MissingInputError(f"public file {path}: cannot be opened: {error.strerror}; check the path") from None


@contextmanager
def _named() -> Iterator[None]:
    """Say in errors that they are about the public file."""
    try:
        yield
    except Error as error:
        kind = ConfigurationError if isinstance(error, DomainError) else type(error)
        raise kind(f"public file {error}") from None
