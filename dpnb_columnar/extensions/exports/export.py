"""``dpnb-columnar export``: a model as files that score rows without this program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line
from dpnb_columnar.extensions.exports.exports import Target, table_name, write_export
from dpnb_columnar.runtime.outputs import check_target


def command(
    model: options.ModelFile,
    to: Annotated[Target, typer.Option(help="Language of the file.", show_default=False)],
    output: Annotated[Path, typer.Option(help="File to write.", metavar="FILE", show_default=False)],
    overwrite: options.Overwrite = False,
) -> None:
    """Write a model as a script for R, Stata, SAS or SPSS, or as an ONNX graph.

    The files score rows without this program. They give what predict does: the
    class, the probability of each, the number of attributes that a row's score
    skips.

    A script reads a table of the model's terms, FILE.terms.csv, in the same
    folder. r is a function of base R, stata a do-file, sas a DATA step, spss
    syntax. No test runs the scripts for Stata and SAS. onnx is a graph for
    onnxruntime (pip install 'dpnb-columnar[onnx]' to write it).

    \b
    Examples:
      dpnb-columnar export census.model.json --to r --output census.R
      dpnb-columnar export census.model.json --to spss --output census.sps
      dpnb-columnar export census.model.json --to onnx --output census.onnx
    """
    from dpnb_columnar.model.model_files import read_model

    written = [output] if to is Target.ONNX else [output, table_name(output)]
    for path in written:
        check_target(path, overwrite, [model])
    write_export(read_model(model), output, to, overwrite=overwrite)
    print_line(f"wrote {' and '.join(map(str, written))}")
