"""``dpnb-columnar check``: what the curator should know about the rows before a release."""

from __future__ import annotations

from dpnb_columnar.commands import options
from dpnb_columnar.commands.options import say, stage, table, warn
from dpnb_columnar.errors import DataError


def command(data: options.Data, dataset: options.Dataset = None) -> None:
    """CONFIDENTIAL: compare the rows with the declared domain.

    For the curator. Counts rows that fit, rows that training would drop and why,
    values it would clamp, and row groups. Ends with exit code 65 when something
    is amiss that a release must not tell: an attribute without any value, values
    of the label outside the declared classes, a class without rows, or no row
    that fits.

    \b
    Examples:
      dpnb-columnar check census.parquet
    """
    from dpnb_columnar.aggregation.diagnostics import diagnose
    from dpnb_columnar.rows.domains import find_domain
    from dpnb_columnar.rows.source import open_source, resolve

    files = resolve(data)
    found = find_domain(files, dataset)
    source = open_source(files, found.domain)
    with stage("checking"):
        result = diagnose(source, found.domain)
    warn(options.CONFIDENTIAL)
    say(f"domain {found.domain.name}, from {found.origin}")
    say(f"{result.rows} rows in {len(files)} file(s), {result.fitting} fit the domain")
    say(f"{result.row_groups} row groups, the largest of {result.largest_row_group} rows")
    say()
    table(
        ["column", "missing", "outside the domain", "below the bounds", "above the bounds"],
        [[column.name, column.missing, column.outside, column.below, column.above] for column in result.columns],
    )
    say()
    table(["class", "rows that fit"], list(zip(found.domain.classes, result.class_rows, strict=True)))
    for advice in result.advice:
        say(f"note: {advice}")
    for fault in result.faults:
        say(f"fault: {fault}")
    if result.faults:
        # What is amiss is a fact about the rows: it stands in the report, not in the log of a scheduled run.
        raise DataError(f"{files[0]}: not ready for a release; the report on standard output says why and what to do")
