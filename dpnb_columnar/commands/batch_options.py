"""Options of scheduled runs: what pays for a release, what tells one run from another, how it speaks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.commands.configuration import DEFAULT, origins
from dpnb_columnar.commands.terminal import LogFormat, begin_log, is_json, record, say, table
from dpnb_columnar.version import __version__


def _speak(context: typer.Context, format: LogFormat) -> LogFormat:
    if not context.resilient_parsing:
        begin_log(format, verb=context.info_name)
        record("started", f"dpnb-columnar {__version__}", version=__version__)
    return format


Log = Annotated[
    LogFormat,
    typer.Option(
        "--log-format",
        help="text for people; json writes one event a line to standard output (docs/batch.md).",
        callback=_speak,
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
        "however often it is begun again.",
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


def show_settings(context: typer.Context, settled: Mapping[str, tuple[object, str]]) -> None:
    """Print every option with its value and origin.

    Args:
        settled: Values, by option, that those that were neither typed nor set elsewhere got from the domain's entry or
            the names of files; each with its origin.
    """
    rows = []
    for name, value, origin in origins(context):
        if origin == DEFAULT and name in settled:
            value, origin = str(settled[name][0]), settled[name][1]
        rows.append((name, value, origin))
        record("setting", f"{name} {value}", setting=name, value=value, origin=origin)
    if not is_json():
        table(("setting", "value", "from"), rows)
        say()
