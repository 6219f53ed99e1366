"""Verbs that make files to work on: ``simulate``, ``demo``, which tries everything on one, and ``split``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line, print_warning, progress, stage
from dpnb_columnar.cli.main import NAME
from dpnb_columnar.core.budget import parse_epsilon
from dpnb_columnar.core.budget.amounts import DEFAULT_EPSILON
from dpnb_columnar.errors import OutputError
from dpnb_columnar.runtime.outputs import check_output, check_parquet


def split(
    data: options.DataOrDatabase,
    table: options.Table = None,
    test: Annotated[
        str, typer.Option(help="Share that is held out, on average: above 0 and below 1.", metavar="NUMBER")
    ] = "0.2",
    validation: Annotated[
        str | None,
        typer.Option(
            help="Share of a third part, to choose among models by; the rows of --test stay the same.", metavar="NUMBER"
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that names a unit, such as a household, whose rows stay together; commas part several.",
            metavar="COLUMN",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            help="The same seed puts the same row, or unit, into the same part. Choose it without a look at results.",
            metavar="INTEGER",
        ),
    ] = 1,
    train_output: Annotated[
        Path | None, typer.Option(help="Rows to train on.", show_default="NAME.train.parquet")
    ] = None,
    test_output: Annotated[
        Path | None, typer.Option(help="Rows that are held out.", show_default="NAME.test.parquet")
    ] = None,
    validation_output: Annotated[
        Path | None, typer.Option(help="Rows of --validation.", show_default="NAME.validation.parquet")
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """CONFIDENTIAL: hold rows out, to evaluate a model on them.

    Each row is decided by its own values and the seed, or, with --by, by its
    unit: the persons of a household are alike, and a model that has seen one of
    them looks better on the others than it is. No row moves another, so that a
    guarantee from a part holds for every row, or unit, of DATA. Equal rows go
    together. --test is a share on average: of few rows a part may be empty,
    which is said. All files keep the domain; one of them is split anew by the
    same seed.

    \b
    Examples:
      dpnb-columnar split census.parquet
      dpnb-columnar split census.parquet --test 0.1 --by SERIAL --by SAMPLE
      dpnb-columnar split census.parquet --test 0.2 --validation 0.2
    """
    from dpnb_columnar.counting.inputs import local_input
    from dpnb_columnar.domain.groupings import TEST, TRAIN, VALIDATION
    from dpnb_columnar.rows.holdout import size_remarks, split_of, split_outputs, split_rows

    split = split_of(test, options.columns_of(by), seed, validation)
    rows = local_input(data, table)
    named = {TRAIN: train_output, VALIDATION: validation_output, TEST: test_output}
    outputs = split_outputs(data if table is None else [table], rows.files, split, named, overwrite)
    with stage("splitting"):
        sizes = split_rows(rows.batches(split.by), split, outputs, overwrite=overwrite)
    third = f", {outputs[VALIDATION]} to choose by" if VALIDATION in outputs else ""
    print_line(f"wrote {outputs[TRAIN]} to train on{third}, and {outputs[TEST]} to evaluate on")
    for remark in size_remarks(split, sizes, outputs):
        print_warning(f"CONFIDENTIAL: {remark}")


def demo(
    context: typer.Context,
    folder: Annotated[Path, typer.Option(help="Folder for the files.", metavar="<path>")] = Path("dpnb-demo"),
    rows: Annotated[int, typer.Option(min=1, help="Persons to simulate.", metavar="INTEGER")] = 100_000,
    epsilon: options.Epsilon = DEFAULT_EPSILON,
    overwrite: options.Overwrite = False,
) -> None:
    """Simulate a census, train on most of it, score the rest.

    \b
    Examples:
      dpnb-columnar demo
      dpnb-columnar demo --rows 1000000 --epsilon 0.1 --overwrite
    """
    parse_epsilon(epsilon)  # before anything is simulated
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be created: {error.strerror}; name another with --folder") from None
    census, training, held_out = (str(folder / f"census{name}.parquet") for name in ("", ".train", ".test"))
    model, scored = str(folder / "census.model.json"), str(folder / "scored.parquet")
    replace = ["--overwrite"] if overwrite else []
    for arguments in (
        ["simulate", census, "--rows", str(rows), *replace],
        ["split", census, "--train-output", training, "--test-output", held_out, *replace],
        ["train", training, "--epsilon", epsilon, "--mechanism", "smooth", "--output", model, *replace],
        ["predict", model, held_out, "--output", scored, *replace],
        ["evaluate", model, held_out],
        ["show", model],
    ):
        print_line(f"$ {NAME} {shlex.join(arguments)}")
        context.find_root().command.main(arguments, prog_name=NAME, standalone_mode=False)
        print_line()


def simulate(
    output: Annotated[Path, typer.Argument(help="Parquet file to write.", metavar="OUTPUT")],
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
