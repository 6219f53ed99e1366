"""Options of scheduled runs: what pays for a release, what tells one run from another, how it speaks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from dpnb_columnar.cli.configuration import DEFAULT, origins
from dpnb_columnar.cli.console import LogFormat, begin_log, is_json, record, say, table
from dpnb_columnar.errors import DataError, MissingInputError, UsageError
from dpnb_columnar.rows.database_address import Database, parse_database
from dpnb_columnar.version import __version__

# MERGED FROM dpnb_columnar/cli/batch.py: Options of the form ``COLUMN=SOMETHING``.


def assigned(option: str, texts: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """Column and what it is given, of each occurrence of an option.

    Raises:
        UsageError: One is not of that form, or a column is given two things.
    """
    seen: set[str] = set()
    for text in texts or ():
        column, equals, value = text.partition("=")
        if not column or not equals:
            raise UsageError(f"--{option} {text}: expected COLUMN=..., such as --{option} AGE=...")
        if column in seen:
            raise UsageError(f"--{option} {text}: {column} is given twice; leave one out")
        seen.add(column)
        yield column, value


def listed(text: str) -> list[str]:
    """The parts of a text between its commas, without space around them; none of an empty text."""
    return [part.strip() for part in text.split(",")] if text.strip() else []


def bounds_of(column: str, text: str) -> tuple[str, str]:
    """Lower and upper bound, from ``LOWER:UPPER``.

    Raises:
        UsageError: It is not of that form.
    """
    lower, colon, upper = text.partition(":")
    if not colon:
        raise UsageError(f"--bounds {column}={text}: expected COLUMN=LOWER:UPPER, such as --bounds AGE=0:90")
    return lower, upper


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
        context: The command's context.
        settled: Values, by option, of options that were neither typed nor set elsewhere and follow from the domain's
            entry or the names of files; each with its origin.
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


# MERGED FROM dpnb_columnar/cli/batch.py: Options of the verbs that read from a database, and the database among their
# arguments.

Table = Annotated[
    str | None,
    typer.Option(help="Table or view of the database.", metavar="NAME", show_default=False),
]
Query = Annotated[
    Path | None,
    typer.Option(help="File with the SELECT to run in the database.", metavar="FILE.sql", show_default=False),
]


def database_in(arguments: Sequence[str], table: str | None, query: Path | None) -> Database | None:
    """The database among some arguments, or None where they are all files.

    Raises:
        UsageError: A database beside something else, --table or --query without one, or a password in an address.
    """
    databases = [database for argument in arguments if (database := parse_database(argument))]
    if not databases:
        if table is not None or query is not None:
            raise UsageError(
                "--table and --query are for a database: give a DuckDB file (.duckdb) or postgresql://USER@HOST/NAME"
            )
        return None
    if len(arguments) > 1:
        raise UsageError(f"{databases[0]}: a database is read alone; run the command once for each input")
    return databases[0]


# MERGED FROM dpnb_columnar/databases/selection.py: Which rows of a database are meant: those of a table, or
# those that a query in a file returns.

NOTHING = re.compile(r"--[^\n]*|/\*.*?\*/|[;\s]", re.DOTALL)
"""Comments, blanks and semicolons."""

LARGEST_QUERY = 16 * 2**20
"""Bytes of a query in a file."""


def query_for(database: Database, table: str | None, query: Path | None, columns: Sequence[str] | None = None) -> str:
    """The query that selects the rows.

    Args:
        database: Where they are.
        table: Table or view, as its dialect writes its name.
        query: File with one SELECT, which is run as it is.
        columns: Columns of the table to select; None for all. A query is not changed.

    Raises:
        UsageError: Not exactly one of table and query is given, or the name is no table's.
        MissingInputError, DataError: The query's file cannot be read.
    """
    from dpnb_columnar.dialects.rendering import select_columns

    if (table is None) == (query is None):
        raise UsageError(f"{database}: say which rows: --table NAME, or --query FILE.sql")
    if table is not None:
        return select_columns(table, columns, database.dialect)
    assert query is not None
    return _read(query)


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST_QUERY:
            raise DataError(f"{file}: more than {LARGEST_QUERY} bytes; give a file with one SELECT")
        query = file.read_text(encoding="utf-8").strip().rstrip(";")
    except UnicodeDecodeError:
        raise DataError(f"{file}: not a text in UTF-8; give a file with one SELECT") from None
    except OSError as error:
        raise MissingInputError(f"{file}: cannot be read: {error.strerror}; give a file with one SELECT") from None
    if not NOTHING.sub("", query):
        raise DataError(f"{file}: holds no query; give a file with one SELECT")
    return query
