"""``dpnb-columnar predict``: score rows with a released model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.commands import options
from dpnb_columnar.commands.options import say, stage


def command(
    model: Annotated[Path, typer.Argument(help="Model file, .json or .parquet.", show_default=False)],
    data: options.Data,
    output: Annotated[Path, typer.Option(help="Parquet file of scored rows.", show_default=False)],
    key: Annotated[
        list[str] | None, typer.Option(help="Column to carry over; repeat for more.", show_default=False)
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write the class and one probability per class for every row, in order.

    A null attribute and a category the model does not know are left out of
    that row's likelihood; the column skipped counts them.

    \b
    Examples:
      dpnb-columnar predict census.model.json new.parquet --output scored.parquet
      dpnb-columnar predict model.parquet "part-*.parquet" --key SERIAL --key PERNUM \\
          --output scored.parquet
    """
    from dpnb_columnar.files import check_output
    from dpnb_columnar.model.files import load_model
    from dpnb_columnar.model.predict import SKIPPED, write_scores
    from dpnb_columnar.rows.source import resolve

    check_output(output, overwrite)
    files = resolve(data)
    loaded = load_model(model)
    with stage("scoring"):
        rows, skipped = write_scores(loaded, files, output, key or [], overwrite=overwrite)
    say(f"wrote {output}: {rows} rows, {skipped} attribute values skipped (column {SKIPPED})")
