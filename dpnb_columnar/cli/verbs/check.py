"""``dpnb-columnar check``: compare the rows with the declared domain, for the curator, before a release."""

from __future__ import annotations

from json import dumps
from typing import Annotated

import typer

from dpnb_columnar.cli import options
from dpnb_columnar.cli.console import print_confidential, print_lines, print_text, stage
from dpnb_columnar.core.budget import parse_epsilon
from dpnb_columnar.errors import DataError


def command(
    data: options.DataOrDatabase,
    table: options.Table = None,
    dataset: options.Dataset = None,
    label: options.Label = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            "--epsilon",
            help="Privacy budget of the release to come: classes that have too few rows for it are named.",
            metavar="NUMBER",
            show_default="the entry's in datasets.toml, else 1",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """CONFIDENTIAL: compare the rows with the declared domain.

    For the curator. Counts rows that training would count, the rows among them
    that lack an attribute, rows it would drop and because of which column, values
    it would clamp, values that the domain does not declare, rows that repeat
    others (people may be alike; rows that are in the data twice would count
    twice), and row groups; and says what to do about each. Ends with exit code 65
    when something is amiss that a release must not tell: an attribute without any
    value, values of the label outside the declared classes, a class without rows,
    or no row that counts.

    \b
    Examples:
      dpnb-columnar check census.parquet
      dpnb-columnar check census.parquet --label "INCWAGE > 1500" --json
      dpnb-columnar check census.duckdb --table person --dataset census
    """
    from dpnb_columnar.cli.file_output import declared_in
    from dpnb_columnar.counting.inputs import LocalFiles, local_input
    from dpnb_columnar.report.findings import find

    rows = local_input(data, table)
    resolved = rows.find_domain(dataset, label)
    typed = resolved.effective_epsilon(epsilon)
    parse_epsilon(typed)
    source = rows.open_once(resolved.domain)
    files = rows.files if isinstance(rows, LocalFiles) else ()
    place = declared_in(next(iter(files), None), resolved, dataset)
    with stage("checking"):
        findings = find(source, resolved, typed, place, len(files))
    if json:
        print_text(dumps(findings.document(), ensure_ascii=False, indent=2))
    else:
        print_confidential()
        print_lines(findings.lines())
    if not findings.ready:
        # What is amiss is a fact about the rows: it stands in the report, not in the log of a scheduled run.
        raise DataError(
            f"{source.names}: not ready for a release; the report on standard output says why and what to do"
        )
