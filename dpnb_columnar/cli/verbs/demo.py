"""``dpnb-columnar demo``: simulate, split, train, predict, evaluate and show, with every command printed."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line
from dpnb_columnar.cli.program import NAME
from dpnb_columnar.core.budget import parse_epsilon
from dpnb_columnar.core.budget.amounts import DEFAULT_EPSILON
from dpnb_columnar.errors import OutputError


def command(
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
