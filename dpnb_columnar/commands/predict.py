"""``dpnb-columnar predict``: score rows with a released model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.commands import options
from dpnb_columnar.commands.options import say, stage
from dpnb_columnar.commands.outputs import check_parquet, check_target


def command(
    model: options.ModelFile,
    data: options.Data,
    output: Annotated[Path, typer.Option(help="Parquet file of scored rows.", show_default=False)],
    key: Annotated[
        list[str] | None,
        typer.Option(help="Column to carry over; repeat for more.", metavar="COLUMN", show_default=False),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write every row's class, and its probability of each class.

    Rows keep their order. A null attribute and a category the model does not
    know are left out of that row's likelihood; the column skipped counts them.

    \b
    Examples:
      dpnb-columnar predict census.model.json new.parquet --output scored.parquet
      dpnb-columnar predict model.parquet "part-*.parquet" --key SERIAL --key PERNUM \\
          --output scored.parquet
    """
    from dpnb_columnar.model.files import load_model
    from dpnb_columnar.model.predict import SKIPPED
    from dpnb_columnar.model.scored_files import write_scores
    from dpnb_columnar.rows.source import resolve

    check_parquet(output)
    files = resolve(data)
    check_target(output, overwrite, [model, *files])
    loaded = load_model(model)
    with stage("scoring"):
        rows, skipped = write_scores(loaded, files, output, key or [], overwrite=overwrite)
    say(f"wrote {output}: {rows} rows, {skipped} attribute values skipped (column {SKIPPED})")
