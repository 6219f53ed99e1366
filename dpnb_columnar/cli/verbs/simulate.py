"""``dpnb-columnar simulate``: a census-like extract to try everything on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line, progress
from dpnb_columnar.runtime.outputs import check_output, check_parquet


def command(
    output: Annotated[Path, typer.Argument(help="Parquet file to write.", metavar="OUTPUT", show_default=False)],
    rows: Annotated[int, typer.Option(help="Persons to simulate.", metavar="INTEGER")] = 100_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same file.", metavar="INTEGER")] = 1940,
    overwrite: options.Overwrite = False,
) -> None:
    """Write a synthetic extract in the shape of the 1940 census.

    Coded like the IPUMS full count: thirteen attributes and a wage, no real
    person's row. The file's metadata carries its domain, so train needs nothing
    else.

    \b
    Examples:
      dpnb-columnar simulate census.parquet
      dpnb-columnar simulate washington.parquet --rows 1700000 --seed 53
    """
    from dpnb_columnar.simulation import simulate_census

    check_parquet(output)
    check_output(output, overwrite)
    with progress("simulating", rows, "rows") as advance:
        simulate_census(output, rows=rows, seed=seed, overwrite=overwrite, progress=advance)
    print_line(f"wrote {output}: {rows} rows")
