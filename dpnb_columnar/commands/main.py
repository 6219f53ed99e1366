"""``dpnb-columnar``: the verbs, and how failures become one line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from types import FrameType
from typing import NoReturn

import typer

from dpnb_columnar.commands import (
    aggregate,
    audit,
    check,
    datasets,
    demo,
    domain,
    evaluate,
    ingest,
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
from dpnb_columnar.errors import Error, UsageError
from dpnb_columnar.version import __version__

EXIT_CODES = """\b
Exit codes: 0 done; 64 usage; 65 data does not fit the domain; 66 input
missing; 69 software not installed; 70 internal error; 73 output exists or
cannot be created; 78 bad configuration."""

INTERNAL_ERROR = 70
SIGNALLED = 128
INTERRUPTED = SIGNALLED + signal.SIGINT
CLICK_USAGE = 2

app = typer.Typer(
    name="dpnb-columnar",
    help="Train differentially private naive Bayes classifiers on confidential Parquet extracts.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

for verb in (
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
):
    app.command(verb.__name__.rpartition(".")[2].replace("_", "-"))(verb.command)
app.add_typer(datasets.app, name="datasets")
app.add_typer(domain.app, name="domain")
app.add_typer(sql.app, name="sql")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dpnb-columnar {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Train differentially private naive Bayes classifiers on confidential Parquet extracts."""


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    signal.signal(signal.SIGTERM, _terminated)
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # whether a library warns may depend on the rows
    sys.exit(exit_code(arguments))


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    """End as after Ctrl-C: outputs that are not finished are taken away. A second signal ends at once."""
    signal.signal(number, signal.SIG_DFL)
    sys.exit(SIGNALLED + number)


def exit_code(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code that tells how it ended."""
    try:
        app(arguments, prog_name=app.info.name)
    except SystemExit as end:
        return UsageError.exit_code if end.code == CLICK_USAGE else int(end.code or 0)
    except Error as error:
        print(f"dpnb-columnar: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseException as error:  # a panic of Polars is no Exception
        # Whatever a library says may quote rows, so only the kind of failure is told.
        if os.environ.get("DPNB_TRACEBACK") == "confidential":
            raise
        print(  # noqa: T201
            f"dpnb-columnar: internal error ({type(error).__name__}). Set DPNB_TRACEBACK=confidential to see where; "
            "what it shows may hold values from the data.",
            file=sys.stderr,
        )
        return INTERNAL_ERROR
    return 0
