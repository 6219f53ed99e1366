"""``dpnb-columnar predict``: score rows with a released model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import LogFormat, print_line, stage
from dpnb_columnar.cli.options import Config
from dpnb_columnar.errors import UsageError
from dpnb_columnar.runtime.outputs import check_parquet, check_target


def command(
    model: options.ModelFile,
    data: options.DataOrDatabase,
    output: Annotated[Path, typer.Option(help="Parquet file of scored rows.")],
    key: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to carry over; several with commas, or repeated.", metavar="COLUMN", show_default=False
        ),
    ] = None,
    labels: Annotated[
        bool,
        typer.Option("--labels", help="Add the column predicted_label: the value label of the class (White for 1)."),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Write what each attribute said for the class, in bits, not the probabilities."),
    ] = False,
    top: Annotated[
        int | None,
        typer.Option(
            help="With --explain, name so many attributes that said most, not a column of each.", metavar="INTEGER"
        ),
    ] = None,
    intervals: Annotated[
        bool,
        typer.Option(
            "--intervals",
            help="Add lower_CLASS and upper_CLASS: at 95 %, the ends of the probability without the model's noise.",
        ),
    ] = False,
    table: options.Table = None,
    query: options.Query = None,
    overwrite: options.Overwrite = False,
    config: Config = None,
    log_format: options.Log = LogFormat.TEXT,
) -> None:
    """Write every row's class, and the probability of each.

    Rows keep their order. A null attribute and a category the model does not
    know are left out of that row's likelihood; the column skipped counts them.
    Intervals say what the noise of the model, whose scale is public, leaves
    known of each probability; they are for models whose attributes are released
    as counts (histogram, adaptive-histogram, tables), and others are refused.
    The output, which copies rows, is readable by its owner alone.

    With --explain a row has the predicted class, the other class that it is
    compared with, and the exact parts of log2 of their odds, which add up to
    log_odds: prior, and bits_ATTRIBUTE (negative where the attribute is for
    the other class, 0 where it is left out). With --top 3: attribute_1, bits_1,
    ... and bits_rest.

    \b
    Examples:
      dpnb-columnar predict census.model.json new.parquet --output scored.parquet
      dpnb-columnar predict model.parquet "part-*.parquet" --key SERIAL --key PERNUM \\
          --output scored.parquet
      dpnb-columnar predict census.model.json new.parquet --labels --output scored.parquet
      dpnb-columnar predict census.model.json new.parquet --explain --key SERIAL \\
          --output explained.parquet
      dpnb-columnar predict census.model.json new.parquet --explain --top 3 \\
          --output reasons.parquet
      dpnb-columnar predict census.model.json new.parquet --intervals --output scored.parquet
      dpnb-columnar predict model.json census.duckdb --table person --key ID \\
          --output scored.parquet
      dpnb-columnar predict model.json postgresql://analyst@db/census \\
          --query new_rows.sql --key ID --output scored.parquet
    """
    from dpnb_columnar.counting.inputs import local_input
    from dpnb_columnar.model.model_files import read_model
    from dpnb_columnar.model.score_batches import SKIPPED
    from dpnb_columnar.model.scoring import write_scores

    if intervals and explain:
        raise UsageError("--intervals: of probabilities, which --explain does not write; choose one of them")
    if top is not None and not explain:
        raise UsageError("--top: how many attributes an explanation names; add --explain")
    check_parquet(output)
    rows = local_input(data, table, query)
    check_target(output, overwrite, [model, *rows.files, *([] if config is None else [config])])
    loaded, keep = read_model(model), options.columns_of(key)
    columns = [*keep, *(parameters.attribute for parameters in loaded.attributes)]
    with stage("scoring"):
        write_scores(
            loaded,
            rows.scan(columns),
            output,
            keep,
            labels=labels,
            intervals=intervals,
            explained=explain,
            top=top,
            overwrite=overwrite,
        )
    line = f"wrote {output}; its column {SKIPPED} counts the attributes that a row's score leaves out"
    print_line(line, "written", output=str(output))
