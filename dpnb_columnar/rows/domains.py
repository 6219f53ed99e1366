"""Which domain describes these files: the one named, the one they carry, or the one a catalogue holds for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dpnb_columnar.domain import Domain, digest
from dpnb_columnar.domain.catalogue import CATALOGUE_NAME, Entry, entry_declaring, entry_for, entry_named
from dpnb_columnar.domain.metadata import domain_from_metadata
from dpnb_columnar.errors import ConfigurationError
from dpnb_columnar.rows.source import read_metadata


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


def find_domain(files: Sequence[Path], dataset: str | None = None) -> FoundDomain:
    """The domain of some Parquet files.

    Args:
        files: At least one file; footers are read, rows are not.
        dataset: Catalogue entry to use, whatever the files carry.

    Raises:
        UsageError: No entry has the name given.
        ConfigurationError: The files carry no domain, or different ones, and no entry claims them.
        MissingInputError, DataError: A file cannot be read.
    """
    if dataset is not None:
        entry = entry_named(dataset)
        return FoundDomain(entry.domain, str(entry), entry)
    carried = [domain_from_metadata(read_metadata(file), str(file)) for file in files]
    domains = {digest(domain): domain for domain in carried if domain is not None}
    if len(domains) == 1 and None not in carried:
        (domain,) = domains.values()
        return FoundDomain(domain, "the metadata of the data", entry_declaring(domain))
    if domains:
        raise ConfigurationError(
            f"{files[0]} and the files beside it do not all carry the same domain; name one with --dataset"
        )
    claimed = entry_for(files)
    if claimed is None:
        raise ConfigurationError(
            f"{files[0]}: carries no domain, and no entry of {CATALOGUE_NAME} claims a file of this name; "
            f"name an entry with --dataset, or declare one in {CATALOGUE_NAME} in the working directory"
        )
    return FoundDomain(claimed.domain, str(claimed), claimed)
