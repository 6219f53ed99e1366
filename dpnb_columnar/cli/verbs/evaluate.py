"""``dpnb-columnar evaluate``: accuracy, log loss and calibration of a model on labelled rows, for the curator."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import CONFIDENTIAL, print_line, print_table, print_warning, stage
from dpnb_columnar.errors import excerpt


def command(
    model: options.ModelFile,
    data: options.Data,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """CONFIDENTIAL: how well a model does on labelled rows.

    Accuracy, log loss, confusion and calibration: exact, without noise. They are
    for the curator, not for release. The rows are those that training counts, with
    the attributes that they have.

    \b
    Examples:
      dpnb-columnar evaluate census.model.json census.parquet
      dpnb-columnar evaluate census.model.json holdout.parquet --json
    """
    from dpnb_columnar.model.evaluate import evaluate
    from dpnb_columnar.model.model import load_model
    from dpnb_columnar.rows.parquet import resolve_files

    files = resolve_files(data)
    loaded = load_model(model)
    with stage("scoring"):
        evaluation = evaluate(loaded, files)
    print_warning(CONFIDENTIAL)
    if as_json:
        print_line(json.dumps(asdict(evaluation), indent=2))
        return
    classes = loaded.domain.classes
    print_line(f"rows      {evaluation.rows}")
    for name, rows in evaluation.lacking.items():
        print_line(f"          {rows} of them without {excerpt(name)}")
    print_line(f"accuracy  {evaluation.accuracy:.4f}  (largest class alone {evaluation.majority:.4f})")
    print_line(f"log loss  {evaluation.log_loss:.4f}")
    print_line()
    print_table(
        ["true \\ predicted", *classes], [[name, *row] for name, row in zip(classes, evaluation.confusion, strict=True)]
    )
    print_line()
    print_table(
        ["probability", "rows", "mean probability", "accuracy"],
        [
            [f"{bin.lower:.1f} to {bin.upper:.1f}", bin.rows, f"{bin.mean_probability:.4f}", f"{bin.accuracy:.4f}"]
            for bin in evaluation.calibration
        ],
    )
