"""``dpnb-columnar datasets``: what the catalogues declare, and raw files turned into Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line, print_table, stage
from dpnb_columnar.cli.main import PlainCommand, PlainGroup
from dpnb_columnar.runtime.outputs import check_parquet

app = typer.Typer(
    cls=PlainGroup,
    help="List the data sets of datasets.toml, prepare raw files.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("list", cls=PlainCommand)
def show(
    catalogue: Annotated[
        Path | None,
        typer.Argument(
            help="The one catalogue to list.",
            metavar="FILE",
            show_default="datasets.toml in the working directory, then the packaged one",
        ),
    ] = None,
) -> None:
    """List the declared data sets, the working directory's first.

    \b
    Examples:
      dpnb-columnar datasets list
    """
    from dpnb_columnar.domain import Domain, Numeric
    from dpnb_columnar.domain.catalogue import entries

    rows = []
    for entry in entries(catalogue):
        domain = entry.declared
        numeric = sum(isinstance(attribute, Numeric) for attribute in domain.attributes)
        classes = len(domain.classes) if isinstance(domain, Domain) else 0
        size = (numeric, len(domain.attributes) - numeric, classes)
        rows.append([entry.name, *size, "yes" if entry.raw else "", entry.title])
    print_table(["name", "numeric", "categorical", "classes", "prepare", "title"], rows)


@app.command("prepare", cls=PlainCommand)
def prepare_command(
    name: Annotated[
        str, typer.Argument(help="Entry of datasets.toml, or FILE.toml:NAME.", metavar="NAME", show_default=False)
    ],
    folder: Annotated[Path, typer.Option("--from", help="Folder with the raw files.", show_default=False)],
    output: Annotated[Path | None, typer.Option(help="Parquet file to write.", show_default="NAME.parquet")] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Turn verified raw files into one Parquet file.

    Raw files are checked against the entry's checksums; the result carries the
    entry's domain.

    \b
    Examples:
      dpnb-columnar datasets prepare adult --from downloads
      dpnb-columnar datasets prepare acs2018 --from downloads --output acs.parquet
    """
    from dpnb_columnar.domain.catalogue import entry_named
    from dpnb_columnar.extensions.datasets.prepare import prepare

    entry = entry_named(name)
    target = output or Path(f"{entry.name}.parquet")
    check_parquet(target)
    with stage(f"preparing {entry.name}"):
        prepared = prepare(entry, folder, target, overwrite=overwrite)
    print_line(f"wrote {prepared.path}: {prepared.rows} rows, checksums verified")
