"""``dpnb-columnar suggest-domain``: a draft of a domain, taken from the rows, for the curator to correct."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_line, print_text, stage
from dpnb_columnar.errors import DataError, OutputError, UsageError
from dpnb_columnar.runtime.outputs import atomic_output, check_target
from dpnb_columnar.runtime.unfinished import exists, is_folder

if TYPE_CHECKING:
    from dpnb_columnar.counting.suggestion import Draft
    from dpnb_columnar.domain import Declaration
    from dpnb_columnar.rows.input_files import DataFile

WARNING = """\
# CONFIDENTIAL: taken from the rows by dpnb-columnar suggest-domain. Bounds and values below are facts about them.
# Do not publish this file, and train no model by it as it is: replace every figure by what the codebook says.
"""


def command(
    data: options.DataOrDatabase,
    table: options.Table = None,
    output: Annotated[
        Path | None,
        typer.Option(help="File to write, X.toml, readable by its owner alone.", show_default="standard output"),
    ] = None,
    most_values: Annotated[
        int, typer.Option(min=2, max=1000, help="Most values of a column that are listed.", metavar="INTEGER")
    ] = 30,
    overwrite: options.Overwrite = False,
) -> None:
    """CONFIDENTIAL: draft a domain from the rows, to correct.

    For the curator of data without a codebook. A domain taken from the rows
    voids the guarantee: replace every bound and value of the draft by a public
    fact before training. train never calls this.

    \b
    Examples:
      dpnb-columnar suggest-domain survey.parquet --output draft.toml
      dpnb-columnar suggest-domain survey.parquet --most-values 60
    """
    from dpnb_columnar.cli.file_output import training_command
    from dpnb_columnar.counting.inputs import local_input
    from dpnb_columnar.counting.suggestion import draft, profile
    from dpnb_columnar.domain import UnlabelledDomain
    from dpnb_columnar.domain.catalogue import read_catalogue

    rows = local_input(data, table)
    name = table.rpartition(".")[2].strip('"') if table else rows.files[0].stem
    if output is not None:
        if output.suffix.lower() != ".toml":
            raise UsageError(f"{output}: is an entry of datasets.toml; end its name in .toml")
        check_target(output, overwrite, rows.files)
        if exists(output) and any(entry.name != name for entry in read_catalogue(output)):
            raise OutputError(f"{output}: has other entries, which the draft would replace; give it a file of its own")
    given = rows.scan()
    with stage("reading the rows"):
        suggestion = draft(profile(given, most_values))
    if not suggestion.attributes:
        raise DataError(
            f"{given[0].name}: no column of it can be suggested as an attribute; declare the domain by hand"
        )
    domain = UnlabelledDomain(name, suggestion.attributes)
    text = _text(suggestion, domain, () if table else rows.files)
    if output is None:
        print_text(text.rstrip("\n"))
        return

    with atomic_output(output, overwrite=overwrite, confidential=True) as partial:
        partial.write_text(text, encoding="utf-8")
    print_line(f"wrote {output}: CONFIDENTIAL, a draft taken from the rows")
    options_of_table = f" --table {quote(table)}" if table else ""
    source: object = data[0] if table else rows.files[0]
    command_line = training_command(
        domain, data[0] if isinstance(source, Path) and is_folder(source) else source, output
    )
    print_line(f"when every figure is from the codebook: {command_line}{options_of_table}")


def _text(suggestion: Draft, domain: Declaration, files: Sequence[DataFile]) -> str:
    """Write the draft as an entry of datasets.toml, with warning and remarks."""
    from glob import escape

    from dpnb_columnar.domain.catalogue import comment, entry_toml

    claimed: dict[str, object] = {"files": [escape(file.name) for file in files]} if files else {}
    entry = entry_toml(domain, claimed, suggestion.remarks)
    left_out = [comment(f"left out: {name}: {reason}") for name, reason in suggestion.left_out.items()]
    return "\n".join([WARNING, entry, *left_out]) + "\n"
