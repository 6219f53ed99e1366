"""Data sets by name: ``datasets.toml`` in the working directory first, then the packaged one."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from dpnb_columnar.domain.attributes import Domain
from dpnb_columnar.domain.declaration import Declaration, read_declaration
from dpnb_columnar.domain.documents import parse_toml
from dpnb_columnar.domain.labelling import no_label
from dpnb_columnar.domain.names import LONGEST_NAME, is_printable, named, quoted
from dpnb_columnar.domain.numbers import exact_number
from dpnb_columnar.errors import ConfigurationError, Fault, MissingInputError, UsageError, shown
from dpnb_columnar.runtime.resources import resource

CATALOGUE_NAME = "datasets.toml"
ENTRY_KEYS = ("title", "source", "files", "epsilon", "rows", "raw")
"""Keys of an entry that stand beside its domain."""

LARGEST_CATALOGUE = 16 * 2**20
"""Bytes."""

LONGEST_LINE = 1000
"""Characters of a title or a source."""


@dataclass(frozen=True)
class Entry:
    """One data set of a catalogue.

    Attributes:
        name: Its key in the catalogue.
        catalogue: The file it stands in.
        table: The entry as read; the domain is built from it on first use, so that a fault in one entry does not
            stand in the way of another.
    """

    name: str
    catalogue: Path
    table: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return f"{self.catalogue.name}, entry {self.name}"

    @property
    def title(self) -> str:
        """One line for people.

        Raises:
            ConfigurationError: It is none.
        """
        return self._line("title", self.name)

    @property
    def source(self) -> str:
        """Where the data comes from and where its domain is documented.

        Raises:
            ConfigurationError: It is not a line of text.
        """
        return self._line("source", "")

    @property
    def files(self) -> tuple[str, ...]:
        """File name patterns that this entry claims.

        Raises:
            ConfigurationError: It is not a list of text. (A bare text would claim files letter by letter.)
        """
        patterns = self.table.get("files", [])
        if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
            raise self._fault("files", f'expected a list of patterns such as ["{self.name}*.parquet"]')
        return tuple(patterns)

    @property
    def raw(self) -> Mapping[str, str]:
        """Raw files that ``datasets prepare`` reads: path below the folder given, and hexadecimal SHA-256.

        Raises:
            ConfigurationError: It is not a table.
        """
        raw = self.table.get("raw", {})
        if not isinstance(raw, Mapping):
            raise self._fault("raw", "expected a table of paths and checksums")
        return {str(path): str(checksum) for path, checksum in raw.items()}

    @property
    def epsilon(self) -> Fraction | None:
        """Declared privacy budget, if any.

        Raises:
            ConfigurationError: It is not a number.
        """
        if "epsilon" not in self.table:
            return None
        try:
            return exact_number(self.table["epsilon"])
        except ValueError as error:
            raise self._fault("epsilon", str(error)) from None

    @property
    def rows(self) -> int | None:
        """Declared number of rows of the whole data set, if any: a published fact, whatever a file of it holds.

        Raises:
            ConfigurationError: It is not a whole number.
        """
        rows = self.table.get("rows")
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int)):
            raise self._fault("rows", f"expected a whole number, found {shown(rows)}")
        return rows

    @cached_property
    def declared(self) -> Declaration:
        """The declared domain, with a label or without.

        Raises:
            DomainError: With every fault of the declaration.
        """
        return read_declaration(self.name, self.table, str(self.catalogue), beside=ENTRY_KEYS)

    @property
    def domain(self) -> Domain:
        """The declared domain, which has a label.

        Raises:
            DomainError: With every fault of the declaration.
            ConfigurationError: It has no label.
        """
        if not isinstance(self.declared, Domain):
            raise no_label(self.declared, str(self))
        return self.declared

    def claims(self, path: Path) -> bool:
        """Whether a file of this name belongs to the entry."""
        return path.stem == self.name or any(fnmatch.fnmatchcase(path.name, pattern) for pattern in self.files)

    def _line(self, key: str, default: str) -> str:
        text = self.table.get(key, default)
        if not isinstance(text, str) or not is_printable(text) or len(text) > LONGEST_LINE:
            raise self._fault(key, f"expected one line of at most {LONGEST_LINE} characters, found {shown(text)}")
        return text

    def _fault(self, key: str, problem: str) -> ConfigurationError:
        return ConfigurationError(f"{self.catalogue}: {Fault(f'{quoted(self.name)}.{key}', problem)}")


def read_catalogue(path: Path) -> tuple[Entry, ...]:
    """All entries of one catalogue file.

    Raises:
        MissingInputError: The file cannot be read.
        ConfigurationError: It is not TOML, or an entry is not a table.
    """
    try:
        if path.stat().st_size > LARGEST_CATALOGUE:
            raise ConfigurationError(f"{path}: larger than {LARGEST_CATALOGUE >> 20} MiB; it is no catalogue")
        document = parse_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MissingInputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ConfigurationError(f"{path}: not a TOML file: {error}") from None
    for name, table in document.items():
        if not is_printable(name) or len(name) > LONGEST_NAME:
            raise ConfigurationError(
                f"{path}: {shown(name)}: an entry's name is printable and no longer than a column's"
            )
        if not isinstance(table, dict):
            raise ConfigurationError(
                f"{path}: {name}: expected a table such as [{quoted(name)}] with label and attributes"
            )
    return tuple(Entry(name, path, table) for name, table in document.items())


def catalogues(folder: Path | None = None) -> list[Path]:
    """Catalogue files in the order they are searched: the folder's (default: the working directory's), the packaged."""
    local = (folder or Path.cwd()) / CATALOGUE_NAME
    packaged = resource(CATALOGUE_NAME)
    return [path for path in dict.fromkeys([local, packaged]) if path.is_file()]


def entries(folder: Path | None = None) -> list[Entry]:
    """Every entry of every catalogue; one in the working directory hides a packaged one of the same name."""
    found: dict[str, Entry] = {}
    for path in catalogues(folder):
        for entry in read_catalogue(path):
            found.setdefault(entry.name, entry)
    return list(found.values())


def entry_named(name: str) -> Entry:
    """The entry of this name.

    Raises:
        UsageError: There is none; the message lists the names there are.
    """
    known = {entry.name: entry for entry in entries()}
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known names: {named(known)}"
    raise UsageError(f"no data set named {shown(name)}; {hint}")


def entry_declaring(domain: Declaration) -> Entry | None:
    """The entry that declares this very domain under its name and something beside it, or None."""
    entry = next((entry for entry in entries() if entry.name == domain.name), None)
    if entry is None or (entry.epsilon is None and entry.rows is None):
        return None
    return entry if entry.declared == domain else None


def entry_for(paths: Sequence[Path]) -> Entry | None:
    """The first entry that claims every one of these files, or None."""
    return next((entry for entry in entries() if all(entry.claims(path) for path in paths)), None)
