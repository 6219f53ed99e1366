"""``dpnb-columnar datasets``: what the catalogues declare, and raw files turned into Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.commands import options
from dpnb_columnar.commands.options import say, stage, table

app = typer.Typer(
    help="Data sets of datasets.toml: list them, prepare their raw files.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("list")
def show() -> None:
    """List every declared data set, those of the working directory first.

    \b
    Examples:
      dpnb-columnar datasets list
    """
    from dpnb_columnar.domain.catalogue import entries

    rows = []
    for entry in entries():
        domain = entry.domain
        size = (len(domain.numeric), len(domain.categorical), len(domain.classes))
        rows.append([entry.name, *size, "yes" if entry.raw else "", entry.title])
    table(["name", "numeric", "categorical", "classes", "prepare", "title"], rows)


@app.command("prepare")
def prepare_command(
    name: Annotated[str, typer.Argument(help="Entry of datasets.toml.", show_default=False)],
    folder: Annotated[Path, typer.Option("--from", help="Folder with the raw files.", show_default=False)],
    output: Annotated[Path | None, typer.Option(help="Parquet file to write.", show_default="NAME.parquet")] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Verify a data set's raw files and turn them into one Parquet file with its domain.

    \b
    Examples:
      dpnb-columnar datasets prepare adult --from downloads
      dpnb-columnar datasets prepare acs2018 --from downloads --output acs.parquet
    """
    from dpnb_columnar.datasets import prepare
    from dpnb_columnar.domain.catalogue import entry_named

    with stage(f"preparing {name}"):
        prepared = prepare(entry_named(name), folder, output or Path(f"{name}.parquet"), overwrite=overwrite)
    say(f"wrote {prepared.path}: {prepared.rows} rows, checksums verified")
