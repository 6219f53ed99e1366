"""Options of batch verbs: the ledger that pays, the run id, the format of the log, and the dry run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.cli.configuration import DEFAULT, option_origins
from dpnb_columnar.cli.console import LogFormat, is_json, log_event, print_line, print_table, start_log
from dpnb_columnar.version import __version__


def _start_log(context: typer.Context, format: LogFormat) -> LogFormat:
    if not context.resilient_parsing:
        start_log(format, verb=context.info_name)
        log_event("started", f"dpnb-columnar {__version__}", version=__version__)
    return format


Log = Annotated[
    LogFormat,
    typer.Option(
        "--log-format",
        help="text for people; json writes one event a line to standard output (docs/batch.md).",
        callback=_start_log,
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        help="Ledger that pays for the release, made by dpnb-columnar ledger init. Its limit is never passed.",
        metavar="FILE",
        show_default="none: budget is not accounted",
    ),
]
Account = Annotated[
    str | None,
    typer.Option(help="Data set of the ledger to charge.", metavar="NAME", show_default="the domain's name"),
]
RunId = Annotated[
    str | None,
    typer.Option(
        "--run-id",
        help="Name of this run in the ledger. The same name with the same inputs releases once and is charged once, "
        "however often it is started again.",
        metavar="ID",
        show_default="a new one",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Show every setting and where it comes from, and what would be spent. Opens no row, spends and writes "
        "nothing.",
    ),
]


def print_settings(context: typer.Context, defaults: Mapping[str, tuple[object, str]]) -> None:
    """Print every option with its value and where that comes from.

    Args:
        context: The verb's context.
        defaults: Value and origin of options, by option, that were neither typed nor set elsewhere: from the domain's
            entry, or the names of files.
    """
    rows = []
    for name, value, origin in option_origins(context):
        if origin == DEFAULT and name in defaults:
            value, origin = str(defaults[name][0]), defaults[name][1]
        rows.append((name, value, origin))
        log_event("setting", f"{name} {value}", setting=name, value=value, origin=origin)
    if not is_json():
        print_table(("setting", "value", "from"), rows)
        print_line()
