"""``dpnb-columnar predict``: score rows with a released model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.cli import configuration, options
from dpnb_columnar.cli.configuration import Config
from dpnb_columnar.cli.console import LogFormat, print_line, stage
from dpnb_columnar.runtime.locks import output_lock
from dpnb_columnar.runtime.outputs import check_parquet, check_target


def command(
    model: options.ModelFile,
    data: options.DataOrDatabase,
    output: Annotated[Path, typer.Option(help="Parquet file of scored rows.", show_default=False)],
    key: Annotated[
        list[str] | None,
        typer.Option(help="Column to carry over; repeat for more.", metavar="COLUMN", show_default=False),
    ] = None,
    labels: Annotated[
        bool,
        typer.Option("--labels", help="Add the column predicted_label: the value label of the class (White for 1)."),
    ] = False,
    table: options.Table = None,
    query: options.Query = None,
    overwrite: options.Overwrite = False,
    config: Config = None,
    log_format: configuration.Log = LogFormat.TEXT,
) -> None:
    """Write every row's class, and the probability of each.

    Rows keep their order. A null attribute and a category the model does not
    know are left out of that row's likelihood; the column skipped counts them.
    The output, which copies rows, is readable by its owner alone.

    \b
    Examples:
      dpnb-columnar predict census.model.json new.parquet --output scored.parquet
      dpnb-columnar predict model.parquet "part-*.parquet" --key SERIAL --key PERNUM \\
          --output scored.parquet
      dpnb-columnar predict census.model.json new.parquet --labels --output scored.parquet
      dpnb-columnar predict model.json census.duckdb --table person --key ID \\
          --output scored.parquet
      dpnb-columnar predict model.json postgresql://analyst@db/census \\
          --query new_rows.sql --key ID --output scored.parquet
    """
    from dpnb_columnar.counting.inputs import local_input
    from dpnb_columnar.model.model import load_model
    from dpnb_columnar.model.polars_terms import SKIPPED
    from dpnb_columnar.model.scored_files import write_scores

    check_parquet(output)
    rows = local_input(data, table, query)
    check_target(output, overwrite, [model, *rows.files, *([] if config is None else [config])])
    loaded, keep = load_model(model), key or []
    columns = [*keep, *(parameters.attribute for parameters in loaded.attributes)]
    with output_lock(output), stage("scoring"):
        write_scores(loaded, rows.scan(columns), output, keep, labels=labels, overwrite=overwrite)
    line = f"wrote {output}; its column {SKIPPED} counts the attributes that a row's score leaves out"
    print_line(line, "written", output=str(output))
