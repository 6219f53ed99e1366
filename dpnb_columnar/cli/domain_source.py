"""What ``domain show`` and ``domain edit`` begin with: a declared domain, and what an entry says beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpnb_columnar.cli.console import print_warning
from dpnb_columnar.errors import UsageError

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDeclaration
    from dpnb_columnar.domain.catalogue import Entry

CODEBOOKS = (".xml", ".xml.gz")
"""How the names of files end that are codebooks, and never rows."""


def find_source(
    source: Path | None, codebook: str | None, dataset: str | None, catalogue: Path | None, name: str | None = None
) -> ResolvedDeclaration:
    """Find the domain of a file, of a codebook or of an entry; say what a codebook leaves out of it.

    Args:
        source: Parquet file, of which the footer is read; None if there is none.
        codebook: Codebook that declares the domain, whatever the file carries.
        dataset: Value of --dataset.
        catalogue: Value of --catalogue.
        name: Value of --name: name of the data set in place of the codebook's.

    Raises:
        UsageError: if nothing declares a domain, or two things do.
        dpnb_columnar.errors.Error: if a file cannot be read, or is not what it has to be.
    """
    from dpnb_columnar.counting.find_domain import ResolvedDeclaration, find_declaration

    if source is not None and source.name.lower().endswith(CODEBOOKS):
        raise UsageError(
            f"{source}: is a codebook by its name; give it as --codebook {source}, and SOURCE for rows alone"
        )
    if source is not None:
        from dpnb_columnar.rows.table_formats import refuse_table_files

        refuse_table_files([source])
    if codebook is None:
        if source is None and dataset is None:
            raise UsageError(
                "name a Parquet file, an entry of datasets.toml with --dataset, or a codebook with --codebook"
            )
        return find_declaration([] if source is None else [source], dataset, catalogue=catalogue)
    from dpnb_columnar.extracts.codebook_domain import declared_by, left_out_lines

    if dataset is not None or catalogue is not None:
        raise UsageError("--codebook declares the domain; give neither --dataset nor --catalogue beside it")
    found = declared_by(codebook, source, name)
    for line in left_out_lines(found.left_out):
        print_warning(line)
    for note in found.notes:
        print_warning(f"note: {note}")
    return ResolvedDeclaration(found.domain, f"the codebook {codebook}")


def other_keys(name: str, source: Path | None, *entries: Entry | None) -> dict[str, object]:
    """Return the keys of an entry beside its domain.

    Args:
        name: Name of the entry to write.
        source: File that the entry is to claim.
        entries: Entries whose keys are kept, a later one's before an earlier one's; patterns of files, of this name.
    """
    from fnmatch import fnmatchcase
    from glob import escape

    from dpnb_columnar.domain.catalogue import ENTRY_KEYS

    table: dict[str, object] = {}
    patterns: list[str] = []
    for entry in entries:
        if entry is not None:
            table |= {key: entry.table[key] for key in ENTRY_KEYS if key in entry.table}
            patterns = [*entry.files] if entry.name == name else patterns
    if source is None:
        return table
    if not any(fnmatchcase(source.name, pattern) for pattern in patterns):
        patterns.append(escape(source.name))
    return {**table, "files": patterns}
