"""``dpnb-columnar export``: a model as one file that scores rows without this program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line, print_text
from dpnb_columnar.domain.database_address import Dialect
from dpnb_columnar.domain.names import printable
from dpnb_columnar.errors import UsageError, option
from dpnb_columnar.model.export_targets import SUFFIXES, Target
from dpnb_columnar.runtime.outputs import check_target


def command(
    model: options.ModelFile,
    to: Annotated[Target, typer.Option(help="Language of the file.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option(help="File to write.", metavar="FILE", show_default="standard output")
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(
            help="Begins the names of new columns.", metavar="NAME", show_default="nb_ in Stata, SAS and SPSS"
        ),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            help="What a column of the model is called in the rows; repeat for more.",
            metavar="COLUMN=NAME",
            show_default=False,
        ),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            help="Parquet file with columns of the rows' types; no row of it is read.",
            metavar="DATA.parquet",
            show_default=False,
        ),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write a model as one file for ONNX, R, Stata, SAS or SPSS.

    The file scores rows without this program. It gives what predict does: the
    class, the probability of each, the number of attributes that a row's score
    leaves out; and the scores that the probabilities are made of.

    onnx is a graph for onnxruntime (pip install 'dpnb-columnar[onnx]' to write
    it). r is a function of base R, stata a do-file, sas the statements of a DATA
    step, spss syntax: a remark with guarantee and source, then a block for each
    column. The files for Stata and SAS were not run by their makers.

    Without --like, a column whose categories are all numbers holds numbers, and
    another one texts; a function of R finds out by itself.

    \b
    Examples:
      dpnb-columnar export census.model.json --to onnx --output census.onnx
      dpnb-columnar export census.model.json --to r --output census.R
      dpnb-columnar export census.model.json --to stata --prefix income_ --output census.do
      dpnb-columnar export census.model.json --to sas --like census.parquet \\
          --output census.sas
      dpnb-columnar export census.model.json --to spss --rename _AGE=age \\
          --output census.sps
    """
    from dpnb_columnar.model.exported_program import Naming, export, write_export
    from dpnb_columnar.model.model import load_model
    from dpnb_columnar.model.sql_columns import sql_columns

    renamed = _renamed(rename or [])
    if output is not None:
        check_target(output, overwrite, [model] if like is None else [model, like])
    elif to is Target.ONNX:
        raise UsageError(f"an ONNX file is not a text; name the file with {option('output', f'FILE{SUFFIXES[to]}')}")
    loaded = load_model(model)
    kinds = None
    if like is not None:
        columns = sql_columns(loaded, Dialect.DUCKDB, str(like), None, [], None)
        kinds, spelled = columns.kinds, {name: own for name, own in columns.names.items() if name != own}
        renamed = {**spelled, **renamed}
    naming = Naming(prefix, renamed)
    if output is None:
        written = export(loaded, to, naming, kinds)
        assert isinstance(written, str)
        if printable(written) != written:  # escaped, it would look for another value
            raise UsageError(
                f"the file holds a name or a value with characters that a terminal obeys; name the file with "
                f"{option('output', f'FILE{SUFFIXES[to]}')}"
            )
        print_text(written.removesuffix("\n"))
        return
    write_export(loaded, output, to, naming, kinds, overwrite=overwrite)
    print_line(f"wrote {output}")


def _renamed(pairs: list[str]) -> dict[str, str]:
    """Read what columns are called.

    Raises:
        UsageError: if one is no pair, or a column is named twice.
    """
    renamed: dict[str, str] = {}
    for pair in pairs:
        column, sign, name = pair.rpartition("=")
        if not (column and sign and name):
            raise UsageError(f"--rename {pair!r:.80}: expected COLUMN=NAME, such as _AGE=age")
        if column in renamed:
            raise UsageError(f"--rename: column {column!r:.80} is named twice; keep one")
        renamed[column] = name
    return renamed
