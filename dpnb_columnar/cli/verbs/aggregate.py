"""``dpnb-columnar aggregate``: the private half of ``train``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpnb_columnar.cli import configuration, options
from dpnb_columnar.cli.configuration import Config
from dpnb_columnar.cli.console import LogFormat, print_confidential, print_line, print_table, stage
from dpnb_columnar.cli.given import domain_of, query_of, refuse_fixed
from dpnb_columnar.counting.inputs import Engine, Input, opened_input
from dpnb_columnar.options import Declared, flags_of
from dpnb_columnar.runtime.outputs import check_parquet, check_target, default_name, output_lock

if TYPE_CHECKING:
    from dpnb_columnar.core.queries.query import Query
    from dpnb_columnar.counting.find_domain import ResolvedDomain

LATER = ".given.parquet"
"""How the default name of a later pass's file ends."""


@options.expanded
def command(
    context: typer.Context,
    data: options.DataOrTable = None,
    *,
    output: Annotated[
        Path | None, typer.Option(help="Statistics file.", show_default="DATA.statistics.parquet")
    ] = None,
    declared: Declared,
    overwrite: options.Overwrite = False,
    engine: options.EngineName = Engine.LOCAL,
    table: options.SparkOrDatabaseTable = None,
    given: options.Given = None,
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Print how many rows count, and how many lack an attribute. CONFIDENTIAL: keep it out of logs.",
        ),
    ] = False,
    config: Config = None,
    log_format: configuration.Log = LogFormat.TEXT,
) -> None:
    """CONFIDENTIAL: count every cell of the domain into a file.

    The private half of train. Nothing is released and no budget is spent. Files
    of parts of the data add up: give all of them to dpnb-columnar release.

    With --given it counts what a model released from statistics waits for: the
    rows of each class by the score that the model gives them. release --given
    completes the model with these counts.

    \b
    Examples:
      dpnb-columnar aggregate census.parquet
      dpnb-columnar aggregate oregon.parquet --output oregon.statistics.parquet
      dpnb-columnar aggregate "county-*.parquet" --output state.statistics.parquet
      dpnb-columnar aggregate census.parquet --report
      dpnb-columnar aggregate census.parquet --given census.model.json \\
          --output second.parquet
      dpnb-columnar aggregate --engine spark --table lake.census.person \\
          --dataset census
    """
    from dpnb_columnar.counting.answer_files import save_answer

    if given is not None:
        refuse_fixed(context, (*flags_of(Declared).values(), "--report"))
    with opened_input(engine, data, table) as rows:
        query, resolved = _asked(rows, declared, given)
        name, suffix = (resolved.domain.name, ".statistics.parquet") if given is None else ("data", LATER)
        target = output or default_name(data or (), name, suffix)
        check_parquet(target)
        beside = (declared.catalogue_file, given, config)
        check_target(target, overwrite, [*rows.files, *(file for file in beside if file is not None)])
        with output_lock(target):
            checked = rows.check(query.domain)
            if report:
                print_confidential()
            options.print_domain(resolved)
            with stage("counting"):
                answer = checked.answer(query)
            save_answer(answer, target, overwrite=overwrite)
    kind = "exact counts" if given is None else "exact counts of scores"
    print_line(f"wrote {target}: CONFIDENTIAL, {kind}", "written", output=str(target))
    if report:
        print_line(f"{int(answer.class_counts.sum())} rows count")
        print_table(["attribute", "rows without it"], [list(lacked) for lacked in answer.lacking().items()])


def _asked(rows: Input, declared: Declared, given: Path | None) -> tuple[Query[Any], ResolvedDomain]:
    """Return what the rows are asked, and in which domain: its cells, or what a model waits for."""
    from dpnb_columnar.core.queries.statistics import CellQuery

    if given is not None:
        query = query_of(given)
        return query, domain_of(query, given)
    resolved = declared.counted(rows.find_domain(declared.entry, declared.label))
    return CellQuery(resolved.domain), resolved
