"""Which domain describes these files: the one named, the one they carry, or the one a catalogue holds for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpnb_columnar.domain import Declaration, Domain, digest, labelled
from dpnb_columnar.domain.catalogue import CATALOGUE_NAME, Entry, entry_declaring, entry_for, entry_named
from dpnb_columnar.domain.labelling import no_label
from dpnb_columnar.domain.metadata import domain_from_metadata
from dpnb_columnar.errors import ConfigurationError
from dpnb_columnar.rows.parquet import read_metadata


@dataclass(frozen=True, slots=True)
class FoundDeclaration:
    """A declaration, perhaps without a label, and where it was found.

    Attributes:
        declaration: The domain as declared.
        origin: Where it was found.
        entry: The catalogue entry that declares it, None if there is none.
    """

    declaration: Declaration
    origin: str
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class FoundDomain:
    """A domain, where it was found, and what is declared beside it.

    Attributes:
        domain: The domain.
        origin: Where it was found.
        entry: The catalogue entry that declares it, None if there is none.
    """

    domain: Domain
    origin: str
    entry: Entry | None = None

    @property
    def epsilon(self) -> Fraction | None:
        """The epsilon declared beside it, if any."""
        return None if self.entry is None else self.entry.epsilon

    @property
    def rows(self) -> int | None:
        """The number of rows declared beside it, if any."""
        return None if self.entry is None else self.entry.rows


def find_domain(
    files: Sequence[Path | str],
    dataset: str | None = None,
    label: str | None = None,
    metadata: Callable[[Any], dict[str, str]] = read_metadata,
) -> FoundDomain:
    """The domain of some Parquet files, with its label.

    Args:
        files: At least one file; footers are read, rows are not.
        dataset: Catalogue entry to use, whatever the files carry.
        label: What to predict, as ``domain.labelling`` reads it; None for the label declared.
        metadata: Gives the key-value metadata of one of the files.

    Raises:
        UsageError: No entry has the name given, or the label does not go with the columns declared.
        ConfigurationError: The files carry no domain, or different ones, and no entry claims them; or no label is
            declared and none given.
        MissingInputError, DataError: A file cannot be read.
    """
    found = find_declaration(files, dataset, metadata)
    if label is not None:
        return FoundDomain(labelled(found.declaration, label), found.origin, found.entry)
    if not isinstance(found.declaration, Domain):
        raise no_label(found.declaration, str(files[0]) if found.entry is None else str(found.entry))
    return FoundDomain(found.declaration, found.origin, found.entry)


def find_declaration(
    files: Sequence[Path | str],
    dataset: str | None = None,
    metadata: Callable[[Any], dict[str, str]] = read_metadata,
) -> FoundDeclaration:
    """What is declared about some Parquet files, with a label or without.

    Args, raises: as ``find_domain``, without the label. With ``dataset`` there need be no file.
    """
    if dataset is not None:
        entry = entry_named(dataset)
        return FoundDeclaration(entry.declared, str(entry), entry)
    carried = [domain_from_metadata(metadata(file), str(file)) for file in files]
    domains = {digest(domain): domain for domain in carried if domain is not None}
    if len(domains) == 1 and None not in carried:
        (domain,) = domains.values()
        return FoundDeclaration(domain, "the metadata of the data", entry_declaring(domain))
    if domains:
        raise ConfigurationError(
            f"{files[0]} and the files beside it do not all carry the same domain; name one with --dataset"
        )
    claimed = entry_for(list(map(Path, files)))
    if claimed is None:
        raise ConfigurationError(
            f"{files[0]}: carries no domain, and no entry of {CATALOGUE_NAME} claims a file of this name; "
            f"name an entry with --dataset, or declare one in {CATALOGUE_NAME} in the working directory"
        )
    return FoundDeclaration(claimed.declared, str(claimed), claimed)
