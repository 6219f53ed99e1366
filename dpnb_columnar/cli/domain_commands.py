"""Commands that messages tell the user to type next, about an entry of a catalogue."""

from __future__ import annotations

from pathlib import Path
from shlex import join

from dpnb_columnar.domain.catalogue import CATALOGUE_NAME, read_catalogue
from dpnb_columnar.domain.declaration import Declaration
from dpnb_columnar.domain.declared_domain import Domain


def training_command(domain: Declaration, source: Path | None, catalogue: Path) -> str:
    """Return the command that trains by an entry, wherever it was written.

    Args:
        domain: The domain that the entry declares.
        source: File that the domain was made for, if one was named.
        catalogue: File with the entry.
    """
    named = ["--dataset", domain.name]
    if catalogue.resolve() != Path(CATALOGUE_NAME).resolve():
        named = ["--catalogue", str(catalogue), *named]
    label = "" if isinstance(domain, Domain) else ' --label "..."'
    return f"dpnb-columnar train {join([str(source or 'DATA.parquet'), *named])}{label}"


def edit_command(source: Path | None, name: str, dataset: str | None, catalogue: Path | None) -> str:
    """Return the command that edits a domain, to which edits are added.

    Args:
        source: File of the domain; None where only a catalogue has it.
        name: Name of the domain.
        dataset: Value of --dataset of the run that prints the command.
        catalogue: Value of its --catalogue.
    """
    output = catalogue or Path(CATALOGUE_NAME)
    words = [*([] if source is None else [str(source)]), *([] if dataset is None else ["--dataset", dataset])]
    words += [] if catalogue is None else ["--catalogue", str(catalogue)]
    words += ["--output", str(output)]
    if output.is_file() and any(entry.name == name for entry in read_catalogue(output)):
        words.append("--overwrite")
    return f"dpnb-columnar domain edit {join(words)}"
