"""Find the domain of files: the one named, the one beside them, the one in their metadata, or the catalogue's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpnb_columnar.core.budget.amounts import DEFAULT_EPSILON, parse_epsilon
from dpnb_columnar.domain import Declaration, Domain
from dpnb_columnar.domain.catalogue import (
    CATALOGUE_NAME,
    CatalogueEntry,
    entry_declaring,
    entry_for,
    entry_named,
    entry_of_file,
)
from dpnb_columnar.domain.declaration import DOMAIN_KEY, domain_from_metadata
from dpnb_columnar.domain.declared_domain import digest
from dpnb_columnar.domain.editing import Number, labelled, no_label, provisional, with_unit, with_weight
from dpnb_columnar.domain.names import number_text
from dpnb_columnar.domain.words import united
from dpnb_columnar.errors import ConfigurationError, UsageError, command, option
from dpnb_columnar.rows.input_files import DataFile
from dpnb_columnar.rows.parquet import read_metadata, read_schema


@dataclass(frozen=True, slots=True)
class ResolvedDeclaration:
    """A declaration, with a label or without, its origin for messages, and the catalogue entry that declares it."""

    declaration: Declaration
    origin: str
    entry: CatalogueEntry | None = None


@dataclass(frozen=True, slots=True)
class ResolvedDomain:
    """A domain, its origin, and the public facts declared beside it."""

    domain: Domain
    origin: str
    entry: CatalogueEntry | None = None
    label_chosen: bool = True  # else its label stands in for one to train for (``domain.editing``)

    @property
    def epsilon(self) -> Fraction | None:
        return None if self.entry is None else self.entry.epsilon

    @property
    def rows(self) -> int | None:
        """The number of rows that the catalogue entry declares, if any. Public."""
        return None if self.entry is None else self.entry.rows

    def effective_epsilon(self, typed: str | None) -> str:
        """Return the epsilon that was typed, else the one declared beside the domain, else the default."""
        if typed is not None or self.epsilon is None:
            return DEFAULT_EPSILON if typed is None else typed
        declared = number_text(self.epsilon)
        try:
            parse_epsilon(declared)
        except UsageError as error:
            raise ConfigurationError(f"{self.entry}: {error}") from None  # the domain may be that of the data
        return declared

    def by_unit(self, unit: str | Sequence[str] | None, rows: int | None) -> ResolvedDomain:
        return replace(self, domain=with_unit(self.domain, unit, rows))

    def by_weight(self, weight: str | None, cap: Number | None) -> ResolvedDomain:
        return replace(self, domain=with_weight(self.domain, weight, cap))


def find_domain(
    files: Sequence[DataFile | str],
    dataset: str | None = None,
    label: str | None = None,
    metadata: Callable[[Any], dict[str, str]] = read_metadata,
) -> ResolvedDomain:
    """Find the domain of Parquet files, with its label."""
    declared = find_declaration(files, dataset, metadata)
    if label is not None:
        return ResolvedDomain(labelled(declared.declaration, label), declared.origin, declared.entry)
    if not isinstance(declared.declaration, Domain):
        raise no_label(declared.declaration, str(files[0]) if declared.entry is None else str(declared.entry))
    return ResolvedDomain(declared.declaration, declared.origin, declared.entry)


def find_domain_to_plan(
    files: Sequence[DataFile | str], dataset: str | None = None, label: str | None = None
) -> ResolvedDomain:
    """Find the domain of Parquet files; with a label that stands in where none is declared or given."""
    if label is None:
        declared = find_declaration(files, dataset)
        if not isinstance(declared.declaration, Domain):
            return ResolvedDomain(
                provisional(declared.declaration), declared.origin, declared.entry, label_chosen=False
            )
    return find_domain(files, dataset, label)


def find_declaration(
    files: Sequence[DataFile | str],
    dataset: str | None = None,
    metadata: Callable[[Any], dict[str, str]] = read_metadata,
) -> ResolvedDeclaration:
    """Find the declaration of Parquet files, with a label or without."""
    if dataset is not None:
        entry = entry_named(dataset, [Path(str(file)) for file in files])
        return ResolvedDeclaration(entry.declared, str(entry), entry)
    declaring: list[CatalogueEntry] = []
    carried: dict[str | None, Declaration | None] = {}
    for file in files:
        if isinstance(file, Path) and (own := entry_of_file(file)) is not None:
            declaring.append(own)
            continue
        pairs = metadata(file)
        if (text := pairs.get(DOMAIN_KEY)) not in carried:  # most files carry the same text
            carried[text] = domain_from_metadata(pairs, str(file))
    domains = [*(entry.declared for entry in declaring), *(each for each in carried.values() if each is not None)]
    if len({*map(digest, domains)}) == 1 and None not in carried:
        domain = united(domains)  # they differ in what is for people alone
        if declaring:
            return ResolvedDeclaration(domain, str(declaring[0]), declaring[0])
        return ResolvedDeclaration(domain, "the metadata of the data", entry_declaring(domain))
    if domains:
        raise ConfigurationError(
            f"{files[0]} and the files beside it do not all carry the same domain; name one with {option('dataset')}"
        )
    claimed = entry_for([Path(str(file)) for file in files])
    if claimed is None:
        if metadata is read_metadata:  # neither a table nor an address of Spark's, which have no schema here
            file = files[0]
            read_schema(Path(file) if isinstance(file, str) else file)  # a model, or statistics, is told as such
        raise ConfigurationError(
            f"{files[0]}: carries no domain, and no entry of {CATALOGUE_NAME} claims a file of this name; take it from "
            f"a codebook ({command('domain edit', 'FILE', codebook='CODEBOOK')}), name an entry with "
            f"{option('dataset')}, or declare one in {CATALOGUE_NAME} in the working directory (docs/domain.md)"
        )
    return ResolvedDeclaration(claimed.declared, str(claimed), claimed)
