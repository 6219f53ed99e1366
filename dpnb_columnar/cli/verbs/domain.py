"""``dpnb-columnar domain``: show the declared domain of a file, and write it where it can be edited."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line, print_lines, print_text, print_warning
from dpnb_columnar.cli.main import PlainCommand, PlainGroup
from dpnb_columnar.errors import OutputError, UsageError
from dpnb_columnar.runtime.outputs import atomic_output, check_target
from dpnb_columnar.runtime.unfinished import exists

if TYPE_CHECKING:
    from dpnb_columnar.counting.find_domain import ResolvedDeclaration
    from dpnb_columnar.domain.catalogue import CatalogueEntry


CODEBOOKS = (".xml", ".xml.gz")
"""How the names of files end that are codebooks, and never rows."""


def find_source(source: Path | None, codebook: str | None, dataset: str | None) -> ResolvedDeclaration:
    """Find the domain of a file, of a codebook or of an entry; say what a codebook leaves out of it."""
    from dpnb_columnar.counting.find_domain import ResolvedDeclaration, find_declaration

    if source is not None and source.name.lower().endswith(CODEBOOKS):
        raise UsageError(
            f"{source}: is a codebook by its name; give it as --codebook {source}, and SOURCE for rows alone"
        )
    if source is not None:
        from dpnb_columnar.rows.sources import refuse_table_files

        refuse_table_files([source])
    if codebook is None:
        if source is None and dataset is None:
            raise UsageError(
                "name a Parquet file, an entry of datasets.toml with --dataset, or a codebook with --codebook"
            )
        return find_declaration([] if source is None else [source], dataset)
    from dpnb_columnar.extracts.convert import left_out_lines, read_codebook_domain

    if dataset is not None:
        raise UsageError("--codebook declares the domain; leave --dataset out")
    domain, left_out, notes = read_codebook_domain(codebook, source)
    for line in left_out_lines(left_out):
        print_warning(line)
    for note in notes:
        print_warning(f"note: {note}")
    return ResolvedDeclaration(domain, f"the codebook {codebook}")


def other_keys(name: str, source: Path | None, entry: CatalogueEntry | None) -> dict[str, object]:
    """Return the keys of an entry beside its domain."""
    from fnmatch import fnmatchcase
    from glob import escape

    from dpnb_columnar.domain.catalogue import ENTRY_KEYS

    table = {} if entry is None else {key: entry.table[key] for key in ENTRY_KEYS if key in entry.table}
    if source is None:
        return table
    patterns = [*entry.files] if entry is not None and entry.name == name else []
    if not any(fnmatchcase(source.name, pattern) for pattern in patterns):
        patterns.append(escape(source.name))
    return {**table, "files": patterns}


app = typer.Typer(
    cls=PlainGroup,
    help="Show the declared domain of a file, or change it. No row is read.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Source = Annotated[
    Path | None,
    typer.Argument(
        help="Parquet file that carries a domain, or that datasets.toml or a codebook describes.", metavar="SOURCE"
    ),
]
Codebook = Annotated[
    str | None,
    typer.Option(
        "--codebook",
        help="Codebook that declares the domain: of the columns of SOURCE, or of all its variables. A DDI codebook "
        "(.xml), a layout (.toml), a PUMS data dictionary (.csv), or the name of a packaged layout: ipums1940.",
        metavar="FILE|NAME",
    ),
]


@app.command(cls=PlainCommand)
def show(
    source: Source = None,
    codebook: Codebook = None,
    dataset: options.Dataset = None,
    every: Annotated[bool, typer.Option("--all", help="Print every value, too, with its value label.")] = False,
    toml: Annotated[bool, typer.Option("--toml", help="Print an entry of datasets.toml.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the declaration as JSON.")] = False,
) -> None:
    """Show the domain of a file, of a codebook, or of an entry of datasets.toml.

    Only public facts are read: the file's metadata, no row.

    \b
    Examples:
      dpnb-columnar domain show census.parquet
      dpnb-columnar domain show --codebook usa_00001.xml
      dpnb-columnar domain show --dataset adult --all
      dpnb-columnar domain show census.parquet --toml >> datasets.toml
    """
    from json import dumps

    from dpnb_columnar.domain.catalogue import entry_toml
    from dpnb_columnar.domain.declared_domain import document_of
    from dpnb_columnar.domain.domain_text import domain_lines

    if toml + json + every > 1:
        raise UsageError("--all, --toml and --json: give one of them")
    declared = find_source(source, codebook, dataset)
    domain = declared.declaration
    if toml:
        print_text(entry_toml(domain, other_keys(domain.name, source, declared.entry)).rstrip("\n"))
    elif json:
        print_text(dumps({"name": domain.name, **document_of(domain)}, ensure_ascii=False, indent=2))
    else:
        print_line(f"domain {domain.name}, from {declared.origin}")
        print_lines(domain_lines(domain, every=every))


@app.command(cls=PlainCommand)
def edit(
    source: Annotated[
        Path,
        typer.Argument(
            help="Parquet file that carries a domain, or that datasets.toml or a codebook describes.", metavar="SOURCE"
        ),
    ],
    codebook: Codebook = None,
    label: options.Label = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", help="File to write.", metavar="NAME.domain.toml", show_default="NAME.domain.toml beside SOURCE"
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> None:
    """Write the domain of a file where an editor can change it: NAME.domain.toml.

    NAME.domain.toml is found before the metadata of the file NAME.parquet beside
    it. Change bounds, values, groups, missing values, unit and weight there: each
    is a public fact, such as a codebook holds, and never one seen in the rows.
    No row is read.

    \b
    Examples:
      dpnb-columnar domain edit census.parquet
      dpnb-columnar domain edit census.parquet --label "INCWAGE > 1500"
      dpnb-columnar domain edit usa_00001.parquet --codebook usa_00001.xml
    """
    from dpnb_columnar.cli.file_output import training_command
    from dpnb_columnar.domain.catalogue import domain_file, entry_toml, read_catalogue
    from dpnb_columnar.domain.editing import labelled

    target = domain_file(source) if output is None else output
    if target.suffix.lower() != ".toml":
        raise UsageError(f"{target}: is a declaration in TOML; end its name in .toml")
    check_target(target, overwrite, [source, *([] if codebook is None else [Path(codebook)])])
    declared = find_source(source, codebook, None)
    domain = declared.declaration if label is None else labelled(declared.declaration, label)
    if exists(target) and any(entry.name != domain.name for entry in read_catalogue(target)):
        raise OutputError(f"{target}: has other entries, which would be lost; give the domain a file of its own")
    with atomic_output(target, overwrite=overwrite) as partial:
        partial.write_text(entry_toml(domain, other_keys(domain.name, source, declared.entry)), encoding="utf-8")
    print_line(f"wrote {target}: domain {domain.name}, {len(domain.attributes)} attributes")
    print_line(f"train: {training_command(domain, source, target)}")
