"""``dpnb-columnar``: the verbs, and how failures become one line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

import typer

from dpnb_columnar.cli import console
from dpnb_columnar.cli.configuration import PREFIX
from dpnb_columnar.cli.verbs import (
    aggregate,
    audit,
    check,
    datasets,
    demo,
    domain,
    evaluate,
    ingest,
    ledger,
    plan,
    predict,
    release,
    reproduce,
    show,
    simulate,
    sql,
    suggest_domain,
    train,
)
from dpnb_columnar.errors import Error, OutputError, UsageError
from dpnb_columnar.runtime.confinement import keep_rows_in_memory, silence_native_output
from dpnb_columnar.runtime.outputs import remove_leftovers
from dpnb_columnar.runtime.signals import SIGNALLED, end_on_signals, honoured
from dpnb_columnar.version import __version__

EXIT_CODES = """\b
Exit codes: 0 done; 64 usage; 65 data does not fit the domain; 66 input
missing; 69 engine unavailable; 70 internal error; 73 output exists or
cannot be created; 75 busy, try again; 77 budget refused; 78 bad configuration;
129, 130, 143 ended by SIGHUP, SIGINT, SIGTERM."""

HELP = "--help"
INTERNAL_ERROR = 70
INTERRUPTED = SIGNALLED + signal.SIGINT
CLICK_USAGE = 2

TRACEBACK, CONFIDENTIAL = "DPNB_TRACEBACK", "confidential"
"""The variable, and its value, with which a curator asks for what libraries say, which may quote rows."""

BATCH = (ingest, train, aggregate, release, predict)
"""Verbs of scheduled jobs: they take --config, and what is not typed from variables such as DPNB_EPSILON."""

VERBS: tuple[Any, ...] = (
    demo,
    simulate,
    ingest,
    suggest_domain,
    check,
    plan,
    train,
    aggregate,
    release,
    predict,
    evaluate,
    show,
    audit,
    reproduce,
)
GROUPS: tuple[Any, ...] = (datasets, domain, sql, ledger)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dpnb-columnar {__version__}")
        raise typer.Exit


def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Train differentially private naive Bayes classifiers on confidential Parquet extracts."""


def _name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2].replace("_", "-")


def _without_verbs() -> typer.Typer:
    found = typer.Typer(
        name="dpnb-columnar",
        help="Train differentially private naive Bayes classifiers on confidential Parquet extracts.",
        epilog=EXIT_CODES,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    found.callback()(options)
    return found


def program(verbs: Sequence[Any] = VERBS, groups: Sequence[Any] = GROUPS) -> typer.Typer:
    """The command line with these verbs, and groups of verbs."""
    found = _without_verbs()
    for verb in verbs:
        settings = {"auto_envvar_prefix": PREFIX} if verb in BATCH else None
        found.command(_name(verb), context_settings=settings)(verb.command)
    for group in groups:
        found.add_typer(group.app, name=_name(group))
    return found


def outline() -> typer.Typer:
    """The command line as its help shows it: verbs without their options."""
    found = _without_verbs()
    for verb in VERBS:
        found.command(_name(verb), help=verb.command.__doc__)(lambda: None)
    for group in GROUPS:
        info = group.app.info
        found.command(_name(group), help=info.help, short_help=info.short_help)(lambda: None)
    return found


app = program()


def asked_for(arguments: Sequence[str]) -> typer.Typer:
    """The command line as far as the verb that is typed can ask for it: the parsers of all take long to build."""
    first = arguments[0] if arguments else HELP
    if first in (HELP, "-h"):
        return outline()
    for verb in VERBS:
        if _name(verb) == first:
            return program(BATCH if verb in BATCH else [verb], [])  # a configuration may have tables for all of these
    for group in GROUPS:
        if _name(group) == first:
            return program([], [group])
    return app


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    end_on_signals(console.last_event)
    keep_rows_in_memory()
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # whether a library warns may depend on the rows
    if os.environ.get(TRACEBACK) != CONFIDENTIAL:
        silence_native_output()
    try:
        code = exit_code(arguments)
    finally:
        remove_leftovers()  # a signal may have come between a block's end and its tidying up
        console.release_streams()
    sys.exit(code)


def exit_code(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code that tells how it ended."""
    console.begin_log()
    with console.checked_output():
        code = _ended(arguments)
        try:
            console.record("finished", exit_code=code)
        except OutputError as error:
            return code or _failed(error)  # an earlier failure is what the scheduler must hear of
    return code


def _ended(arguments: list[str] | None) -> int:
    try:
        with honoured():
            typed = sys.argv[1:] if arguments is None else arguments
            asked_for(typed)(typed, prog_name=app.info.name)
    except SystemExit as end:
        return UsageError.exit_code if end.code == CLICK_USAGE else int(end.code or 0)
    except Error as error:
        return _failed(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseException as error:  # a panic of Polars is no Exception
        # Whatever a library says may quote rows, so only the kind of failure is told.
        if os.environ.get(TRACEBACK) == CONFIDENTIAL:
            raise
        console.warn_at_the_end(
            f"internal error ({type(error).__name__}). Set DPNB_TRACEBACK=confidential to see where; what it shows may "
            "hold values from the data.",
            "failed",
            exit_code=INTERNAL_ERROR,
            error="InternalError",
        )
        return INTERNAL_ERROR
    return 0


def _failed(error: Error) -> int:
    """Tell an error; its exit code."""
    console.warn_at_the_end(str(error), "failed", exit_code=error.exit_code, error=type(error).__name__)
    return error.exit_code
